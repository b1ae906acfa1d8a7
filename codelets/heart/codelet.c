/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The codelet for StarPU: a loop over rows of cells.
 */
#include "config.h"

#include <errno.h>
#include <starpu.h>

#include "codelets/codelet.h"
#include "codelets/heart/heart.h"

enum { U, W, CONDUCTIVITY, U_OUT, W_OUT, NBUFFERS };

/* The distance between rows differs between memories; the interface has that of the worker's. */
static struct heart_band band_of(void *buffers[], const struct heddle_block *block)
{
	const struct heart_problem *problem = block->arg;

	return (struct heart_band){
	    .problem = *problem,
	    .width = STARPU_MATRIX_GET_NX(buffers[U]),
	    .rows = STARPU_MATRIX_GET_NY(buffers[U_OUT]),
	    .above = heddle_block_before(block, 1, problem->steps),
	    .input_rows = STARPU_MATRIX_GET_NY(buffers[U]),
	    .u_stride = STARPU_MATRIX_GET_LD(buffers[U]),
	    .w_stride = STARPU_MATRIX_GET_LD(buffers[W]),
	    .conductivity_stride = STARPU_MATRIX_GET_LD(buffers[CONDUCTIVITY]),
	    .u_out_stride = STARPU_MATRIX_GET_LD(buffers[U_OUT]),
	    .w_out_stride = STARPU_MATRIX_GET_LD(buffers[W_OUT]),
	};
}

static struct heart_state state_of(void *buffers[])
{
	return (struct heart_state){
	    .u = (const float *)STARPU_MATRIX_GET_PTR(buffers[U]),
	    .w = (const float *)STARPU_MATRIX_GET_PTR(buffers[W]),
	    .conductivity = (const float *)STARPU_MATRIX_GET_PTR(buffers[CONDUCTIVITY]),
	    .u_out = (float *)STARPU_MATRIX_GET_PTR(buffers[U_OUT]),
	    .w_out = (float *)STARPU_MATRIX_GET_PTR(buffers[W_OUT]),
	};
}

static void run_cpu(void *buffers[], void *arg)
{
	struct heddle_block *block = arg;
	struct heart_band band = band_of(buffers, block);
	struct heart_state state = state_of(buffers);

	block->status = heart_cpu(codelet_isa_best(), &band, &state);
}

#ifdef HEDDLE_USE_CUDA
static void run_cuda(void *buffers[], void *arg)
{
	struct heddle_block *block = arg;
	struct heart_band band = band_of(buffers, block);
	struct heart_state state = state_of(buffers);

	block->status = heart_cuda(starpu_cuda_get_local_stream(), &band, &state);
}
#endif

#ifdef HEDDLE_USE_OPENCL
struct codelet_program heart_program = {.source =
#include "codelets/heart/opencl.clh"
};

/* A matrix of rows, of which the first one is number `first` of the input. */
struct place {
	uintptr_t u, w; /* cl_mem */
	size_t u_offset, w_offset, u_stride, w_stride, first;
};

static struct place place_of(void *buffers[], int u, int w, size_t first)
{
	return (struct place){.u = STARPU_MATRIX_GET_DEV_HANDLE(buffers[u]),
	                      .w = STARPU_MATRIX_GET_DEV_HANDLE(buffers[w]),
	                      .u_offset = STARPU_MATRIX_GET_OFFSET(buffers[u]),
	                      .w_offset = STARPU_MATRIX_GET_OFFSET(buffers[w]),
	                      .u_stride = STARPU_MATRIX_GET_LD(buffers[u]),
	                      .w_stride = STARPU_MATRIX_GET_LD(buffers[w]),
	                      .first = first};
}

static void place_pass(struct codelet_launch *launch, const struct place *place)
{
	codelet_launch_buffer(launch, place->u, place->u_offset);
	codelet_launch_ulong(launch, place->u_stride);
	codelet_launch_buffer(launch, place->w, place->w_offset);
	codelet_launch_ulong(launch, place->w_stride);
	codelet_launch_ulong(launch, place->first);
}

static int step_launch(void *buffers[], const struct heart_band *band, unsigned step,
                       const struct place *from, const struct place *to)
{
	const struct heart_problem *problem = &band->problem;
	const size_t local[] = {64, 1};
	struct codelet_launch launch;
	float dt = problem->dt / problem->substeps;
	size_t first, n;

	heart_rows(band, step, &first, &n);
	codelet_launch_begin(&heart_program, "heart_step", &launch);
	codelet_launch_uint(&launch, problem->model == HEART_ALIEV_PANFILOV);
	codelet_launch_uint(&launch, problem->substeps);
	codelet_launch_argument(&launch, sizeof(dt), &dt);
	codelet_launch_argument(&launch, sizeof(problem->coupling), &problem->coupling);
	codelet_launch_ulong(&launch, band->width);
	codelet_launch_ulong(&launch, band->input_rows);
	codelet_launch_ulong(&launch, first);
	codelet_launch_ulong(&launch, n);
	place_pass(&launch, from);
	codelet_launch_matrix(&launch, buffers[CONDUCTIVITY]);
	codelet_launch_ulong(&launch, band->conductivity_stride);
	place_pass(&launch, to);
	return codelet_launch_end(&launch, 2, (const size_t[]){(band->width + 63) / 64 * 64, n},
	                          local);
}

/* Two states between the steps, in turn: one buffer with all rows of u, then all of w, each. */
static struct place between(const struct heart_band *band, const cl_mem scratch[2], unsigned step)
{
	uintptr_t memory = (uintptr_t)scratch[step % 2];

	return (struct place){.u = memory,
	                      .w = memory,
	                      .w_offset = band->input_rows * band->width * sizeof(float),
	                      .u_stride = band->width,
	                      .w_stride = band->width};
}

static int scratch_make(const struct heart_band *band, cl_mem scratch[2])
{
	unsigned needed = band->problem.steps - 1;
	cl_context context;
	cl_int error = CL_SUCCESS;

	starpu_opencl_get_context(starpu_worker_get_devid(starpu_worker_get_id_check()), &context);
	for (unsigned i = 0; i < 2 && i < needed && error == CL_SUCCESS; i++)
		/* Steps count from 1. */
		scratch[(i + 1) % 2] = clCreateBuffer(
		    context, CL_MEM_READ_WRITE, 2 * band->input_rows * band->width * sizeof(float),
		    NULL, &error);
	return error == CL_SUCCESS ? 0 : -ENOMEM;
}

static void run_opencl(void *buffers[], void *arg)
{
	struct heddle_block *block = arg;
	struct heart_band band = band_of(buffers, block);
	struct place from = place_of(buffers, U, W, 0);
	unsigned steps = band.problem.steps;
	cl_mem scratch[2] = {NULL, NULL};

	block->status = scratch_make(&band, scratch);
	for (unsigned s = 1; s <= steps && !block->status; s++) {
		struct place to = s < steps ? between(&band, scratch, s)
		                            : place_of(buffers, U_OUT, W_OUT, band.above);

		block->status = step_launch(buffers, &band, s, &from, &to);
		from = to;
	}
	/* The queue keeps them until the kernels have run. */
	for (int i = 0; i < 2; i++)
		if (scratch[i])
			clReleaseMemObject(scratch[i]);
}
#endif

struct starpu_codelet heart_codelet = {
    .name = "heart",
    CODELET_VERSIONS(run_cpu, run_cuda, run_opencl),
    .model = CODELET_MODEL,
    .nbuffers = NBUFFERS,
    .modes = {STARPU_R, STARPU_R, STARPU_R, STARPU_W, STARPU_W},
};
