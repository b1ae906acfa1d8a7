/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Kernels and their arguments. Two real kernels belong to each: the program's calls set the
 * arguments of one, which checks them; a launch sets those of the other, which may be later.
 */
#include "config.h"

#include "partition/opencl/layer.h"

#include <stdlib.h>
#include <string.h>

enum { ALIGNMENT = 16 }; /* of values that lie behind arguments */

/* ---- arguments ---- */

static void argument_clear(struct argument *argument)
{
	if (argument->memory)
		memory_release(argument->memory);
	free(argument->value);
	*argument = (struct argument){0};
}

void arguments_free(struct argument *arguments, cl_uint n)
{
	for (cl_uint a = 0; arguments && a < n; a++)
		argument_clear(&arguments[a]);
	free(arguments);
}

static size_t aligned(size_t bytes)
{
	return (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

static size_t room_for(const struct argument *argument)
{
	return argument->value ? aligned(argument->bytes) : 0;
}

size_t arguments_bytes(const struct argument *arguments, cl_uint n)
{
	size_t bytes = aligned(n * sizeof(*arguments));

	for (cl_uint a = 0; a < n; a++)
		bytes += room_for(&arguments[a]);
	return bytes;
}

void arguments_copy(const struct argument *arguments, cl_uint n, struct argument *copy)
{
	unsigned char *at = (unsigned char *)copy + aligned(n * sizeof(*copy));

	for (cl_uint a = 0; a < n; a++) {
		copy[a] = arguments[a];
		if (copy[a].memory)
			object_retain(copy[a].memory);
		if (!arguments[a].value)
			continue;
		copy[a].value = memcpy(at, arguments[a].value, arguments[a].bytes);
		at += room_for(&arguments[a]);
	}
}

void arguments_drop(struct argument *copy, cl_uint n)
{
	for (cl_uint a = 0; copy && a < n; a++)
		if (copy[a].memory)
			memory_release(copy[a].memory);
}

/* The memory that a value is the handle of; NULL: none. */
static struct memory *value_memory(size_t bytes, const void *value)
{
	const void *handle;

	if (!value || bytes != sizeof(handle))
		return NULL;
	memcpy(&handle, value, sizeof(handle));
	return handle ? memory_find(handle) : NULL;
}

/* Whether an argument is NULL where the kernel takes a buffer, which may be said in two ways. Local
 * memory takes one of them, values take the other. */
static bool is_none(const struct kernel *kernel, cl_uint a, size_t bytes, const void *value)
{
	static const void *const none = NULL;

	if (bytes != sizeof(none) || (value && memcmp(value, &none, sizeof(none))))
		return false;
	return !real->clSetKernelArg(kernel->home, a, bytes, value ? NULL : &none);
}

/* Whether an argument has this value already. A sampler's handle may be of another one by now. */
static bool is_set(const struct argument *argument, size_t bytes, const void *value)
{
	const void *handle = argument->memory;

	if (!argument->setting || argument->bytes != bytes || argument->sampler.id)
		return false;
	if (argument->memory || argument->value)
		return value && !memcmp(value, handle ? &handle : argument->value, bytes);
	return !value;
}

static cl_int CL_API_CALL argument_set(cl_kernel id, cl_uint a, size_t bytes, const void *value)
{
	struct kernel *kernel = layer_object(id, KERNEL);
	struct memory *memory;
	void *copy = NULL;
	cl_int error;

	if (!kernel)
		return real->clSetKernelArg(id, a, bytes, value);
	if (a < kernel->narguments && is_set(&kernel->arguments[a], bytes, value))
		return CL_SUCCESS;
	memory = value_memory(bytes, value);
	if (memory && memory->context != kernel->program->context)
		return CL_INVALID_ARG_VALUE;
	error = real->clSetKernelArg(kernel->home, a, bytes, memory ? &memory->home : value);
	if (error)
		return error;
	if (a >= kernel->narguments)
		return CL_INVALID_ARG_INDEX;
	if (value && !memory) {
		copy = malloc(bytes + 1);
		if (!copy)
			return CL_OUT_OF_HOST_MEMORY;
		memcpy(copy, value, bytes);
	}
	/* OpenCL does not keep what is an argument alive, and programs rely on a launch alone. */
	if (memory)
		object_retain(memory);
	argument_clear(&kernel->arguments[a]);
	kernel->arguments[a] =
	    (struct argument){++kernel->settings, bytes, memory, copy, {0}, false};
	kernel->arguments[a].none = is_none(kernel, a, bytes, value);
	if (copy && bytes == sizeof(cl_sampler))
		sampler_find(*(void **)copy, &kernel->arguments[a].sampler);
	return CL_SUCCESS;
}

/* ---- creation ---- */

static void kernel_free(struct kernel *kernel)
{
	if (kernel->home)
		real->clReleaseKernel(kernel->home);
	if (kernel->launch)
		real->clReleaseKernel(kernel->launch);
	arguments_free(kernel->arguments, kernel->narguments);
	free(kernel->launched);
	program_release(kernel->program);
	free(kernel);
}

void kernel_release(struct kernel *kernel)
{
	if (object_release(kernel))
		kernel_free(kernel);
}

static void limits_take(struct kernel *kernel)
{
	cl_device_id home = layer_devices()->ids[0];

	real->clGetKernelWorkGroupInfo(kernel->home, home, CL_KERNEL_COMPILE_WORK_GROUP_SIZE,
	                               sizeof(kernel->required), kernel->required, NULL);
	real->clGetKernelWorkGroupInfo(kernel->home, home, CL_KERNEL_WORK_GROUP_SIZE,
	                               sizeof(kernel->most), &kernel->most, NULL);
	if (kernel->most > layer_group_limit())
		kernel->most = layer_group_limit();
}

static cl_int kernel_open(struct kernel *kernel, const char *name)
{
	struct program *program = kernel->program;
	cl_int error;

	kernel->launch = real->clCreateKernel(program->home, name, &error);
	if (!error)
		error =
		    real->clGetKernelInfo(kernel->home, CL_KERNEL_NUM_ARGS,
		                          sizeof(kernel->narguments), &kernel->narguments, NULL);
	if (error)
		return error;
	kernel->arguments = calloc(kernel->narguments + 1, sizeof(*kernel->arguments));
	kernel->launched = calloc(kernel->narguments + 1, sizeof(*kernel->launched));
	limits_take(kernel);
	kernel->record = record_find(name, program->text ? program->text : "",
	                             program->options ? program->options : "");
	if (!kernel->arguments || !kernel->launched || !kernel->record)
		return CL_OUT_OF_HOST_MEMORY;
	return CL_SUCCESS;
}

/* Makes a kernel around home's, which is released if that fails. */
static cl_kernel kernel_make(struct program *program, cl_kernel home, const char *name,
                             cl_int *error)
{
	struct kernel *kernel = object_make(KERNEL, sizeof(*kernel));

	if (!kernel) {
		real->clReleaseKernel(home);
		return error_give(CL_OUT_OF_HOST_MEMORY, error);
	}
	object_retain(program);
	kernel->program = program;
	kernel->home = home;
	*error = kernel_open(kernel, name);
	if (!*error)
		return (cl_kernel)kernel;
	kernel_free(kernel);
	return NULL;
}

static cl_kernel CL_API_CALL kernel_create(cl_program id, const char *name, cl_int *to)
{
	struct program *program = layer_object(id, PROGRAM);
	cl_kernel home, kernel = NULL;
	cl_int error;

	if (!program)
		return real->clCreateKernel(id, name, to);
	home = real->clCreateKernel(program->home, name, &error);
	if (!error)
		kernel = kernel_make(program, home, name, &error);
	error_give(error, to);
	return kernel;
}

static cl_int kernel_of_home(struct program *program, cl_kernel home, cl_kernel *kernel)
{
	char name[1024];
	cl_int error =
	    real->clGetKernelInfo(home, CL_KERNEL_FUNCTION_NAME, sizeof(name), name, NULL);

	*kernel = error ? NULL : kernel_make(program, home, name, &error);
	if (error && !*kernel)
		*kernel = NULL;
	return error;
}

static cl_int CL_API_CALL kernels_create(cl_program id, cl_uint room, cl_kernel *kernels,
                                         cl_uint *n)
{
	struct program *program = layer_object(id, PROGRAM);
	cl_uint count, k;
	cl_kernel *home;
	cl_int error;

	if (!program)
		return real->clCreateKernelsInProgram(id, room, kernels, n);
	error = real->clCreateKernelsInProgram(program->home, 0, NULL, &count);
	if (error || !kernels) {
		if (!error && n)
			*n = count;
		return error;
	}
	if (room < count)
		return CL_INVALID_VALUE;
	home = calloc(count + 1, sizeof(*home));
	if (!home)
		return CL_OUT_OF_HOST_MEMORY;
	error = real->clCreateKernelsInProgram(program->home, count, home, NULL);
	for (k = 0; k < count && !error; k++)
		error = kernel_of_home(program, home[k], &kernels[k]);
	free(home);
	if (!error && n)
		*n = count;
	return error;
}

/* ---- the rest ---- */

static cl_int CL_API_CALL kernel_retain(cl_kernel id)
{
	struct kernel *kernel = layer_object(id, KERNEL);

	if (!kernel)
		return real->clRetainKernel(id);
	object_retain(kernel);
	return CL_SUCCESS;
}

static cl_int CL_API_CALL kernel_release_call(cl_kernel id)
{
	struct kernel *kernel = layer_object(id, KERNEL);

	if (!kernel)
		return real->clReleaseKernel(id);
	kernel_release(kernel);
	return CL_SUCCESS;
}

static cl_int CL_API_CALL kernel_info(cl_kernel id, cl_kernel_info name, size_t room, void *value,
                                      size_t *needed)
{
	struct kernel *kernel = layer_object(id, KERNEL);

	if (!kernel)
		return real->clGetKernelInfo(id, name, room, value, needed);
	switch (name) {
	case CL_KERNEL_REFERENCE_COUNT:
		return info_give_value(kernel->object.references, room, value, needed);
	case CL_KERNEL_CONTEXT:
		return info_give_value(kernel->program->context, room, value, needed);
	case CL_KERNEL_PROGRAM:
		return info_give_value(kernel->program, room, value, needed);
	default:
		return real->clGetKernelInfo(kernel->home, name, room, value, needed);
	}
}

static cl_int CL_API_CALL argument_info(cl_kernel id, cl_uint a, cl_kernel_arg_info name,
                                        size_t room, void *value, size_t *needed)
{
	struct kernel *kernel = layer_object(id, KERNEL);

	return real->clGetKernelArgInfo(kernel ? kernel->home : id, a, name, room, value, needed);
}

static cl_int CL_API_CALL group_info(cl_kernel id, cl_device_id device,
                                     cl_kernel_work_group_info name, size_t room, void *value,
                                     size_t *needed)
{
	struct kernel *kernel = layer_object(id, KERNEL);

	if (!kernel)
		return real->clGetKernelWorkGroupInfo(id, device, name, room, value, needed);
	if (device && !layer_object(device, DEVICE))
		return CL_INVALID_DEVICE;
	if (name == CL_KERNEL_WORK_GROUP_SIZE)
		return info_give_value(kernel->most, room, value, needed);
	return real->clGetKernelWorkGroupInfo(kernel->home, layer_devices()->ids[0], name, room,
	                                      value, needed);
}

void kernel_functions(cl_icd_dispatch *table)
{
	table->clSetKernelArg = argument_set;
	table->clCreateKernel = kernel_create;
	table->clCreateKernelsInProgram = kernels_create;
	table->clRetainKernel = kernel_retain;
	table->clReleaseKernel = kernel_release_call;
	table->clGetKernelInfo = kernel_info;
	table->clGetKernelArgInfo = argument_info;
	table->clGetKernelWorkGroupInfo = group_info;
}
