/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "apps/common/app.h"
#include "apps/common/wave.h"

struct command_line {
	const struct app *app;
	struct app_options options;
	const struct option_set *own; /* of the app */
};

static void parse_size(void *data, char *text, struct argp_state *state)
{
	struct command_line *line = data;

	line->options.size = options_take_number(text, 0, line->app->max_size, "size", state);
	line->options.size_given = true;
}

static void parse_seed(void *data, char *text, struct argp_state *state)
{
	struct command_line *line = data;

	line->options.seed = options_take_number(text, 0, UINT64_MAX, "seed", state);
	line->options.seed_given = true;
}

static void parse_kinds(void *data, char *list, struct argp_state *state)
{
	struct command_line *line = data;
	char *copy = strdup(list), *rest = copy, *name, kinds[128];
	size_t used = 0;

	for (int kind = 0; kind < HEDDLE_NKINDS && used < sizeof(kinds); kind++)
		used += snprintf(kinds + used, sizeof(kinds) - used, " %s", heddle_kind_name(kind));

	while (copy && (name = strsep(&rest, ","))) {
		enum heddle_kind kind;

		if (heddle_kind_parse(name, &kind))
			argp_error(state, "--workers %s: '%s' is no kind of worker; there are%s",
			           list, name, kinds);
		else
			line->options.kinds[kind] = true;
	}
	free(copy);
}

#define OPTIONS(kind, f, ...) kind(struct command_line, options.f, ##__VA_ARGS__)

static const char *const models[] = {"history", "estimates"};

static const struct option_row common_options[] = {
    {"size", "N", "Random input of this size (K, M, G, T: powers of 1024)", PARSED(parse_size),
     .group = 1},
    {"seed", "S", "Seed of the random input (default 1)", PARSED(parse_seed), .group = 1},
    {"input", "FILE", "Input from this file in place of random input", OPTIONS(TEXT, input),
     .group = 1},
    {"output", "FILE", "Write the results to this file", OPTIONS(TEXT, output), .group = 1},
    {"save-input", "FILE", "Write the input to this file", OPTIONS(TEXT, save_input), .group = 1},
    {"reps", "N", "Repetitions (default 3)", OPTIONS(NUMBER, reps, 1, 1000000), .group = 2},
    {"verify", NULL, "Compare all results with a plain reference", OPTIONS(SETS, verify, true),
     .group = 2},
    {"json", "FILE", "Write a report as JSON (-: to standard output)", OPTIONS(TEXT, json),
     .group = 2},
    {"sched", "NAME", "Scheduling policy (default: STARPU_SCHED's, else heddle)",
     OPTIONS(TEXT, sched), .group = 3},
    {"strategy", "SPEC",
     "Block strategy, or tasks: equal tasks, which the policy places (default: the policy's)",
     OPTIONS(TEXT, strategy), .group = 3},
    {"parts", "N", "Equal tasks under a policy of StarPU's own, or with --strategy tasks",
     OPTIONS(NUMBER, parts, 1, 1 << 30), .group = 3},
    {"perf-model", "NAME",
     "What StarPU's own policies know of times: history (default; its own model) or estimates "
     "(Heddle's)",
     OPTIONS(NAMED, estimates, models), .group = 3},
    {"workers", "KINDS", "Only workers of these kinds: cpu,cuda,opencl,fpga,hip",
     PARSED(parse_kinds), .group = 3},
    {"late", NULL,
     "Blocks of an accelerator that is late are computed again by idle workers (HEDDLE_LATE)",
     OPTIONS(SETS, late, true), .group = 3},
    {"mpi", NULL,
     "Share the work with all ranks (mpirun -n N heddle app NAME --mpi); rank 0 writes",
     OPTIONS(SETS, mpi, true), .group = 3},
    {0},
};

static void check(void *data, struct argp_state *state)
{
	const struct command_line *line = data;
	const struct app_options *options = &line->options;

	if (options->input && options->size_given)
		argp_error(state, "--size and --input exclude each other");
	if (options->input && options->seed_given && !line->app->seeded)
		argp_error(state, "--seed is of random input: it and --input exclude each other");
	if (options->input && line->own->random)
		argp_error(state, "--%s is of random input: it and --input exclude each other",
		           line->own->random->name);
	if (options->mpi && !line->app->ranks)
		argp_error(state, "this app does not run over ranks: no --mpi");
	if (options->late && (line->app->run || line->app->wave))
		argp_error(state, "--late is for apps that are one loop");
	if (options->late && options->mpi)
		argp_error(state, "--late and --mpi exclude each other");
	if (app_simulated() && (options->input || options->output || options->save_input))
		argp_error(state, "simulated workers compute nothing: no --input, --output or "
		                  "--save-input");
}

void app_parse(const struct app *app, void *self, int argc, char **argv,
               struct app_options *options)
{
	static char name[64], doc[2000];
	const struct option_program program = {.name = name, .doc = doc};
	struct command_line line = {.app = app,
	                            .options = {.size = app->size, .reps = 3, .seed = 1}};
	struct option_set wave = {
	    .rows = app_wave_rows, .data = app->wave, .check = app_wave_check};
	struct option_set own = {.rows = app->own,
	                         .data = self,
	                         .check = app->check,
	                         .next = app->wave ? &wave : NULL,
	                         .title = "Of this app:"};
	struct option_set common = {
	    .rows = common_options, .data = &line, .check = check, .next = app->own ? &own : NULL};

	line.own = &own;
	snprintf(name, sizeof(name), "heddle app %s", app->name);
	snprintf(doc, sizeof(doc), "%s " APP_STATUS, app->doc);
	options_parse(&program, &common, argc, argv);
	*options = line.options;
}
