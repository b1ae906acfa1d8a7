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

/* Arrays are aligned as for OpenCL's largest type, and not as pages are; as malloc() does; and as
 * numbers are: implementations may copy those that suit them less. */
enum { BYTES = 3 * 4096 + 128, ALIGNMENT = 128 };
static const size_t offsets[] = {0, 16, 4};

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

static bool is_shared(cl_context context, cl_command_queue queue, unsigned char *array,
                      unsigned char *other)
{
	cl_int error;
	cl_mem buffer =
	    clCreateBuffer(context, CL_MEM_READ_WRITE | CL_MEM_USE_HOST_PTR, BYTES, array, &error);
	bool seen = !error && is_seen(queue, buffer, array, other);

	if (!error)
		clReleaseMemObject(buffer);
	return seen;
}

static bool all_shared(cl_context context, cl_command_queue queue)
{
	unsigned char *arrays = aligned_alloc(ALIGNMENT, BYTES + ALIGNMENT), *other = malloc(BYTES);
	bool shared = arrays && other;

	for (size_t i = 0; shared && i < sizeof(offsets) / sizeof(offsets[0]); i++)
		shared = is_shared(context, queue, arrays + offsets[i], other);
	free(arrays);
	free(other);
	return shared;
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
	shared = all_shared(context, queue);
	clReleaseCommandQueue(queue);
	return shared;
}

#endif
