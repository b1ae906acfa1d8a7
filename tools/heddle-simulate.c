/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * `heddle simulate`: runs a program of the SimGrid flavour on a described machine.
 */
#include "config.h"

#include <errno.h>
#include <ftw.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/message.h"
#include "support/options.h"
#include "tools/common/simulation.h"

struct arguments {
	const char *platform;
	enum simulation_profile profile;
	unsigned ranks;                    /* 0: no cluster */
	struct simulation_network network; /* 0 MB/s: not given */
	char **command;
};

static void parse_network(void *data, char *text, struct argp_state *state)
{
	if (simulation_network_parse(text, &((struct arguments *)data)->network))
		argp_usage(state);
}

static error_t take_command(void *data, int key, char *text, struct argp_state *state)
{
	if (key != ARGP_KEY_ARGS)
		return ARGP_ERR_UNKNOWN;
	((struct arguments *)data)->command = state->argv + state->next;
	return 0;
}

static void check(void *data, struct argp_state *state)
{
	const struct arguments *arguments = data;

	if (!arguments->platform)
		argp_error(state, "which machine? Say --platform SPEC");
	if (!arguments->command)
		argp_error(state, "which command? Say it after --");
	if (arguments->network.mbps > 0 && !arguments->ranks)
		argp_error(state, "--network is between ranks: say --ranks, too");
#ifndef HEDDLE_HAVE_SMPI
	if (arguments->ranks)
		argp_error(state, "--ranks: this build is not for SMPI (tools/setup sim-mpi in "
		                  "Heddle's source tree makes one)");
#endif
}

/* Each rank is a copy of the program in memory. */
#define MOST_RANKS 4096

static const struct option_row options[] = {
    {"platform", "SPEC",
     "description or name of the machine; with --ranks several, with commas between them, which "
     "ranks have in turn",
     TEXT(struct arguments, platform), .letter = 'p'},
    {"profile", "NAME",
     "StarPU's own costs: theory (none; default on a described machine) or realistic",
     NAMED(struct arguments, profile, simulation_profiles), .letter = 'P'},
    {"ranks", "N",
     "so many machines, a rank of an MPI program on each; the program is linked for SMPI",
     NUMBER(struct arguments, ranks, 2, MOST_RANKS), .letter = 'n'},
    {"network", "MBPS:US", "links between them (default 125:50, Gigabit Ethernet)",
     PARSED(parse_network), .letter = 'N'},
    {0},
};

static int remove_entry(const char *path, const struct stat *status, int type, struct FTW *walk)
{
	return remove(path);
}

static int command_run(char **command, char **environment)
{
	pid_t pid = fork();
	int status;

	if (pid < 0)
		return heddle_refuse(1, "%s", strerror(errno));
	if (!pid) {
		for (char **entry = environment; *entry; entry++)
			if (strchr(*entry, '='))
				putenv(*entry);
			else
				unsetenv(*entry);
		execvp(command[0], command);
		_exit(heddle_refuse(127, "%s: %s", command[0], strerror(errno)));
	}
	/* Ctrl-C ends the command; this program then removes the files. */
	signal(SIGINT, SIG_IGN);
	while (waitpid(pid, &status, 0) < 0)
		;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/* Makes the cluster, and what runs the command on it.
 * @return 0; -errno after a message */
static int cluster_prepare(const struct heddle_platform *platform, const char *directory,
                           struct arguments *arguments)
{
	/* A look for messages takes no time, and kernels are simulated by StarPU. */
	static const char *const settings[] = {"--cfg=smpi/privatization:yes",
	                                       "--cfg=smpi/simulate-computation:no",
	                                       "--cfg=smpi/test:0",
	                                       "--cfg=smpi/iprobe:0",
	                                       "--cfg=contexts/stack-size:16384",
	                                       "--log=root.thres:warning"};
	static char platform_file[4200], host_file[4200], ranks[16];
	size_t n = 0, nsettings = sizeof(settings) / sizeof(*settings);
	char **command;
	const struct simulation_network gigabit = {125, 50};
	int status;

	/* smpirun looks in no PATH, and says at length that it has crashed. */
	if (access(*arguments->command, X_OK))
		return heddle_refuse(-errno, "%s: %s", *arguments->command, strerror(errno));
	status =
	    simulation_cluster_write(platform, directory, arguments->ranks,
	                             arguments->network.mbps > 0 ? &arguments->network : &gigabit);
	if (status)
		return status;
	while (arguments->command[n])
		n++;
	command = calloc(8 + n + nsettings, sizeof(*command));
	if (!command)
		return heddle_refuse(-ENOMEM, "no memory");
	snprintf(platform_file, sizeof(platform_file), "%s/cluster.xml", directory);
	snprintf(host_file, sizeof(host_file), "%s/hosts", directory);
	snprintf(ranks, sizeof(ranks), "%u", arguments->ranks);
	memcpy(
	    command,
	    (char *[]){"smpirun", "-platform", platform_file, "-hostfile", host_file, "-np", ranks},
	    7 * sizeof(*command));
	memcpy(command + 7, arguments->command, n * sizeof(*command));
	memcpy(command + 7 + n, settings, sizeof(settings));
	arguments->command = command;
	return 0;
}

static bool is_alike(const struct heddle_platform *a, const struct heddle_platform *b)
{
	for (unsigned i = 0; i < a->naccelerators && a->naccelerators == b->naccelerators; i++)
		if (a->accelerators[i].mbps != b->accelerators[i].mbps ||
		    a->accelerators[i].latency_us != b->accelerators[i].latency_us ||
		    a->accelerators[i].memory_mb != b->accelerators[i].memory_mb)
			return false;
	return a->ncpus == b->ncpus && a->naccelerators == b->naccelerators;
}

/* Several machines, which ranks have in turn: their speeds may differ, but not what SimGrid sees.
 */
static int machines_find(const struct arguments *arguments, struct heddle_platform *platform)
{
	char names[HEDDLE_PLATFORM_MAXSPEC], specs[HEDDLE_PLATFORM_MAXSPEC], *rest = names, *name;
	struct heddle_platform one;
	size_t length = 0;

	if (!arguments->ranks || !strchr(arguments->platform, ','))
		return simulation_find(arguments->platform, platform);
	if (strlen(arguments->platform) >= sizeof(names))
		return heddle_refuse(-EINVAL, "--platform: more than %zu characters",
		                     sizeof(names) - 1);
	strcpy(names, arguments->platform);
	while ((name = strsep(&rest, ","))) {
		int status = simulation_find(name, &one);

		if (status)
			return status;
		if (!length)
			*platform = one;
		if (*one.host || !is_alike(platform, &one))
			return heddle_refuse(-EINVAL,
			                     "--platform %s: machines of a cluster are described, "
			                     "and differ in nothing but speed",
			                     arguments->platform);
		length += snprintf(specs + length, sizeof(specs) - length, "%s%s",
		                   length ? "," : "", one.spec);
		if (length >= sizeof(specs))
			return heddle_refuse(-EINVAL, "--platform %s: too long",
			                     arguments->platform);
	}
	strcpy(platform->spec, specs);
	return 0;
}

int main(int argc, char **argv)
{
	static const struct option_program program = {
	    .name = "heddle simulate",
	    .arguments = "-- COMMAND [ARGUMENT...]",
	    .doc = "Runs a program on a described machine, in simulated time. The program must be "
	           "built with StarPU's SimGrid flavour; others are refused. `heddle bench --help' "
	           "explains the description. On a calibrated machine (mirage, starpu:HOST) only "
	           "codelets that StarPU has models of can run. With --ranks the machine is one of "
	           "a cluster's, and SMPI runs the program (tools/setup sim-mpi).",
	    .flags = ARGP_IN_ORDER};
	struct arguments arguments = {0};
	struct option_set set = {
	    .rows = options, .data = &arguments, .argument = take_command, .check = check};
	struct heddle_platform platform;
	const char *temporary = getenv("TMPDIR");
	char directory[4096], **environment;
	int status;

	options_parse(&program, &set, argc, argv);
	if (machines_find(&arguments, &platform))
		return 2;
	snprintf(directory, sizeof(directory), "%s/heddle-simulate-XXXXXX",
	         temporary ? temporary : "/tmp");
	if (!mkdtemp(directory))
		return heddle_refuse(1, "%s: %s", directory, strerror(errno));
	status = simulation_prepare(&platform, directory, arguments.profile, &environment);
	if (!status) {
		if (arguments.ranks)
			status = cluster_prepare(&platform, directory, &arguments);
		if (!status)
			status = command_run(arguments.command, environment);
		simulation_environment_free(environment);
	}
	nftw(directory, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
	return status < 0 ? 1 : status;
}
