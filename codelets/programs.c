/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "config.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "support/message.h"
#include "support/variables.h"
#include "codelets/blackscholes/blackscholes.h"
#include "codelets/boxfilter/boxfilter.h"
#include "codelets/codelet.h"
#include "codelets/eclat/eclat.h"
#include "codelets/floyd/floyd.h"
#include "codelets/heart/heart.h"
#include "codelets/heat2d/heat2d.h"
#include "codelets/histogram/histogram.h"
#include "codelets/knn/knn.h"
#include "codelets/mandelbrot/mandelbrot.h"
#include "codelets/nbia/nbia.h"
#include "codelets/nbody/nbody.h"
#include "codelets/programs.h"
#include "codelets/spmv/spmv.h"
#include "codelets/strmatch/strmatch.h"
#include "codelets/vecinc/vecinc.h"

/* All codelets. */
#define CODELETS(each)                                                                             \
	each(blackscholes) each(boxfilter) each(eclat) each(floyd) each(heart) each(heat2d)        \
	    each(histogram) each(knn) each(mandelbrot) each(nbia) each(nbody) each(spmv)           \
	        each(strmatch) each(vecinc)

#ifdef HEDDLE_USE_OPENCL

/* ---- designs for FPGAs ---- */

static int design_read_stream(FILE *stream, const char *path, unsigned char **bytes, size_t *size)
{
	struct stat info;
	unsigned char *all;

	if (fstat(fileno(stream), &info) || !S_ISREG(info.st_mode) || !info.st_size)
		return heddle_refuse(-EINVAL, "%s: not a file with a design", path);
	all = malloc(info.st_size);
	if (!all)
		return -ENOMEM;
	if (fread(all, info.st_size, 1, stream) != 1) {
		free(all);
		return heddle_refuse(-EIO, "%s: cannot be read", path);
	}
	*bytes = all;
	*size = info.st_size;
	return 0;
}

/* An installed program uses the installed designs, others those of the build. */
static const char *design_folder(void)
{
	static const char installed[] = INSTALLED_PROGRAMS "/";
	char self[PATH_MAX] = "";

	if (readlink("/proc/self/exe", self, sizeof(self) - 1) > 0 &&
	    !strncmp(self, installed, strlen(installed)))
		return INSTALLED_DESIGNS;
	return DESIGNS;
}

static int design_path(const char *name, char *path, size_t size)
{
	const char *folder = heddle_variable_text(HEDDLE_VARIABLE_FPGA_DESIGNS);

	if (snprintf(path, size, "%s/%s.fpga", *folder ? folder : design_folder(), name) >=
	    (int)size)
		return heddle_refuse(-ENAMETOOLONG, "HEDDLE_FPGA_DESIGNS: %s", folder);
	return 0;
}

static int design_missing(const char *name)
{
	char path[PATH_MAX];
	int error = design_path(name, path, sizeof(path));

	if (error)
		return error;
	return heddle_refuse(
	    -ENODEV,
	    "no FPGA can run %s: there is no %s. Heddle has designs of "
	    "blackscholes and histogram: `make fpga' builds them, `make fpga "
	    "install' installs them; HEDDLE_FPGA_DESIGNS names a folder with others",
	    name, path);
}

/* @return 0; -ENOENT: there is no design; another error after a message */
static int design_read(const char *name, unsigned char **bytes, size_t *size)
{
	char path[PATH_MAX];
	FILE *stream;
	int error = design_path(name, path, sizeof(path));

	if (error)
		return error;
	stream = fopen(path, "rb");
	if (!stream && errno == ENOENT)
		return -ENOENT;
	if (!stream)
		return heddle_refuse(-errno, "%s: %s", path, strerror(errno));
	error = design_read_stream(stream, path, bytes, size);
	fclose(stream);
	return error;
}

/* ---- programs ---- */

/* Whether a worker has a codelet's program: an FPGA without a design has not. */
static bool has_program(unsigned worker, const struct codelet_program *program)
{
	return starpu_worker_get_type(worker) != STARPU_OPENCL_WORKER ||
	       program->binary.programs[starpu_worker_get_devid(worker)];
}

/* can_execute() gets a task, whose codelet may be a copy: each codelet has its own function. */
#define CAN_EXECUTE(name)                                                                          \
	static int name##_can_execute(unsigned worker, struct starpu_task *task,                   \
	                              unsigned implementation)                                     \
	{                                                                                          \
		return has_program(worker, &name##_program);                                       \
	}
CODELETS(CAN_EXECUTE)

#define PROGRAM(name) {#name, &name##_program, &name##_codelet, name##_can_execute},
static const struct {
	const char *name;
	struct codelet_program *program;
	struct starpu_codelet *codelet;
	int (*can_execute)(unsigned worker, struct starpu_task *task, unsigned implementation);
} programs[] = {CODELETS(PROGRAM)};
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

/* Without a design, other workers run the codelet. */
static int load_design(int device, const char *name, struct codelet_program *program)
{
	cl_device_id id;
	cl_context context;
	unsigned char *bytes;
	size_t size;
	cl_int error;
	int status = design_read(name, &bytes, &size);

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

/* StarPU's loaders would give every device the same program. */
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

	/* Workers that poll for tasks take cores from the compiler. */
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
	return idle ? design_missing(name) : 0;
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
/* CUDA loads a kernel at its first launch, and makes a pool at its first use: do both before the
 * first block. */
#define CUDA_LOADER(name) int name##_cuda_load(void);
CODELETS(CUDA_LOADER)
#define CUDA_LOAD(name) name##_cuda_load() ||

static void load_on_device(void *arg)
{
	int *error = arg;

	/* If a worker's first task asks for no stream, StarPU warns of kernels outside of it. */
	starpu_cuda_get_local_stream();
	if (CODELETS(CUDA_LOAD) false)
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
