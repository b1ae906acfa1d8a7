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

#include <heddle/dependence.h>

#define WAVE_VECTORS_LIMIT (1 << 20) /* largest component, either way */

/** How far vectors reach. */
struct wave_reach {
	size_t above, below; /**< rows */
	size_t left, right;  /**< columns */
};

/** The farthest neighbours that an iteration needs, of all vectors and sweeps. */
struct wave_reach wave_vectors_reach(const struct heddle_dependence *vectors, unsigned nvectors);

/** Columns that a tile must shift to the left with every row, so that within one
 * band of rows all dependences of a sweep point into the same or an earlier tile:
 * the smallest s with column + s row >= 0 for all vectors of sweep 0. It is 0 where
 * no vector has a negative column: tiles are rectangles then, otherwise
 * parallelograms. */
size_t wave_vectors_skew(const struct heddle_dependence *vectors, unsigned nvectors);

/** Fewest rows of a band, the last excepted. Rows then need only their own band and its
 * neighbours. What the band above reads of a band and what the band below reads are then apart,
 * so that messages to both never hold the same rows, perhaps of different sweeps. */
size_t wave_vectors_minimum_rows(const struct heddle_dependence *vectors, unsigned nvectors);

struct wave_space {
	size_t rows, columns; /**< each at least 1 */
	size_t skew;          /**< wave_vectors_skew() of the vectors, or more */
	unsigned nvectors;
	const struct heddle_dependence *vectors; /**< heddle_dependences_check() accepts them */
};

struct wave_band {
	size_t first, rows;
	size_t tile_columns; /**< the synchronisation interval h, at least 1 */
};

struct wave_columns {
	size_t begin, end; /**< columns; empty where they are equal */
};

/** Tiles of a band in one sweep, at least 1. */
size_t wave_band_tiles(const struct wave_space *space, const struct wave_band *band);

/** Columns of a tile in row r of the band (0: its first). */
struct wave_columns wave_tile_columns(const struct wave_space *space, const struct wave_band *band,
                                      size_t tile, size_t r);

/** Rows of a tile that have columns, and its iterations in all of them. */
struct wave_tile_size {
	size_t rows;
	double iterations;
};
struct wave_tile_size wave_tile_size(const struct wave_space *space, const struct wave_band *band,
                                     size_t tile);

/** The tile of a band that has column `column` of the band's row r. */
size_t wave_tile_of(const struct wave_band *band, size_t skew, size_t r, size_t column);

/** How many tiles the band `other`, a neighbour, must have finished, all sweeps
 * counted, before a band may start a tile: 0 where it needs none of them. Bands have
 * wave_vectors_minimum_rows() rows, the last may have fewer. */
size_t wave_tile_needs(const struct wave_space *space, const struct wave_band *band, size_t sweep,
                       size_t tile, const struct wave_band *other);

/** A point in a band's tiles: a tile of a sweep that is the next one. Tiles are counted from the
 * beginning of the skewed space, alike in all bands with tiles as wide. */
struct wave_point {
	size_t sweep, tile;
};

/** Where a band is that has done so many tiles, all sweeps counted. */
struct wave_point wave_band_point(const struct wave_space *space, const struct wave_band *band,
                                  size_t done);

/** Tiles that a band has done, all sweeps counted, when it is as far as a point. What lies in its
 * rows before the point is what any band with these rows has done there: so a band can be cut at
 * any row, and two bands that are equally far can be joined. */
size_t wave_band_done(const struct wave_space *space, const struct wave_band *band,
                      struct wave_point point);

/** One more than the number of the tile of the band above that lies over a tile. That is what
 * the tile needs of that band in the first sweep, if vectors lead there; at the ends of bands it
 * may need less. 0: none lies there. */
size_t wave_tile_above(const struct wave_space *space, const struct wave_band *band, size_t tile,
                       const struct wave_band *above);

/** How many tiles of the band `part` are done, all sweeps counted, when a band that has all rows of
 * it has done so many. */
size_t wave_band_covers(const struct wave_space *space, const struct wave_band *band, size_t done,
                        const struct wave_band *part);

/** wave_tile_needs() where the rows that are read come as messages. A message holds all rows of
 * `other` that vectors reach from outside. Its columns are those that a tile has finished in the
 * last of these rows. No less than wave_tile_needs(). */
size_t wave_tile_needs_messages(const struct wave_space *space, const struct wave_band *band,
                                size_t sweep, size_t tile, const struct wave_band *other);

/** The row of a band (0: its first) whose columns a message to the band below, or above
 * it, has. */
size_t wave_message_row(const struct wave_band *band, size_t reach, int below);

#endif
