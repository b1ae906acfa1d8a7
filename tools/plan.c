/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "config.h"

#include <stdio.h>
#include <string.h>

#include "tools/plan.h"

static const struct {
	const char *name;
	int (*main)(int argc, char **argv);
	const char *doc;
} plans[] = {
    {"blocks", plan_blocks, "the blocks that a strategy gives to a described machine"},
    {"interval", plan_interval, "how often the bands of a wavefront should synchronise"},
    {"kernels", plan_kernels,
     "which kernels of OpenCL sources can be split, and why others cannot"},
    {"skmd", plan_skmd, "the kernels and the machine of the SKMD paper, its figures"},
    {"split", plan_split, "the share of a kernel that each device computes"},
};

#define NPLANS (sizeof(plans) / sizeof(plans[0]))

static void usage_print(FILE *out)
{
	fputs(
	    "Usage: heddle plan WHAT [ARGUMENT...]\n\n"
	    "Prints what Heddle's algorithms decide, without running anything. WHAT is one of\n\n",
	    out);
	for (size_t p = 0; p < NPLANS; p++)
		fprintf(out, "  %-9s %s\n", plans[p].name, plans[p].doc);
	fputs("\n'heddle plan WHAT --help' tells more.\n", out);
}

int plan_main(int argc, char **argv)
{
	if (argc < 2) {
		usage_print(stderr);
		return PLAN_USAGE;
	}
	if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h") || !strcmp(argv[1], "help")) {
		usage_print(stdout);
		return 0;
	}
	for (size_t p = 0; p < NPLANS; p++)
		if (!strcmp(argv[1], plans[p].name))
			return plans[p].main(argc - 1, argv + 1);
	fprintf(stderr, "heddle plan: \"%s\" is nothing to plan\n\n", argv[1]);
	usage_print(stderr);
	return PLAN_USAGE;
}
