/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "config.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <jansson.h>
#include <starpu.h>
#include <starpu_scheduler.h>

#include "support/message.h"
#include "apps/common/app.h"
#include "apps/common/file.h"
#include "apps/common/ranks.h"
#include "apps/common/sweep.h"
#include "apps/common/wave.h"

const char *app_policy_name(void)
{
	const struct starpu_sched_policy *policy = starpu_sched_ctx_get_sched_policy(0);

	return policy && policy->policy_name ? policy->policy_name : "?";
}

/* The report's workers are those of this repetition. */
static unsigned median_repetition(const struct app_report *report)
{
	return sweep_median_at(report->us, report->reps);
}

/* JSON has no infinity: the largest double stands for it. */
static json_t *real(double value)
{
	return json_real(isfinite(value) ? value : HUGE_VAL > value ? -1.7e308 : 1.7e308);
}

static json_t *workers_json(const struct heddle_loop_stats *stats)
{
	json_t *list = json_array();

	for (unsigned w = 0; w < stats->nworkers; w++) {
		const struct heddle_worker_stats *worker = &stats->workers[w];

		json_array_append_new(
		    list, json_pack("{si ss ss sI sI so so}", "id", worker->id, "kind",
		                    heddle_kind_name(worker->kind), "name", worker->name,
		                    "iterations", (json_int_t)worker->iterations, "blocks",
		                    (json_int_t)worker->blocks, "busy_us", real(worker->busy_us),
		                    "finish_us", real(worker->finish_us)));
	}
	return list;
}

static json_t *times_json(const double *us, unsigned n)
{
	json_t *list = json_array();

	for (unsigned r = 0; r < n; r++)
		json_array_append_new(list, real(us[r]));
	return list;
}

static json_t *sweep_json(const struct app_wave *wave)
{
	json_t *list = json_array();

	for (unsigned v = 0; v < wave->nvariants; v++) {
		const struct app_wave_variant *variant = &wave->variants[v];

		json_array_append_new(
		    list, json_pack("{sI sb so}", "h", (json_int_t)variant->tile_columns, "chosen",
		                    !v, "us", times_json(variant->us, variant->n)));
	}
	return list;
}

static json_t *wave_json(const struct app_wave *wave)
{
	const struct heddle_wavefront_stats *stats = &wave->stats;
	json_t *json =
	    json_pack("{sI si sI sI sI sf sf si}", "h", (json_int_t)stats->tile_columns, "k",
	              (int)stats->bands_per_worker, "bands", (json_int_t)stats->bands, "tiles",
	              (json_int_t)stats->tiles, "messages", (json_int_t)stats->messages,
	              "predicted_us", stats->predicted_us, "measuring_us", stats->measuring_us,
	              "excluded", (int)stats->excluded);

	if (wave->sweep)
		json_object_set_new(json, "sweep", sweep_json(wave));
	return json;
}

static json_t *report_json(const struct app_report *report)
{
	const struct heddle_loop_stats *stats = &report->stats[median_repetition(report)];
	char starpu[32];
	json_t *json;
	int major, minor, release;

	starpu_get_version(&major, &minor, &release);
	snprintf(starpu, sizeof(starpu), "%d.%d.%d", major, minor, release);
	json =
	    json_pack("{ss sI ss ss ss ss so so so so so so}", "app", report->app->name, "n",
	              (json_int_t)report->n, "sched", app_policy_name(), "strategy",
	              stats->strategy, "starpu", starpu, "clock", heddle_clock_name(stats->clock),
	              "us", times_json(report->us, report->reps), "verified",
	              report->verified ? json_boolean(report->right) : json_null(), "max_error",
	              report->verified ? real(report->max_error) : json_null(), "workers",
	              workers_json(stats), "learning_us", real(stats->learning_us), "overhead_us",
	              real(stats->overhead_us));
	if (json && report->options->late)
		json_object_set_new(json, "late", json_integer(stats->late));
	if (json && report->app->wave)
		json_object_set_new(json, "wavefront", wave_json(report->app->wave));
	if (json && ranks_used())
		json_object_set_new(json, "ranks", ranks_json());
	return json;
}

int app_json_write(const char *path, json_t *json)
{
	FILE *stream = stdout;
	int error = json ? 0 : heddle_refuse(-ENOMEM, "no memory for the report");

	if (!strcmp(path, "-"))
		path = "standard output";
	else if (!error)
		error = file_create(path, &stream);
	if (!error) {
		bool whole = !json_dumpf(json, stream, JSON_INDENT(2) | JSON_REAL_PRECISION(12)) &&
		             fputc('\n', stream) != EOF;

		if (whole || ferror(stream)) {
			error = file_finish(path, stream);
		} else {
			file_drop(path, stream);
			error = file_refuse(path, 0);
		}
	}
	json_decref(json);
	return error;
}

static int write_json(const struct app_report *report)
{
	json_t *json = report_json(report);

	if (json && report->app->describe)
		report->app->describe(report->self, json);
	return app_json_write(report->options->json, json);
}

/* What the work was cut into: "tasks" and "chunks" are an app's own. */
static void print_cut(const char *strategy)
{
	if (!strcmp(strategy, "stock"))
		printf(", equal tasks");
	else
		printf(", %s%s",
		       strcmp(strategy, "tasks") && strcmp(strategy, "chunks") ? "strategy " : "",
		       strategy);
}

static void print_table(const struct app_report *report)
{
	unsigned median = median_repetition(report);
	const struct heddle_loop_stats *stats = &report->stats[median];

	printf("%s: %.0f %ss in %zu iterations, policy %s", report->app->name, report->elements,
	       report->app->unit, report->n, app_policy_name());
	print_cut(stats->strategy);
	printf("%s\n", stats->clock == HEDDLE_CLOCK_MODELLED ? ", modelled time" : "");
	for (unsigned r = 0; r < report->reps; r++)
		printf("  repetition %u: %.1f us, %.4g M%ss/s%s\n", r + 1, report->us[r],
		       report->elements / report->us[r], report->app->unit,
		       r == median ? " (median: its workers follow)" : "");
	printf("  %-4s %-7s %12s %7s %12s %12s  %s\n", "id", "kind", "iterations", "blocks",
	       "busy us", "finish us", "name");
	for (unsigned w = 0; w < stats->nworkers; w++) {
		const struct heddle_worker_stats *worker = &stats->workers[w];

		printf("  %-4d %-7s %12zu %7zu %12.1f %12.1f  %s\n", worker->id,
		       heddle_kind_name(worker->kind), worker->iterations, worker->blocks,
		       worker->busy_us, worker->finish_us, worker->name);
	}
	printf("  learning %.1f us, overhead %.1f us\n", stats->learning_us, stats->overhead_us);
	if (stats->late)
		printf("  %zu blocks were computed again, as their workers were late\n",
		       stats->late);
	ranks_print();
	if (report->app->wave)
		app_wave_print(report->app->wave);
	if (report->verified)
		printf("  %s: largest error %.3g, allowed %.3g\n",
		       report->right ? "verified" : "WRONG", report->max_error,
		       report->app->tolerance);
	if (report->app->print)
		report->app->print(report->self);
}

int app_report_write(const struct app_report *report)
{
	const char *file = report->options->json;
	int error = 0;

	if (!file || strcmp(file, "-")) {
		print_table(report);
		/* A table that could not be written is no success. */
		error = file_finish("standard output", stdout);
	}
	if (file && !error)
		error = write_json(report);
	if (!error && report->app->wave)
		error = app_wave_write(report->app->wave);
	return error;
}

void app_stats_add(struct heddle_loop_stats *sum, const struct heddle_loop_stats *one)
{
	struct heddle_loop_stats before = *sum;

	*sum = *one;
	sum->us += before.us;
	sum->overhead_us += before.overhead_us;
	sum->blocks += before.blocks;
	for (unsigned w = 0; w < before.nworkers && w < sum->nworkers; w++) {
		struct heddle_worker_stats *worker = &sum->workers[w];

		worker->finish_us = worker->iterations ? before.us + worker->finish_us
		                                       : before.workers[w].finish_us;
		worker->iterations += before.workers[w].iterations;
		worker->blocks += before.workers[w].blocks;
		worker->busy_us += before.workers[w].busy_us;
	}
}
