/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "config.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "tools/common/wavefront_replay.h"

static const struct heddle_dependence plain[] = {{.row = 1}, {.column = 1}};

struct machine {
	const struct wave_replay *given;
	struct wave_space space;
	unsigned nworkers;
	unsigned *kinds; /* of each worker */
	double *free_us; /* when it can begin something */
	double widths[WAVE_MAXKINDS];
	double *sent_us; /* by the band above: when each of its tiles' message is out */
	double *sending_us;
	double *chain_us; /* longest chain to each tile of the band above, without messages */
	double *chaining_us;
};

static void machine_fini(struct machine *machine)
{
	free(machine->kinds);
	free(machine->free_us);
	free(machine->sent_us);
	free(machine->sending_us);
	free(machine->chain_us);
	free(machine->chaining_us);
}

static size_t most_tiles(const struct machine *machine)
{
	const struct wave_space *space = &machine->space;
	struct wave_band all = {0, space->rows, machine->given->h};

	return wave_band_tiles(space, &all) + 1;
}

static int machine_init(struct machine *machine, const struct wave_replay *given)
{
	const struct wave_model *model = given->model;
	unsigned w = 0;
	size_t tiles;

	*machine = (struct machine){.given = given, .nworkers = wave_model_workers(model)};
	machine->space = (struct wave_space){
	    .rows = model->rows,
	    .columns = model->columns,
	    .nvectors = given->nvectors ? given->nvectors : 2,
	    .vectors = given->nvectors ? given->vectors : plain,
	};
	machine->space.skew = wave_vectors_skew(machine->space.vectors, machine->space.nvectors);
	if (!machine->nworkers)
		return -EINVAL;
	if (given->subproblems)
		wave_model_widths(model, machine->widths);
	else
		wave_model_balanced_widths(model, given->h, machine->widths);
	tiles = most_tiles(machine);
	machine->kinds = calloc(machine->nworkers, sizeof(*machine->kinds));
	machine->free_us = calloc(machine->nworkers, sizeof(*machine->free_us));
	machine->sent_us = calloc(tiles, sizeof(double));
	machine->sending_us = calloc(tiles, sizeof(double));
	machine->chain_us = calloc(tiles, sizeof(double));
	machine->chaining_us = calloc(tiles, sizeof(double));
	if (!machine->kinds || !machine->free_us || !machine->sent_us || !machine->sending_us ||
	    !machine->chain_us || !machine->chaining_us)
		return -ENOMEM;
	for (unsigned j = 0; j < model->nkinds; j++)
		for (unsigned i = 0; i < model->kinds[j].count; i++) {
			machine->free_us[w] = model->assignment_us;
			machine->kinds[w++] = j;
		}
	return 0;
}

static const struct wave_kind *kind_of(const struct machine *machine, unsigned worker)
{
	return &machine->given->model->kinds[machine->kinds[worker]];
}

/* The worker that is free first, of several the fastest. */
static unsigned first_free(const struct machine *machine)
{
	unsigned first = 0;

	for (unsigned w = 1; w < machine->nworkers; w++)
		if (machine->free_us[w] < machine->free_us[first] ||
		    (machine->free_us[w] == machine->free_us[first] &&
		     kind_of(machine, w)->cp < kind_of(machine, first)->cp))
			first = w;
	return first;
}

/* Rows of the next band: the remainder is spread, so that no sliver is left over. */
static size_t band_rows(const struct machine *machine, unsigned worker, double *owed, size_t left)
{
	size_t minimum = wave_vectors_minimum_rows(machine->space.vectors, machine->space.nvectors);
	size_t rows;

	*owed += machine->widths[machine->kinds[worker]];
	rows = *owed + 0.5;
	if (rows < minimum)
		rows = minimum;
	*owed -= rows;
	return left < rows + minimum ? left : rows;
}

static void exchange(double **a, double **b)
{
	double *other = *a;

	*a = *b;
	*b = other;
}

/* One band on a worker that begins no sooner than `now`; returns when it is done. */
static double band_run(struct machine *machine, unsigned worker, const struct wave_band *band,
                       const struct wave_band *above, bool receives, bool sends, double now)
{
	const struct wave_model *model = machine->given->model;
	const struct wave_kind *kind = kind_of(machine, worker);
	double message =
	    model->cd + kind->more_cd + band->tile_columns * (model->cc + kind->more_cc);
	double chain = 0, fastest = INFINITY;

	for (unsigned j = 0; j < model->nkinds; j++)
		if (model->kinds[j].count && model->kinds[j].cp < fastest)
			fastest = model->kinds[j].cp;
	for (size_t t = 0; t < wave_band_tiles(&machine->space, band); t++) {
		size_t needs = above ? wave_tile_needs(&machine->space, band, 0, t, above) : 0;
		double n = wave_tile_size(&machine->space, band, t).iterations;

		if (needs && machine->chain_us[needs - 1] > chain)
			chain = machine->chain_us[needs - 1];
		machine->chaining_us[t] = chain += n * fastest;
		if (needs && receives && machine->sent_us[needs - 1] > now)
			now = machine->sent_us[needs - 1];
		now += (receives ? message : 0) + band->rows * kind->cr + n * kind->cp +
		       (sends ? message : 0);
		machine->sending_us[t] = now;
	}
	exchange(&machine->sent_us, &machine->sending_us);
	exchange(&machine->chain_us, &machine->chaining_us);
	return now;
}

static void run_all(struct machine *machine, struct wave_replay_result *result)
{
	const struct wave_model *model = machine->given->model;
	struct wave_band above, band = {.tile_columns = machine->given->h};
	double owed = 0, begin = 0, us = 0;
	size_t rows = machine->space.rows;

	for (size_t row = 0; row < rows; row += band.rows, result->bands++) {
		unsigned worker = first_free(machine), place = result->bands % machine->nworkers;
		bool first = machine->given->subproblems ? !place : !row, last;

		above = band;
		band.first = row;
		band.rows = band_rows(machine, worker, &owed, rows - row);
		last = row + band.rows == rows ||
		       (machine->given->subproblems && place + 1 == machine->nworkers);
		if (first && row) /* a subproblem, after one message of all columns */
			begin = us + 2 * (model->cd + model->columns * model->cc);
		us = band_run(machine, worker, &band, row ? &above : NULL, !first, !last,
		              fmax(begin, machine->free_us[worker]));
		machine->free_us[worker] = us;
		result->tiles += wave_band_tiles(&machine->space, &band);
		result->bound_us = machine->chain_us[wave_band_tiles(&machine->space, &band) - 1];
		if (us > result->us)
			result->us = us;
	}
}

int wave_replay_run(const struct wave_replay *replay, struct wave_replay_result *result)
{
	const struct wave_model *model = replay->model;
	struct machine machine;
	double power = 0, work;
	int status = machine_init(&machine, replay);

	*result = (struct wave_replay_result){0};
	if (!status) {
		run_all(&machine, result);
		for (unsigned j = 0; j < model->nkinds; j++)
			power += model->kinds[j].count / model->kinds[j].cp;
		work = model->rows * model->columns / power;
		if (work > result->bound_us)
			result->bound_us = work;
	}
	machine_fini(&machine);
	return status;
}

int wave_replay_sweep(const struct wave_replay *given, size_t first, size_t last, size_t *best,
                      double *us)
{
	struct wave_replay replay = *given;
	double least = INFINITY;

	for (size_t h = first; h <= last; h++) {
		struct wave_replay_result result;
		int status;

		replay.h = h;
		status = wave_replay_run(&replay, &result);
		if (status)
			return status;
		if (us)
			us[h - first] = result.us;
		if (result.us < least) {
			least = result.us;
			*best = h;
		}
	}
	return 0;
}
