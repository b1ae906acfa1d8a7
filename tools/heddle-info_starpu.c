/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * `heddle info`: this build, this machine's workers, and Heddle's policies, strategies and
 * variables.
 */
#include "config.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <starpu.h>
#include <heddle/heddle.h>

#include "partition/kernel/split/split.h"
#include "partition/kernel/split/buses_starpu.h"
#include "support/clock_starpu.h"
#include "support/message.h"
#include "support/options.h"
#include "estimator/platform_starpu.h"
#include "support/variables.h"
#include "tools/info.h"

struct arguments {
	bool tables[INFO_NTABLES], json, manual;
};

static const struct option_row options[] = {
    {"policies", NULL, "policies alone", SETS(struct arguments, tables[INFO_POLICIES], true)},
    {"strategies", NULL, "block strategies alone, with parameters",
     SETS(struct arguments, tables[INFO_STRATEGIES], true)},
    {"variables", NULL, "environment variables alone, with origin",
     SETS(struct arguments, tables[INFO_VARIABLES], true)},
    {"json", NULL, "as JSON", SETS(struct arguments, json, true)},
    {"man", NULL, "the manual page of the variables (Markdown)",
     SETS(struct arguments, manual, true)},
    {0},
};

static json_t *starpu_features(void)
{
	json_t *features = json_array();

#ifdef STARPU_USE_CUDA
	json_array_append_new(features, json_string("CUDA"));
#endif
#ifdef STARPU_USE_OPENCL
	json_array_append_new(features, json_string("OpenCL"));
#endif
#ifdef STARPU_USE_HIP
	json_array_append_new(features, json_string("HIP"));
#endif
#ifdef STARPU_USE_MPI
	json_array_append_new(features, json_string("MPI"));
#endif
#ifdef STARPU_USE_MPI_MASTER_SLAVE
	json_array_append_new(features, json_string("slaves over MPI"));
#endif
#ifdef STARPU_USE_TCPIP_MASTER_SLAVE
	json_array_append_new(features, json_string("slaves over TCP/IP"));
#endif
#ifdef STARPU_USE_FXT
	json_array_append_new(features, json_string("FxT"));
#endif
#ifdef STARPU_SIMGRID
	json_array_append_new(features, json_string("SimGrid"));
#endif
	return features;
}

static json_t *starpu_json(void)
{
	int major, minor, release;
	char version[32];
	Dl_info where;

	starpu_get_version(&major, &minor, &release);
	snprintf(version, sizeof(version), "%d.%d.%d", major, minor, release);
	if (!dladdr((void *)starpu_get_version, &where))
		where.dli_fname = "";
	return json_pack("{s:s, s:s, s:s, s:s, s:b, s:o, s:i, s:i, s:i}", "version", version,
	                 "path", where.dli_fname, "built_against_version", HEDDLE_STARPU_VERSION,
	                 "built_against", HEDDLE_STARPU_LIBDIR, "matches", !heddle_starpu_check(),
	                 "features", starpu_features(), "most_cpu_workers", STARPU_MAXCPUS,
	                 "most_memory_nodes", STARPU_MAXNODES, "most_buffers", STARPU_NMAXBUFS);
}

#ifdef HEDDLE_USE_OPENCL
/* Adds the buses of the OpenCL workers' devices. */
static void buses_json(json_t *workers)
{
	int ids[STARPU_NMAXWORKERS];
	int n = starpu_worker_get_ids_by_type(STARPU_OPENCL_WORKER, ids, STARPU_NMAXWORKERS);
	struct heddle_bus buses[SPLIT_MAXDEVICES];
	char text[64];

	n = n < SPLIT_MAXDEVICES ? n : SPLIT_MAXDEVICES;
	heddle_buses_find(ids, n, buses);
	for (int w = 0; w < n; w++) {
		heddle_bus_text(&buses[w], text, sizeof(text));
		json_object_set_new(json_array_get(workers, ids[w]), "bus", json_string(text));
	}
}
#else
static void buses_json(json_t *workers)
{
}
#endif

/* Empty when StarPU cannot start. */
static json_t *workers_json(void)
{
	json_t *workers = json_array();

	if (starpu_init(NULL))
		return workers;
	for (unsigned id = 0; id < starpu_worker_get_count(); id++) {
		char name[64];

		starpu_worker_get_name(id, name, sizeof(name));
		json_array_append_new(workers, json_pack("{s:i, s:s, s:s, s:i}", "id", id, "kind",
		                                         heddle_kind_name(heddle_worker_kind(id)),
		                                         "name", name, "memory_node",
		                                         (int)starpu_worker_get_memory_node(id)));
	}
	buses_json(workers);
	starpu_shutdown();
	return workers;
}

static void print_starpu(const json_t *starpu)
{
	json_t *feature;
	size_t f;

	printf("StarPU %s in %s\n", json_string_value(json_object_get(starpu, "version")),
	       json_string_value(json_object_get(starpu, "path")));
	if (!json_is_true(json_object_get(starpu, "matches")))
		printf("  NOT the one that Heddle was built against: %s in %s\n",
		       json_string_value(json_object_get(starpu, "built_against_version")),
		       json_string_value(json_object_get(starpu, "built_against")));
	printf("  drivers and features: CPU");
	json_array_foreach(json_object_get(starpu, "features"), f, feature)
	    printf(", %s", json_string_value(feature));
	printf("\n  at most %d CPU workers, %d memory nodes, %d buffers a task\n",
	       (int)json_integer_value(json_object_get(starpu, "most_cpu_workers")),
	       (int)json_integer_value(json_object_get(starpu, "most_memory_nodes")),
	       (int)json_integer_value(json_object_get(starpu, "most_buffers")));
}

static void print_worker(const json_t *worker)
{
	const char *bus = json_string_value(json_object_get(worker, "bus"));

	printf("  %3d %-6s node %d  %s%s%s\n",
	       (int)json_integer_value(json_object_get(worker, "id")),
	       json_string_value(json_object_get(worker, "kind")),
	       (int)json_integer_value(json_object_get(worker, "memory_node")),
	       json_string_value(json_object_get(worker, "name")), bus ? ", " : "", bus ? bus : "");
}

static void print_workers(const json_t *workers)
{
	json_t *worker;
	size_t w;

	printf("Workers:\n");
	json_array_foreach(workers, w, worker) print_worker(worker);
	if (!w)
		printf("  none: StarPU does not start here\n");
}

static json_t *everything(const struct arguments *arguments)
{
	bool all = true;
	const char *policy = getenv("STARPU_SCHED");
	json_t *info = json_pack("{s:s}", "heddle", heddle_version());

	for (int t = 0; t < INFO_NTABLES; t++)
		all = all && !arguments->tables[t];
	/* A policy of Heddle's looks at them when StarPU starts. */
	if (!all || (policy && *policy && !heddle_policy_find(policy)))
		heddle_variables_check(environ);
	if (all) {
		json_object_set_new(info, "starpu", starpu_json());
		json_object_set_new(info, "clock", json_string(heddle_clock_name(heddle_clock())));
		json_object_set_new(info, "workers",
		                    heddle_starpu_check() ? json_array() : workers_json());
	}
	for (int t = 0; t < INFO_NTABLES; t++)
		if (all || arguments->tables[t])
			json_object_set_new(info, info_tables[t].name, info_tables[t].json());
	return info;
}

static void print(const json_t *info)
{
	json_t *part;

	printf("Heddle %s\n", json_string_value(json_object_get(info, "heddle")));
	if ((part = json_object_get(info, "starpu")))
		print_starpu(part);
	if ((part = json_object_get(info, "workers")))
		print_workers(part);
	if ((part = json_object_get(info, "clock")))
		printf("Times of loops under block strategies: %s\n", json_string_value(part));
	for (int t = 0; t < INFO_NTABLES; t++)
		if ((part = json_object_get(info, info_tables[t].name)))
			info_tables[t].print(part);
}

#ifdef HEDDLE_USE_SIMGRID
/* SimGrid wants a machine before main() begins. */
static void __attribute__((constructor)) machine_wanted(void)
{
	if (getenv("STARPU_PERF_MODEL_DIR"))
		return;
	heddle_warn(
	    "this build simulates machines: heddle simulate --platform SPEC -- heddle-info");
	_exit(2);
}
#endif

int main(int argc, char **argv)
{
	static const struct option_program program = {
	    .name = "heddle info",
	    .doc = "Prints the version, the StarPU in use, the workers, the policies, the block "
	           "strategies and the variables."};
	struct arguments arguments = {0};
	struct option_set set = {.rows = options, .data = &arguments};
	json_t *info;

	options_parse(&program, &set, argc, argv);
	if (arguments.manual) {
		info_print_manual();
		return 0;
	}
	heddle_clock_check();
	info = everything(&arguments);
	if (arguments.json)
		json_dumpf(info, stdout, JSON_INDENT(1));
	else
		print(info);
	json_decref(info);
	return fflush(stdout) ? 1 : 0;
}
