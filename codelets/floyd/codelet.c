/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "config.h"

#include <starpu.h>

#include <heddle/wavefront.h>

#include "codelets/codelet.h"
#include "codelets/floyd/floyd.h"
#include "codelets/programs.h"

enum { INPUT, OUTPUT, ROWS, EDGE, NBUFFERS };

/* Heddle may try the kernel on a piece of the image. */
static struct floyd_tile tile_of(void *buffers[], const struct heddle_tile *given)
{
	struct floyd_tile tile = {.image = *(const struct floyd_image *)given->arg,
	                          .rows = given->rows,
	                          .column = given->column,
	                          .columns = given->columns,
	                          .in_stride = STARPU_MATRIX_GET_LD(buffers[INPUT]),
	                          .out_stride = STARPU_MATRIX_GET_LD(buffers[OUTPUT])};

	tile.image.width = given->total_columns;
	return tile;
}

static void run_cpu(void *buffers[], void *arg)
{
	struct heddle_tile *given = arg;
	struct floyd_tile tile = tile_of(buffers, given);

	floyd_cpu(&tile, (const uint8_t *)STARPU_MATRIX_GET_PTR(buffers[INPUT]),
	          (uint8_t *)STARPU_MATRIX_GET_PTR(buffers[OUTPUT]),
	          (struct floyd_row *)STARPU_VECTOR_GET_PTR(buffers[ROWS]),
	          (int16_t *)STARPU_VECTOR_GET_PTR(buffers[EDGE]));
}

#ifdef HEDDLE_USE_CUDA
static void run_cuda(void *buffers[], void *arg)
{
	struct heddle_tile *given = arg;
	struct floyd_tile tile = tile_of(buffers, given);

	given->status = floyd_cuda(starpu_cuda_get_local_stream(), &tile,
	                           (const uint8_t *)STARPU_MATRIX_GET_PTR(buffers[INPUT]),
	                           (uint8_t *)STARPU_MATRIX_GET_PTR(buffers[OUTPUT]),
	                           (struct floyd_row *)STARPU_VECTOR_GET_PTR(buffers[ROWS]),
	                           (int16_t *)STARPU_VECTOR_GET_PTR(buffers[EDGE]));
}
#endif

#ifdef HEDDLE_USE_OPENCL
/* The kernel's. */
#define BLOCK_ROWS 32
#define BLOCK_COLUMNS 64

struct codelet_program floyd_program = {.source =
#include "codelets/floyd/opencl.clh"
};

static void pass_integer(struct codelet_launch *launch, cl_ulong value)
{
	codelet_launch_argument(launch, sizeof(value), &value);
}

static void pass_small(struct codelet_launch *launch, cl_uint value)
{
	codelet_launch_argument(launch, sizeof(value), &value);
}

/* The blocks of one anti-diagonal. */
static int launch_blocks(void *buffers[], const struct floyd_tile *tile, size_t down, size_t across,
                         size_t diagonal)
{
	size_t first = diagonal < across ? 0 : diagonal - across + 1;
	size_t last = diagonal < down ? diagonal : down - 1;
	const size_t local[] = {BLOCK_ROWS, 1};
	size_t global[] = {(last - first + 1) * BLOCK_ROWS, tile->image.channels};
	struct codelet_launch launch;

	codelet_launch_begin(&floyd_program.binary, "compute_blocks", &launch);
	pass_integer(&launch, tile->image.width);
	pass_small(&launch, tile->image.channels);
	pass_small(&launch, (1u << tile->image.bits) - 1);
	pass_small(&launch, floyd_factor(tile->image.bits));
	pass_small(&launch, floyd_bias(tile->image.bits));
	pass_integer(&launch, tile->rows);
	pass_integer(&launch, tile->column);
	pass_integer(&launch, tile->columns);
	pass_small(&launch, diagonal);
	pass_small(&launch, first);
	codelet_launch_buffer(&launch, STARPU_MATRIX_GET_DEV_HANDLE(buffers[INPUT]),
	                      STARPU_MATRIX_GET_OFFSET(buffers[INPUT]));
	pass_integer(&launch, tile->in_stride);
	codelet_launch_buffer(&launch, STARPU_MATRIX_GET_DEV_HANDLE(buffers[OUTPUT]),
	                      STARPU_MATRIX_GET_OFFSET(buffers[OUTPUT]));
	pass_integer(&launch, tile->out_stride);
	codelet_launch_buffer(&launch, STARPU_VECTOR_GET_DEV_HANDLE(buffers[ROWS]),
	                      STARPU_VECTOR_GET_OFFSET(buffers[ROWS]));
	codelet_launch_buffer(&launch, STARPU_VECTOR_GET_DEV_HANDLE(buffers[EDGE]),
	                      STARPU_VECTOR_GET_OFFSET(buffers[EDGE]));
	return codelet_launch_end(&launch, 2, global, local);
}

static void run_opencl(void *buffers[], void *arg)
{
	struct heddle_tile *given = arg;
	struct floyd_tile tile = tile_of(buffers, given);
	size_t down = (tile.rows + BLOCK_ROWS - 1) / BLOCK_ROWS;
	size_t across = (tile.columns + BLOCK_COLUMNS - 1) / BLOCK_COLUMNS;

	for (size_t d = 0; d + 1 < down + across && !given->status; d++)
		given->status = launch_blocks(buffers, &tile, down, across, d);
}
#endif

struct starpu_codelet floyd_codelet = {
    .name = "floyd",
    .cpu_funcs = {run_cpu},
    .cuda_funcs = {CODELET_CUDA(run_cuda)},
    .cuda_flags = {STARPU_CUDA_ASYNC},
    .opencl_funcs = {CODELET_OPENCL(run_opencl)},
    .opencl_flags = {STARPU_OPENCL_ASYNC},
    .model = CODELET_MODEL,
    .nbuffers = NBUFFERS,
    .modes = {STARPU_R, STARPU_W, STARPU_RW, STARPU_RW},
};
