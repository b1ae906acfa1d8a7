/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * One range of a kernel's work-groups on one OpenCL device: compiling, sending the
 * windows that it reads, launching, and putting what it wrote into main memory.
 */
#include "config.h"

#ifdef HEDDLE_USE_OPENCL

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "partition/kernel/kernel_private.h"
#include "partition/kernel/merge.h"
#include "private/message.h"

struct device_memory {
	cl_program program;
	cl_kernel kernel;
	cl_context context;
	cl_command_queue queue;
	cl_device_id device;
	cl_mem buffers[HEDDLE_KERNEL_MAXARGUMENTS];
	size_t bytes[HEDDLE_KERNEL_MAXARGUMENTS];
};

/* A written window: what was there before, and what is there now. */
struct window_copy {
	size_t first, end;
	unsigned char *before, *after;
};

static int refuse(const struct part *part, const char *what, cl_int error)
{
	bool full = error == CL_MEM_OBJECT_ALLOCATION_FAILURE || error == CL_OUT_OF_RESOURCES ||
	            error == CL_OUT_OF_HOST_MEMORY;
	char worker[64];

	starpu_worker_get_name(part->device->worker, worker, sizeof(worker));
	return heddle_refuse(full ? -ENOMEM : -EIO, "kernel %s on %s: %s: %s",
	                     part->request->kernel->name, worker, what,
	                     starpu_opencl_error_string(error));
}

/* ---- programs ---- */

static int log_refuse(const struct kernel *kernel, struct device_memory *memory)
{
	size_t size = 0;
	char *log;

	clGetProgramBuildInfo(memory->program, memory->device, CL_PROGRAM_BUILD_LOG, 0, NULL,
	                      &size);
	log = calloc(1, size + 1);
	if (log)
		clGetProgramBuildInfo(memory->program, memory->device, CL_PROGRAM_BUILD_LOG, size,
		                      log, NULL);
	heddle_refuse(-EIO, "kernel %s does not compile:\n%s", kernel->name, log ? log : "");
	free(log);
	return -EIO;
}

static int program_make(struct part *part, struct device_memory *memory)
{
	const struct kernel *kernel = part->request->kernel;
	const char *texts[] = {kernel->prologue, kernel->source};
	int device = starpu_worker_get_devid(part->device->worker);
	cl_int error;

	starpu_opencl_get_context(device, &memory->context);
	starpu_opencl_get_queue(device, &memory->queue);
	starpu_opencl_get_device(device, &memory->device);
	memory->program = clCreateProgramWithSource(memory->context, 2, texts, NULL, &error);
	if (error)
		return refuse(part, "its program", error);
	error = clBuildProgram(memory->program, 1, &memory->device, kernel->options, NULL, NULL);
	if (error)
		return log_refuse(kernel, memory);
	memory->kernel = clCreateKernel(memory->program, kernel->name, &error);
	return error ? refuse(part, "making it", error) : 0;
}

static void memory_free(struct device_memory *memory)
{
	for (unsigned a = 0; a < HEDDLE_KERNEL_MAXARGUMENTS; a++)
		if (memory->buffers[a])
			clReleaseMemObject(memory->buffers[a]);
	if (memory->kernel)
		clReleaseKernel(memory->kernel);
	if (memory->program)
		clReleaseProgram(memory->program);
	free(memory);
}

void device_free(struct kernel_device *device)
{
	if (device->memory)
		memory_free(device->memory);
	device->memory = NULL;
}

static int memory_make(struct part *part)
{
	struct device_memory *memory;
	int error;

	if (part->device->memory)
		return 0;
	memory = calloc(1, sizeof(*memory));
	if (!memory)
		return -ENOMEM;
	error = program_make(part, memory);
	if (error)
		memory_free(memory);
	else
		part->device->memory = memory;
	return error;
}

/* ---- arguments ---- */

static bool is_buffer(const struct heddle_kernel_argument *argument)
{
	return argument->type == HEDDLE_KERNEL_HANDLE || argument->type == HEDDLE_KERNEL_HOST;
}

static unsigned char *host_of(const struct heddle_kernel_request *request, unsigned a)
{
	const struct heddle_kernel_argument *argument = &request->given.arguments[a];

	return argument->type == HEDDLE_KERNEL_HANDLE
	           ? starpu_data_handle_to_pointer(argument->handle, STARPU_MAIN_RAM)
	           : argument->pointer;
}

/* Buffers are as large as the arrays, so that addresses in kernels are as they were. */
static int buffer_make(struct part *part, unsigned a)
{
	struct device_memory *memory = part->device->memory;
	size_t bytes = part->request->bytes[a];
	cl_int error;

	if (memory->buffers[a] && memory->bytes[a] == bytes)
		return 0;
	if (memory->buffers[a])
		clReleaseMemObject(memory->buffers[a]);
	memory->bytes[a] = bytes;
	memory->buffers[a] =
	    clCreateBuffer(memory->context, CL_MEM_READ_WRITE, bytes, NULL, &error);
	if (error) {
		memory->buffers[a] = NULL;
		return refuse(part, "memory for an argument", error);
	}
	return 0;
}

static int argument_set(struct part *part, unsigned a)
{
	const struct heddle_kernel_request *request = part->request;
	const struct heddle_kernel_argument *argument = &request->given.arguments[a];
	struct device_memory *memory = part->device->memory;
	cl_int error;

	if (is_buffer(argument))
		error = clSetKernelArg(memory->kernel, a, sizeof(cl_mem),
		                       &memory->buffers[request->same[a]]);
	else
		error = clSetKernelArg(memory->kernel, a, argument->bytes, argument->pointer);
	return error ? refuse(part, "an argument", error) : 0;
}

/* ---- data ---- */

static int window_send(struct part *part, unsigned a, size_t first, size_t end, const void *from)
{
	struct device_memory *memory = part->device->memory;
	cl_int error;

	if (first == end)
		return 0;
	part->in_bytes += end - first;
	error = clEnqueueWriteBuffer(memory->queue, memory->buffers[a], CL_FALSE, first,
	                             end - first, from, 0, NULL, NULL);
	return error ? refuse(part, "sending data", error) : 0;
}

static void windows_join(struct index_window *to, const struct index_window *from)
{
	if (from->first == from->end)
		return;
	if (to->first == to->end) {
		*to = *from;
		return;
	}
	to->first = to->first < from->first ? to->first : from->first;
	to->end = to->end > from->end ? to->end : from->end;
	to->dense = false;
}

/* Sends one buffer. Where parts of what is written may stay as they were, the device
 * gets those from a copy, with which its results will be compared: other devices may
 * bring theirs home meanwhile. */
static int buffer_send(struct part *part, unsigned a, const struct index_use *use,
                       struct window_copy *copy)
{
	const unsigned char *host = host_of(part->request, a);
	struct index_window sent = use->read;
	const unsigned char *from;

	copy->first = use->write.first;
	copy->end = use->write.end;
	if (!use->write.dense)
		windows_join(&sent, &use->write);
	from = host + sent.first;
	if (copy->first != copy->end && !part->dry) {
		copy->after = malloc(copy->end - copy->first);
		if (!copy->after)
			return -ENOMEM;
	}
	if (copy->after && !use->write.dense) {
		copy->before = malloc(sent.end - sent.first);
		if (!copy->before)
			return -ENOMEM;
		memcpy(copy->before, from, sent.end - sent.first);
		from = copy->before;
		/* From here on only the written window is compared. */
		if (window_send(part, a, sent.first, sent.end, from))
			return -EIO;
		clFinish(part->device->memory->queue);
		memmove(copy->before, copy->before + (copy->first - sent.first),
		        copy->end - copy->first);
		return 0;
	}
	return window_send(part, a, sent.first, sent.end, from);
}

static int data_send(struct part *part, const struct index_use *uses, struct window_copy *copies)
{
	const struct heddle_kernel_request *request = part->request;
	double start_us = starpu_timing_now();
	int status = 0;

	for (unsigned a = 0; a < request->given.narguments && !status; a++) {
		if (is_buffer(&request->given.arguments[a]) && request->same[a] == (int)a) {
			status = buffer_make(part, a);
			if (!status)
				status = buffer_send(part, a, &uses[a], &copies[a]);
		}
		if (!status)
			status = argument_set(part, a);
	}
	clFinish(part->device->memory->queue);
	part->in_us = starpu_timing_now() - start_us;
	return status;
}

static int compute(struct part *part)
{
	struct ndrange_launch launches[NDRANGE_MAXBOXES];
	struct device_memory *memory = part->device->memory;
	unsigned n = ndrange_launches(&part->request->range, part->request->kernel->way, part->from,
	                              part->n, launches);
	double start_us = starpu_timing_now();
	cl_int error = CL_SUCCESS;

	for (unsigned i = 0; i < n && !error; i++)
		error =
		    clEnqueueNDRangeKernel(memory->queue, memory->kernel, 3, launches[i].offset,
		                           launches[i].global, launches[i].local, 0, NULL, NULL);
	if (!error)
		error = clFinish(memory->queue);
	part->compute_us = starpu_timing_now() - start_us;
	return error ? refuse(part, "the launch", error) : 0;
}

/* Everything is fetched before anything is merged, so that a device that fails leaves
 * main memory as it was. */
static int data_fetch(struct part *part, struct window_copy *copies)
{
	struct device_memory *memory = part->device->memory;
	unsigned n = part->request->given.narguments;
	cl_int error = CL_SUCCESS;

	for (unsigned a = 0; a < n && !error; a++)
		if (copies[a].after) {
			part->out_bytes += copies[a].end - copies[a].first;
			error = clEnqueueReadBuffer(
			    memory->queue, memory->buffers[a], CL_FALSE, copies[a].first,
			    copies[a].end - copies[a].first, copies[a].after, 0, NULL, NULL);
		}
	if (!error)
		error = clFinish(memory->queue);
	return error ? refuse(part, "fetching results", error) : 0;
}

static void data_merge(struct part *part, const struct window_copy *copies)
{
	for (unsigned a = 0; a < part->request->given.narguments; a++) {
		const struct window_copy *copy = &copies[a];
		size_t bytes = copy->end - copy->first;
		unsigned char *to;

		if (!copy->after)
			continue;
		to = host_of(part->request, a) + copy->first;
		if (copy->before)
			merge_differences(to, copy->before, copy->after, bytes);
		else
			memcpy(to, copy->after, bytes);
	}
}

static int results_take(struct part *part, struct window_copy *copies)
{
	double start_us = starpu_timing_now();
	int status = data_fetch(part, copies);

	if (!status)
		data_merge(part, copies);
	part->out_us = starpu_timing_now() - start_us;
	return status;
}

/* What arguments that are one array do counts for the first of them. */
static void uses_join(const struct heddle_kernel_request *request, struct index_use *uses)
{
	for (unsigned a = 0; a < request->given.narguments; a++) {
		if (!is_buffer(&request->given.arguments[a]) || request->same[a] == (int)a)
			continue;
		windows_join(&uses[request->same[a]].read, &uses[a].read);
		windows_join(&uses[request->same[a]].write, &uses[a].write);
	}
}

int device_run(struct part *part)
{
	struct heddle_kernel_request *request = part->request;
	struct index_use uses[HEDDLE_KERNEL_MAXARGUMENTS];
	struct window_copy copies[HEDDLE_KERNEL_MAXARGUMENTS] = {{0}};
	int status = memory_make(part);

	if (!status)
		status = request_uses(request, part->from, part->n, uses);
	if (!status) {
		uses_join(request, uses);
		status = data_send(part, uses, copies);
		if (!status)
			status = compute(part);
		if (!status && !part->dry)
			status = results_take(part, copies);
	}
	for (unsigned a = 0; a < HEDDLE_KERNEL_MAXARGUMENTS; a++) {
		free(copies[a].before);
		free(copies[a].after);
	}
	return status;
}

#endif
