/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Buffers and images. The data of each is at home, or in memory of the host's, where launches that
 * are split work on it. It stays where it was used last. Where home computes in the host's memory,
 * both are one memory, and only OpenCL has to be told, by mapping.
 */
#include "config.h"

#include "partition/opencl/layer.h"

#include <search.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { PAGE = 4096 };
/* Commands that have ended are to let go of memory of that size soon. */
enum { HURRY_BYTES = 1 << 20 };

#define HOST_ACCESS (CL_MEM_HOST_WRITE_ONLY | CL_MEM_HOST_READ_ONLY | CL_MEM_HOST_NO_ACCESS)
#define DEVICE_ACCESS (CL_MEM_READ_WRITE | CL_MEM_WRITE_ONLY | CL_MEM_READ_ONLY)
#define HOST_POINTER (CL_MEM_USE_HOST_PTR | CL_MEM_ALLOC_HOST_PTR | CL_MEM_COPY_HOST_PTR)

struct destructor {
	struct destructor *next;
	void(CL_CALLBACK *function)(cl_mem, void *);
	void *data;
};

/* ---- all that exist ---- */

static pthread_mutex_t known_mutex = PTHREAD_MUTEX_INITIALIZER;
static void *known;

static int pointers_compare(const void *a, const void *b)
{
	return (a > b) - (a < b);
}

struct memory *memory_find(const void *handle)
{
	bool found;

	pthread_mutex_lock(&known_mutex);
	found = tfind(handle, &known, pointers_compare);
	pthread_mutex_unlock(&known_mutex);
	return found ? (struct memory *)handle : NULL;
}

static bool known_add(struct memory *memory)
{
	bool added;

	pthread_mutex_lock(&known_mutex);
	added = tsearch(memory, &known, pointers_compare);
	pthread_mutex_unlock(&known_mutex);
	return added;
}

static void known_remove(struct memory *memory)
{
	pthread_mutex_lock(&known_mutex);
	tdelete(memory, &known, pointers_compare);
	pthread_mutex_unlock(&known_mutex);
}

/* ---- places ---- */

/* Memory that home's driver has pinned: programs that ask for it copy through a mapping of it, as
 * fast as the bus is.
 * @param[out] pinned the buffer that it is the mapping of
 * @return NULL: there is none */
static unsigned char *pinned_make(const struct memory *whole, cl_mem *pinned)
{
	struct context *context = whole->context;
	void *host = NULL;
	cl_int error;

	*pinned =
	    real->clCreateBuffer(context->home, CL_MEM_ALLOC_HOST_PTR, whole->bytes, NULL, &error);
	if (!error)
		host = real->clEnqueueMapBuffer(context->queue, *pinned, CL_TRUE,
		                                CL_MAP_READ | CL_MAP_WRITE, 0, whole->bytes, 0,
		                                NULL, NULL, &error);
	if (!error)
		return host;
	if (*pinned)
		real->clReleaseMemObject(*pinned);
	*pinned = NULL;
	return NULL;
}

static void host_free(const struct context *context, unsigned char *host, cl_mem pinned)
{
	if (!pinned) {
		free(host);
		return;
	}
	real->clEnqueueUnmapMemObject(context->queue, pinned, host, 0, NULL, NULL);
	real->clFlush(context->queue);
	real->clReleaseMemObject(pinned);
}

cl_int memory_host_make(struct memory *memory)
{
	struct memory *whole = memory->whole;
	unsigned char *host = NULL;
	cl_mem pinned = NULL;
	bool there;

	pthread_mutex_lock(&known_mutex);
	there = whole->host;
	pthread_mutex_unlock(&known_mutex);
	if (there)
		return CL_SUCCESS;
	if (whole->flags & CL_MEM_ALLOC_HOST_PTR && !whole->image && !whole->shared)
		host = pinned_make(whole, &pinned);
	if (!host)
		host = aligned_alloc(PAGE, (memory_bytes(whole) + PAGE - 1) / PAGE * PAGE);
	pthread_mutex_lock(&known_mutex);
	if (!whole->host && host) {
		whole->host = host;
		whole->pinned = pinned;
		whole->own = true;
		host = NULL;
	}
	there = whole->host;
	pthread_mutex_unlock(&known_mutex);
	/* Another thread was faster. */
	if (host)
		host_free(whole->context, host, pinned);
	return there ? CL_SUCCESS : CL_OUT_OF_HOST_MEMORY;
}

/* Home and the host have one memory, which the host gets to use. */
static cl_int shared_take(struct memory *whole)
{
	cl_int error;
	void *pointer = real->clEnqueueMapBuffer(whole->context->queue, whole->home, CL_TRUE,
	                                         CL_MAP_READ | CL_MAP_WRITE, 0, whole->bytes, 0,
	                                         NULL, NULL, &error);

	return error ? error : pointer == whole->host ? CL_SUCCESS : CL_MAP_FAILURE;
}

cl_int memory_to_host(struct memory *memory)
{
	struct memory *whole = memory->whole;
	cl_int error = memory_host_make(whole);
	cl_ulong begin = clock_ns();

	if (error || whole->at_host)
		return error;
	error = whole->image ? image_read(whole, whole->host)
	        : whole->shared
	            ? shared_take(whole)
	            : real->clEnqueueReadBuffer(whole->context->queue, whole->home, CL_TRUE, 0,
	                                        whole->bytes, whole->host, 0, NULL, NULL);
	if (error)
		return error;
	if (!whole->shared)
		record_crossed(memory_bytes(whole), clock_ns() - begin);
	whole->at_host = true;
	whole->changed = false;
	split_changed(whole->host, memory_bytes(whole));
	return CL_SUCCESS;
}

cl_int memory_fetch(struct memory *memory, size_t from, size_t bytes)
{
	struct memory *whole = memory->whole;
	cl_int error = whole->away ? split_fetch(memory_host(memory) + from, bytes) : CL_SUCCESS;

	whole->away = whole->away && (error || bytes < memory_bytes(whole));
	return error;
}

cl_int memory_to_home(struct memory *memory)
{
	struct memory *whole = memory->whole;
	cl_command_queue queue = whole->context->queue;
	cl_int error;

	if (!whole->at_host)
		return CL_SUCCESS;
	error = memory_fetch(whole, 0, memory_bytes(whole));
	if (error)
		return error;
	if (whole->image) {
		error = whole->changed ? image_write(whole, whole->host) : CL_SUCCESS;
	} else if (whole->shared) {
		error =
		    real->clEnqueueUnmapMemObject(queue, whole->home, whole->host, 0, NULL, NULL);
		if (!error)
			error = real->clFinish(queue);
	} else if (whole->changed) {
		error = real->clEnqueueWriteBuffer(queue, whole->home, CL_TRUE, 0, whole->bytes,
		                                   whole->host, 0, NULL, NULL);
	}
	whole->at_host = !!error;
	return error;
}

void memory_changed(struct memory *memory, size_t from, size_t bytes)
{
	memory->whole->changed = true;
	split_changed(memory_host(memory) + from, bytes);
}

/* ---- creation ---- */

static unsigned bits(cl_mem_flags flags)
{
	return __builtin_popcountll(flags);
}

static cl_int flags_check(cl_mem_flags flags, const void *host)
{
	bool wanted = flags & (CL_MEM_USE_HOST_PTR | CL_MEM_COPY_HOST_PTR);

	if (flags & ~(cl_mem_flags)(HOST_ACCESS | DEVICE_ACCESS | HOST_POINTER) ||
	    bits(flags & HOST_ACCESS) > 1 || bits(flags & DEVICE_ACCESS) > 1 ||
	    (flags & CL_MEM_USE_HOST_PTR && flags & (CL_MEM_ALLOC_HOST_PTR | CL_MEM_COPY_HOST_PTR)))
		return CL_INVALID_VALUE;
	return wanted == !!host ? CL_SUCCESS : CL_INVALID_HOST_PTR;
}

/* Makes the real buffer. Home is not told which accesses of the host's the program rules out:
 * the layer has others. */
static cl_int home_make(struct memory *memory, void *host)
{
	cl_mem_flags flags = memory->flags & DEVICE_ACCESS;
	cl_int error;

	if (memory->flags & CL_MEM_USE_HOST_PTR)
		memory->given = memory->host = host;
	memory->shared = layer_devices()->on_host;
	if (memory->shared) {
		error = memory_host_make(memory);
		if (error)
			return error;
		if (memory->flags & CL_MEM_COPY_HOST_PTR)
			memcpy(memory->host, host, memory->bytes);
		host = memory->host;
		flags |= CL_MEM_USE_HOST_PTR;
	} else if (host) {
		flags |= CL_MEM_COPY_HOST_PTR;
	}
	memory->home =
	    real->clCreateBuffer(memory->context->home, flags, memory->bytes, host, &error);
	return error;
}

/* A piece of host memory that is being freed, and a memory which the program has made of some of it
 * meanwhile: commands and arguments of kernels may have held the old one up. */
static const unsigned char *freed, *freed_end;
static const struct memory *heir;

static void heir_look(const void *node, VISIT visit, int depth)
{
	const struct memory *other = *(struct memory *const *)node;

	if (other->whole == other && other->host && other->host < freed_end &&
	    other->host + memory_bytes(other) > freed)
		heir = other;
}

/* What devices have of the host memory does not count any more, but for what is another one's. The
 * mutex is held. */
static void host_forget(const unsigned char *first, const unsigned char *end)
{
	const struct memory *other;

	if (first >= end)
		return;
	freed = first;
	freed_end = end;
	heir = NULL;
	twalk(known, heir_look);
	other = heir;
	if (!other) {
		split_changed(first, end - first);
		return;
	}
	host_forget(first, other->host);
	host_forget(other->host + memory_bytes(other), end);
}

static void away_forget(const void *node, VISIT visit, int depth)
{
	const struct memory *memory = *(struct memory *const *)node;

	if ((visit == leaf || visit == postorder) && memory->away)
		split_changed(memory->host, memory_bytes(memory));
}

void memories_forget(void)
{
	pthread_mutex_lock(&known_mutex);
	twalk(known, away_forget);
	pthread_mutex_unlock(&known_mutex);
}

/* Memory that is still used, though the program has let go of it and waits for its end. */
static atomic_uint nawaited;

bool memories_awaited(void)
{
	return atomic_load_explicit(&nawaited, memory_order_relaxed);
}

static void memory_free(struct memory *memory)
{
	if (memory->awaited)
		atomic_fetch_sub_explicit(&nawaited, 1, memory_order_relaxed);
	while (memory->maps) {
		struct map *map = memory->maps;

		memory->maps = map->next;
		free(map->own);
		free(map);
	}
	if (memory->home)
		real->clReleaseMemObject(memory->home);
	if (memory->whole != memory) {
		memory_release(memory->whole);
	} else if (memory->host) {
		pthread_mutex_lock(&known_mutex);
		host_forget(memory->host, memory->host + memory_bytes(memory));
		pthread_mutex_unlock(&known_mutex);
	}
	while (memory->destructors) {
		struct destructor *destructor = memory->destructors;

		memory->destructors = destructor->next;
		destructor->function((cl_mem)memory, destructor->data);
		free(destructor);
	}
	if (memory->own)
		host_free(memory->context, memory->host, memory->pinned);
	context_release(memory->context);
	free(memory);
}

void memory_release(struct memory *memory)
{
	if (!object_release(memory))
		return;
	known_remove(memory);
	memory_free(memory);
}

struct memory *memory_make(struct context *context, cl_mem_flags flags, size_t bytes)
{
	struct memory *memory = object_make(MEMORY, sizeof(*memory));

	if (!memory)
		return NULL;
	object_retain(context);
	memory->context = context;
	memory->whole = memory;
	memory->owned = 1;
	memory->bytes = bytes;
	memory->flags = flags & DEVICE_ACCESS ? flags : flags | CL_MEM_READ_WRITE;
	return memory;
}

cl_mem memory_finish(struct memory *memory, cl_int error, cl_int *to)
{
	if (!error && !known_add(memory))
		error = CL_OUT_OF_HOST_MEMORY;
	error_give(error, to);
	if (!error)
		return (cl_mem)memory;
	memory_free(memory);
	return NULL;
}

/* Home has the last word on a buffer that is larger than it says they can be: some drivers make
 * it. */
static cl_int bytes_check(const struct context *context, size_t bytes)
{
	cl_ulong most = 0;
	cl_int error;
	cl_mem home;

	real->clGetDeviceInfo(layer_devices()->ids[0], CL_DEVICE_MAX_MEM_ALLOC_SIZE, sizeof(most),
	                      &most, NULL);
	if (!bytes)
		return CL_INVALID_BUFFER_SIZE;
	if (bytes <= most)
		return CL_SUCCESS;
	home = real->clCreateBuffer(context->home, CL_MEM_READ_WRITE, bytes, NULL, &error);
	if (!error)
		real->clReleaseMemObject(home);
	return error;
}

static cl_mem CL_API_CALL buffer_create(cl_context id, cl_mem_flags flags, size_t bytes, void *host,
                                        cl_int *to)
{
	struct context *context = layer_object(id, CONTEXT);
	struct memory *memory;
	cl_int error;

	if (!context)
		return real->clCreateBuffer(id, flags, bytes, host, to);
	error = flags_check(flags, host);
	if (!error)
		error = bytes_check(context, bytes);
	if (error)
		return error_give(error, to);
	memory = memory_make(context, flags, bytes);
	if (!memory)
		return error_give(CL_OUT_OF_HOST_MEMORY, to);
	return memory_finish(memory, home_make(memory, host), to);
}

/* The flags of a part are those of the whole, unless the program says otherwise. */
static cl_int part_flags(const struct memory *whole, cl_mem_flags *flags)
{
	cl_mem_flags device = *flags & DEVICE_ACCESS, host = *flags & HOST_ACCESS;

	if (*flags & ~(cl_mem_flags)(HOST_ACCESS | DEVICE_ACCESS) || bits(device) > 1 ||
	    bits(host) > 1)
		return CL_INVALID_VALUE;
	if ((whole->flags & CL_MEM_WRITE_ONLY && device & (CL_MEM_READ_WRITE | CL_MEM_READ_ONLY)) ||
	    (whole->flags & CL_MEM_READ_ONLY && device & (CL_MEM_READ_WRITE | CL_MEM_WRITE_ONLY)) ||
	    (whole->flags & CL_MEM_HOST_WRITE_ONLY && host & CL_MEM_HOST_READ_ONLY) ||
	    (whole->flags & CL_MEM_HOST_READ_ONLY && host & CL_MEM_HOST_WRITE_ONLY) ||
	    (whole->flags & CL_MEM_HOST_NO_ACCESS &&
	     host & (CL_MEM_HOST_READ_ONLY | CL_MEM_HOST_WRITE_ONLY)))
		return CL_INVALID_VALUE;
	*flags = (device ? device : whole->flags & DEVICE_ACCESS) |
	         (host ? host : whole->flags & HOST_ACCESS) | (whole->flags & HOST_POINTER);
	return CL_SUCCESS;
}

static cl_mem CL_API_CALL part_create(cl_mem id, cl_mem_flags flags, cl_buffer_create_type type,
                                      const void *description, cl_int *to)
{
	struct memory *whole = layer_object(id, MEMORY), *part;
	const cl_buffer_region *region = description;
	cl_int error;

	if (!whole)
		return real->clCreateSubBuffer(id, flags, type, description, to);
	if (whole->whole != whole || whole->image)
		return error_give(CL_INVALID_MEM_OBJECT, to);
	error = part_flags(whole, &flags);
	if (error || type != CL_BUFFER_CREATE_TYPE_REGION || !region)
		return error_give(CL_INVALID_VALUE, to);
	part = memory_make(whole->context, flags, region->size);
	if (!part)
		return error_give(CL_OUT_OF_HOST_MEMORY, to);
	part->offset = region->origin;
	part->home =
	    real->clCreateSubBuffer(whole->home, flags & DEVICE_ACCESS, type, region, &error);
	if (!error) {
		object_retain(whole);
		part->whole = whole;
	}
	return memory_finish(part, error, to);
}

/* ---- mapping ---- */

static pthread_mutex_t maps_mutex = PTHREAD_MUTEX_INITIALIZER;

void map_link(struct memory *memory, struct map *map)
{
	pthread_mutex_lock(&maps_mutex);
	map->next = memory->maps;
	memory->maps = map;
	memory->nmaps++;
	pthread_mutex_unlock(&maps_mutex);
}

struct map *map_add(struct memory *memory, size_t offset, size_t bytes, cl_map_flags flags)
{
	struct map *map = calloc(1, sizeof(*map));

	if (!map)
		return NULL;
	map->pointer = memory_host(memory) + offset;
	map->offset = offset;
	map->bytes = bytes;
	map->flags = flags;
	map_link(memory, map);
	return map;
}

struct map *map_take(struct memory *memory, const void *pointer)
{
	struct map **at = &memory->maps, *map;

	pthread_mutex_lock(&maps_mutex);
	while ((map = *at) && map->pointer != pointer)
		at = &map->next;
	if (map) {
		*at = map->next;
		memory->nmaps--;
	}
	pthread_mutex_unlock(&maps_mutex);
	return map;
}

/* ---- the rest ---- */

static cl_int CL_API_CALL memory_retain(cl_mem id)
{
	struct memory *memory = layer_object(id, MEMORY);

	if (!memory)
		return real->clRetainMemObject(id);
	object_retain(memory);
	__atomic_add_fetch(&memory->owned, 1, __ATOMIC_RELAXED);
	return CL_SUCCESS;
}

static cl_int CL_API_CALL memory_release_call(cl_mem id)
{
	struct memory *memory = layer_object(id, MEMORY);
	bool last;

	if (!memory)
		return real->clReleaseMemObject(id);
	last = !__atomic_sub_fetch(&memory->owned, 1, __ATOMIC_RELAXED);
	/* A part's memory goes with the whole. */
	if (last && !__atomic_load_n(&memory->whole->owned, __ATOMIC_RELAXED) &&
	    memory_bytes(memory->whole) >= HURRY_BYTES)
		passed_hurry();
	last = last && memory->destructors;
	if (last) {
		memory->awaited = true;
		atomic_fetch_add_explicit(&nawaited, 1, memory_order_relaxed);
	}
	memory_release(memory);
	if (last && memories_awaited())
		engine_watch();
	return CL_SUCCESS;
}

static cl_int CL_API_CALL memory_info(cl_mem id, cl_mem_info name, size_t room, void *value,
                                      size_t *needed)
{
	struct memory *memory = layer_object(id, MEMORY);
	cl_mem_object_type type;
	struct memory *parent;
	unsigned char *given;
	cl_uint maps;

	if (!memory)
		return real->clGetMemObjectInfo(id, name, room, value, needed);
	switch (name) {
	case CL_MEM_TYPE:
		type = memory->image ? memory->image : CL_MEM_OBJECT_BUFFER;
		return info_give_value(type, room, value, needed);
	case CL_MEM_FLAGS:
		return info_give_value(memory->flags, room, value, needed);
	case CL_MEM_SIZE:
		return info_give_value(memory->bytes, room, value, needed);
	case CL_MEM_HOST_PTR:
		given = memory->whole->given;
		given = given ? given + memory->offset : NULL;
		return info_give_value(given, room, value, needed);
	case CL_MEM_MAP_COUNT:
		maps = memory->nmaps;
		return info_give_value(maps, room, value, needed);
	case CL_MEM_REFERENCE_COUNT:
		return info_give_value(memory->object.references, room, value, needed);
	case CL_MEM_CONTEXT:
		return info_give_value(memory->context, room, value, needed);
	case CL_MEM_ASSOCIATED_MEMOBJECT:
		parent = memory->whole == memory ? NULL : memory->whole;
		return info_give_value(parent, room, value, needed);
	case CL_MEM_OFFSET:
		return info_give_value(memory->offset, room, value, needed);
	default:
		return CL_INVALID_VALUE;
	}
}

static cl_int CL_API_CALL destructor_add(cl_mem id, void(CL_CALLBACK *function)(cl_mem, void *),
                                         void *data)
{
	struct memory *memory = layer_object(id, MEMORY);
	struct destructor *destructor;

	if (!memory)
		return real->clSetMemObjectDestructorCallback(id, function, data);
	if (!function)
		return CL_INVALID_VALUE;
	destructor = malloc(sizeof(*destructor));
	if (!destructor)
		return CL_OUT_OF_HOST_MEMORY;
	pthread_mutex_lock(&known_mutex);
	*destructor = (struct destructor){memory->destructors, function, data};
	memory->destructors = destructor;
	pthread_mutex_unlock(&known_mutex);
	return CL_SUCCESS;
}

void memory_functions(cl_icd_dispatch *table)
{
	table->clCreateBuffer = buffer_create;
	table->clCreateSubBuffer = part_create;
	table->clRetainMemObject = memory_retain;
	table->clReleaseMemObject = memory_release_call;
	table->clGetMemObjectInfo = memory_info;
	table->clSetMemObjectDestructorCallback = destructor_add;
}
