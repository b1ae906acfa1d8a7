/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The comparison as JSON, as a table, and as tab-separated values.
 */
#include "config.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "support/message.h"
#include "tools/bench/bench.h"
#include "tools/common/json_file.h"

static double runs_minimum(const struct bench_runs *runs)
{
	double us = bench_minimum(runs->us, runs->nus);
	double first = bench_minimum(runs->first, runs->nfirst);

	return runs->nus && us < first ? us : first;
}

/* The best median of a group of contenders by a clock; 0: none succeeded. */
static double group_best(const struct bench_case *bench, enum bench_group group, bool modelled)
{
	double best = 0;

	for (unsigned c = 0; c < bench->ncontenders; c++) {
		const struct bench_runs *runs = bench_contender_runs(&bench->contenders[c]);
		double us = bench_runs_median(runs);

		if (bench->contenders[c].group != group || runs->modelled != modelled)
			continue;
		if (us > 0 && (best == 0 || us < best))
			best = us;
	}
	return best;
}

/* How many times as fast; null where a time is unknown. */
static json_t *ratio(double reference_us, double us)
{
	return reference_us > 0 && us > 0 ? json_real(reference_us / us) : json_null();
}

static json_t *known(double value)
{
	return value > 0 ? json_real(value) : json_null();
}

static json_t *numbers(const double *values, size_t count)
{
	json_t *array = json_array();

	for (size_t i = 0; i < count; i++)
		json_array_append_new(array, json_real(values[i]));
	return array;
}

static json_t *shares(const struct bench_case *bench, const double share[HEDDLE_NKINDS])
{
	json_t *object = json_object();

	for (int kind = 0; kind < HEDDLE_NKINDS; kind++)
		if (bench->workers[kind])
			json_object_set_new(object, heddle_kind_name(kind), json_real(share[kind]));
	return object;
}

static json_t *variant_json(const struct bench_variant *variant)
{
	json_t *object = json_object();

	json_object_set_new(object, "sched", json_string(variant->sched));
	if (variant->ranks)
		json_object_set_new(object, "ranks", json_integer(variant->ranks));
	if (*variant->strategy)
		json_object_set_new(object, "strategy", json_string(variant->strategy));
	if (*variant->workers)
		json_object_set_new(object, "workers", json_string(variant->workers));
	if (variant->parts)
		json_object_set_new(object, "parts", json_integer(variant->parts));
	if (variant->gpu_workers)
		json_object_set_new(object, "gpu_workers", json_integer(variant->gpu_workers));
	return object;
}

static json_t *sweep_json(const struct bench_contender *contender)
{
	json_t *array = json_array();

	for (unsigned v = 0; v < contender->nvariants; v++) {
		const struct bench_variant *variant = &contender->variants[v];
		json_t *object = variant_json(variant);

		json_object_set_new(object, "median_us", known(bench_runs_median(&variant->sweep)));
		if (variant->sweep.failure)
			json_object_set_new(object, "failure", json_string(variant->sweep.failure));
		json_array_append_new(array, object);
	}
	return array;
}

/* The time of a policy in one process; 0: unknown. */
static double one_process(const struct bench_case *bench, const struct bench_contender *of)
{
	for (unsigned c = 0; c < bench->ncontenders; c++) {
		const struct bench_variant *variant = &bench->contenders[c].variants[0];

		if (!variant->ranks && !strcmp(variant->sched, of->variants[0].sched))
			return bench_runs_median(bench_contender_runs(&bench->contenders[c]));
	}
	return 0;
}

static void row_times(const struct bench_case *bench, const struct bench_contender *contender,
                      json_t *row)
{
	const struct bench_runs *runs = bench_contender_runs(contender);
	double us = bench_runs_median(runs);
	bool modelled = runs->modelled, ideal = modelled == bench->ideal_modelled;

	json_object_set_new(row, "clock", json_string(modelled ? "modelled" : "wall"));
	json_object_set_new(row, "median_us", known(us));
	json_object_set_new(row, "min_us", known(runs_minimum(runs)));
	json_object_set_new(row, "first_us", known(bench_median(runs->first, runs->nfirst)));
	if (bench->graph) {
		json_object_set_new(row, "second_us", known(runs->second_us));
		json_object_set_new(row, "gflops", ratio(bench->flops / 1e3, us));
	}
	json_object_set_new(row, "iterations_per_us",
	                    us > 0 ? json_real(bench->n / us) : json_null());
	json_object_set_new(row, "efficiency", ratio(ideal ? bench->ideal_us : 0, us));
	if (bench->settings->ranks)
		json_object_set_new(row, "vs_one_process",
		                    ratio(one_process(bench, contender), us));
	json_object_set_new(row, "vs_tuned", ratio(group_best(bench, BENCH_TUNED, modelled), us));
	json_object_set_new(row, "vs_best_single",
	                    ratio(group_best(bench, BENCH_ALONE, modelled), us));
	json_object_set_new(row, "vs_best_stock",
	                    ratio(group_best(bench, BENCH_STOCK, modelled), us));
}

static json_t *row_json(const struct bench_case *bench, const struct bench_contender *contender)
{
	const struct bench_runs *runs = bench_contender_runs(contender);
	json_t *row = json_object();

	json_object_set_new(row, "name", json_string(contender->name));
	json_object_set_new(row, "group", json_string(bench_group_name(contender->group)));
	json_object_set_new(row, "chosen", variant_json(&contender->variants[contender->chosen]));
	json_object_set_new(row, "processes", json_integer(runs->nprocesses));
	row_times(bench, contender, row);
	json_object_set_new(row, "finish_spread",
	                    runs->nprocesses
	                        ? json_real(bench_median(runs->spread, runs->nprocesses))
	                        : json_null());
	json_object_set_new(row, "learning_us",
	                    runs->nprocesses
	                        ? json_real(bench_median(runs->learning, runs->nprocesses))
	                        : json_null());
	json_object_set_new(row, "verified",
	                    runs->verified < 0 ? json_null() : json_boolean(runs->verified));
	json_object_set_new(row, "failure",
	                    runs->failure ? json_string(runs->failure) : json_null());
	json_object_set_new(row, "shares", shares(bench, runs->share));
	json_object_set_new(row, "us", numbers(runs->us, runs->nus));
	json_object_set_new(row, "first_repetitions_us", numbers(runs->first, runs->nfirst));
	if (runs->workers)
		json_object_set(row, "workers", runs->workers);
	if (contender->nvariants > 1)
		json_object_set_new(row, "sweep", sweep_json(contender));
	return row;
}

/* The shares of the kinds in proportion to their speeds. */
static json_t *ideal_shares(const struct bench_case *bench)
{
	double share[HEDDLE_NKINDS] = {0}, total = 0;

	if (bench->platform_name) {
		const struct heddle_platform *platform = &bench->platform;

		total = 1;
		share[HEDDLE_KIND_CPU] =
		    platform->ncpus *
		    heddle_platform_ideal_share(platform, bench->n, HEDDLE_PLATFORM_CORE);
		for (unsigned a = 0; a < platform->naccelerators; a++)
			share[platform->accelerators[a].kind] +=
			    heddle_platform_ideal_share(platform, bench->n, a);
	}
	for (unsigned c = 0; !bench->platform_name && c < bench->ncontenders; c++) {
		const struct bench_contender *contender = &bench->contenders[c];
		double us = bench_runs_median(bench_contender_runs(contender));
		enum heddle_kind kind;

		if (contender->group != BENCH_ALONE || us <= 0 ||
		    heddle_kind_parse(contender->variants[0].workers, &kind))
			continue;
		share[kind] = 1 / us;
		total += share[kind];
	}
	for (int k = 0; k < HEDDLE_NKINDS; k++)
		share[k] /= total > 0 ? total : 1;
	return shares(bench, share);
}

json_t *bench_report(struct bench_case *bench)
{
	json_t *report = json_object(), *rows = json_array(), *workers = json_object();

	for (int kind = 0; kind < HEDDLE_NKINDS; kind++)
		if (bench->workers[kind])
			json_object_set_new(workers, heddle_kind_name(kind),
			                    json_integer(bench->workers[kind]));
	for (unsigned c = 0; c < bench->ncontenders; c++)
		json_array_append_new(rows, row_json(bench, &bench->contenders[c]));
	json_object_set_new(report, "app", json_string(bench->app));
	json_object_set_new(report, "n", json_integer(bench->n));
	json_object_set_new(report, "platform",
	                    bench->platform_name ? json_string(bench->platform_name) : json_null());
	if (bench->platform_name) {
		json_object_set_new(report, "platform_spec", json_string(bench->platform.spec));
		json_object_set_new(report, "profile",
		                    json_string(simulation_profiles[simulation_profile(
		                        &bench->platform, bench->settings->profile)]));
	}
	json_object_set_new(report, "starpu", json_string(bench->starpu));
	json_object_set_new(report, "workers", workers);
	json_object_set_new(report, "seed", json_integer(bench->settings->seed));
	json_object_set_new(report, "reps", json_integer(bench->reps));
	json_object_set_new(report, "rounds", json_integer(bench->rounds_done));
	json_object_set_new(report, "interrupted", json_boolean(bench_interrupted()));
	json_object_set_new(report, "out_of_time",
	                    json_boolean(bench->out_of_time && !bench_interrupted()));
	json_object_set_new(report, "ideal_us", known(bench->ideal_us));
	json_object_set_new(report, "ideal_clock",
	                    json_string(bench->ideal_modelled ? "modelled" : "wall"));
	json_object_set_new(report, "ideal_shares", ideal_shares(bench));
	if (bench->graph) {
		json_object_set_new(report, "flops", known(bench->flops));
		json_object_set_new(report, "area_us", known(bench->area_us));
		json_object_set_new(report, "path_us", known(bench->path_us));
	}
	json_object_set_new(report, "rows", rows);
	return report;
}

/* ---- the table ---- */

static bool is_graph(const json_t *report)
{
	return json_object_get(report, "flops");
}

static bool is_ranks(const json_t *report)
{
	return json_object_get(json_array_get(json_object_get(report, "rows"), 0),
	                       "vs_one_process");
}

/* A number in a column, or "-" where there is none. */
static void print_number(const json_t *row, const char *key, int width, int digits)
{
	json_t *value = json_object_get(row, key);

	if (json_is_number(value))
		printf(" %*.*f", width, digits, json_number_value(value));
	else
		printf(" %*s", width, "-");
}

static void print_percent(const json_t *row, const char *key, int width)
{
	json_t *value = json_object_get(row, key);

	if (json_is_number(value))
		printf(" %*.1f%%", width - 1, 100 * json_number_value(value));
	else
		printf(" %*s", width, "-");
}

static void print_gpu_workers(const json_t *chosen)
{
	json_t *each = json_object_get(chosen, "gpu_workers");

	if (each)
		printf("  %" JSON_INTEGER_FORMAT " workers a GPU", json_integer_value(each));
}

/* The best variant of a sweep. */
static void print_chosen(const json_t *row)
{
	json_t *chosen = json_object_get(row, "chosen");
	const char *strategy = json_string_value(json_object_get(chosen, "strategy"));
	json_t *parts = json_object_get(chosen, "parts");

	if (strategy)
		printf("  %s", strategy);
	if (json_is_integer(parts))
		printf("  %" JSON_INTEGER_FORMAT " tasks", json_integer_value(parts));
	print_gpu_workers(chosen);
}

static bool is_modelled(const json_t *row)
{
	const char *clock = json_string_value(json_object_get(row, "clock"));

	return clock && !strcmp(clock, "modelled");
}

/* The clock of the measured rows. */
static const char *rows_clock(const json_t *rows)
{
	bool by_wall = false, by_model = false;
	json_t *row;
	size_t r;

	json_array_foreach(rows, r, row)
	{
		if (json_is_null(json_object_get(row, "median_us")))
			continue;
		by_model |= is_modelled(row);
		by_wall |= !is_modelled(row);
	}
	return !by_model  ? "times on the wall"
	       : !by_wall ? "modelled times"
	                  : "times on the wall but where a row says modelled";
}

/* Blanks stand between the last columns and what follows them. */
static void print_remarks(const json_t *row)
{
	const char *failure = json_string_value(json_object_get(row, "failure"));

	if (failure)
		printf("  (some runs failed: %s)", failure);
	printf("\n");
}

static void print_result(const json_t *row)
{
	json_t *verified = json_object_get(row, "verified");

	printf("  %-5s", json_is_true(verified)    ? "right"
	                 : json_is_false(verified) ? "WRONG"
	                                           : "-");
}

static void print_row(const json_t *row)
{
	const char *failure = json_string_value(json_object_get(row, "failure"));

	printf("%-18s", json_string_value(json_object_get(row, "name")));
	if (json_is_null(json_object_get(row, "median_us"))) {
		printf(" %s\n", failure ? failure : "not run");
		return;
	}
	print_number(row, "median_us", 11, 1);
	print_number(row, "min_us", 11, 1);
	print_number(row, "first_us", 11, 1);
	print_number(row, "iterations_per_us", 9, 2);
	print_number(row, "efficiency", 6, 3);
	print_number(row, "vs_tuned", 6, 3);
	print_number(row, "vs_best_single", 6, 3);
	print_number(row, "vs_best_stock", 6, 3);
	print_percent(row, "finish_spread", 7);
	print_number(row, "learning_us", 10, 1);
	print_result(row);
	print_chosen(row);
	if (is_modelled(row))
		printf("  modelled time");
	print_remarks(row);
}

static void print_graph_row(const json_t *row)
{
	json_t *chosen = json_object_get(row, "chosen");

	printf("%-18s", json_string_value(json_object_get(row, "name")));
	print_number(row, "median_us", 11, 1);
	print_number(row, "first_us", 11, 1);
	print_number(row, "second_us", 11, 1);
	print_number(row, "gflops", 9, 1);
	print_number(row, "efficiency", 6, 3);
	print_number(row, "vs_best_stock", 6, 3);
	print_number(row, "vs_best_single", 6, 3);
	if (json_object_get(chosen, "workers"))
		printf("  %s", json_string_value(json_object_get(chosen, "sched")));
	print_gpu_workers(chosen);
	print_remarks(row);
}

static void print_ranks(const json_t *report)
{
	json_t *row;
	size_t r;

	printf("%-18s %11s %11s %11s %9s %12s  %s\n", "", "median us", "min us", "first us",
	       "iter/us", "/one process", "result");
	json_array_foreach(json_object_get(report, "rows"), r, row)
	{
		if (json_is_null(json_object_get(row, "median_us"))) {
			print_row(row);
			continue;
		}
		printf("%-18s", json_string_value(json_object_get(row, "name")));
		print_number(row, "median_us", 11, 1);
		print_number(row, "min_us", 11, 1);
		print_number(row, "first_us", 11, 1);
		print_number(row, "iterations_per_us", 9, 2);
		print_number(row, "vs_one_process", 12, 3);
		print_result(row);
		print_remarks(row);
	}
	printf("\n");
}

static void print_graph(const json_t *report)
{
	json_t *row;
	size_t r;

	printf("%-18s %11s %11s %11s %9s %6s %6s %6s\n", "", "median us", "first us", "second us",
	       "GFlop/s", "/bound", "/stock", "/alone");
	printf("%-18s", "bound");
	print_number(report, "ideal_us", 11, 1);
	printf("  area");
	print_number(report, "area_us", 0, 1);
	printf(", path");
	print_number(report, "path_us", 0, 1);
	printf("\n");
	json_array_foreach(json_object_get(report, "rows"), r, row)
	{
		if (json_is_null(json_object_get(row, "median_us")))
			print_row(row);
		else
			print_graph_row(row);
	}
	printf("\n");
}

static void print_heading(const json_t *report)
{
	const char *platform = json_string_value(json_object_get(report, "platform"));
	const char *spec = json_string_value(json_object_get(report, "platform_spec"));
	const char *key;
	json_t *value;

	printf(is_graph(report) ? "%s, %" JSON_INTEGER_FORMAT " tasks, on"
	                        : "%s, n = %" JSON_INTEGER_FORMAT ", on",
	       json_string_value(json_object_get(report, "app")),
	       json_integer_value(json_object_get(report, "n")));
	json_object_foreach(json_object_get(report, "workers"), key, value)
	    printf(" %" JSON_INTEGER_FORMAT " %s", json_integer_value(value), key);
	if (platform) {
		printf(", simulated: %s", platform);
		if (strcmp(platform, spec))
			printf(" = %s", spec);
		printf(" (%s)", json_string_value(json_object_get(report, "profile")));
	} else {
		printf(", %s", rows_clock(json_object_get(report, "rows")));
	}
	printf("\n%" JSON_INTEGER_FORMAT " rounds of %" JSON_INTEGER_FORMAT
	       " repetitions, seed %" JSON_INTEGER_FORMAT ", StarPU %s%s\n",
	       json_integer_value(json_object_get(report, "rounds")),
	       json_integer_value(json_object_get(report, "reps")),
	       json_integer_value(json_object_get(report, "seed")),
	       json_string_value(json_object_get(report, "starpu")),
	       json_is_true(json_object_get(report, "interrupted"))   ? "; interrupted"
	       : json_is_true(json_object_get(report, "out_of_time")) ? "; stopped by the budget"
	                                                              : "");
}

void bench_print(const json_t *report)
{
	json_t *row;
	size_t r;

	print_heading(report);
	if (is_graph(report)) {
		print_graph(report);
		return;
	}
	if (is_ranks(report)) {
		print_ranks(report);
		return;
	}
	printf("%-18s %11s %11s %11s %9s %6s %6s %6s %6s %7s %10s  %s\n", "", "median us", "min us",
	       "first us", "iter/us", "effic.", "/tuned", "/alone", "/stock", "spread",
	       "learning us", "result  chosen");
	printf("%-18s", "ideal");
	print_number(report, "ideal_us", 11, 1);
	printf("\n");
	json_array_foreach(json_object_get(report, "rows"), r, row) print_row(row);
	printf("\n");
}

/* ---- rows as tab-separated values ---- */

static double number_of(const json_t *object, const char *key, double missing)
{
	json_t *value = json_object_get(object, key);

	return json_is_number(value) ? json_number_value(value) : missing;
}

static const char *text(const json_t *object, const char *key, const char *missing)
{
	const char *value = json_string_value(json_object_get(object, key));

	return value ? value : missing;
}

/* A value of a row; blanks replace tabs and ends of lines. */
static void print_value(const char *value)
{
	for (; *value; value++)
		putchar(*value == '\t' || *value == '\n' || *value == '\r' ? ' ' : *value);
	putchar('\t');
}

/* The sum over all kinds but cores, of an object with a number for each kind. */
static double accelerators(const json_t *kinds)
{
	const char *key;
	json_t *value;
	double sum = 0;

	json_object_foreach((json_t *)kinds, key,
	                    value) if (strcmp(key, heddle_kind_name(HEDDLE_KIND_CPU))) sum +=
	    json_number_value(value);
	return sum;
}

/* The time of one core: that of all cores alone, times their number. */
static double one_core_us(const json_t *bench)
{
	json_t *row;
	size_t r;

	json_array_foreach(json_object_get(bench, "rows"), r,
	                   row) if (!strcmp(text(row, "name", ""),
	                                    "cpu-only")) return number_of(row, "median_us", 0) *
	    number_of(json_object_get(bench, "workers"), "cpu", 0);
	return 0;
}

static void print_values(const json_t *bench, const json_t *row)
{
	json_t *workers = json_object_get(bench, "workers");
	double us = number_of(row, "median_us", 0);

	print_value(text(bench, "app", "?"));
	print_value(text(bench, "platform", "here"));
	printf("%.0f\t%.0f\t%.0f\t", number_of(bench, "n", 0), number_of(workers, "cpu", 0),
	       accelerators(workers));
	print_value(text(row, "name", "?"));
	print_value(text(row, "group", "?"));
	printf("%.3f\t%.3f\t%.3f\t%.6f\t%.6f\t%.3f\t%.6f\t%.6f", us, number_of(row, "min_us", 0),
	       number_of(row, "first_us", 0), number_of(row, "efficiency", 0),
	       number_of(row, "finish_spread", 0), number_of(row, "learning_us", 0),
	       number_of(row, "vs_best_single", 0), us > 0 ? one_core_us(bench) / us : 0);
	printf("\t%.6f\t%.6f\t%s\n", us > 0 ? accelerators(json_object_get(row, "shares")) : -1,
	       accelerators(json_object_get(bench, "ideal_shares")), text(row, "clock", "wall"));
}

int bench_rows_print(const char *file)
{
	json_t *report, *bench, *row;
	size_t b, r;
	int error = json_file_read(file, &report);

	if (error)
		return error;
	if (!json_is_array(json_object_get(report, "benches"))) {
		json_decref(report);
		return heddle_refuse(-EINVAL, "%s: not a report of heddle bench", file);
	}
	printf(
	    "app\tplatform\tn\tcores\taccelerators\tcontender\tgroup\tmedian_us\tmin_us\tfirst_us\t"
	    "efficiency\tfinish_spread\tlearning_us\tvs_best_single\tvs_one_core\t"
	    "accelerator_share\tideal_accelerator_share\tclock\n");
	json_array_foreach(json_object_get(report, "benches"), b, bench)
	    json_array_foreach(json_object_get(bench, "rows"), r, row) print_values(bench, row);
	json_decref(report);
	return 0;
}
