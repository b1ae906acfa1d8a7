/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * heddle plan interval: the synchronisation interval of a wavefront on a described
 * machine.
 */
#include "config.h"

#include <argp.h>
#include <errno.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "support/message.h"
#include "partition/wavefront/simulation.h"
#include "tools/plan.h"
#include "tools/common/help.h"

enum {
	KEY_CD = 256,
	KEY_CC,
	KEY_US,
	KEY_UC,
	KEY_TWA,
	KEY_VECTOR,
	KEY_SWEEP,
	KEY_PIPELINED,
	KEY_CSV
};

enum { MAXVECTORS = 16, LONGEST_SIDE = 10000000 };

struct arguments {
	struct wave_model model;
	unsigned nvectors;
	struct heddle_dependence vectors[MAXVECTORS];
	bool pipelined, sweep;
	size_t first, last; /* of the sweep; 0: to be chosen */
	const char *csv;
};

static const struct argp_option options[] = {
    {"cd", KEY_CD, "US", 0, "c_d: starting a message, microseconds", 1},
    {"cc", KEY_CC, "US", 0, "c_c: sending one column's data, microseconds", 1},
    {"us", KEY_US, "N", 0, "U_s: columns, the synchronisation dimension", 1},
    {"uc", KEY_UC, "N", 0, "U_c: rows, the dimension that is cut into bands", 1},
    {"k", 'k', "N", 0, "bands per worker (default: 1)", 1},
    {"worker", 'w', "NAME:COUNT:CP", 0,
     "a kind of worker: name, number of workers, c_p in microseconds an iteration; once for every "
     "kind",
     1},
    {"twa", KEY_TWA, "US", 0, "T_wa: assigning the first band, microseconds (default: 0)", 1},
    {"vector", KEY_VECTOR, "ROW,COLUMN", 0,
     "a dependence vector of the simulated loop, once for each (default: 1,0 and 0,1)", 2},
    {"pipelined", KEY_PIPELINED, NULL, 0,
     "bands follow each other interval by interval, as in Heddle's wavefronts; otherwise the "
     "paper's subproblems run one by one",
     2},
    {"sweep", KEY_SWEEP, "FIRST-LAST", OPTION_ARG_OPTIONAL,
     "also simulate the loop with every h of a range (default: a quarter to four times the "
     "model's)",
     2},
    {"csv", KEY_CSV, "FILE", 0,
     "append the sweep to a file for heddle plot: predicted and simulated time of each h", 2},
    {0},
};

static double number_parse(const char *text, double least, double most, const char *what,
                           struct argp_state *state)
{
	char *end;
	double number = strtod(text, &end);

	if (end == text || *end || !(number >= least && number <= most))
		argp_error(state, "%s: \"%s\" is not a number from %g to %g", what, text, least,
		           most);
	return number;
}

static size_t count_parse(const char *text, double most, const char *what, struct argp_state *state)
{
	double number = number_parse(text, 1, most, what, state);

	if (number != floor(number))
		argp_error(state, "%s: \"%s\" is not a whole number", what, text);
	return number;
}

static void worker_parse(struct arguments *arguments, char *text, struct argp_state *state)
{
	struct wave_model *model = &arguments->model;
	struct wave_kind *kind = &model->kinds[model->nkinds];
	char *count = strchr(text, ':'), *cp = count ? strchr(count + 1, ':') : NULL;

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
	*kind = (struct wave_kind){.count = count_parse(count, 10000, "--worker, COUNT", state),
	                           .cp = number_parse(cp, 1e-9, 1e9, "--worker, CP", state)};
	strcpy(kind->name, text);
	model->nkinds++;
}

static void vector_parse(struct arguments *arguments, const char *text, struct argp_state *state)
{
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

static void range_parse(struct arguments *arguments, const char *text, struct argp_state *state)
{
	char end;

	arguments->sweep = true;
	if (text && (sscanf(text, "%zu-%zu%c", &arguments->first, &arguments->last, &end) != 2 ||
	             !arguments->first || arguments->last < arguments->first ||
	             arguments->last > LONGEST_SIDE))
		argp_error(state, "--sweep: \"%s\" is not FIRST-LAST", text);
}

static void check(const struct arguments *arguments, struct argp_state *state)
{
	const struct wave_model *model = &arguments->model;

	if (model->columns < 1 || model->rows < 1 || model->cd < 0 || model->cc < 0 ||
	    !model->nkinds)
		argp_error(state, "--cd, --cc, --us, --uc and --worker are all needed");
	/* With no more than this many tiles the simulation stays within seconds and memory. */
	if (arguments->csv && !arguments->sweep)
		argp_error(state, "--csv without --sweep");
	if (arguments->sweep && model->rows > 1e6)
		argp_error(state, "--sweep: with --uc up to 1000000");
}

static error_t argument_parse(int key, char *value, struct argp_state *state)
{
	struct arguments *arguments = state->input;
	struct wave_model *model = &arguments->model;

	switch (key) {
	case KEY_CD:
		model->cd = number_parse(value, 0, 1e9, "--cd", state);
		return 0;
	case KEY_CC:
		model->cc = number_parse(value, 0, 1e9, "--cc", state);
		return 0;
	case KEY_US:
		model->columns = count_parse(value, LONGEST_SIDE, "--us", state);
		return 0;
	case KEY_UC:
		model->rows = count_parse(value, LONGEST_SIDE, "--uc", state);
		return 0;
	case KEY_TWA:
		model->assignment_us = number_parse(value, 0, 1e9, "--twa", state);
		return 0;
	case 'k':
		model->k = count_parse(value, 1000000, "--k", state);
		return 0;
	case 'w':
		worker_parse(arguments, value, state);
		return 0;
	case KEY_VECTOR:
		vector_parse(arguments, value, state);
		return 0;
	case KEY_SWEEP:
		range_parse(arguments, value, state);
		return 0;
	case KEY_CSV:
		arguments->csv = value;
		return 0;
	case KEY_PIPELINED:
		arguments->pipelined = true;
		return 0;
	case ARGP_KEY_END:
		check(arguments, state);
		return 0;
	}
	return ARGP_ERR_UNKNOWN;
}

static const struct argp argp = {
    .options = options,
    .parser = argument_parse,
    .children = help_short,
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
	json_t *json;
	int status;

	argp_err_exit_status = PLAN_USAGE;
	argv[0] = "heddle plan interval";
	argp_parse(&argp, argc, argv, 0, NULL, &arguments);
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
