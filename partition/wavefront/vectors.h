/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * What dependence vectors ask of tiles.
 */
#ifndef HEDDLE_WAVEFRONT_VECTORS_H
#define HEDDLE_WAVEFRONT_VECTORS_H

#include <stddef.h>

#include <heddle/dependence.h>

#define VECTORS_LIMIT (1 << 20) /* largest component, either way */

/** How far vectors reach. */
struct reach {
	size_t above, below; /**< rows */
	size_t left, right;  /**< columns */
};

/** The farthest neighbours that an iteration needs, of all vectors and sweeps. */
struct reach vectors_reach(const struct heddle_dependence *vectors, unsigned nvectors);

/** Columns that a tile must shift to the left with every row, so that within one
 * band of rows all dependences of a sweep point into the same or an earlier tile:
 * the smallest s with column + s row >= 0 for all vectors of sweep 0. It is 0 where
 * no vector has a negative column: tiles are rectangles then, otherwise
 * parallelograms. */
size_t vectors_skew(const struct heddle_dependence *vectors, unsigned nvectors);

/** Fewest rows of a band, the last excepted: rows then need none but their own band
 * and its neighbours, and what the band above reads of a band is apart from what the band
 * below reads, so that messages to both never hold the same rows, perhaps of different
 * sweeps. */
size_t vectors_minimum_rows(const struct heddle_dependence *vectors, unsigned nvectors);

#endif
