/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Deciding: the synchronisation interval, how many bands, who takes part, and how wide
 * each band is.
 */
#include "config.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "private/estimate_starpu.h"
#include "private/message.h"
#include "private/variables.h"
#include "wavefront_private.h"

/* Bands per worker at the most, where the model chooses. */
#define MOST_BANDS 64
/* No narrower bands, where the model chooses: they are whole numbers of rows, and others
 * wait for one that is a row too wide. */
#define NARROWEST 8
/* Tiles whose time tells a worker's speed. */
#define ENOUGH_TILES 4

/* ---- kinds ---- */

/* Bytes of a column in the boundary between two bands. */
static double column_bytes(const struct heddle_wavefront_request *wave)
{
	double bytes = 0;

	for (unsigned i = 0; i < wave->given.narrays; i++) {
		const struct array *array = &wave->arrays[i];
		size_t rows = array->given.extent == HEDDLE_COLUMNS ? 1 : wave->reach.above;

		if (array_crosses(array))
			bytes += rows * array->given.per_iteration * array->elemsize;
	}
	return bytes;
}

/* What a message costs a lane that is away, by StarPU's measurement of the bus. */
static void message_costs(const struct heddle_wavefront_request *wave, const struct lane *lane,
                          struct interval_kind *kind)
{
	unsigned node = starpu_worker_get_memory_node(lane->stats.id);
	double mbps, latency;

	if (lane->home)
		return;
	mbps = starpu_transfer_bandwidth(STARPU_MAIN_RAM, node);
	latency = starpu_transfer_latency(STARPU_MAIN_RAM, node);
	if (latency > 0)
		kind->more_cd += latency;
	if (mbps > 0)
		kind->more_cc += column_bytes(wave) / mbps;
}

static bool is_alike(const struct lane *a, const struct lane *b)
{
	return a->stats.kind == b->stats.kind && a->cp == b->cp &&
	       heddle_device_class(a->stats.id) == heddle_device_class(b->stats.id);
}

static unsigned kind_add(struct heddle_wavefront_request *wave, const struct lane *lane,
                         double overhead)
{
	struct interval_model *model = &wave->model;
	struct interval_kind *kind;

	if (model->nkinds == INTERVAL_MAXKINDS)
		return INTERVAL_MAXKINDS - 1;
	kind = &model->kinds[model->nkinds];
	*kind = (struct interval_kind){.cp = lane->cp, .more_cd = overhead / 2};
	snprintf(kind->name, sizeof(kind->name), "%s", heddle_kind_name(lane->stats.kind));
	message_costs(wave, lane, kind);
	return model->nkinds++;
}

void wave_kinds(struct heddle_wavefront_request *wave)
{
	wave->model.nkinds = 0;
	for (unsigned l = 0; l < wave->nlanes; l++) {
		struct lane *lane = &wave->lanes[l];
		double overhead = 0;
		unsigned other = 0;

		lane->cp = 0;
		speed_find(wave, lane, &lane->cp, &overhead);
		lane->model_cp = lane->cp;
		while (other < l && !is_alike(lane, &wave->lanes[other]))
			other++;
		lane->kind = other < l ? wave->lanes[other].kind : kind_add(wave, lane, overhead);
		wave->model.kinds[lane->kind].count++;
	}
}

/* ---- h and k ---- */

/* Lanes beyond what the model keeps of their kind are left out. */
static void exclude(struct heddle_wavefront_request *wave, unsigned most, double minimum)
{
	unsigned kept[INTERVAL_MAXKINDS] = {0};

	wave->nexcluded = interval_exclude(&wave->model, most, minimum);
	for (unsigned l = 0; l < wave->nlanes; l++) {
		struct lane *lane = &wave->lanes[l];

		lane->excluded = kept[lane->kind]++ >= wave->model.kinds[lane->kind].count;
		if (lane->excluded)
			heddle_explain("wavefront %s: %s does not pay for its messages", wave->name,
			               lane->stats.name);
	}
}

static bool is_known(const struct heddle_wavefront_request *wave)
{
	for (unsigned l = 0; l < wave->nlanes; l++)
		if (wave->lanes[l].cp <= 0)
			return false;
	return true;
}

/* Without knowledge of speeds: intervals as the paper's clusters have them, 1/500 of
 * the columns. */
static void choose_blindly(struct heddle_wavefront_request *wave)
{
	if (!wave->h)
		wave->h = wave->space.columns / 500 + 1;
	if (!wave->k)
		wave->k = 4;
}

static void choose(struct heddle_wavefront_request *wave)
{
	double minimum =
	    fmax(NARROWEST, vectors_minimum_rows(wave->space.vectors, wave->space.nvectors));
	struct interval_model *model = &wave->model;
	unsigned k = wave->k;
	size_t h = wave->h;

	model->k = k;
	/* Over several sweeps a band more per worker gains nothing. */
	if (!k && wave->sweeps > 1)
		model->k = 1;
	if (wave->placement == PLACE_BY_SPEED && !(h && k))
		exclude(wave, MOST_BANDS, minimum);
	wave->h = interval_choose(model, MOST_BANDS, minimum, 1, &wave->k);
	model->k = wave->k;
	if (h)
		wave->h = h;
	wave->predicted_us = interval_pipelined_time(model, wave->h);
	heddle_explain("wavefront %s: h %zu, k %u, %.0f us predicted; by the paper h %.0f",
	               wave->name, wave->h, wave->k, wave->predicted_us, interval_best(model));
}

static int strategy_begin(struct heddle_wavefront_request *wave)
{
	struct heddle_blocks_problem problem = {.n = wave->space.rows, .nworkers = wave->nlanes};
	struct heddle_blocks_worker *workers = calloc(wave->nlanes, sizeof(*workers));
	int status;

	if (!workers)
		return -ENOMEM;
	for (unsigned l = 0; l < wave->nlanes; l++) {
		const struct lane *lane = &wave->lanes[l];

		workers[l].kind = lane->stats.kind;
		workers[l].maximum = lane->maximum;
		workers[l].minimum =
		    vectors_minimum_rows(wave->space.vectors, wave->space.nvectors);
		workers[l].alignment = 1;
		if (lane->cp > 0)
			workers[l].rate = 1 / lane->cp / wave->space.columns;
	}
	problem.workers = workers;
	status = heddle_blocks_create(wave->strategy, &problem, &wave->blocks);
	free(workers);
	return status;
}

int wave_plan(struct heddle_wavefront_request *wave)
{
	wave->model.rows = wave->space.rows;
	wave->model.columns = wave->space.columns;
	wave->model.skew = wave->space.skew;
	wave->model.sweeps = wave->sweeps;
	if (is_known(wave))
		choose(wave);
	else
		choose_blindly(wave);
	if (wave->h > wave->space.columns)
		wave->h = wave->space.columns;
	return wave->placement == PLACE_BY_STRATEGY && wave->sweeps == 1 ? strategy_begin(wave) : 0;
}

/* ---- widths ---- */

/* Mutex held: speeds have changed since h was computed, so it is computed again, for the
 * bands to come. */
static void replan(struct heddle_wavefront_request *wave, struct lane *lane)
{
	double before = lane->model_cp;
	unsigned k = wave->k;
	size_t h;

	wave->model.kinds[lane->kind].cp = lane->cp;
	for (unsigned l = 0; l < wave->nlanes; l++)
		if (wave->lanes[l].kind == lane->kind)
			wave->lanes[l].model_cp = lane->cp;
	if (wave->given.h || !is_known(wave))
		return;
	h = interval_choose(&wave->model, MOST_BANDS, 1, 1, &k);
	if (h != wave->h)
		heddle_explain(
		    "wavefront %s: an iteration takes %s %.3g us, not %.3g: h %zu becomes "
		    "%zu",
		    wave->name, lane->stats.name, lane->cp, before, wave->h, h);
	wave->h = h;
}

/* Mutex held: what the lane's last tiles say of its speed. */
static void update(struct heddle_wavefront_request *wave, struct lane *lane)
{
	double before = lane->model_cp;

	if (lane->fresh < ENOUGH_TILES)
		return;
	lane->fresh = 0;
	lane->cp = heddle_robust_us(&lane->us);
	if (!(before > 0) || interval_drifted(before, lane->cp))
		replan(wave, lane);
}

static size_t width_by_speed(const struct heddle_wavefront_request *wave, struct lane *lane)
{
	double power = 0, known = 0;
	unsigned nknown = 0, n = 0;
	size_t rows;

	for (unsigned l = 0; l < wave->nlanes; l++) {
		const struct lane *other = &wave->lanes[l];

		if (other->excluded)
			continue;
		n++;
		if (other->cp <= 0)
			continue;
		nknown++;
		known += 1 / other->cp;
	}
	if (lane->cp <= 0 || !nknown)
		return wave->space.rows / (wave->k * n) + 1;
	/* Lanes of which nothing is known are taken to be as the others on average. */
	power = known + known / nknown * (n - nknown);
	/* What rounding takes from a band is added to the lane's next. */
	lane->owed += wave->space.rows / (double)wave->k / lane->cp / power;
	rows = lane->owed < 1 ? 1 : (size_t)(lane->owed + 0.5);
	lane->owed -= rows;
	return lane->maximum && rows > lane->maximum ? lane->maximum : rows;
}

/* Mutex held. */
static bool any_under_way(const struct heddle_wavefront_request *wave)
{
	for (size_t s = 0; s < wave->nstrips; s++)
		if (wave->strips[s]->done < wave->strips[s]->total)
			return true;
	return false;
}

size_t lane_width(struct heddle_wavefront_request *wave, struct lane *lane, bool *asked)
{
	size_t rows;

	*asked = false;
	if (!wave->whole)
		update(wave, lane);
	if (!wave->blocks)
		return width_by_speed(wave, lane);
	rows = heddle_blocks_next(wave->blocks, lane->index);
	*asked = rows > 0;
	if (rows || any_under_way(wave))
		return rows;
	/* The strategy waits for something that no one does: the wave must go on. */
	return width_by_speed(wave, lane);
}
