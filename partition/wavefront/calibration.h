/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Which sample tiles are timed before a loop runs, so that cost.h can tell from them what
 * large tiles take. A sample is a small wavefront on the loop's first rows and columns.
 */
#ifndef HEDDLE_WAVEFRONT_CALIBRATION_H
#define HEDDLE_WAVEFRONT_CALIBRATION_H

/* On a core iterations decide: samples grow in both directions at once, then come one of fewer
 * rows and one of fewer columns. An accelerator's time may follow the anti-diagonals of a tile
 * instead of its iterations, and a single sample cannot show which. So at least four shapes
 * are timed: a first one, a wider one, a higher one and one that is both. From there it goes
 * on as long as samples are cheap. Growing in one direction costs at most in proportion, which
 * bounds what a sample takes before anything is known of the device. */

#include <stdbool.h>
#include <stddef.h>

#include "cost.h"

#define WAVE_CALIBRATION_MOST 10

/** Whole tiles of a sample; the first one's time does not count. */
#define WAVE_CALIBRATION_TILES 4

/** No sample is to take longer, µs, by what is estimated before. */
#define WAVE_CALIBRATION_LONGEST 4000

struct wave_calibration {
	size_t rows, columns, skew; /**< of the loop, each row and column at least 1 */
	bool core;                  /**< else an accelerator */
	unsigned n;
	struct wave_tile_sample samples[WAVE_CALIBRATION_MOST];
	/* Private: */
	unsigned stage;
	struct wave_tile_sample corner; /* core: the largest sample; else where this round began */
	struct wave_tile_sample last;   /* the latest */
	size_t grown_rows, grown_columns;
	unsigned repeated; /* core: how often, of the latest; else how many */
	double spent_us;
};

void wave_calibration_init(struct wave_calibration *calibration, size_t rows, size_t columns,
                           size_t skew, bool core);

/** The shape of the next sample's tiles.
 * @return false: enough is known, or no more can be */
bool wave_calibration_next(struct wave_calibration *calibration, size_t *rows, size_t *h);

/** Columns of a sample that has WAVE_CALIBRATION_TILES whole tiles, at most the loop's. */
size_t wave_calibration_columns(const struct wave_calibration *calibration, size_t rows, size_t h);

/** What a tile of the shape that was asked for took.
 * @param us 0: no tile was whole; then there is no larger sample */
void wave_calibration_add(struct wave_calibration *calibration, size_t rows, size_t h, double us);

/** What the calibration say; there must have been one. */
void wave_calibration_cost(const struct wave_calibration *calibration, struct wave_tile_cost *cost);

#endif
