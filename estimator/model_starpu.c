/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * What StarPU's own performance models say.
 */
#include "config.h"

#include <math.h>

#include "estimator/slots.h"
#include "support/starpu_compat.h"

/* Measurements of a size below which StarPU's mean is not trusted. */
#define LEAST_SAMPLES 2

/* Asking StarPU about a history that lacks a size makes it warn and calibrate, so
 * the history is looked at here. */
static double history_us(struct starpu_perfmodel *model, struct starpu_task *task,
                         struct starpu_perfmodel_arch *arch, unsigned implementation)
{
	struct starpu_perfmodel_per_arch *per_arch =
	    starpu_perfmodel_get_model_per_arch(model, arch, implementation);
	uint32_t footprint = starpu_task_footprint(model, task, arch, implementation);

	for (struct starpu_perfmodel_history_list *l = per_arch ? per_arch->list : NULL; l;
	     l = l->next)
		if (l->entry->footprint == footprint)
			return l->entry->nsample >= LEAST_SAMPLES ? l->entry->mean : 0;
	return 0;
}

/* Whether StarPU has an answer to a question about a regression. */
static bool regression_valid(struct starpu_perfmodel *model, struct starpu_perfmodel_arch *arch,
                             unsigned implementation)
{
	struct starpu_perfmodel_per_arch *per_arch =
	    starpu_perfmodel_get_model_per_arch(model, arch, implementation);

	return per_arch && (per_arch->regression.valid || per_arch->regression.nl_valid ||
	                    per_arch->regression.multi_valid);
}

static double implementation_us(struct starpu_task *task, unsigned worker, unsigned implementation)
{
	struct starpu_perfmodel *model = task->cl->model;
	struct starpu_perfmodel_arch *arch =
	    starpu_worker_get_perf_archtype(worker, task->sched_ctx);

	switch (model->type) {
	case STARPU_HISTORY_BASED:
		return history_us(model, task, arch, implementation);
	case STARPU_REGRESSION_BASED:
	case STARPU_NL_REGRESSION_BASED:
	case STARPU_MULTIPLE_REGRESSION_BASED:
		if (!regression_valid(model, arch, implementation))
			return 0;
		break;
	default:
		break;
	}
	return heddle_compat_expected_length(task, worker, task->sched_ctx, implementation);
}

double model_us(struct starpu_task *task, unsigned class)
{
	struct starpu_perfmodel *model = task->cl->model;
	int worker = device_class_worker(class);
	double best = 0;
	unsigned mask;

	/* Models are loaded when tasks are submitted. */
	if (model_is_ours(model))
		return 0;
	if (worker < 0 || !model->symbol || !model->is_loaded ||
	    !starpu_worker_can_execute_task_impl(worker, task, &mask))
		return 0;
	for (unsigned i = 0; mask >> i; i++) {
		double us = mask >> i & 1 ? implementation_us(task, worker, i) : 0;

		if (us > 0 && isfinite(us) && (!best || us < best))
			best = us;
	}
	return best;
}
