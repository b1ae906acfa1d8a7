/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * How the iteration space is cut. Rows are cut into bands (the chunks of Andronikos
 * et al.), a band into tiles of h columns (its subchunks). Where vectors point to the
 * right, tiles are skewed: with every row they lie s columns further to the left. A
 * band computes its tiles in their order, sweep after sweep; what remains to be said
 * is how far the bands beside it must be.
 */
#ifndef HEDDLE_WAVEFRONT_TILES_H
#define HEDDLE_WAVEFRONT_TILES_H

#include <stddef.h>

#include "vectors.h"

struct space {
	size_t rows, columns; /**< each at least 1 */
	size_t skew;          /**< vectors_skew() of the vectors, or more */
	unsigned nvectors;
	const struct heddle_dependence *vectors; /**< heddle_dependences_check() accepts them */
};

struct band {
	size_t first, rows;
	size_t h; /**< columns of a tile: its synchronisation interval, at least 1 */
};

struct interval {
	size_t begin, end; /**< columns; empty where they are equal */
};

/** Tiles of a band in one sweep, at least 1. */
size_t band_tiles(const struct space *space, const struct band *band);

/** Columns of a tile in row r of the band (0: its first). */
struct interval tile_columns(const struct space *space, const struct band *band, size_t tile,
                             size_t r);

/** Rows of a tile that have columns, and its iterations in all of them. */
struct tile_size {
	size_t rows;
	double iterations;
};
struct tile_size tile_size(const struct space *space, const struct band *band, size_t tile);

/** The tile of a band that has column `column` of the band's row r. */
size_t tile_of(const struct band *band, size_t skew, size_t r, size_t column);

/** How many tiles the band `other`, a neighbour, must have finished, all sweeps
 * counted, before a band may start a tile: 0 where it needs none of them. Bands have
 * vectors_minimum_rows() rows, the last may have fewer. */
size_t tile_needs(const struct space *space, const struct band *band, size_t sweep, size_t tile,
                  const struct band *other);

/** The tile of the band above that lies over a tile, and one more: what it needs of that band
 * in the first sweep if vectors lead there, or at the ends of bands less. 0: none lies there. */
size_t tile_above(const struct space *space, const struct band *band, size_t tile,
                  const struct band *above);

/** tile_needs() where the rows that are read arrive as messages: a message holds all rows
 * of `other` that vectors reach from outside, in those columns that a tile finished in
 * the one of them that it finishes last. No less than tile_needs(). */
size_t tile_needs_messages(const struct space *space, const struct band *band, size_t sweep,
                           size_t tile, const struct band *other);

/** The row of a band (0: its first) whose columns a message to the band below, or above
 * it, has. */
size_t message_row(const struct band *band, size_t reach, int below);

#endif
