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

#include "estimator/estimate_starpu.h"
#include "support/message.h"
#include "pieces.h"
#include "wavefront_private.h"

/* Iterations of a loop that is over before anything is known. */
#define WORTH_MEASURING (1 << 16)

/* ---- pieces ---- */

struct measurement {
	struct heddle_wavefront_request *wave;
	struct lane *lane;
	struct pieces pieces; /* of this lane */
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

/* What the samples say; on a core tiles are timed without their hand-over. */
static void lane_measured(struct measurement *measurement, double handover)
{
	struct heddle_wavefront_request *wave = measurement->wave;
	const struct lane *lane = measurement->lane;
	struct tile_cost cost;

	for (unsigned i = 0; i < measurement->pieces.n; i++) {
		const struct tile_sample *sample = &measurement->pieces.samples[i];

		heddle_explain("wavefront %s: on %s %.0f rows of %.0f columns take %.1f us",
		               wave->name, lane->stats.name, sample->rows, sample->columns,
		               sample->us);
	}
	pieces_cost(&measurement->pieces, &cost);
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
	size_t columns = pieces_columns(&measurement->pieces, rows, h);

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
	const struct space *space = &measurement->wave->space;
	size_t rows, h;

	measurement->lane = lane_unknown(measurement->wave);
	if (!measurement->lane) {
		measurement_end(measurement);
		return;
	}
	pieces_init(&measurement->pieces, space->rows, space->columns, space->skew,
	            measurement->lane->home);
	if (pieces_next(&measurement->pieces, &rows, &h))
		piece_start(measurement, rows, h);
}

void piece_measured(struct heddle_wavefront_request *piece)
{
	struct heddle_wavefront_request *wave = piece->whole;
	struct measurement *measurement = wave->measurement;
	const struct lane *lane = &piece->lanes[0];
	size_t rows = piece->space.rows, h = piece->h;
	double us = heddle_robust_us(&lane->us) * rows * h;

	if (piece->status || (!(us > 0) && !measurement->pieces.n)) {
		/* Nothing is learned: the loop itself will tell. */
		if (piece->status && !wave->status)
			wave->status = piece->status;
		measurement_end(measurement);
		return;
	}
	pieces_add(&measurement->pieces, rows, h, us);
	if (pieces_next(&measurement->pieces, &rows, &h)) {
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
