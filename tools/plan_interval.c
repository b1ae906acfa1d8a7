/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * heddle plan interval: the synchronisation interval of a wavefront on a described
 * machine.
 */
#include "config.h"

#include <errno.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "support/message.h"
#include "support/options.h"
#include "partition/wavefront/simulation.h"
#include "tools/plan.h"

enum { MAXVECTORS = 16, LONGEST_SIDE = 10000000 };

#define MOST_US 1e9

struct arguments {
	struct wave_model model;
	uint64_t columns, rows; /* of the model; 0: not given */
	unsigned nvectors;
	struct heddle_dependence vectors[MAXVECTORS];
	bool pipelined, sweep;
	size_t first, last; /* of the sweep; 0: to be chosen */
	const char *csv;
};

static double real_parse(const char *text, double least, const char *what, struct argp_state *state)
{
	double number = least;

	if (options_real(text, least, MOST_US, &number))
		argp_error(state, "%s: \"%s\" is not a number from %g to %g", what, text, least,
		           MOST_US);
	return number;
}

static void worker_parse(void *data, char *text, struct argp_state *state)
{
	struct arguments *arguments = data;
	struct wave_model *model = &arguments->model;
	struct wave_kind *kind = &model->kinds[model->nkinds];
	char *count = strchr(text, ':'), *cp = count ? strchr(count + 1, ':') : NULL;
	uint64_t workers = 0;

	if (model->nkinds == WAVE_MAXKINDS)
		argp_error(state, "more than %d kinds of worker", WAVE_MAXKINDS);
	if (!cp || count == text)
		argp_error(state, "--worker: \"%s\" is not NAME:COUNT:CP", text);
	*count++ = *cp++ = '\0';
	for (unsigned j = 0; j < model->nkinds; j++)
		if (!strcmp(text, model->kinds[j].name))
			argp_error(state, "--worker: \"%s\" is there already", text);
	if (strlen(text) >= sizeof(kind->name))
		argp_error(state, "--worker: the name \"%s\" is longer than %zu", text,
		           sizeof(kind->name) - 1);
	if (options_number(count, 1, 10000, &workers))
		argp_error(state, "--worker, COUNT: \"%s\" is not a whole number from 1 to 10000",
		           count);
	*kind =
	    (struct wave_kind){.count = workers, .cp = real_parse(cp, 1e-9, "--worker, CP", state)};
	strcpy(kind->name, text);
	model->nkinds++;
}

static void vector_parse(void *data, char *text, struct argp_state *state)
{
	struct arguments *arguments = data;
	struct heddle_dependence *vector = &arguments->vectors[arguments->nvectors];
	char end;

	if (arguments->nvectors == MAXVECTORS)
		argp_error(state, "more than %d vectors", MAXVECTORS);
	*vector = (struct heddle_dependence){0};
	if (sscanf(text, "%d,%d%c", &vector->row, &vector->column, &end) != 2)
		argp_error(state, "--vector: \"%s\" is not ROW,COLUMN", text);
	if (heddle_dependences_check(vector, 1))
		argp_error(state, "--vector: \"%s\" cannot be scheduled", text);
	arguments->nvectors++;
}

static void range_parse(void *data, char *text, struct argp_state *state)
{
	struct arguments *arguments = data;
	char end;

	arguments->sweep = true;
	if (text && (sscanf(text, "%zu-%zu%c", &arguments->first, &arguments->last, &end) != 2 ||
	             !arguments->first || arguments->last < arguments->first ||
	             arguments->last > LONGEST_SIDE))
		argp_error(state, "--sweep: \"%s\" is not FIRST-LAST", text);
}

static void check(void *data, struct argp_state *state)
{
	struct arguments *arguments = data;
	struct wave_model *model = &arguments->model;

	model->columns = arguments->columns;
	model->rows = arguments->rows;
	if (model->columns < 1 || model->rows < 1 || model->cd < 0 || model->cc < 0 ||
	    !model->nkinds)
		argp_error(state, "--cd, --cc, --us, --uc and --worker are all needed");
	/* With no more than this many tiles the simulation stays within seconds and memory. */
	if (arguments->csv && !arguments->sweep)
		argp_error(state, "--csv without --sweep");
	if (arguments->sweep && model->rows > 1e6)
		argp_error(state, "--sweep: with --uc up to 1000000");
}

static const struct option_row options[] = {
    {"cd", "US", "c_d: starting a message, microseconds",
     REAL(struct arguments, model.cd, 0, MOST_US), .group = 1},
    {"cc", "US", "c_c: sending one column's data, microseconds",
     REAL(struct arguments, model.cc, 0, MOST_US), .group = 1},
    {"us", "N", "U_s: columns, the synchronisation dimension",
     NUMBER(struct arguments, columns, 1, LONGEST_SIDE), .group = 1},
    {"uc", "N", "U_c: rows, the dimension that is cut into bands",
     NUMBER(struct arguments, rows, 1, LONGEST_SIDE), .group = 1},
    {"k", "N", "bands per worker (default: 1)", NUMBER(struct arguments, model.k, 1, 1000000),
     .letter = 'k', .group = 1},
    {"worker", "NAME:COUNT:CP",
     "a kind of worker: name, number of workers, c_p in microseconds an iteration; once for every "
     "kind",
     PARSED(worker_parse), .letter = 'w', .group = 1},
    {"twa", "US", "T_wa: assigning the first band, microseconds (default: 0)",
     REAL(struct arguments, model.assignment_us, 0, MOST_US), .group = 1},
    {"vector", "ROW,COLUMN",
     "a dependence vector of the simulated loop, once for each (default: 1,0 and 0,1)",
     PARSED(vector_parse), .group = 2},
    {"pipelined", NULL,
     "bands follow each other interval by interval, as in Heddle's wavefronts; otherwise the "
     "paper's subproblems run one by one",
     SETS(struct arguments, pipelined, true), .group = 2},
    {"sweep", "FIRST-LAST",
     "also simulate the loop with every h of a range (default: a quarter to four times the "
     "model's)",
     PARSED(range_parse), .flags = OPTION_ARG_OPTIONAL, .group = 2},
    {"csv", "FILE",
     "append the sweep to a file for heddle plot: predicted and simulated time of each h",
     TEXT(struct arguments, csv), .group = 2},
    {0},
};

static const struct option_program program = {
    .name = "heddle plan interval",
    .doc = "Computes how many columns a band of a wavefront should compute between two messages, "
           "by the model of Andronikos et al. (Performance Evaluation 67, 2010). Prints JSON: h, "
           "the predicted time, and the width of each kind's bands.",
};

/* ---- output ---- */

static json_t *widths_json(const struct wave_model *model)
{
	double widths[WAVE_MAXKINDS];
	json_t *json = json_object();

	wave_model_widths(model, widths);
	for (unsigned j = 0; j < model->nkinds; j++)
		json_object_set_new(json, model->kinds[j].name, json_real(widths[j]));
	return json;
}

static int csv_refuse(const struct arguments *arguments)
{
	return heddle_refuse(-EIO, "%s: %s", arguments->csv,
	                     errno ? strerror(errno) : "not all could be written");
}

/* All sweeps of a file have one header. */
static int sweep_write(const struct arguments *arguments, size_t first, size_t last, size_t chosen,
                       const double *us)
{
	const struct wave_model *model = &arguments->model;
	FILE *file;
	int failed;

	if (!arguments->csv)
		return 0;
	errno = 0;
	file = fopen(arguments->csv, "a");
	if (!file)
		return csv_refuse(arguments);
	fseek(file, 0, SEEK_END);
	if (!ftell(file))
		fputs("sweep,k,h,predicted_us,measured_us,chosen\n", file);
	for (size_t h = first; h <= last; h++)
		fprintf(file, "simulated,%u,%zu,%.3f,%.3f,%d\n", model->k, h,
		        arguments->pipelined ? wave_model_pipelined_time(model, h)
		                             : wave_model_time(model, h),
		        us[h - first], h == chosen);
	failed = ferror(file);
	return fclose(file) || failed ? csv_refuse(arguments) : 0;
}

static struct wave_space space_of(const struct arguments *arguments)
{
	static const struct heddle_dependence plain[] = {{.row = 1}, {.column = 1}};
	const struct wave_model *model = &arguments->model;

	return (struct wave_space){.rows = model->rows,
	                           .columns = model->columns,
	                           .skew = model->skew,
	                           .nvectors = arguments->nvectors ? arguments->nvectors : 2,
	                           .vectors = arguments->nvectors ? arguments->vectors : plain};
}

static int sweep_add(json_t *json, const struct arguments *arguments, size_t h)
{
	const struct wave_space space = space_of(arguments);
	struct wave_simulation simulation = {
	    .model = &arguments->model,
	    .space = &space,
	    .convention = arguments->pipelined ? WAVE_AS_PAPER : WAVE_AS_SUBPROBLEMS,
	    .sweeps = 1,
	    .h = h};
	size_t first = arguments->first, last = arguments->last, best;
	struct wave_simulation_result result;
	json_t *times = json_array();
	double *us;
	int status;

	if (!first) {
		first = h / 4 ? h / 4 : 1;
		last = 4 * h > arguments->model.columns ? arguments->model.columns : 4 * h;
	}
	us = calloc(last - first + 1, sizeof(*us));
	status = us ? wave_simulation_sweep(&simulation, first, last, &best, us) : -ENOMEM;
	if (!status)
		status = wave_simulation_run(&simulation, SIZE_MAX, &result);
	if (!status)
		status = sweep_write(arguments, first, last, h, us);
	for (size_t i = first; !status && i <= last; i++)
		json_array_append_new(times, json_pack("[I, f]", (json_int_t)i, us[i - first]));
	if (!status)
		json_object_set_new(json, "simulated",
		                    json_pack("{s:f, s:I, s:f, s:f, s:f, s:o}", "t_us", result.us,
		                              "best_h", (json_int_t)best, "best_t_us",
		                              us[best - first], "ratio",
		                              result.us / us[best - first], "bound_us",
		                              result.bound_us, "sweep", times));
	else
		json_decref(times);
	free(us);
	return status;
}

/* h by the tiles there will be, where they are few enough to look at. */
static json_t *rehearsed_json(const struct arguments *arguments, size_t h, unsigned k)
{
	const struct wave_model *model = &arguments->model;
	const struct wave_space space = space_of(arguments);

	wave_simulation_choose(model, &space, k, 1, &h, &k);
	return json_pack("{s:I, s:f}", "h", (json_int_t)h, "t_us",
	                 wave_simulation_predict(model, &space, h));
}

static json_t *plan_json(const struct arguments *arguments, int *status)
{
	const struct wave_model *model = &arguments->model;
	double exact = wave_model_best(model);
	unsigned k = model->k;
	size_t pipelined = wave_model_choose(model, k, 1, &k);
	size_t h = arguments->pipelined ? pipelined : (size_t)lround(exact);
	json_t *json = json_pack(
	    "{s:I, s:f, s:o, s:i, s:f, s:f, s:{s:I, s:f}, s:o}", "h", (json_int_t)h, "t_us",
	    arguments->pipelined ? wave_model_pipelined_time(model, h) : wave_model_time(model, h),
	    "widths", widths_json(model), "k", (int)k, "h_exact", exact, "h_chen_xue",
	    wave_model_chen_xue(model), "pipelined", "h", (json_int_t)pipelined, "t_us",
	    wave_model_pipelined_time(model, pipelined), "rehearsed",
	    rehearsed_json(arguments, pipelined, k));

	*status = arguments->sweep && json ? sweep_add(json, arguments, h) : 0;
	return json;
}

/* A member a line, so that a sweep does not drown the rest. */
static void json_print(const json_t *json)
{
	const char *key, *before = "{";
	json_t *value;

	json_object_foreach((json_t *)json, key, value)
	{
		char *text = json_dumps(value, JSON_ENCODE_ANY | JSON_REAL_PRECISION(10));

		printf("%s\"%s\": %s", before, key, text ? text : "null");
		before = ",\n ";
		free(text);
	}
	puts("}");
}

int plan_interval(int argc, char **argv)
{
	struct arguments arguments = {.model = {.k = 1, .cd = -1, .cc = -1}};
	struct option_set set = {.rows = options, .data = &arguments, .check = check};
	json_t *json;
	int status;

	options_parse(&program, &set, argc, argv);
	arguments.model.skew = wave_vectors_skew(arguments.vectors, arguments.nvectors);
	json = plan_json(&arguments, &status);
	if (!json || status) {
		if (status != -EIO) /* that has been said */
			fprintf(stderr, "heddle plan interval: %s\n",
			        strerror(json ? -status : ENOMEM));
		json_decref(json);
		return status == -EIO ? PLAN_USAGE : 1;
	}
	json_print(json);
	json_decref(json);
	return fflush(stdout) || ferror(stdout);
}
