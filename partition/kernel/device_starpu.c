/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * One range of a kernel's work-groups on one OpenCL device: compiling, launching, and what
 * comes before and after. How data crosses is transfer_starpu.c's.
 */
#include "config.h"

#ifdef HEDDLE_USE_OPENCL

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "partition/kernel/device_private.h"
#include "private/message.h"

int device_refuse(const struct part *part, const char *what, cl_int error)
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

/* Compiles the source for one way of launching ranges.
 * @return 0; -ENOENT where the source has no such form; -EIO, without a message where it
 * does not compile; other errors after one */
static int program_build(struct part *part, struct device_memory *memory, enum ndrange_way way)
{
	const struct kernel *kernel = part->request->kernel;
	char *prologue = ndrange_prologue(&part->request->range, way);
	char *source = way == NDRANGE_EXIT ? ndrange_exit_source(kernel->source, kernel->name)
	                                   : strdup(kernel->source);
	int status = !prologue ? -ENOMEM : !source ? -ENOENT : 0;
	cl_int error = CL_SUCCESS;

	memory->way = way;
	if (!status)
		memory->program = clCreateProgramWithSource(
		    memory->context, 2, (const char *[]){prologue, source}, NULL, &error);
	free(prologue);
	free(source);
	if (error)
		return device_refuse(part, "its program", error);
	if (!status &&
	    clBuildProgram(memory->program, 1, &memory->device, kernel->options, NULL, NULL))
		status = -EIO;
	return status;
}

/* In the kernel's way, else, where the source does not bear the prologue, with an early
 * exit. */
static int program_make(struct part *part, struct device_memory *memory)
{
	const struct kernel *kernel = part->request->kernel;
	int device = starpu_worker_get_devid(part->device->worker), status;
	cl_program first;
	cl_int error;

	starpu_opencl_get_context(device, &memory->context);
	starpu_opencl_get_queue(device, &memory->queue);
	starpu_opencl_get_device(device, &memory->device);
	status = program_build(part, memory, kernel->way);
	if (status == -EIO && memory->program && kernel->way != NDRANGE_EXIT) {
		first = memory->program;
		memory->program = NULL;
		status = program_build(part, memory, NDRANGE_EXIT);
		if (status && memory->program)
			clReleaseProgram(memory->program);
		if (status)
			memory->program = first; /* whose log counts */
		else
			clReleaseProgram(first);
		heddle_explain("kernel %s does not compile for launches of ranges%s", kernel->name,
		               status ? "" : "; it gets an early exit");
	}
	if (status)
		return status == -ENOMEM ? status : log_refuse(kernel, memory);
	memory->kernel = clCreateKernel(memory->program, kernel->name, &error);
	return error ? device_refuse(part, "making it", error) : 0;
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

bool is_buffer(const struct heddle_kernel_argument *argument)
{
	return argument->type == HEDDLE_KERNEL_HANDLE || argument->type == HEDDLE_KERNEL_HOST;
}

static int argument_set(struct part *part, unsigned a)
{
	const struct heddle_kernel_request *request = part->request;
	const struct heddle_kernel_argument *argument = &request->given.arguments[a];
	struct device_memory *memory = part->device->memory;
	unsigned same = request->same[a];
	cl_int error;

	if (is_buffer(argument))
		error = clSetKernelArg(memory->kernel, a, sizeof(cl_mem),
		                       memory->in_place[same] ? &memory->in_place[same]
		                                              : &memory->buffers[same]);
	else
		error = clSetKernelArg(memory->kernel, a, argument->bytes, argument->pointer);
	return error ? device_refuse(part, "an argument", error) : 0;
}

/* The range, for the early exit. */
static int range_set(struct part *part)
{
	struct device_memory *memory = part->device->memory;
	unsigned n = part->request->given.narguments;
	cl_ulong first = part->from, last = part->from + part->n - 1;
	cl_int error = clSetKernelArg(memory->kernel, n, sizeof(first), &first);

	if (!error)
		error = clSetKernelArg(memory->kernel, n + 1, sizeof(last), &last);
	return error ? device_refuse(part, "the range", error) : 0;
}

static int arguments_set(struct part *part)
{
	int status = 0;

	for (unsigned a = 0; a < part->request->given.narguments && !status; a++)
		status = argument_set(part, a);
	if (!status && part->device->memory->way == NDRANGE_EXIT)
		status = range_set(part);
	return status;
}

static int compute(struct part *part)
{
	struct ndrange_launch launches[NDRANGE_MAXBOXES];
	struct device_memory *memory = part->device->memory;
	unsigned n =
	    ndrange_launches(&part->request->range, memory->way, part->from, part->n, launches);
	double start_us = starpu_timing_now();
	cl_int error = CL_SUCCESS;

	for (unsigned i = 0; i < n && !error; i++)
		error = clEnqueueNDRangeKernel(
		    memory->queue, memory->kernel, launches[i].dimensions, launches[i].offset,
		    launches[i].global, launches[i].local, 0, NULL, NULL);
	if (!error)
		error = clFinish(memory->queue);
	part->compute_us = starpu_timing_now() - start_us;
	return error ? device_refuse(part, "the launch", error) : 0;
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
	to->pitch = to->width = 0;
	to->dense = false;
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
	struct window_copy copies[HEDDLE_KERNEL_MAXARGUMENTS];
	int status = memory_make(part);

	if (!status)
		status = request_uses(request, part->from, part->n, uses);
	if (status)
		return status;
	uses_join(request, uses);
	memset(copies, 0, sizeof(copies));
	status = transfer_in(part, uses, copies);
	if (!status)
		status = arguments_set(part);
	if (!status)
		status = compute(part);
	if (!status && !part->dry)
		status = transfer_out(part, copies);
	transfer_end(part, copies, status);
	return status;
}

#endif
