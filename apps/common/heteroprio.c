/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "config.h"

#include <string.h>
#include <starpu.h>
#include <starpu_heteroprio.h>

#include "support/starpu_compat.h"
#include "apps/common/heteroprio.h"

/* Tasks for each accelerator from which on a CPU takes one, too: the speed-up that the
 * paper's Table 3 gives for large tiles. */
#define SLOW_FACTOR 33

/* Bucket 0 is StarPU's own, for tasks that may run everywhere. */
static void tell_order(int type, unsigned first, unsigned levels, bool descending)
{
	unsigned n = levels - first;

	starpu_heteroprio_set_nb_prios(0, type, n + 1);
	for (unsigned l = 0; l < n; l++)
		starpu_heteroprio_set_mapping(0, type, l,
		                              1 + (descending ? levels - 1 - l : first + l));
	starpu_heteroprio_set_mapping(0, type, n, 0);
}

static bool is_heteroprio(void)
{
	const struct starpu_sched_policy *policy = starpu_sched_ctx_get_sched_policy(0);

	return policy && policy->policy_name && !strcmp(policy->policy_name, "heteroprio");
}

bool heteroprio_tell(unsigned levels, unsigned opencl_first, int32_t where)
{
	bool cuda = starpu_cuda_worker_get_count() && (!where || where & STARPU_CUDA);
	bool opencl = starpu_opencl_worker_get_count() && (!where || where & STARPU_OPENCL);
	/* The same numbers in StarPU's two enumerations of types of workers. */
	int cpu = STARPU_CPU_WORKER, best = cuda ? STARPU_CUDA_WORKER : STARPU_OPENCL_WORKER;

	if (HEDDLE_STARPU_14 || !is_heteroprio())
		return false;
	if (cuda)
		tell_order(STARPU_CUDA_WORKER, 0, levels, true);
	if (opencl)
		tell_order(STARPU_OPENCL_WORKER, opencl_first, levels, true);
	if (!starpu_cpu_worker_get_count() || (where && !(where & STARPU_CPU)))
		return true;
	tell_order(cpu, 0, levels, false);
	for (unsigned l = 1; l < levels && (cuda || opencl); l++) {
		starpu_heteroprio_set_faster_arch(0, best, 1 + l);
		starpu_heteroprio_set_arch_slow_factor(0, cpu, 1 + l, SLOW_FACTOR);
	}
	return true;
}
