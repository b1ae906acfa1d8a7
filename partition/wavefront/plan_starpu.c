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
#include "simulation.h"
#include "wavefront_private.h"

/* Bands per worker at the most, where the model chooses. */
#define MOST_BANDS 64
/* Fewest rows of a band, where the model chooses: kernels work on vectors of rows, and a band
 * that is a little too wide makes others wait. */
#define NARROWEST 16
/* Rows of vectors of kernels. */
#define VECTOR 32
/* Tiles whose time shows a worker's speed. */
#define ENOUGH_TILES 4

/* ---- kinds ---- */

/* Bytes of a column in the boundary between two bands. */
static double column_bytes(const struct heddle_wavefront_request *wave)
{
	double bytes = 0;

	for (unsigned i = 0; i < wave->given.narrays; i++) {
		const struct wave_array *array = &wave->arrays[i];
		size_t rows = array->given.extent == HEDDLE_COLUMNS ? 1 : wave->reach.above;

		if (wave_array_crosses(array))
			bytes += rows * array->given.per_iteration * array->main.elemsize;
	}
	return bytes;
}

/* Bytes of an iteration's elements that are copied to a worker's memory (STARPU_R), or are
 * written back. */
static double iteration_bytes(const struct heddle_wavefront_request *wave,
                              enum starpu_data_access_mode way)
{
	double bytes = 0;

	for (unsigned i = 0; i < wave->given.narrays; i++) {
		const struct wave_array *array = &wave->arrays[i];
		bool field =
		    array->given.extent == HEDDLE_FIELD || array->given.extent == HEDDLE_FIELD_HALO;

		if (field && array->given.mode & way)
			bytes += array->given.per_iteration * array->main.elemsize;
	}
	return bytes / wave->sweeps;
}

/* What a message costs a worker on a device, and what the copies of its bands cost, by
 * StarPU's measurement of the bus. */
static void message_costs(const struct heddle_wavefront_request *wave,
                          const struct wave_worker *worker, struct wave_kind *kind)
{
	unsigned node = starpu_worker_get_memory_node(worker->stats.id);
	double there, back, latency;

	if (worker->host)
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

static bool is_alike(const struct wave_worker *a, const struct wave_worker *b)
{
	return a->stats.kind == b->stats.kind && !memcmp(&a->cost, &b->cost, sizeof(a->cost)) &&
	       heddle_device_class(a->stats.id) == heddle_device_class(b->stats.id);
}

static unsigned kind_add(struct heddle_wavefront_request *wave, const struct wave_worker *worker)
{
	struct wave_model *model = &wave->model;
	const struct wave_tile_cost *cost = &worker->cost;
	struct wave_kind *kind;

	if (model->nkinds == WAVE_MAXKINDS)
		return WAVE_MAXKINDS - 1;
	kind = &model->kinds[model->nkinds];
	/* Half of it for the message from above, half for that to the band below. */
	*kind = (struct wave_kind){.cp = cost->iteration,
	                           .cr = cost->row,
	                           .more_cd = cost->us / 2,
	                           .more_cc = cost->column / 2};
	snprintf(kind->name, sizeof(kind->name), "%s", heddle_kind_name(worker->stats.kind));
	message_costs(wave, worker, kind);
	wave->paces[model->nkinds] = 1;
	return model->nkinds++;
}

/* Groups workers into kinds, with what is known of their costs. */
static void kinds_init(struct heddle_wavefront_request *wave)
{
	wave->model.nkinds = 0;
	for (unsigned l = 0; l < wave->nworkers; l++) {
		struct wave_worker *worker = &wave->workers[l];
		unsigned other = 0;

		worker->cost = (struct wave_tile_cost){0};
		wave_cost_find(wave, worker, &worker->cost);
		worker->cp = worker->plan_cp = worker->cost.iteration;
		while (other < l && !is_alike(worker, &wave->workers[other]))
			other++;
		worker->kind = other < l ? wave->workers[other].kind : kind_add(wave, worker);
		wave->model.kinds[worker->kind].count++;
	}
}

/* ---- h and k ---- */

/* Chooses the team, tile_columns and bands_per_worker. Of each kind so many workers take part
 * as the model keeps. */
static void choose_team(struct heddle_wavefront_request *wave, double minimum)
{
	unsigned kept[WAVE_MAXKINDS] = {0};
	struct wave_run runs[WAVE_CHOICE_MOST_RUNS];
	unsigned nruns = wave->free ? wave_runs_find(wave, false, runs, WAVE_CHOICE_MOST_RUNS) : 0;

	wave->nexcluded =
	    wave_choose(&wave->model, MOST_BANDS, minimum, runs, nruns,
	                wave->tile_columns ? NULL : &wave->space, wave_runs_are_fresh(wave),
	                &wave->tile_columns, &wave->bands_per_worker);
	for (unsigned l = 0; l < wave->nworkers; l++) {
		struct wave_worker *worker = &wave->workers[l];

		worker->excluded = kept[worker->kind]++ >= wave->model.kinds[worker->kind].count;
		if (worker->excluded)
			heddle_explain("wavefront %s: faster without %s", wave->name,
			               worker->stats.name);
	}
}

static bool is_known(const struct heddle_wavefront_request *wave)
{
	for (unsigned l = 0; l < wave->nworkers; l++)
		if (!(wave->workers[l].cp > 0))
			return false;
	return true;
}

/* Without known costs: tiles of 1/500 of the columns, as on the clusters of the paper. */
static void choose_blindly(struct heddle_wavefront_request *wave)
{
	if (!wave->tile_columns)
		wave->tile_columns = wave->space.columns / 500 + 1;
	if (!wave->bands_per_worker)
		wave->bands_per_worker = wave->sweeps > 1 ? 1 : 4;
}

/* What an iteration costs a worker of each kind, messages included, with the widths that let
 * all end together. */
static void workers_price(struct heddle_wavefront_request *wave)
{
	const struct wave_model *model = &wave->model;
	double widths[WAVE_MAXKINDS];

	wave_model_balanced_widths(model, wave->tile_columns, widths);
	for (unsigned l = 0; l < wave->nworkers; l++) {
		struct wave_worker *worker = &wave->workers[l];

		if (!worker->excluded && widths[worker->kind] > 0)
			worker->cp = worker->plan_cp = wave_model_iteration_us(
			    model, worker->kind, wave->tile_columns, widths[worker->kind]);
	}
}

static double model_us(const struct heddle_wavefront_request *wave, const struct wave_model *model)
{
	return wave->placement == PLACE_BY_SPEED
	           ? wave_simulation_predict(model, &wave->space, wave->tile_columns)
	           : wave_model_pipelined_time(model, wave->tile_columns);
}

/* What the model says with costs as the last wavefront has seen them. */
static double doubted_us(const struct heddle_wavefront_request *wave)
{
	struct wave_model model = wave->model;
	bool seen[WAVE_MAXKINDS] = {false};

	for (unsigned l = 0; l < wave->nworkers; l++) {
		const struct wave_worker *worker = &wave->workers[l];
		struct wave_kind *kind = &model.kinds[worker->kind];
		double factor = wave_cost_doubt(wave, worker);

		if (seen[worker->kind])
			continue;
		seen[worker->kind] = true;
		kind->cp *= factor;
		kind->cr *= factor;
		kind->more_cc *= factor;
	}
	return model_us(wave, &model);
}

/* The model's prediction, corrected by what was measured. */
static double predict(struct heddle_wavefront_request *wave)
{
	struct wave_run runs[2 * WAVE_CHOICE_MOST_RUNS];
	unsigned n = 0;

	if (HEDDLE_SIMULATED)
		return wave->model_us;
	if (wave->placement == PLACE_BY_SPEED) {
		n = wave_runs_find(wave, true, runs, WAVE_CHOICE_MOST_RUNS);
		n += wave_runs_find(wave, false, runs + n, WAVE_CHOICE_MOST_RUNS);
	}
	return wave_choice_predict(&wave->model, wave->tile_columns, wave->bands_per_worker,
	                           doubted_us(wave), runs, n);
}

static void choose(struct heddle_wavefront_request *wave)
{
	double minimum =
	    fmax(NARROWEST, wave_vectors_minimum_rows(wave->space.vectors, wave->space.nvectors));
	struct wave_model *model = &wave->model;
	unsigned k = wave->bands_per_worker;
	size_t h = wave->tile_columns;

	wave->free = !h && !k;
	model->k = k;
	if (!k && wave->sweeps > 1)
		model->k = 1;
	/* Of a part they are given, but not who takes part. */
	if (wave->placement == PLACE_BY_SPEED && (wave->part || !(h && k)))
		choose_team(wave, minimum);
	else
		wave->tile_columns =
		    wave_model_choose(model, MOST_BANDS, minimum, &wave->bands_per_worker);
	model->k = wave->bands_per_worker;
	if (h)
		wave->tile_columns = h;
	wave->chosen_columns = wave->tile_columns;
	wave->model_columns = wave_model_choose(model, 1, 1, &k);
	wave->model_us = model_us(wave, model);
	wave->predicted_us = predict(wave);
	workers_price(wave);
	heddle_explain("wavefront %s: h %zu, k %u, %.0f us predicted (%.0f by the model alone); by "
	               "the paper h %.0f",
	               wave->name, wave->tile_columns, wave->bands_per_worker, wave->predicted_us,
	               wave->model_us, wave_model_best(model));
}

static int strategy_begin(struct heddle_wavefront_request *wave)
{
	struct heddle_strategy_problem problem = {.n = wave->rows, .nworkers = wave->nworkers};
	struct heddle_strategy_worker *workers = calloc(wave->nworkers, sizeof(*workers));
	int status;

	if (!workers)
		return -ENOMEM;
	for (unsigned l = 0; l < wave->nworkers; l++) {
		const struct wave_worker *worker = &wave->workers[l];

		workers[l].kind = worker->stats.kind;
		workers[l].maximum = worker->maximum;
		workers[l].minimum =
		    wave_vectors_minimum_rows(wave->space.vectors, wave->space.nvectors);
		workers[l].alignment = 1;
		if (worker->cp > 0)
			workers[l].rate = 1 / worker->cp / wave->space.columns;
	}
	problem.workers = workers;
	status = heddle_strategy_create(wave->strategy, &problem, &wave->blocks);
	free(workers);
	return status;
}

int wave_plan(struct heddle_wavefront_request *wave)
{
	kinds_init(wave);
	wave->model.rows = wave->rows;
	wave->model.columns = wave->space.columns;
	wave->model.skew = wave->space.skew;
	wave->model.sweeps = wave->sweeps;
	wave->model.vector = VECTOR;
	if (is_known(wave))
		choose(wave);
	else
		choose_blindly(wave);
	if (wave->tile_columns > wave->space.columns)
		wave->tile_columns = wave->space.columns;
	return wave->placement == PLACE_BY_STRATEGY && wave->sweeps == 1 ? strategy_begin(wave) : 0;
}

/* ---- widths ---- */

/* Mutex held: costs of a kind have changed, so tile_columns is computed again, for the bands to
 * come. */
static void replan(struct heddle_wavefront_request *wave, const char *who, double factor)
{
	unsigned k = wave->bands_per_worker;
	size_t h;

	if (wave->given.tile_columns || !is_known(wave))
		return;
	h = wave_model_choose(&wave->model, MOST_BANDS, 1, &k);
	/* What was measured may differ from the model: it changes by the same factor. */
	if (wave->model_columns)
		h = fmin(fmax(1, rint((double)h * wave->chosen_columns / wave->model_columns)),
		         wave->space.columns);
	if (h != wave->tile_columns)
		heddle_explain("wavefront %s: %s takes %.3g of the time it should: h %zu becomes "
		               "%zu",
		               wave->name, who, factor, wave->tile_columns, h);
	wave->tile_columns = h;
}

/* Mutex held: the first tiles of a worker give the cost of its kind. */
static void get_to_know(struct heddle_wavefront_request *wave, struct wave_worker *worker)
{
	struct wave_tile_cost cost = {.iteration = heddle_robust_us(&worker->us)};

	wave->model.kinds[worker->kind].cp = cost.iteration;
	for (unsigned l = 0; l < wave->nworkers; l++) {
		struct wave_worker *other = &wave->workers[l];

		if (other->kind != worker->kind)
			continue;
		other->cost = cost;
		other->cp = other->plan_cp = cost.iteration;
	}
	replan(wave, worker->stats.name, 1);
}

/* Mutex held: updates a worker's speed by its last tiles. */
static void update(struct heddle_wavefront_request *wave, struct wave_worker *worker)
{
	struct wave_kind *kind = &wave->model.kinds[worker->kind];
	double *pace = &wave->paces[worker->kind], now, factor;

	if (worker->fresh < ENOUGH_TILES)
		return;
	worker->fresh = 0;
	if (!(worker->cost.iteration > 0)) {
		get_to_know(wave, worker);
		return;
	}
	worker->cp = worker->plan_cp * heddle_robust_us(&worker->pace);
	now = wave_kind_pace(wave, worker->kind, ENOUGH_TILES);
	if (!wave_model_drifted(*pace, now))
		return;
	factor = now / *pace;
	kind->cp *= factor;
	kind->cr *= factor;
	kind->more_cc *= factor;
	*pace = now;
	replan(wave, worker->stats.name, factor);
}

/* What this worker takes of the rows that are shared by all: of a part, by those that have no band
 * of the present range yet. */
static double share_by_speed(const struct heddle_wavefront_request *wave,
                             const struct wave_worker *worker)
{
	double known = 0;
	unsigned nknown = 0, n = 0;

	for (unsigned l = 0; l < wave->nworkers; l++) {
		const struct wave_worker *other = &wave->workers[l];

		if (other->excluded ||
		    (wave->part && other->dealt > wave->range && other != worker))
			continue;
		n++;
		if (other->cp <= 0)
			continue;
		nknown++;
		known += 1 / other->cp;
	}
	/* A worker of unknown cost is taken to be as the others on average. */
	return worker->cp <= 0 || !nknown ? 1.0 / n : 1 / worker->cp / (known / nknown * n);
}

/* A part's range has a band for each worker, and the last one has what is left: another rank waits
 * for the last row. */
static size_t width_by_speed(struct heddle_wavefront_request *wave, struct wave_worker *worker)
{
	double share = share_by_speed(wave, worker);
	bool stay = wave->sweeps > 1;
	size_t rows;

	if (wave->part)
		rows = fmax(1, rint(wave_range_left(wave) * share));
	else
		rows = wave_model_rows(
		    (double)wave->rows / wave->bands_per_worker * share, stay,
		    stay ? &wave->owed : &worker->owed, wave->rows_left,
		    wave_vectors_minimum_rows(wave->space.vectors, wave->space.nvectors));
	return worker->maximum && rows > worker->maximum ? worker->maximum : rows;
}

/* Mutex held. */
static bool any_under_way(const struct heddle_wavefront_request *wave)
{
	for (size_t s = 0; s < wave->nstrips; s++)
		if (wave->strips[s]->done < wave->strips[s]->total)
			return true;
	return false;
}

size_t wave_worker_width(struct heddle_wavefront_request *wave, struct wave_worker *worker,
                         bool *asked)
{
	size_t rows;

	*asked = false;
	if (!wave->whole)
		update(wave, worker);
	if (!wave->blocks)
		return width_by_speed(wave, worker);
	rows = heddle_strategy_next(wave->blocks, worker->index);
	*asked = rows > 0;
	if (rows || any_under_way(wave))
		return rows;
	/* The strategy gives nothing although nothing is under way: the wavefront must go on. */
	return width_by_speed(wave, worker);
}
