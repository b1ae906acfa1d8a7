/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A wavefront as one node of StarPU's task graph: submitting the node, what comes before the
 * first tile and after the last one, and waiting. run_starpu.c is what happens in between.
 */
#include "config.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <heddle/heddle.h>
#include <heddle/wavefront.h>

#include "support/message.h"
#include "support/pin_starpu.h"
#include "support/variables.h"
#include "wavefront_private.h"

/* ---- before and after the tiles ---- */

/* The control task runs: the data is in main memory. */
static void wave_start(void *work)
{
	struct heddle_wavefront_request *wave = work;

	if (wave->rows && wave->space.columns) {
		wave_calibrate(wave);
		return;
	}
	wave->start_us = starpu_timing_now();
	wave->rows_left = 0;
	wave_release(wave);
}

/* Says how wrong a prediction was, which is corrected by that. */
static void prediction_check(const struct heddle_wavefront_request *wave)
{
	double us = wave->end_us - wave->start_us;

	if (!HEDDLE_SIMULATED && wave_model_drifted(wave->predicted_us, us))
		heddle_explain("wavefront %s: it took %.0f us, %.3g times what was predicted; the "
		               "next prediction goes by that",
		               wave->name, us, us / wave->predicted_us);
}

/* All tiles are done and written back, or the wavefront has failed. */
static void wave_ended(struct heddle_wavefront_request *wave)
{
	const struct work_arrays arrays = wave_arrays(wave);

	for (unsigned l = 0; l < wave->nworkers; l++) {
		struct wave_worker *worker = &wave->workers[l];

		if (worker->stats.blocks)
			worker->stats.finish_us -= wave->start_us;
		if (worker->cp > 0)
			worker->stats.rate = 1 / worker->cp;
	}
	if (!wave->status && !wave->part)
		prediction_check(wave);
	/* Tiles of a size that was asked for may be extreme: they say nothing of others. */
	if (!wave->status && (wave->part ? wave->part->learn && !wave->measures : wave->free))
		wave_costs_learn(wave);
	if (!wave->status && wave->placement == PLACE_BY_SPEED && !wave->part)
		wave_run_keep(wave);
	work_arrays_unpin(&arrays);
	if (wave->part)
		wave_part_ended(wave);
	control_end(&wave->control);
}

/* All data of the wavefront, for its control task. */
static void control_take(struct heddle_wavefront_request *wave)
{
	for (unsigned i = 0; i < wave->given.narrays; i++) {
		const struct heddle_wave_array *given = &wave->arrays[i].given;

		/* What the loop does not write of an output stays as it was. */
		control_data(&wave->control, given->handle,
		             given->mode == STARPU_R ? STARPU_R : STARPU_RW);
	}
}

/* ---- submission ---- */

static int wave_check(const struct heddle_wavefront *given)
{
	int status = heddle_starpu_check();

	if (status)
		return status;
	if (!given || !given->codelet)
		return heddle_refuse(-EINVAL, "a wavefront without a codelet");
	if (given->narrays > WAVE_MAXARRAYS)
		return heddle_refuse(-EINVAL, "a wavefront of %u arrays; StarPU was built for %d",
		                     given->narrays, WAVE_MAXARRAYS);
	if (given->nvectors > HEDDLE_WAVEFRONT_MAXVECTORS)
		return heddle_refuse(-EINVAL, "a wavefront of %u vectors; %d are possible",
		                     given->nvectors, HEDDLE_WAVEFRONT_MAXVECTORS);
	if (!starpu_is_initialized())
		return heddle_refuse(-ENODEV, "a wavefront before starpu_init()");
	return heddle_variables_check(environ);
}

static int submit(const struct heddle_wavefront *given, const struct wave_part *part, bool measures,
                  struct heddle_wavefront_request **request)
{
	struct heddle_wavefront_request *wave;
	struct work_arrays arrays;
	int status = wave_check(given);

	if (status)
		return status;
	status = wave_make(given, part, wave_start, wave_ended, &wave);
	if (status)
		return status;
	wave->measures = measures;
	/* Until all messages have come and gone. */
	wave->references += part && !measures;
	arrays = wave_arrays(wave);
	if (heddle_pin_useful())
		work_arrays_pin(&arrays);
	control_take(wave);
	status =
	    control_submit(&wave->control, "wavefront", wave->name, given->sched_ctx, !request);
	if (status) {
		work_arrays_unpin(&arrays);
		wave_free(wave);
		return status;
	}
	if (request)
		*request = wave;
	return 0;
}

int wave_submit(const struct heddle_wavefront *given, const struct wave_part *part,
                struct heddle_wavefront_request **request)
{
	return submit(given, part, false, request);
}

int wave_measure(const struct heddle_wavefront *given, const struct wave_part *part,
                 struct heddle_wavefront_request **request)
{
	return submit(given, part, true, request);
}

int heddle_wavefront_submit(const struct heddle_wavefront *given,
                            struct heddle_wavefront_request **request)
{
	return submit(given, NULL, false, request);
}

static void wave_stats(const struct heddle_wavefront_request *wave,
                       struct heddle_wavefront_stats *stats)
{
	memset(stats, 0, sizeof(*stats));
	snprintf(stats->strategy, sizeof(stats->strategy), "%s",
	         wave->placement == PLACE_BY_STOCK ? "stock"
	         : wave->strategy                  ? wave->strategy
	                                           : "hdss");
	stats->tile_columns = wave->tile_columns;
	stats->bands_per_worker = wave->bands_per_worker;
	stats->bands = wave->nstrips;
	stats->tiles = wave->ntiles;
	stats->us = wave->end_us - wave->start_us;
	stats->predicted_us = wave->predicted_us;
	stats->model_us = wave->model_us;
	stats->measuring_us = wave->measuring_us;
	stats->overhead_us = wave->overhead_us;
	stats->messages = wave->nmessages;
	stats->excluded = wave->nexcluded;
	stats->reassigned = wave->ndealt;
	stats->nworkers = wave->nworkers;
	for (unsigned l = 0; l < wave->nworkers; l++)
		stats->workers[l] = wave->workers[l].stats;
}

int heddle_wavefront_wait(struct heddle_wavefront_request *wave,
                          struct heddle_wavefront_stats *stats)
{
	int status;

	control_wait(&wave->control);
	status = control_failed(&wave->control, wave->status);
	if (stats)
		wave_stats(wave, stats);
	wave_free(wave);
	return status;
}

int heddle_wavefront_run(const struct heddle_wavefront *given, struct heddle_wavefront_stats *stats)
{
	struct heddle_wavefront_request *request;
	int status = heddle_wavefront_submit(given, &request);

	return status ? status : heddle_wavefront_wait(request, stats);
}
