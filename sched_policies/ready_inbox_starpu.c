/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * How ready tasks reach the pool: who makes a task ready hands it in without the
 * mutex, and the next worker that looks for work puts all that was handed in into the
 * pool. Often one thread submits what many workers run; it waits for none of them.
 *
 * Tasks are chained by their field `next`, which StarPU leaves to policies.
 */
#include "config.h"

#include "sched_policies/ready.h"

void ready_inbox_put(struct ready_context *c, struct starpu_task *task)
{
	struct starpu_task *last = atomic_load_explicit(&c->inbox, memory_order_relaxed);

	do
		task->next = last;
	while (!atomic_compare_exchange_weak(&c->inbox, &last, task));
}

bool ready_inbox_waits(struct ready_context *c)
{
	return atomic_load(&c->inbox);
}

/* What was handed in, the first one first. */
static struct starpu_task *inbox_take(struct ready_context *c)
{
	struct starpu_task *task = atomic_exchange(&c->inbox, NULL), *first = NULL;

	while (task) {
		struct starpu_task *before = task->next;

		task->next = first;
		first = task;
		task = before;
	}
	return first;
}

/* Whether a task has the key of the one before: many do where there is nothing to choose. */
static bool like_last(const struct ready_context *c, const struct starpu_task *task)
{
	return !c->choosing && c->last.plain && c->last.priority == task->priority &&
	       c->last.where == (uint32_t)task->where &&
	       policy_task_tag(task) == HEDDLE_POOL_UNIFORM;
}

static int pool_add(struct ready_context *c, struct starpu_task *task, double now_us)
{
	struct heddle_pool_key key;

	if (like_last(c, task) && !heddle_pool_push_like_last(c->pool, task, now_us))
		return 0;
	ready_task_key(c, task, &key);
	c->special |= key.tag != HEDDLE_POOL_UNIFORM;
	c->last.plain = key.tag == HEDDLE_POOL_UNIFORM;
	c->last.priority = task->priority;
	c->last.where = task->where;
	return heddle_pool_push_since(c->pool, task, &key, now_us);
}

void ready_inbox_empty(struct ready_context *c)
{
	struct starpu_task **end = &c->late;
	double now_us;

	if (!c->late && !ready_inbox_waits(c))
		return;
	while (*end)
		end = &(*end)->next;
	*end = inbox_take(c);
	now_us = c->choosing ? starpu_timing_now() : 0;
	while (c->late) {
		struct starpu_task *task = c->late, *next = task->next;

		task->next = NULL;
		if (pool_add(c, task, now_us)) {
			task->next = next;
			return; /* no memory now */
		}
		c->late = next;
	}
}
