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

/* A piece of data is noted at most so many places behind the one where it belongs. */
#define NEAR 8

void heddle_plan_end(struct heddle_plan *plan)
{
	plan->number++;
}

static bool is_noted(const struct heddle_plan *plan, size_t i)
{
	return plan->sent[i].data && plan->sent[i].plan == plan->number;
}

/* Where a piece of data is noted, or can be; HEDDLE_PLAN_SENT: nowhere. */
static size_t sent_find(const struct heddle_plan *plan, const void *data)
{
	size_t i = ((uintptr_t)data >> 4) * UINT64_C(0x9e3779b97f4a7c15) >> 32;

	for (unsigned n = 0; n < NEAR; n++, i++)
		if (!is_noted(plan, i % HEDDLE_PLAN_SENT) ||
		    plan->sent[i % HEDDLE_PLAN_SENT].data == data)
			return i % HEDDLE_PLAN_SENT;
	return HEDDLE_PLAN_SENT;
}

bool heddle_plan_sends(const struct heddle_plan *plan, const void *data, unsigned node)
{
	size_t i = sent_find(plan, data);

	return i < HEDDLE_PLAN_SENT && is_noted(plan, i) && node < 64 &&
	       plan->sent[i].nodes >> node & 1;
}

void heddle_plan_send(struct heddle_plan *plan, const void *data, unsigned node)
{
	size_t i = sent_find(plan, data);

	if (i == HEDDLE_PLAN_SENT || node >= 64)
		return;
	if (!is_noted(plan, i))
		plan->sent[i] = (struct heddle_plan_sent){.data = data, .plan = plan->number};
	plan->sent[i].nodes |= UINT64_C(1) << node;
}

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
