/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * `heddle bench --ranks`: one process with all workers beside several ranks with a share each.
 */
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "support/message.h"
#include "tools/bench/bench.h"
#include "tools/common/place.h"

#define MOST_RANKS 4096
#define CORES_MOST 4096 /* of a list of cores */

unsigned bench_ranks_next(const char **list)
{
	char *end;
	unsigned long n = strtoul(*list, &end, 10);

	if (end == *list || (*end && *end != ',') || n < 1 || n > MOST_RANKS)
		return 0;
	*list = end + (*end == ',');
	return n;
}

int bench_ranks_check(const char *list)
{
	char *mpirun;

	for (const char *at = list; at == list || *at;)
		if (!bench_ranks_next(&at))
			return heddle_refuse(-EINVAL,
			                     "--ranks: \"%s\" is no list of numbers from 1 to %d, "
			                     "separated by commas",
			                     list, MOST_RANKS);
	mpirun = place_program("mpirun");
	if (!mpirun)
		return heddle_refuse(-ENOENT, "--ranks: there is no mpirun in PATH");
	free(mpirun);
	return 0;
}

/* Which of n things the r-th of some ranks has: from *first to before the result. */
static unsigned share(unsigned n, unsigned r, unsigned ranks, unsigned *first)
{
	*first = (size_t)n * r / ranks;
	return (size_t)n * (r + 1) / ranks;
}

static char *numbers(unsigned first, unsigned end)
{
	char *text = bench_format("%s", ""), *longer;

	for (unsigned i = first; i < end && i < CORES_MOST; i++, text = longer) {
		longer = bench_format("%s%s%u", text, i > first ? " " : "", i);
		free(text);
	}
	return text;
}

/* The rank's devices, and its cores: each device needs one. More ranks than cores share them. */
static void share_add(const struct bench_case *bench, unsigned r, unsigned ranks, char ***list,
                      unsigned *count)
{
	static const struct {
		enum heddle_kind kind;
		const char *number, *which;
	} devices[] = {{HEDDLE_KIND_CUDA, "STARPU_NCUDA", "STARPU_WORKERS_CUDAID"},
	               {HEDDLE_KIND_OPENCL, "STARPU_NOPENCL", "STARPU_WORKERS_OPENCLID"}};
	unsigned cores = bench->workers[HEDDLE_KIND_CPU], ndevices = 0, first, end;
	char *text;

	for (size_t d = 0; d < sizeof(devices) / sizeof(*devices); d++) {
		unsigned n = bench->workers[devices[d].kind];

		cores += n;
		end = share(n, r, ranks, &first);
		ndevices += end - first;
		bench_list_add(list, count, bench_format("%s=%u", devices[d].number, end - first));
		text = numbers(first, end);
		if (end > first)
			bench_list_add(list, count, bench_format("%s=%s", devices[d].which, text));
		free(text);
	}
	end = share(cores, r, ranks, &first);
	if (end == first)
		end++;
	text = numbers(first, end);
	bench_list_add(list, count, bench_format("STARPU_WORKERS_CPUID=%s", text));
	free(text);
	bench_list_add(list, count,
	               bench_format("STARPU_NCPU=%u", end - first > ndevices
	                                                  ? end - first - ndevices
	                                              : ndevices ? 0
	                                                         : 1));
}

char **bench_ranks_arguments(const struct bench_case *bench, unsigned ranks, char **words)
{
	char **list = NULL;
	unsigned count = 0;

	bench_list_add(&list, &count, place_program("mpirun"));
	for (unsigned r = 0; r < ranks; r++) {
		if (r)
			bench_list_add(&list, &count, bench_format(":"));
		bench_list_add(&list, &count, bench_format("-n"));
		bench_list_add(&list, &count, bench_format("1"));
		bench_list_add(&list, &count, bench_format("env"));
		share_add(bench, r, ranks, &list, &count);
		for (char **word = words; *word; word++)
			bench_list_add(&list, &count, bench_format("%s", *word));
		bench_list_add(&list, &count, bench_format("--mpi"));
	}
	bench_list_free(words);
	return list;
}

void bench_ranks_environment(char ***list, unsigned *count)
{
	/* Open MPI, to version 4 and from 5 on: StarPU binds its workers itself, and there may be
	 * more ranks than cores. */
	static const char *const settings[][2] = {
	    {"OMPI_MCA_hwloc_base_binding_policy", "none"},
	    {"PRTE_MCA_hwloc_default_binding_policy", "none"},
	    {"OMPI_MCA_rmaps_base_oversubscribe", "1"},
	    {"PRTE_MCA_rmaps_default_mapping_policy", ":oversubscribe"},
	};
	static const char *const as_root[] = {"OMPI_ALLOW_RUN_AS_ROOT",
	                                      "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM"};

	for (size_t s = 0; s < sizeof(settings) / sizeof(*settings); s++)
		if (!getenv(settings[s][0]))
			bench_list_add(list, count,
			               bench_format("%s=%s", settings[s][0], settings[s][1]));
	for (size_t s = 0; s < sizeof(as_root) / sizeof(*as_root) && !geteuid(); s++)
		bench_list_add(list, count, bench_format("%s=1", as_root[s]));
}
