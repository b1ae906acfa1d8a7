/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * What a device has room for. StarPU tries for ever to allocate what does not fit,
 * so blocks are made to fit beforehand.
 */
#include "config.h"

#include <errno.h>
#include <pthread.h>
#ifdef HEDDLE_USE_CUDA
#include <cuda_runtime_api.h>
#endif
#if defined(HEDDLE_USE_OPENCL) && !defined(HEDDLE_USE_SIMGRID)
#include <starpu_opencl.h>
#endif

#include "loop_private.h"

/* Blocks that an accelerator holds at a time: those in flight, and one whose
 * outputs leave. With a depth of 1 the next comes when these are home, but a block as
 * large as all might find no room: StarPU never gives back up to 128 MB of the chunks that
 * small buffers were in. So it is not larger than with a depth of 2. */
static unsigned blocks_held(unsigned depth)
{
	return depth > 2 ? depth + 1 : 3;
}

/* How many it is to hold where there is no room for so many: in the end one block alone. */
static unsigned fewer_held(unsigned held)
{
	return held > 3 ? held - 1 : 1;
}

/* Workers that share the memory of one. */
static unsigned workers_beside(int id)
{
	unsigned n = 0;

	for (unsigned other = 0; other < starpu_worker_get_count(); other++)
		n += starpu_worker_get_memory_node(other) == starpu_worker_get_memory_node(id);
	return n;
}

/* Bytes of the largest buffer a device can allocate. StarPU ends a program that
 * asks an OpenCL device for more. */
static size_t largest_buffer(int id)
{
#if defined(HEDDLE_USE_OPENCL) && !defined(HEDDLE_USE_SIMGRID)
	cl_device_id device;
	cl_ulong bytes;

	if (starpu_worker_get_type(id) == STARPU_OPENCL_WORKER) {
		starpu_opencl_get_device(starpu_worker_get_devid(id), &device);
		if (!clGetDeviceInfo(device, CL_DEVICE_MAX_MEM_ALLOC_SIZE, sizeof(bytes), &bytes,
		                     NULL))
			return bytes;
	}
#endif
	return SIZE_MAX;
}

#ifdef HEDDLE_USE_CUDA
/* For so long it is believed what other programs leave of a device: to ask costs as
 * much as a small block. */
#define BELIEVED_US 100e3

/* Bytes that nobody has of a device's memory; SIZE_MAX: not known. */
static size_t cuda_left(int device)
{
	size_t left, total;
	int before;

	if (cudaGetDevice(&before) != cudaSuccess)
		return SIZE_MAX;
	if (cudaSetDevice(device) != cudaSuccess || cudaMemGetInfo(&left, &total) != cudaSuccess) {
		cudaGetLastError();
		left = SIZE_MAX;
	}
	cudaSetDevice(before);
	return left;
}

/* What nobody has of a device's memory and what StarPU has of it already. */
static size_t cuda_memory(int id, size_t total)
{
	static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
	static struct {
		double at;
		size_t bytes;
	} known[STARPU_NMAXWORKERS];
	size_t has = total - starpu_memory_get_available(starpu_worker_get_memory_node(id));
	double now = starpu_timing_now();
	size_t bytes;

	pthread_mutex_lock(&mutex);
	if (!known[id].at || now - known[id].at > BELIEVED_US || now < known[id].at) {
		size_t left = cuda_left(starpu_worker_get_devid(id));

		known[id].bytes = left < SIZE_MAX - has ? left + has : SIZE_MAX;
		known[id].at = now;
	}
	bytes = known[id].bytes;
	pthread_mutex_unlock(&mutex);
	return bytes;
}
#else
static size_t cuda_memory(int id, size_t total)
{
	return SIZE_MAX;
}
#endif

/* Bytes of a device's memory that StarPU may use. */
static size_t device_memory(int id)
{
	starpu_ssize_t total = starpu_memory_get_total(starpu_worker_get_memory_node(id));
	size_t bytes = SIZE_MAX;

	if (total < 0)
		return SIZE_MAX;
	if (starpu_worker_get_type(id) == STARPU_CUDA_WORKER)
		bytes = cuda_memory(id, total);
	return bytes < (size_t)total ? bytes : (size_t)total;
}

int lane_size(const struct heddle_loop_request *loop, struct lane *lane)
{
	int id = lane->stats.id;
	size_t total = device_memory(id);
	struct footprint footprint = views_footprint(loop->views, loop->loop.naccesses);
	size_t room = SIZE_MAX, most;

	lane->buffer = largest_buffer(id);
	most = views_buffer_room(loop->views, loop->loop.naccesses, lane->buffer);
	lane->depth = loop->depth > 1 ? loop->depth : 1;
	if (total < SIZE_MAX) {
		unsigned held = blocks_held(lane->depth);

		/* A fourth stays free: buffers are rounded up by as much. */
		while (!(room = footprint_room(&footprint, total / 4 * 3,
		                               held * workers_beside(id))) &&
		       held > 1)
			held = fewer_held(held);
		if (lane->depth >= held)
			lane->depth = held > 1 ? held - 1 : 1;
	}
	room = room < most ? room : most;
	if (room < SIZE_MAX && loop->loop.alignment)
		room -= room % loop->loop.alignment;
	lane->maximum = room < SIZE_MAX ? room : 0;
	return room ? 0 : -ENOMEM;
}
