/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <heddle/clock.h>

#include "support/message.h"
#include "codelets/blackscholes/blackscholes.h"
#include "codelets/boxfilter/boxfilter.h"
#include "codelets/codelet.h"
#include "codelets/design.h"
#include "codelets/floyd/floyd.h"
#include "codelets/heat2d/heat2d.h"
#include "codelets/histogram/histogram.h"
#include "codelets/nbia/nbia.h"
#include "codelets/programs.h"
#include "codelets/strmatch/strmatch.h"
#include "codelets/vecinc/vecinc.h"
#include "fpga/events.h"

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

bool codelet_on_fpga(void)
{
	return heddle_worker_kind(starpu_worker_get_id_check()) == HEDDLE_KIND_FPGA;
}

/* A simulated board tells what the modelled one would have taken. */
static void tell_clock(cl_event event)
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
		tell_clock(event);
		clReleaseEvent(event);
	}
	if (launch->kernel)
		starpu_opencl_release_kernel(launch->kernel);
	if (launch->error != CL_SUCCESS)
		return heddle_refuse(-EIO, "a kernel failed on an FPGA: %s",
		                     starpu_opencl_error_string(launch->error));
	return 0;
}

/* ---- programs ---- */

/* Whether a worker has a codelet's program: an FPGA has it only where there is a design. */
static bool has_program(unsigned worker, const struct codelet_program *program)
{
	return starpu_worker_get_type(worker) != STARPU_OPENCL_WORKER ||
	       program->binary.programs[starpu_worker_get_devid(worker)];
}

/* can_execute() is told of a task, not of whose codelet it once was: one for each. */
#define CAN_EXECUTE(name)                                                                          \
	static int name##_can_execute(unsigned worker, struct starpu_task *task,                   \
	                              unsigned implementation)                                     \
	{                                                                                          \
		return has_program(worker, &name##_program);                                       \
	}
CAN_EXECUTE(blackscholes)
CAN_EXECUTE(boxfilter)
CAN_EXECUTE(floyd)
CAN_EXECUTE(heat2d)
CAN_EXECUTE(histogram)
CAN_EXECUTE(nbia)
CAN_EXECUTE(strmatch)
CAN_EXECUTE(vecinc)

#define PROGRAM(name)                                                                              \
	{                                                                                          \
#name, &name##_program, &name##_codelet, name##_can_execute                        \
	}
static const struct {
	const char *name;
	struct codelet_program *program;
	struct starpu_codelet *codelet;
	int (*can_execute)(unsigned worker, struct starpu_task *task, unsigned implementation);
} programs[] = {PROGRAM(blackscholes), PROGRAM(boxfilter), PROGRAM(floyd),    PROGRAM(heat2d),
                PROGRAM(histogram),    PROGRAM(nbia),      PROGRAM(strmatch), PROGRAM(vecinc)};
static const size_t nprograms = sizeof(programs) / sizeof(*programs);

static int build(cl_program program, cl_device_id device, cl_int error)
{
	char log[4096] = "";

	if (error == CL_SUCCESS)
		error = clBuildProgram(program, 1, &device, NULL, NULL, NULL);
	if (error == CL_BUILD_PROGRAM_FAILURE)
		clGetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_LOG, sizeof(log), log,
		                      NULL);
	if (error != CL_SUCCESS)
		return heddle_refuse(-EIO, "an OpenCL codelet cannot be built: %s\n%s",
		                     starpu_opencl_error_string(error), log);
	return 0;
}

static int load_source(int device, struct codelet_program *program)
{
	cl_device_id id;
	cl_context context;
	cl_int error;

	starpu_opencl_get_device(device, &id);
	starpu_opencl_get_context(device, &context);
	program->binary.programs[device] =
	    clCreateProgramWithSource(context, 1, &program->source, NULL, &error);
	return build(program->binary.programs[device], id, error);
}

/* A codelet without a design is left to other workers. */
static int load_design(int device, const char *name, struct codelet_program *program)
{
	cl_device_id id;
	cl_context context;
	unsigned char *bytes;
	size_t size;
	cl_int error;
	int status = codelet_design_read(name, &bytes, &size);

	if (status == -ENOENT) {
		heddle_explain("codelet %s: there is no design for FPGAs", name);
		return 0;
	}
	if (status)
		return status;
	starpu_opencl_get_device(device, &id);
	starpu_opencl_get_context(device, &context);
	program->binary.programs[device] = clCreateProgramWithBinary(
	    context, 1, &id, &size, (const unsigned char **)&bytes, NULL, &error);
	free(bytes);
	return build(program->binary.programs[device], id, error);
}

/* StarPU's own loaders give every device the same program. */
static int load_on_worker(int worker, const char *name)
{
	bool fpga = heddle_worker_kind(worker) == HEDDLE_KIND_FPGA;
	int device = starpu_worker_get_devid(worker), error = 0;

	for (size_t p = 0; p < nprograms && !error; p++) {
		struct codelet_program *program = programs[p].program;

		if (program->binary.programs[device] || (name && strcmp(name, programs[p].name)))
			continue;
		error = fpga ? load_design(device, programs[p].name, program)
		             : load_source(device, program);
		if (fpga && !programs[p].codelet->can_execute)
			programs[p].codelet->can_execute = programs[p].can_execute;
	}
	return error;
}

static int load_opencl(const char *name)
{
	int workers[STARPU_NMAXWORKERS];
	unsigned n =
	    starpu_worker_get_ids_by_type(STARPU_OPENCL_WORKER, workers, STARPU_NMAXWORKERS);
	int error = 0;

	/* Workers that wait for tasks would take the processors from the compiler. */
	starpu_pause();
	for (unsigned w = 0; w < n && !error; w++)
		error = load_on_worker(workers[w], name);
	starpu_resume();
	if (error)
		codelets_unload();
	return error;
}

int codelets_need_design(const char *name)
{
	int workers[STARPU_NMAXWORKERS], idle = 0;
	unsigned n =
	    starpu_worker_get_ids_by_type(STARPU_OPENCL_WORKER, workers, STARPU_NMAXWORKERS);

	for (size_t p = 0; p < nprograms; p++)
		for (unsigned w = 0; w < n && !strcmp(name, programs[p].name); w++)
			idle += heddle_worker_kind(workers[w]) == HEDDLE_KIND_FPGA &&
			        !has_program(workers[w], programs[p].program);
	return idle ? codelet_design_missing(name) : 0;
}

void codelets_unload(void)
{
	for (size_t p = 0; p < nprograms; p++) {
		struct starpu_opencl_program *binary = &programs[p].program->binary;

		for (int device = 0; device < STARPU_MAXOPENCLDEVS; device++)
			if (binary->programs[device])
				clReleaseProgram(binary->programs[device]);
		*binary = (struct starpu_opencl_program){0};
		if (programs[p].codelet->can_execute == programs[p].can_execute)
			programs[p].codelet->can_execute = NULL;
	}
}

#else

static int load_opencl(const char *name)
{
	return 0;
}

int codelets_need_design(const char *name)
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

int codelets_load(const char *name)
{
	int error = starpu_opencl_worker_get_count() ? load_opencl(name) : 0;

	if (!error && starpu_cuda_worker_get_count())
		error = load_cuda();
	return error;
}
