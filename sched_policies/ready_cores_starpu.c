/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Tasks that cores alone can run. Where all workers are cores, nobody chooses, claims or estimates:
 * a core takes the oldest task of the highest priority. Under the policy heddle the same holds
 * beside accelerators as long as they can run nothing of what there is: no task that was submitted
 * and has not ended. Who submits a task that they can run ends that. Where tasks are so short that
 * it counts what a choice costs, it ends when the task is ready.
 */
#include "config.h"

#include <limits.h>

#include "sched_policies/ready.h"

/* After so many tasks in a row that cores alone can run. */
#define ROW 32
/* Of so many that wait then, plans are told all that is known. Of more it would take too long. */
#define FEW 1000
/* A core takes less for a short one, us: ten times what it costs to choose. */
#define SHORT 40

void ready_cores_init(struct ready_context *c)
{
	if (!c->plan || c->accelerators >> c->reference & 1 || c->mixed[c->reference])
		return;
	for (unsigned w = 0; w < c->nworkers; w++)
		if (c->workers[w].class == c->reference && c->workers[w].accelerator)
			return; /* cores of several memories */
	for (unsigned k = 0; k < c->nclasses; k++)
		if (k != c->reference)
			c->others_where |= c->where[k];
}

bool ready_cores_run(const struct ready_context *c, const struct starpu_task *task)
{
	return !((uint32_t)task->where & c->others_where) &&
	       policy_task_tag(task) == HEDDLE_POOL_UNIFORM;
}

/* Whether a task counts: it will run on a worker. */
static bool counts(const struct ready_context *c, const struct starpu_task *task)
{
	return c->others_where && task->cl &&
	       (uint32_t)task->where & (c->others_where | c->where[c->reference]);
}

void ready_cores_wake_list_make(struct ready_context *c, struct wake_list *list)
{
	const struct waiters *cores = &c->crew[c->reference];
	int *ids;
	unsigned n;

	list->n = 0;
	if (!waiters_any_of(&c->waiters, cores) || !atomic_load(&c->unstarted))
		return;
	n = starpu_sched_ctx_get_workers_list_raw(c->id, &ids);
	for (unsigned i = 0; i < n; i++) {
		unsigned id = ids[i];

		if (id >= c->nworkers || !waiters_has(cores, id) || !waiters_has(&c->waiters, id))
			continue;
		list->workers[list->n++] = id;
		if (!starpu_sched_ctx_overlapping_ctxs_on_worker(id))
			return;
	}
}

/* What was begun for the time when there was a choice does not go on. Cores may have been waiting
 * for the next plan.
 * @param ahead others may come later */
static void begin(struct ready_context *c, bool ahead)
{
	struct wake_list wake;

	policy_lock(&c->mutex);
	ready_local_close(c);
	for (unsigned w = 0; w < c->nworkers; w++)
		ready_claims_give_back(c, w);
	ready_plan_leave(c);
	atomic_store(&c->ahead, ahead);
	atomic_store(&c->cores, true);
	/* Who submits such a task counts it first, or who makes it ready. */
	if (atomic_load(ahead ? &c->ready_others : &c->others) > 0)
		atomic_store(&c->cores, false);
	ready_cores_wake_list_make(c, &wake);
	STARPU_PTHREAD_MUTEX_UNLOCK(&c->mutex);
	wake_list_wake(&wake, &c->waiters);
}

void ready_cores_end(struct ready_context *c)
{
	if (!atomic_exchange(&c->cores, false))
		return;
	atomic_store_explicit(&c->ready_row, 0, memory_order_relaxed);
	policy_lock(&c->mutex);
	if (atomic_load(&c->unstarted) > FEW)
		ready_inbox_empty_plainly(c);
	ready_plan_learned(c, false, false);
	STARPU_PTHREAD_MUTEX_UNLOCK(&c->mutex);
}

void ready_cores_submitted(struct ready_context *c, const struct starpu_task *task)
{
	if (!counts(c, task))
		return;
	if (!ready_cores_run(c, task)) {
		atomic_store_explicit(&c->row, 0, memory_order_relaxed);
		atomic_fetch_add(&c->others, 1);
		if (ready_cores_alone(c) && !(atomic_load(&c->ahead) && ready_plan_is_brief(c)))
			ready_cores_end(c);
		return;
	}
	if (!ready_cores_alone(c) && atomic_load(&c->others) <= 0 &&
	    atomic_fetch_add_explicit(&c->row, 1, memory_order_relaxed) >= ROW)
		begin(c, false);
}

bool ready_cores_ready(struct ready_context *c, const struct starpu_task *task)
{
	if (c->others_where && ready_cores_run(c, task))
		return ready_cores_alone(c);
	if (counts(c, task))
		atomic_fetch_add(&c->ready_others, 1);
	/* Also one of whose submission StarPU did not tell. */
	if (ready_cores_alone(c))
		ready_cores_end(c);
	return false;
}

void ready_cores_row(struct ready_context *c, const struct starpu_task *task,
                     const struct heddle_estimate *estimates)
{
	const struct heddle_estimate *estimate = &estimates[c->reference];

	if (!c->others_where || ready_cores_alone(c))
		return;
	if (!counts(c, task) || !ready_cores_run(c, task) || atomic_load(&c->ready_others) > 0 ||
	    estimate->source <= HEDDLE_ESTIMATE_NEIGHBOURS || estimate->us > SHORT) {
		if (atomic_load_explicit(&c->ready_row, memory_order_relaxed))
			atomic_store_explicit(&c->ready_row, 0, memory_order_relaxed);
		return;
	}
	/* On a stream nothing depends: their order does not matter. */
	if (atomic_fetch_add_explicit(&c->ready_row, 1, memory_order_relaxed) >= ROW &&
	    (ready_plan_is_brief(c) || !ready_is_planned(c)))
		begin(c, true);
}

void ready_cores_took(struct ready_context *c, double us)
{
	if (us > 2 * SHORT && atomic_load(&c->ahead) && atomic_load(&c->others) > 0)
		ready_cores_end(c);
}

/* A task that others can run has ended, or is none any more. */
static void other_left(struct ready_context *c)
{
	atomic_fetch_sub(&c->ready_others, 1);
	atomic_fetch_sub(&c->others, 1);
}

void ready_cores_fit(struct ready_context *c, const struct starpu_task *task, int32_t before)
{
	if ((uint32_t)before & c->others_where && counts(c, task) && ready_cores_run(c, task))
		other_left(c);
}

void ready_cores_ended(struct ready_context *c, const struct starpu_task *task)
{
	if (counts(c, task) && !ready_cores_run(c, task) && !task->execute_on_a_specific_worker)
		other_left(c);
}

/* It was never ready here. Of the end of some StarPU does not tell. */
void ready_cores_passed(struct ready_context *c, const struct starpu_task *task)
{
	if (counts(c, task) && !ready_cores_run(c, task))
		atomic_fetch_sub(&c->others, 1);
}

struct starpu_task *ready_cores_take(struct ready_context *c, unsigned id)
{
	struct ready_worker *worker = &c->workers[id];
	struct heddle_pool_entry entry;

	do {
		waiters_remove(&c->waiters, id);
		entry.item = ready_inbox_oldest(c, id);
		if (entry.item)
			break;
		ready_inbox_empty(c);
		if (heddle_pool_pop(c->pool, worker->class, INT_MIN, policy_accepts, &id, &entry))
			break;
		entry.item = NULL;
		waiters_add(&c->waiters, id);
	} while (ready_inbox_waits(c));
	if (!entry.item)
		return NULL;
	atomic_fetch_sub(&c->unstarted, 1);
	ready_sample_choose(c, id, entry.item);
	if (!c->plan)
		return entry.item;
	/* What plans are to know, once there are any. */
	worker->plain = entry.item;
	worker->waits_since_us = 0;
	if (atomic_load_explicit(&worker->rests_since_us, memory_order_relaxed) > 0)
		atomic_store_explicit(&worker->rests_since_us, 0, memory_order_relaxed);
	if (atomic_load_explicit(&worker->look_at_us, memory_order_relaxed) > 0)
		atomic_store_explicit(&worker->look_at_us, 0, memory_order_relaxed);
	return entry.item;
}
