/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * What is known of a codelet's wavefronts, from this process and, by its profile, from
 * earlier ones: what tiles cost each class of devices, and how long whole wavefronts took
 * which crew.
 */
#include "config.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "estimator/estimate_starpu.h"
#include "support/message.h"
#include "estimator/platform_starpu.h"
#include "estimator/profile_file.h"
#include "support/variables.h"
#include "wavefront_private.h"

/* No task costs less than this, µs, whatever a measurement says. */
#define LEAST_OVERHEAD 4
/* What simulated ones are taken to cost, as most of StarPU's simulated costs are. */
#define SIMULATED_OVERHEAD 5
/* Hand-overs vary with what else the machine does: from one wavefront to the next they
 * count for at most this factor. */
#define HANDOVER_DRIFT 2
/* Sides of loops that differ by less than this count as about as large. */
#define ABOUT 1.1

struct speed {
	struct speed *next;
	unsigned class; /* of devices */
	struct tile_cost cost;
	/* What the last wavefront said that the one before did not: factors of the cost of tiles'
	 * contents, and of their hand-over. */
	double doubtful, doubtful_handover;
	char codelet[];
};

/* A crew's wavefronts of one size, with about the same h and k. */
struct trial {
	struct trial *next;
	double rows, columns, sweeps;
	size_t h;
	unsigned k;
	struct heddle_robust us, pace;
	char crew[HEDDLE_PROFILE_TEXT]; /* "15 cpu NAME + 1 cuda NAME" */
	char codelet[];
};

/* A codelet whose trials in earlier processes have been read. */
struct reading {
	struct reading *next;
	bool fresh; /* this process has added to them */
	char codelet[];
};

/* What is known in this process; under a mutex, for good. */
static struct {
	starpu_pthread_mutex_t mutex;
	struct speed *speeds;
	struct trial *trials;
	struct reading *readings;
} known = {.mutex = STARPU_PTHREAD_MUTEX_INITIALIZER};

static const char *codelet_name(const struct heddle_wavefront_request *wave)
{
	const char *name = wave->given.codelet->name;

	return name ? name : wave->name;
}

/* ---- stored speeds ---- */

static bool profiles_wanted(void)
{
	return !WAVE_SIMULATED && heddle_variable_number(HEDDLE_VARIABLE_PROFILE);
}

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
                      struct tile_cost *cost)
{
	if (strcmp(record->kind, "wavefront") || strcmp(word(record, "device"), device))
		return false;
	*cost = (struct tile_cost){.us = last_number(record, "overhead"),
	                           .row = last_number(record, "cr"),
	                           .column = last_number(record, "column"),
	                           .iteration = last_number(record, "cp")};
	return cost->iteration > 0 && cost->us >= 0 && cost->row >= 0 && cost->column >= 0;
}

static bool profile_open(const char *codelet, struct heddle_profile *profile)
{
	char path[PATH_MAX];

	return profiles_wanted() && !heddle_profile_path(codelet, path, sizeof(path)) &&
	       !heddle_profile_read(path, profile);
}

static bool profile_find(const char *codelet, const char *device, struct tile_cost *cost)
{
	struct heddle_profile profile = {0};
	bool found = false;

	if (!profile_open(codelet, &profile))
		return false;
	for (size_t r = 0; r < profile.n && !found; r++)
		found = cost_read(profile.records[r], device, cost);
	heddle_profile_free(&profile);
	return found;
}

static void profile_add(const char *codelet, struct heddle_profile_record *record)
{
	struct heddle_profile profile = {0};
	char path[PATH_MAX];

	heddle_profile_record_number(record, "samples", 1);
	heddle_profile_record_number(record, "at", time(NULL));
	if (!heddle_profile_path(codelet, path, sizeof(path)) &&
	    !heddle_profile_add(&profile, record))
		heddle_profile_update(path, &profile);
	heddle_profile_free(&profile);
}

static void profile_keep(const struct speed *speed)
{
	struct heddle_profile_record record;

	if (!profiles_wanted())
		return;
	heddle_profile_record_init(&record, "wavefront");
	heddle_profile_record_text(&record, "device", heddle_device_class_name(speed->class));
	heddle_profile_record_results(&record);
	heddle_profile_record_number(&record, "cp", speed->cost.iteration);
	heddle_profile_record_number(&record, "cr", speed->cost.row);
	heddle_profile_record_number(&record, "column", speed->cost.column);
	heddle_profile_record_number(&record, "overhead", speed->cost.us);
	profile_add(speed->codelet, &record);
}

/* ---- speeds of this process ---- */

/* Mutex held. */
static struct speed *speed_of(const char *codelet, unsigned class)
{
	struct speed *speed = known.speeds;

	while (speed && (speed->class != class || strcmp(speed->codelet, codelet)))
		speed = speed->next;
	return speed;
}

/* Mutex held. */
static struct speed *speed_add(const char *codelet, unsigned class, const struct tile_cost *cost)
{
	struct speed *speed = malloc(sizeof(*speed) + strlen(codelet) + 1);

	if (!speed)
		return NULL;
	speed->class = class;
	speed->cost = *cost;
	speed->doubtful = speed->doubtful_handover = 1;
	strcpy(speed->codelet, codelet);
	speed->next = known.speeds;
	known.speeds = speed;
	return speed;
}

/* A simulated machine is what its description says. */
static bool simulated_speed(const struct heddle_wavefront_request *wave, const struct lane *lane,
                            struct tile_cost *cost)
{
	const struct heddle_platform *platform = heddle_platform_current();
	size_t total = wave->space.rows * wave->space.columns, n = total / 1000 + 1;
	int device = lane->home ? HEDDLE_PLATFORM_CORE : starpu_worker_get_devid(lane->stats.id);

	if (!WAVE_SIMULATED || !platform || device >= (int)platform->naccelerators)
		return false;
	*cost = (struct tile_cost){.iteration =
	                               heddle_platform_block_us(platform, device, n, total, 0) / n,
	                           .us = SIMULATED_OVERHEAD};
	return true;
}

bool speed_find(const struct heddle_wavefront_request *wave, const struct lane *lane,
                struct tile_cost *cost)
{
	const char *codelet = codelet_name(wave);
	unsigned class = heddle_device_class(lane->stats.id);
	const struct speed *speed;

	if (WAVE_SIMULATED)
		return simulated_speed(wave, lane, cost);
	starpu_pthread_mutex_lock(&known.mutex);
	speed = speed_of(codelet, class);
	if (!speed && profile_find(codelet, heddle_device_class_name(class), cost))
		speed = speed_add(codelet, class, cost);
	if (speed)
		*cost = speed->cost;
	starpu_pthread_mutex_unlock(&known.mutex);
	return speed != NULL;
}

void speed_set(const struct heddle_wavefront_request *wave, const struct lane *lane,
               struct tile_cost cost)
{
	const char *codelet = codelet_name(wave);
	unsigned class = heddle_device_class(lane->stats.id);
	struct speed *speed;

	if (cost.us < LEAST_OVERHEAD)
		cost.us = LEAST_OVERHEAD;
	starpu_pthread_mutex_lock(&known.mutex);
	speed = speed_of(codelet, class);
	if (!speed)
		speed = speed_add(codelet, class, &cost);
	if (speed) {
		speed->cost = cost;
		profile_keep(speed);
	}
	starpu_pthread_mutex_unlock(&known.mutex);
}

/* ---- what a whole wavefront teaches ---- */

/* The shortest of the lanes' hand-overs: disturbances only lengthen them. */
static double least_handover(const struct heddle_wavefront_request *wave, unsigned kind)
{
	double least = 0;

	for (unsigned l = 0; l < wave->nlanes; l++) {
		const struct lane *lane = &wave->lanes[l];
		double us = heddle_robust_us(&lane->handover);

		if (lane->kind == kind && lane->handover.count >= HEDDLE_ROBUST_RECENT &&
		    (!least || us < least))
			least = us;
	}
	return least;
}

/* What of two factors is to be applied: a core that others have disturbed once is as fast as
 * before. */
static void confirm(const struct heddle_wavefront_request *wave, const struct lane *lane,
                    double *pace, double *handover)
{
	struct speed *speed;

	starpu_pthread_mutex_lock(&known.mutex);
	speed = speed_of(codelet_name(wave), heddle_device_class(lane->stats.id));
	if (speed) {
		*pace = tile_cost_confirm(&speed->doubtful, *pace);
		*handover = tile_cost_confirm(&speed->doubtful_handover, *handover);
	}
	starpu_pthread_mutex_unlock(&known.mutex);
}

static void kind_learn(const struct heddle_wavefront_request *wave, const struct lane *lane)
{
	double pace = kind_pace(wave, lane->kind, HEDDLE_ROBUST_RECENT), factor = 1;
	double handover = least_handover(wave, lane->kind);
	struct tile_cost cost;

	if (!speed_find(wave, lane, &cost))
		return;
	if (!interval_drifted(1, pace))
		pace = 1;
	if (handover > 0 && handover < LEAST_OVERHEAD)
		handover = LEAST_OVERHEAD;
	if (handover > HANDOVER_DRIFT * cost.us)
		factor = HANDOVER_DRIFT;
	else if (handover > 0 && handover * HANDOVER_DRIFT < cost.us)
		factor = 1.0 / HANDOVER_DRIFT;
	confirm(wave, lane, &pace, &factor);
	if (pace == 1 && factor == 1)
		return;
	cost.row *= pace;
	cost.column *= pace;
	cost.iteration *= pace;
	cost.us *= factor;
	speed_set(wave, lane, cost);
}

void speeds_learn(struct heddle_wavefront_request *wave)
{
	for (unsigned l = 0; l < wave->nlanes && !WAVE_SIMULATED; l++) {
		bool first = true;

		for (unsigned other = 0; other < l; other++)
			first = first && wave->lanes[other].kind != wave->lanes[l].kind;
		if (first)
			kind_learn(wave, &wave->lanes[l]);
	}
}

/* ---- crews ---- */

/* Who of the wavefront's lanes has taken part, in words; false: too long. */
static bool crew_print(const struct heddle_wavefront_request *wave, char *text, size_t size)
{
	size_t length = 0;

	*text = '\0';
	for (unsigned l = 0; l < wave->nlanes; l++) {
		unsigned class = heddle_device_class(wave->lanes[l].stats.id), n = 0;
		bool first = !wave->lanes[l].excluded;

		for (unsigned other = 0; other < wave->nlanes; other++) {
			const struct lane *lane = &wave->lanes[other];

			if (lane->excluded || heddle_device_class(lane->stats.id) != class)
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
	for (unsigned l = 0; l < wave->nlanes; l++) {
		const char *own =
		    heddle_device_class_name(heddle_device_class(wave->lanes[l].stats.id));

		if (!strncmp(own, name, length) && !own[length])
			return wave->lanes[l].kind;
	}
	return -1;
}

/* The number of workers of each kind that the words say; false: there are others. */
static bool crew_parse(const struct heddle_wavefront_request *wave, const char *text,
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

/* ---- trials ---- */

/* Mutex held: of exactly this size and about these h and k, added if need be. */
static struct trial *trial_get(const char *codelet, const struct trial *wanted)
{
	struct trial *trial = known.trials;

	while (trial && (trial->rows != wanted->rows || trial->columns != wanted->columns ||
	                 trial->sweeps != wanted->sweeps || strcmp(trial->crew, wanted->crew) ||
	                 !choice_is_about(trial->h, trial->k, wanted->h, wanted->k) ||
	                 strcmp(trial->codelet, codelet)))
		trial = trial->next;
	if (trial || !(trial = malloc(sizeof(*trial) + strlen(codelet) + 1)))
		return trial;
	*trial = *wanted;
	strcpy(trial->codelet, codelet);
	trial->next = known.trials;
	known.trials = trial;
	return trial;
}

/* Mutex held. */
static void trial_read(const char *codelet, const struct heddle_profile_record *record)
{
	const struct heddle_profile_field *us = heddle_profile_record_field(record, "us");
	const struct heddle_profile_field *pace = heddle_profile_record_field(record, "pace");
	struct trial wanted = {.rows = last_number(record, "rows"),
	                       .columns = last_number(record, "columns"),
	                       .sweeps = last_number(record, "sweeps")};
	double h = last_number(record, "h"), k = last_number(record, "k");
	struct trial *trial;

	if (strcmp(record->kind, "wavefront_run") || !us || !*word(record, "crew") ||
	    !(h >= 1 && h <= wanted.columns) || !(k >= 1 && k <= UINT_MAX))
		return;
	wanted.h = h;
	wanted.k = k;
	snprintf(wanted.crew, sizeof(wanted.crew), "%s", word(record, "crew"));
	trial = trial_get(codelet, &wanted);
	for (unsigned i = 0; trial && i < us->n; i++)
		heddle_robust_add(&trial->us, us->numbers[i]);
	for (unsigned i = 0; trial && pace && i < pace->n; i++)
		heddle_robust_add(&trial->pace, pace->numbers[i]);
}

/* Mutex held. */
static struct reading *reading_of(const char *codelet)
{
	struct reading *reading = known.readings;

	while (reading && strcmp(reading->codelet, codelet))
		reading = reading->next;
	return reading;
}

/* Mutex held: once for each codelet. */
static void trials_read(const char *codelet)
{
	struct heddle_profile profile = {0};
	struct reading *reading = reading_of(codelet);

	if (reading || !(reading = malloc(sizeof(*reading) + strlen(codelet) + 1)))
		return;
	strcpy(reading->codelet, codelet);
	reading->fresh = false;
	reading->next = known.readings;
	known.readings = reading;
	if (!profile_open(codelet, &profile))
		return;
	for (size_t r = 0; r < profile.n; r++)
		trial_read(codelet, profile.records[r]);
	heddle_profile_free(&profile);
}

static bool is_about(double a, double b)
{
	return a <= b * ABOUT && b <= a * ABOUT;
}

unsigned trials_find(struct heddle_wavefront_request *wave, struct choice_trial *trials,
                     unsigned room)
{
	const struct space *space = &wave->space;
	const char *codelet = codelet_name(wave);
	unsigned n = 0;

	if (WAVE_SIMULATED)
		return 0;
	starpu_pthread_mutex_lock(&known.mutex);
	trials_read(codelet);
	for (const struct trial *trial = known.trials; trial && n < room; trial = trial->next) {
		double iterations = trial->rows * trial->columns * trial->sweeps;

		if (strcmp(trial->codelet, codelet) || !is_about(trial->rows, space->rows) ||
		    !is_about(trial->columns, space->columns) ||
		    !is_about(trial->sweeps, wave->sweeps) || !trial->us.count)
			continue;
		trials[n] = (struct choice_trial){.h = trial->h,
		                                  .k = trial->k,
		                                  .n = trial->us.count,
		                                  .pace = heddle_robust_us(&trial->pace),
		                                  .us = heddle_robust_us(&trial->us) * space->rows *
		                                        space->columns * wave->sweeps / iterations};
		n += crew_parse(wave, trial->crew, trials[n].counts);
	}
	starpu_pthread_mutex_unlock(&known.mutex);
	return n;
}

bool trials_are_fresh(const struct heddle_wavefront_request *wave)
{
	const struct reading *reading;
	bool fresh;

	starpu_pthread_mutex_lock(&known.mutex);
	reading = reading_of(codelet_name(wave));
	fresh = reading && reading->fresh;
	starpu_pthread_mutex_unlock(&known.mutex);
	return fresh;
}

/* Without the mutex: it writes a file. */
static void trial_record(const char *codelet, const struct trial *trial, double us, double pace)
{
	struct heddle_profile_record record;

	heddle_profile_record_init(&record, "wavefront_run");
	heddle_profile_record_text(&record, "crew", trial->crew);
	heddle_profile_record_number(&record, "rows", trial->rows);
	heddle_profile_record_number(&record, "columns", trial->columns);
	heddle_profile_record_number(&record, "sweeps", trial->sweeps);
	heddle_profile_record_number(&record, "h", trial->h);
	heddle_profile_record_number(&record, "k", trial->k);
	heddle_profile_record_results(&record);
	heddle_profile_record_number(&record, "us", us);
	heddle_profile_record_number(&record, "pace", pace);
	profile_add(codelet, &record);
}

/* How much longer than expected all tiles took, if cores were among themselves: what tiles cost
 * them is well known, so that no other h and k would have helped. */
static double cores_pace(const struct heddle_wavefront_request *wave)
{
	double took = 0, expected = 0;

	for (unsigned l = 0; l < wave->nlanes; l++) {
		const struct lane *lane = &wave->lanes[l];

		if (lane->stats.blocks && !lane->home)
			return 1;
		took += lane->took_us;
		expected += lane->expected_us;
	}
	return took > 0 && expected > 0 ? took / expected : 1;
}

void trial_keep(struct heddle_wavefront_request *wave)
{
	struct trial wanted = {.rows = wave->space.rows,
	                       .columns = wave->space.columns,
	                       .sweeps = wave->sweeps,
	                       .h = wave->chosen_h,
	                       .k = wave->k},
	             *trial;
	double us = wave->end_us - wave->start_us, pace = cores_pace(wave);
	const char *codelet = codelet_name(wave);
	struct reading *reading;
	bool wants_record;

	if (WAVE_SIMULATED || !wave->chosen_h ||
	    !crew_print(wave, wanted.crew, sizeof(wanted.crew)))
		return;
	starpu_pthread_mutex_lock(&known.mutex);
	trial = trial_get(codelet, &wanted);
	if (trial)
		heddle_robust_add(&trial->us, us);
	if (trial)
		heddle_robust_add(&trial->pace, pace);
	reading = reading_of(codelet);
	if (reading)
		reading->fresh = true;
	/* As many as count are enough: files are slow. */
	wants_record = trial && trial->us.count <= HEDDLE_ROBUST_RECENT;
	starpu_pthread_mutex_unlock(&known.mutex);
	if (wants_record && profiles_wanted())
		trial_record(codelet, &wanted, us, pace);
}
