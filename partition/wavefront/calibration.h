/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Which calibration of a loop a kernel is tried out on, so that cost.h can tell from them what
 * large tiles take.
 *
 * On a core iterations decide: calibration grow in both directions at once, then come one of
 * fewer rows and one of fewer columns. An accelerator's time may follow the
 * anti-diagonals of a tile instead of its iterations, and a single piece cannot tell
 * which: so at least four shapes are tried, a first one, a wider one, a higher one and one
 * that is both, from where it goes on as long as calibration are cheap. Growing in one direction
 * costs at most in proportion, which bounds what a piece takes before anything is known of
 * the device.
 */
#ifndef HEDDLE_WAVEFRONT_CALIBRATION_H
#define HEDDLE_WAVEFRONT_CALIBRATION_H

#include <stdbool.h>
#include <stddef.h>

#include "cost.h"

#define WAVE_CALIBRATION_MOST 10

/** Whole tiles of a piece; the first one's time does not count. */
#define WAVE_CALIBRATION_TILES 4

/** No piece is to take longer, µs, as far as one can tell before. */
#define WAVE_CALIBRATION_LONGEST 4000

struct wave_calibration {
	size_t rows, columns, skew; /**< of the loop, each row and column at least 1 */
	bool core;                  /**< else an accelerator */
	unsigned n;
	struct wave_tile_sample samples[WAVE_CALIBRATION_MOST];
	/* Private: */
	unsigned stage;
	struct wave_tile_sample corner; /* core: the largest piece; else where this round began */
	size_t grown_rows, grown_columns;
	unsigned repeated;
	double spent_us;
};

void wave_calibration_init(struct wave_calibration *calibration, size_t rows, size_t columns,
                           size_t skew, bool core);

/** The shape of the next piece's tiles.
 * @return false: enough is known, or no more can be */
bool wave_calibration_next(struct wave_calibration *calibration, size_t *rows, size_t *h);

/** Columns of a piece that has WAVE_CALIBRATION_TILES whole tiles, at most the loop's. */
size_t wave_calibration_columns(const struct wave_calibration *calibration, size_t rows, size_t h);

/** What a tile of the shape that was asked for took.
 * @param us 0: no tile was whole; then there is no larger piece */
void wave_calibration_add(struct wave_calibration *calibration, size_t rows, size_t h, double us);

/** What the calibration say; there must have been one. */
void wave_calibration_cost(const struct wave_calibration *calibration, struct wave_tile_cost *cost);

#endif
