/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * StarPU reads the number of workers of a GPU from the environment alone, when it starts.
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/starpu_compat.h"
#include "sched_policies/gpu_workers.h"

/* A StarPU with blocking drivers has one worker for each GPU. Simulated GPUs do not have their
 * kernels share the device: several workers would be several GPUs. */
#if defined(HEDDLE_USE_CUDA) && defined(STARPU_NON_BLOCKING_DRIVERS) && !defined(HEDDLE_USE_SIMGRID)

#include <cuda_runtime_api.h>
#include <hwloc.h>
#include <heddle/heddle.h>

#include "sched_policies/policies.h"
#include "support/message.h"
#include "support/variables.h"

static const char *const variables[] = {"STARPU_NWORKER_PER_CUDA", "STARPU_CUDA_THREAD_PER_WORKER",
                                        "STARPU_CUDA_THREAD_PER_DEV"};
#define NVARIABLES (sizeof(variables) / sizeof(variables[0]))

static bool set; /* by us */

/* Whether somebody has named heddle: kernels of a program that knows nothing of this policy may not
 * run beside each other on a GPU. */
static bool is_for_us(const struct starpu_conf *conf)
{
	const char *policy = heddle_policy_asked(conf);

	for (size_t v = 0; v < NVARIABLES; v++)
		if (getenv(variables[v]))
			return false;
	return policy && !strcmp(policy, "heddle");
}

/* What the environment or the program's configuration says, whichever counts; below 0: nothing. */
static long number_asked(const struct starpu_conf *conf, const char *name, int configured)
{
	const char *text = getenv(name);

	if (text && !(conf && conf->precedence_over_environment_variables && configured >= 0))
		return atol(text);
	return configured;
}

static unsigned gpus_count(long asked)
{
	int n = 0;

	if (!asked || cudaGetDeviceCount(&n) || n < 0)
		return 0;
	return asked > 0 && asked < n ? asked : n;
}

/* As StarPU counts them. */
static unsigned cores_count(void)
{
	hwloc_topology_t topology;
	int n = 0;

	if (hwloc_topology_init(&topology))
		return 0;
	if (!hwloc_topology_load(topology)) {
		n = hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_CORE);
		if (n <= 0)
			n = hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_PU);
	}
	hwloc_topology_destroy(topology);
	return n > 0 ? n : 0;
}

/* What StarPU's table has room for beside cores and OpenCL devices. */
static unsigned most_workers(unsigned cores)
{
	unsigned others = (cores < STARPU_MAXCPUS ? cores : STARPU_MAXCPUS) + STARPU_MAXOPENCLDEVS;

	return others < STARPU_NMAXWORKERS ? STARPU_NMAXWORKERS - others : 0;
}

void gpu_workers_begin(const struct starpu_conf *conf)
{
	unsigned wanted = heddle_variable_number(HEDDLE_VARIABLE_CUDA_WORKERS);
	struct gpu_machine machine;
	struct gpu_workers chosen;
	char text[16];
	long ncpus;

	if (wanted == 1 || !is_for_us(conf) || heddle_starpu_check())
		return;
	machine.gpus = gpus_count(number_asked(conf, "STARPU_NCUDA", conf ? conf->ncuda : -1));
	if (!machine.gpus)
		return;
	machine.cores = cores_count();
	ncpus = number_asked(conf, "STARPU_NCPU", conf ? conf->ncpus : -1);
	machine.cpu_workers = ncpus > 0 ? ncpus : 0;
	machine.most = most_workers(machine.cores);
	chosen = heddle_gpu_workers(&machine, wanted);
	if (chosen.each == 1)
		return;
	snprintf(text, sizeof(text), "%u", chosen.each);
	set =
	    !setenv(variables[0], text, 0) && !setenv(variables[1], chosen.threads ? "1" : "0", 0);
	heddle_explain("%u workers for each GPU, with %s; HEDDLE_CUDA_WORKERS=1 sets one",
	               chosen.each, chosen.threads ? "a thread each" : "one thread together");
}

void gpu_workers_end(void)
{
	for (size_t v = 0; set && v < 2; v++)
		unsetenv(variables[v]);
	set = false;
}

#else

void gpu_workers_begin(const struct starpu_conf *conf)
{
	(void)conf;
}

void gpu_workers_end(void)
{
}

#endif
