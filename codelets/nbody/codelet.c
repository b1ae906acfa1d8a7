/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The codelet for StarPU: a loop over bodies.
 */
#include "config.h"

#include <starpu.h>

#include "codelets/codelet.h"
#include "codelets/nbody/nbody.h"

enum { BODIES, STARTS, ACCELERATIONS, NBUFFERS };

static void run_cpu(void *buffers[], void *arg)
{
	const struct heddle_block *block = arg;

	nbody_cpu(codelet_isa_best(), block->arg, block->start, block->n,
	          (const float *)STARPU_VECTOR_GET_PTR(buffers[BODIES]),
	          (const uint32_t *)STARPU_VECTOR_GET_PTR(buffers[STARTS]),
	          (float *)STARPU_VECTOR_GET_PTR(buffers[ACCELERATIONS]));
}

#ifdef HEDDLE_USE_CUDA
static void run_cuda(void *buffers[], void *arg)
{
	struct heddle_block *block = arg;

	block->status = nbody_cuda(starpu_cuda_get_local_stream(), block->arg, block->start,
	                           block->n, (const float *)STARPU_VECTOR_GET_PTR(buffers[BODIES]),
	                           (const uint32_t *)STARPU_VECTOR_GET_PTR(buffers[STARTS]),
	                           (float *)STARPU_VECTOR_GET_PTR(buffers[ACCELERATIONS]));
}
#endif

#ifdef HEDDLE_USE_OPENCL
struct codelet_program nbody_program = {.source =
#include "codelets/nbody/opencl.clh"
};

static void run_opencl(void *buffers[], void *arg)
{
	struct heddle_block *block = arg;
	const struct nbody_problem *problem = block->arg;
	const cl_float4 low = {
	    {problem->low[0], problem->low[1], problem->low[2], problem->cells_per_length}};
	const cl_uint4 cells = {{problem->cells[0], problem->cells[1], problem->cells[2]}};
	const size_t local = 64;
	size_t global = (block->n + local - 1) / local * local;
	struct codelet_launch launch;

	codelet_launch_begin(&nbody_program, "attract", &launch);
	codelet_launch_ulong(&launch, problem->n);
	codelet_launch_ulong(&launch, block->start);
	codelet_launch_ulong(&launch, block->n);
	codelet_launch_argument(&launch, sizeof(low), &low);
	codelet_launch_argument(&launch, sizeof(cells), &cells);
	codelet_launch_argument(&launch, sizeof(float), &problem->softening2);
	codelet_launch_argument(&launch, sizeof(float), &problem->inverse_cutoff2);
	for (int b = 0; b < NBUFFERS; b++)
		codelet_launch_vector(&launch, buffers[b]);
	block->status = codelet_launch_end(&launch, 1, &global, &local);
}
#endif

struct starpu_codelet nbody_codelet = {
    .name = "nbody",
    CODELET_VERSIONS(run_cpu, run_cuda, run_opencl),
    .model = CODELET_MODEL,
    .nbuffers = NBUFFERS,
    .modes = {STARPU_R, STARPU_R, STARPU_W},
};
