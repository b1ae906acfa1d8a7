/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Self-scheduling of ready tasks: an idle worker claims a chunk of B of them, as
 * loop self-scheduling hands out chunks of iterations. B comes from a block
 * strategy (heddle/strategy.h) whose iterations are the tasks that are ready now.
 *
 * Claiming is not hoarding. Claimed tasks that have not been started stay in
 * sight: a worker that finds nothing better takes them back from the end of the
 * claimer's list. Priorities come first everywhere: all tasks of a chunk have the
 * same priority, and a worker prefers a task of higher priority wherever it
 * lies, in the pool or claimed by another.
 */
#include "config.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include <heddle/strategy.h>
#include <heddle/policy.h>

#include "support/clock_starpu.h"
#include "estimator/platform_starpu.h"
#include "support/variables.h"
#include "sched_policies/policies.h"
#include "sched_policies/registry.h"
#include "sched_policies/self.h"

/* ---- waking; lists are made under the mutex and used without it ---- */

/* The waiting members that a task, or (NULL) any work left, is for. */
static void wake_list_make(struct self_context *c, const struct heddle_pool_entry *entry,
                           struct wake_list *list)
{
	int *ids;
	unsigned n;

	list->n = 0;
	if (!waiters_any(&c->waiters))
		return;
	n = starpu_sched_ctx_get_workers_list_raw(c->id, &ids);
	for (unsigned i = 0; i < n; i++) {
		unsigned id = ids[i];

		if (id >= c->nworkers || !waiters_has(&c->waiters, id))
			continue;
		if (!entry ? !self_work_for(c, id)
		           : !heddle_pool_key_runs(&entry->key, c->workers[id].kind) ||
		                 (entry->key.tag != HEDDLE_POOL_UNIFORM &&
		                  !policy_accepts(entry->item, &id)))
			continue;
		list->workers[list->n++] = id;
	}
}

/* Work is left although somebody has just taken some: is it for one who waits? */
static void wake_further(struct self_context *c, struct wake_list *list)
{
	list->n = 0;
	if (atomic_load(&c->unstarted))
		wake_list_make(c, NULL, list);
}

/* ---- StarPU's hooks ---- */

static struct self_context *context_of(unsigned ctx)
{
	return starpu_sched_ctx_get_policy_data(ctx);
}

static void self_init(unsigned ctx)
{
	const struct starpu_sched_policy *policy = starpu_sched_ctx_get_sched_policy(ctx);
	unsigned nworkers = starpu_worker_get_count();
	struct self_context *c =
	    aligned_alloc(64, (sizeof(*c) + nworkers * sizeof(struct self_worker) + 63) / 64 * 64);
	int status;

	STARPU_ASSERT_MSG(c, "no memory for a scheduling context");
	memset(c, 0, sizeof(*c) + nworkers * sizeof(struct self_worker));
	c->id = ctx;
	c->strategy = policies_tasks_strategy(policy->policy_name);
	c->nworkers = nworkers;
	c->claimed_top = INT_MIN;
	c->depth = starpu_get_prefetch_flag() ? heddle_variable_number(HEDDLE_VARIABLE_DEPTH) : 0;
	for (unsigned w = 0; w < nworkers; w++) {
		ring_init(&c->workers[w].claims, sizeof(struct self_claim));
		c->workers[w].kind = policy_kind(w);
		c->workers[w].slot = -1;
	}
	status = heddle_pool_create(&c->pool);
	STARPU_ASSERT_MSG(!status, "no memory for a scheduling context");
	STARPU_PTHREAD_MUTEX_INIT(&c->mutex, NULL);
	policy_any_priority(ctx);
	starpu_sched_ctx_set_policy_data(ctx, c);
}

static void self_deinit(unsigned ctx)
{
	struct self_context *c = context_of(ctx);

	heddle_pool_destroy(c->pool);
	heddle_strategy_destroy(c->blocks);
	for (unsigned w = 0; w < c->nworkers; w++)
		ring_free(&c->workers[w].claims);
	STARPU_PTHREAD_MUTEX_DESTROY(&c->mutex);
	free(c);
}

static void self_add_workers(unsigned ctx, int *ids, unsigned n)
{
	struct self_context *c = context_of(ctx);

	STARPU_PTHREAD_MUTEX_LOCK(&c->mutex);
	c->members = 0; /* the strategy begins anew when it is next asked */
	STARPU_PTHREAD_MUTEX_UNLOCK(&c->mutex);
	waiters_joined(&c->waiters, ids, n);
}

static void self_remove_workers(unsigned ctx, int *ids, unsigned n)
{
	struct self_context *c = context_of(ctx);

	STARPU_PTHREAD_MUTEX_LOCK(&c->mutex);
	for (unsigned i = 0; i < n; i++) {
		waiters_remove(&c->waiters, ids[i]);
		self_claims_give_back(c, &c->workers[ids[i]]);
	}
	STARPU_PTHREAD_MUTEX_UNLOCK(&c->mutex);
}

static int self_push(struct starpu_task *task)
{
	struct self_context *c = context_of(task->sched_ctx);
	struct heddle_pool_entry entry = {.item = task};
	struct wake_list wake;

	policy_task_key(task, &entry.key);
	policy_lock(&c->mutex);
	if (heddle_pool_push(c->pool, task, &entry.key)) {
		STARPU_PTHREAD_MUTEX_UNLOCK(&c->mutex);
		return -1; /* StarPU tries again */
	}
	atomic_fetch_add(&c->unstarted, 1);
	wake_list_make(c, &entry, &wake);
	/* The task may be done and freed as soon as the mutex is free. */
	starpu_push_task_end(task);
	STARPU_PTHREAD_MUTEX_UNLOCK(&c->mutex);
	wake_list_wake(&wake, &c->waiters);
	return 0;
}

/* Whether a worker need not look: it was told that nothing is there for it and
 * nobody has woken it since, or there is nothing at all. */
static bool nothing_new(struct self_context *c, struct self_worker *worker, unsigned id)
{
	bool waits = waiters_stay(&c->waiters, id, &c->unstarted);

	if (waits && worker->done && worker->done == worker->started && !worker->idle_us)
		worker->idle_us = starpu_timing_now();
	return waits;
}

/* The claimed task if its inputs are to be asked for. */
static struct starpu_task *fetch_begin(struct self_claim *claim)
{
	struct starpu_task *task = claim->task;

	if (claim->fetch != SELF_FETCH_NOT)
		return NULL;
	if (task->prefetched || !STARPU_TASK_GET_NBUFFERS(task)) {
		claim->fetch = SELF_FETCH_DONE;
		return NULL;
	}
	claim->fetch = SELF_FETCH_BUSY;
	return task;
}

/* Tasks in front of the busy one may have been taken back meanwhile. */
static void fetch_end(struct self_worker *worker)
{
	for (size_t i = 0; i < ring_count(&worker->claims); i++)
		if (self_claim_at(worker, i)->fetch == SELF_FETCH_BUSY)
			self_claim_at(worker, i)->fetch = SELF_FETCH_DONE;
}

/* Asks for the inputs of the next claimed tasks while this one runs. */
static void prefetch(struct self_context *c, struct self_worker *worker, unsigned id)
{
	for (unsigned i = 0; i < c->depth; i++) {
		struct starpu_task *task = NULL;
		struct wake_list wake;

		policy_lock(&c->mutex);
		if (i < ring_count(&worker->claims))
			task = fetch_begin(self_claim_at(worker, i));
		STARPU_PTHREAD_MUTEX_UNLOCK(&c->mutex);
		if (!task)
			continue;
		heddle_compat_fetch_ahead(task, id);
		policy_lock(&c->mutex);
		fetch_end(worker);
		wake_further(c, &wake);
		STARPU_PTHREAD_MUTEX_UNLOCK(&c->mutex);
		wake_list_wake(&wake, &c->waiters);
	}
}

static struct starpu_task *self_pop(unsigned ctx)
{
	struct self_context *c = context_of(ctx);
	unsigned id = starpu_worker_get_id_check();
	struct self_worker *worker = &c->workers[id];
	struct starpu_task *task = NULL;
	struct wake_list wake;
	int left = -1;

	if (nothing_new(c, worker, id)) {
		policy_let_others();
		return NULL;
	}
	policy_lock(&c->mutex);
	waiters_remove(&c->waiters, id);
	if (!starpu_sched_ctx_contains_worker(id, ctx)) {
		/* StarPU does not tell that a worker has left. */
		self_claims_give_back(c, worker);
	} else if ((task = self_take(c, id, &left))) {
		atomic_fetch_sub(&c->unstarted, 1);
		worker->started++;
	} else {
		waiters_add(&c->waiters, id);
	}
	wake_further(c, &wake);
	STARPU_PTHREAD_MUTEX_UNLOCK(&c->mutex);
	wake_list_wake(&wake, &c->waiters);
	if (!task)
		return NULL;
	if (left >= 0)
		policy_left_behind(task, left, id);
	policy_choose_implementation(task, id, ctx);
	if (c->depth && starpu_worker_get_memory_node(id) != STARPU_MAIN_RAM)
		prefetch(c, worker, id);
	return task;
}

/* The hooks around execution also see tasks that never came through the policy:
 * pinned ones, above all. */
static bool is_foreign(const struct starpu_task *task)
{
	return task->execute_on_a_specific_worker;
}

static void self_pre_exec(struct starpu_task *task, unsigned ctx)
{
	struct self_context *c = context_of(ctx);
	unsigned id = starpu_worker_get_id_check();
	struct wake_list wake;

	if (!is_foreign(task))
		return;
	c->workers[id].foreign_us = starpu_timing_now();
	/* It may have been woken for a task of the pool: another must do that. */
	waiters_remove(&c->waiters, id);
	if (!atomic_load(&c->unstarted) || !waiters_any(&c->waiters))
		return;
	policy_lock(&c->mutex);
	wake_further(c, &wake);
	STARPU_PTHREAD_MUTEX_UNLOCK(&c->mutex);
	wake_list_wake(&wake, &c->waiters);
}

static void self_post_exec(struct starpu_task *task, unsigned ctx)
{
	struct self_worker *worker = &context_of(ctx)->workers[starpu_worker_get_id_check()];
	double wall_us, modelled_us;

	if (!is_foreign(task)) {
		worker->done++;
		if (heddle_clock_said(task, &wall_us, &modelled_us))
			worker->since_us += wall_us - modelled_us;
	} else if (!worker->idle_us) {
		worker->since_us += starpu_timing_now() - worker->foreign_us;
	}
}

const struct starpu_sched_policy self_scheduling_policy = {
    .init_sched = self_init,
    .deinit_sched = self_deinit,
    .add_workers = self_add_workers,
    .remove_workers = self_remove_workers,
    .push_task = self_push,
    .pop_task = self_pop,
    .pre_exec_hook = self_pre_exec,
    .post_exec_hook = self_post_exec,
    .do_schedule = policy_drain,

    HEDDLE_POLICY_PREFETCHES.worker_type = STARPU_WORKER_LIST,
};
