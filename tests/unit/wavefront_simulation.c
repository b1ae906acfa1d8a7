/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Wavefronts simulated band by band against the same run event by event, as workers would
 * do it; and the h and k that are chosen so against those of the formulas.
 */
#include "config.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <time.h>

#include "partition/wavefront/choice.h"
#include "partition/wavefront/cost.h"
#include "partition/wavefront/simulation.h"
#include "tests/unit/test.h"

enum { MOST_WORKERS = 12, MOST_BANDS = 4096 };

static const struct heddle_dependence alignment[] = {
    {.row = 1}, {.column = 1}, {.row = 1, .column = 1}};
static const struct heddle_dependence dithering[] = {{0, 1, 0}, {1, -1, 0}, {1, 0, 0}, {1, 1, 0}};
static const struct heddle_dependence heat[] = {{1, 0, 0}, {0, 1, 0}, {-1, 0, 1}, {0, -1, 1}};

struct problem {
	struct wave_space space;
	struct wave_model model;
	struct wave_simulation simulation;
};

static double between(unsigned *seed, double low, double high)
{
	return low + (high - low) * rand_r(seed) / RAND_MAX;
}

static void problem_make(struct problem *problem, unsigned *seed, bool sweeps)
{
	bool skewed = !sweeps && rand_r(seed) % 2;
	struct wave_model *model = &problem->model;

	problem->space = (struct wave_space){
	    .rows = between(seed, 20, 600),
	    .columns = between(seed, 20, 600),
	    .skew = skewed,
	    .nvectors = !skewed && !sweeps ? 3 : 4,
	    .vectors = sweeps   ? heat
	               : skewed ? dithering
	                        : alignment,
	};
	*model = (struct wave_model){.rows = problem->space.rows,
	                             .columns = problem->space.columns,
	                             .cd = between(seed, 0, 3),
	                             .cc = between(seed, 0, 0.01),
	                             .k = sweeps ? 1 : 1 + rand_r(seed) % 6,
	                             .skew = skewed,
	                             .sweeps = sweeps ? 1 + rand_r(seed) % 6 : 1,
	                             .nkinds = 1 + rand_r(seed) % 3};
	for (unsigned j = 0; j < model->nkinds; j++)
		model->kinds[j] = (struct wave_kind){.count = 1 + rand_r(seed) % 4,
		                                     .cp = between(seed, 0.001, 0.01),
		                                     .cr = between(seed, 0, 0.1),
		                                     .more_cd = between(seed, 0, 3)};
	problem->simulation =
	    (struct wave_simulation){.model = model,
	                             .space = &problem->space,
	                             .sweeps = model->sweeps,
	                             .h = between(seed, 1, problem->space.columns),
	                             .slow = 1};
}

/* ---- event by event ---- */

struct worker {
	unsigned kind;
	double cp, owed, busy_until;
	int band; /* -1: none */
};

struct strip {
	struct wave_band band;
	int worker;
	size_t started, done;
};

struct events {
	const struct problem *problem;
	struct worker workers[MOST_WORKERS];
	unsigned nworkers, nbands;
	struct strip strips[MOST_BANDS];
	size_t given; /* rows */
	double power, now, owed;
};

static void events_init(struct events *events, const struct problem *problem)
{
	const struct wave_model *model = &problem->model;
	double widths[WAVE_MAXKINDS];

	*events = (struct events){.problem = problem};
	wave_model_balanced_widths(model, problem->simulation.h, widths);
	for (unsigned j = 0; j < model->nkinds; j++)
		for (unsigned i = 0; i < model->kinds[j].count; i++) {
			struct worker *worker = &events->workers[events->nworkers++];

			*worker = (struct worker){.kind = j, .band = -1};
			worker->cp =
			    wave_model_iteration_us(model, j, problem->simulation.h, widths[j]);
			events->power += 1 / worker->cp;
		}
}

static void band_give(struct events *events, unsigned w)
{
	const struct problem *problem = events->problem;
	struct worker *worker = &events->workers[w];
	struct strip *strip = &events->strips[events->nbands];
	size_t minimum = wave_vectors_minimum_rows(problem->space.vectors, problem->space.nvectors);
	bool stay = problem->model.sweeps > 1;

	assert_true(events->nbands < MOST_BANDS);
	strip->band = (struct wave_band){events->given, 0, problem->simulation.h};
	strip->band.rows = wave_model_rows(
	    problem->model.rows / problem->model.k / worker->cp / events->power, stay,
	    stay ? &events->owed : &worker->owed, problem->space.rows - events->given, minimum);
	if (stay && events->nbands + 1 == events->nworkers)
		strip->band.rows = problem->space.rows - events->given;
	strip->worker = w;
	worker->band = events->nbands++;
	events->given += strip->band.rows;
}

/* The one that waits and is the fastest. */
static bool give_one(struct events *events)
{
	int best = -1;

	for (unsigned w = 0; w < events->nworkers; w++)
		if (events->workers[w].band < 0 &&
		    (best < 0 || events->workers[w].cp < events->workers[best].cp))
			best = w;
	if (best < 0 || events->given == events->problem->space.rows)
		return false;
	band_give(events, best);
	return true;
}

static size_t total(const struct events *events, const struct strip *strip)
{
	return wave_band_tiles(&events->problem->space, &strip->band) *
	       events->problem->model.sweeps;
}

/* What a worker has and what is above and below it, by the vectors themselves. */
static bool is_ready(const struct events *events, unsigned s)
{
	const struct wave_space *space = &events->problem->space;
	const struct strip *strip = &events->strips[s];
	size_t tiles = wave_band_tiles(space, &strip->band), tile = strip->started % tiles;
	size_t sweep = strip->started / tiles;

	if (strip->started == total(events, strip) || strip->started > strip->done)
		return false;
	if (s && events->strips[s - 1].done <
	             wave_tile_needs(space, &strip->band, sweep, tile, &events->strips[s - 1].band))
		return false;
	return s + 1 >= events->nbands ||
	       events->strips[s + 1].done >=
	           wave_tile_needs(space, &strip->band, sweep, tile, &events->strips[s + 1].band);
}

static double tile_us(const struct events *events, const struct strip *strip)
{
	const struct wave_model *model = &events->problem->model;
	const struct wave_kind *kind = &model->kinds[events->workers[strip->worker].kind];
	const struct wave_space *space = &events->problem->space;
	size_t tile = strip->started % wave_band_tiles(space, &strip->band), rows = 0;
	double n = 0;

	for (size_t r = 0; r < strip->band.rows; r++) {
		struct wave_columns columns = wave_tile_columns(space, &strip->band, tile, r);

		rows += columns.begin < columns.end;
		n += columns.end - columns.begin;
	}
	return 2 * (model->cd + kind->more_cd) + (rows ? 2 * n / rows * model->cc : 0) +
	       rows * kind->cr + n * kind->cp;
}

/* Starts what can be; a worker that starts the last tile of its band takes another one. */
static void start_all(struct events *events)
{
	bool again = true;

	while (again) {
		again = false;
		for (unsigned s = 0; s < events->nbands; s++) {
			struct strip *strip = &events->strips[s];
			struct worker *worker = &events->workers[strip->worker];

			if (worker->busy_until > events->now || !is_ready(events, s))
				continue;
			worker->busy_until = events->now + tile_us(events, strip);
			strip->started++;
			again = true;
			if (events->problem->model.sweeps == 1 &&
			    strip->started == total(events, strip))
				worker->band = -1;
		}
		while (events->problem->model.sweeps == 1 && give_one(events))
			again = true;
	}
}

/* When the next tile is done. */
static bool advance(struct events *events)
{
	double next = INFINITY;

	for (unsigned w = 0; w < events->nworkers; w++)
		if (events->workers[w].busy_until > events->now)
			next = fmin(next, events->workers[w].busy_until);
	if (next == INFINITY)
		return false;
	events->now = next;
	for (unsigned s = 0; s < events->nbands; s++)
		if (events->strips[s].started > events->strips[s].done &&
		    events->workers[events->strips[s].worker].busy_until <= next)
			events->strips[s].done = events->strips[s].started;
	return true;
}

static double event_by_event(const struct problem *problem)
{
	struct events *events = malloc(sizeof(*events));
	double us;

	assert_non_null(events);
	events_init(events, problem);
	while (give_one(events))
		;
	do {
		start_all(events);
	} while (advance(events));
	assert_int_equal(events->given, problem->space.rows);
	for (unsigned s = 0; s < events->nbands; s++)
		assert_int_equal(events->strips[s].done, total(events, &events->strips[s]));
	us = events->now;
	free(events);
	return us;
}

static void test_events(void **state)
{
	unsigned seed = test_seed();

	for (unsigned round = 0; round < 1000; round++) {
		struct wave_simulation_result result;
		struct problem problem;
		double us;

		problem_make(&problem, &seed, round % 3 == 0);
		us = event_by_event(&problem);
		assert_int_equal(wave_simulation_run(&problem.simulation, 1 << 30, &result), 0);
		assert_true(fabs(result.us / us - 1) < 1e-9);
	}
}

/* What a long run takes follows from the first sweeps. */
static void test_many_sweeps(void **state)
{
	unsigned seed = test_seed();

	for (int round = 0; round < 200; round++) {
		struct wave_simulation_result result;
		struct problem problem;
		double us;

		problem_make(&problem, &seed, true);
		problem.model.sweeps = problem.simulation.sweeps = 40;
		us = event_by_event(&problem);
		assert_int_equal(wave_simulation_run(&problem.simulation, 1 << 30, &result), 0);
		assert_true(fabs(result.us / us - 1) < 0.05);
	}
}

static void test_refused(void **state)
{
	struct wave_simulation_result result;
	struct problem problem;
	unsigned seed = 1;

	problem_make(&problem, &seed, true);
	assert_int_equal(wave_simulation_run(&problem.simulation, 1, &result), -E2BIG);
	problem.simulation.sweeps = 2;
	problem.model.k = 2;
	assert_int_equal(wave_simulation_run(&problem.simulation, 1 << 30, &result), -ENOTSUP);
	problem.model.nkinds = 0;
	assert_int_equal(wave_simulation_run(&problem.simulation, 1 << 30, &result), -EINVAL);
}

/* ---- choosing ---- */

/* About the costs of the apps on two cores and on fifteen. */
static struct wave_model app(const struct wave_space *space, unsigned workers, double cr, double cp)
{
	return (struct wave_model){
	    .rows = space->rows,
	    .columns = space->columns,
	    .skew = space->skew,
	    .sweeps = space->vectors == heat ? 40 : 1,
	    .k = space->vectors == heat ? 1 : 0,
	    .vector = 32,
	    .nkinds = 1,
	    .kinds = {{.name = "core", .count = workers, .more_cd = 2.1, .cr = cr, .cp = cp}}};
}

static void test_choice(void **state)
{
	static const struct {
		const char *name;
		size_t side;
		const struct heddle_dependence *vectors;
		unsigned nvectors, workers;
		double cr, cp;
	} cases[] = {{"strmatch", 8192, alignment, 3, 2, 0.055, 0.00035},
	             {"strmatch", 1000, alignment, 3, 2, 0.055, 0.00035},
	             {"strmatch", 65536, alignment, 3, 15, 0.055, 0.00035},
	             {"floyd", 8192, dithering, 4, 2, 0.06, 0.002},
	             {"floyd", 1000, dithering, 4, 2, 0.06, 0.002},
	             {"floyd", 1000, dithering, 4, 15, 0.06, 0.002},
	             {"heat2d", 2048, heat, 4, 2, 0.13, 0.0008},
	             {"heat2d", 1500, heat, 4, 7, 0.13, 0.0008},
	             {"heat2d", 4096, heat, 4, 15, 0.13, 0.0008}};

	print_message(
	    "                   |     by the formulas       |         simulated         |\n"
	    "                   |     h  k predicted  takes |     h  k predicted  takes | tiles\n");
	for (size_t c = 0; c < sizeof(cases) / sizeof(*cases); c++) {
		struct wave_space space = {
		    .rows = cases[c].side,
		    .columns = cases[c].side,
		    .skew = wave_vectors_skew(cases[c].vectors, cases[c].nvectors),
		    .nvectors = cases[c].nvectors,
		    .vectors = cases[c].vectors};
		struct wave_model model = app(&space, cases[c].workers, cases[c].cr, cases[c].cp);
		struct wave_model first = model, second = model;
		size_t budget = 1 << 30, tiles, h, h2;
		unsigned k, k2;
		double us, us2;

		h = h2 = wave_model_choose(&model, 64, 16, &k);
		k2 = k;
		tiles = wave_simulation_choose(&model, &space, 64, 16, &h2, &k2);
		first.k = k;
		second.k = k2;
		us = wave_simulation_time(&first, &space, h, &budget);
		us2 = wave_simulation_time(&second, &space, h2, &budget);
		print_message(
		    "%8s %5zu x %2u | %5zu %2u %9.0f %6.0f | %5zu %2u %9.0f %6.0f | %5zu\n",
		    cases[c].name, cases[c].side, cases[c].workers, h, k,
		    wave_model_pipelined_time(&first, h), us, h2, k2,
		    wave_model_pipelined_time(&second, h2), us2, tiles);
		assert_true(wave_model_counts(&second, h2, us2) <=
		            wave_model_counts(&first, h, us));
		assert_true(tiles <= WAVE_SIMULATION_BUDGET);
	}
}

/* Whatever the machine: never worse than the formulas' own, never more than the budget. */
static void test_never_worse(void **state)
{
	unsigned seed = test_seed(), better = 0;

	for (int round = 0; round < 500; round++) {
		struct problem problem;
		struct wave_model first, second;
		size_t h, h2, budget = 1 << 30;
		unsigned k, k2;
		double us, us2;

		problem_make(&problem, &seed, round % 3 == 0);
		problem.model.k = problem.model.sweeps > 1 ? 1 : 0;
		h = h2 = wave_model_choose(&problem.model, 64, 4, &k);
		k2 = k;
		assert_true(wave_simulation_choose(&problem.model, &problem.space, 64, 4, &h2,
		                                   &k2) <= WAVE_SIMULATION_BUDGET);
		first = second = problem.model;
		first.k = k;
		second.k = k2;
		us = wave_simulation_time(&first, &problem.space, h, &budget);
		us2 = wave_simulation_time(&second, &problem.space, h2, &budget);
		assert_true(h2 >= 1 && h2 <= problem.space.columns && k2 >= 1);
		assert_true(wave_model_counts(&second, h2, us2) <=
		            wave_model_counts(&first, h, us));
		better += us2 < us * 0.98;
	}
	print_message("%u of 500 better by 2 %% or more\n", better);
}

/* Who has not measured a plan is given the simulated one, and keeps it when it was measured. */
static void test_within_choice(void **state)
{
	struct wave_space space = {
	    .rows = 1000, .columns = 1000, .skew = 1, .nvectors = 4, .vectors = dithering};
	struct wave_model model = app(&space, 2, 0.06, 0.002), team = model;
	struct wave_run trial = {.counts = {2}, .n = 2};
	unsigned k, k2;
	size_t h = wave_model_choose(&model, 64, 16, &k), h2;

	wave_simulation_choose(&model, &space, 64, 16, &h, &k);
	wave_choose(&team, 64, 16, NULL, 0, &space, true, &h2, &k2);
	assert_int_equal(h2, h);
	assert_int_equal(k2, k);
	trial.h = h;
	trial.k = k;
	trial.us = 1.4 * wave_simulation_predict(&model, &space, h);
	/* It took longer because the cores were slow. */
	trial.pace = 1.5;
	for (int explore = 0; explore < 2; explore++) {
		team = model;
		wave_choose(&team, 64, 16, &trial, 1, &space, explore, &h2, &k2);
		assert_int_equal(h2, h);
		assert_int_equal(k2, k);
	}
}

/* Costs change when two wavefronts say so. */
static void test_confirmed(void **state)
{
	double doubtful = 1;

	assert_true(wave_cost_confirm(&doubtful, 1.5) == 1);
	assert_true(wave_cost_confirm(&doubtful, 1) == 1);
	assert_true(wave_cost_confirm(&doubtful, 1.5) == 1);
	assert_true(wave_cost_confirm(&doubtful, 0.5) == 1);
	assert_true(wave_cost_confirm(&doubtful, 0.6) == 0.6);
	assert_true(wave_cost_confirm(&doubtful, 2) == 1);
	assert_true(wave_cost_confirm(&doubtful, 1.5) == 1.5);
	assert_true(wave_cost_confirm(&doubtful, 1.5) == 1);
	/* Of both the one nearer to 1, whichever comes first. */
	assert_true(wave_cost_confirm(&doubtful, 2) == 1.5);
	assert_true(wave_cost_confirm(&doubtful, 0.6) == 1);
	assert_true(wave_cost_confirm(&doubtful, 0.5) == 0.6);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_events),      cmocka_unit_test(test_many_sweeps),
	    cmocka_unit_test(test_refused),     cmocka_unit_test(test_choice),
	    cmocka_unit_test(test_never_worse), cmocka_unit_test(test_within_choice),
	    cmocka_unit_test(test_confirmed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
