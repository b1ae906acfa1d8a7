/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The codelet for StarPU: a wavefront over the points of a plate.
 */
#include "config.h"

#include <starpu.h>

#include <heddle/wavefront.h>

#include "codelets/codelet.h"
#include "codelets/heat2d/heat2d.h"

static struct heat2d_tile tile_of(void *buffers[], const struct heddle_tile *given)
{
	size_t first = heddle_tile_begin(given, 0);

	return (struct heat2d_tile){.row = given->row,
	                            .rows = given->rows,
	                            .column = first,
	                            .columns = heddle_tile_end(given, 0) - first,
	                            .total_rows = given->total_rows,
	                            .total_columns = given->total_columns,
	                            .stride = STARPU_MATRIX_GET_LD(buffers[0])};
}

static void run_cpu(void *buffers[], void *arg)
{
	struct heat2d_tile tile = tile_of(buffers, arg);

	heat2d_cpu(codelet_isa_best(), &tile, (float *)STARPU_MATRIX_GET_PTR(buffers[0]));
}

#ifdef HEDDLE_USE_CUDA
static void run_cuda(void *buffers[], void *arg)
{
	struct heddle_tile *given = arg;
	struct heat2d_tile tile = tile_of(buffers, given);

	given->status = heat2d_cuda(starpu_cuda_get_local_stream(), &tile,
	                            (float *)STARPU_MATRIX_GET_PTR(buffers[0]));
}
#endif

#ifdef HEDDLE_USE_OPENCL
/* As in the kernel. */
#define BLOCK_ROWS 32
#define BLOCK_COLUMNS 64

struct codelet_program heat2d_program = {.source =
#include "codelets/heat2d/opencl.clh"
};

/* The blocks of one anti-diagonal. */
static int launch_blocks(void *buffers[], const struct heat2d_tile *tile, size_t down,
                         size_t across, cl_uint diagonal)
{
	const struct heat2d_inner inner = heat2d_inner(tile);
	cl_uint first;
	const size_t local = BLOCK_ROWS;
	size_t global = codelet_diagonal(down, across, diagonal, &first) * local;
	struct codelet_launch launch;

	codelet_launch_begin(&heat2d_program, "compute_blocks", &launch);
	codelet_launch_ulong(&launch, inner.top);
	codelet_launch_ulong(&launch, inner.bottom);
	codelet_launch_ulong(&launch, inner.left);
	codelet_launch_ulong(&launch, inner.right);
	codelet_launch_ulong(&launch, tile->stride);
	codelet_launch_uint(&launch, diagonal);
	codelet_launch_uint(&launch, first);
	codelet_launch_matrix(&launch, buffers[0]);
	return codelet_launch_end(&launch, 1, &global, &local);
}

static void run_opencl(void *buffers[], void *arg)
{
	struct heddle_tile *given = arg;
	struct heat2d_tile tile = tile_of(buffers, given);
	const struct heat2d_inner inner = heat2d_inner(&tile);
	size_t down = (inner.bottom - inner.top + BLOCK_ROWS - 1) / BLOCK_ROWS;
	size_t across = (inner.right - inner.left + BLOCK_COLUMNS - 1) / BLOCK_COLUMNS;

	if (!down || !across)
		return;
	for (size_t d = 0; d < down + across - 1 && !given->status; d++)
		given->status = launch_blocks(buffers, &tile, down, across, d);
}
#endif

struct starpu_codelet heat2d_codelet = {
    .name = "heat2d",
    CODELET_VERSIONS(run_cpu, run_cuda, run_opencl),
    .model = CODELET_MODEL,
    .nbuffers = 1,
    .modes = {STARPU_RW},
};
