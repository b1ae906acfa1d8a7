/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Demand-driven policies: DDFCFS, DDWRR and ODDS (Teodoro et al., "Run-time
 * optimizations for replicated dataflows on heterogeneous environments", HPDC
 * 2010). An idle worker takes a task from the pool of those that are ready: the
 * oldest one (DDFCFS), or the one that its class of devices gains most from.
 * Accelerators claim some tasks ahead, so that inputs travel while kernels run.
 *
 * Claims that have not been started stay in sight: a worker that finds nothing
 * else takes them back. Priorities come first everywhere.
 *
 * One mutex a context guards the pool, the claims and what is believed of families
 * of tasks. What only a worker itself touches needs none, and tasks are handed in
 * without it.
 */
#include "config.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include <heddle/policy.h>

#include "support/clock_starpu.h"
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

/* With one class of devices, tasks are measured for later runs alone: the first
 * ones, then one in so many. */
#define SAMPLES_FIRST 64
#define SAMPLES_EVERY 16

/* ---- contexts ---- */

static struct ready_context *context_of(unsigned ctx)
{
	return starpu_sched_ctx_get_policy_data(ctx);
}

static int prefetch_number(void)
{
	const char *text = heddle_variable_text(HEDDLE_VARIABLE_PREFETCH);
	char *end;
	long number = strtol(text, &end, 10);

	if (!starpu_get_prefetch_flag())
		return 0;
	if (!strcmp(text, "auto"))
		return -1;
	if (end == text || *end || number < 0 || number > READY_MAX_TRANSFERS) {
		heddle_warn("HEDDLE_PREFETCH=%s is neither \"auto\" nor a number from 0 to %d",
		            text, READY_MAX_TRANSFERS);
		return -1;
	}
	return number;
}

static void worker_init(struct ready_context *c, unsigned id)
{
	struct ready_worker *worker = &c->workers[id];
	uint32_t where = heddle_compat_where(starpu_worker_get_type(id));

	ring_init(&worker->claims, sizeof(struct ready_claim));
	worker->kind = heddle_device_class(id);
	if (starpu_worker_get_type(id) != STARPU_CPU_WORKER)
		c->accelerators |= 1u << worker->kind;
	c->mixed[worker->kind] |= c->where[worker->kind] && c->where[worker->kind] != where;
	c->where[worker->kind] |= where;
	ready_fetch_init(c, id);
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
	c->claimed_top = INT_MIN;
	c->prefetch = prefetch_number();
	c->depth = heddle_variable_number(HEDDLE_VARIABLE_DEPTH);
	for (unsigned w = nworkers; w-- > 0;) {
		worker_init(c, w);
		several |= c->workers[w].kind != c->workers[nworkers - 1].kind;
		/* The CPUs, where there are any. */
		if (!c->workers[w].accelerator || w == nworkers - 1)
			c->reference = c->workers[w].kind;
	}
	c->nkinds = heddle_device_classes();
	c->choosing = traits.sorted && several;
	c->patient = c->choosing && CAN_HOLD;
	if (heddle_pool_create(&c->pool)) {
		free(c);
		return NULL;
	}
	return c;
}

static void ready_init(unsigned ctx, struct ready_traits traits)
{
	struct ready_context *c = context_create(ctx, traits);

	STARPU_ASSERT_MSG(c, "no memory for a scheduling context");
	STARPU_PTHREAD_MUTEX_INIT(&c->mutex, NULL);
	ready_log_init(c);
	policy_any_priority(ctx);
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

static void ready_deinit(unsigned ctx)
{
	struct ready_context *c = context_of(ctx);

	ready_log_write(c);
	heddle_pool_destroy(c->pool);
	for (unsigned w = 0; w < c->nworkers; w++)
		ring_free(&c->workers[w].claims);
	STARPU_PTHREAD_MUTEX_DESTROY(&c->mutex);
	free(c);
}

static void ready_add_workers(unsigned ctx, int *ids, unsigned n)
{
	struct ready_context *c = context_of(ctx);

	STARPU_PTHREAD_MUTEX_LOCK(&c->mutex);
	c->members = 0;
	STARPU_PTHREAD_MUTEX_UNLOCK(&c->mutex);
	waiters_joined(&c->waiters, ids, n);
}

static void ready_remove_workers(unsigned ctx, int *ids, unsigned n)
{
	struct ready_context *c = context_of(ctx);

	STARPU_PTHREAD_MUTEX_LOCK(&c->mutex);
	c->members = 0;
	for (unsigned i = 0; i < n; i++) {
		waiters_remove(&c->waiters, ids[i]);
		ready_claims_give_back(c, &c->workers[ids[i]]);
	}
	STARPU_PTHREAD_MUTEX_UNLOCK(&c->mutex);
}

static int ready_push(struct starpu_task *task)
{
	struct ready_context *c = context_of(task->sched_ctx);
	struct ready_readership readers;
	struct wake_list wake;

	ready_readership_find(c, task, ready_introduce(c, task), &readers);
	atomic_fetch_add(&c->unstarted, 1);
	/* Handed in, the task may be done and freed at once. */
	starpu_push_task_end(task);
	ready_inbox_put(c, task);
	ready_wake_readers(c, &readers, &wake);
	wake_list_wake(&wake, &c->waiters);
	return 0;
}

/* Whether a worker need not look: it was told that nothing is there for it and
 * nobody has woken it since, or there is nothing at all. */
static bool nothing_new(struct ready_context *c, struct ready_worker *worker, unsigned id)
{
	double look_at_us;

	if (!waiters_stay(&c->waiters, id, &c->unstarted))
		return false;
	look_at_us = atomic_load_explicit(&worker->look_at_us, memory_order_relaxed);
	return look_at_us <= 0 || !atomic_load(&c->unstarted) || starpu_timing_now() < look_at_us;
}

/* Takes a task for a worker, or has it wait; the mutex is held. Who hands a task in
 * looks for waiting workers afterwards, so these look into the inbox once more. */
static void take_or_wait(struct ready_asker *asker, struct heddle_pool_entry *entry)
{
	struct ready_context *c = asker->c;

	do {
		waiters_remove(&c->waiters, asker->id);
		ready_inbox_empty(c);
		asker->look_at_us = 0;
		if (ready_take(asker, entry))
			return;
		waiters_add(&c->waiters, asker->id);
	} while (ready_inbox_waits(c));
}

static struct starpu_task *ready_pop(unsigned ctx)
{
	struct ready_context *c = context_of(ctx);
	unsigned id = starpu_worker_get_id_check();
	struct ready_worker *worker = &c->workers[id];
	struct heddle_pool_entry entry;
	struct ready_asker asker = {c, id, 0, 0, -1, -1};
	struct ready_errands errands;
	struct wake_list wake;

	if (nothing_new(c, worker, id)) {
		policy_let_others();
		return NULL;
	}
	if (c->choosing || worker->accelerator)
		asker.now_us = starpu_timing_now();
	entry.item = NULL;
	errands.n = 0;
	policy_lock(&c->mutex);
	if (!starpu_sched_ctx_contains_worker(id, ctx)) {
		/* StarPU does not tell that a worker has left. */
		waiters_remove(&c->waiters, id);
		ready_claims_give_back(c, worker);
	} else {
		ready_members_count(c);
		ready_busy_note(c, worker, asker.now_us);
		take_or_wait(&asker, &entry);
		if (entry.item && worker->accelerator) {
			ready_fetch_collect(worker, &errands);
			ready_log_queue(c, id, asker.now_us);
		}
	}
	ready_wake_further(c, &wake);
	STARPU_PTHREAD_MUTEX_UNLOCK(&c->mutex);
	wake_list_wake(&wake, &c->waiters);
	if (!entry.item) {
		ready_fetch_idle(worker);
		return NULL;
	}
	if (asker.left >= 0)
		policy_left_behind(entry.item, asker.left, id);
	policy_choose_implementation(entry.item, id, ctx);
	ready_fetch_attend(c, id, &errands);
	return entry.item;
}

/* The hooks around execution also see tasks that never came through the policy:
 * pinned ones, above all. */
static bool is_foreign(const struct starpu_task *task)
{
	return task->execute_on_a_specific_worker;
}

/* Whether the time of the task that a worker runs now is wanted. */
static bool is_sample(const struct ready_context *c, const struct ready_worker *worker)
{
	return c->choosing || worker->accelerator || worker->done < SAMPLES_FIRST ||
	       worker->done % SAMPLES_EVERY == 0;
}

static void ready_pre_exec(struct starpu_task *task, unsigned ctx)
{
	struct ready_context *c = context_of(ctx);
	unsigned id = starpu_worker_get_id_check();
	struct ready_worker *worker = &c->workers[id];
	struct wake_list wake;

	if (!is_foreign(task)) {
		if (is_sample(c, worker))
			worker->start_us[worker->begun % READY_PIPELINE] = starpu_timing_now();
		worker->running[worker->begun++ % READY_PIPELINE] = task;
		/* The oldest ended elsewhere. */
		if (worker->begun - worker->done > READY_PIPELINE)
			worker->done = worker->begun - READY_PIPELINE;
		ready_fetch_running(worker, task);
		return;
	}
	/* It may have been woken for a task of the pool: another must do that. */
	waiters_remove(&c->waiters, id);
	if (!atomic_load(&c->unstarted) || !waiters_any(&c->waiters))
		return;
	policy_lock(&c->mutex);
	ready_members_count(c);
	ready_wake_further(c, &wake);
	STARPU_PTHREAD_MUTEX_UNLOCK(&c->mutex);
	wake_list_wake(&wake, &c->waiters);
}

/* Time of the task that ends now. A driver begins the next task of a device while one
 * runs there: it has the device from the other's end. */
static double task_us(struct ready_worker *worker)
{
	double now_us = starpu_timing_now();
	double since_us = worker->start_us[worker->done % READY_PIPELINE];

	if (since_us < worker->done_us)
		since_us = worker->done_us;
	worker->done_us = now_us;
	return now_us - since_us;
}

/* Whether a task that ends is one that the worker began. What it began before that has
 * ended, or will end elsewhere. */
static bool ends_here(struct ready_worker *worker, const struct starpu_task *task)
{
	unsigned i = worker->done;

	while (i != worker->begun && worker->running[i % READY_PIPELINE] != task)
		i++;
	if (i == worker->begun)
		return false;
	worker->done = i;
	return true;
}

static void ready_post_exec(struct starpu_task *task, unsigned ctx)
{
	struct ready_context *c = context_of(ctx);
	unsigned id = starpu_worker_get_id_check();
	struct ready_worker *worker = &c->workers[id];

	if (is_foreign(task) || !ends_here(worker, task))
		return;
	if (is_sample(c, worker)) {
		double us = heddle_clock_kernel_us(task, task_us(worker));

		ready_task_measured(c, task, id, us);
		ready_fetch_done(c, worker, us);
	}
	worker->done++;
}

#define HOOKS(init)                                                                                \
	{                                                                                          \
		.init_sched = init, .deinit_sched = ready_deinit,                                  \
		.add_workers = ready_add_workers, .remove_workers = ready_remove_workers,          \
		.push_task = ready_push, .pop_task = ready_pop, .pre_exec_hook = ready_pre_exec,   \
		.post_exec_hook = ready_post_exec, .do_schedule = policy_drain,                    \
		HEDDLE_POLICY_PREFETCHES.worker_type = STARPU_WORKER_LIST,                         \
	}

const struct starpu_sched_policy ddfcfs_policy = HOOKS(ddfcfs_init);
const struct starpu_sched_policy ddwrr_policy = HOOKS(ddwrr_init);
const struct starpu_sched_policy odds_policy = HOOKS(odds_init);
