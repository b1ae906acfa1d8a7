/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "config.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#include "simulation.h"

/* Sweeps that are simulated; all that follow are taken to be as the last of them. */
#define SWEEPS 6
#define LAST_SWEEPS 3
/* A tile of several sweeps waits for both sides: to simulate it takes so many times as long. */
#define SWEPT 6
/* Tiles whose time shows a worker's speed. */
#define ENOUGH_TILES 4
/* Pairs are simulated whose prediction is at most this times the best. */
#define CLOSE 1.05
/* A pair must take at most this part of the time of the formulas' own. */
#define GAIN 0.995

struct worker {
	unsigned kind;
	double factor;   /* that it takes longer than expected */
	double cp;       /* what it is taken to need for an iteration of its bands, all counted */
	double offer_us; /* when it takes the next band */
	double free_us;  /* when it is done with what it has */
	double owed;
	struct wave_band band; /* several sweeps: its own; else its latest */
};

struct run {
	const struct wave_simulation *given;
	unsigned nworkers;
	size_t minimum, most, simulated;
	size_t room; /* for the tiles of a band */
	struct worker *workers;
	double *above_us, *here_us; /* when the band's tiles are done */
	double power;               /* of all workers, by what they are taken to need */
	double owed;                /* of all bands; as run, only of several sweeps */
	double end_us;
	/* As the paper: */
	double widths[WAVE_MAXKINDS];
	double *chain_us, *chaining_us; /* longest chain to each tile, without messages */
	double begin_us;                /* of the subproblem */
	double band_us;                 /* end of the latest band */
};

static bool as_run(const struct run *run)
{
	return run->given->convention == WAVE_AS_RUN;
}

/* ---- setting up ---- */

static void run_fini(struct run *run)
{
	free(run->workers);
	free(run->above_us);
	free(run->here_us);
	free(run->chain_us);
	free(run->chaining_us);
}

/* Costs are of a tile of average width. */
static void worker_init(struct run *run, struct worker *worker, unsigned kind, double width)
{
	const struct wave_model *model = run->given->model;

	worker->kind = kind;
	worker->factor = 1;
	worker->cp = as_run(run) ? wave_model_iteration_us(model, kind, run->given->h, width)
	                         : model->kinds[kind].cp;
	worker->offer_us = worker->free_us = model->assignment_us;
	run->power += 1 / worker->cp;
}

static int paper_init(struct run *run)
{
	if (as_run(run))
		return 0;
	run->chain_us = malloc(run->room * sizeof(double));
	run->chaining_us = malloc(run->room * sizeof(double));
	return run->chain_us && run->chaining_us ? 0 : -ENOMEM;
}

static int run_init(struct run *run, const struct wave_simulation *given, size_t most)
{
	const struct wave_model *model = given->model;
	const struct wave_space *space = given->space;
	unsigned n = wave_model_workers(model), w = 0;

	*run = (struct run){.given = given, .nworkers = n, .most = most};
	if (!n)
		return -EINVAL;
	if (given->sweeps > 1 && model->k > 1)
		return -ENOTSUP;
	run->room = (space->columns + space->skew * space->rows) / given->h + 2;
	if (run->room > most)
		return -E2BIG;
	run->minimum = wave_vectors_minimum_rows(space->vectors, space->nvectors);
	run->workers = calloc(n, sizeof(*run->workers));
	/* Over several sweeps of all bands, one after the other. */
	run->above_us = malloc((given->sweeps > 1 ? n : 1) * run->room * sizeof(double));
	run->here_us = malloc((given->sweeps > 1 ? n : 1) * run->room * sizeof(double));
	if (!run->workers || !run->above_us || !run->here_us || paper_init(run))
		return -ENOMEM;
	if (given->convention == WAVE_AS_SUBPROBLEMS)
		wave_model_widths(model, run->widths);
	else
		wave_model_balanced_widths(model, given->h, run->widths);
	for (unsigned j = 0; j < model->nkinds; j++)
		for (unsigned i = 0; i < model->kinds[j].count; i++) {
			worker_init(run, &run->workers[w], j, run->widths[j]);
			if (as_run(run) && !i && j == given->slow_kind)
				run->workers[w].factor = given->slow;
			w++;
		}
	return 0;
}

/* ---- one tile ---- */

static double tile_us(const struct run *run, const struct worker *worker,
                      const struct wave_tile_size *size)
{
	const struct wave_model *model = run->given->model;
	const struct wave_kind *kind = &model->kinds[worker->kind];
	double columns = size->rows ? size->iterations / size->rows : 0;

	return 2 * (model->cd + kind->more_cd) + 2 * columns * (model->cc + kind->more_cc) +
	       worker->factor * (size->rows * kind->cr + size->iterations * kind->cp);
}

/* Tiles of a band that are whole, from `first` to `last` - 1, and what such a one takes. */
struct whole {
	size_t first, last;
	double us;
};

static struct whole whole_tiles(const struct run *run, const struct worker *worker)
{
	const struct wave_space *space = run->given->space;
	const struct wave_band *band = &worker->band;
	struct wave_tile_size size = {band->rows, (double)band->rows * band->tile_columns};
	/* The last row's first column lies furthest to the left. */
	struct whole whole = {wave_tile_of(band, space->skew, band->rows - 1, 0),
	                      wave_tile_of(band, space->skew, 0, space->columns),
	                      tile_us(run, worker, &size)};

	whole.first += space->skew > 0;
	return whole;
}

static double one_tile_us(const struct run *run, const struct worker *worker,
                          const struct whole *whole, size_t tile)
{
	struct wave_tile_size size;

	if (tile >= whole->first && tile < whole->last)
		return whole->us;
	size = wave_tile_size(run->given->space, &worker->band, tile);
	return tile_us(run, worker, &size);
}

/* ---- one sweep ---- */

/* The worker that takes the next band: the first that can, of several the fastest. */
static struct worker *next_worker(const struct run *run)
{
	struct worker *next = &run->workers[0];

	for (unsigned w = 1; w < run->nworkers; w++) {
		struct worker *worker = &run->workers[w];

		if (worker->offer_us < next->offer_us ||
		    (worker->offer_us == next->offer_us && worker->cp < next->cp))
			next = worker;
	}
	return next;
}

static size_t width(struct run *run, struct worker *worker, size_t left)
{
	const struct wave_simulation *given = run->given;
	double rows = given->space->rows / (double)given->model->k / worker->cp / run->power;

	if (!as_run(run))
		return wave_model_rows(run->widths[worker->kind], true, &run->owed, left,
		                       run->minimum);
	if (given->sweeps > 1)
		return wave_model_rows(rows, true, &run->owed, left, run->minimum);
	return wave_model_rows(rows, false, &worker->owed, left, run->minimum);
}

static void exchange(double **a, double **b)
{
	double *other = *a;

	*a = *b;
	*b = other;
}

static double fastest_cp(const struct wave_model *model)
{
	double fastest = INFINITY;

	for (unsigned j = 0; j < model->nkinds; j++)
		if (model->kinds[j].count)
			fastest = fmin(fastest, model->kinds[j].cp);
	return fastest;
}

/* All tiles of a worker's band. */
static void band_run(struct run *run, struct worker *worker, const struct wave_band *above)
{
	const struct wave_space *space = run->given->space;
	size_t tiles = wave_band_tiles(space, &worker->band);
	size_t needs = above ? wave_tile_above(space, &worker->band, 0, above) : 0;
	size_t most = above ? wave_band_tiles(space, above) : 0;
	struct whole whole = whole_tiles(run, worker);
	double now = worker->free_us;

	for (size_t t = 0; t < tiles; t++) {
		if (needs && run->above_us[needs - 1] > now)
			now = run->above_us[needs - 1];
		/* Each lies under the next tile of the band above. */
		needs += needs < most;
		worker->offer_us = now;
		now += one_tile_us(run, worker, &whole, t);
		run->here_us[t] = now;
	}
	worker->free_us = now;
	run->end_us = fmax(run->end_us, now);
	run->simulated += tiles;
	exchange(&run->above_us, &run->here_us);
}

/* The same by the paper's convention.
 * @param index of the band: its place in its subproblem, modulo the workers */
static void band_run_paper(struct run *run, struct worker *worker, const struct wave_band *above,
                           size_t index)
{
	const struct wave_model *model = run->given->model;
	const struct wave_kind *kind = &model->kinds[worker->kind];
	const struct wave_space *space = run->given->space;
	const struct wave_band *band = &worker->band;
	bool subproblems = run->given->convention == WAVE_AS_SUBPROBLEMS;
	size_t place = index % run->nworkers, tiles = wave_band_tiles(space, band);
	bool receives = subproblems ? place > 0 : above != NULL;
	bool sends =
	    band->first + band->rows < space->rows && !(subproblems && place + 1 == run->nworkers);
	double message =
	    model->cd + kind->more_cd + band->tile_columns * (model->cc + kind->more_cc);
	double fastest = fastest_cp(model), chain = 0, now;

	if (above && subproblems && !place) /* after one message of all columns */
		run->begin_us = run->band_us + 2 * (model->cd + model->columns * model->cc);
	now = fmax(run->begin_us, worker->free_us);
	for (size_t t = 0; t < tiles; t++) {
		size_t needs = above ? wave_tile_needs(space, band, 0, t, above) : 0;
		double n = wave_tile_size(space, band, t).iterations;

		if (needs && run->chain_us[needs - 1] > chain)
			chain = run->chain_us[needs - 1];
		run->chaining_us[t] = chain += n * fastest;
		if (needs && receives && run->above_us[needs - 1] > now)
			now = run->above_us[needs - 1];
		now += (receives ? message : 0) + band->rows * kind->cr + n * kind->cp +
		       (sends ? message : 0);
		run->here_us[t] = now;
	}
	worker->free_us = worker->offer_us = run->band_us = now;
	run->end_us = fmax(run->end_us, now);
	run->simulated += tiles;
	exchange(&run->above_us, &run->here_us);
	exchange(&run->chain_us, &run->chaining_us);
}

/* The longest chain of tiles, or all work shared by all workers. */
static double bound_us(const struct run *run)
{
	const struct wave_model *model = run->given->model;
	const struct wave_space *space = run->given->space;
	double power = 0, chain = 0;

	if (as_run(run))
		return 0;
	for (unsigned w = 0; w < run->nworkers; w++) {
		const struct wave_band *band = &run->workers[w].band;

		/* The last band's chain is the latest. */
		if (band->rows && band->first + band->rows == space->rows)
			chain = run->chain_us[wave_band_tiles(space, band) - 1];
	}
	for (unsigned j = 0; j < model->nkinds; j++)
		power += model->kinds[j].count / model->kinds[j].cp;
	return fmax(chain, model->rows * model->columns / power);
}

/* Its tiles have shown how fast a worker is. */
static void get_to_know(struct run *run, struct worker *worker)
{
	double cp = wave_model_iteration_us(run->given->model, worker->kind, run->given->h,
	                                    worker->band.rows) *
	            worker->factor;

	if (worker->factor == 1 || wave_band_tiles(run->given->space, &worker->band) < ENOUGH_TILES)
		return;
	run->power += 1 / cp - 1 / worker->cp;
	worker->cp = cp;
}

static int run_once(struct run *run, size_t *bands)
{
	const struct wave_space *space = run->given->space;
	struct wave_band above;

	for (size_t row = 0; row < space->rows; (*bands)++) {
		struct worker *worker = next_worker(run);

		if (worker->band.rows)
			get_to_know(run, worker);
		worker->band =
		    (struct wave_band){row, width(run, worker, space->rows - row), run->given->h};
		if (run->simulated + wave_band_tiles(space, &worker->band) > run->most)
			return -E2BIG;
		if (as_run(run))
			band_run(run, worker, row ? &above : NULL);
		else
			band_run_paper(run, worker, row ? &above : NULL, *bands);
		above = worker->band;
		row += above.rows;
	}
	return 0;
}

/* ---- several sweeps ---- */

static int by_speed(const void *a, const void *b)
{
	const struct worker *first = a, *second = b;

	return (first->cp > second->cp) - (first->cp < second->cp);
}

/* Gives every worker a band, the fastest first, and the last one what is left. */
static size_t deal(struct run *run)
{
	size_t rows = run->given->space->rows, row = 0, bands = 0;

	qsort(run->workers, run->nworkers, sizeof(*run->workers), by_speed);
	for (unsigned w = 0; w < run->nworkers && row < rows; w++, bands++) {
		struct worker *worker = &run->workers[w];
		size_t left = rows - row;

		worker->band = (struct wave_band){row, width(run, worker, left), run->given->h};
		if (w + 1 == run->nworkers)
			worker->band.rows = left;
		row += worker->band.rows;
	}
	return bands;
}

/* When a neighbour has done as many tiles as are needed, all sweeps counted. */
static double done_us(const struct run *run, size_t band, size_t sweep, size_t needs)
{
	size_t tiles;

	if (!needs)
		return 0;
	tiles = wave_band_tiles(run->given->space, &run->workers[band].band);
	if ((needs - 1) / tiles == sweep)
		return run->here_us[band * run->room + (needs - 1) % tiles];
	/* Tiles of earlier sweeps are done. */
	return (needs - 1) / tiles + 1 == sweep
	           ? run->above_us[band * run->room + (needs - 1) % tiles]
	           : 0;
}

static void sweep_run(struct run *run, size_t bands, size_t sweep)
{
	const struct wave_space *space = run->given->space;

	for (size_t b = 0; b < bands; b++) {
		struct worker *worker = &run->workers[b];
		size_t tiles = wave_band_tiles(space, &worker->band);
		struct whole whole = whole_tiles(run, worker);

		for (size_t t = 0; t < tiles; t++) {
			double now = worker->free_us;

			for (size_t other = b ? b - 1 : b + 1; other <= b + 1; other += 2) {
				size_t needs = other < bands
				                   ? wave_tile_needs(space, &worker->band, sweep, t,
				                                     &run->workers[other].band)
				                   : 0;

				now = fmax(now, done_us(run, other, sweep, needs));
			}
			worker->free_us = now + one_tile_us(run, worker, &whole, t);
			run->here_us[b * run->room + t] = worker->free_us;
		}
		run->end_us = fmax(run->end_us, worker->free_us);
		run->simulated += SWEPT * tiles;
	}
	exchange(&run->above_us, &run->here_us);
}

static int run_sweeps(struct run *run, size_t *bands)
{
	const struct wave_simulation *given = run->given;
	size_t sweeps = given->sweeps, sweep = 0;
	double before = 0;

	*bands = deal(run);
	for (; sweep < sweeps && sweep < SWEEPS; sweep++) {
		if (sweep + LAST_SWEEPS == SWEEPS)
			before = run->end_us;
		if (run->simulated + SWEPT * *bands * run->room > run->most)
			return -E2BIG;
		sweep_run(run, *bands, sweep);
	}
	run->end_us += (sweeps - sweep) * (run->end_us - before) / LAST_SWEEPS;
	return 0;
}

int wave_simulation_run(const struct wave_simulation *simulation, size_t most,
                        struct wave_simulation_result *result)
{
	struct run run;
	size_t bands = 0;
	int status = run_init(&run, simulation, most);

	if (!status)
		status = simulation->sweeps > 1 ? run_sweeps(&run, &bands) : run_once(&run, &bands);
	if (!status)
		*result = (struct wave_simulation_result){.us = run.end_us,
		                                          .bands = bands,
		                                          .simulated = run.simulated,
		                                          .bound_us = bound_us(&run)};
	run_fini(&run);
	return status;
}

int wave_simulation_sweep(const struct wave_simulation *given, size_t first, size_t last,
                          size_t *best, double *us)
{
	struct wave_simulation simulation = *given;
	double least = INFINITY;

	for (size_t h = first; h <= last; h++) {
		struct wave_simulation_result result;
		int status;

		simulation.h = h;
		status = wave_simulation_run(&simulation, SIZE_MAX, &result);
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

/* ---- choosing ---- */

/* The data of whole bands is also copied to accelerators and written back. */
static double way_us(const struct wave_model *model, size_t h)
{
	double widths[WAVE_MAXKINDS], us = 0;

	wave_model_balanced_widths(model, h, widths);
	for (unsigned j = 0; j < model->nkinds; j++) {
		const struct wave_kind *kind = &model->kinds[j];

		if (kind->count)
			us = fmax(us, (kind->in + kind->out) * widths[j] * model->columns);
	}
	return us;
}

/* With a slower worker of some kind; INFINITY: too many tiles. */
static double slow_us(const struct wave_model *model, const struct wave_space *space, size_t h,
                      unsigned kind, double slow, size_t *budget)
{
	struct wave_simulation simulation = {.model = model,
	                                     .space = space,
	                                     .sweeps = model->sweeps ? model->sweeps : 1,
	                                     .h = h,
	                                     .slow_kind = kind,
	                                     .slow = slow};
	struct wave_simulation_result result;

	if (wave_simulation_run(&simulation, *budget, &result))
		return INFINITY;
	*budget -= result.simulated;
	return result.us + way_us(model, h);
}

double wave_simulation_time(const struct wave_model *model, const struct wave_space *space,
                            size_t h, size_t *budget)
{
	double us = slow_us(model, space, h, 0, 1, budget), sum = 0;
	unsigned n = 0;

	if (wave_model_workers(model) < 2)
		return us;
	for (unsigned j = 0; j < model->nkinds && us < INFINITY; j++) {
		if (!model->kinds[j].count)
			continue;
		sum += slow_us(model, space, h, j, WAVE_SIMULATION_SLOW, budget);
		n++;
	}
	return n ? (us + sum / n) / 2 : us;
}

double wave_simulation_predict(const struct wave_model *model, const struct wave_space *space,
                               size_t h)
{
	size_t budget = WAVE_SIMULATION_BUDGET;
	double us = slow_us(model, space, h, 0, 1, &budget);

	return us < INFINITY ? us : wave_model_pipelined_time(model, h);
}

struct search {
	const struct wave_model *model; /* with the k that is looked at */
	const struct wave_space *space;
	size_t budget, h;
	unsigned k;
	double least, formula; /* by what the best count, simulated and by the formulas */
};

static void consider(struct search *search, double h)
{
	double counts;

	h = fmin(fmax(1, rint(h)), search->model->columns);
	if (wave_model_counts(search->model, h, wave_model_pipelined_time(search->model, h)) >
	    CLOSE * search->formula)
		return;
	counts = wave_model_counts(
	    search->model, h,
	    wave_simulation_time(search->model, search->space, h, &search->budget));
	if (!(counts < search->least))
		return;
	search->least = counts;
	search->h = h;
	search->k = search->model->k;
}

/* Intervals around one: of whole tiles, where they are not skewed. */
static void consider_around(struct search *search, size_t h)
{
	static const double factors[] = {1, 0.84, 1.19, 0.71, 1.41, 0.59, 0.5, 0.35};
	static const int more[] = {0, 1, -1, 2, -2, 3, 4, 6};
	double columns = search->model->columns, tiles = rint(columns / h);

	for (unsigned i = 0; i < sizeof(factors) / sizeof(*factors); i++) {
		if (search->space->skew)
			consider(search, h * factors[i]);
		else if (tiles + more[i] >= 1)
			consider(search, ceil(columns / (tiles + more[i])));
	}
}

size_t wave_simulation_choose(const struct wave_model *given, const struct wave_space *space,
                              unsigned most, double minimum_rows, size_t *h, unsigned *k)
{
	struct wave_candidate all[WAVE_MOST_CANDIDATES];
	unsigned n = wave_model_candidates(given, most, minimum_rows, all);
	struct wave_model model = *given;
	struct search search = {
	    .model = &model, .space = space, .budget = WAVE_SIMULATION_BUDGET, .h = *h, .k = *k};
	double own;

	model.k = *k;
	search.least = INFINITY;
	search.formula = all[0].counts;
	consider(&search, *h);
	own = search.least;
	search.least *= GAIN;
	if (own == INFINITY || wave_model_workers(given) < 2)
		return WAVE_SIMULATION_BUDGET - search.budget;
	consider_around(&search, *h);
	for (unsigned i = 0; i < n; i++) {
		if (all[i].k == *k || all[i].counts > CLOSE * search.formula)
			continue;
		model.k = all[i].k;
		consider_around(&search, all[i].h);
	}
	*h = search.h;
	*k = search.k;
	return WAVE_SIMULATION_BUDGET - search.budget;
}
