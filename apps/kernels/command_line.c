/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The command line of the app "kernels".
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "apps/kernels/kernels.h"

/* Reads up to three numbers with commas between; the missing ones become the least. */
static unsigned numbers(const char *text, const char *option, size_t least, size_t values[3],
                        struct argp_state *state)
{
	char *copy = strdup(text), *rest = copy, *item;
	unsigned n = 0;

	while ((item = strsep(&rest, ","))) {
		if (n == 3)
			argp_error(state, "--%s %s: more than three numbers", option, text);
		values[n++] = options_take_number(item, least, UINT32_MAX, option, state);
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

static void check(void *data, struct argp_state *state)
{
	struct options *options = data;
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
		argp_error(state,
		           "there is no kernel %s; --list has their names. One of your own: "
		           "NAME --file K.cl",
		           options->name);
	check_size(options, state);
}

static void parse_global(void *data, char *text, struct argp_state *state)
{
	struct user *user = &((struct options *)data)->user;

	user->dimensions = numbers(text, "global", 1, user->global, state);
}

static void parse_local(void *data, char *text, struct argp_state *state)
{
	struct user *user = &((struct options *)data)->user;

	user->nlocal = numbers(text, "local", 1, user->local, state);
}

static void parse_offset(void *data, char *text, struct argp_state *state)
{
	struct user *user = &((struct options *)data)->user;

	user->noffset = numbers(text, "offset", 0, user->offset, state);
}

static void parse_argument(void *data, char *text, struct argp_state *state)
{
	struct user *user = &((struct options *)data)->user;

	if (user->narguments == HEDDLE_KERNEL_MAXARGUMENTS)
		argp_error(state, "--arg %s: more than %d arguments", text,
		           HEDDLE_KERNEL_MAXARGUMENTS);
	user->arguments[user->narguments++] = text;
}

static error_t take_name(void *data, int key, char *text, struct argp_state *state)
{
	struct options *options = data;

	if (key != ARGP_KEY_ARG)
		return ARGP_ERR_UNKNOWN;
	if (options->name)
		argp_error(state, "'%s': one kernel at a time, or all", text);
	options->name = text;
	return 0;
}

static const struct option_row known[] = {
    {"list", NULL, "Print the kernels and their sizes", SETS(struct options, list, true),
     .group = 1},
    {"size", "N", "Size of a kernel's data in its own unit (see --list)",
     NUMBER(struct options, size, 1, 1 << 30), .group = 1},
    {"scale", "S", "Data S times as large as in the paper (default 1)",
     NUMBER(struct options, scale, 1, 64), .group = 1},
    {"seed", "S", "Seed of random input (default 1)", NUMBER(struct options, seed, 0, UINT64_MAX),
     .group = 1},
    {"reps", "N", "Repetitions (default 3)", NUMBER(struct options, reps, 1, 100000), .group = 2},
    {"verify", NULL,
     "Compare all results with a plain reference; those of your own kernel with the results of "
     "one device",
     SETS(struct options, verify, true), .group = 2},
    {"json", "FILE", "Write a report as JSON (-: to standard output)", TEXT(struct options, json),
     .group = 2},
    {"csv", "FILE", "Write the times of all workers, for heddle plot", TEXT(struct options, csv),
     .group = 2},
    {"keep", NULL, "Inputs stay on the devices from repetition to repetition",
     SETS(struct options, keep, true), .group = 2},
    {"classes", NULL, "Print which parts of each buffer the kernel accesses",
     SETS(struct options, classes, true), .group = 2},
    {"sched", "NAME", "Scheduling policy (default: STARPU_SCHED's, else skmd)",
     TEXT(struct options, sched), .group = 3},
    {"compare", NULL,
     "Launch each kernel in turn: split by skmd, by SKMD as published, by its Algorithm 1 with "
     "Heddle's transfers and by speed; on each device alone, by Heddle and by OpenCL",
     SETS(struct options, compare, true), .group = 3},
    {"file", "K.cl", "The kernel NAME of this OpenCL C source", TEXT(struct options, user.file),
     .group = 4},
    {"build", "OPTIONS", "Options for the OpenCL compiler", TEXT(struct options, user.options),
     .group = 4},
    {"global", "X[,Y[,Z]]", "Work-items", PARSED(parse_global), .group = 4},
    {"local", "X[,Y[,Z]]", "Work-items of a group", PARSED(parse_local), .group = 4},
    {"offset", "X[,Y[,Z]]", "Where global ids begin (default 0)", PARSED(parse_offset), .group = 4},
    {"arg", "ARG",
     "The next argument: in:TYPE:COUNT, inout:TYPE:COUNT, out:TYPE:COUNT (buffers, random or "
     "=FILE), TYPE=VALUE, local:BYTES",
     PARSED(parse_argument), .group = 4},
    {"args", "ARG", NULL, PARSED(parse_argument), .group = 4},
    {"out", "FILE", "Write the contents of out and inout buffers, one after the other",
     TEXT(struct options, user.out), .group = 4},
    {0},
};

void command_line_parse(int argc, char **argv, struct options *options)
{
	static const struct option_program program = {
	    .name = "heddle app kernels",
	    .arguments = "NAME\nall\nNAME --file K.cl --global X --local X --arg ARG...",
	    .doc = "Runs OpenCL kernels, each split over all OpenCL devices: the ten with which "
	           "SKMD was measured (PACT 2013), or your own."
	           "\vWhere the environment says nothing else, OpenCL's CPU devices take part "
	           "and CUDA workers do not (STARPU_OPENCL_ON_CPUS=1, STARPU_NCUDA=0, "
	           "STARPU_NCPU=0, STARPU_WORKERS_NOBIND=1). TYPE is char, uchar, short, ushort, "
	           "int, uint, long, ulong, float or double. " APP_STATUS};
	struct option_set set = {
	    .rows = known, .data = options, .argument = take_name, .check = check};

	*options = (struct options){.scale = 1, .reps = 3, .seed = 1};
	options_parse(&program, &set, argc, argv);
}
