/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The codelet for StarPU: a task for a class, or for some of its rows.
 */
#include "config.h"

#include <starpu.h>

#include "codelets/codelet.h"
#include "codelets/eclat/eclat.h"

enum { BITS, ITEMS, COUNTS, NBUFFERS };

static void run_cpu(void *buffers[], void *arg)
{
	const struct heddle_block *block = arg;

	eclat_cpu(codelet_isa_best(), block->arg,
	          (const uint64_t *)STARPU_VECTOR_GET_PTR(buffers[BITS]),
	          (const int32_t *)STARPU_VECTOR_GET_PTR(buffers[ITEMS]),
	          (uint32_t *)STARPU_VECTOR_GET_PTR(buffers[COUNTS]));
}

#ifdef HEDDLE_USE_CUDA
static void run_cuda(void *buffers[], void *arg)
{
	struct heddle_block *block = arg;

	block->status = eclat_cuda(starpu_cuda_get_local_stream(), block->arg,
	                           (const uint64_t *)STARPU_VECTOR_GET_PTR(buffers[BITS]),
	                           (const int32_t *)STARPU_VECTOR_GET_PTR(buffers[ITEMS]),
	                           (uint32_t *)STARPU_VECTOR_GET_PTR(buffers[COUNTS]));
}
#endif

#ifdef HEDDLE_USE_OPENCL
struct codelet_program eclat_program = {.source =
#include "codelets/eclat/opencl.clh"
};

/* As in opencl.cl. */
#define GROUP 64
#define MEMBERS 16

static void run_opencl(void *buffers[], void *arg)
{
	struct heddle_block *block = arg;
	const struct eclat_class *of = block->arg;
	const size_t local[2] = {GROUP, 1};
	const size_t global[2] = {(size_t)of->rows * GROUP, (of->members + MEMBERS - 1) / MEMBERS};
	struct codelet_launch launch;

	codelet_launch_begin(&eclat_program, "count_pairs", &launch);
	codelet_launch_ulong(&launch, of->words);
	codelet_launch_uint(&launch, of->prefix);
	codelet_launch_uint(&launch, of->members);
	for (int b = 0; b < NBUFFERS; b++)
		codelet_launch_vector(&launch, buffers[b]);
	block->status = codelet_launch_end(&launch, 2, global, local);
}
#endif

struct starpu_codelet eclat_codelet = {
    .name = "eclat",
    CODELET_VERSIONS(run_cpu, run_cuda, run_opencl),
    .model = CODELET_MODEL,
    .nbuffers = NBUFFERS,
    .modes = {STARPU_R, STARPU_R, STARPU_W},
};
