/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Measured: what an iteration and a tile cost each kind of worker. A kernel of which
 * nothing is known runs on a piece of the loop, with copies of the arrays, four tiles in
 * a row, and on larger and larger pieces until the iterations outweigh the rest: from
 * the first and the last piece follow c_p and what a tile costs besides (its hand-over
 * from task to task, the launch of its kernel). What whole wavefronts take afterwards
 * corrects c_p. Speeds are kept in the codelet's profile.
 */
#include "config.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "private/estimate_starpu.h"
#include "private/message.h"
#include "private/platform_starpu.h"
#include "private/profile_file.h"
#include "private/variables.h"
#include "wavefront_private.h"

enum {
	PIECE_ROWS = 32, /* the first piece's */
	PIECE_H = 64,
	PIECE_TILES = 4,
	PIECE_GROWTH = 16,
	PIECES = 4 /* at the most */
};
/* Pieces grow until a tile takes this many times what the first one took. */
#define OUTWEIGHS 4
/* No task costs less than this, µs, whatever a measurement says. */
#define LEAST_OVERHEAD 1
/* What simulated ones are taken to cost, as most of StarPU's simulated costs are. */
#define SIMULATED_OVERHEAD 5
/* Hand-overs vary with what else the machine does: this factor counts. */
#define HANDOVER_DRIFT 2
/* No larger piece after one that took this long, µs. */
#define LONGEST 3000
/* Iterations of a loop that is over before anything is known. */
#define WORTH_MEASURING (1 << 16)

struct speed {
	struct speed *next;
	unsigned class; /* of devices */
	double cp, overhead;
	char codelet[];
};

/* What is known in this process; under a mutex, for good. */
static struct {
	starpu_pthread_mutex_t mutex;
	struct speed *speeds;
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

static bool is_about(const struct heddle_profile_record *record, const char *device)
{
	const struct heddle_profile_field *field = heddle_profile_record_field(record, "device");

	return !strcmp(record->kind, "wavefront") && field && !field->n &&
	       !strcmp(field->text, device);
}

static bool profile_find(const char *codelet, const char *device, double *cp, double *overhead)
{
	struct heddle_profile profile = {0};
	char path[PATH_MAX];
	bool found = false;

	if (!profiles_wanted() || heddle_profile_path(codelet, path, sizeof(path)) ||
	    heddle_profile_read(path, &profile))
		return false;
	for (size_t r = 0; r < profile.n && !found; r++) {
		if (!is_about(profile.records[r], device))
			continue;
		*cp = last_number(profile.records[r], "cp");
		*overhead = last_number(profile.records[r], "overhead");
		found = *cp > 0 && *overhead >= 0;
	}
	heddle_profile_free(&profile);
	return found;
}

static void profile_keep(const struct speed *speed)
{
	struct heddle_profile profile = {0};
	struct heddle_profile_record record;
	char path[PATH_MAX];

	if (!profiles_wanted() || heddle_profile_path(speed->codelet, path, sizeof(path)))
		return;
	heddle_profile_record_init(&record, "wavefront");
	heddle_profile_record_text(&record, "device", heddle_device_class_name(speed->class));
	heddle_profile_record_results(&record);
	heddle_profile_record_number(&record, "cp", speed->cp);
	heddle_profile_record_number(&record, "overhead", speed->overhead);
	heddle_profile_record_number(&record, "samples", 1);
	heddle_profile_record_number(&record, "at", time(NULL));
	if (!heddle_profile_add(&profile, &record))
		heddle_profile_update(path, &profile);
	heddle_profile_free(&profile);
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
static struct speed *speed_add(const char *codelet, unsigned class, double cp, double overhead)
{
	struct speed *speed = malloc(sizeof(*speed) + strlen(codelet) + 1);

	if (!speed)
		return NULL;
	speed->class = class;
	speed->cp = cp;
	speed->overhead = overhead;
	strcpy(speed->codelet, codelet);
	speed->next = known.speeds;
	known.speeds = speed;
	return speed;
}

/* A simulated machine is what its description says. */
static bool simulated_speed(const struct heddle_wavefront_request *wave, const struct lane *lane,
                            double *cp, double *overhead)
{
	const struct heddle_platform *platform = heddle_platform_current();
	size_t total = wave->space.rows * wave->space.columns, n = total / 1000 + 1;
	int device = lane->home ? HEDDLE_PLATFORM_CORE : starpu_worker_get_devid(lane->stats.id);

	if (!WAVE_SIMULATED || !platform || device >= (int)platform->naccelerators)
		return false;
	*cp = heddle_platform_block_us(platform, device, n, total, 0) / n;
	*overhead = SIMULATED_OVERHEAD;
	return true;
}

bool speed_find(const struct heddle_wavefront_request *wave, const struct lane *lane, double *cp,
                double *overhead)
{
	const char *codelet = codelet_name(wave);
	unsigned class = heddle_device_class(lane->stats.id);
	const struct speed *speed;

	if (WAVE_SIMULATED)
		return simulated_speed(wave, lane, cp, overhead);
	starpu_pthread_mutex_lock(&known.mutex);
	speed = speed_of(codelet, class);
	if (!speed && profile_find(codelet, heddle_device_class_name(class), cp, overhead))
		speed = speed_add(codelet, class, *cp, *overhead);
	if (speed) {
		*cp = speed->cp;
		*overhead = speed->overhead;
	}
	starpu_pthread_mutex_unlock(&known.mutex);
	return speed != NULL;
}

static void speed_set(const struct heddle_wavefront_request *wave, const struct lane *lane,
                      double cp, double overhead)
{
	const char *codelet = codelet_name(wave);
	unsigned class = heddle_device_class(lane->stats.id);
	struct speed *speed;

	starpu_pthread_mutex_lock(&known.mutex);
	speed = speed_of(codelet, class);
	if (!speed)
		speed = speed_add(codelet, class, cp, overhead);
	if (speed) {
		speed->cp = cp;
		speed->overhead = overhead > LEAST_OVERHEAD ? overhead : LEAST_OVERHEAD;
		profile_keep(speed);
	}
	starpu_pthread_mutex_unlock(&known.mutex);
}

void speeds_learn(struct heddle_wavefront_request *wave)
{
	for (unsigned l = 0; l < wave->nlanes && !WAVE_SIMULATED; l++) {
		const struct lane *lane = &wave->lanes[l];
		double us = heddle_robust_us(&lane->us),
		       handover = heddle_robust_us(&lane->handover);
		double cp, overhead;
		bool first = true;

		/* One of each kind tells enough. */
		for (unsigned other = 0; other < l; other++)
			first = first && wave->lanes[other].kind != lane->kind;
		if (first && lane->us.count >= HEDDLE_ROBUST_RECENT &&
		    speed_find(wave, lane, &cp, &overhead) &&
		    (interval_drifted(cp, us) || handover > HANDOVER_DRIFT * overhead ||
		     (handover > 0 && overhead > HANDOVER_DRIFT * handover)))
			speed_set(wave, lane, us, handover > 0 ? handover : overhead);
	}
}

/* ---- pieces ---- */

struct measurement {
	struct heddle_wavefront_request *wave;
	struct lane *lane;
	unsigned pieces; /* measured so far of this lane */
	size_t rows, h;
	double first_n, first_us; /* iterations and time of the first piece's tiles */
	double begin_us;
	bool growing_rows;
};

/* The next lane of which nothing is known. */
static struct lane *lane_unknown(struct heddle_wavefront_request *wave)
{
	double cp, overhead;

	for (unsigned l = 0; l < wave->nlanes; l++)
		if (!speed_find(wave, &wave->lanes[l], &cp, &overhead))
			return &wave->lanes[l];
	return NULL;
}

static void measurement_end(struct measurement *measurement)
{
	struct heddle_wavefront_request *wave = measurement->wave;

	wave->measuring_us = starpu_timing_now() - measurement->begin_us;
	wave->measurement = NULL;
	free(measurement);
	wave_go(wave);
	wave_release(wave);
}

static void measurement_next(struct measurement *measurement);

static void piece_start(struct measurement *measurement)
{
	struct heddle_wavefront_request *wave = measurement->wave, *piece;
	size_t rows = measurement->rows, columns = measurement->h * PIECE_TILES;

	if (rows > wave->space.rows)
		rows = wave->space.rows;
	if (columns > wave->space.columns)
		columns = wave->space.columns;
	piece = wave_piece(wave, measurement->lane, rows, columns,
	                   (columns + PIECE_TILES - 1) / PIECE_TILES);
	if (!piece) {
		heddle_warn("wavefront %s: no memory to measure %s", wave->name,
		            measurement->lane->stats.name);
		measurement_end(measurement);
		return;
	}
	wave_go(piece);
	wave_release(piece);
}

static void lane_measured(struct measurement *measurement, double cp, double overhead)
{
	struct heddle_wavefront_request *wave = measurement->wave;

	heddle_explain("wavefront %s: on %s an iteration takes %.3g us, a tile %.3g besides",
	               wave->name, measurement->lane->stats.name, cp, overhead);
	speed_set(wave, measurement->lane, cp, overhead);
	measurement_next(measurement);
}

/* Another piece; or what the last one says, or the line through it and the first. */
static void piece_evaluate(struct measurement *measurement, const struct lane *lane, double n,
                           double us, bool largest)
{
	double cp, overhead;

	if (!measurement->pieces++) {
		measurement->first_n = n;
		measurement->first_us = us;
	}
	if (measurement->pieces < PIECES && !largest && us * PIECE_TILES < LONGEST &&
	    us < OUTWEIGHS * measurement->first_us) {
		measurement->rows *= PIECE_GROWTH / 4;
		measurement->h *= 4;
		piece_start(measurement);
		return;
	}
	if (lane->home && lane->us.count) {
		lane_measured(measurement, heddle_robust_us(&lane->us),
		              heddle_robust_us(&lane->handover));
		return;
	}
	cp = us / n;
	overhead = 0;
	if (n > measurement->first_n && us > measurement->first_us) {
		cp = (us - measurement->first_us) / (n - measurement->first_n);
		overhead = us - cp * n;
	}
	lane_measured(measurement, cp, overhead > 0 ? overhead : 0);
}

void piece_measured(struct heddle_wavefront_request *piece)
{
	struct heddle_wavefront_request *wave = piece->whole;
	const struct lane *lane = &piece->lanes[0];
	double n = (double)piece->space.rows * piece->space.columns;
	bool largest =
	    piece->space.rows == wave->space.rows || piece->space.columns == wave->space.columns;
	/* The first tile, which may have loaded the kernel, does not count. */
	double us = heddle_robust_us(&lane->between);

	if (lane->stats.blocks)
		n /= lane->stats.blocks;
	if (piece->status || !(us > 0)) {
		/* Nothing is learned: the loop itself will tell. */
		if (piece->status && !wave->status)
			wave->status = piece->status;
		measurement_end(wave->measurement);
		return;
	}
	piece_evaluate(wave->measurement, lane, n, us, largest);
}

static void measurement_next(struct measurement *measurement)
{
	measurement->lane = lane_unknown(measurement->wave);
	measurement->pieces = 0;
	measurement->rows = PIECE_ROWS;
	measurement->h = PIECE_H;
	if (measurement->lane)
		piece_start(measurement);
	else
		measurement_end(measurement);
}

/* Whether speeds would change what is done, and pay. */
static bool is_wanted(const struct heddle_wavefront_request *wave)
{
	double iterations = (double)wave->space.rows * wave->space.columns * wave->sweeps;

	if (WAVE_SIMULATED || iterations < WORTH_MEASURING)
		return false;
	if (!wave->h || !wave->k)
		return true;
	for (unsigned l = 1; l < wave->nlanes; l++)
		if (heddle_device_class(wave->lanes[l].stats.id) !=
		    heddle_device_class(wave->lanes[0].stats.id))
			return wave->placement == PLACE_BY_SPEED;
	return false;
}

void wave_measure(struct heddle_wavefront_request *wave)
{
	struct measurement *measurement =
	    is_wanted(wave) && lane_unknown(wave) ? calloc(1, sizeof(*measurement)) : NULL;

	if (!measurement) {
		wave_go(wave);
		wave_release(wave);
		return;
	}
	wave->measurement = measurement;
	measurement->wave = wave;
	measurement->begin_us = starpu_timing_now();
	measurement_next(measurement);
}
