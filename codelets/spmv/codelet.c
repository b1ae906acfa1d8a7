/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The codelet for StarPU: a loop over the rows of a sparse matrix.
 */
#include "config.h"

#include <starpu.h>

#include "codelets/codelet.h"
#include "codelets/spmv/spmv.h"

enum { STARTS, COLUMNS, VALUES, X, Y, NBUFFERS };

/* The row before the block's own first one is the halo's. */
static size_t before(const struct heddle_block *block)
{
	return heddle_block_before(block, 1, 1);
}

static bool is_wide(void *buffers[])
{
	return STARPU_VECTOR_GET_ELEMSIZE(buffers[VALUES]) == sizeof(double);
}

static struct spmv_rows rows_of(void *buffers[], const struct heddle_block *block)
{
	return (struct spmv_rows){
	    .n = block->n,
	    .wide = is_wide(buffers),
	    .starts = (const uint32_t *)STARPU_VECTOR_GET_PTR(buffers[STARTS]) + before(block),
	    .columns = (const int32_t *)STARPU_VECTOR_GET_PTR(buffers[COLUMNS]),
	    .values = (const void *)STARPU_VECTOR_GET_PTR(buffers[VALUES]),
	    .x = (const void *)STARPU_VECTOR_GET_PTR(buffers[X]),
	    .y = (void *)STARPU_VECTOR_GET_PTR(buffers[Y]),
	};
}

static void run_cpu(void *buffers[], void *arg)
{
	struct spmv_rows rows = rows_of(buffers, arg);

	spmv_cpu(&rows);
}

#ifdef HEDDLE_USE_CUDA
static void run_cuda(void *buffers[], void *arg)
{
	struct heddle_block *block = arg;
	struct spmv_rows rows = rows_of(buffers, block);

	block->status =
	    spmv_cuda(starpu_cuda_get_local_stream(), &rows, STARPU_VECTOR_GET_NX(buffers[VALUES]));
}
#endif

#ifdef HEDDLE_USE_OPENCL
struct codelet_program spmv_program = {.source =
#include "codelets/spmv/opencl.clh"
};

static void run_opencl(void *buffers[], void *arg)
{
	struct heddle_block *block = arg;
	const size_t local = 64;
	size_t global = (block->n + local - 1) / local * local;
	struct codelet_launch launch;

	codelet_launch_begin(&spmv_program, is_wide(buffers) ? "multiply_double" : "multiply_float",
	                     &launch);
	codelet_launch_ulong(&launch, block->n);
	codelet_launch_ulong(&launch, before(block));
	for (int b = 0; b < NBUFFERS; b++)
		codelet_launch_vector(&launch, buffers[b]);
	block->status = codelet_launch_end(&launch, 1, &global, &local);
}
#endif

struct starpu_codelet spmv_codelet = {
    .name = "spmv",
    CODELET_VERSIONS(run_cpu, run_cuda, run_opencl),
    .model = CODELET_MODEL,
    .nbuffers = NBUFFERS,
    .modes = {STARPU_R, STARPU_R, STARPU_R, STARPU_R, STARPU_W},
};
