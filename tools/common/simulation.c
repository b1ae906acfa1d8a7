/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "config.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#ifdef __linux__
#include <sys/personality.h>
#endif

#include "support/message.h"
#include "support/number.h"
#include "tools/common/models.h"
#include "tools/common/place.h"
#include "tools/common/simulation.h"

/* ---- named platforms ---- */

enum column { NAME, SPEC, APP, SIZE, NCOLUMNS };

/* Splits a line into its columns; missing columns are NULL. */
static void line_split(char *line, char *columns[NCOLUMNS])
{
	char *rest;

	line[strcspn(line, "#\n")] = 0;
	for (int c = 0; c < NCOLUMNS; c++)
		columns[c] = strtok_r(c ? NULL : line, " \t\r", &rest);
}

/* Only digits: strtoull() takes -1 as the largest number. */
static bool size_parse(const char *text, size_t *size)
{
	char *end;

	errno = 0;
	*size = strtoull(text, &end, 10);
	return isdigit((unsigned char)*text) && !*end && !errno;
}

static int line_parse(char *const columns[NCOLUMNS], const char *file, unsigned number,
                      struct heddle_platform *platform)
{
	struct heddle_platform parsed;
	int status;

	if (!columns[SPEC])
		return heddle_refuse(-EINVAL, "%s:%u: \"%s\" has no description", file, number,
		                     columns[NAME]);
	status = heddle_platform_parse(columns[SPEC], &parsed);
	if (status)
		return status;
	if (columns[APP])
		snprintf(parsed.app, sizeof(parsed.app), "%s", columns[APP]);
	if (columns[SIZE] && !size_parse(columns[SIZE], &parsed.size))
		return heddle_refuse(-EINVAL, "%s:%u: \"%s\" is not a number of iterations", file,
		                     number, columns[SIZE]);
	*platform = parsed;
	return 0;
}

/* 1: found and read; 0: no such name. */
static int find_in_file(const char *wanted, FILE *stream, const char *file,
                        struct heddle_platform *platform)
{
	char *line = NULL, *columns[NCOLUMNS];
	size_t room = 0;
	int status = 0;

	for (unsigned number = 1; !status && getline(&line, &room, stream) > 0; number++) {
		line_split(line, columns);
		if (!columns[NAME] || strcmp(columns[NAME], wanted))
			continue;
		status = line_parse(columns, file, number, platform);
		if (!status)
			status = 1;
	}
	free(line);
	return status;
}

int simulation_platform_find(const char *name, const char *file, struct heddle_platform *platform)
{
	size_t described = strspn(name, "0123456789");
	FILE *stream;
	int status;

	/* A description begins with a number of cores or with "starpu:", a name does not. */
	if (!strncmp(name, HEDDLE_PLATFORM_CALIBRATED, strlen(HEDDLE_PLATFORM_CALIBRATED)))
		described = 1;
	if (!file || described)
		return heddle_platform_parse(name, platform);
	stream = fopen(file, "r");
	if (!stream)
		return heddle_refuse(-errno, "%s: %s", file, strerror(errno));
	status = find_in_file(name, stream, file, platform);
	fclose(stream);
	if (status < 0)
		return status;
	if (!status)
		return heddle_refuse(
		    -EINVAL,
		    "platform \"%s\" is neither a name in %s nor a description such "
		    "as 63cpu+gpu36@12000:10",
		    name, file);
	return 0;
}

int simulation_find(const char *name, struct heddle_platform *platform)
{
	char *file = place_data_file("platforms");
	int status = simulation_platform_find(name, file, platform);

	free(file);
	if (!status && *platform->host)
		status = models_check(platform->host);
	return status;
}

/* ---- files of StarPU on SimGrid ---- */

/* StarPU gives SimGrid durations, so that any speed will do. */
#define HOST_SPEED "2000000000f"

static int file_begin(const char *directory, const char *name, FILE **stream)
{
	char *path;

	if (asprintf(&path, "%s/%s", directory, name) < 0)
		return -ENOMEM;
	*stream = fopen(path, "w");
	if (!*stream) {
		int status = heddle_refuse(-errno, "%s: %s", path, strerror(errno));

		free(path);
		return status;
	}
	free(path);
	return 0;
}

/* @param below "" or "bus/" */
static int file_end(FILE *stream, const char *directory, const char *below, const char *name)
{
	bool failed = ferror(stream);

	if (fclose(stream) || failed)
		return heddle_refuse(-EIO, "%s/%s%s: could not be written", directory, below, name);
	return 0;
}

/* A file in the "bus" folder of StarPU's performance models. */
static int bus_open(const char *directory, const char *name, const char *suffix, FILE **stream)
{
	char *file;
	int status;

	if (asprintf(&file, "bus/%s.%s", name, suffix) < 0)
		return -ENOMEM;
	status = file_begin(directory, file, stream);
	free(file);
	return status;
}

/* Node 0 is main memory, node 1 + i is accelerator i. Between two accelerators
 * data goes through main memory. */
static double link_mbps(const struct heddle_platform *platform, unsigned from, unsigned to)
{
	const struct heddle_platform_accelerator *a = platform->accelerators;

	if (from == to)
		return 0;
	if (!from || !to)
		return a[from + to - 1].mbps;
	return 1 / (1 / a[from - 1].mbps + 1 / a[to - 1].mbps);
}

static double link_latency_us(const struct heddle_platform *platform, unsigned from, unsigned to)
{
	const struct heddle_platform_accelerator *a = platform->accelerators;

	if (from == to)
		return 0;
	return (from ? a[from - 1].latency_us : 0) + (to ? a[to - 1].latency_us : 0);
}

/* A matrix over the memory nodes; a row is a source. StarPU ignores the last value of a row that
 * is shorter than its limit, and StarPU 1.4 the last row, so each row ends with a "nan", and the
 * matrix with a row of them. */
static int write_matrix(const struct heddle_platform *platform, const char *directory,
                        const char *name, const char *suffix,
                        double (*value)(const struct heddle_platform *, unsigned, unsigned))
{
	FILE *stream;
	int status = bus_open(directory, name, suffix, &stream);

	if (status)
		return status;
	fprintf(stream, "# to node 0, 1, ...\n");
	for (unsigned from = 0; from <= platform->naccelerators; from++) {
		for (unsigned to = 0; to <= platform->naccelerators; to++)
			fprintf(stream, "%e\t", value(platform, from, to));
		fprintf(stream, "nan\n");
	}
	fprintf(stream, "nan\tnan\n");
	return file_end(stream, directory, "bus/", name);
}

/* @param node what names begin with: nothing, or that of a cluster's machine */
static void write_hosts(FILE *stream, const struct heddle_platform *platform, const char *node)
{
	fprintf(stream,
	        "  <host id=\"%sMAIN\" speed=\"1f\"/>\n"
	        "  <host id=\"%sRAM\" speed=\"1f\"/>\n",
	        node, node);
	/* One core drives each accelerator. */
	for (unsigned c = 0; c < platform->ncpus + platform->naccelerators; c++)
		fprintf(stream, "  <host id=\"%sCPU%u\" speed=\"" HOST_SPEED "\"/>\n", node, c);
	for (unsigned a = 0; a < platform->naccelerators; a++)
		fprintf(stream,
		        "  <host id=\"%sCUDA%u\" speed=\"" HOST_SPEED "\">"
		        "<prop id=\"memsize\" value=\"%.0f\"/></host>\n",
		        node, a, platform->accelerators[a].memory_mb * 1e6);
}

static void write_links(FILE *stream, const struct heddle_platform *platform, const char *node)
{
	double host_mbps = 1;

	/* Main memory is fast enough for all links at once. */
	for (unsigned a = 0; a < platform->naccelerators; a++)
		host_mbps += 2 * platform->accelerators[a].mbps;
	fprintf(stream, "  <link id=\"%sHost\" bandwidth=\"%fMBps\" latency=\"0s\"/>\n", node,
	        host_mbps);
	for (unsigned i = 0; i < platform->naccelerators; i++) {
		const struct heddle_platform_accelerator *a = &platform->accelerators[i];

		fprintf(stream,
		        "  <link id=\"%sRAM-CUDA%u\" bandwidth=\"%fMBps\" latency=\"%fus\"/>\n"
		        "  <link id=\"%sCUDA%u-RAM\" bandwidth=\"%fMBps\" latency=\"%fus\"/>\n",
		        node, i, a->mbps, a->latency_us, node, i, a->mbps, a->latency_us);
	}
	for (unsigned i = 0; i < platform->naccelerators; i++)
		fprintf(stream,
		        "  <route src=\"%1$sRAM\" dst=\"%1$sCUDA%2$u\" symmetrical=\"NO\">"
		        "<link_ctn id=\"%1$sRAM-CUDA%2$u\"/><link_ctn id=\"%1$sHost\"/></route>\n"
		        "  <route src=\"%1$sCUDA%2$u\" dst=\"%1$sRAM\" symmetrical=\"NO\">"
		        "<link_ctn id=\"%1$sCUDA%2$u-RAM\"/><link_ctn id=\"%1$sHost\"/></route>\n",
		        node, i);
}

#define XML_BEGIN                                                                                  \
	"<?xml version='1.0'?>\n"                                                                  \
	"<!DOCTYPE platform SYSTEM 'https://simgrid.org/simgrid.dtd'>\n"                           \
	"<platform version=\"4.1\">\n"
/* Links take the time that is written down. */
#define CONFIGURATION                                                                              \
	"<config>\n"                                                                               \
	"  <prop id=\"network/TCP-gamma\" value=\"-1\"/>\n"                                        \
	"  <prop id=\"network/latency-factor\" value=\"1\"/>\n"                                    \
	"  <prop id=\"network/bandwidth-factor\" value=\"1\"/>\n"                                  \
	"  <prop id=\"network/crosstraffic\" value=\"0\"/>\n"                                      \
	"  <prop id=\"network/weight-S\" value=\"0.0\"/>\n"                                        \
	"</config>\n"

static int write_platform(const struct heddle_platform *platform, const char *directory,
                          const char *name)
{
	FILE *stream;
	int status = bus_open(directory, name, "platform.v4.xml", &stream);

	if (status)
		return status;
	fputs(XML_BEGIN CONFIGURATION "<AS id=\"AS0\" routing=\"Full\">\n", stream);
	write_hosts(stream, platform, "");
	write_links(stream, platform, "");
	fprintf(stream, "</AS>\n</platform>\n");
	return file_end(stream, directory, "bus/", name);
}

/* By this file StarPU 1.4 finds the folder. It does not read it when it simulates. */
static int write_config(const struct heddle_platform *platform, const char *directory,
                        const char *name)
{
	FILE *stream;
	int status = bus_open(directory, name, "config", &stream);

	if (status)
		return status;
	fprintf(stream, "%u # CPUs\n%u # CUDA devices\n", platform->ncpus, platform->naccelerators);
	return file_end(stream, directory, "bus/", name);
}

static int make_directory(const char *directory, const char *below)
{
	char *path;
	int status = 0;

	if (asprintf(&path, "%s%s", directory, below) < 0)
		return -ENOMEM;
	if (mkdir(path, 0777) && errno != EEXIST)
		status = heddle_refuse(-errno, "%s: %s", path, strerror(errno));
	free(path);
	return status;
}

int simulation_platform_write(const struct heddle_platform *platform, const char *directory,
                              const char *name)
{
	int status = make_directory(directory, "");

	if (!status)
		status = make_directory(directory, "/bus");
	if (!status)
		status = write_matrix(platform, directory, name, "bandwidth", link_mbps);
	if (!status)
		status = write_matrix(platform, directory, name, "latency", link_latency_us);
	if (!status)
		status = write_platform(platform, directory, name);
	if (!status)
		status = write_config(platform, directory, name);
	return status;
}

/* ---- clusters ---- */

int simulation_network_parse(const char *text, struct simulation_network *network)
{
	struct simulation_network read = {0};
	char *end;

	read.mbps = heddle_number_parse(text, &end);
	if (*end == ':')
		read.latency_us = heddle_number_parse(end + 1, &end);
	else
		end = "?";
	if (*end || !(read.mbps > 0 && read.mbps < 1e9) ||
	    !(read.latency_us >= 0 && read.latency_us < 1e9))
		return heddle_refuse(
		    -EINVAL, "\"%s\" is not a network: MB/s and microseconds, as 125:50", text);
	*network = read;
	return 0;
}

/* Rank i runs on host node<i>; StarPU looks for its workers in the zone StarPU-MPI<i>. */
static void write_nodes(FILE *stream, const struct heddle_platform *platform, unsigned nodes)
{
	for (unsigned n = 0; n < nodes; n++) {
		char node[32];

		snprintf(node, sizeof(node), "StarPU-MPI%u-", n);
		fprintf(stream, "<AS id=\"StarPU-MPI%u\" routing=\"Full\">\n", n);
		write_hosts(stream, platform, node);
		write_links(stream, platform, node);
		fprintf(stream, "</AS>\n");
	}
}

int simulation_cluster_write(const struct heddle_platform *platform, const char *directory,
                             unsigned nodes, const struct simulation_network *network)
{
	FILE *stream;
	int status;

	if (*platform->host)
		return heddle_refuse(-EINVAL, "clusters are of described machines, not of %s",
		                     platform->host);
	status = file_begin(directory, "cluster.xml", &stream);
	if (status)
		return status;
	fprintf(stream,
	        XML_BEGIN "<AS id=\"cluster\" routing=\"None\">\n"
	                  "<cluster id=\"network\" prefix=\"node\" suffix=\"\" radical=\"0-%u\" "
	                  "speed=\"1Gf\" bw=\"%fMBps\" lat=\"%fus\"/>\n",
	        nodes - 1, network->mbps, network->latency_us);
	write_nodes(stream, platform, nodes);
	fprintf(stream, "</AS>\n</platform>\n");
	status = file_end(stream, directory, "", "cluster.xml");
	if (status)
		return status;
	status = file_begin(directory, "hosts", &stream);
	if (status)
		return status;
	for (unsigned n = 0; n < nodes; n++)
		fprintf(stream, "node%u\n", n);
	return file_end(stream, directory, "", "hosts");
}

/* ---- the environment ---- */

#define HOSTNAME "heddle"

/* The machine's name for StarPU. */
static const char *platform_host(const struct heddle_platform *platform)
{
	return *platform->host ? platform->host : HOSTNAME;
}

/* StarPU's simulated costs for its own work. Transfers are not among them. */
static const char *const costs[] = {
    "STARPU_SIMGRID_CUDA_MALLOC_COST",    "STARPU_SIMGRID_CUDA_QUEUE_COST",
    "STARPU_SIMGRID_TASK_SUBMIT_COST",    "STARPU_SIMGRID_TASK_PUSH_COST",
    "STARPU_SIMGRID_FETCHING_INPUT_COST", "STARPU_SIMGRID_SCHED_COST",
};

/* These choose among real devices. */
static const char *const unset[] = {"STARPU_NCPU", "STARPU_NCUDA", "STARPU_NOPENCL",
                                    "STARPU_WORKERS_CPUID", "STARPU_OPENCL_ON_CPUS"};

#define COUNT(array) (sizeof(array) / sizeof(*(array)))

enum simulation_profile simulation_profile(const struct heddle_platform *platform,
                                           enum simulation_profile profile)
{
	if (profile != SIMULATION_USUAL)
		return profile;
	return *platform->host ? SIMULATION_REALISTIC : SIMULATION_THEORY;
}

const char *const simulation_profiles[] = {
    [SIMULATION_THEORY] = "theory", [SIMULATION_REALISTIC] = "realistic"};

void simulation_environment_free(char **environment)
{
	for (char **e = environment; e && *e; e++)
		free(*e);
	free(environment);
}

/* StarPU fetches the handles of a task in the order of their addresses. With random addresses,
 * repeated runs differ slightly. */
static void addresses_settle(void)
{
#ifdef __linux__
	int now = personality(0xffffffff);

	if (now != -1)
		personality(now | ADDR_NO_RANDOMIZE);
#endif
}

/* Appends an entry. @return 0; -ENOMEM */
static int environment_add(char **environment, const char *name, const char *value)
{
	while (*environment)
		environment++;
	if (asprintf(environment, "%s%s", name, value) >= 0)
		return 0;
	/* After a failure asprintf() leaves an undefined pointer. */
	*environment = NULL;
	return -ENOMEM;
}

/* The preloaded library refuses programs whose StarPU does not simulate. A build for SMPI has no
 * shared libraries. */
static int environment_add_preload(char **environment)
{
#ifdef HEDDLE_HAVE_SMPI
	return 0;
#else
	char *value = place_preload();
	int status = value ? environment_add(environment, "LD_PRELOAD=", value) : -ENOENT;

	free(value);
	return status;
#endif
}

/* An entry without a value unsets the variable. @return 0; -ENOMEM */
static int environment_fill(char **environment, const char *host, enum simulation_profile profile)
{
	int status = environment_add(environment, "STARPU_HOSTNAME=", host);

	for (size_t u = 0; !status && u < COUNT(unset); u++)
		status = environment_add(environment, unset[u], "");
	for (size_t c = 0; !status && c < COUNT(costs); c++)
		status = environment_add(environment, costs[c],
		                         profile == SIMULATION_REALISTIC ? "" : "=0");
	return status;
}

int simulation_prepare(const struct heddle_platform *platform, const char *directory,
                       enum simulation_profile profile, char ***environment)
{
	char **entries = calloc(COUNT(costs) + COUNT(unset) + 5, sizeof(*entries));
	int status = -ENOMEM;

	if (entries && *platform->host)
		status = models_copy(platform->host, directory);
	else if (entries)
		status = simulation_platform_write(platform, directory, HOSTNAME);
	if (!status)
		status = environment_add(entries, "STARPU_PERF_MODEL_DIR=", directory);
	if (!status)
		status = environment_add(entries, "HEDDLE_PLATFORM=", platform->spec);
	if (!status)
		status = environment_add_preload(entries);
	if (!status)
		status = environment_fill(entries, platform_host(platform),
		                          simulation_profile(platform, profile));
	if (status) {
		simulation_environment_free(entries);
		return status;
	}
	addresses_settle();
	*environment = entries;
	return 0;
}
