/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The codelet for StarPU: a wavefront over the pixels of an image.
 */
#include "config.h"

#include <starpu.h>

#include <heddle/wavefront.h>

#include "codelets/codelet.h"
#include "codelets/floyd/floyd.h"

enum { INPUT, OUTPUT, ROWS, EDGE, NBUFFERS };

/* Heddle may time the kernel on a part of the image. */
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

	floyd_cpu(codelet_isa_best(), &tile, (const uint8_t *)STARPU_MATRIX_GET_PTR(buffers[INPUT]),
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
/* As in the kernel. */
#define BLOCK_ROWS 32
#define BLOCK_COLUMNS 64

struct codelet_program floyd_program = {.source =
#include "codelets/floyd/opencl.clh"
};

/* Blocks of a tile: rows first to last - 1 of them. Others are left of the image, or have been two
 * columns to its right before: all errors are 0 there. */
struct rows_of_blocks {
	ptrdiff_t first, last;
};

static struct rows_of_blocks rows_within(const struct floyd_tile *tile, ptrdiff_t begin,
                                         ptrdiff_t end)
{
	ptrdiff_t done = begin - 1 - (ptrdiff_t)tile->image.width;
	ptrdiff_t begun = end < (ptrdiff_t)tile->rows ? end : (ptrdiff_t)tile->rows;

	return (struct rows_of_blocks){done > 0 ? done / BLOCK_ROWS : 0,
	                               begun > 0 ? (begun + BLOCK_ROWS - 1) / BLOCK_ROWS : 0};
}

/* Blocks `first` to last - 1 of an anti-diagonal. */
static int launch_blocks(void *buffers[], const struct floyd_tile *tile, size_t diagonal,
                         size_t first, size_t last)
{
	const size_t local[] = {BLOCK_ROWS, 1};
	size_t global[] = {(last - first) * BLOCK_ROWS, tile->image.channels};
	struct codelet_launch launch;

	codelet_launch_begin(&floyd_program, "compute_blocks", &launch);
	codelet_launch_ulong(&launch, tile->image.width);
	codelet_launch_uint(&launch, tile->image.channels);
	codelet_launch_uint(&launch, (1u << tile->image.bits) - 1);
	codelet_launch_uint(&launch, floyd_factor(tile->image.bits));
	codelet_launch_uint(&launch, floyd_bias(tile->image.bits));
	codelet_launch_ulong(&launch, tile->rows);
	codelet_launch_ulong(&launch, tile->column);
	codelet_launch_ulong(&launch, tile->columns);
	codelet_launch_uint(&launch, diagonal);
	codelet_launch_uint(&launch, first);
	codelet_launch_matrix(&launch, buffers[INPUT]);
	codelet_launch_ulong(&launch, tile->in_stride);
	codelet_launch_matrix(&launch, buffers[OUTPUT]);
	codelet_launch_ulong(&launch, tile->out_stride);
	codelet_launch_vector(&launch, buffers[ROWS]);
	codelet_launch_vector(&launch, buffers[EDGE]);
	return codelet_launch_end(&launch, 2, global, local);
}

static void run_opencl(void *buffers[], void *arg)
{
	struct heddle_tile *given = arg;
	struct floyd_tile tile = tile_of(buffers, given);
	ptrdiff_t across = (tile.columns + BLOCK_COLUMNS - 1) / BLOCK_COLUMNS;
	ptrdiff_t end = tile.column + (ptrdiff_t)tile.columns;
	struct rows_of_blocks all = rows_within(&tile, tile.column, end);

	if (all.first >= all.last)
		return;
	for (ptrdiff_t d = all.first; d < all.last + across - 1 && !given->status; d++) {
		ptrdiff_t first = d < all.first + across ? all.first : d - across + 1;
		ptrdiff_t last = d < all.last ? d + 1 : all.last;

		given->status = launch_blocks(buffers, &tile, d, first, last);
	}
}
#endif

struct starpu_codelet floyd_codelet = {
    .name = "floyd",
    CODELET_VERSIONS(run_cpu, run_cuda, run_opencl),
    .model = CODELET_MODEL,
    .nbuffers = NBUFFERS,
    .modes = {STARPU_R, STARPU_W, STARPU_RW, STARPU_RW},
};
