/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "config.h"

#include <errno.h>

#include <heddle/clock.h>

#include "support/message.h"
#include "codelets/codelet.h"
#include "fpga/events.h"

void codelet_simulated(void *buffers[], void *arg)
{
}

#ifdef HEDDLE_USE_OPENCL

void codelet_launch_begin(struct codelet_program *program, const char *name,
                          struct codelet_launch *launch)
{
	int device = starpu_worker_get_devid(starpu_worker_get_id_check());

	*launch = (struct codelet_launch){0};
	launch->error = starpu_opencl_load_kernel(&launch->kernel, &launch->queue, &program->binary,
	                                          name, device);
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

/* Ends a launch. The queue keeps the kernel until it has run. */
static int launch_release(struct codelet_launch *launch, const char *failed)
{
	if (launch->kernel)
		starpu_opencl_release_kernel(launch->kernel);
	if (launch->error != CL_SUCCESS)
		return heddle_refuse(-EIO, "%s: %s", failed,
		                     starpu_opencl_error_string(launch->error));
	return 0;
}

int codelet_launch_end(struct codelet_launch *launch, unsigned dimensions, const size_t *global,
                       const size_t *local)
{
	if (launch->error == CL_SUCCESS)
		launch->error = clEnqueueNDRangeKernel(launch->queue, launch->kernel, dimensions,
		                                       NULL, global, local, 0, NULL, NULL);
	return launch_release(launch, "an OpenCL kernel was not launched");
}

bool codelet_on_fpga(void)
{
	return heddle_worker_kind(starpu_worker_get_id_check()) == HEDDLE_KIND_FPGA;
}

/* A simulated board reports the time that the modelled board would take. */
static void advance_clock(cl_event event)
{
	cl_ulong modelled = 0, taken = 0;

	if (clGetEventInfo(event, CL_EVENT_MODELLED_HEDDLE, sizeof(modelled), &modelled, NULL) ||
	    clGetEventInfo(event, CL_EVENT_TAKEN_HEDDLE, sizeof(taken), &taken, NULL))
		return;
	heddle_clock_simulated(taken * 1e-3, modelled * 1e-3);
}

int codelet_launch_end_fpga(struct codelet_launch *launch)
{
	const size_t one = 1;
	cl_event event;

	if (launch->error == CL_SUCCESS)
		launch->error = clEnqueueNDRangeKernel(launch->queue, launch->kernel, 1, NULL, &one,
		                                       &one, 0, NULL, &event);
	if (launch->error == CL_SUCCESS) {
		launch->error = clWaitForEvents(1, &event);
		advance_clock(event);
		clReleaseEvent(event);
	}
	return launch_release(launch, "a kernel failed on an FPGA");
}

#endif
