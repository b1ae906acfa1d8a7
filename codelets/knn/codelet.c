/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The codelet for StarPU: a loop over queries.
 */
#include "config.h"

#include <starpu.h>

#include "codelets/codelet.h"
#include "codelets/knn/knn.h"

enum { POINTS, LABELS, QUERIES, CLASSES, NBUFFERS };

static void run_cpu(void *buffers[], void *arg)
{
	const struct heddle_block *block = arg;

	knn_cpu(codelet_isa_best(), block->arg, block->n,
	        (const float *)STARPU_VECTOR_GET_PTR(buffers[POINTS]),
	        (const int32_t *)STARPU_VECTOR_GET_PTR(buffers[LABELS]),
	        (const float *)STARPU_VECTOR_GET_PTR(buffers[QUERIES]),
	        (int32_t *)STARPU_VECTOR_GET_PTR(buffers[CLASSES]));
}

#ifdef HEDDLE_USE_CUDA
static void run_cuda(void *buffers[], void *arg)
{
	struct heddle_block *block = arg;

	block->status = knn_cuda(starpu_cuda_get_local_stream(), block->arg, block->n,
	                         (const float *)STARPU_VECTOR_GET_PTR(buffers[POINTS]),
	                         (const int32_t *)STARPU_VECTOR_GET_PTR(buffers[LABELS]),
	                         (const float *)STARPU_VECTOR_GET_PTR(buffers[QUERIES]),
	                         (int32_t *)STARPU_VECTOR_GET_PTR(buffers[CLASSES]));
}
#endif

#ifdef HEDDLE_USE_OPENCL
struct codelet_program knn_program = {.source =
#include "codelets/knn/opencl.clh"
};

static void run_opencl(void *buffers[], void *arg)
{
	struct heddle_block *block = arg;
	const struct knn_problem *problem = block->arg;
	const size_t local = 64;
	size_t global = (block->n + local - 1) / local * local;
	struct codelet_launch launch;

	codelet_launch_begin(&knn_program, "classify", &launch);
	codelet_launch_ulong(&launch, block->n);
	codelet_launch_ulong(&launch, problem->points);
	codelet_launch_uint(&launch, problem->dimensions);
	codelet_launch_uint(&launch, problem->k);
	codelet_launch_uint(&launch, problem->metric == KNN_MANHATTAN);
	for (int b = 0; b < NBUFFERS; b++)
		codelet_launch_vector(&launch, buffers[b]);
	block->status = codelet_launch_end(&launch, 1, &global, &local);
}
#endif

struct starpu_codelet knn_codelet = {
    .name = "knn",
    CODELET_VERSIONS(run_cpu, run_cuda, run_opencl),
    .model = CODELET_MODEL,
    .nbuffers = NBUFFERS,
    .modes = {STARPU_R, STARPU_R, STARPU_R, STARPU_W},
};
