/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A kernel on one device by OpenCL alone: to compare with, and to check its arguments.
 */
#include "config.h"

#ifdef HEDDLE_USE_OPENCL
#define CL_TARGET_OPENCL_VERSION 120 /* before StarPU asks for an older one */
#include <CL/cl.h>
#endif
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <starpu.h>

#include "support/message.h"
#include "apps/kernels/kernels.h"

#ifdef HEDDLE_USE_OPENCL
#include <starpu_opencl.h>

struct plain {
	cl_context context;
	cl_command_queue queue;
	cl_device_id device;
	cl_program program;
	cl_kernel kernel;
	cl_uint narguments;
	bool in_place; /* the device computes in main memory */
	cl_mem buffers[HEDDLE_KERNEL_MAXARGUMENTS];
	void *mapped[HEDDLE_KERNEL_MAXARGUMENTS];
};

/* ---- compiling ---- */

static int refuse_source(const struct plain *plain, const struct job *job)
{
	size_t size = 0;
	char *log;

	clGetProgramBuildInfo(plain->program, plain->device, CL_PROGRAM_BUILD_LOG, 0, NULL, &size);
	log = calloc(1, size + 1);
	if (log)
		clGetProgramBuildInfo(plain->program, plain->device, CL_PROGRAM_BUILD_LOG, size,
		                      log, NULL);
	heddle_refuse(-EINVAL, "%s: does not compile:\n%s", job->name, log ? log : "");
	free(log);
	return -EINVAL;
}

static int compile(struct plain *plain, const struct job *job)
{
	char options[4096];
	cl_int error;

	snprintf(options, sizeof(options), "-cl-kernel-arg-info %s",
	         job->kernel.options ? job->kernel.options : "");
	plain->program = clCreateProgramWithSource(
	    plain->context, 1, (const char *[]){job->kernel.source}, NULL, &error);
	if (error)
		return heddle_refuse(-ENOMEM, "%s: %s", job->name,
		                     starpu_opencl_error_string(error));
	if (clBuildProgram(plain->program, 1, &plain->device, options, NULL, NULL))
		return refuse_source(plain, job);
	plain->kernel = clCreateKernel(plain->program, job->kernel.name, &error);
	if (error)
		return heddle_refuse(-EINVAL, "%s: has no kernel %s", job->name, job->kernel.name);
	clGetKernelInfo(plain->kernel, CL_KERNEL_NUM_ARGS, sizeof(plain->narguments),
	                &plain->narguments, NULL);
	return 0;
}

static bool on_cpu(cl_device_id device)
{
	cl_device_type type = 0;

	clGetDeviceInfo(device, CL_DEVICE_TYPE, sizeof(type), &type, NULL);
	return type & CL_DEVICE_TYPE_CPU;
}

/* Unmaps the outputs, and waits until the device uses the arrays no more. */
static cl_int arrays_leave(struct plain *plain)
{
	cl_int error = CL_SUCCESS, ended;

	for (unsigned a = 0; a < HEDDLE_KERNEL_MAXARGUMENTS; a++) {
		if (plain->mapped[a] && !error)
			error = clEnqueueUnmapMemObject(plain->queue, plain->buffers[a],
			                                plain->mapped[a], 0, NULL, NULL);
		plain->mapped[a] = NULL;
	}
	ended = clFinish(plain->queue);
	return error ? error : ended;
}

int plain_make(const struct job *job, int worker, struct plain **made)
{
	struct plain *plain = calloc(1, sizeof(*plain));
	int device = starpu_worker_get_devid(worker), status;

	if (!plain)
		return -ENOMEM;
	starpu_opencl_get_context(device, &plain->context);
	starpu_opencl_get_queue(device, &plain->queue);
	starpu_opencl_get_device(device, &plain->device);
	plain->in_place = on_cpu(plain->device);
	status = compile(plain, job);
	if (status)
		plain_free(plain);
	else
		*made = plain;
	return status;
}

void plain_free(struct plain *plain)
{
	if (!plain)
		return;
	arrays_leave(plain); /* a failed launch may have left them mapped */
	for (unsigned a = 0; a < HEDDLE_KERNEL_MAXARGUMENTS; a++)
		if (plain->buffers[a])
			clReleaseMemObject(plain->buffers[a]);
	if (plain->kernel)
		clReleaseKernel(plain->kernel);
	if (plain->program)
		clReleaseProgram(plain->program);
	free(plain);
}

/* ---- checking arguments ---- */

/* Whether a compiler's name of a type means ours: compilers name unsigned types differently. */
static bool is_type(const char *type, enum element element)
{
	static const char *const unsigned_names[NELEMENTS] = {
	    [UCHAR] = "unsigned char",
	    [USHORT] = "unsigned short",
	    [UINT] = "unsigned int",
	    [ULONG] = "unsigned long",
	};

	return !strcmp(type, job_element_names[element]) ||
	       (unsigned_names[element] && !strcmp(type, unsigned_names[element])) ||
	       (!strcmp(type, "size_t") && element == ULONG);
}

/* Whether a buffer of numbers of a type is given as one of others. Bytes stand for anything, and
 * what structures and vectors are made of is not known. */
static bool is_other_buffer(const char *type, enum element element)
{
	for (enum element e = SHORT; e < NELEMENTS && element >= SHORT; e++)
		if (is_type(type, e))
			return !is_type(type, element);
	return false;
}

static int check_argument(const struct plain *plain, const struct job *job, unsigned a)
{
	enum heddle_kernel_argument_type type = job->kernel.arguments[a].type;
	const char *text = job->arguments[a].name;
	cl_kernel_arg_address_qualifier space;
	char name[128] = "", of[128] = "";
	bool right;

	/* Some compilers keep no information about arguments. */
	if (clGetKernelArgInfo(plain->kernel, a, CL_KERNEL_ARG_ADDRESS_QUALIFIER, sizeof(space),
	                       &space, NULL) ||
	    clGetKernelArgInfo(plain->kernel, a, CL_KERNEL_ARG_TYPE_NAME, sizeof(of), of, NULL))
		return 0;
	clGetKernelArgInfo(plain->kernel, a, CL_KERNEL_ARG_NAME, sizeof(name), name, NULL);
	right = space == CL_KERNEL_ARG_ADDRESS_LOCAL     ? type == HEDDLE_KERNEL_LOCAL
	        : space == CL_KERNEL_ARG_ADDRESS_PRIVATE ? type == HEDDLE_KERNEL_VALUE
	                                                 : type == HEDDLE_KERNEL_HOST;
	/* A buffer's type ends in "*" or " *". */
	if (space != CL_KERNEL_ARG_ADDRESS_PRIVATE)
		of[strcspn(of, "*")] = '\0';
	for (size_t end = strlen(of); end && of[end - 1] == ' '; end--)
		of[end - 1] = '\0';
	if (right && type == HEDDLE_KERNEL_VALUE)
		right = is_type(of, job->arguments[a].element);
	else if (right && type == HEDDLE_KERNEL_HOST)
		right = !is_other_buffer(of, job->arguments[a].element);
	if (!right)
		return heddle_refuse(-EINVAL, "--arg %s: argument %u (%s) of kernel %s is %s%s",
		                     text, a + 1, name, job->kernel.name,
		                     space == CL_KERNEL_ARG_ADDRESS_LOCAL     ? "local "
		                     : space == CL_KERNEL_ARG_ADDRESS_PRIVATE ? ""
		                                                              : "a buffer of ",
		                     of);
	return 0;
}

int plain_check(const struct plain *plain, const struct job *job)
{
	size_t items = 1, most = 0;
	int status = 0;

	if (plain->narguments != job->kernel.narguments)
		return heddle_refuse(-EINVAL, "--arg: kernel %s takes %u arguments, not %u",
		                     job->kernel.name, plain->narguments, job->kernel.narguments);
	for (unsigned a = 0; a < job->kernel.narguments && !status; a++)
		status = check_argument(plain, job, a);
	for (unsigned d = 0; d < job->kernel.dimensions; d++)
		items *= job->kernel.local[d];
	clGetKernelWorkGroupInfo(plain->kernel, plain->device, CL_KERNEL_WORK_GROUP_SIZE,
	                         sizeof(most), &most, NULL);
	if (!status && most && items > most)
		status = heddle_refuse(
		    -EINVAL, "--local: groups of %zu work-items; the device takes %zu at most",
		    items, most);
	return status;
}

/* ---- launching ---- */

static cl_int buffer_prepare(struct plain *plain, const struct job *job, unsigned a)
{
	const struct heddle_kernel_argument *argument = &job->kernel.arguments[a];
	cl_mem *buffer = &plain->buffers[a];
	cl_int error = CL_SUCCESS;

	if (!*buffer)
		*buffer = clCreateBuffer(
		    plain->context, CL_MEM_READ_WRITE | (plain->in_place ? CL_MEM_USE_HOST_PTR : 0),
		    argument->bytes, plain->in_place ? argument->pointer : NULL, &error);
	if (!error && !plain->in_place && (argument->mode & STARPU_R))
		error = clEnqueueWriteBuffer(plain->queue, *buffer, CL_TRUE, 0, argument->bytes,
		                             argument->pointer, 0, NULL, NULL);
	return error ? error : clSetKernelArg(plain->kernel, a, sizeof(*buffer), buffer);
}

/* Blocking transfers are faster: implementations copy in the calling thread then. */
static cl_int buffer_fetch(struct plain *plain, const struct job *job, unsigned a)
{
	const struct heddle_kernel_argument *argument = &job->kernel.arguments[a];
	cl_int error;

	if (!plain->in_place)
		return clEnqueueReadBuffer(plain->queue, plain->buffers[a], CL_TRUE, 0,
		                           argument->bytes, argument->pointer, 0, NULL, NULL);
	plain->mapped[a] = clEnqueueMapBuffer(plain->queue, plain->buffers[a], CL_TRUE, CL_MAP_READ,
	                                      0, argument->bytes, 0, NULL, NULL, &error);
	return error;
}

static cl_int results_fetch(struct plain *plain, const struct job *job)
{
	cl_int error = CL_SUCCESS;

	for (unsigned a = 0; a < job->kernel.narguments && !error; a++)
		if (job_is_output(job, a))
			error = buffer_fetch(plain, job, a);
	return error ? error : clFinish(plain->queue);
}

static int refuse_run(const struct job *job, cl_int error)
{
	return heddle_refuse(-EIO, "%s: a plain launch: %s", job->name,
	                     starpu_opencl_error_string(error));
}

int plain_run(struct plain *plain, const struct job *job)
{
	const struct heddle_kernel *kernel = &job->kernel;
	cl_int error = CL_SUCCESS;

	for (unsigned a = 0; a < kernel->narguments && !error; a++)
		error = job_is_buffer(job, a)
		            ? buffer_prepare(plain, job, a)
		            : clSetKernelArg(plain->kernel, a, kernel->arguments[a].bytes,
		                             kernel->arguments[a].pointer);
	if (!error)
		error = clEnqueueNDRangeKernel(plain->queue, plain->kernel, kernel->dimensions,
		                               kernel->offset, kernel->global, kernel->local, 0,
		                               NULL, NULL);
	if (!error)
		error = results_fetch(plain, job);
	return error ? refuse_run(job, error) : 0;
}

int plain_leave(struct plain *plain, const struct job *job)
{
	cl_int error = arrays_leave(plain);

	return error ? refuse_run(job, error) : 0;
}

#else

int plain_make(const struct job *job, int worker, struct plain **made)
{
	return heddle_refuse(-ENODEV, "%s: this StarPU has no OpenCL driver", job->name);
}

void plain_free(struct plain *plain)
{
}

int plain_check(const struct plain *plain, const struct job *job)
{
	return -ENODEV;
}

int plain_run(struct plain *plain, const struct job *job)
{
	return -ENODEV;
}

int plain_leave(struct plain *plain, const struct job *job)
{
	return -ENODEV;
}

#endif
