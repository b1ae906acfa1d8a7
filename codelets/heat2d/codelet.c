/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "config.h"

#include <starpu.h>

#include <heddle/wavefront.h>

#include "codelets/codelet.h"
#include "codelets/heat2d/heat2d.h"
#include "codelets/programs.h"

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

	heat2d_cpu(&tile, (float *)STARPU_MATRIX_GET_PTR(buffers[0]));
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
/* The kernel's. */
#define BLOCK_ROWS 32
#define BLOCK_COLUMNS 64

struct codelet_program heat2d_program = {.source =
#include "codelets/heat2d/opencl.clh"
};

static void pass_integer(struct codelet_launch *launch, cl_ulong value)
{
	codelet_launch_argument(launch, sizeof(value), &value);
}

/* The blocks of one anti-diagonal. */
static int launch_blocks(void *buffers[], const struct heat2d_tile *tile, size_t down,
                         size_t across, cl_uint diagonal)
{
	const struct heat2d_inner inner = heat2d_inner(tile);
	cl_uint first = diagonal < across ? 0 : diagonal - across + 1;
	cl_uint last = diagonal < down ? diagonal : down - 1;
	const size_t local = BLOCK_ROWS;
	size_t global = (last - first + 1) * local;
	struct codelet_launch launch;

	codelet_launch_begin(&heat2d_program.binary, "compute_blocks", &launch);
	pass_integer(&launch, inner.top);
	pass_integer(&launch, inner.bottom);
	pass_integer(&launch, inner.left);
	pass_integer(&launch, inner.right);
	pass_integer(&launch, tile->stride);
	codelet_launch_argument(&launch, sizeof(diagonal), &diagonal);
	codelet_launch_argument(&launch, sizeof(first), &first);
	codelet_launch_buffer(&launch, STARPU_MATRIX_GET_DEV_HANDLE(buffers[0]),
	                      STARPU_MATRIX_GET_OFFSET(buffers[0]));
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
    .cpu_funcs = {run_cpu},
    .cuda_funcs = {CODELET_CUDA(run_cuda)},
    .cuda_flags = {STARPU_CUDA_ASYNC},
    .opencl_funcs = {CODELET_OPENCL(run_opencl)},
    .opencl_flags = {STARPU_OPENCL_ASYNC},
    .model = CODELET_MODEL,
    .nbuffers = 1,
    .modes = {STARPU_RW},
};
