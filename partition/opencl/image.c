/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Images and samplers. Home does all commands about images. Samplers are home's own: they are
 * constants that kernels get. What they are is noted, since each device needs its own.
 */
#include "config.h"

#include "partition/opencl/layer.h"

#include <search.h>
#include <stdlib.h>
#include <string.h>

/* Home is not told which accesses of the host's the program rules out: the layer has others. */
#define HOST_ACCESS (CL_MEM_HOST_WRITE_ONLY | CL_MEM_HOST_READ_ONLY | CL_MEM_HOST_NO_ACCESS)

/* ---- creation ---- */

static struct memory *image_of(const struct queue *queue, cl_mem id, cl_int *error)
{
	struct memory *memory = layer_object(id, MEMORY);

	*error = !memory || !memory->image           ? CL_INVALID_MEM_OBJECT
	         : memory->context != queue->context ? CL_INVALID_CONTEXT
	                                             : CL_SUCCESS;
	return *error ? NULL : memory;
}

/* What home may not refuse. An image of a buffer could be made, but its data may be elsewhere than
 * at home. */
static cl_int description_check(const cl_image_desc *description)
{
	cl_mem_object_type type = description ? description->image_type : 0;

	if (!description || type < CL_MEM_OBJECT_IMAGE2D || type > CL_MEM_OBJECT_IMAGE1D_BUFFER ||
	    description->num_mip_levels || description->num_samples ||
	    !description->buffer != (type != CL_MEM_OBJECT_IMAGE1D_BUFFER))
		return CL_INVALID_IMAGE_DESCRIPTOR;
	return description->buffer ? CL_IMAGE_FORMAT_NOT_SUPPORTED : CL_SUCCESS;
}

static void extent_describe(struct memory *memory, const cl_image_desc *description)
{
	bool lines = memory->image == CL_MEM_OBJECT_IMAGE1D_ARRAY;
	bool line = lines || memory->image == CL_MEM_OBJECT_IMAGE1D;

	memory->extent[0] = description->image_width;
	memory->extent[1] = lines  ? description->image_array_size
	                    : line ? 1
	                           : description->image_height;
	memory->extent[2] = memory->image == CL_MEM_OBJECT_IMAGE3D ? description->image_depth
	                    : memory->image == CL_MEM_OBJECT_IMAGE2D_ARRAY
	                        ? description->image_array_size
	                        : 1;
}

/* Asks home about what it has made. */
static void image_describe(struct memory *memory, const cl_image_desc *description, void *host)
{
	real->clGetMemObjectInfo(memory->home, CL_MEM_SIZE, sizeof(memory->bytes), &memory->bytes,
	                         NULL);
	real->clGetImageInfo(memory->home, CL_IMAGE_ELEMENT_SIZE, sizeof(memory->element),
	                     &memory->element, NULL);
	real->clGetImageInfo(memory->home, CL_IMAGE_FORMAT, sizeof(memory->format), &memory->format,
	                     NULL);
	memory->image = description->image_type;
	extent_describe(memory, description);
	if (!(memory->flags & CL_MEM_USE_HOST_PTR))
		return;
	memory->given = host;
	memory->row = description->image_row_pitch;
	memory->slice = description->image_slice_pitch;
	if (!memory->row)
		memory->row = description->image_width * memory->element;
	if (!memory->slice)
		memory->slice = memory->row;
	if (!description->image_slice_pitch && memory->image != CL_MEM_OBJECT_IMAGE1D_ARRAY)
		memory->slice *= description->image_height;
}

static cl_mem CL_API_CALL image_create(cl_context id, cl_mem_flags flags,
                                       const cl_image_format *format,
                                       const cl_image_desc *description, void *host, cl_int *to)
{
	struct context *context = layer_object(id, CONTEXT);
	struct memory *memory;
	cl_int error;

	if (!context)
		return real->clCreateImage(id, flags, format, description, host, to);
	error = __builtin_popcountll(flags & HOST_ACCESS) > 1 ? CL_INVALID_VALUE
	                                                      : description_check(description);
	if (error)
		return error_give(error, to);
	memory = memory_make(context, flags, 0);
	if (!memory)
		return error_give(CL_OUT_OF_HOST_MEMORY, to);
	memory->home = real->clCreateImage(context->home, flags & ~(cl_mem_flags)HOST_ACCESS,
	                                   format, description, host, &error);
	if (!error)
		image_describe(memory, description, host);
	return memory_finish(memory, error, to);
}

static cl_mem CL_API_CALL image2_create(cl_context id, cl_mem_flags flags,
                                        const cl_image_format *format, size_t width, size_t height,
                                        size_t row, void *host, cl_int *to)
{
	const cl_image_desc description = {.image_type = CL_MEM_OBJECT_IMAGE2D,
	                                   .image_width = width,
	                                   .image_height = height,
	                                   .image_row_pitch = row};

	if (!layer_object(id, CONTEXT))
		return real->clCreateImage2D(id, flags, format, width, height, row, host, to);
	return image_create(id, flags, format, &description, host, to);
}

static cl_mem CL_API_CALL image3_create(cl_context id, cl_mem_flags flags,
                                        const cl_image_format *format, size_t width, size_t height,
                                        size_t depth, size_t row, size_t slice, void *host,
                                        cl_int *to)
{
	const cl_image_desc description = {.image_type = CL_MEM_OBJECT_IMAGE3D,
	                                   .image_width = width,
	                                   .image_height = height,
	                                   .image_depth = depth,
	                                   .image_row_pitch = row,
	                                   .image_slice_pitch = slice};

	if (!layer_object(id, CONTEXT))
		return real->clCreateImage3D(id, flags, format, width, height, depth, row, slice,
		                             host, to);
	return image_create(id, flags, format, &description, host, to);
}

/* Samplers that the program has made, by their handles. Those that it has released stay until
 * another one gets the handle. */
static pthread_mutex_t samplers_mutex = PTHREAD_MUTEX_INITIALIZER;
static void *samplers;

static int samplers_compare(const void *a, const void *b)
{
	const struct sampler *one = a, *other = b;

	return (one->id > other->id) - (one->id < other->id);
}

/* Without memory kernels that use it are not split. */
static void sampler_note(const struct sampler *made)
{
	struct sampler **at, *known;

	pthread_mutex_lock(&samplers_mutex);
	at = tfind(made, &samplers, samplers_compare);
	known = at ? *at : malloc(sizeof(*known));
	if (known)
		*known = *made;
	if (known && !at && !tsearch(known, &samplers, samplers_compare))
		free(known);
	pthread_mutex_unlock(&samplers_mutex);
}

void sampler_find(const void *handle, struct sampler *sampler)
{
	const struct sampler key = {.id = (cl_sampler)handle};
	struct sampler **at;

	pthread_mutex_lock(&samplers_mutex);
	at = tfind(&key, &samplers, samplers_compare);
	if (at)
		*sampler = **at;
	pthread_mutex_unlock(&samplers_mutex);
}

static cl_sampler CL_API_CALL sampler_create(cl_context id, cl_bool normalized,
                                             cl_addressing_mode addressing, cl_filter_mode filter,
                                             cl_int *to)
{
	struct context *context = layer_object(id, CONTEXT);

	struct sampler sampler = {NULL, normalized, addressing, filter};

	sampler.id =
	    real->clCreateSampler(context ? context->home : id, normalized, addressing, filter, to);
	if (context && sampler.id)
		sampler_note(&sampler);
	return sampler.id;
}

static cl_int CL_API_CALL formats_get(cl_context id, cl_mem_flags flags, cl_mem_object_type type,
                                      cl_uint room, cl_image_format *formats, cl_uint *n)
{
	struct context *context = layer_object(id, CONTEXT);

	return real->clGetSupportedImageFormats(context ? context->home : id, flags, type, room,
	                                        formats, n);
}

static cl_int CL_API_CALL image_info(cl_mem id, cl_image_info name, size_t room, void *value,
                                     size_t *needed)
{
	struct memory *memory = layer_object(id, MEMORY);

	if (memory && !memory->image)
		return CL_INVALID_MEM_OBJECT;
	return real->clGetImageInfo(memory ? memory->home : id, name, room, value, needed);
}

/* ---- reading and writing ---- */

static const size_t corner[3];

cl_int image_read(const struct memory *memory, void *to)
{
	return real->clEnqueueReadImage(memory->context->queue, memory->home, CL_TRUE, corner,
	                                memory->extent, 0, 0, to, 0, NULL, NULL);
}

cl_int image_write(const struct memory *memory, const void *from)
{
	return real->clEnqueueWriteImage(memory->context->queue, memory->home, CL_TRUE, corner,
	                                 memory->extent, 0, 0, from, 0, NULL, NULL);
}

/* Puts the data of all that a command is about home. */
static cl_int all_to_home(struct event *event)
{
	cl_int error = CL_SUCCESS;

	for (unsigned m = 0; m < 2 && !error; m++)
		if (event->memory[m])
			error = memory_to_home(event->memory[m]);
	return error;
}

static cl_int read_run(struct event *event)
{
	cl_int error = all_to_home(event);

	return error
	           ? error
	           : real->clEnqueueReadImage(event->queue->home, event->memory[0]->home, CL_FALSE,
	                                      event->origin[0], event->region, event->row[0],
	                                      event->slice[0], event->pointer, HOME_EVENTS(event));
}

static cl_int write_run(struct event *event)
{
	cl_int error = all_to_home(event);

	return error
	           ? error
	           : real->clEnqueueWriteImage(event->queue->home, event->memory[0]->home, CL_FALSE,
	                                       event->origin[0], event->region, event->row[0],
	                                       event->slice[0], event->pointer, HOME_EVENTS(event));
}

/* Commands are checked here: home sees them later, when the program has gone on. */
static cl_int region_check(const struct memory *memory, const size_t *origin, const size_t *region)
{
	if (!origin || !region)
		return CL_INVALID_VALUE;
	for (unsigned d = 0; d < 3; d++)
		if (!region[d] || origin[d] >= memory->extent[d] ||
		    region[d] > memory->extent[d] - origin[d])
			return CL_INVALID_VALUE;
	return CL_SUCCESS;
}

/* Begins a command about a part of an image. */
static cl_int image_begin(struct queue *queue, cl_command_type type, cl_mem id,
                          const size_t *origin, const size_t *region, cl_uint nwaits,
                          const cl_event *waits, struct event **event)
{
	cl_int error;
	struct memory *memory = image_of(queue, id, &error);

	if (!error)
		error = region_check(memory, origin, region);
	if (!error)
		error = command_begin(queue, type, nwaits, waits, event);
	if (error)
		return error;
	command_memory(*event, 0, memory);
	memcpy((*event)->origin[0], origin, sizeof((*event)->origin[0]));
	memcpy((*event)->region, region, sizeof((*event)->region));
	(*event)->quick = command_quick;
	return CL_SUCCESS;
}

static cl_int transfer(struct queue *queue, cl_mem id, bool writes, cl_bool blocking,
                       const size_t *origin, const size_t *region, size_t row, size_t slice,
                       void *pointer, cl_uint nwaits, const cl_event *waits, cl_event *given)
{
	struct memory *memory = layer_object(id, MEMORY);
	struct event *event;
	cl_int error;

	if (memory && memory->image && !(writes ? host_writes(memory) : host_reads(memory)))
		return CL_INVALID_OPERATION;
	error = pointer
	            ? image_begin(queue, writes ? CL_COMMAND_WRITE_IMAGE : CL_COMMAND_READ_IMAGE,
	                          id, origin, region, nwaits, waits, &event)
	            : CL_INVALID_VALUE;

	if (error)
		return error;
	event->run = writes ? write_run : read_run;
	event->row[0] = row;
	event->slice[0] = slice;
	event->pointer = pointer;
	return event_enqueue(event, nwaits, waits, blocking, given);
}

static cl_int CL_API_CALL enqueue_read(cl_command_queue id, cl_mem image, cl_bool blocking,
                                       const size_t *origin, const size_t *region, size_t row,
                                       size_t slice, void *to, cl_uint nwaits,
                                       const cl_event *waits, cl_event *event)
{
	struct queue *queue = layer_object(id, QUEUE);

	if (!queue)
		return real->clEnqueueReadImage(id, image, blocking, origin, region, row, slice, to,
		                                nwaits, waits, event);
	return transfer(queue, image, false, blocking, origin, region, row, slice, to, nwaits,
	                waits, event);
}

static cl_int CL_API_CALL enqueue_write(cl_command_queue id, cl_mem image, cl_bool blocking,
                                        const size_t *origin, const size_t *region, size_t row,
                                        size_t slice, const void *from, cl_uint nwaits,
                                        const cl_event *waits, cl_event *event)
{
	struct queue *queue = layer_object(id, QUEUE);

	if (!queue)
		return real->clEnqueueWriteImage(id, image, blocking, origin, region, row, slice,
		                                 from, nwaits, waits, event);
	return transfer(queue, image, true, blocking, origin, region, row, slice, (void *)from,
	                nwaits, waits, event);
}

static cl_int fill_run(struct event *event)
{
	cl_int error = all_to_home(event);

	return error ? error
	             : real->clEnqueueFillImage(event->queue->home, event->memory[0]->home,
	                                        event->pattern, event->origin[0], event->region,
	                                        HOME_EVENTS(event));
}

static cl_int CL_API_CALL enqueue_fill(cl_command_queue id, cl_mem image, const void *colour,
                                       const size_t *origin, const size_t *region, cl_uint nwaits,
                                       const cl_event *waits, cl_event *given)
{
	struct queue *queue = layer_object(id, QUEUE);
	struct event *event;
	cl_int error;

	if (!queue)
		return real->clEnqueueFillImage(id, image, colour, origin, region, nwaits, waits,
		                                given);
	error = colour ? image_begin(queue, CL_COMMAND_FILL_IMAGE, image, origin, region, nwaits,
	                             waits, &event)
	               : CL_INVALID_VALUE;
	if (error)
		return error;
	memcpy(event->pattern, colour, 4 * sizeof(cl_uint));
	event->run = fill_run;
	return event_enqueue(event, nwaits, waits, false, given);
}

/* ---- copying ---- */

static cl_int copy_run(struct event *event)
{
	cl_int error = all_to_home(event);

	return error
	           ? error
	           : real->clEnqueueCopyImage(event->queue->home, event->memory[0]->home,
	                                      event->memory[1]->home, event->origin[0],
	                                      event->origin[1], event->region, HOME_EVENTS(event));
}

static bool same_format(const struct memory *a, const struct memory *b)
{
	cl_image_format formats[2];

	return !real->clGetImageInfo(a->home, CL_IMAGE_FORMAT, sizeof(formats[0]), &formats[0],
	                             NULL) &&
	       !real->clGetImageInfo(b->home, CL_IMAGE_FORMAT, sizeof(formats[1]), &formats[1],
	                             NULL) &&
	       !memcmp(&formats[0], &formats[1], sizeof(formats[0]));
}

static cl_int copy_check(const struct memory *from, const struct memory *to, const size_t *from_at,
                         const size_t *to_at, const size_t *region)
{
	bool overlap = from == to;
	cl_int error = region_check(from, from_at, region);

	if (!error)
		error = region_check(to, to_at, region);
	if (error)
		return error;
	for (unsigned d = 0; d < 3; d++)
		overlap = overlap && from_at[d] < to_at[d] + region[d] &&
		          to_at[d] < from_at[d] + region[d];
	return overlap                 ? CL_MEM_COPY_OVERLAP
	       : same_format(from, to) ? CL_SUCCESS
	                               : CL_IMAGE_FORMAT_MISMATCH;
}

static cl_int CL_API_CALL enqueue_copy(cl_command_queue id, cl_mem from_id, cl_mem to_id,
                                       const size_t *from_at, const size_t *to_at,
                                       const size_t *region, cl_uint nwaits, const cl_event *waits,
                                       cl_event *given)
{
	struct queue *queue = layer_object(id, QUEUE);
	struct memory *from, *to = NULL;
	struct event *event;
	cl_int error;

	if (!queue)
		return real->clEnqueueCopyImage(id, from_id, to_id, from_at, to_at, region, nwaits,
		                                waits, given);
	from = image_of(queue, from_id, &error);
	if (!error)
		to = image_of(queue, to_id, &error);
	if (!error)
		error = copy_check(from, to, from_at, to_at, region);
	if (!error)
		error = image_begin(queue, CL_COMMAND_COPY_IMAGE, from_id, from_at, region, nwaits,
		                    waits, &event);
	if (error)
		return error;
	command_memory(event, 1, to);
	memcpy(event->origin[1], to_at, sizeof(event->origin[1]));
	event->run = copy_run;
	return event_enqueue(event, nwaits, waits, false, given);
}

/* Between an image (0) and a buffer (1), at an offset of the latter. */
static cl_int to_buffer_run(struct event *event)
{
	cl_int error = all_to_home(event);

	return error ? error
	             : real->clEnqueueCopyImageToBuffer(
	                   event->queue->home, event->memory[0]->home, event->memory[1]->home,
	                   event->origin[0], event->region, event->bytes, HOME_EVENTS(event));
}

static cl_int from_buffer_run(struct event *event)
{
	cl_int error = all_to_home(event);

	return error ? error
	             : real->clEnqueueCopyBufferToImage(
	                   event->queue->home, event->memory[1]->home, event->memory[0]->home,
	                   event->bytes, event->origin[0], event->region, HOME_EVENTS(event));
}

static cl_int buffer_copy(struct queue *queue, bool to_buffer, cl_mem image, cl_mem buffer_id,
                          const size_t *origin, const size_t *region, size_t offset, cl_uint nwaits,
                          const cl_event *waits, cl_event *given)
{
	struct event *event;
	cl_int error;
	struct memory *buffer = buffer_of(queue, buffer_id, &error);

	if (!error)
		error = image_begin(queue,
		                    to_buffer ? CL_COMMAND_COPY_IMAGE_TO_BUFFER
		                              : CL_COMMAND_COPY_BUFFER_TO_IMAGE,
		                    image, origin, region, nwaits, waits, &event);
	if (error)
		return error;
	if (offset > buffer->bytes ||
	    region[0] * region[1] * region[2] * event->memory[0]->element >
	        buffer->bytes - offset) {
		event_release(event);
		return CL_INVALID_VALUE;
	}
	command_memory(event, 1, buffer);
	event->bytes = offset;
	event->run = to_buffer ? to_buffer_run : from_buffer_run;
	return event_enqueue(event, nwaits, waits, false, given);
}

static cl_int CL_API_CALL enqueue_to_buffer(cl_command_queue id, cl_mem image, cl_mem buffer,
                                            const size_t *origin, const size_t *region,
                                            size_t offset, cl_uint nwaits, const cl_event *waits,
                                            cl_event *event)
{
	struct queue *queue = layer_object(id, QUEUE);

	if (!queue)
		return real->clEnqueueCopyImageToBuffer(id, image, buffer, origin, region, offset,
		                                        nwaits, waits, event);
	return buffer_copy(queue, true, image, buffer, origin, region, offset, nwaits, waits,
	                   event);
}

static cl_int CL_API_CALL enqueue_from_buffer(cl_command_queue id, cl_mem buffer, cl_mem image,
                                              size_t offset, const size_t *origin,
                                              const size_t *region, cl_uint nwaits,
                                              const cl_event *waits, cl_event *event)
{
	struct queue *queue = layer_object(id, QUEUE);

	if (!queue)
		return real->clEnqueueCopyBufferToImage(id, buffer, image, offset, origin, region,
		                                        nwaits, waits, event);
	return buffer_copy(queue, false, image, buffer, origin, region, offset, nwaits, waits,
	                   event);
}

/* ---- mapping ---- */

static cl_int nothing_run(struct event *event)
{
	return CL_SUCCESS;
}

/* Where a part is for the host: in memory that the program gave, or in new memory. */
static cl_int map_place(struct map *map, const struct memory *memory, const size_t *origin,
                        const size_t *region)
{
	bool lines = memory->image == CL_MEM_OBJECT_IMAGE1D_ARRAY;

	map->row = memory->given ? memory->row : region[0] * memory->element;
	map->slice = memory->given ? memory->slice : lines ? map->row : map->row * region[1];
	if (memory->image == CL_MEM_OBJECT_IMAGE1D || memory->image == CL_MEM_OBJECT_IMAGE2D)
		map->slice = 0;
	memcpy(map->origin, origin, sizeof(map->origin));
	memcpy(map->region, region, sizeof(map->region));
	if (memory->given) {
		map->pointer = (unsigned char *)memory->given + origin[0] * memory->element +
		               origin[1] * (lines ? map->slice : map->row) + origin[2] * map->slice;
		return CL_SUCCESS;
	}
	map->pointer = map->own = malloc(map->row * region[1] * region[2]);
	return map->own ? CL_SUCCESS : CL_OUT_OF_HOST_MEMORY;
}

static cl_int map_begin(struct event *event, cl_map_flags flags, struct map **made)
{
	struct memory *memory = event->memory[0];
	struct map *map = calloc(1, sizeof(*map));
	cl_int error =
	    map ? map_place(map, memory, event->origin[0], event->region) : CL_OUT_OF_HOST_MEMORY;

	if (error) {
		free(map);
		return error;
	}
	map->flags = flags;
	map_link(memory, map);
	event->run = flags & CL_MAP_WRITE_INVALIDATE_REGION ? nothing_run : read_run;
	event->row[0] = map->row;
	event->slice[0] = map->slice;
	event->pointer = map->pointer;
	*made = map;
	return CL_SUCCESS;
}

static void *CL_API_CALL enqueue_map(cl_command_queue id, cl_mem image, cl_bool blocking,
                                     cl_map_flags flags, const size_t *origin, const size_t *region,
                                     size_t *row, size_t *slice, cl_uint nwaits,
                                     const cl_event *waits, cl_event *given, cl_int *to)
{
	const cl_map_flags writes = CL_MAP_WRITE | CL_MAP_WRITE_INVALIDATE_REGION;
	struct queue *queue = layer_object(id, QUEUE);
	struct memory *memory = layer_object(image, MEMORY);
	struct event *event;
	struct map *map = NULL;
	void *pointer;
	cl_int error;

	if (!queue)
		return real->clEnqueueMapImage(id, image, blocking, flags, origin, region, row,
		                               slice, nwaits, waits, given, to);
	if (memory && memory->image &&
	    ((flags & CL_MAP_READ && !host_reads(memory)) ||
	     (flags & writes && !host_writes(memory))))
		return error_give(CL_INVALID_OPERATION, to);
	error = row ? image_begin(queue, CL_COMMAND_MAP_IMAGE, image, origin, region, nwaits, waits,
	                          &event)
	            : CL_INVALID_VALUE;
	if (error)
		return error_give(error, to);
	error = map_begin(event, flags, &map);
	if (error) {
		event_release(event);
		return error_give(error, to);
	}
	*row = map->row;
	if (slice)
		*slice = map->slice;
	pointer = map->pointer;
	error = event_enqueue(event, nwaits, waits, blocking, given);
	error_give(error, to);
	return error ? NULL : pointer;
}

void image_unmap(struct event *event, struct map *map)
{
	bool writes = map->flags & (CL_MAP_WRITE | CL_MAP_WRITE_INVALIDATE_REGION);

	event->run = writes ? write_run : nothing_run;
	event->quick = command_quick;
	memcpy(event->origin[0], map->origin, sizeof(map->origin));
	memcpy(event->region, map->region, sizeof(map->region));
	event->row[0] = map->row;
	event->slice[0] = map->slice;
	event->pointer = map->pointer;
	event->own = map->own;
}

void image_functions(cl_icd_dispatch *table)
{
	table->clCreateImage = image_create;
	table->clCreateImage2D = image2_create;
	table->clCreateImage3D = image3_create;
	table->clCreateSampler = sampler_create;
	table->clGetSupportedImageFormats = formats_get;
	table->clGetImageInfo = image_info;
	table->clEnqueueReadImage = enqueue_read;
	table->clEnqueueWriteImage = enqueue_write;
	table->clEnqueueFillImage = enqueue_fill;
	table->clEnqueueCopyImage = enqueue_copy;
	table->clEnqueueCopyImageToBuffer = enqueue_to_buffer;
	table->clEnqueueCopyBufferToImage = enqueue_from_buffer;
	table->clEnqueueMapImage = enqueue_map;
}
