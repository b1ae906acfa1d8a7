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

#include "estimator/estimate_starpu.h"
#include "support/message.h"
#include "support/variables.h"
#include "rehearsal.h"
#include "wavefront_private.h"

/* Bands per worker at the most, where the model chooses. */
#define MOST_BANDS 64
/* No narrower bands, where the model chooses: kernels work on vectors of rows, and others
 * wait for a band that is a little too wide. */
#define NARROWEST 16
/* Rows of vectors of kernels. */
#define VECTOR 32
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
			bytes += rows * array->given.per_iteration * array->home.elemsize;
	}
	return bytes;
}

/* Bytes of an iteration's elements that go to a lane's memory (STARPU_R), or come home. */
static double iteration_bytes(const struct heddle_wavefront_request *wave,
                              enum starpu_data_access_mode way)
{
	double bytes = 0;

	for (unsigned i = 0; i < wave->given.narrays; i++) {
		const struct array *array = &wave->arrays[i];
		bool field =
		    array->given.extent == HEDDLE_FIELD || array->given.extent == HEDDLE_FIELD_HALO;

		if (field && array->given.mode & way)
			bytes += array->given.per_iteration * array->home.elemsize;
	}
	return bytes / wave->sweeps;
}

/* What a message costs a lane that is away, and the way of its bands, by StarPU's
 * measurement of the bus. */
static void message_costs(const struct heddle_wavefront_request *wave, const struct lane *lane,
                          struct interval_kind *kind)
{
	unsigned node = starpu_worker_get_memory_node(lane->stats.id);
	double there, back, latency;

	if (lane->home)
		return;
	there = starpu_transfer_bandwidth(STARPU_MAIN_RAM, node);
	back = starpu_transfer_bandwidth(node, STARPU_MAIN_RAM);
	latency = starpu_transfer_latency(STARPU_MAIN_RAM, node);
	if (latency > 0)
		kind->more_cd += latency;
	if (there > 0) {
		kind->more_cc += column_bytes(wave) / there;
		kind->in = iteration_bytes(wave, STARPU_R) / there;
	}
	if (back > 0)
		kind->out = iteration_bytes(wave, STARPU_W) / back;
}

static bool is_alike(const struct lane *a, const struct lane *b)
{
	return a->stats.kind == b->stats.kind && !memcmp(&a->cost, &b->cost, sizeof(a->cost)) &&
	       heddle_device_class(a->stats.id) == heddle_device_class(b->stats.id);
}

static unsigned kind_add(struct heddle_wavefront_request *wave, const struct lane *lane)
{
	struct interval_model *model = &wave->model;
	const struct tile_cost *cost = &lane->cost;
	struct interval_kind *kind;

	if (model->nkinds == INTERVAL_MAXKINDS)
		return INTERVAL_MAXKINDS - 1;
	kind = &model->kinds[model->nkinds];
	/* Half of it for the message from above, half for that to the band below. */
	*kind = (struct interval_kind){.cp = cost->iteration,
	                               .cr = cost->row,
	                               .more_cd = cost->us / 2,
	                               .more_cc = cost->column / 2};
	snprintf(kind->name, sizeof(kind->name), "%s", heddle_kind_name(lane->stats.kind));
	message_costs(wave, lane, kind);
	wave->paces[model->nkinds] = 1;
	return model->nkinds++;
}

void wave_kinds(struct heddle_wavefront_request *wave)
{
	wave->model.nkinds = 0;
	for (unsigned l = 0; l < wave->nlanes; l++) {
		struct lane *lane = &wave->lanes[l];
		unsigned other = 0;

		lane->cost = (struct tile_cost){0};
		speed_find(wave, lane, &lane->cost);
		lane->cp = lane->plan_cp = lane->cost.iteration;
		while (other < l && !is_alike(lane, &wave->lanes[other]))
			other++;
		lane->kind = other < l ? wave->lanes[other].kind : kind_add(wave, lane);
		wave->model.kinds[lane->kind].count++;
	}
}

/* ---- h and k ---- */

/* Lanes beyond what the model keeps of their kind are left out; h and k go with it. */
static void choose_crew(struct heddle_wavefront_request *wave, double minimum)
{
	unsigned kept[INTERVAL_MAXKINDS] = {0};
	struct choice_trial trials[CHOICE_MAXTRIALS];
	unsigned ntrials = wave->free ? trials_find(wave, trials, CHOICE_MAXTRIALS) : 0;

	wave->nexcluded =
	    choice_make(&wave->model, MOST_BANDS, minimum, trials, ntrials,
	                wave->h ? NULL : &wave->space, trials_are_fresh(wave), &wave->h, &wave->k);
	for (unsigned l = 0; l < wave->nlanes; l++) {
		struct lane *lane = &wave->lanes[l];

		lane->excluded = kept[lane->kind]++ >= wave->model.kinds[lane->kind].count;
		if (lane->excluded)
			heddle_explain("wavefront %s: faster without %s", wave->name,
			               lane->stats.name);
	}
}

static bool is_known(const struct heddle_wavefront_request *wave)
{
	for (unsigned l = 0; l < wave->nlanes; l++)
		if (!(wave->lanes[l].cp > 0))
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

/* What an iteration costs a lane of each kind, messages and all, with the widths that
 * suit all. */
static void lanes_price(struct heddle_wavefront_request *wave)
{
	const struct interval_model *model = &wave->model;
	double widths[INTERVAL_MAXKINDS];

	interval_balanced_widths(model, wave->h, widths);
	for (unsigned l = 0; l < wave->nlanes; l++) {
		struct lane *lane = &wave->lanes[l];

		if (!lane->excluded && widths[lane->kind] > 0)
			lane->cp = lane->plan_cp =
			    interval_iteration_us(model, lane->kind, wave->h, widths[lane->kind]);
	}
}

static void choose(struct heddle_wavefront_request *wave)
{
	double minimum =
	    fmax(NARROWEST, vectors_minimum_rows(wave->space.vectors, wave->space.nvectors));
	struct interval_model *model = &wave->model;
	unsigned k = wave->k;
	size_t h = wave->h;

	wave->free = !h && !k;
	model->k = k;
	/* Over several sweeps a band more per worker gains nothing. */
	if (!k && wave->sweeps > 1)
		model->k = 1;
	if (wave->placement == PLACE_BY_SPEED && !(h && k))
		choose_crew(wave, minimum);
	else
		wave->h = interval_choose(model, MOST_BANDS, minimum, &wave->k);
	model->k = wave->k;
	if (h)
		wave->h = h;
	wave->chosen_h = wave->h;
	wave->model_h = interval_choose(model, 1, 1, &k);
	wave->predicted_us = wave->placement == PLACE_BY_SPEED
	                         ? rehearsal_predict(model, &wave->space, wave->h)
	                         : interval_pipelined_time(model, wave->h);
	lanes_price(wave);
	heddle_explain("wavefront %s: h %zu, k %u, %.0f us predicted; by the paper h %.0f",
	               wave->name, wave->h, wave->k, wave->predicted_us, interval_best(model));
}

static int strategy_begin(struct heddle_wavefront_request *wave)
{
	struct heddle_strategy_problem problem = {.n = wave->space.rows, .nworkers = wave->nlanes};
	struct heddle_strategy_worker *workers = calloc(wave->nlanes, sizeof(*workers));
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
	status = heddle_strategy_create(wave->strategy, &problem, &wave->blocks);
	free(workers);
	return status;
}

int wave_plan(struct heddle_wavefront_request *wave)
{
	wave->model.rows = wave->space.rows;
	wave->model.columns = wave->space.columns;
	wave->model.skew = wave->space.skew;
	wave->model.sweeps = wave->sweeps;
	wave->model.vector = VECTOR;
	if (is_known(wave))
		choose(wave);
	else
		choose_blindly(wave);
	if (wave->h > wave->space.columns)
		wave->h = wave->space.columns;
	return wave->placement == PLACE_BY_STRATEGY && wave->sweeps == 1 ? strategy_begin(wave) : 0;
}

/* ---- widths ---- */

/* The speed of several is that of all together. */
double kind_pace(const struct heddle_wavefront_request *wave, unsigned kind, unsigned enough)
{
	double speeds = 0;
	unsigned n = 0;

	for (unsigned l = 0; l < wave->nlanes; l++) {
		const struct lane *lane = &wave->lanes[l];

		if (lane->kind != kind || !lane->pace.count || lane->pace.count < enough)
			continue;
		speeds += 1 / heddle_robust_us(&lane->pace);
		n++;
	}
	return n ? n / speeds : 1;
}

/* Mutex held: costs of a kind have changed since h was computed, so it is computed again,
 * for the bands to come. */
static void replan(struct heddle_wavefront_request *wave, const char *who, double factor)
{
	unsigned k = wave->k;
	size_t h;

	if (wave->given.tile_columns || !is_known(wave))
		return;
	h = interval_choose(&wave->model, MOST_BANDS, 1, &k);
	/* What was measured may differ from the model: it changes by the same factor. */
	if (wave->model_h)
		h = fmin(fmax(1, rint((double)h * wave->chosen_h / wave->model_h)),
		         wave->space.columns);
	if (h != wave->h)
		heddle_explain("wavefront %s: %s takes %.3g of the time it should: h %zu becomes "
		               "%zu",
		               wave->name, who, factor, wave->h, h);
	wave->h = h;
}

/* Mutex held: the lane, and so its kind, is known by its first tiles. */
static void get_to_know(struct heddle_wavefront_request *wave, struct lane *lane)
{
	struct tile_cost cost = {.iteration = heddle_robust_us(&lane->us)};

	wave->model.kinds[lane->kind].cp = cost.iteration;
	for (unsigned l = 0; l < wave->nlanes; l++) {
		struct lane *other = &wave->lanes[l];

		if (other->kind != lane->kind)
			continue;
		other->cost = cost;
		other->cp = other->plan_cp = cost.iteration;
	}
	replan(wave, lane->stats.name, 1);
}

/* Mutex held: what the lane's last tiles say of its speed. */
static void update(struct heddle_wavefront_request *wave, struct lane *lane)
{
	struct interval_kind *kind = &wave->model.kinds[lane->kind];
	double *pace = &wave->paces[lane->kind], now, factor;

	if (lane->fresh < ENOUGH_TILES)
		return;
	lane->fresh = 0;
	if (!(lane->cost.iteration > 0)) {
		get_to_know(wave, lane);
		return;
	}
	lane->cp = lane->plan_cp * heddle_robust_us(&lane->pace);
	now = kind_pace(wave, lane->kind, ENOUGH_TILES);
	if (!interval_drifted(*pace, now))
		return;
	factor = now / *pace;
	kind->cp *= factor;
	kind->cr *= factor;
	kind->more_cc *= factor;
	*pace = now;
	replan(wave, lane->stats.name, factor);
}

static size_t width_by_speed(struct heddle_wavefront_request *wave, struct lane *lane)
{
	double power = 0, known = 0;
	unsigned nknown = 0, n = 0;
	bool stay = wave->sweeps > 1;
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
	rows = interval_rows(wave->space.rows / (double)wave->k / lane->cp / power, stay,
	                     stay ? &wave->owed : &lane->owed, wave->space.rows - wave->rows_given,
	                     vectors_minimum_rows(wave->space.vectors, wave->space.nvectors));
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
	rows = heddle_strategy_next(wave->blocks, lane->index);
	*asked = rows > 0;
	if (rows || any_under_way(wave))
		return rows;
	/* The strategy waits for something that no one does: the wave must go on. */
	return width_by_speed(wave, lane);
}
