/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * heddle run: runs a StarPU program, which need not know Heddle, under one of
 * Heddle's policies.
 */
#include "config.h"

#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <heddle/policy.h>

#include "tools/place.h"

#define USAGE 2
#define PRELOAD "libheddle-preload.so"
#define LIBRARY "libheddle.so"

static void policies_print(FILE *out)
{
	fputs("Heddle's policies:\n", out);
	for (const struct heddle_policy *policy = heddle_policies(); policy->name; policy++)
		fprintf(out, "  %-12s %s\n", policy->name, policy->doc);
}

static void usage_print(FILE *out)
{
	fputs("Usage: heddle run --sched NAME [--] COMMAND [ARGUMENT...]\n"
	      "\n"
	      "Runs COMMAND, any program that uses StarPU, under one of Heddle's scheduling\n"
	      "policies. The program needs no change; what it does not do with StarPU is not\n"
	      "touched. STARPU_SCHED is set to NAME for it, which wins over a policy that the\n"
	      "program asks for itself.\n"
	      "\n"
	      "  -s, --sched NAME  the policy\n"
	      "  -h, --help        this text\n"
	      "\n"
	      "Exit status: COMMAND's; 2 for wrong use, 126 and 127 when COMMAND cannot be run\n"
	      "or is not found.\n"
	      "\n",
	      out);
	policies_print(out);
}

/* Where a library lies: in the build tree whose bin/ holds this program, else
 * where it was to be installed. */
static int library_find(const char *name, const char *installed, char *path, size_t size)
{
	char *folder = place_program_folder();
	bool found = folder &&
	             (size_t)snprintf(path, size, "%s/../.libs/%s", folder, name) < size &&
	             !access(path, R_OK);

	found = found || ((size_t)snprintf(path, size, "%s/%s", installed, name) < size &&
	                  !access(path, R_OK));
	if (!found)
		fprintf(stderr,
		        "heddle: cannot find %s, neither in a build tree around %s nor in %s\n",
		        name, folder ? folder : "?", installed);
	free(folder);
	return found ? 0 : -ENOENT;
}

/* In front of what the user preloads already. */
static int preload_set(const char *path)
{
	const char *before = getenv("LD_PRELOAD");
	char *value;
	int status;

	if (!before || !*before)
		return setenv("LD_PRELOAD", path, 1);
	if (asprintf(&value, "%s:%s", path, before) < 0)
		return -1;
	status = setenv("LD_PRELOAD", value, 1);
	free(value);
	return status;
}

/* Whichever door StarPU has: 1.4 looks for a library, which a Heddle for 1.3 must not be; 1.3
 * is helped by the preloaded one, which also tells that a program has another StarPU. */
static int environment_set(const char *policy)
{
	char preload[PATH_MAX], library[PATH_MAX];
	bool asked = strcmp(HEDDLE_STARPU_SERIES, "1.3") != 0;

	if (library_find(PRELOAD, HEDDLE_PKGLIBDIR, preload, sizeof(preload)) ||
	    library_find(LIBRARY, HEDDLE_LIBDIR, library, sizeof(library)))
		return -ENOENT;
	if (setenv("STARPU_SCHED", policy, 1) ||
	    (asked && setenv("STARPU_SCHED_LIB", library, 1)) || preload_set(preload)) {
		fprintf(stderr, "heddle: %s\n", strerror(errno));
		return -ENOMEM;
	}
	return 0;
}

static int policy_check(const char *policy)
{
	if (policy && heddle_policy_find(policy))
		return 0;
	if (policy)
		fprintf(stderr, "heddle: '%s' is not a policy of Heddle's\n", policy);
	else
		fputs("heddle: which policy? Give --sched NAME\n", stderr);
	policies_print(stderr);
	return -EINVAL;
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
	    {"sched", required_argument, NULL, 's'},
	    {"help", no_argument, NULL, 'h'},
	    {NULL, 0, NULL, 0},
	};
	const char *policy = NULL;
	int option;

	argv[0] = "heddle run"; /* in messages */
	/* "+": options after the command are the command's. */
	while ((option = getopt_long(argc, argv, "+s:h", options, NULL)) != -1)
		switch (option) {
		case 's':
			policy = optarg;
			break;
		case 'h':
			usage_print(stdout);
			return 0;
		default:
			fputs("Try 'heddle run --help'.\n", stderr);
			return USAGE;
		}
	if (policy_check(policy))
		return USAGE;
	if (optind == argc) {
		fputs("heddle: which command? Try 'heddle run --help'.\n", stderr);
		return USAGE;
	}
	if (environment_set(policy))
		return USAGE;
	execvp(argv[optind], argv + optind);
	fprintf(stderr, "heddle: %s: %s\n", argv[optind], strerror(errno));
	return errno == ENOENT ? 127 : 126;
}
