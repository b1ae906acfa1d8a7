/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "config.h"

#include <math.h>

#include "sched_policies/plan.h"

/* How the costs count, beside that of a late end. The bound is a bound: part of a rise does not
 * show. Of transfers most are hidden behind tasks. And of two equal places the one where the task
 * ends first is better. */
#define CHEAP 0.5
#define LINK 0.1
#define EARLY 0.01

double heddle_plan_least_us(const struct heddle_plan_task *task)
{
	double least = 0;

	for (unsigned k = 0; k < HEDDLE_POOL_CLASSES; k++)
		if (task->us[k] > 0 && (least <= 0 || task->us[k] < least))
			least = task->us[k];
	return least;
}

/* What the cheapest class asks for a task. */
static double least_price(const struct heddle_plan *plan, const struct heddle_plan_task *task)
{
	double least = INFINITY;

	for (unsigned k = 0; k < HEDDLE_POOL_CLASSES; k++)
		if (task->us[k] > 0)
			least = fmin(least, plan->price[k] * task->us[k]);
	return least;
}

/* When the inputs of a task would be there. */
static double arrival_us(const struct heddle_plan *plan, const struct heddle_plan_task *task,
                         unsigned node)
{
	return task->fetch_us[node] > 0 ? fmax(plan->now_us, plan->link_us) + task->fetch_us[node]
	                                : plan->now_us;
}

size_t heddle_plan_place(struct heddle_plan *plan, const struct heddle_plan_task *task)
{
	double least = least_price(plan, task), best_cost = INFINITY, best_us = 0;
	size_t best = plan->nworkers;

	for (size_t w = 0; w < plan->nworkers; w++) {
		const struct heddle_plan_worker *worker = &plan->workers[w];
		double us = task->us[worker->class], end_us, late_us, cost;

		if (us <= 0 || (task->accept && !task->accept(w, task->arg)))
			continue;
		end_us = fmax(worker->free_us, arrival_us(plan, task, worker->node)) + us;
		late_us = fmax(0, end_us + task->after_us - plan->end_us);
		cost = late_us + CHEAP * (plan->price[worker->class] * us - least) +
		       LINK * task->fetch_us[worker->node] + EARLY * (end_us - plan->now_us);
		if (cost >= best_cost)
			continue;
		best_cost = cost;
		best_us = end_us;
		best = w;
	}
	if (best < plan->nworkers) {
		struct heddle_plan_worker *worker = &plan->workers[best];

		if (task->fetch_us[worker->node] > 0)
			plan->link_us = arrival_us(plan, task, worker->node);
		worker->begin_us = best_us - task->us[worker->class];
		worker->free_us = best_us;
	}
	return best;
}
