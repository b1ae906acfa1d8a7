/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * heddle opencl: runs any OpenCL program on all devices.
 */
#include "config.h"

#include <errno.h>
#include <getopt.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tools/common/place.h"

#define USAGE 2

static void usage_print(FILE *out)
{
	fputs("Usage: heddle opencl [--beside] [--always] [--] COMMAND [ARGUMENT...]\n"
	      "\n"
	      "Runs COMMAND, any program that uses OpenCL, with one device, \"Heddle (all\n"
	      "devices)\". Kernels that can be split are computed by all OpenCL devices of the\n"
	      "machine, all others by the best one. The program needs no change. At its end,\n"
	      "standard error tells what was split, and why the rest was not.\n"
	      "\n"
	      "  -b, --beside  the program sees the real devices as well\n"
	      "  -a, --always  kernels are split from their first launch on, also where one\n"
	      "                device would be faster\n"
	      "  -h, --help    this text\n"
	      "\n"
	      "CPUs count as devices where they have an OpenCL driver. HEDDLE_VERBOSE=0 prints\n"
	      "nothing. doc/opencl.md says more.\n"
	      "\n"
	      "Exit status: COMMAND's; 2 for wrong use; 126 if COMMAND cannot be run; 127 if it\n"
	      "is not found.\n",
	      out);
}

static bool set(const char *name, const char *value, bool instead)
{
	return !setenv(name, value, instead);
}

/* The last layer named is the first that the loader calls: ours is next to the real
 * OpenCL, and others see what it does. */
static bool layer_set(void)
{
	const char *before = getenv("OPENCL_LAYERS");
	char *layer = place_library("libheddle-opencl.so"), *libraries = place_library_path();
	char *all = NULL;
	bool done = layer;

	if (done && before && *before)
		done = asprintf(&all, "%s:%s", layer, before) >= 0;
	if (done)
		done = set("OPENCL_LAYERS", all ? all : layer, true);
	if (done && libraries)
		done = set("LD_LIBRARY_PATH", libraries, true);
	free(all);
	free(libraries);
	free(layer);
	return done;
}

/* StarPU in a process that knows nothing of it: every OpenCL device, no other worker, cores for
 * OpenCL's own threads, no output, no signals caught. First launches are trials of the layer's. */
static bool starpu_set(void)
{
	return set("STARPU_NCPU", "0", false) && set("STARPU_NCUDA", "0", false) &&
	       set("STARPU_OPENCL_ON_CPUS", "1", false) &&
	       set("STARPU_WORKERS_NOBIND", "1", false) && set("STARPU_SILENT", "1", false) &&
	       set("STARPU_CATCH_SIGNALS", "0", false) && set("HEDDLE_KERNEL_WAIT", "0", false);
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
	    {"beside", no_argument, NULL, 'b'},
	    {"always", no_argument, NULL, 'a'},
	    {"help", no_argument, NULL, 'h'},
	    {NULL, 0, NULL, 0},
	};
	bool done = true;
	int option;

	argv[0] = "heddle opencl"; /* in messages */
	/* "+": options after the command belong to the command. */
	while ((option = getopt_long(argc, argv, "+bah", options, NULL)) != -1)
		switch (option) {
		case 'b':
			done = done && set("HEDDLE_OPENCL_SHOW", "beside", true);
			break;
		case 'a':
			done = done && set("HEDDLE_OPENCL_AFTER", "0", true);
			break;
		case 'h':
			usage_print(stdout);
			return 0;
		default:
			fputs("Try 'heddle opencl --help'.\n", stderr);
			return USAGE;
		}
	if (optind == argc) {
		fputs("heddle: which command? Try 'heddle opencl --help'.\n", stderr);
		return USAGE;
	}
	if (!done || !layer_set() || !starpu_set())
		return USAGE;
	execvp(argv[optind], argv + optind);
	fprintf(stderr, "heddle: %s: %s\n", argv[optind], strerror(errno));
	return errno == ENOENT ? 127 : 126;
}
