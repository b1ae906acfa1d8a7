/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Square matrices as tiles, each with its columns one after the other: random ones, copies, and
 * how far the product of two factors is from the matrix. No StarPU.
 */
#ifndef APPS_FACTOR_MATRIX_H
#define APPS_FACTOR_MATRIX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "apps/factor/graph.h"

struct matrix {
	size_t n, tile; /**< order of the matrix and of a tile; the last ones may be smaller */
	unsigned tiles; /**< in a row and in a column */
	bool lower;     /**< only tiles on and below the diagonal are there */
	bool wide;      /**< numbers are doubles, not floats */
	size_t bytes;   /**< of all tiles */
	char *data;     /**< the caller's memory; may be NULL until it is used */
};

/** A matrix without memory. */
struct matrix matrix_shape(size_t n, size_t tile, bool lower, bool wide);

/** The first number of a tile; a tile's columns lie matrix_side(matrix, row) numbers apart. */
void *matrix_tile(const struct matrix *matrix, unsigned row, unsigned column);
/** Rows of the tiles in a row of tiles, and columns of those in a column. */
size_t matrix_side(const struct matrix *matrix, unsigned index);
/** The place of a tile in the memory, counted in tiles. */
size_t matrix_index(const struct matrix *matrix, unsigned row, unsigned column);

/** A number by its row and column; its tile must be there. */
double matrix_get(const struct matrix *matrix, size_t row, size_t column);
void matrix_set(const struct matrix *matrix, size_t row, size_t column, double value);

/** Fills it with a random matrix: numbers from -1/2 to 1/2, but n on the diagonal. It is
 * diagonally dominant, and symmetric if `lower`: it has both factorisations. */
void matrix_fill(const struct matrix *matrix, uint64_t seed);

/** Copies all tiles that the destination has. */
void matrix_copy(const struct matrix *to, const struct matrix *from);

/** Looks for a number that differs from the one across the diagonal; the matrix is not `lower`.
 * @return whether there is one */
bool matrix_is_symmetric(const struct matrix *matrix, size_t *row, size_t *column);

/* As matrix_error() counts, rounding stays below 1; a task left out or a wrong number in a tile
 * gives 100 and more where n is some hundred (tests/unit/factor.c). */
#define MATRIX_TOLERANCE 8

/** How far the product P of the factors is from the matrix A: the larger of two numbers, both
 * over sqrt(n) times the distance of 1 to the next number of the precision.
 * - |A x - P x| / |A|, with a random vector x of 1 and -1 and the norms of the maximum: every
 *   number counts, and one that is plainly wrong shows.
 * - |a - p| / (|a| + the sum of the magnitudes of which p is the sum), the largest of numbers
 *   drawn from all tiles: that shows what is lost beside a large diagonal.
 * Rounding errors that add up by chance give about 1, for any n (N. J. Higham and T. Mary,
 * SIAM Journal on Scientific Computing 41(5), 2019). Infinity where there is no memory. */
double matrix_error(enum graph_kind kind, const struct matrix *matrix,
                    const struct matrix *factors);

#endif
