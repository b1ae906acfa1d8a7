/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "config.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/message.h"
#include "support/output.h"
#include "apps/common/file.h"
#include "apps/common/ranks.h"
#include "apps/common/sweep.h"
#include "apps/common/wave.h"

/* ---- options ---- */

static void parse_h(void *data, char *text, struct argp_state *state)
{
	struct app_wave *wave = data;
	uint64_t value = 0;

	wave->sweep = !strcmp(text, "sweep");
	if (!wave->sweep && options_number(text, 1, UINT32_MAX, &value))
		argp_error(state, "--h %s: neither \"sweep\" nor a whole number from 1 to %u", text,
		           UINT32_MAX);
	wave->tile_columns = value;
}

const struct option_row app_wave_rows[] = {
    {"h", "N|sweep", "Columns of a tile (default: by the model); sweep: also those around it",
     PARSED(parse_h)},
    {"k", "N", "Bands of rows per worker (default: by the model)",
     NUMBER(struct app_wave, bands_per_worker, 1, 1 << 20)},
    {"sweep-csv", "FILE",
     "With --h sweep: each h with its predicted and measured time, for heddle plot",
     TEXT(struct app_wave, csv)},
    {0},
};

void app_wave_check(void *data, struct argp_state *state)
{
	const struct app_wave *wave = data;

	if (wave->csv && !wave->sweep)
		argp_error(state, "--sweep-csv without --h sweep");
}

/* ---- as a loop ---- */

int app_wave_prepare(struct app_wave *wave, const struct app_options *common,
                     struct heddle_loop *loop)
{
	struct heddle_wavefront *given = &wave->wave;

	given->name = loop->name;
	wave->name = loop->name ? loop->name : given->codelet->name;
	given->strategy = loop->strategy;
	given->workers = loop->workers;
	given->nworkers = loop->nworkers;
	given->tile_columns = wave->tile_columns;
	given->bands_per_worker = wave->bands_per_worker;
	for (unsigned i = 0; i < given->narrays; i++)
		loop->accesses[loop->naccesses++] = (struct heddle_access){
		    .handle = given->arrays[i].handle, .mode = given->arrays[i].mode};
	loop->codelet = given->codelet;
	loop->n = given->rows * given->columns * (given->sweeps ? given->sweeps : 1);
	wave->reps = common->reps;
	wave->nvariants = 1;
	return heddle_output_check(wave->csv);
}

int app_wave_run(struct app_wave *wave, struct heddle_loop_stats *stats)
{
	struct heddle_wavefront_stats *own = calloc(1, sizeof(*own));
	int status;

	if (!own)
		return heddle_refuse(-ENOMEM, "no memory for statistics");
	status = ranks_used() ? ranks_wave_run(&wave->wave, wave->arg_bytes, own)
	                      : heddle_wavefront_run(&wave->wave, own);
	*stats = (struct heddle_loop_stats){.us = own->us,
	                                    .overhead_us = own->overhead_us,
	                                    .blocks = own->tiles,
	                                    .nworkers = own->nworkers};
	memcpy(stats->strategy, own->strategy, sizeof(stats->strategy));
	memcpy(stats->workers, own->workers, own->nworkers * sizeof(*own->workers));
	if (!wave->variant)
		wave->stats = *own;
	wave->variants[wave->variant].predicted_us = own->model_us;
	wave->variants[wave->variant].bands_per_worker = own->bands_per_worker;
	free(own);
	return status;
}

/* ---- the sweep ---- */

unsigned app_wave_variants(const struct app_wave *wave)
{
	return wave->nvariants;
}

/* Keeps the workers of the first run, so that nothing but the columns differs from it. */
static void keep_team(struct app_wave *wave)
{
	const struct heddle_wavefront_stats *stats = &wave->stats;
	unsigned n = 0;

	wave->team = calloc(stats->nworkers ? stats->nworkers : 1, sizeof(*wave->team));
	for (unsigned w = 0; w < stats->nworkers && wave->team; w++)
		if (stats->workers[w].iterations)
			wave->team[n++] = stats->workers[w].id;
	if (!n)
		return;
	wave->wave.workers = wave->team;
	wave->wave.nworkers = n;
}

unsigned app_wave_turn(const struct app_wave *wave, unsigned repetition, unsigned turn)
{
	return (turn + repetition) % wave->nvariants;
}

void app_wave_choose(struct app_wave *wave, unsigned variant)
{
	bool first = !wave->variants[0].n;

	wave->variant = variant;
	wave->wave.tile_columns =
	    wave->sweep && !first ? wave->variants[variant].tile_columns : wave->tile_columns;
	wave->wave.bands_per_worker =
	    wave->sweep && !first ? wave->stats.bands_per_worker : wave->bands_per_worker;
}

/* From a sixteenth to sixteen times the model's columns, by factors of √2. */
static void make_variants(struct app_wave *wave)
{
	size_t chosen = wave->stats.tile_columns, last = 0;

	wave->variants[0].tile_columns = chosen;
	if (wave->sweep)
		keep_team(wave);
	for (int step = -8; step <= 8; step++) {
		double columns = rint(chosen * pow(2, step / 2.0));
		size_t most = wave->wave.columns;

		columns = columns < 1 ? 1 : columns > most ? most : columns;
		if (wave->sweep && columns != chosen && columns != last &&
		    wave->nvariants < APP_WAVE_MAXVARIANTS)
			wave->variants[wave->nvariants++].tile_columns = columns;
		last = columns;
	}
}

void app_wave_took(struct app_wave *wave, double us)
{
	struct app_wave_variant *variant = &wave->variants[wave->variant];

	if (!wave->variant && !variant->n)
		make_variants(wave);
	if (!variant->us)
		variant->us = calloc(wave->reps, sizeof(*variant->us));
	if (variant->us && variant->n < wave->reps)
		variant->us[variant->n++] = us;
}

static double median(const struct app_wave_variant *variant)
{
	return sweep_median(variant->us, variant->n);
}

/* The first repetition pays for what comes once, and does not count where there are others. */
static unsigned skipped(const struct app_wave *wave)
{
	return wave->variants[0].n > 2;
}

static void print_line(const struct app_wave *wave, const struct app_wave_variant *variant,
                       double best)
{
	const struct app_wave_variant *own = &wave->variants[0];
	unsigned skip = skipped(wave);
	struct sweep_ratio ratio =
	    sweep_ratio(variant->us + skip, own->us + skip, variant->n - skip);

	printf("  %10zu %14.1f %14.3f %14.3f (%.3f to %.3f)%s\n", variant->tile_columns,
	       median(variant), median(variant) / best, ratio.median, ratio.low, ratio.high,
	       variant != own       ? ""
	       : wave->tile_columns ? "  given"
	                            : "  the model's");
}

static void print_regret(const struct app_wave *wave)
{
	const double *us[APP_WAVE_MAXVARIANTS];
	unsigned skip = skipped(wave);
	struct sweep sweep = {wave->nvariants, wave->variants[0].n - skip, us, 0};
	double regret;

	for (unsigned v = 0; v < wave->nvariants; v++)
		us[v] = wave->variants[v].us + skip;
	regret = sweep_regret(&sweep);
	if (regret > 0)
		printf("  h %zu takes %.3f of the best's time (found and compared in different "
		       "repetitions)\n",
		       wave->variants[0].tile_columns, regret);
}

static void print_sweep(const struct app_wave *wave)
{
	double best = INFINITY;
	size_t chosen = wave->variants[0].tile_columns;

	for (unsigned v = 0; v < wave->nvariants; v++) {
		/* A repetition that failed. */
		if (!wave->variants[v].n || wave->variants[v].n != wave->variants[0].n)
			return;
		best = fmin(best, median(&wave->variants[v]));
	}
	printf("  %10s %14s %14s %14s (quartiles)\n", "h", "median us", "of the best",
	       wave->tile_columns ? "to the given" : "to the model's");
	/* Variants after the first are in ascending order; the first goes to its place. */
	for (unsigned v = 1, own = 0; v <= wave->nvariants; v++) {
		const struct app_wave_variant *variant = &wave->variants[v];

		if (!own && (v == wave->nvariants || variant->tile_columns > chosen)) {
			variant = &wave->variants[0];
			own = 1;
			v--;
		} else if (v == wave->nvariants) {
			break;
		}
		print_line(wave, variant, best);
	}
	print_regret(wave);
}

void app_wave_print(const struct app_wave *wave)
{
	const struct heddle_wavefront_stats *stats = &wave->stats;

	printf("  h %zu, k %u: %zu tiles in %zu bands, %zu messages between memories\n",
	       stats->tile_columns, stats->bands_per_worker, stats->tiles, stats->bands,
	       stats->messages);
	if (stats->predicted_us > 0)
		printf("  predicted %.1f us (%.1f by the model alone), measuring took %.1f us\n",
		       stats->predicted_us, stats->model_us, stats->measuring_us);
	if (stats->reassigned)
		printf("  bands assigned again %u times: workers became slower or faster\n",
		       stats->reassigned);
	if (stats->excluded)
		printf("  %u workers left out: they do not pay\n", stats->excluded);
	if (wave->sweep)
		print_sweep(wave);
}

int app_wave_write(const struct app_wave *wave)
{
	FILE *file;
	int error;

	if (!wave->csv)
		return 0;
	error = file_create(wave->csv, &file);
	if (error)
		return error;
	fputs("sweep,k,h,predicted_us,measured_us,chosen\n", file);
	for (unsigned v = 0; v < wave->nvariants; v++) {
		const struct app_wave_variant *variant = &wave->variants[v];

		fprintf(file, "%s,%u,%zu,%.3f,%.3f,%d\n", wave->name, variant->bands_per_worker,
		        variant->tile_columns, variant->predicted_us, median(variant), !v);
	}
	return file_finish(wave->csv, file);
}

void app_wave_free(struct app_wave *wave)
{
	for (unsigned v = 0; v < wave->nvariants; v++)
		free(wave->variants[v].us);
	free(wave->team);
}
