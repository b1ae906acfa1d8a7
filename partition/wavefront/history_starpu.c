/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * What is remembered of a codelet's wavefronts, of this process and, by its profile, of
 * earlier ones: what tiles cost each device class, and how long whole wavefronts took which
 * team.
 */
#include "config.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "estimator/estimate_starpu.h"
#include "estimator/platform_starpu.h"
#include "estimator/profile_store.h"
#include "wavefront_private.h"

/* No task costs less than this, µs, whatever a measurement says. */
#define LEAST_OVERHEAD 4
/* What simulated ones are taken to cost, as most of StarPU's simulated costs are. */
#define SIMULATED_OVERHEAD 5
/* Hand-overs vary with the load of the machine: from one wavefront to the next they change by at
 * most this factor. */
#define HANDOVER_DRIFT 2
/* Sides of loops that differ by less than this count as about as large. */
#define ABOUT 1.1

struct known_cost {
	struct known_cost *next;
	unsigned class; /* of devices */
	struct wave_tile_cost cost;
	/* Factors that the last wavefront showed and the one before did not: of the cost of tiles'
	 * contents, and of their hand-over. */
	double doubtful, doubtful_handover;
	char codelet[];
};

/* A team's wavefronts of one size, with about the same h and k. */
struct known_run {
	struct known_run *next;
	double rows, columns, sweeps;
	size_t h;
	unsigned k;
	bool asked; /* h or k were not the model's choice: they say nothing of others */
	double latest_us;
	struct heddle_robust us, pace;
	char team[HEDDLE_PROFILE_TEXT]; /* "15 cpu NAME + 1 cuda NAME" */
	char codelet[];
};

/* A codelet whose runs in earlier processes have been read. */
struct reading {
	struct reading *next;
	bool fresh; /* this process has added to them */
	char codelet[];
};

/* What is known in this process, for as long as it lives. The mutex guards the lists and what
 * is in them. The profile store is asked without it: what was read is published under it. */
static struct {
	starpu_pthread_mutex_t mutex;
	struct known_cost *costs;
	struct known_run *runs;
	struct reading *readings;
} known = {.mutex = STARPU_PTHREAD_MUTEX_INITIALIZER};

static const char *codelet_name(const struct heddle_wavefront_request *wave)
{
	const char *name = wave->given.codelet->name;

	return name ? name : wave->name;
}

/* ---- stored costs ---- */

static double last_number(const struct heddle_profile_record *record, const char *key)
{
	const struct heddle_profile_field *field = heddle_profile_record_field(record, key);

	return field && field->n ? field->numbers[field->n - 1] : -1;
}

static const char *word(const struct heddle_profile_record *record, const char *key)
{
	const struct heddle_profile_field *field = heddle_profile_record_field(record, key);

	return field && !field->n ? field->text : "";
}

/* Records from before c_r was measured say too little. */
static bool cost_read(const struct heddle_profile_record *record, const char *device,
                      struct wave_tile_cost *cost, double *doubtful)
{
	if (strcmp(record->kind, "wavefront") || strcmp(word(record, "device"), device))
		return false;
	*cost = (struct wave_tile_cost){.us = last_number(record, "overhead"),
	                                .row = last_number(record, "cr"),
	                                .column = last_number(record, "column"),
	                                .iteration = last_number(record, "cp")};
	*doubtful = last_number(record, "doubt");
	if (!(*doubtful > 0))
		*doubtful = 1;
	return cost->iteration > 0 && cost->us >= 0 && cost->row >= 0 && cost->column >= 0;
}

struct wanted_cost {
	const char *device;
	struct wave_tile_cost cost;
	double doubtful;
	bool found;
};

static void cost_look(const struct heddle_profile *profile, const char *path, void *arg)
{
	struct wanted_cost *wanted = arg;

	(void)path;
	for (size_t r = 0; r < profile->n && !wanted->found; r++)
		wanted->found = cost_read(profile->records[r], wanted->device, &wanted->cost,
		                          &wanted->doubtful);
}

static void record_keep(const char *codelet, struct heddle_profile_record *record)
{
	if (!profile_store_wanted())
		return;
	heddle_profile_record_number(record, "samples", 1);
	heddle_profile_record_number(record, "at", time(NULL));
	profile_store_add(codelet, record);
}

static void cost_keep(const char *codelet, unsigned class, const struct wave_tile_cost *cost,
                      double doubtful)
{
	struct heddle_profile_record record;

	heddle_profile_record_init(&record, "wavefront");
	heddle_profile_record_text(&record, "device", heddle_device_class_name(class));
	heddle_profile_record_results(&record);
	heddle_profile_record_number(&record, "cp", cost->iteration);
	heddle_profile_record_number(&record, "cr", cost->row);
	heddle_profile_record_number(&record, "column", cost->column);
	heddle_profile_record_number(&record, "overhead", cost->us);
	heddle_profile_record_number(&record, "doubt", doubtful);
	record_keep(codelet, &record);
}

/* ---- costs in this process ---- */

/* Mutex held. */
static struct known_cost *cost_of(const char *codelet, unsigned class)
{
	struct known_cost *known_cost = known.costs;

	while (known_cost && (known_cost->class != class || strcmp(known_cost->codelet, codelet)))
		known_cost = known_cost->next;
	return known_cost;
}

/* Mutex held. */
static struct known_cost *cost_add(const char *codelet, unsigned class,
                                   const struct wave_tile_cost *cost)
{
	struct known_cost *known_cost = malloc(sizeof(*known_cost) + strlen(codelet) + 1);

	if (!known_cost)
		return NULL;
	known_cost->class = class;
	known_cost->cost = *cost;
	known_cost->doubtful = known_cost->doubtful_handover = 1;
	strcpy(known_cost->codelet, codelet);
	known_cost->next = known.costs;
	known.costs = known_cost;
	return known_cost;
}

/* What the description of a simulated machine says. */
static bool simulated_cost(const struct heddle_wavefront_request *wave,
                           const struct wave_worker *worker, struct wave_tile_cost *cost)
{
	const struct heddle_platform *platform = heddle_platform_current();
	size_t total = wave->space.rows * wave->space.columns, n = total / 1000 + 1;
	int device =
	    worker->host ? HEDDLE_PLATFORM_CORE : starpu_worker_get_devid(worker->stats.id);

	if (!HEDDLE_SIMULATED || !platform || device >= (int)platform->naccelerators)
		return false;
	*cost = (struct wave_tile_cost){
	    .iteration = heddle_platform_block_us(platform, device, n, total, 0) / n,
	    .us = SIMULATED_OVERHEAD};
	return true;
}

bool wave_cost_find(const struct heddle_wavefront_request *wave, const struct wave_worker *worker,
                    struct wave_tile_cost *cost)
{
	const char *codelet = codelet_name(wave);
	unsigned class = heddle_device_class(worker->stats.id);
	struct wanted_cost stored = {.device = heddle_device_class_name(class)};
	const struct known_cost *known_cost;
	struct known_cost *added;

	if (HEDDLE_SIMULATED)
		return simulated_cost(wave, worker, cost);
	starpu_pthread_mutex_lock(&known.mutex);
	known_cost = cost_of(codelet, class);
	if (known_cost)
		*cost = known_cost->cost;
	starpu_pthread_mutex_unlock(&known.mutex);
	if (known_cost)
		return true;
	if (profile_store_wanted())
		profile_store_ask(codelet, cost_look, &stored);
	if (!stored.found)
		return false;
	/* Another thread may have found or measured one meanwhile. */
	starpu_pthread_mutex_lock(&known.mutex);
	known_cost = cost_of(codelet, class);
	if (!known_cost) {
		known_cost = added = cost_add(codelet, class, &stored.cost);
		if (added)
			added->doubtful = stored.doubtful;
	}
	if (known_cost)
		*cost = known_cost->cost;
	starpu_pthread_mutex_unlock(&known.mutex);
	return known_cost != NULL;
}

void wave_cost_set(const struct heddle_wavefront_request *wave, const struct wave_worker *worker,
                   struct wave_tile_cost cost)
{
	const char *codelet = codelet_name(wave);
	unsigned class = heddle_device_class(worker->stats.id);
	struct known_cost *known_cost;
	double doubtful = 1;

	if (cost.us < LEAST_OVERHEAD)
		cost.us = LEAST_OVERHEAD;
	starpu_pthread_mutex_lock(&known.mutex);
	known_cost = cost_of(codelet, class);
	if (!known_cost)
		known_cost = cost_add(codelet, class, &cost);
	if (known_cost) {
		known_cost->cost = cost;
		doubtful = known_cost->doubtful;
	}
	starpu_pthread_mutex_unlock(&known.mutex);
	if (known_cost)
		cost_keep(codelet, class, &cost, doubtful);
}

double wave_cost_doubt(const struct heddle_wavefront_request *wave,
                       const struct wave_worker *worker)
{
	const struct known_cost *known_cost;
	double doubtful = 1;

	starpu_pthread_mutex_lock(&known.mutex);
	known_cost = cost_of(codelet_name(wave), heddle_device_class(worker->stats.id));
	if (known_cost)
		doubtful = known_cost->doubtful;
	starpu_pthread_mutex_unlock(&known.mutex);
	return doubtful;
}

/* ---- what a whole wavefront teaches ---- */

/* The speed of several is that of all together. */
double wave_kind_pace(const struct heddle_wavefront_request *wave, unsigned kind, unsigned enough)
{
	double speeds = 0;
	unsigned n = 0;

	for (unsigned l = 0; l < wave->nworkers; l++) {
		const struct wave_worker *worker = &wave->workers[l];

		if (worker->kind != kind || !worker->pace.count || worker->pace.count < enough)
			continue;
		speeds += 1 / heddle_robust_us(&worker->pace);
		n++;
	}
	return n ? n / speeds : 1;
}

/* The shortest of the workers' hand-overs: disturbances only lengthen them. */
static double least_handover(const struct heddle_wavefront_request *wave, unsigned kind)
{
	double least = 0;

	for (unsigned l = 0; l < wave->nworkers; l++) {
		const struct wave_worker *worker = &wave->workers[l];
		double us = heddle_robust_us(&worker->handover);

		if (worker->kind == kind && worker->handover.count >= HEDDLE_ROBUST_RECENT &&
		    (!least || us < least))
			least = us;
	}
	return least;
}

/* Which part of two factors is to be applied: a core that was disturbed once is as fast as
 * before. */
static void confirm(const struct heddle_wavefront_request *wave, const struct wave_worker *worker,
                    double *pace, double *handover)
{
	struct known_cost *known_cost;

	starpu_pthread_mutex_lock(&known.mutex);
	known_cost = cost_of(codelet_name(wave), heddle_device_class(worker->stats.id));
	if (known_cost) {
		*pace = wave_cost_confirm(&known_cost->doubtful, *pace);
		*handover = wave_cost_confirm(&known_cost->doubtful_handover, *handover);
	}
	starpu_pthread_mutex_unlock(&known.mutex);
}

/* By the latest tiles of workers that have done many, else by all tiles of the kind: large ones are
 * few. */
static double kind_pace(const struct heddle_wavefront_request *wave, unsigned kind)
{
	double took = 0, expected = 0;

	for (unsigned l = 0; l < wave->nworkers; l++) {
		const struct wave_worker *worker = &wave->workers[l];

		if (worker->kind != kind)
			continue;
		if (worker->pace.count >= HEDDLE_ROBUST_RECENT)
			return wave_kind_pace(wave, kind, HEDDLE_ROBUST_RECENT);
		took += worker->took_us;
		expected += worker->expected_us;
	}
	return took > 0 && expected > 0 ? took / expected : 1;
}

static void kind_learn(const struct heddle_wavefront_request *wave,
                       const struct wave_worker *worker)
{
	double pace = kind_pace(wave, worker->kind), factor = 1;
	double before = wave_cost_doubt(wave, worker);
	double handover = least_handover(wave, worker->kind);
	struct wave_tile_cost cost;

	if (!wave_cost_find(wave, worker, &cost))
		return;
	if (!wave_model_drifted(1, pace))
		pace = 1;
	if (handover > 0 && handover < LEAST_OVERHEAD)
		handover = LEAST_OVERHEAD;
	if (handover > HANDOVER_DRIFT * cost.us)
		factor = HANDOVER_DRIFT;
	else if (handover > 0 && handover * HANDOVER_DRIFT < cost.us)
		factor = 1.0 / HANDOVER_DRIFT;
	confirm(wave, worker, &pace, &factor);
	/* What is in doubt is kept, too. */
	if (pace == 1 && factor == 1 && wave_cost_doubt(wave, worker) == before)
		return;
	cost.row *= pace;
	cost.column *= pace;
	cost.iteration *= pace;
	cost.us *= factor;
	wave_cost_set(wave, worker, cost);
}

void wave_costs_learn(struct heddle_wavefront_request *wave)
{
	for (unsigned l = 0; l < wave->nworkers && !HEDDLE_SIMULATED; l++) {
		bool first = true;

		for (unsigned other = 0; other < l; other++)
			first = first && wave->workers[other].kind != wave->workers[l].kind;
		if (first)
			kind_learn(wave, &wave->workers[l]);
	}
}

/* ---- teams ---- */

/* The team as a text; false: too long. */
static bool team_print(const struct heddle_wavefront_request *wave, char *text, size_t size)
{
	size_t length = 0;

	*text = '\0';
	for (unsigned l = 0; l < wave->nworkers; l++) {
		unsigned class = heddle_device_class(wave->workers[l].stats.id), n = 0;
		bool first = !wave->workers[l].excluded;

		for (unsigned other = 0; other < wave->nworkers; other++) {
			const struct wave_worker *worker = &wave->workers[other];

			if (worker->excluded || heddle_device_class(worker->stats.id) != class)
				continue;
			first = first && other >= l;
			n++;
		}
		if (!first)
			continue;
		length += snprintf(text + length, size - length, "%s%u %s", length ? " + " : "", n,
		                   heddle_device_class_name(class));
		if (length >= size)
			return false;
	}
	return length > 0;
}

/* The kind of the model that is of a class of that name. */
static int kind_named(const struct heddle_wavefront_request *wave, const char *name, size_t length)
{
	for (unsigned l = 0; l < wave->nworkers; l++) {
		const char *own =
		    heddle_device_class_name(heddle_device_class(wave->workers[l].stats.id));

		if (!strncmp(own, name, length) && !own[length])
			return wave->workers[l].kind;
	}
	return -1;
}

/* The number of workers of each kind in a team's text; false: it names other kinds. */
static bool team_parse(const struct heddle_wavefront_request *wave, const char *text,
                       unsigned *counts)
{
	while (*text) {
		char *name;
		unsigned long n = strtoul(text, &name, 10);
		const char *end = strstr(name, " + ");
		int kind;

		if (name == text || *name != ' ')
			return false;
		name++;
		kind = kind_named(wave, name, end ? (size_t)(end - name) : strlen(name));
		if (kind < 0)
			return false;
		counts[kind] += n;
		text = end ? end + 3 : "";
	}
	return true;
}

/* ---- runs ---- */

/* Mutex held: of exactly this size and about these h and k, added if need be. */
static struct known_run *run_get(const char *codelet, const struct known_run *wanted)
{
	struct known_run *run = known.runs;

	while (run && (run->asked != wanted->asked || run->rows != wanted->rows ||
	               run->columns != wanted->columns || run->sweeps != wanted->sweeps ||
	               strcmp(run->team, wanted->team) ||
	               !wave_choice_is_about(run->h, run->k, wanted->h, wanted->k) ||
	               strcmp(run->codelet, codelet)))
		run = run->next;
	if (run || !(run = malloc(sizeof(*run) + strlen(codelet) + 1)))
		return run;
	*run = *wanted;
	strcpy(run->codelet, codelet);
	run->next = known.runs;
	known.runs = run;
	return run;
}

/* Mutex held. */
static void run_read(const char *codelet, const struct heddle_profile_record *record)
{
	const struct heddle_profile_field *us = heddle_profile_record_field(record, "us");
	const struct heddle_profile_field *pace = heddle_profile_record_field(record, "pace");
	struct known_run wanted = {.rows = last_number(record, "rows"),
	                           .columns = last_number(record, "columns"),
	                           .sweeps = last_number(record, "sweeps")};
	double h = last_number(record, "h"), k = last_number(record, "k");
	double latest = last_number(record, "us");
	struct known_run *run;

	if (!us || !*word(record, "crew") || !(h >= 1 && h <= wanted.columns) ||
	    !(k >= 1 && k <= UINT_MAX))
		return;
	wanted.h = h;
	wanted.k = k;
	wanted.asked = last_number(record, "asked") > 0;
	snprintf(wanted.team, sizeof(wanted.team), "%s", word(record, "crew"));
	run = run_get(codelet, &wanted);
	for (unsigned i = 0; run && i < us->n; i++)
		heddle_robust_add(&run->us, us->numbers[i]);
	if (run)
		run->latest_us = latest;
	for (unsigned i = 0; run && pace && i < pace->n; i++)
		heddle_robust_add(&run->pace, pace->numbers[i]);
}

/* Mutex held. */
static struct reading *reading_of(const char *codelet)
{
	struct reading *reading = known.readings;

	while (reading && strcmp(reading->codelet, codelet))
		reading = reading->next;
	return reading;
}

/* @param arg a profile, to be filled with the records of runs */
static void runs_look(const struct heddle_profile *profile, const char *path, void *arg)
{
	(void)path;
	for (size_t r = 0; r < profile->n; r++)
		if (!strcmp(profile->records[r]->kind, "wavefront_run"))
			heddle_profile_add(arg, profile->records[r]);
}

/* Takes in the codelet's runs of earlier processes, once for each codelet. */
static void runs_read(const char *codelet)
{
	struct heddle_profile runs = {0};
	struct reading *reading;
	bool read;

	starpu_pthread_mutex_lock(&known.mutex);
	read = reading_of(codelet);
	starpu_pthread_mutex_unlock(&known.mutex);
	if (read || !(reading = malloc(sizeof(*reading) + strlen(codelet) + 1)))
		return;
	strcpy(reading->codelet, codelet);
	reading->fresh = false;
	if (profile_store_wanted())
		profile_store_ask(codelet, runs_look, &runs);
	/* Another thread may have read them, too. */
	starpu_pthread_mutex_lock(&known.mutex);
	read = reading_of(codelet);
	if (!read) {
		reading->next = known.readings;
		known.readings = reading;
		for (size_t r = 0; r < runs.n; r++)
			run_read(codelet, runs.records[r]);
	}
	starpu_pthread_mutex_unlock(&known.mutex);
	if (read)
		free(reading);
	heddle_profile_free(&runs);
}

static bool is_about(double a, double b)
{
	return a <= b * ABOUT && b <= a * ABOUT;
}

unsigned wave_runs_find(struct heddle_wavefront_request *wave, bool asked, struct wave_run *runs,
                        unsigned room)
{
	const struct wave_space *space = &wave->space;
	const char *codelet = codelet_name(wave);
	unsigned n = 0;

	if (HEDDLE_SIMULATED)
		return 0;
	runs_read(codelet);
	starpu_pthread_mutex_lock(&known.mutex);
	for (const struct known_run *run = known.runs; run && n < room; run = run->next) {
		double part = space->rows * space->columns * (double)wave->sweeps /
		              (run->rows * run->columns * run->sweeps);

		if (run->asked != asked || strcmp(run->codelet, codelet) ||
		    !is_about(run->rows, space->rows) || !is_about(run->columns, space->columns) ||
		    !is_about(run->sweeps, wave->sweeps) || !run->us.count)
			continue;
		runs[n] = (struct wave_run){.h = run->h,
		                            .k = run->k,
		                            .n = run->us.count,
		                            .pace = heddle_robust_us(&run->pace),
		                            .us = heddle_robust_us(&run->us) * part,
		                            .latest_us = run->latest_us * part};
		n += team_parse(wave, run->team, runs[n].counts);
	}
	starpu_pthread_mutex_unlock(&known.mutex);
	return n;
}

bool wave_runs_are_fresh(const struct heddle_wavefront_request *wave)
{
	const struct reading *reading;
	bool fresh;

	starpu_pthread_mutex_lock(&known.mutex);
	reading = reading_of(codelet_name(wave));
	fresh = reading && reading->fresh;
	starpu_pthread_mutex_unlock(&known.mutex);
	return fresh;
}

/* Adds a run to the codelet's profile. */
static void run_record(const char *codelet, const struct known_run *run, double us, double pace)
{
	struct heddle_profile_record record;

	heddle_profile_record_init(&record, "wavefront_run");
	heddle_profile_record_text(&record, "crew", run->team);
	heddle_profile_record_number(&record, "rows", run->rows);
	heddle_profile_record_number(&record, "columns", run->columns);
	heddle_profile_record_number(&record, "sweeps", run->sweeps);
	heddle_profile_record_number(&record, "h", run->h);
	heddle_profile_record_number(&record, "k", run->k);
	if (run->asked)
		heddle_profile_record_number(&record, "asked", 1);
	heddle_profile_record_results(&record);
	heddle_profile_record_number(&record, "us", us);
	heddle_profile_record_number(&record, "pace", pace);
	record_keep(codelet, &record);
}

/* How much longer than estimated all tiles took, if only cores took part: their tiles' costs
 * are well known, so that no other h and k would have helped. */
static double cores_pace(const struct heddle_wavefront_request *wave)
{
	double took = 0, expected = 0;

	for (unsigned l = 0; l < wave->nworkers; l++) {
		const struct wave_worker *worker = &wave->workers[l];

		if (worker->stats.blocks && !worker->host)
			return 1;
		took += worker->took_us;
		expected += worker->expected_us;
	}
	return took > 0 && expected > 0 ? took / expected : 1;
}

void wave_run_keep(struct heddle_wavefront_request *wave)
{
	struct known_run wanted = {.rows = wave->space.rows,
	                           .columns = wave->space.columns,
	                           .sweeps = wave->sweeps,
	                           .h = wave->chosen_columns,
	                           .k = wave->bands_per_worker,
	                           .asked = !wave->free},
	                 *run;
	double us = wave->end_us - wave->start_us, pace = cores_pace(wave);
	const char *codelet = codelet_name(wave);
	struct reading *reading;
	bool counts;

	if (HEDDLE_SIMULATED || !wave->chosen_columns ||
	    !team_print(wave, wanted.team, sizeof(wanted.team)))
		return;
	starpu_pthread_mutex_lock(&known.mutex);
	run = run_get(codelet, &wanted);
	if (run) {
		run->latest_us = us;
		heddle_robust_add(&run->us, us);
		heddle_robust_add(&run->pace, pace);
	}
	reading = reading_of(codelet);
	if (reading)
		reading->fresh = true;
	/* A profile has no more runs than a median is taken of. */
	counts = run && run->us.count <= HEDDLE_ROBUST_RECENT;
	starpu_pthread_mutex_unlock(&known.mutex);
	if (counts)
		run_record(codelet, &wanted, us, pace);
}
