/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Measured: what tiles cost each kind of worker. A kernel of which nothing is known runs
 * on a piece of the loop, with copies of the arrays, a few tiles in a row, then on larger
 * and larger pieces until they take a few milliseconds, then on two that are as large in
 * one direction only. What cost.h makes of them is kept, and corrected by what whole
 * wavefronts take (known_starpu.c).
 */
#include "config.h"

#include <stdlib.h>

#include "private/estimate_starpu.h"
#include "private/message.h"
#include "wavefront_private.h"

enum {
	PIECE_ROWS = 32, /* the first piece's, on a core */
	PIECE_H = 64,
	PIECE_SIDE = 128, /* and both on an accelerator */
	PIECE_TILES = 4,  /* of which the first, which may have loaded the kernel, does not
	                     count */
	PIECE_GROWTH = 4, /* in both directions; 2 where that would take too long */
	/* Of the largest piece's rows, and then columns, in the last two: fewer on a core,
	 * so that what rows cost shows beside iterations; an accelerator computes tiles in
	 * squares of up to PIECE_SIDE, of which smaller pieces would have the cost. */
	PART_OF_CORE = 8,
	PART_OF_OTHERS = 4,
	PIECES = 8 /* at the most */
};
/* Samples of fewer iterations than this part of the largest's are forgotten. */
#define SMALL 32
/* No piece is to take longer, µs. */
#define LONGEST 3000
/* Iterations of a loop that is over before anything is known. */
#define WORTH_MEASURING (1 << 16)

/* ---- pieces ---- */

enum stage { GROWING, LOW, NARROW, MEASURED };

struct measurement {
	struct heddle_wavefront_request *wave;
	struct lane *lane;
	enum stage stage;
	size_t rows, h; /* of the largest piece, or the first one */
	unsigned n;
	struct tile_sample samples[PIECES]; /* of this lane */
	double begin_us;
};

/* The next lane of which nothing is known. */
static struct lane *lane_unknown(struct heddle_wavefront_request *wave)
{
	struct tile_cost cost;

	for (unsigned l = 0; l < wave->nlanes; l++)
		if (!speed_find(wave, &wave->lanes[l], &cost))
			return &wave->lanes[l];
	return NULL;
}

static void measurement_end(struct measurement *measurement)
{
	struct heddle_wavefront_request *wave = measurement->wave;

	wave->measuring_us = starpu_timing_now() - measurement->begin_us;
	wave->measurement = NULL;
	free(measurement);
	wave_go(wave);
	wave_release(wave);
}

/* Columns that have so many whole tiles. */
static size_t columns_of(const struct measurement *measurement, size_t rows, size_t h)
{
	return PIECE_TILES * h + measurement->wave->space.skew * (rows - 1);
}

/* What of a shape the loop has room for. */
static void clip(const struct measurement *measurement, size_t *rows, size_t *h)
{
	const struct space *space = &measurement->wave->space;
	size_t most;

	if (space->skew && *rows > space->columns / 2 / space->skew + 1)
		*rows = space->columns / 2 / space->skew + 1;
	if (*rows > space->rows)
		*rows = space->rows;
	most = (space->columns - space->skew * (*rows - 1)) / PIECE_TILES;
	if (*h > most)
		*h = most;
	if (!*rows)
		*rows = 1;
	if (!*h)
		*h = 1;
}

static bool is_too_dear(const struct measurement *measurement, size_t rows, size_t h)
{
	size_t tiles =
	    (columns_of(measurement, rows, h) + measurement->wave->space.skew * rows) / h;
	struct tile_cost cost;

	if (!measurement->n)
		return false;
	tile_cost_fit(measurement->samples, measurement->n, &cost);
	return tiles * tile_cost_us(&cost, rows, h) > LONGEST;
}

static bool is_measured(const struct measurement *measurement, size_t rows, size_t h)
{
	for (unsigned i = 0; i < measurement->n; i++)
		if (measurement->samples[i].rows == rows && measurement->samples[i].columns == h)
			return true;
	return false;
}

static size_t part_of(const struct measurement *measurement, size_t side)
{
	size_t part = side / (measurement->lane->home ? PART_OF_CORE : PART_OF_OTHERS);

	return measurement->lane->home || part > PIECE_SIDE ? part : PIECE_SIDE;
}

/* The shape of the next piece; false: all are measured. */
static bool shape_next(struct measurement *measurement, size_t *rows, size_t *h)
{
	for (size_t growth = PIECE_GROWTH; measurement->stage == GROWING; growth /= 2) {
		*rows = measurement->n ? measurement->rows * growth : measurement->rows;
		*h = measurement->n ? measurement->h * growth : measurement->h;
		clip(measurement, rows, h);
		if (growth == 1 || measurement->n + 2 >= PIECES)
			measurement->stage = LOW;
		else if (!is_measured(measurement, *rows, *h) &&
		         !is_too_dear(measurement, *rows, *h))
			return true;
	}
	while (measurement->stage < MEASURED) {
		bool low = measurement->stage++ == LOW;

		*rows = low ? part_of(measurement, measurement->rows) : measurement->rows;
		*h = low ? measurement->h : part_of(measurement, measurement->h);
		clip(measurement, rows, h);
		if (!is_measured(measurement, *rows, *h) && !is_too_dear(measurement, *rows, *h))
			return true;
	}
	return false;
}

/* What the samples say; on a core tiles are timed without their hand-over. */
static void lane_measured(struct measurement *measurement, double handover)
{
	struct heddle_wavefront_request *wave = measurement->wave;
	const struct lane *lane = measurement->lane;
	double largest = (double)measurement->rows * measurement->h;
	struct tile_cost cost;
	unsigned n = 0;

	for (unsigned i = 0; i < measurement->n; i++) {
		const struct tile_sample *sample = &measurement->samples[i];

		if (sample->rows * sample->columns * SMALL >= largest)
			measurement->samples[n++] = *sample;
	}
	tile_cost_fit(measurement->samples, n, &cost);
	if (lane->home)
		cost.us += handover;
	heddle_explain(
	    "wavefront %s: on %s a tile takes %.3g us, a row of it %.3g us, a column %.3g "
	    "us, an iteration %.3g us",
	    wave->name, lane->stats.name, cost.us, cost.row, cost.column, cost.iteration);
	speed_set(wave, lane, cost);
}

static void piece_start(struct measurement *measurement, size_t rows, size_t h)
{
	struct heddle_wavefront_request *wave = measurement->wave, *piece;
	size_t columns = columns_of(measurement, rows, h);

	if (columns > wave->space.columns)
		columns = wave->space.columns;
	piece = wave_piece(wave, measurement->lane, rows, columns, h);
	if (!piece) {
		heddle_warn("wavefront %s: no memory to measure %s", wave->name,
		            measurement->lane->stats.name);
		measurement_end(measurement);
		return;
	}
	wave_go(piece);
	wave_release(piece);
}

static void lane_begin(struct measurement *measurement)
{
	size_t rows, h;

	measurement->lane = lane_unknown(measurement->wave);
	if (!measurement->lane) {
		measurement_end(measurement);
		return;
	}
	measurement->stage = GROWING;
	measurement->n = 0;
	measurement->rows = measurement->lane->home ? PIECE_ROWS : PIECE_SIDE;
	measurement->h = measurement->lane->home ? PIECE_H : PIECE_SIDE;
	/* Skewed pieces have partial tiles on either side, the more the higher they are. */
	if (measurement->wave->space.skew && measurement->lane->home)
		measurement->rows /= 2;
	shape_next(measurement, &rows, &h);
	piece_start(measurement, rows, h);
}

void piece_measured(struct heddle_wavefront_request *piece)
{
	struct heddle_wavefront_request *wave = piece->whole;
	struct measurement *measurement = wave->measurement;
	const struct lane *lane = &piece->lanes[0];
	size_t rows = piece->space.rows, h = piece->h;
	double us = heddle_robust_us(&lane->us) * rows * h;

	if (piece->status || (!(us > 0) && !measurement->n)) {
		/* Nothing is learned: the loop itself will tell. */
		if (piece->status && !wave->status)
			wave->status = piece->status;
		measurement_end(measurement);
		return;
	}
	if (us > 0)
		measurement->samples[measurement->n++] = (struct tile_sample){rows, h, us};
	else
		measurement->stage = MEASURED;
	if (measurement->stage == GROWING) {
		measurement->rows = rows;
		measurement->h = h;
	}
	if (shape_next(measurement, &rows, &h)) {
		piece_start(measurement, rows, h);
		return;
	}
	lane_measured(measurement, heddle_robust_us(&lane->handover));
	lane_begin(measurement);
}

/* Whether speeds would change what is done, and pay. */
static bool is_wanted(const struct heddle_wavefront_request *wave)
{
	double iterations = (double)wave->space.rows * wave->space.columns * wave->sweeps;

	if (WAVE_SIMULATED || iterations < WORTH_MEASURING)
		return false;
	if (!wave->h || !wave->k)
		return true;
	for (unsigned l = 1; l < wave->nlanes; l++)
		if (heddle_device_class(wave->lanes[l].stats.id) !=
		    heddle_device_class(wave->lanes[0].stats.id))
			return wave->placement == PLACE_BY_SPEED;
	return false;
}

void wave_measure(struct heddle_wavefront_request *wave)
{
	struct measurement *measurement =
	    is_wanted(wave) && lane_unknown(wave) ? calloc(1, sizeof(*measurement)) : NULL;

	if (!measurement) {
		wave_go(wave);
		wave_release(wave);
		return;
	}
	wave->measurement = measurement;
	measurement->wave = wave;
	measurement->begin_us = starpu_timing_now();
	lane_begin(measurement);
}
