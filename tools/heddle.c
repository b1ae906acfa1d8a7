/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The command heddle: finds the subcommand and executes it.
 */
#include "config.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "support/message.h"
#include "tools/common/place.h"
#include "tools/plan.h"

#define USAGE 2

/* Subcommands without a main are programs of their own, heddle-NAME. */
static const struct subcommand {
	const char *name;
	int (*main)(int argc, char **argv);
	const char *doc;
} subcommands[] = {
    {"app", NULL, "runs one of Heddle's applications"},
    {"bench", NULL, "compares policies, strategies and processors on this or a simulated machine"},
    {"estimate", NULL, "prints measured times of tasks, and predictions from them"},
    {"info", NULL, "prints StarPU, workers, policies, strategies and variables"},
    {"opencl", NULL, "runs an OpenCL program, unchanged, on all devices"},
    {"overhead", NULL, "measures what each policy costs per task"},
    {"plan", plan_main, "prints what the algorithms decide, without running anything"},
    {"plot", NULL, "draws logs and comparisons"},
    {"run", NULL, "runs a StarPU program under one of Heddle's policies"},
    {"sample", NULL, "runs jobs of a codelet on every device and stores their times"},
    {"simulate", NULL, "runs a program on a simulated machine"},
    {"trace", NULL, "runs a program and writes a trace of it"},
};

#define NSUBCOMMANDS (sizeof(subcommands) / sizeof(subcommands[0]))

static bool subcommand_here(const struct subcommand *subcommand)
{
	char *path;

	if (subcommand->main || !strcmp(subcommand->name, "app"))
		return true;
	path = place_subcommand(subcommand->name);
	free(path);
	return path != NULL;
}

static void usage_print(FILE *out)
{
	fputs("Usage: heddle SUBCOMMAND [ARGUMENT...]\n"
	      "  or:  heddle app NAME [ARGUMENT...]\n"
	      "  or:  heddle --version\n\n"
	      "Schedules loops, kernels and task graphs over all processors of a machine, on top\n"
	      "of StarPU. The subcommands are\n\n",
	      out);
	for (size_t s = 0; s < NSUBCOMMANDS; s++)
		if (subcommand_here(&subcommands[s]))
			fprintf(out, "  %-9s %s\n", subcommands[s].name, subcommands[s].doc);
	fputs("\n'heddle SUBCOMMAND --help' tells more.\n", out);
}

/* Executes the program at a path, which is freed. */
static int execute(char *path, char **argv)
{
	argv[0] = path;
	execv(path, argv);
	fprintf(stderr, "heddle: %s: %s\n", path, strerror(errno));
	free(path);
	return 126;
}

static int app_run(int argc, char **argv)
{
	char *path;

	if (argc < 2 || argv[1][0] == '-') {
		bool asked = argc > 1 && (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h"));
		FILE *out = asked ? stdout : stderr;

		if (argc > 1 && !asked)
			fprintf(out, "heddle app: \"%s\" is no application's name\n\n", argv[1]);
		fputs("Usage: heddle app NAME [ARGUMENT...]\n\nApplications:\n\n", out);
		place_apps_print(out);
		fputs("\n'heddle app NAME --help' tells more.\n", out);
		return asked ? 0 : USAGE;
	}
	path = place_app(argv[1]);
	if (path)
		return execute(path, argv + 1);
	fprintf(stderr, "heddle: there is no application \"%s\"; there are\n", argv[1]);
	place_apps_print(stderr);
	return USAGE;
}

/* StarPU aborts over any other value of these. */
static int worker_numbers_check(void)
{
	static const char *const names[] = {
	    "STARPU_NCPU",      "STARPU_NCPUS",           "STARPU_NCUDA", "STARPU_NOPENCL",
	    "STARPU_NHIP",      "STARPU_NMAX_FPGA",       "STARPU_NMIC",  "STARPU_NMPI_MS",
	    "STARPU_NTCPIP_MS", "STARPU_NWORKER_PER_CUDA"};

	for (size_t n = 0; n < sizeof(names) / sizeof(*names); n++) {
		const char *value = getenv(names[n]);
		char *end;

		if (value && (strtol(value, &end, 10) < 0 || *end))
			return heddle_refuse(-EINVAL, "%s=\"%s\": not a whole number, 0 or more",
			                     names[n], value);
	}
	return 0;
}

static bool asks_for_help(int argc, char **argv)
{
	for (int a = 1; a < argc && strcmp(argv[a], "--"); a++)
		if (!strcmp(argv[a], "--help") || !strcmp(argv[a], "-h"))
			return true;
	return false;
}

static int subcommand_run(int argc, char **argv)
{
	char *path;

	if (!asks_for_help(argc, argv) && worker_numbers_check())
		return USAGE;
	if (!strcmp(argv[0], "app"))
		return app_run(argc, argv);
	for (size_t s = 0; s < NSUBCOMMANDS; s++)
		if (subcommands[s].main && !strcmp(argv[0], subcommands[s].name))
			return subcommands[s].main(argc, argv);
	path = strchr(argv[0], '/') ? NULL : place_subcommand(argv[0]);
	if (path)
		return execute(path, argv);
	fprintf(stderr, "heddle: \"%s\" is not a subcommand\n\n", argv[0]);
	usage_print(stderr);
	return USAGE;
}

int main(int argc, char **argv)
{
	if (argc < 2) {
		usage_print(stderr);
		return USAGE;
	}
	if (!strcmp(argv[1], "--version")) {
		printf("heddle %s\n", PACKAGE_VERSION);
		return 0;
	}
	if (strcmp(argv[1], "--help") && strcmp(argv[1], "-h") && strcmp(argv[1], "help"))
		return subcommand_run(argc - 1, argv + 1);
	if (argc == 2) {
		usage_print(stdout);
		return 0;
	}
	/* heddle help SUBCOMMAND */
	return subcommand_run(2, (char *[]){argv[2], "--help", NULL});
}
