/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Calibration: what tiles cost each kind of worker whose costs are not known. Samples of the
 * loop, on copies of the arrays, run one after the other; calibration.h says of which shapes.
 * The costs are kept, and corrected by what whole wavefronts take (history_starpu.c).
 */
#include "config.h"

#include <stdlib.h>

#include "estimator/estimate_starpu.h"
#include "support/message.h"
#include "calibration.h"
#include "wavefront_private.h"

struct wave_measurement {
	struct heddle_wavefront_request *wave;
	struct wave_worker *worker;
	struct wave_calibration calibration; /* of this worker */
	double begin_us;
};

static void sample_ended(struct heddle_wavefront_request *sample);

/* The next worker whose costs are not known. */
static struct wave_worker *worker_unknown(struct heddle_wavefront_request *wave)
{
	struct wave_tile_cost cost;

	for (unsigned l = 0; l < wave->nworkers; l++)
		if (!wave_cost_find(wave, &wave->workers[l], &cost))
			return &wave->workers[l];
	return NULL;
}

static void begin(struct heddle_wavefront_request *wave)
{
	if (wave->measures)
		wave->rows_left = 0;
	else
		wave_begin(wave);
	wave_release(wave);
}

static void measurement_end(struct wave_measurement *measurement)
{
	struct heddle_wavefront_request *wave = measurement->wave;

	wave->measuring_us = starpu_timing_now() - measurement->begin_us;
	wave->measurement = NULL;
	free(measurement);
	begin(wave);
}

/* Keeps the costs that explain the samples. On a core tiles are timed without hand-over. */
static void worker_measured(struct wave_measurement *measurement, double handover)
{
	struct heddle_wavefront_request *wave = measurement->wave;
	const struct wave_worker *worker = measurement->worker;
	struct wave_tile_cost cost;

	for (unsigned i = 0; i < measurement->calibration.n; i++) {
		const struct wave_tile_sample *sample = &measurement->calibration.samples[i];

		heddle_explain("wavefront %s: on %s %.0f rows of %.0f columns take %.1f us",
		               wave->name, worker->stats.name, sample->rows, sample->columns,
		               sample->us);
	}
	wave_calibration_cost(&measurement->calibration, &cost);
	if (worker->host)
		cost.us += handover;
	heddle_explain(
	    "wavefront %s: on %s a tile takes %.3g us, a row of it %.3g us, a column %.3g "
	    "us, an iteration %.3g us",
	    wave->name, worker->stats.name, cost.us, cost.row, cost.column, cost.iteration);
	wave_cost_set(wave, worker, cost);
}

static void sample_start(struct wave_measurement *measurement, size_t rows, size_t h)
{
	struct heddle_wavefront_request *wave = measurement->wave, *sample;
	size_t columns = wave_calibration_columns(&measurement->calibration, rows, h);

	sample = wave_make_sample(wave, measurement->worker, rows, columns, h, sample_ended);
	if (!sample) {
		heddle_warn("wavefront %s: no memory to measure %s", wave->name,
		            measurement->worker->stats.name);
		measurement_end(measurement);
		return;
	}
	wave_begin(sample);
	wave_release(sample);
}

static void worker_begin(struct wave_measurement *measurement)
{
	const struct heddle_wavefront_request *wave = measurement->wave;
	size_t rows, h;

	measurement->worker = worker_unknown(measurement->wave);
	if (!measurement->worker) {
		measurement_end(measurement);
		return;
	}
	wave_calibration_init(&measurement->calibration, wave->rows, wave->space.columns,
	                      wave->space.skew, measurement->worker->host);
	if (wave_calibration_next(&measurement->calibration, &rows, &h))
		sample_start(measurement, rows, h);
}

static void sample_measured(struct heddle_wavefront_request *sample)
{
	struct heddle_wavefront_request *wave = sample->whole;
	struct wave_measurement *measurement = wave->measurement;
	const struct wave_worker *worker = &sample->workers[0];
	size_t rows = sample->space.rows, h = sample->tile_columns;
	double us = heddle_robust_us(&worker->us) * rows * h;

	if (sample->status || (!(us > 0) && !measurement->calibration.n)) {
		/* The loop's own tiles will show what they cost. */
		starpu_pthread_mutex_lock(&wave->mutex);
		if (sample->status && !wave->status)
			wave->status = sample->status;
		starpu_pthread_mutex_unlock(&wave->mutex);
		measurement_end(measurement);
		return;
	}
	wave_calibration_add(&measurement->calibration, rows, h, us);
	if (wave_calibration_next(&measurement->calibration, &rows, &h)) {
		sample_start(measurement, rows, h);
		return;
	}
	worker_measured(measurement, heddle_robust_us(&worker->handover));
	worker_begin(measurement);
}

/* A sample has come to its end. */
static void sample_ended(struct heddle_wavefront_request *sample)
{
	sample_measured(sample);
	wave_free_sample(sample);
}

/* Whether speeds would change the plan of a loop that is long enough. */
static bool is_wanted(const struct heddle_wavefront_request *wave)
{
	double iterations = (double)wave->space.rows * wave->space.columns * wave->sweeps;

	if (HEDDLE_SIMULATED || iterations < WAVE_WORTH_MEASURING)
		return false;
	if (wave->measures || !wave->tile_columns || !wave->bands_per_worker)
		return true;
	for (unsigned l = 1; l < wave->nworkers; l++)
		if (heddle_device_class(wave->workers[l].stats.id) !=
		    heddle_device_class(wave->workers[0].stats.id))
			return wave->placement == PLACE_BY_SPEED;
	return false;
}

void wave_calibrate(struct heddle_wavefront_request *wave)
{
	struct wave_measurement *measurement =
	    is_wanted(wave) && worker_unknown(wave) ? calloc(1, sizeof(*measurement)) : NULL;

	if (!measurement) {
		begin(wave);
		return;
	}
	wave->measurement = measurement;
	measurement->wave = wave;
	measurement->begin_us = starpu_timing_now();
	worker_begin(measurement);
}
