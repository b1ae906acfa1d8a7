/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "config.h"

#include <errno.h>

#include "private/message.h"
#include "codelets/blackscholes/blackscholes.h"
#include "codelets/boxfilter/boxfilter.h"
#include "codelets/codelet.h"
#include "codelets/floyd/floyd.h"
#include "codelets/heat2d/heat2d.h"
#include "codelets/histogram/histogram.h"
#include "codelets/nbia/nbia.h"
#include "codelets/programs.h"
#include "codelets/strmatch/strmatch.h"
#include "codelets/vecinc/vecinc.h"

void codelet_simulated(void *buffers[], void *arg)
{
}

#ifdef HEDDLE_USE_OPENCL

void codelet_launch_begin(struct starpu_opencl_program *program, const char *name,
                          struct codelet_launch *launch)
{
	int device = starpu_worker_get_devid(starpu_worker_get_id_check());

	*launch = (struct codelet_launch){0};
	launch->error =
	    starpu_opencl_load_kernel(&launch->kernel, &launch->queue, program, name, device);
}

void codelet_launch_argument(struct codelet_launch *launch, size_t size, const void *argument)
{
	if (launch->error == CL_SUCCESS)
		launch->error =
		    clSetKernelArg(launch->kernel, launch->narguments++, size, argument);
}

void codelet_launch_buffer(struct codelet_launch *launch, uintptr_t handle, size_t offset)
{
	cl_mem memory = (cl_mem)handle;
	cl_ulong bytes = offset;

	codelet_launch_argument(launch, sizeof(memory), &memory);
	codelet_launch_argument(launch, sizeof(bytes), &bytes);
}

int codelet_launch_end(struct codelet_launch *launch, unsigned dimensions, const size_t *global,
                       const size_t *local)
{
	if (launch->error == CL_SUCCESS)
		launch->error = clEnqueueNDRangeKernel(launch->queue, launch->kernel, dimensions,
		                                       NULL, global, local, 0, NULL, NULL);
	/* The queue keeps the kernel until it has run. */
	if (launch->kernel)
		starpu_opencl_release_kernel(launch->kernel);
	if (launch->error != CL_SUCCESS)
		return heddle_refuse(-EIO, "an OpenCL kernel was not launched: %s",
		                     starpu_opencl_error_string(launch->error));
	return 0;
}

static struct codelet_program *const programs[] = {
    &blackscholes_program, &boxfilter_program, &floyd_program,    &heat2d_program,
    &histogram_program,    &nbia_program,      &strmatch_program, &vecinc_program};
static const size_t nprograms = sizeof(programs) / sizeof(*programs);
static size_t loaded;

static int load_opencl(void)
{
	for (; loaded < nprograms; loaded++) {
		struct codelet_program *program = programs[loaded];
		int error =
		    starpu_opencl_load_opencl_from_string(program->source, &program->binary, NULL);

		if (error) {
			codelets_unload();
			return heddle_refuse(-EIO, "the OpenCL codelets do not compile: %s",
			                     starpu_opencl_error_string(error));
		}
	}
	return 0;
}

void codelets_unload(void)
{
	while (loaded)
		starpu_opencl_unload_opencl(&programs[--loaded]->binary);
}

#else

static int load_opencl(void)
{
	return 0;
}

void codelets_unload(void)
{
}

#endif

#ifdef HEDDLE_USE_CUDA
/* CUDA brings a kernel to a device when it is first launched, and memory from a
 * pool of ours when it is first asked for: better here than within a first block. */
static void load_on_device(void *arg)
{
	int *error = arg;

	if (blackscholes_cuda_load() || boxfilter_cuda_load() || histogram_cuda_load() ||
	    nbia_cuda_load() || vecinc_cuda_load() || floyd_cuda_load() || heat2d_cuda_load() ||
	    strmatch_cuda_load())
		__atomic_store_n(error, -EIO, __ATOMIC_RELAXED);
}

static int load_cuda(void)
{
	int error = 0;

	starpu_execute_on_each_worker(load_on_device, &error, STARPU_CUDA);
	if (error)
		return heddle_refuse(error, "the CUDA codelets cannot be loaded");
	return 0;
}
#else
static int load_cuda(void)
{
	return 0;
}
#endif

int codelets_load(void)
{
	int error = starpu_opencl_worker_get_count() ? load_opencl() : 0;

	if (!error && starpu_cuda_worker_get_count())
		error = load_cuda();
	return error;
}
