/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A report as rows that a script can read.
 */
#include "config.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "support/message.h"
#include "tools/bench/bench.h"

static double number(const json_t *object, const char *key, double missing)
{
	json_t *value = json_object_get(object, key);

	return json_is_number(value) ? json_number_value(value) : missing;
}

static const char *text(const json_t *object, const char *key, const char *missing)
{
	const char *value = json_string_value(json_object_get(object, key));

	return value ? value : missing;
}

/* A value of a row: what would end it, or the row, is a blank. */
static void print_text(const char *value)
{
	for (; *value; value++)
		putchar(*value == '\t' || *value == '\n' || *value == '\r' ? ' ' : *value);
	putchar('\t');
}

/* What all kinds but the cores have of an object with a number for each kind. */
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

/* Time that one core would take: all of them alone, times their number. */
static double one_core_us(const json_t *bench)
{
	json_t *row;
	size_t r;

	json_array_foreach(json_object_get(bench, "rows"), r,
	                   row) if (!strcmp(text(row, "name", ""),
	                                    "cpu-only")) return number(row, "median_us", 0) *
	    number(json_object_get(bench, "workers"), "cpu", 0);
	return 0;
}

static void print_row(const json_t *bench, const json_t *row)
{
	json_t *workers = json_object_get(bench, "workers");
	double us = number(row, "median_us", 0);

	print_text(text(bench, "app", "?"));
	print_text(text(bench, "platform", "here"));
	printf("%.0f\t%.0f\t%.0f\t", number(bench, "n", 0), number(workers, "cpu", 0),
	       accelerators(workers));
	print_text(text(row, "name", "?"));
	print_text(text(row, "group", "?"));
	printf("%.3f\t%.3f\t%.3f\t%.6f\t%.6f\t%.3f\t%.6f\t%.6f", us, number(row, "min_us", 0),
	       number(row, "first_us", 0), number(row, "efficiency", 0),
	       number(row, "finish_spread", 0), number(row, "learning_us", 0),
	       number(row, "vs_best_single", 0), us > 0 ? one_core_us(bench) / us : 0);
	printf("\t%.6f\t%.6f\t%s\n", us > 0 ? accelerators(json_object_get(row, "shares")) : -1,
	       accelerators(json_object_get(bench, "ideal_shares")), text(row, "clock", "wall"));
}

int bench_rows_print(const char *file)
{
	json_error_t error;
	json_t *report = json_load_file(file, 0, &error), *bench, *row;
	size_t b, r;

	if (!report)
		return error.line < 1 /* it was not opened; the text has its name */
		           ? heddle_refuse(-EINVAL, "%s", error.text)
		           : heddle_refuse(-EINVAL, "%s:%d: %s", file, error.line, error.text);
	if (!json_is_array(json_object_get(report, "benches"))) {
		json_decref(report);
		return heddle_refuse(-EINVAL, "%s: not a report of heddle bench", file);
	}
	printf(
	    "app\tplatform\tn\tcores\taccelerators\tcontender\tgroup\tmedian_us\tmin_us\tfirst_us\t"
	    "efficiency\tfinish_spread\tlearning_us\tvs_best_single\tvs_one_core\t"
	    "accelerator_share\tideal_accelerator_share\tclock\n");
	json_array_foreach(json_object_get(report, "benches"), b, bench)
	    json_array_foreach(json_object_get(bench, "rows"), r, row) print_row(bench, row);
	json_decref(report);
	return 0;
}
