/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "config.h"

#include <errno.h>
#include <string.h>

#include "partition/common/workers_starpu.h"
#include "support/message.h"
#include "estimator/platform_starpu.h"
#include "support/starpu_compat.h"
#include "support/variables.h"

starpu_cpu_func_t work_codelet_function(const struct starpu_codelet *codelet,
                                        enum starpu_worker_archtype type, unsigned implementation)
{
	switch (type) {
	case STARPU_CPU_WORKER:
		return codelet->cpu_funcs[implementation];
	case STARPU_CUDA_WORKER:
		return codelet->cuda_funcs[implementation];
	case STARPU_OPENCL_WORKER:
		return codelet->opencl_funcs[implementation];
	default:
		return heddle_compat_is_hip(type) ? heddle_compat_hip_funcs(codelet)[implementation]
		                                  : NULL;
	}
}

int work_codelet_serves(const struct starpu_codelet *codelet, int worker, struct starpu_task *task)
{
	enum starpu_worker_archtype type = starpu_worker_get_type(worker);

	if (codelet->where && !(codelet->where & heddle_compat_where(type)))
		return -1;
	for (unsigned i = 0;
	     i < STARPU_MAXIMPLEMENTATIONS && work_codelet_function(codelet, type, i); i++)
		if (!task || !codelet->can_execute || codelet->can_execute(worker, task, i))
			return i;
	return -1;
}

int work_context_check(unsigned sched_ctx, const char *what, const char *name)
{
	/* StarPU looks numbers up in a table, unchecked; one that is not taken has no workers. */
	if (sched_ctx < STARPU_NMAX_SCHED_CTXS && starpu_sched_ctx_get_worker_collection(sched_ctx))
		return 0;
	return heddle_refuse(-EINVAL, "%s %s: there is no scheduling context %u", what, name,
	                     sched_ctx);
}

int work_workers_check(const int *workers, unsigned nworkers, const char *what, const char *name)
{
	int n = starpu_worker_get_count();

	if (!workers != !nworkers)
		return heddle_refuse(-EINVAL, "%s %s: nworkers is %u, but workers is %s", what,
		                     name, nworkers, workers ? "not NULL" : "NULL");
	for (unsigned w = 0; w < nworkers; w++) {
		if (workers[w] < 0 || workers[w] >= n)
			return heddle_refuse(-EINVAL,
			                     "%s %s: workers[%u] is %d; StarPU has the workers 0 "
			                     "to %d",
			                     what, name, w, workers[w], n - 1);
		for (unsigned before = 0; before < w; before++)
			if (workers[before] == workers[w])
				return heddle_refuse(-EINVAL,
				                     "%s %s: workers[%u] and workers[%u] are "
				                     "both %d",
				                     what, name, before, w, workers[w]);
	}
	return 0;
}

int work_codelet_check(const struct starpu_codelet *codelet, unsigned narrays, const char *what,
                       const char *name)
{
	if (codelet->nbuffers <= 0 || (unsigned)codelet->nbuffers == narrays)
		return 0;
	return heddle_refuse(-EINVAL, "%s %s: the codelet's nbuffers is %d, but there are %u %s",
	                     what, name, codelet->nbuffers, narrays,
	                     strcmp(what, "loop") ? "arrays" : "accesses");
}

bool work_worker_wanted(int worker, const int *workers, unsigned nworkers, unsigned sched_ctx)
{
	if (!starpu_sched_ctx_contains_worker(worker, sched_ctx))
		return false;
	for (unsigned w = 0; workers && w < nworkers; w++)
		if (workers[w] == worker)
			return true;
	return !workers;
}

bool work_worker_leads(int worker, const int *workers, unsigned sched_ctx)
{
	enum starpu_worker_archtype type = starpu_worker_get_type(worker);

	for (int other = 0; !workers && heddle_compat_has_streams(type) && other < worker; other++)
		if (starpu_worker_get_type(other) == type &&
		    starpu_worker_get_devid(other) == starpu_worker_get_devid(worker) &&
		    starpu_sched_ctx_contains_worker(other, sched_ctx))
			return false;
	return true;
}

struct heddle_worker_stats work_worker_stats(int worker)
{
	struct heddle_worker_stats stats = {.id = worker, .kind = heddle_worker_kind(worker)};

	starpu_worker_get_name(worker, stats.name, sizeof(stats.name));
	return stats;
}

const char *work_policy_name(unsigned sched_ctx)
{
	struct starpu_sched_policy *active = starpu_sched_ctx_get_sched_policy(sched_ctx);

	return active && active->policy_name ? active->policy_name : "";
}

bool work_policy_is(unsigned sched_ctx, const char *name)
{
	return !strcmp(work_policy_name(sched_ctx), name);
}

int work_policy_places_on(unsigned sched_ctx, unsigned n, const char *what, const char *name)
{
	unsigned all = starpu_sched_ctx_get_nworkers(sched_ctx);

	if (n >= all || !work_policy_is(sched_ctx, "heteroprio"))
		return 0;
	return heddle_refuse(-EINVAL,
	                     "%s %s: only %u of %u workers may run it, and StarPU's heteroprio "
	                     "gives its tasks to all",
	                     what, name, n, all);
}

const struct heddle_policy *work_policy_ours(unsigned sched_ctx)
{
	return heddle_policy_find(work_policy_name(sched_ctx));
}

const char *work_strategy(const char *given, unsigned sched_ctx)
{
	const char *variable = heddle_variable_text(HEDDLE_VARIABLE_STRATEGY);
	const struct heddle_policy *ours;

	if (given)
		return given;
	if (*variable)
		return variable;
	ours = work_policy_ours(sched_ctx);
	return ours ? ours->strategy : NULL;
}

int work_strategy_blame(const char *given, int status)
{
	const char *variable = heddle_variable_text(HEDDLE_VARIABLE_STRATEGY);

	if (!given && *variable && status == -EINVAL)
		heddle_refuse(status, "HEDDLE_STRATEGY=%s cannot be used", variable);
	return status;
}
