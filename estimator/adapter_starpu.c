/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The estimator as a performance model of StarPU.
 */
#include "config.h"

#include <errno.h>
#include <math.h>

#include "estimator/slots.h"
#include "support/message.h"
#include "support/starpu_compat.h"

bool model_is_ours(const struct starpu_perfmodel *model)
{
	return model && model->arch_cost_function == heddle_estimate_cost;
}

/* The worker that an architecture of StarPU stands for; -1 for several at once. */
static int arch_worker(const struct starpu_perfmodel_arch *arch)
{
	if (arch->ndevices != 1 || arch->devices[0].ncores > 1)
		return -1;
	/* All cores are one architecture. */
	if (arch->devices[0].type == STARPU_CPU_WORKER)
		return starpu_worker_get_by_type(STARPU_CPU_WORKER, 0);
	return starpu_worker_get_by_devid(arch->devices[0].type, arch->devices[0].devid);
}

double heddle_estimate_cost(struct starpu_task *task, struct starpu_perfmodel_arch *arch,
                            unsigned implementation)
{
	struct heddle_estimate estimate;
	int worker = arch_worker(arch);

	observe(task->sched_ctx);
	if (worker < 0)
		return NAN;
	heddle_estimate(task, heddle_device_class(worker), &estimate);
	/* StarPU's policies try what they know nothing of. */
	return estimate.us > 0 ? estimate.us : NAN;
}

int heddle_estimate_task(struct starpu_task *task, int worker, struct heddle_estimate *estimate)
{
	if (!starpu_is_initialized() || worker < 0 || worker >= (int)starpu_worker_get_count())
		return heddle_refuse(-EINVAL, "heddle_estimate_task(): there is no worker %d",
		                     worker);
	if (!task->cl)
		return heddle_refuse(-EINVAL, "heddle_estimate_task(): the task has no codelet");
	heddle_estimate(task, heddle_device_class(worker), estimate);
	return 0;
}
