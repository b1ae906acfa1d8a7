/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "config.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "apps/common/app.h"

const char *argp_program_version = PACKAGE_STRING;

enum {
	OPTION_REPS = 0x100,
	OPTION_SEED,
	OPTION_VERIFY,
	OPTION_JSON,
	OPTION_SCHED,
	OPTION_STRATEGY,
	OPTION_PARTS,
	OPTION_PERF_MODEL,
	OPTION_WORKERS,
	OPTION_LATE,
	OPTION_INPUT,
	OPTION_MPI,
	OPTION_OUTPUT,
	OPTION_SAVE_INPUT,
	OPTION_SIZE
};

static const struct argp_option common_options[] = {
    {"size", OPTION_SIZE, "N", 0, "Random input of this size (K, M, G, T: powers of 1024)", 1},
    {"seed", OPTION_SEED, "S", 0, "Seed of the random input (default 1)", 1},
    {"input", OPTION_INPUT, "FILE", 0, "Input from this file in place of random input", 1},
    {"output", OPTION_OUTPUT, "FILE", 0, "Write the results to this file", 1},
    {"save-input", OPTION_SAVE_INPUT, "FILE", 0, "Write the input to this file", 1},
    {"reps", OPTION_REPS, "N", 0, "Repetitions (default 3)", 2},
    {"verify", OPTION_VERIFY, NULL, 0, "Compare all results with a plain reference", 2},
    {"json", OPTION_JSON, "FILE", 0, "Write a report as JSON (-: to standard output)", 2},
    {"sched", OPTION_SCHED, "NAME", 0, "Scheduling policy (default: STARPU_SCHED's)", 3},
    {"strategy", OPTION_STRATEGY, "SPEC", 0, "Block strategy (default: the policy's)", 3},
    {"parts", OPTION_PARTS, "N", 0, "Equal tasks under a policy of StarPU's own", 3},
    {"perf-model", OPTION_PERF_MODEL, "NAME", 0,
     "What StarPU's own policies know of times: history (default; its own model) or estimates "
     "(Heddle's)",
     3},
    {"workers", OPTION_WORKERS, "KINDS", 0, "Only workers of these kinds: cpu,cuda,opencl,fpga,hip",
     3},
    {"late", OPTION_LATE, NULL, 0,
     "Blocks of an accelerator that is late are computed again by idle workers (HEDDLE_LATE)", 3},
    {"mpi", OPTION_MPI, NULL, 0,
     "Share the work with all ranks (mpirun -n N heddle app NAME --mpi); rank 0 writes", 3},
    {NULL, 'h', NULL, OPTION_HIDDEN, NULL, 0},
    {0},
};

struct command_line {
	const struct app *app;
	void *self;
	struct app_options *options;
};

int app_number(const char *text, uint64_t min, uint64_t max, uint64_t *number)
{
	static const char suffixes[] = "KMGT";
	unsigned long long value;
	const char *suffix;
	unsigned shift = 0;
	char *end;

	if (*text < '0' || *text > '9')
		return -EINVAL;
	errno = 0;
	value = strtoull(text, &end, 10);
	if (errno)
		return -ERANGE;
	if (*end && (suffix = strchr(suffixes, *end))) {
		shift = 10 * (suffix - suffixes + 1);
		end++;
	}
	if (*end)
		return -EINVAL;
	if (value > UINT64_MAX >> shift || value << shift < min || value << shift > max)
		return -ERANGE;
	*number = value << shift;
	return 0;
}

int app_real(const char *text, double min, double max, double *number)
{
	char *end;
	double value = strtod(text, &end);

	if (end == text || *end || !isfinite(value))
		return -EINVAL;
	if (value < min || value > max)
		return -ERANGE;
	*number = value;
	return 0;
}

uint64_t app_option_number(const char *text, uint64_t min, uint64_t max, const char *option,
                           struct argp_state *state)
{
	uint64_t number = 0;

	if (app_number(text, min, max, &number))
		argp_error(state, "--%s %s: not a whole number from %ju to %ju", option, text,
		           (uintmax_t)min, (uintmax_t)max);
	return number;
}

static void parse_kinds(const char *list, struct app_options *options, struct argp_state *state)
{
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
			options->kinds[kind] = true;
	}
	free(copy);
}

static error_t check_together(const struct command_line *line, struct argp_state *state)
{
	const struct app_options *options = line->options;

	if (options->input && options->size_given)
		argp_error(state, "--size and --input exclude each other");
	if (options->mpi && !line->app->ranks)
		argp_error(state, "this app does not run over ranks: no --mpi");
	if (options->late && line->app->run)
		argp_error(state, "--late is for apps that are one loop");
	if (options->late && options->mpi)
		argp_error(state, "--late and --mpi exclude each other");
	if (app_simulated() && (options->input || options->output || options->save_input))
		argp_error(state, "simulated workers compute nothing: no --input, --output or "
		                  "--save-input");
	return 0;
}

static error_t parse_option(int key, char *text, struct argp_state *state)
{
	struct command_line *line = state->input;
	struct app_options *options = line->options;

	switch (key) {
	case ARGP_KEY_INIT:
		if (line->app->own)
			state->child_inputs[0] = line->self;
		return 0;
	case OPTION_SIZE:
		options->size = app_option_number(text, 0, line->app->max_size, "size", state);
		options->size_given = true;
		return 0;
	case OPTION_SEED:
		options->seed = app_option_number(text, 0, UINT64_MAX, "seed", state);
		return 0;
	case OPTION_INPUT:
		options->input = text;
		return 0;
	case OPTION_OUTPUT:
		options->output = text;
		return 0;
	case OPTION_SAVE_INPUT:
		options->save_input = text;
		return 0;
	case OPTION_REPS:
		options->reps = app_option_number(text, 1, 1000000, "reps", state);
		return 0;
	case OPTION_VERIFY:
		options->verify = true;
		return 0;
	case OPTION_JSON:
		options->json = text;
		return 0;
	case OPTION_SCHED:
		options->sched = text;
		return 0;
	case OPTION_STRATEGY:
		options->strategy = text;
		return 0;
	case OPTION_PARTS:
		options->parts = app_option_number(text, 1, 1 << 30, "parts", state);
		return 0;
	case OPTION_PERF_MODEL:
		options->estimates = !strcmp(text, "estimates");
		if (!options->estimates && strcmp(text, "history"))
			argp_error(state, "--perf-model %s: neither history nor estimates", text);
		return 0;
	case OPTION_WORKERS:
		parse_kinds(text, options, state);
		return 0;
	case OPTION_LATE:
		options->late = true;
		return 0;
	case OPTION_MPI:
		options->mpi = true;
		return 0;
	case 'h':
		argp_state_help(state, stdout, ARGP_HELP_STD_HELP);
		return 0;
	case ARGP_KEY_ARG:
		argp_error(state, "'%s': this program takes no arguments", text);
		return 0;
	case ARGP_KEY_END:
		return check_together(line, state);
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

/* argp ends the program where it helps or complains. Where main() is an actor of a
 * simulation, SimGrid's own clean-up does not stand that: while the command line is
 * parsed it is left out. */
static void leave(int status, void *parsing)
{
	if (!*(bool *)parsing)
		return;
	fflush(NULL);
	_exit(status);
}

void app_parse(const struct app *app, void *self, int argc, char **argv,
               struct app_options *options)
{
	static bool parsing;
	static char name[64];
	struct command_line line = {app, self, options};
	struct argp_child children[] = {{app->own, 0, "Of this app:", 10}, {0}};
	struct argp argp = {
	    .options = common_options,
	    .parser = parse_option,
	    .doc = app->doc,
	    .children = app->own ? children : NULL,
	};

	*options = (struct app_options){.size = app->size, .reps = 3, .seed = 1};
	argp_err_exit_status = APP_USAGE;
	if (app_simulated())
		on_exit(leave, &parsing);
	parsing = true;
	snprintf(name, sizeof(name), "heddle app %s", app->name);
	argv[0] = name; /* in messages; not the path of a build */
	argp_parse(&argp, argc, argv, 0, NULL, &line);
	parsing = false;
}
