/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "config.h"

#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <starpu.h>

#include "support/pin_starpu.h"
#include "support/pins.h"

#ifdef HEDDLE_USE_CUDA
#include <cuda_runtime_api.h>

bool heddle_is_pinned(const void *memory)
{
	struct cudaPointerAttributes attributes;

	if (cudaPointerGetAttributes(&attributes, memory) != cudaSuccess) {
		cudaGetLastError();
		return false;
	}
	return attributes.type != cudaMemoryTypeUnregistered;
}

bool heddle_pin_useful(void)
{
	return starpu_cuda_worker_get_count() > 0;
}

/* CUDA remembers a failure until it is asked for. */
static void forget_error(void)
{
	cudaGetLastError();
}
#else
bool heddle_is_pinned(const void *memory)
{
	return false;
}

/* A simulated device needs nothing. */
bool heddle_pin_useful(void)
{
#ifdef HEDDLE_USE_HIP
	return starpu_hip_worker_get_count() > 0;
#else
	return false;
#endif
}

static void forget_error(void)
{
}
#endif

/* Held while memory is pinned, too: another loop on it must wait for that. */
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static struct pins pins;

bool heddle_pin_hold(const void *memory, size_t bytes)
{
	bool held;

	pthread_mutex_lock(&mutex);
	held = pins_hold(&pins, (uintptr_t)memory, bytes);
	pthread_mutex_unlock(&mutex);
	return held;
}

/* Mutex held. */
static int pin(void *memory, size_t bytes)
{
	struct pin whole;

	if (pins_hold(&pins, (uintptr_t)memory, bytes))
		return 0;
	if (pins_add(&pins, (uintptr_t)memory, bytes))
		return -ENOMEM;
	if (!starpu_memory_pin(memory, bytes))
		return 0;
	forget_error();
	pins_drop(&pins, (uintptr_t)memory, bytes, &whole);
	return -ENOMEM;
}

int heddle_pin(void *memory, size_t bytes)
{
	int status;

	pthread_mutex_lock(&mutex);
	status = pin(memory, bytes);
	pthread_mutex_unlock(&mutex);
	return status;
}

void heddle_unpin(void *memory, size_t bytes)
{
	struct pin whole;

	pthread_mutex_lock(&mutex);
	/* After StarPU has ended the process has no devices. */
	if (pins_drop(&pins, (uintptr_t)memory, bytes, &whole) && starpu_is_initialized() &&
	    starpu_memory_unpin((void *)whole.base, whole.bytes))
		forget_error(); /* StarPU ended and began again meanwhile */
	pthread_mutex_unlock(&mutex);
}
