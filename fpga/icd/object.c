/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * What all objects of OpenCL have in common.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "fpga/icd/icd.h"

cl_icd_dispatch fpga_dispatch;

/* The last ones that died: a caller that still names one is refused. */
#define NDEAD 1024
static struct {
	pthread_mutex_t mutex;
	unsigned next;
	void *objects[NDEAD];
} dead = {.mutex = PTHREAD_MUTEX_INITIALIZER};

void *object_new(enum object_type type, size_t size, void (*destroy)(void *))
{
	struct object *object = calloc(1, size);

	if (object)
		*object = (struct object){
		    .dispatch = &fpga_dispatch, .type = type, .references = 1, .destroy = destroy};
	return object;
}

bool object_is(const void *opaque, enum object_type type)
{
	const struct object *object = opaque;

	return object && __atomic_load_n(&object->type, __ATOMIC_ACQUIRE) == type;
}

void object_retain(void *opaque)
{
	struct object *object = opaque;

	__atomic_add_fetch(&object->references, 1, __ATOMIC_RELAXED);
}

void object_release(void *opaque)
{
	struct object *object = opaque;
	void *oldest;

	if (__atomic_sub_fetch(&object->references, 1, __ATOMIC_ACQ_REL))
		return;
	__atomic_store_n(&object->type, DEAD, __ATOMIC_RELEASE);
	if (object->destroy)
		object->destroy(object);
	pthread_mutex_lock(&dead.mutex);
	oldest = dead.objects[dead.next];
	dead.objects[dead.next] = object;
	dead.next = (dead.next + 1) % NDEAD;
	pthread_mutex_unlock(&dead.mutex);
	free(oldest);
}

cl_int object_answer(const void *value, size_t size, size_t room, void *to, size_t *needed)
{
	if (to && room < size)
		return CL_INVALID_VALUE;
	if (to)
		memcpy(to, value, size);
	if (needed)
		*needed = size;
	return CL_SUCCESS;
}

void *object_result(void *object, cl_int error, cl_int *to)
{
	if (to)
		*to = error;
	return object;
}

cl_ulong object_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * UINT64_C(1000000000) + now.tv_nsec;
}
