/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Self-scheduling of ready tasks: an idle worker claims a chunk of them, as loop self-scheduling
 * hands out chunks of iterations. A block strategy (heddle/strategy.h), whose iterations are the
 * tasks that are ready now, says how many. A worker that finds nothing better takes tasks of
 * others' chunks. Priorities come first: all tasks of a chunk have the same, and a worker prefers
 * a task of higher priority wherever it lies.
 */
#include "config.h"

#include <limits.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <heddle/strategy.h>
#include <heddle/policy.h>

#include "support/clock_starpu.h"
#include "support/variables.h"
#include "estimator/platform_starpu.h"
#include "sched_policies/claims_starpu.h"
#include "sched_policies/common_starpu.h"
#include "sched_policies/policies.h"
#include "sched_policies/pool.h"
#include "sched_policies/registry.h"

_Static_assert(STARPU_NARCH <= HEDDLE_POOL_CLASSES, "a type of worker has no place in the pool");

struct self_worker {
	/* Under the context's mutex. */
	int slot;     /* its number in the strategy, -1: none */
	size_t given; /* tasks that the strategy gave it and has had no report of */
	/* The worker's own. */
	unsigned class;
	unsigned started, done; /* tasks, since the last report to the strategy */
	double since_us;        /* start of the time that was not reported */
	double idle_us;         /* end of it, when the worker ran out of work; or 0 */
	double foreign_us;      /* start of a task that came from elsewhere */
} __attribute__((aligned(64)));

struct self_context {
	/* Guards the pool, the claims and the strategy. */
	starpu_pthread_mutex_t mutex;
	unsigned id;
	const char *strategy;
	struct heddle_pool *pool;
	struct claims claims;
	struct heddle_strategy *blocks; /* NULL: none yet, or no memory for it */
	unsigned members;               /* of the context, when blocks was made; 0: since changed */
	unsigned nworkers;              /* of the machine */
	unsigned depth;                 /* claimed tasks whose inputs are fetched ahead */
	atomic_size_t unstarted;        /* tasks in the pool and claimed */
	struct waiters waiters;
	struct self_worker workers[];
};

static struct self_context *context_of(unsigned ctx)
{
	return starpu_sched_ctx_get_policy_data(ctx);
}

/* ---- how many tasks a worker claims; the mutex is held ---- */

/* The strategy sees the workers that are in the context now; rates that were
 * learned among others go on as prior rates. */
static void strategy_begin(struct self_context *c)
{
	struct heddle_strategy_worker workers[STARPU_NMAXWORKERS];
	struct heddle_strategy_problem problem = {.workers = workers};
	struct heddle_strategy *before = c->blocks;
	struct self_worker *slots[STARPU_NMAXWORKERS];
	int *ids;
	unsigned n = starpu_sched_ctx_get_workers_list_raw(c->id, &ids);

	for (unsigned i = 0; i < n; i++) {
		struct self_worker *worker = &c->workers[ids[i]];
		bool accelerator;

		if ((unsigned)ids[i] >= c->nworkers) /* combined workers take no task here */
			continue;
		accelerator = starpu_worker_get_memory_node(ids[i]) != STARPU_MAIN_RAM;
		workers[problem.nworkers] = (struct heddle_strategy_worker){
		    .kind = heddle_worker_kind(ids[i]),
		    .minimum = accelerator ? 1 + c->depth : 1,
		    .alignment = 1,
		    .rate = before && worker->slot >= 0 ? heddle_strategy_rate(before, worker->slot)
		                                        : 0,
		};
		slots[problem.nworkers++] = worker;
	}
	for (unsigned w = 0; w < c->nworkers; w++) {
		c->workers[w].slot = -1;
		c->workers[w].given = 0;
	}
	for (unsigned s = 0; s < problem.nworkers; s++)
		slots[s]->slot = s;
	heddle_strategy_destroy(before);
	c->members = n;
	if (!problem.nworkers || heddle_strategy_create(c->strategy, &problem, &c->blocks))
		c->blocks = NULL;
}

/* Reports to the strategy what a worker did since the last report. Tasks that it had taken back
 * from another took their part of the time. */
static void strategy_report(struct self_context *c, struct self_worker *worker, double now)
{
	double us = (worker->idle_us ? worker->idle_us : now) - worker->since_us;
	size_t n = worker->done < worker->given ? worker->done : worker->given;

	if (n)
		heddle_strategy_completed(c->blocks, worker->slot, n, us * n / worker->done);
	worker->given -= n;
	worker->started -= worker->done;
	worker->done = 0;
	worker->since_us = now;
	worker->idle_us = 0;
}

/* The time that a worker was idle is not reported. */
static void idle_skip(struct self_worker *worker)
{
	if (!worker->idle_us)
		return;
	worker->since_us += starpu_timing_now() - worker->idle_us;
	worker->idle_us = 0;
}

/* How many of the ready tasks a worker claims. At least the one that it needs now, since a ready
 * task never waits for a strategy. Of a single ready task the strategy is not asked. */
static size_t chunk_next(struct self_context *c, struct self_worker *worker)
{
	size_t ready = heddle_pool_count(c->pool), remaining, chunk;

	if (ready == 1) {
		idle_skip(worker);
		return 1;
	}
	if (!c->blocks || starpu_sched_ctx_get_nworkers(c->id) != c->members)
		strategy_begin(c);
	if (!c->blocks)
		return 1;
	strategy_report(c, worker, starpu_timing_now());
	remaining = heddle_strategy_remaining(c->blocks);
	if (remaining < ready)
		heddle_strategy_extend(c->blocks, ready - remaining);
	chunk = heddle_strategy_next(c->blocks, worker->slot);
	worker->given += chunk;
	return chunk ? chunk : 1;
}

/* Tells the strategy of tasks that it gave a worker and another has, or nobody. */
static void chunk_return(struct self_context *c, struct self_worker *worker, size_t n)
{
	if (n > worker->given)
		n = worker->given;
	if (n && c->blocks)
		heddle_strategy_return(c->blocks, worker->slot, n);
	worker->given -= n;
}

/* ---- which task a worker takes; the mutex is held ---- */

/* Takes the best task out of the pool, from where it was found, and, when the worker has
 * nothing, claims the rest of a chunk of the same priority. */
static struct starpu_task *take_pooled(struct self_context *c, unsigned id,
                                       const struct heddle_pool_place *place)
{
	struct self_worker *worker = &c->workers[id];
	bool idle = !claims_count(&c->claims, id);
	size_t chunk = idle ? chunk_next(c, worker) : 1, got = 1;
	struct heddle_pool_entry first;
	struct claim claim = {0};

	heddle_pool_take(c->pool, place, &first);
	while (got < chunk && !claims_reserve(&c->claims, id) &&
	       heddle_pool_pop(c->pool, worker->class, first.key.priority, policy_accepts, &id,
	                       &claim.entry)) {
		claims_add(&c->claims, id, &claim);
		got++;
	}
	if (idle)
		chunk_return(c, worker, chunk - got);
	return first.item;
}

static bool claim_is_for(const struct claim *claim, unsigned owner, void *id)
{
	(void)owner;
	return policy_accepts(claim->entry.item, id);
}

/* The claim of another worker that a worker may take back. */
static bool find_claimed(struct self_context *c, unsigned id, int least, unsigned *owner,
                         size_t *index)
{
	struct claims_query query = {
	    .worker = id, .least = least, .accept = claim_is_for, .arg = &id};

	return claims_find(&c->claims, &query, owner, index);
}

static struct starpu_task *take_back(struct self_context *c, unsigned owner, size_t index,
                                     int *left)
{
	struct claim claim;

	claims_remove(&c->claims, owner, index, &claim);
	if (claim.input == CLAIM_INPUT_ASKED)
		*left = owner;
	chunk_return(c, &c->workers[owner], 1);
	return claim.entry.item;
}

/* The best task in the pool for a worker, if it is better than what the worker claimed before. */
static const struct heddle_pool_key *find_pooled(struct self_context *c, unsigned *id,
                                                 struct heddle_pool_place *place)
{
	struct heddle_pool_query query = {
	    .class = c->workers[*id].class, .least = INT_MIN, .accept = policy_accepts, .arg = id};

	if (claims_count(&c->claims, *id)) {
		int claimed = claims_at(&c->claims, *id, 0)->entry.key.priority;

		if (claimed == INT_MAX)
			return NULL;
		query.least = claimed + 1;
	}
	return heddle_pool_find(c->pool, &query, place);
}

/* The best task for a worker, wherever it lies: on equal priority its own claims first, then the
 * pool, then what others claimed. NULL: there is none. *left: who had asked for its input, if
 * somebody else had. */
static struct starpu_task *take(struct self_context *c, unsigned id, int *left)
{
	bool own = claims_count(&c->claims, id);
	struct heddle_pool_place pooled;
	const struct heddle_pool_key *key = find_pooled(c, &id, &pooled);
	int best = own ? claims_at(&c->claims, id, 0)->entry.key.priority : INT_MIN;
	unsigned owner;
	size_t index;
	struct claim claim;

	if (key)
		best = key->priority;
	if (c->claims.top > best && find_claimed(c, id, best + 1, &owner, &index))
		return take_back(c, owner, index, left);
	if (key)
		return take_pooled(c, id, &pooled);
	if (own) {
		claims_remove(&c->claims, id, 0, &claim);
		return claim.entry.item;
	}
	if (c->claims.total && find_claimed(c, id, INT_MIN, &owner, &index))
		return take_back(c, owner, index, left);
	return NULL;
}

static void claim_gone(unsigned worker, const struct claim *claim, void *context)
{
	struct self_context *c = context;

	(void)claim;
	chunk_return(c, &c->workers[worker], 1);
}

/* ---- waking; lists are made under the mutex and used without it ---- */

/* Whether anything is left for a worker. */
static bool work_is_for(struct self_context *c, unsigned id)
{
	unsigned owner;
	size_t index;
	int priority;

	return heddle_pool_priority(c->pool, c->workers[id].class, policy_accepts, &id,
	                            &priority) ||
	       (c->claims.total && find_claimed(c, id, INT_MIN, &owner, &index));
}

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
		if (!entry ? !work_is_for(c, id)
		           : !heddle_pool_key_runs(&entry->key, c->workers[id].class) ||
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

/* No worker is better than another: classes in the pool are StarPU's types of workers. */
static void task_key(const struct starpu_task *task, struct heddle_pool_key *key)
{
	heddle_pool_key_init(key);
	key->priority = task->priority;
	for (unsigned k = 0; k < STARPU_NARCH; k++)
		if (task->where & heddle_compat_where(k))
			key->gain[k] = 0;
	key->tag = policy_task_tag(task);
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
	c->depth = starpu_get_prefetch_flag() ? heddle_variable_number(HEDDLE_VARIABLE_DEPTH) : 0;
	for (unsigned w = 0; w < nworkers; w++) {
		c->workers[w].class = starpu_worker_get_type(w);
		c->workers[w].slot = -1;
	}
	status = heddle_pool_create(&c->pool);
	if (!status)
		status = claims_create(&c->claims, nworkers);
	STARPU_ASSERT_MSG(!status, "no memory for a scheduling context");
	STARPU_PTHREAD_MUTEX_INIT(&c->mutex, NULL);
	policy_begin(ctx);
	starpu_sched_ctx_set_policy_data(ctx, c);
}

static void self_deinit(unsigned ctx)
{
	struct self_context *c = context_of(ctx);

	policy_end(ctx);
	heddle_pool_destroy(c->pool);
	heddle_strategy_destroy(c->blocks);
	claims_destroy(&c->claims);
	STARPU_PTHREAD_MUTEX_DESTROY(&c->mutex);
	free(c);
}

static void self_add_workers(unsigned ctx, int *ids, unsigned n)
{
	struct self_context *c = context_of(ctx);

	STARPU_PTHREAD_MUTEX_LOCK(&c->mutex);
	c->members = 0; /* the strategy begins anew when it is next asked */
	STARPU_PTHREAD_MUTEX_UNLOCK(&c->mutex);
	waiters_joined(&c->waiters, ctx, ids, n);
}

static void self_remove_workers(unsigned ctx, int *ids, unsigned n)
{
	struct self_context *c = context_of(ctx);

	STARPU_PTHREAD_MUTEX_LOCK(&c->mutex);
	for (unsigned i = 0; i < n; i++) {
		waiters_remove(&c->waiters, ids[i]);
		claims_give_back(&c->claims, ids[i], c->pool, claim_gone, c);
	}
	STARPU_PTHREAD_MUTEX_UNLOCK(&c->mutex);
	policy_leave(ctx, ids, n);
}

static int self_push(struct starpu_task *task)
{
	struct self_context *c = context_of(task->sched_ctx);
	struct heddle_pool_entry entry = {.item = task};
	struct wake_list wake;

	task_key(task, &entry.key);
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

/* Whether a worker need not look: its last look found nothing and nobody has woken it since, or
 * there is nothing at all. */
static bool nothing_new(struct self_context *c, struct self_worker *worker, unsigned id)
{
	bool waits = waiters_stay(&c->waiters, id, &c->unstarted);

	if (waits && worker->done && worker->done == worker->started && !worker->idle_us)
		worker->idle_us = starpu_timing_now();
	return waits;
}

/* Asks for the inputs of the next claimed tasks while this one runs. */
static void fetch_ahead(struct self_context *c, unsigned id, struct claims_requests *requests)
{
	struct wake_list wake;

	if (!requests->n)
		return;
	claims_requests_send(id, requests);
	policy_lock(&c->mutex);
	claims_requests_end(&c->claims, id, requests);
	wake_further(c, &wake);
	STARPU_PTHREAD_MUTEX_UNLOCK(&c->mutex);
	wake_list_wake(&wake, &c->waiters);
}

static struct starpu_task *context_pop(struct self_context *c, unsigned ctx, unsigned id)
{
	struct self_worker *worker = &c->workers[id];
	struct starpu_task *task = NULL;
	struct claims_requests requests;
	struct wake_list wake;
	int left = -1;

	if (nothing_new(c, worker, id)) {
		policy_let_others(id, NULL, 0);
		return NULL;
	}
	requests.n = 0;
	policy_lock(&c->mutex);
	waiters_remove(&c->waiters, id);
	if (!starpu_sched_ctx_contains_worker(id, ctx)) {
		/* StarPU does not report that a worker has left. */
		claims_give_back(&c->claims, id, c->pool, claim_gone, c);
	} else if ((task = take(c, id, &left))) {
		atomic_fetch_sub(&c->unstarted, 1);
		worker->started++;
	} else {
		waiters_add(&c->waiters, id);
	}
	wake_further(c, &wake);
	if (task && c->depth && starpu_worker_get_memory_node(id) != STARPU_MAIN_RAM)
		claims_requests_collect(&c->claims, id, c->depth, false, &requests);
	STARPU_PTHREAD_MUTEX_UNLOCK(&c->mutex);
	wake_list_wake(&wake, &c->waiters);
	if (!task)
		return NULL;
	if (left >= 0)
		claims_left_behind(task, left, id);
	policy_choose_implementation(task, id, ctx);
	fetch_ahead(c, id, &requests);
	return task;
}

static struct starpu_task *self_pop(unsigned ctx)
{
	unsigned id = starpu_worker_get_id_check();
	struct self_context *c = policy_ask_begin(ctx, id);
	struct starpu_task *task = c ? context_pop(c, ctx, id) : NULL;

	policy_ask_end(ctx, id, task);
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
	struct self_context *c = context_of(ctx);
	struct self_worker *worker;
	double wall_us, modelled_us;
	int id = starpu_worker_get_id();

	if (id < 0) /* the program has ended it (starpu_task_end_dep_release()) */
		return;
	worker = &c->workers[id];
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
    .do_schedule = claims_drain,

    HEDDLE_POLICY_PREFETCHES.worker_type = STARPU_WORKER_LIST,
};
