/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * heddle run: runs any StarPU program under one of Heddle's policies, or of StarPU's own.
 */
#include "config.h"

#include <errno.h>
#include <getopt.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <heddle/policy.h>

#include "support/stock.h"
#include "tools/common/place.h"

#define USAGE 2

static void policies_print(FILE *out)
{
	const char *name, *doc;

	fputs("Heddle's policies:\n", out);
	for (const struct heddle_policy *policy = heddle_policies(); policy->name; policy++)
		fprintf(out, "  %-12s %s\n", policy->name, policy->doc);
	fputs("StarPU's own:\n", out);
	for (unsigned p = 0; (name = stock_policy(p, &doc)); p++)
		fprintf(out, "  %-12s %s\n", name, doc ? doc : "");
}

static void usage_print(FILE *out)
{
	fputs("Usage: heddle run [--sched NAME] [--] COMMAND [ARGUMENT...]\n"
	      "\n"
	      "Runs COMMAND, any program that uses StarPU, under one of Heddle's scheduling\n"
	      "policies, or of StarPU's own, without Heddle. The program needs no change.\n"
	      "STARPU_SCHED is set to NAME, which overrides the policy that the program asks\n"
	      "for.\n"
	      "\n"
	      "  -s, --sched NAME  the policy (default: STARPU_SCHED's, else heddle)\n"
	      "  -h, --help        this text\n"
	      "\n"
	      "Exit status: COMMAND's; 2 for wrong use; 126 if COMMAND cannot be run; 127 if it\n"
	      "is not found.\n"
	      "\n",
	      out);
	policies_print(out);
}

/* StarPU 1.4 loads the library itself, but must not load one for 1.3. For 1.3 the preloaded library
 * registers the policies; it also detects a program with another StarPU. */
static int environment_set(const char *policy)
{
	bool asked = strcmp(HEDDLE_STARPU_SERIES, "1.3") != 0;
	char *preload, *library;
	int status;

	if (!heddle_policy_find(policy))
		return setenv("STARPU_SCHED", policy, 1) ? -ENOMEM : 0;
	preload = place_preload();
	library = place_library("libheddle.so");
	status = preload && library ? 0 : -ENOENT;
	if (!status && (setenv("STARPU_SCHED", policy, 1) || setenv("LD_PRELOAD", preload, 1) ||
	                (asked && setenv("STARPU_SCHED_LIB", library, 1)))) {
		fprintf(stderr, "heddle: %s\n", strerror(errno));
		status = -ENOMEM;
	}
	free(preload);
	free(library);
	return status;
}

/* Whether a folder of PATH that can be searched has it: exec() speaks of a folder that cannot. */
static bool in_path(const char *command)
{
	const char *path = getenv("PATH");
	bool found = false;

	while (path && !found) {
		size_t length = strcspn(path, ":");
		char *file;

		if (asprintf(&file, "%.*s/%s", length ? (int)length : 1, length ? path : ".",
		             command) < 0)
			return true;
		found = !access(file, F_OK);
		free(file);
		path = path[length] ? path + length + 1 : NULL;
	}
	return found;
}

/* Says why a command was not executed. @return the exit status, as of a shell */
static int command_fail(const char *command)
{
	int error = errno;

	if (error == EACCES && !strchr(command, '/') && !in_path(command))
		error = ENOENT;
	if (error == ENOENT && !strchr(command, '/') && !access(command, X_OK))
		fprintf(stderr, "heddle: %s: not in PATH; the one in this folder is ./%s\n",
		        command, command);
	else
		fprintf(stderr, "heddle: %s: %s\n", command, strerror(error));
	return error == ENOENT ? 127 : 126;
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
	/* "+": options after the command belong to the command. */
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
	if (!policy)
		policy = getenv("STARPU_SCHED");
	if (!policy || !*policy) /* StarPU takes an empty name for none, too */
		policy = "heddle";
	if (!policy_exists(policy)) {
		policy_unknown_print(stderr, policy);
		return USAGE;
	}
	if (optind == argc) {
		fputs("heddle: which command? Try 'heddle run --help'.\n", stderr);
		return USAGE;
	}
	if (environment_set(policy))
		return USAGE;
	execvp(argv[optind], argv + optind);
	return command_fail(argv[optind]);
}
