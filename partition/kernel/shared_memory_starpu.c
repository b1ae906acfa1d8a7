/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Whether an OpenCL device works on the host's arrays themselves. OpenCL lets implementations
 * keep a copy of an array that a buffer is made of, up to date only while it is mapped; those for
 * CPUs have no reason to. So it is tried out.
 */
#include "config.h"

#ifdef HEDDLE_USE_OPENCL

#include <stdlib.h>
#include <string.h>

#include "partition/kernel/kernel_private.h"

/* Aligned as for OpenCL's largest type, and not as pages are. */
enum { BYTES = 3 * 4096 + 128, ALIGNMENT = 128 };

/* Bytes that differ from those before, and from each other. */
static void pattern(unsigned char *bytes, unsigned salt)
{
	for (size_t i = 0; i < BYTES; i++)
		bytes[i] = i * 31 + i / 256 + salt;
}

/* What is written to the buffer is in the array at once, and the other way round. */
static bool is_seen(cl_command_queue queue, cl_mem buffer, unsigned char *array,
                    unsigned char *other)
{
	pattern(other, 1);
	if (clEnqueueWriteBuffer(queue, buffer, CL_TRUE, 0, BYTES, other, 0, NULL, NULL) ||
	    clFinish(queue) || memcmp(array, other, BYTES))
		return false;
	pattern(array, 2);
	return !clEnqueueReadBuffer(queue, buffer, CL_TRUE, 0, BYTES, other, 0, NULL, NULL) &&
	       !clFinish(queue) && !memcmp(array, other, BYTES);
}

static bool is_shared(cl_context context, cl_command_queue queue)
{
	unsigned char *array = aligned_alloc(ALIGNMENT, BYTES), *other = malloc(BYTES);
	bool seen = false;
	cl_mem buffer;
	cl_int error;

	if (array && other) {
		pattern(array, 0);
		buffer = clCreateBuffer(context, CL_MEM_READ_WRITE | CL_MEM_USE_HOST_PTR, BYTES,
		                        array, &error);
		if (!error) {
			seen = is_seen(queue, buffer, array, other);
			clReleaseMemObject(buffer);
		}
	}
	free(array);
	free(other);
	return seen;
}

bool shares_memory(int worker)
{
	int number = starpu_worker_get_devid(worker);
	cl_command_queue queue;
	cl_context context;
	cl_device_id device;
	cl_int error;
	bool shared;

	starpu_opencl_get_context(number, &context);
	starpu_opencl_get_device(number, &device);
	queue = clCreateCommandQueue(context, device, 0, &error);
	if (error)
		return false;
	shared = is_shared(context, queue);
	clReleaseCommandQueue(queue);
	return shared;
}

#endif
