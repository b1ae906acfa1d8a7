/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The arguments that a caller gives: copied into the request and checked. Messages count them
 * from 1, as OpenCL compilers do.
 */
#include "config.h"

#ifdef HEDDLE_USE_OPENCL

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "partition/kernel/launch/request_starpu.h"
#include "support/message.h"

static int handle_check(struct heddle_kernel_request *request, unsigned a)
{
	starpu_data_handle_t handle = request->given.arguments[a].handle;
	enum starpu_data_interface_id id =
	    handle ? starpu_data_get_interface_id(handle) : STARPU_UNKNOWN_INTERFACE_ID;
	bool flat = id == STARPU_VECTOR_INTERFACE_ID || id == STARPU_VARIABLE_INTERFACE_ID ||
	            (id == STARPU_MATRIX_INTERFACE_ID &&
	             starpu_matrix_get_local_ld(handle) == starpu_matrix_get_nx(handle));

	if (!flat || !starpu_data_handle_to_pointer(handle, STARPU_MAIN_RAM))
		return heddle_refuse(
		    -EINVAL,
		    "kernel %s: argument %u is no vector, variable or matrix without "
		    "gaps at home in main memory",
		    request->given.name, a + 1);
	request->bytes[a] = starpu_data_get_size(handle);
	return 0;
}

static int value_copy(struct heddle_kernel_request *request, unsigned a)
{
	struct heddle_kernel_argument *argument = &request->given.arguments[a];
	void *copy = &request->values[a];

	if (!argument->pointer || !argument->bytes)
		return heddle_refuse(-EINVAL, "kernel %s: argument %u is a value without one",
		                     request->given.name, a + 1);
	if (argument->bytes > sizeof(request->values[a]))
		copy = malloc(argument->bytes);
	if (!copy)
		return -ENOMEM;
	memcpy(copy, argument->pointer, argument->bytes);
	argument->pointer = copy;
	if (argument->bytes == 8)
		request->integers[a] = *(int64_t *)copy;
	else if (argument->bytes == 4)
		request->integers[a] = *(int32_t *)copy;
	else if (argument->bytes == 2)
		request->integers[a] = *(int16_t *)copy;
	else if (argument->bytes == 1)
		request->integers[a] = *(int8_t *)copy;
	return 0;
}

void kernel_arguments_free(struct heddle_kernel_request *request)
{
	for (unsigned a = 0; a < request->given.narguments; a++) {
		struct heddle_kernel_argument *argument = &request->given.arguments[a];

		if ((argument->type == HEDDLE_KERNEL_VALUE || kernel_image_of(argument)) &&
		    argument->pointer != &request->values[a])
			free(argument->pointer);
	}
}

static int structure_refuse(const struct heddle_kernel_request *request, unsigned a,
                            const char *what)
{
	return heddle_refuse(-EINVAL, "kernel %s: argument %u is no %s", request->given.name, a + 1,
	                     what);
}

/* Its fields are read as those of a structure that the kernel gets. */
_Static_assert(
    offsetof(struct heddle_kernel_image, width) == offsetof(struct index_image, width) &&
        offsetof(struct heddle_kernel_image, height) == offsetof(struct index_image, height) &&
        offsetof(struct heddle_kernel_image, depth) == offsetof(struct index_image, depth) &&
        offsetof(struct heddle_kernel_image, layers) == offsetof(struct index_image, layers),
    "images begin with their sizes");

static int image_take(struct heddle_kernel_request *request, unsigned a)
{
	const struct heddle_kernel_argument *argument = &request->given.arguments[a];
	const struct heddle_kernel_image *image = argument->pointer;
	size_t pixel;

	if (!image || argument->bytes != sizeof(*image) || !image->pixels ||
	    kernel_image_size(image, &request->bytes[a], &pixel))
		return structure_refuse(request, a, "image");
	request->units[a] = request->bytes[a] / pixel;
	return value_copy(request, a);
}

static int sampler_take(struct heddle_kernel_request *request, unsigned a)
{
	const struct heddle_kernel_sampler *sampler = request->given.arguments[a].pointer;

	if (!sampler || request->given.arguments[a].bytes != sizeof(*sampler) ||
	    (sampler->filter != CL_FILTER_NEAREST && sampler->filter != CL_FILTER_LINEAR))
		return structure_refuse(request, a, "sampler");
	/* OpenCL does not say how exactly a device computes with normalized coordinates. */
	if (sampler->filter == CL_FILTER_LINEAR || sampler->normalized)
		request->imprecise = true;
	return value_copy(request, a);
}

static int argument_take(struct heddle_kernel_request *request, unsigned a)
{
	struct heddle_kernel_argument *argument = &request->given.arguments[a];

	request->same[a] = a;
	request->bytes[a] = 0;
	request->integers[a] = 0;
	request->kept[a] = NULL;
	switch (argument->type) {
	case HEDDLE_KERNEL_HANDLE:
		return handle_check(request, a);
	case HEDDLE_KERNEL_HOST:
		request->bytes[a] = argument->bytes;
		if (!argument->pointer || !argument->bytes)
			return heddle_refuse(-EINVAL, "kernel %s: argument %u is no memory",
			                     request->given.name, a + 1);
		return 0;
	case HEDDLE_KERNEL_VALUE:
		return value_copy(request, a);
	case HEDDLE_KERNEL_IMAGE:
		return image_take(request, a);
	case HEDDLE_KERNEL_SAMPLER:
		return sampler_take(request, a);
	case HEDDLE_KERNEL_LOCAL:
		argument->pointer = NULL;
		if (argument->bytes)
			return 0;
		/* fall through */
	default:
		return heddle_refuse(-EINVAL, "kernel %s: argument %u is nothing",
		                     request->given.name, a + 1);
	}
}

static bool is_image(const struct heddle_kernel_request *request, unsigned a)
{
	return kernel_image_of(&request->given.arguments[a]);
}

static bool is_read(const struct heddle_kernel_request *request, unsigned a)
{
	return request->given.arguments[a].mode == STARPU_R;
}

/* Arguments that are one array are accessed in one way. */
static void mode_join(struct heddle_kernel_request *request, unsigned a)
{
	struct heddle_kernel_argument *first = &request->given.arguments[request->same[a]];
	struct heddle_kernel_argument *other = &request->given.arguments[a];

	if (first->mode != other->mode)
		first->mode = STARPU_RW;
	first->keep = first->keep && other->keep;
}

/* After all others of an array were looked at. */
static void modes_join(struct heddle_kernel_request *request)
{
	for (unsigned a = 0; a < request->given.narguments; a++)
		if (request->same[a] != (int)a)
			mode_join(request, a);
	for (unsigned a = 0; a < request->given.narguments; a++) {
		unsigned first = request->same[a];

		request->given.arguments[a].mode = request->given.arguments[first].mode;
		if (first != a && request->given.arguments[a].mode != STARPU_R)
			request->rewritten = true;
	}
}

/* One array as several arguments is one buffer. Arrays that overlap in part cannot be told apart on
 * a device. An image is never the same memory as another argument. */
static int aliases_find(struct heddle_kernel_request *request)
{
	for (unsigned a = 0; a < request->given.narguments; a++)
		for (unsigned b = 0; b < a && request->bytes[a]; b++) {
			const unsigned char *first = kernel_host_of(request, a);
			const unsigned char *second = kernel_host_of(request, b);

			if (!request->bytes[b] || first + request->bytes[a] <= second ||
			    second + request->bytes[b] <= first)
				continue;
			if ((is_image(request, a) || is_image(request, b)) && is_read(request, a) &&
			    is_read(request, b))
				continue;
			if (is_image(request, a) || is_image(request, b))
				return heddle_refuse(-EINVAL,
				                     "kernel %s: arguments %u and %u have the same "
				                     "memory, one is an image "
				                     "and one is written",
				                     request->given.name, b + 1, a + 1);
			if (first != second || request->bytes[a] != request->bytes[b])
				return heddle_refuse(-EINVAL,
				                     "kernel %s: the memory of arguments %u and %u "
				                     "overlaps in part",
				                     request->given.name, b + 1, a + 1);
			request->same[a] = request->same[b];
			request->aliased = true;
		}
	if (request->aliased)
		modes_join(request);
	return 0;
}

static unsigned handles_count(const struct heddle_kernel_request *request)
{
	unsigned n = 0;

	for (unsigned a = 0; a < request->given.narguments; a++)
		n += request->given.arguments[a].type == HEDDLE_KERNEL_HANDLE;
	return n;
}

int kernel_arguments_take(struct heddle_kernel_request *request, const struct heddle_kernel *given)
{
	int status = 0;

	for (unsigned a = 0; a < given->narguments && !status; a++) {
		request->given.arguments[a] = given->arguments[a];
		status = argument_take(request, a);
		if (!status)
			request->given.narguments++;
		if (!is_image(request, a))
			request->units[a] = request->bytes[a];
	}
	if (!status && handles_count(request) > STARPU_NMAXBUFS)
		status = heddle_refuse(-EINVAL, "kernel %s: more than %d handles", given->name,
		                       STARPU_NMAXBUFS);
	return status ? status : aliases_find(request);
}

/* Takes the integers in structures and vectors, for which there is room behind all arguments. */
static int fields_take(struct heddle_kernel_request *request)
{
	const struct index_kernel *index = &request->kernel->index;

	for (unsigned f = 0; f < index->nfields; f++) {
		const struct index_field *field = &index->fields[f];
		const struct heddle_kernel_argument *argument =
		    &request->given.arguments[field->argument];

		if (argument->bytes < field->offset + field->bytes)
			return heddle_refuse(-EINVAL,
			                     "kernel %s: argument %u has %zu bytes, and the kernel "
			                     "reads %u at %u",
			                     request->given.name, field->argument + 1,
			                     argument->bytes, field->bytes, field->offset);
		request->integers[index->narguments + f] =
		    index_field_value(field, argument->pointer);
	}
	return 0;
}

int kernel_arguments_compare(struct heddle_kernel_request *request)
{
	const struct index_kernel *index = &request->kernel->index;
	unsigned n = request->given.narguments;
	const char *wrong = NULL;

	if (n != index->narguments)
		return heddle_refuse(-EINVAL, "kernel %s takes %u arguments, not %u",
		                     request->given.name, index->narguments, n);
	for (unsigned a = 0; a < n; a++) {
		const struct heddle_kernel_argument *argument = &request->given.arguments[a];
		enum index_kind kind = index->arguments[a].kind;
		bool right = kind == INDEX_BUFFER  ? request->bytes[a] > 0 && !is_image(request, a)
		             : kind == INDEX_IMAGE ? is_image(request, a)
		             : kind == INDEX_SAMPLER ? argument->type == HEDDLE_KERNEL_SAMPLER
		             : kind == INDEX_LOCAL   ? argument->type == HEDDLE_KERNEL_LOCAL
		             : kind == INDEX_INTEGER
		                 ? argument->type == HEDDLE_KERNEL_VALUE &&
		                       argument->bytes * 8 == index->arguments[a].bits
		                 : argument->type == HEDDLE_KERNEL_VALUE;

		if (!right)
			return heddle_refuse(-EINVAL,
			                     "kernel %s: argument %u is not of the kind that "
			                     "the kernel takes",
			                     request->given.name, a + 1);
		if (kind == INDEX_IMAGE)
			wrong = kernel_image_wrong(argument->pointer, &index->arguments[a]);
		if (wrong)
			return heddle_refuse(-EINVAL,
			                     "kernel %s: argument %u is an image of %s that the "
			                     "kernel does not take",
			                     request->given.name, a + 1, wrong);
	}
	return fields_take(request);
}

#endif
