/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The command line of the app "kernels".
 */
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "apps/kernels/kernels.h"

enum {
	OPTION_SIZE = 0x100,
	OPTION_SCALE,
	OPTION_REPS,
	OPTION_SEED,
	OPTION_VERIFY,
	OPTION_JSON,
	OPTION_CSV,
	OPTION_SCHED,
	OPTION_COMPARE,
	OPTION_CLASSES,
	OPTION_LIST,
	OPTION_FILE,
	OPTION_BUILD,
	OPTION_GLOBAL,
	OPTION_LOCAL,
	OPTION_OFFSET,
	OPTION_KEEP,
	OPTION_ARG,
	OPTION_OUT
};

static const struct argp_option known[] = {
    {"list", OPTION_LIST, NULL, 0, "Print the kernels and their sizes", 1},
    {"size", OPTION_SIZE, "N", 0, "Size of a kernel's data in its own unit (see --list)", 1},
    {"scale", OPTION_SCALE, "S", 0, "Data S times as large as in the paper (default 1)", 1},
    {"seed", OPTION_SEED, "S", 0, "Seed of random input (default 1)", 1},
    {"reps", OPTION_REPS, "N", 0, "Repetitions (default 3)", 2},
    {"verify", OPTION_VERIFY, NULL, 0,
     "Compare all results with a plain reference; those of your own kernel with the results "
     "of one device",
     2},
    {"json", OPTION_JSON, "FILE", 0, "Write a report as JSON (-: to standard output)", 2},
    {"csv", OPTION_CSV, "FILE", 0, "Write the times of all workers, for heddle plot", 2},
    {"keep", OPTION_KEEP, NULL, 0, "Inputs stay on the devices from repetition to repetition", 2},
    {"classes", OPTION_CLASSES, NULL, 0, "Print which parts of each buffer the kernel accesses", 2},
    {"sched", OPTION_SCHED, "NAME", 0, "Scheduling policy (default: STARPU_SCHED's, else skmd)", 3},
    {"compare", OPTION_COMPARE, NULL, 0,
     "Launch each kernel in turn: split by skmd, by SKMD as published, by its Algorithm 1 with "
     "Heddle's transfers and by speed; on each device alone, by Heddle and by OpenCL",
     3},
    {"file", OPTION_FILE, "K.cl", 0, "The kernel NAME of this OpenCL C source", 4},
    {"build", OPTION_BUILD, "OPTIONS", 0, "Options for the OpenCL compiler", 4},
    {"global", OPTION_GLOBAL, "X[,Y[,Z]]", 0, "Work-items", 4},
    {"local", OPTION_LOCAL, "X[,Y[,Z]]", 0, "Work-items of a group", 4},
    {"offset", OPTION_OFFSET, "X[,Y[,Z]]", 0, "Where global ids begin (default 0)", 4},
    {"arg", OPTION_ARG, "ARG", 0,
     "The next argument: in:TYPE:COUNT, inout:TYPE:COUNT, out:TYPE:COUNT (buffers, random or "
     "=FILE), TYPE=VALUE, local:BYTES",
     4},
    {"args", OPTION_ARG, NULL, OPTION_ALIAS, NULL, 4},
    {"out", OPTION_OUT, "FILE", 0,
     "Write the contents of out and inout buffers, one after "
     "the other",
     4},
    {NULL, 'h', NULL, OPTION_HIDDEN, NULL, 0},
    {0},
};

/* Reads up to three numbers with commas between; the missing ones become the least. */
static unsigned numbers(const char *text, const char *option, size_t least, size_t values[3],
                        struct argp_state *state)
{
	char *copy = strdup(text), *rest = copy, *item;
	unsigned n = 0;

	while ((item = strsep(&rest, ","))) {
		if (n == 3)
			argp_error(state, "--%s %s: more than three numbers", option, text);
		values[n++] = app_option_number(item, least, UINT32_MAX, option, state);
	}
	for (unsigned d = n; d < 3; d++)
		values[d] = least;
	free(copy);
	return n;
}

static void check_user(const struct options *options, struct argp_state *state)
{
	const struct user *user = &options->user;

	if (!options->name)
		argp_error(state, "--file %s: the kernel's name is missing", user->file);
	if (!user->dimensions)
		argp_error(state, "--file %s: --global is missing", user->file);
	if (user->nlocal != user->dimensions)
		argp_error(state, "--local: give as many numbers as --global");
	if (user->noffset && user->noffset != user->dimensions)
		argp_error(state, "--offset: give as many numbers as --global");
	for (unsigned d = 0; d < user->dimensions; d++)
		if (user->global[d] % user->local[d])
			argp_error(state, "--global %zu is not a multiple of --local %zu",
			           user->global[d], user->local[d]);
	if (options->size || options->scale > 1)
		argp_error(state, "--size and --scale are for the kernels of --list");
}

static void check_size(const struct options *options, struct argp_state *state)
{
	const struct benchmark *benchmark = options->name ? benchmark_find(options->name) : NULL;

	if (options->size && options->scale > 1)
		argp_error(state, "--size and --scale exclude each other");
	if (options->size && !benchmark)
		argp_error(state, "--size is for one kernel; --scale is for all");
	if (options->size &&
	    (options->size % benchmark->multiple || options->size > benchmark->most))
		argp_error(state, "--size %zu: %s takes multiples of %zu up to %zu", options->size,
		           benchmark->name, benchmark->multiple, benchmark->most);
}

static void check(struct options *options, struct argp_state *state)
{
	const struct user *user = &options->user;

	if (options->list)
		return;
	if (user->file) {
		check_user(options, state);
		return;
	}
	if (user->narguments || user->dimensions || user->nlocal || user->noffset ||
	    user->options || user->out)
		argp_error(state, "--arg, --global, --local, --offset, --build and --out want "
		                  "--file");
	if (!options->name)
		argp_error(state, "which kernel? --list has their names; \"all\" runs all");
	if (!strcasecmp(options->name, "all"))
		options->name = NULL;
	else if (!benchmark_find(options->name))
		argp_error(state, "there is no kernel %s; --list has their names", options->name);
	check_size(options, state);
}

static error_t parse_user(int key, char *text, struct user *user, struct argp_state *state)
{
	switch (key) {
	case OPTION_FILE:
		user->file = text;
		return 0;
	case OPTION_BUILD:
		user->options = text;
		return 0;
	case OPTION_GLOBAL:
		user->dimensions = numbers(text, "global", 1, user->global, state);
		return 0;
	case OPTION_LOCAL:
		user->nlocal = numbers(text, "local", 1, user->local, state);
		return 0;
	case OPTION_OFFSET:
		user->noffset = numbers(text, "offset", 0, user->offset, state);
		return 0;
	case OPTION_ARG:
		if (user->narguments == HEDDLE_KERNEL_MAXARGUMENTS)
			argp_error(state, "--arg %s: more than %d arguments", text,
			           HEDDLE_KERNEL_MAXARGUMENTS);
		user->arguments[user->narguments++] = text;
		return 0;
	case OPTION_OUT:
		user->out = text;
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static error_t parse(int key, char *text, struct argp_state *state)
{
	struct options *options = state->input;

	switch (key) {
	case OPTION_SIZE:
		options->size = app_option_number(text, 1, 1 << 30, "size", state);
		return 0;
	case OPTION_SCALE:
		options->scale = app_option_number(text, 1, 64, "scale", state);
		return 0;
	case OPTION_REPS:
		options->reps = app_option_number(text, 1, 100000, "reps", state);
		return 0;
	case OPTION_SEED:
		options->seed = app_option_number(text, 0, UINT64_MAX, "seed", state);
		return 0;
	case OPTION_VERIFY:
		options->verify = true;
		return 0;
	case OPTION_JSON:
		options->json = text;
		return 0;
	case OPTION_CSV:
		options->csv = text;
		return 0;
	case OPTION_SCHED:
		options->sched = text;
		return 0;
	case OPTION_COMPARE:
		options->compare = true;
		return 0;
	case OPTION_CLASSES:
		options->classes = true;
		return 0;
	case OPTION_KEEP:
		options->keep = true;
		return 0;
	case OPTION_LIST:
		options->list = true;
		return 0;
	case 'h':
		argp_state_help(state, stdout, ARGP_HELP_STD_HELP);
		return 0;
	case ARGP_KEY_ARG:
		if (options->name)
			argp_error(state, "'%s': one kernel at a time, or all", text);
		options->name = text;
		return 0;
	case ARGP_KEY_END:
		check(options, state);
		return 0;
	default:
		return parse_user(key, text, &options->user, state);
	}
}

void options_parse(int argc, char **argv, struct options *options)
{
	static const struct argp argp = {
	    .options = known,
	    .parser = parse,
	    .args_doc = "NAME\nall\nNAME --file K.cl --global X --local X --arg ARG...",
	    .doc = "Runs OpenCL kernels, each split over all OpenCL devices: the ten with which "
	           "SKMD was measured (PACT 2013), or your own."
	           "\vWhere the environment says nothing else, OpenCL's CPU devices take part "
	           "and CUDA workers do not (STARPU_OPENCL_ON_CPUS=1, STARPU_NCUDA=0, "
	           "STARPU_NCPU=0, STARPU_WORKERS_NOBIND=1). TYPE is char, uchar, short, ushort, "
	           "int, uint, long, ulong, "
	           "float or double. Exit status: 0 right, 1 wrong result, 2 usage or bad input, "
	           "77 cannot run here."};

	*options = (struct options){.scale = 1, .reps = 3, .seed = 1};
	argp_err_exit_status = APP_USAGE;
	argv[0] = "heddle app kernels"; /* in messages */
	argp_parse(&argp, argc, argv, 0, NULL, options);
}
