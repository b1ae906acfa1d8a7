/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Images and samplers on devices. An image's pixels lie in main memory without gaps. What crosses
 * is whole rows, or whole slices.
 */
#include "config.h"

#ifdef HEDDLE_USE_OPENCL

#include <errno.h>
#include <string.h>

#include "partition/kernel/launch/device_starpu.h"

/* ---- sizes ---- */

/* Of a channel, or of a pixel whose channels are packed; 0: there is no such type. */
static size_t type_bytes(unsigned type, bool *packed)
{
	*packed =
	    type == CL_UNORM_SHORT_565 || type == CL_UNORM_SHORT_555 || type == CL_UNORM_INT_101010;
	switch (type) {
	case CL_SNORM_INT8:
	case CL_UNORM_INT8:
	case CL_SIGNED_INT8:
	case CL_UNSIGNED_INT8:
		return 1;
	case CL_SNORM_INT16:
	case CL_UNORM_INT16:
	case CL_SIGNED_INT16:
	case CL_UNSIGNED_INT16:
	case CL_HALF_FLOAT:
	case CL_UNORM_SHORT_565:
	case CL_UNORM_SHORT_555:
		return 2;
	case CL_SIGNED_INT32:
	case CL_UNSIGNED_INT32:
	case CL_FLOAT:
	case CL_UNORM_INT_101010:
		return 4;
	default:
		return 0;
	}
}

/* 0: there is no such order. */
static unsigned channels(unsigned order)
{
	switch (order) {
	case CL_R:
	case CL_A:
	case CL_INTENSITY:
	case CL_LUMINANCE:
		return 1;
	case CL_RG:
	case CL_RA:
		return 2;
	case CL_RGB:
		return 3;
	case CL_RGBA:
	case CL_BGRA:
	case CL_ARGB:
		return 4;
	default:
		return 0;
	}
}

/* As OpenCL counts regions. */
static void extent_of(const struct heddle_kernel_image *image, size_t extent[3])
{
	extent[0] = image->width;
	extent[1] = image->height ? image->height : image->layers ? image->layers : 1;
	extent[2] = image->depth                     ? image->depth
	            : image->height && image->layers ? image->layers
	                                             : 1;
}

int kernel_image_size(const struct heddle_kernel_image *image, size_t *bytes, size_t *pixel)
{
	size_t extent[3], size, most = (size_t)1 << 62;
	bool packed;

	size = type_bytes(image->type, &packed);
	/* Three channels are always packed. */
	if (!size || !channels(image->order) || packed != (channels(image->order) == 3))
		return -EINVAL;
	size *= packed ? 1 : channels(image->order);
	if (!image->width || (image->depth && (!image->height || image->layers)))
		return -EINVAL;
	*pixel = size;
	extent_of(image, extent);
	for (int d = 0; d < 3; d++) {
		if (extent[d] > INT32_MAX || size > most / extent[d])
			return -EINVAL;
		size *= extent[d];
	}
	*bytes = size;
	return 0;
}

/* As read_imagef() and its sisters distinguish them. */
static unsigned formats_of(unsigned type)
{
	switch (type) {
	case CL_SIGNED_INT8:
	case CL_SIGNED_INT16:
	case CL_SIGNED_INT32:
		return INDEX_SIGNED_FORMATS;
	case CL_UNSIGNED_INT8:
	case CL_UNSIGNED_INT16:
	case CL_UNSIGNED_INT32:
		return INDEX_UNSIGNED_FORMATS;
	default:
		return INDEX_FLOAT_FORMATS;
	}
}

const char *kernel_image_wrong(const struct heddle_kernel_image *image,
                               const struct index_argument *argument)
{
	unsigned shape = (image->depth    ? 3
	                  : image->height ? 2
	                                  : 1) +
	                 (image->layers ? INDEX_ARRAYED : 0);

	if (argument->shape && argument->shape != shape)
		return "dimensions";
	return argument->formats && !(argument->formats & formats_of(image->type)) ? "a format"
	                                                                           : NULL;
}

static size_t row_bytes(const struct heddle_kernel_image *image)
{
	size_t bytes, pixel;

	return kernel_image_size(image, &bytes, &pixel) ? 1 : pixel * image->width;
}

/* ---- images ---- */

static cl_mem_object_type object_type(const struct heddle_kernel_image *image)
{
	if (image->depth)
		return CL_MEM_OBJECT_IMAGE3D;
	if (image->height)
		return image->layers ? CL_MEM_OBJECT_IMAGE2D_ARRAY : CL_MEM_OBJECT_IMAGE2D;
	return image->layers ? CL_MEM_OBJECT_IMAGE1D_ARRAY : CL_MEM_OBJECT_IMAGE1D;
}

cl_mem kernel_memory_create(cl_context context, const struct heddle_kernel_image *image,
                            size_t bytes, cl_mem_flags access, cl_int *error)
{
	const cl_image_format format = {image->order, image->type};
	const cl_image_desc description = {.image_type = object_type(image),
	                                   .image_width = image->width,
	                                   .image_height = image->height,
	                                   .image_depth = image->depth,
	                                   .image_array_size = image->layers};
	cl_mem made;

	if (!image->width)
		return clCreateBuffer(context, CL_MEM_READ_WRITE, bytes, NULL, error);
	made = clCreateImage(context, CL_MEM_READ_WRITE, &format, &description, NULL, error);
	/* Some formats can only be read, or only be written. */
	return *error == CL_IMAGE_FORMAT_NOT_SUPPORTED && access != CL_MEM_READ_WRITE
	           ? clCreateImage(context, access, &format, &description, NULL, error)
	           : made;
}

struct kernel_span kernel_image_cover(const struct heddle_kernel_image *image,
                                      struct kernel_span span)
{
	size_t row = row_bytes(image), extent[3], slice;

	extent_of(image, extent);
	slice = row * extent[1];
	if (span.first / slice != (span.end - 1) / slice)
		row = slice;
	return (struct kernel_span){span.first / row * row, (span.end + row - 1) / row * row};
}

static void region_of(const struct heddle_kernel_image *image, struct kernel_span span,
                      size_t origin[3], size_t region[3])
{
	size_t row = row_bytes(image), rows = (span.end - span.first) / row;

	extent_of(image, region);
	origin[0] = 0;
	origin[1] = span.first / row % region[1];
	origin[2] = span.first / row / region[1];
	region[2] = rows <= region[1] ? 1 : rows / region[1];
	region[1] = rows / region[2];
}

cl_int kernel_image_send(cl_command_queue queue, cl_mem to, const struct heddle_kernel_image *image,
                         struct kernel_span span, const void *from, cl_bool waits, cl_event *event)
{
	size_t origin[3], region[3];

	region_of(image, span, origin, region);
	return clEnqueueWriteImage(queue, to, waits, origin, region, 0, 0, from, 0, NULL, event);
}

cl_int kernel_image_fetch(cl_command_queue queue, cl_mem from,
                          const struct heddle_kernel_image *image, struct kernel_span span,
                          void *to, cl_bool waits, cl_event *event)
{
	size_t origin[3], region[3];

	region_of(image, span, origin, region);
	return clEnqueueReadImage(queue, from, waits, origin, region, 0, 0, to, 0, NULL, event);
}

/* ---- samplers ---- */

cl_int kernel_sampler_find(struct device_memory *memory, unsigned a,
                           const struct heddle_kernel_sampler *sampler)
{
	cl_int error;

	if (memory->samplers[a] && !memcmp(&memory->sampling[a], sampler, sizeof(*sampler)))
		return CL_SUCCESS;
	if (memory->samplers[a])
		clReleaseSampler(memory->samplers[a]);
	memory->sampling[a] = *sampler;
	memory->samplers[a] = clCreateSampler(memory->context, !!sampler->normalized,
	                                      sampler->addressing, sampler->filter, &error);
	if (error)
		memory->samplers[a] = NULL;
	return error;
}

void kernel_samplers_free(struct device_memory *memory)
{
	for (unsigned a = 0; a < HEDDLE_KERNEL_MAXARGUMENTS; a++)
		if (memory->samplers[a])
			clReleaseSampler(memory->samplers[a]);
}

#endif
