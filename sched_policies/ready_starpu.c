/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Demand-driven policies: DDFCFS, DDWRR and ODDS (Teodoro et al., "Run-time optimizations for
 * replicated dataflows on heterogeneous environments", HPDC 2010). An idle worker takes a task
 * from the pool of those that are ready: the oldest one (DDFCFS), or the one that its class of
 * devices gains most from. Accelerators claim tasks ahead, so that inputs travel while kernels
 * run. Priorities come first everywhere. Here: contexts and the tables of hooks.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include <heddle/policy.h>

#include "support/message.h"
#include "support/variables.h"
#include "sched_policies/policies.h"
#include "sched_policies/ready.h"
#include "sched_policies/registry.h"

/* A worker that has left tasks to others looks again when the time is up: only
 * where drivers poll, or simulated time stands still meanwhile. */
#if defined(STARPU_NON_BLOCKING_DRIVERS) || defined(STARPU_SIMGRID)
#define CAN_HOLD true
#else
#define CAN_HOLD false
#endif

static int prefetch_number(void)
{
	const struct heddle_variable_row *row = &heddle_variable_table[HEDDLE_VARIABLE_PREFETCH];
	const char *text = heddle_variable_text(HEDDLE_VARIABLE_PREFETCH);

	if (!starpu_get_prefetch_flag())
		return 0;
	if (!strcmp(text, row->value) || !heddle_variable_valid(row, text))
		return -1;
	return heddle_variable_number(HEDDLE_VARIABLE_PREFETCH);
}

static void worker_init(struct ready_context *c, unsigned id)
{
	struct ready_worker *worker = &c->workers[id];
	uint32_t where = heddle_compat_where(starpu_worker_get_type(id));

	worker->class = heddle_device_class(id);
	if (starpu_worker_get_type(id) != STARPU_CPU_WORKER)
		c->accelerators |= 1u << worker->class;
	c->mixed[worker->class] |= c->where[worker->class] && c->where[worker->class] != where;
	c->where[worker->class] |= where;
	waiters_add(&c->crew[worker->class], id);
	worker->rests_since_us = 1; /* it has not started anything */
	ready_queue_init(c, id);
}

static bool nodes_differ(const struct ready_context *c)
{
	unsigned w = 1;

	while (w < c->nworkers && c->workers[w].node == c->workers[0].node)
		w++;
	return w < c->nworkers;
}

static struct ready_context *context_create(unsigned ctx, struct ready_traits traits)
{
	unsigned nworkers = starpu_worker_get_count();
	size_t size = sizeof(struct ready_context) + nworkers * sizeof(struct ready_worker);
	struct ready_context *c = aligned_alloc(64, (size + 63) / 64 * 64);
	bool several = false;

	if (!c)
		return NULL;
	memset(c, 0, size);
	c->id = ctx;
	c->traits = traits;
	c->nworkers = nworkers;
	c->prefetch = prefetch_number();
	c->depth = heddle_variable_number(HEDDLE_VARIABLE_DEPTH);
	for (unsigned w = nworkers; w-- > 0;) {
		worker_init(c, w);
		several |= c->workers[w].class != c->workers[nworkers - 1].class;
		/* The CPUs, where there are any. */
		if (!c->workers[w].accelerator || w == nworkers - 1)
			c->reference = c->workers[w].class;
	}
	c->nclasses = heddle_device_classes();
	c->choosing = traits.sorted && (several || (traits.planned && nodes_differ(c)));
	c->patient = c->choosing && CAN_HOLD;
	/* Cores of several memories (STARPU_USE_NUMA) may have a plan, and inputs to fetch. */
	c->cores_only =
	    !several && !c->accelerators && !c->workers[0].accelerator && !nodes_differ(c);
	if (!claims_create(&c->claims, nworkers)) {
		if (!heddle_pool_create(&c->pool)) {
			c->claims.looks = traits.planned;
			if (!traits.planned || !c->choosing || !ready_plan_create(c)) {
				ready_cores_init(c);
				return c;
			}
			heddle_pool_destroy(c->pool);
		}
		claims_destroy(&c->claims);
	}
	free(c);
	return NULL;
}

static void ready_init(unsigned ctx, struct ready_traits traits)
{
	struct ready_context *c = context_create(ctx, traits);

	STARPU_ASSERT_MSG(c, "no memory for a scheduling context");
	STARPU_PTHREAD_MUTEX_INIT(&c->mutex, NULL);
	ready_queue_log_begin(c);
	policy_begin(ctx);
	starpu_sched_ctx_set_policy_data(ctx, c);
}

static void ddfcfs_init(unsigned ctx)
{
	ready_init(ctx, (struct ready_traits){0});
}

static void ddwrr_init(unsigned ctx)
{
	ready_init(ctx, (struct ready_traits){.sorted = true, .transfers = true});
}

static void odds_init(unsigned ctx)
{
	ready_init(ctx, (struct ready_traits){.sorted = true, .transfers = true, .queue = true});
}

/* Without Algorithm 1: accelerators share links, so that one that claims more takes throughput from
 * the others, and counts that as a gain. */
static void heddle_init(unsigned ctx)
{
	ready_init(ctx, (struct ready_traits){.sorted = true, .planned = true});
}

static void ready_submitted(struct starpu_task *task)
{
	struct ready_context *c = ready_context(task->sched_ctx);

	if (!c->plan)
		return;
	ready_plan_submitted(c);
	ready_cores_submitted(c, task);
}

/* StarPU gives a worker a task past the policy, as blocks of loops are. It does so after this: the
 * worker may look too early, and is not to sleep at once. */
static void ready_given(struct starpu_task *task, int id, int perf_id, unsigned ctx)
{
	struct ready_context *c = ready_context(ctx);

	(void)task;
	(void)perf_id;
	if (!c->plan || (unsigned)id >= c->nworkers)
		return;
	atomic_store(&c->workers[id].roused_us, starpu_timing_now());
	waiters_rouse(&c->waiters, id);
}

static void ready_deinit(unsigned ctx)
{
	struct ready_context *c = ready_context(ctx);

	policy_end(ctx);
	ready_queue_log_write(c);
	ready_plan_destroy(c);
	heddle_pool_destroy(c->pool);
	claims_destroy(&c->claims);
	STARPU_PTHREAD_MUTEX_DESTROY(&c->mutex);
	free(c);
}

static void ready_add_workers(unsigned ctx, int *ids, unsigned n)
{
	struct ready_context *c = ready_context(ctx);

	STARPU_PTHREAD_MUTEX_LOCK(&c->mutex);
	c->members = 0;
	ready_local_members_change(c);
	STARPU_PTHREAD_MUTEX_UNLOCK(&c->mutex);
	waiters_joined(&c->waiters, ctx, ids, n);
}

static void ready_remove_workers(unsigned ctx, int *ids, unsigned n)
{
	struct ready_context *c = ready_context(ctx);

	STARPU_PTHREAD_MUTEX_LOCK(&c->mutex);
	c->members = 0;
	ready_local_members_change(c);
	for (unsigned i = 0; i < n; i++) {
		waiters_remove(&c->waiters, ids[i]);
		ready_claims_give_back(c, ids[i]);
	}
	STARPU_PTHREAD_MUTEX_UNLOCK(&c->mutex);
	policy_leave(ctx, ids, n);
}

#define HOOKS(init)                                                                                \
	{                                                                                          \
		.init_sched = init, .deinit_sched = ready_deinit,                                  \
		.add_workers = ready_add_workers, .remove_workers = ready_remove_workers,          \
		.submit_hook = ready_submitted, .push_task = ready_push, .pop_task = ready_pop,    \
		.push_task_notify = ready_given, .pre_exec_hook = ready_pre_exec,                  \
		.post_exec_hook = ready_post_exec, .do_schedule = claims_drain,                    \
		HEDDLE_POLICY_PREFETCHES.worker_type = STARPU_WORKER_LIST,                         \
	}

const struct starpu_sched_policy ddfcfs_policy = HOOKS(ddfcfs_init);
const struct starpu_sched_policy ddwrr_policy = HOOKS(ddwrr_init);
const struct starpu_sched_policy odds_policy = HOOKS(odds_init);
const struct starpu_sched_policy heddle_policy = HOOKS(heddle_init);
