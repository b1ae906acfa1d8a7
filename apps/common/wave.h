/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * What apps have in common whose loop is a wavefront: the options --h (columns of a tile) and --k
 * (bands of a worker), the sweep over --h, and how a wavefront stands in for the loop that struct
 * app knows.
 */
#ifndef APPS_COMMON_WAVE_H
#define APPS_COMMON_WAVE_H

#include <heddle/wavefront.h>

#include "apps/common/app.h"

#define APP_WAVE_MAXVARIANTS 24

/** A number of columns of the sweep, and the times with it. Variant 0 is what the command line or
 * the model says, and the one that the report is about. */
struct app_wave_variant {
	size_t tile_columns;
	unsigned n, bands_per_worker;
	double *us;
	double predicted_us; /**< by the model, of the last run; 0: it says nothing */
};

/** A wavefront and its options. An app has one in its own data. */
struct app_wave {
	struct heddle_wavefront wave;
	size_t tile_columns;                 /**< of --h; 0: not given */
	bool sweep;                          /**< --h sweep */
	unsigned bands_per_worker;           /**< of --k; 0: not given */
	const char *csv;                     /**< of --sweep-csv; NULL: not wanted */
	const char *name;                    /**< the app's */
	size_t arg_bytes;                    /**< as of struct app */
	struct heddle_wavefront_stats stats; /**< of the last run with variant 0 */
	int *team;                           /**< of a sweep: the workers of the first run */
	unsigned reps, nvariants, variant;
	struct app_wave_variant variants[APP_WAVE_MAXVARIANTS];
};

/** The options, with the app_wave as their data, and what an option_set's check() does. */
extern const struct option_row app_wave_rows[];
void app_wave_check(void *wave, struct argp_state *state);

/** Makes a loop of what prepare() has put into the wavefront: codelet, rows, columns, sweeps,
 * arrays and vectors. To be called last in it. @return 0; -ENOMEM. */
int app_wave_prepare(struct app_wave *wave, const struct app_options *options,
                     struct heddle_loop *loop);

/** Runs the wavefront once with what app_wave_choose() took; for the app's run(). @return 0; what
 * heddle_wavefront_run() does. */
int app_wave_run(struct app_wave *wave, struct heddle_loop_stats *stats);

/* ---- for app.c and report.c ---- */

/** How often a repetition is to be run: once for each variant of the sweep. */
unsigned app_wave_variants(const struct app_wave *wave);
/** Which variant comes at which turn of a repetition: each time another one begins. */
unsigned app_wave_turn(const struct app_wave *wave, unsigned repetition, unsigned turn);
/** Takes the columns of a variant for the next run. */
void app_wave_choose(struct app_wave *wave, unsigned variant);
/** Stores the time of the run; after the first with variant 0, makes the others. */
void app_wave_took(struct app_wave *wave, double us);
/** Prints what the wavefront chose, and the sweep. */
void app_wave_print(const struct app_wave *wave);
/** Writes the sweep to the file of --sweep-csv. @return 0; -errno, with a message. */
int app_wave_write(const struct app_wave *wave);
void app_wave_free(struct app_wave *wave);

#endif
