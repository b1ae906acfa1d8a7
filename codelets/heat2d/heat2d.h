/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Heat in a plate whose border keeps its temperatures, by Gauss and Seidel's method. One sweep sets
 * every inner point, row by row from the top left, to the mean of its four neighbours. Single
 * precision. The order of the sum is fixed and it has no products, so that all versions give the
 * same bits.
 */
#ifndef CODELETS_HEAT2D_H
#define CODELETS_HEAT2D_H

#include <stddef.h>

#include "codelets/isa.h"

#ifdef __cplusplus
extern "C" {
#endif

/* With the new values above and on the left:
 *
 *   u(i,j) = (((u(i-1,j) + u(i+1,j)) + u(i,j+1)) + u(i,j-1)) / 4 */

/** A part of the plate. */
struct heat2d_tile {
	size_t row, rows;                 /**< of the plate */
	size_t column, columns;           /**< of the plate */
	size_t total_rows, total_columns; /**< of the plate, with its border */
	size_t stride;                    /**< elements between rows */
};

/** Sets a tile's points once; those of the border stay.
 * @param u the tile's first row, column 0 of the plate; the rows above and below
 * are there as far as the plate has them */
void heat2d_cpu(enum codelet_isa isa, const struct heat2d_tile *tile, float *u);

/** The same, point by point. */
void heat2d_reference(const struct heat2d_tile *tile, float *u);

/** Launches the CUDA version on device memory; returns without waiting.
 * @param stream a cudaStream_t
 * @return 0; -EIO when a launch was refused; -ENOMEM. */
int heat2d_cuda(void *stream, const struct heat2d_tile *tile, float *u);

/** The codelet of a wavefront over the plate's rows and columns, a sweep of it being one of
 * Gauss and Seidel's: vectors (0, 1) and (1, 0), and of the sweep before (-1, 0) and
 * (0, -1). Array: the plate, a matrix of float (HEDDLE_FIELD_HALO). No `arg`. */
extern struct starpu_codelet heat2d_codelet;
/** Its OpenCL program, where this build has OpenCL. */
extern struct codelet_program heat2d_program;

/** The inner points of a tile, as offsets from its first row and from column 0. */
struct heat2d_inner {
	size_t top, bottom; /**< rows top … bottom - 1 of the tile */
	size_t left, right; /**< columns of the plate */
};

static inline struct heat2d_inner heat2d_inner(const struct heat2d_tile *tile)
{
	struct heat2d_inner inner = {0, tile->rows, tile->column, tile->column + tile->columns};

	if (!tile->row)
		inner.top = 1;
	if (tile->row + tile->rows == tile->total_rows && tile->rows)
		inner.bottom--;
	if (!inner.left)
		inner.left = 1;
	if (inner.right == tile->total_columns && inner.right)
		inner.right--;
	if (inner.bottom < inner.top)
		inner.bottom = inner.top;
	if (inner.right < inner.left)
		inner.right = inner.left;
	return inner;
}

#ifdef __cplusplus
}
#endif
#endif
