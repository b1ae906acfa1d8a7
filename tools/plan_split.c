/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * heddle plan split: splits the work-groups of a kernel over described devices.
 */
#include "config.h"

#include <stdio.h>
#include <string.h>

#include <jansson.h>

#include "support/options.h"
#include "tools/plan.h"
#include "tools/common/split_table.h"

struct arguments {
	enum split_method method;
	const char *path;
	bool table;
};

static error_t take_table(void *data, int key, char *value, struct argp_state *state)
{
	struct arguments *arguments = data;

	if (key == ARGP_KEY_NO_ARGS)
		argp_error(state, "which table?");
	if (key != ARGP_KEY_ARG)
		return ARGP_ERR_UNKNOWN;
	if (arguments->path)
		argp_error(state, "one table at a time, please");
	arguments->path = value;
	return 0;
}

static void keys_print(FILE *out)
{
	fputs("TABLE.json (-: standard input) is an object with these keys:\n", out);
	split_table_keys(out);
	fputs(
	    "\nMethods: heddle; paper: Algorithm 1 of SKMD (PACT 2013); published: the same with\n"
	    "published_contiguous; linear: by each device's speed with all groups; single: the "
	    "best\n"
	    "device; optimum: the best of a grid.\n",
	    out);
}

static void parse_method(void *data, char *text, struct argp_state *state)
{
	enum split_method method = 0;

	while (method < SPLIT_NMETHODS && strcmp(text, split_method_name(method)))
		method++;
	if (method == SPLIT_NMETHODS)
		argp_error(state,
		           "--method: \"%s\" is not heddle, paper, published, linear, single or "
		           "optimum",
		           text);
	((struct arguments *)data)->method = method;
}

static const struct option_row options[] = {
    {"method", "NAME", "method (default: heddle)", PARSED(parse_method), .letter = 'm'},
    {"table", NULL, "print a table of all methods instead of JSON",
     SETS(struct arguments, table, true), .letter = 't'},
    {0},
};

static const struct option_program program = {
    .name = "heddle plan split",
    .arguments = "TABLE.json",
    .doc = "Shares the work-groups of a kernel among devices with known times and costs of "
           "transfers. Prints the shares and the predicted times, in microseconds, as JSON.",
};

static json_t *devices_json(const struct split_problem *problem, const size_t *share,
                            const struct split_times *times)
{
	json_t *devices = json_array();
	size_t start = 0;

	for (unsigned d = 0; d < problem->ndevices; d++) {
		json_array_append_new(
		    devices,
		    json_pack("{s:s, s:I, s:I, s:f, s:f, s:f, s:f}", "name",
		              problem->devices[d].name, "start", (json_int_t)start, "groups",
		              (json_int_t)share[d], "share", (double)share[d] / problem->groups,
		              "in_us", times->in_us[d], "computed_us", times->computed_us[d],
		              "finish_us", times->finish_us[d]));
		start += share[d];
	}
	return devices;
}

static int json_print(const struct split_problem *problem, enum split_method method)
{
	size_t share[SPLIT_MAXDEVICES], other[SPLIT_MAXDEVICES];
	struct split_times times;
	json_t *json, *order = json_array();

	split_decide(problem, method, share);
	split_estimate(problem, share, &times);
	for (unsigned i = 0; i < times.norder; i++)
		json_array_append_new(order, json_string(problem->devices[times.order[i]].name));
	json = json_pack("{s:s, s:I, s:f, s:f, s:o, s:o, s:f, s:f}", "method",
	                 split_method_name(method), "groups", (json_int_t)problem->groups, "us",
	                 times.us, "merge_us", times.merge_us, "order", order, "devices",
	                 devices_json(problem, share, &times), "single_us",
	                 split_decide(problem, SPLIT_SINGLE, other), "linear_us",
	                 split_decide(problem, SPLIT_LINEAR, other));
	if (!json)
		return 1;
	json_dumpf(json, stdout, JSON_INDENT(1) | JSON_REAL_PRECISION(10) | JSON_PRESERVE_ORDER);
	putchar('\n');
	json_decref(json);
	return 0;
}

static void table_print(const struct split_problem *given, const struct split_problem *published)
{
	double best = 0;

	printf("%-10s %14s %10s", "method", "us", "of single");
	for (unsigned d = 0; d < given->ndevices; d++)
		printf(" %16.16s", given->devices[d].name);
	putchar('\n');
	for (int m = 0; m < SPLIT_NMETHODS; m++) {
		const struct split_problem *problem = m == SPLIT_PUBLISHED ? published : given;
		size_t share[SPLIT_MAXDEVICES], single[SPLIT_MAXDEVICES];
		double us = split_decide(problem, m, share);

		best = split_decide(problem, SPLIT_SINGLE, single);
		printf("%-10s %14.1f %10.3f", split_method_name(m), us, best > 0 ? us / best : 1);
		for (unsigned d = 0; d < problem->ndevices; d++)
			printf(" %16zu", share[d]);
		putchar('\n');
	}
}

int plan_split(int argc, char **argv)
{
	struct arguments arguments = {.method = SPLIT_HEDDLE};
	struct option_set set = {
	    .rows = options, .data = &arguments, .argument = take_table, .extra = keys_print};
	struct split_problem problem, published;
	int error = 0;

	options_parse(&program, &set, argc, argv);
	if (split_table_read(arguments.path, &problem, &published))
		return PLAN_USAGE;
	if (arguments.table)
		table_print(&problem, &published);
	else
		error = json_print(arguments.method == SPLIT_PUBLISHED ? &published : &problem,
		                   arguments.method);
	return error || fflush(stdout) || ferror(stdout);
}
