/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Programs that know nothing of Heddle: their command, and what the preloaded library recorded.
 */
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <wordexp.h>

#include "support/message.h"
#include "tools/bench/bench.h"
#include "tools/bench/bound.h"
#include "tools/bench/record.h"
#include "tools/common/place.h"

int bench_program_find(struct bench_case *bench, const char *text)
{
	wordexp_t words;
	unsigned count = 0;
	int status = wordexp(text, &words, WRDE_NOCMD | WRDE_UNDEF);

	if (status)
		return heddle_refuse(-EINVAL, "--program: \"%s\": %s", text,
		                     status == WRDE_BADVAL ? "a variable is not set"
		                     : status == WRDE_SYNTAX
		                         ? "a quote has no end"
		                         : "a command and its arguments, without "
		                           "what a shell does beside: | & ; < > ( ) { }");
	for (size_t w = 0; w < words.we_wordc; w++)
		bench_list_add(&bench->command, &count, bench_format("%s", words.we_wordv[w]));
	wordfree(&words);
	if (!count)
		return heddle_refuse(-EINVAL, "--program: which command?");
	bench->program = place_program(bench->command[0]);
	if (bench->program)
		return 0;
	return heddle_refuse(-ENOENT,
	                     "there is no program \"%s\", not in PATH and not among StarPU's "
	                     "examples (tools/setup examples)",
	                     bench->command[0]);
}

char *bench_record_preload(bool ours, const char *before)
{
	char *record = place_library(RECORD_LIBRARY), *policies = NULL, *value;

	if (!record)
		return NULL;
	if (!before && ours) {
		policies = place_preload();
		before = policies ? policies : "";
	} else if (!before) {
		before = getenv("LD_PRELOAD");
	}
	value =
	    before && *before ? bench_format("%s:%s", record, before) : bench_format("%s", record);
	free(record);
	free(policies);
	return value;
}

/* ---- records ---- */

static double number(const json_t *object, const char *key)
{
	return json_number_value(json_object_get(object, key));
}

/* A worker for each that the record counts. */
static json_t *workers_list(const json_t *record)
{
	json_t *list = json_array(), *count;
	const char *kind;

	json_object_foreach(json_object_get(record, "workers"), kind,
	                    count) for (json_int_t w = 0; w < json_integer_value(count); w++)
	    json_array_append_new(list, json_pack("{s:s}", "kind", kind));
	return list;
}

json_t *bench_record_read(const char *file)
{
	json_t *record = json_load_file(file, 0, NULL);

	if (!record || !(number(record, "ns") > 0)) {
		json_decref(record);
		return NULL;
	}
	json_object_set_new(record, "us", json_pack("[f]", number(record, "ns") / 1e3));
	json_object_set_new(record, "workers", workers_list(record));
	json_object_set_new(record, "strategy", json_string("tasks"));
	json_object_set(record, "n", json_object_get(record, "tasks"));
	return record;
}

/* The area bound of a recorded graph; 0: unknown. */
static double area_us(const json_t *classes, const json_t *types)
{
	unsigned nclasses = json_array_size(classes), ntypes = json_array_size(types) - 1;
	double *workers = bench_grow(NULL, nclasses + 1, sizeof(*workers));
	double *tasks = bench_grow(NULL, ntypes + 1, sizeof(*tasks));
	double *us = bench_grow(NULL, (size_t)ntypes * nclasses + 1, sizeof(*us)), bound = 0;
	struct bound_problem problem = {ntypes, nclasses, tasks, workers, us};
	bool unknown = false;

	for (unsigned c = 0; c < nclasses; c++)
		workers[c] = json_number_value(json_array_get(classes, c));
	for (unsigned t = 0; t < ntypes; t++) {
		/* The list begins with one that is none. */
		const json_t *type = json_array_get(types, t + 1);

		tasks[t] = json_number_value(json_array_get(type, 0));
		for (unsigned c = 0; c < nclasses; c++) {
			const json_t *ns = json_array_get(type, c + 1);

			us[t * nclasses + c] = json_number_value(ns) / 1e3;
			unknown |= !json_is_null(ns) && !(us[t * nclasses + c] > 0);
		}
	}
	if (!unknown && ntypes)
		bound = bound_area_us(&problem);
	free(workers);
	free(tasks);
	free(us);
	return bound;
}

void bench_record_bound(struct bench_case *bench, const json_t *report)
{
	const json_t *types = json_object_get(report, "types");

	if (!json_array_size(types))
		return;
	bench->path_us = number(report, "path_ns") / 1e3;
	bench->area_us = area_us(json_object_get(report, "classes"), types);
}
