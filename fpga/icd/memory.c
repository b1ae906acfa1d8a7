/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "fpga/icd/icd.h"
#include "support/variables.h"

/* Bytes of a buffer, on every device of its context. */
static bool memory_take(cl_context context, size_t size)
{
	size_t limit = heddle_variable_number(HEDDLE_VARIABLE_FPGA_MEMORY) * 0x1p20;

	for (cl_uint d = 0; d < context->ndevices; d++) {
		cl_device_id device = context->devices[d];
		bool full;

		pthread_mutex_lock(&device->mutex);
		full = size > limit || device->used > limit - size;
		device->used += full ? 0 : size;
		pthread_mutex_unlock(&device->mutex);
		if (!full)
			continue;
		while (d--) {
			pthread_mutex_lock(&context->devices[d]->mutex);
			context->devices[d]->used -= size;
			pthread_mutex_unlock(&context->devices[d]->mutex);
		}
		return false;
	}
	return true;
}

static void memory_give_back(cl_context context, size_t size)
{
	for (cl_uint d = 0; d < context->ndevices; d++) {
		pthread_mutex_lock(&context->devices[d]->mutex);
		context->devices[d]->used -= size;
		pthread_mutex_unlock(&context->devices[d]->mutex);
	}
}

static void memory_destroy(void *opaque)
{
	cl_mem self = opaque;

	while (self->mappings) {
		struct mapping *mapping = self->mappings;

		self->mappings = mapping->next;
		free(mapping);
	}
	pthread_mutex_destroy(&self->mutex);
	if (self->bytes != self->host)
		free(self->bytes);
	memory_give_back(self->context, self->size);
	object_release(self->context);
}

static cl_int check_flags(cl_mem_flags flags, const void *host)
{
	const cl_mem_flags access =
	    flags & (CL_MEM_READ_WRITE | CL_MEM_READ_ONLY | CL_MEM_WRITE_ONLY);
	const cl_mem_flags known = CL_MEM_READ_WRITE | CL_MEM_READ_ONLY | CL_MEM_WRITE_ONLY |
	                           CL_MEM_USE_HOST_PTR | CL_MEM_ALLOC_HOST_PTR |
	                           CL_MEM_COPY_HOST_PTR | CL_MEM_HOST_WRITE_ONLY |
	                           CL_MEM_HOST_READ_ONLY | CL_MEM_HOST_NO_ACCESS;
	bool wants_host = flags & (CL_MEM_USE_HOST_PTR | CL_MEM_COPY_HOST_PTR);

	if ((flags & ~known) || (access & (access - 1)) ||
	    ((flags & CL_MEM_USE_HOST_PTR) &&
	     (flags & (CL_MEM_ALLOC_HOST_PTR | CL_MEM_COPY_HOST_PTR))))
		return CL_INVALID_VALUE;
	return wants_host == !host ? CL_INVALID_HOST_PTR : CL_SUCCESS;
}

static cl_mem create_buffer(cl_context context, cl_mem_flags flags, size_t size, void *host,
                            cl_int *error)
{
	cl_int wrong = object_is(context, CONTEXT) ? check_flags(flags, host) : CL_INVALID_CONTEXT;
	cl_mem self;

	if (wrong)
		return object_result(NULL, wrong, error);
	if (!size || size > heddle_variable_number(HEDDLE_VARIABLE_FPGA_MEMORY) * 0x1p20)
		return object_result(NULL, CL_INVALID_BUFFER_SIZE, error);
	if (!memory_take(context, size))
		return object_result(NULL, CL_MEM_OBJECT_ALLOCATION_FAILURE, error);
	self = object_new(MEMORY, sizeof(*self), memory_destroy);
	if (self && (flags & CL_MEM_USE_HOST_PTR))
		self->bytes = self->host = host;
	else if (self && posix_memalign((void **)&self->bytes, 4096, size))
		self->bytes = NULL;
	if (!self || !self->bytes) {
		free(self);
		memory_give_back(context, size);
		return object_result(NULL, CL_OUT_OF_HOST_MEMORY, error);
	}
	if (flags & CL_MEM_COPY_HOST_PTR)
		memcpy(self->bytes, host, size);
	pthread_mutex_init(&self->mutex, NULL);
	self->flags = flags;
	self->size = size;
	self->context = context;
	object_retain(context);
	return object_result(self, CL_SUCCESS, error);
}

bool memory_map(cl_mem self, size_t offset, size_t size, bool written)
{
	struct mapping *mapping = malloc(sizeof(*mapping));

	if (!mapping)
		return false;
	*mapping = (struct mapping){.offset = offset, .size = size, .written = written};
	pthread_mutex_lock(&self->mutex);
	mapping->next = self->mappings;
	self->mappings = mapping;
	pthread_mutex_unlock(&self->mutex);
	return true;
}

bool memory_unmap(cl_mem self, const void *at, size_t *size)
{
	struct mapping **to, *found;

	pthread_mutex_lock(&self->mutex);
	for (to = &self->mappings; *to && self->bytes + (*to)->offset != at; to = &(*to)->next)
		;
	found = *to;
	if (found) {
		*to = found->next;
		*size = found->written ? found->size : 0;
	}
	pthread_mutex_unlock(&self->mutex);
	free(found);
	return found;
}

static cl_uint memory_map_count(cl_mem self)
{
	cl_uint n = 0;

	pthread_mutex_lock(&self->mutex);
	for (struct mapping *mapping = self->mappings; mapping; mapping = mapping->next)
		n++;
	pthread_mutex_unlock(&self->mutex);
	return n;
}

static cl_int retain_memory(cl_mem self)
{
	if (!object_is(self, MEMORY))
		return CL_INVALID_MEM_OBJECT;
	object_retain(self);
	return CL_SUCCESS;
}

static cl_int release_memory(cl_mem self)
{
	if (!object_is(self, MEMORY))
		return CL_INVALID_MEM_OBJECT;
	object_release(self);
	return CL_SUCCESS;
}

static cl_int get_memory_info(cl_mem self, cl_mem_info what, size_t room, void *to, size_t *needed)
{
	if (!object_is(self, MEMORY))
		return CL_INVALID_MEM_OBJECT;
	switch (what) {
	case CL_MEM_TYPE:
		return ANSWER(cl_mem_object_type, CL_MEM_OBJECT_BUFFER);
	case CL_MEM_FLAGS:
		return ANSWER(cl_mem_flags, self->flags);
	case CL_MEM_SIZE:
		return ANSWER(size_t, self->size);
	case CL_MEM_HOST_PTR:
		return ANSWER(void *, self->host);
	case CL_MEM_MAP_COUNT:
		return ANSWER(cl_uint, memory_map_count(self));
	case CL_MEM_REFERENCE_COUNT:
		return ANSWER(cl_uint, self->object.references);
	case CL_MEM_CONTEXT:
		return ANSWER(cl_context, self->context);
	case CL_MEM_ASSOCIATED_MEMOBJECT:
		return ANSWER(cl_mem, NULL);
	case CL_MEM_OFFSET:
		return ANSWER(size_t, 0);
	default:
		return CL_INVALID_VALUE;
	}
}

static cl_int get_image_formats(cl_context context, cl_mem_flags flags, cl_mem_object_type type,
                                cl_uint n, cl_image_format *to, cl_uint *count)
{
	if (!object_is(context, CONTEXT))
		return CL_INVALID_CONTEXT;
	if (to && !n)
		return CL_INVALID_VALUE;
	if (count)
		*count = 0;
	return CL_SUCCESS;
}

void memory_functions(cl_icd_dispatch *table)
{
	table->clCreateBuffer = create_buffer;
	table->clRetainMemObject = retain_memory;
	table->clReleaseMemObject = release_memory;
	table->clGetMemObjectInfo = get_memory_info;
	table->clGetSupportedImageFormats = get_image_formats;
}
