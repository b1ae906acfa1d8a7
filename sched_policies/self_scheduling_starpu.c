/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Self-scheduling of ready tasks: an idle worker claims a chunk of B of them, as
 * loop self-scheduling hands out chunks of iterations. B comes from a block
 * strategy (heddle/blocks.h) whose iterations are the tasks that are ready now.
 *
 * Claiming is not hoarding. Claimed tasks that have not been started stay in
 * sight: a worker that finds nothing better takes them back from the end of the
 * claimer's list. Priorities come first everywhere: all tasks of a chunk have the
 * same priority, and a worker prefers a task of higher priority wherever it
 * lies, in the pool or claimed by another.
 *
 * One mutex a context guards the pool, the claims and the strategy. What only a
 * worker itself touches needs none.
 */
#include "config.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include <heddle/blocks.h>
#include <heddle/policy.h>

#include "private/clock_starpu.h"
#include "private/platform_starpu.h"
#include "private/variables.h"
#include "sched_policies/common_starpu.h"
#include "sched_policies/policies.h"
#include "sched_policies/registry.h"
#include "sched_policies/ring.h"

enum fetch {
	FETCH_NOT,
	FETCH_BUSY, /* being asked for: nobody may take the task meanwhile */
	FETCH_DONE
};

struct claim {
	struct starpu_task *task;
	enum fetch fetch;
};

struct worker {
	/* Under the context's mutex. */
	struct ring claims; /* of struct claim, all of one priority */
	int slot;           /* its number in the strategy, -1: none */
	size_t given;       /* tasks that the strategy gave it and has not heard of */
	/* The worker's own. */
	unsigned kind;
	unsigned started, done; /* tasks, since the strategy last heard */
	double since_us;        /* start of the time the strategy has not heard of */
	double idle_us;         /* end of it, when the worker ran out of work; or 0 */
	double foreign_us;      /* start of a task that came from elsewhere */
} __attribute__((aligned(64)));

struct context {
	starpu_pthread_mutex_t mutex;
	unsigned id;
	const char *strategy;
	struct heddle_pool *pool;
	struct heddle_blocks *blocks; /* NULL: none yet, or no memory for it */
	unsigned members;             /* of the context, when blocks was made; 0: since changed */
	unsigned nworkers;            /* of the machine */
	size_t nclaimed;
	int claimed_top;         /* no claimed task has a higher priority */
	unsigned depth;          /* claimed tasks whose inputs are fetched ahead */
	atomic_size_t unstarted; /* tasks in the pool and claimed */
	struct waiters waiters;
	struct worker workers[];
};

static struct claim *claim_at(const struct worker *worker, size_t i)
{
	return ring_at(&worker->claims, i);
}

/* ---- the strategy ---- */

/* The strategy sees the workers that are in the context now; rates that were
 * learned among others go on as prior rates. */
static void strategy_begin(struct context *c)
{
	struct heddle_blocks_worker workers[STARPU_NMAXWORKERS];
	struct heddle_blocks_problem problem = {.workers = workers};
	struct heddle_blocks *before = c->blocks;
	struct worker *slots[STARPU_NMAXWORKERS];
	int *ids;
	unsigned n = starpu_sched_ctx_get_workers_list_raw(c->id, &ids);

	for (unsigned i = 0; i < n; i++) {
		struct worker *worker = &c->workers[ids[i]];
		bool accelerator;

		if ((unsigned)ids[i] >= c->nworkers) /* combined workers take no task here */
			continue;
		accelerator = starpu_worker_get_memory_node(ids[i]) != STARPU_MAIN_RAM;
		workers[problem.nworkers] = (struct heddle_blocks_worker){
		    .kind = heddle_worker_kind(ids[i]),
		    .minimum = accelerator ? 1 + c->depth : 1,
		    .alignment = 1,
		    .rate =
		        before && worker->slot >= 0 ? heddle_blocks_rate(before, worker->slot) : 0,
		};
		slots[problem.nworkers++] = worker;
	}
	for (unsigned w = 0; w < c->nworkers; w++) {
		c->workers[w].slot = -1;
		c->workers[w].given = 0;
	}
	for (unsigned s = 0; s < problem.nworkers; s++)
		slots[s]->slot = s;
	heddle_blocks_destroy(before);
	c->members = n;
	if (!problem.nworkers || heddle_blocks_create(c->strategy, &problem, &c->blocks))
		c->blocks = NULL;
}

/* Tells the strategy what a worker did since it last heard. Tasks that were not
 * its gift (taken back from another) took their part of the time. */
static void strategy_tell(struct context *c, struct worker *worker, double now)
{
	double us = (worker->idle_us ? worker->idle_us : now) - worker->since_us;
	size_t n = worker->done < worker->given ? worker->done : worker->given;

	if (n)
		heddle_blocks_completed(c->blocks, worker->slot, n, us * n / worker->done);
	worker->given -= n;
	worker->started -= worker->done;
	worker->done = 0;
	worker->since_us = now;
	worker->idle_us = 0;
}

/* The time a worker was idle is not work that the strategy will hear of. */
static void idle_skip(struct worker *worker)
{
	if (!worker->idle_us)
		return;
	worker->since_us += starpu_timing_now() - worker->idle_us;
	worker->idle_us = 0;
}

/* How many of the ready tasks a worker claims, where a single one is nothing to
 * divide and the strategy is not asked: at least the one that it needs
 * now, whatever the strategy says, since a ready task never waits for a strategy. */
static size_t strategy_chunk(struct context *c, struct worker *worker)
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
	strategy_tell(c, worker, starpu_timing_now());
	remaining = heddle_blocks_remaining(c->blocks);
	if (remaining < ready)
		heddle_blocks_extend(c->blocks, ready - remaining);
	chunk = heddle_blocks_next(c->blocks, worker->slot);
	worker->given += chunk;
	return chunk ? chunk : 1;
}

static void strategy_return(struct context *c, struct worker *worker, size_t n)
{
	if (n > worker->given)
		n = worker->given;
	if (n && c->blocks)
		heddle_blocks_return(c->blocks, worker->slot, n);
	worker->given -= n;
}

/* ---- taking tasks; the mutex is held ---- */

static void claim_remove(struct context *c, struct worker *worker, size_t i)
{
	ring_remove(&worker->claims, i);
	if (!--c->nclaimed)
		c->claimed_top = INT_MIN;
}

/* The task leaves its claimer, maybe before its input has come there. */
static void claim_leave(struct context *c, struct worker *worker, size_t i)
{
	if (claim_at(worker, i)->fetch == FETCH_DONE)
		policy_left_behind(worker - c->workers);
	claim_remove(c, worker, i);
	strategy_return(c, worker, 1);
}

static struct starpu_task *take_claimed(struct context *c, struct worker *worker)
{
	struct starpu_task *task = claim_at(worker, 0)->task;

	claim_remove(c, worker, 0);
	return task;
}

/* Takes the best task out of the pool, from where it was found, and, when the worker
 * has nothing, claims the rest of a chunk of the same priority. */
static struct starpu_task *take_pooled(struct context *c, unsigned id,
                                       const struct heddle_pool_place *place)
{
	struct worker *worker = &c->workers[id];
	bool idle = !ring_count(&worker->claims);
	size_t chunk = idle ? strategy_chunk(c, worker) : 1, got = 1;
	struct heddle_pool_entry first, next;

	heddle_pool_take(c->pool, place, &first);
	while (got < chunk && !ring_reserve(&worker->claims) &&
	       heddle_pool_pop(c->pool, worker->kind, first.key.priority, policy_accepts, &id,
	                       &next)) {
		ring_push(&worker->claims, &(struct claim){.task = next.item, .fetch = FETCH_NOT});
		c->nclaimed++;
		got++;
	}
	if (got > 1 && first.key.priority > c->claimed_top)
		c->claimed_top = first.key.priority;
	if (idle)
		strategy_return(c, worker, chunk - got);
	return first.item;
}

/* Where the last claimed task lies that a worker may take from another; the
 * claimer's list length when there is none. */
static size_t claim_search(const struct worker *owner, unsigned *id)
{
	size_t n = ring_count(&owner->claims);

	for (size_t i = n; i-- > 0;) {
		const struct claim *claim = claim_at(owner, i);

		if (claim->fetch != FETCH_BUSY && policy_accepts(claim->task, id))
			return i;
	}
	return n;
}

/* The claimer of the task of highest priority, at least `least`, that a worker may
 * take back; among equals the one with the longest list. */
static struct worker *claimer_search(struct context *c, unsigned id, int least, size_t *place)
{
	const struct worker *self = &c->workers[id];
	struct worker *best = NULL;
	int top = INT_MIN;

	for (unsigned w = 0; w < c->nworkers; w++) {
		struct worker *owner = &c->workers[w];
		size_t n = ring_count(&owner->claims), i;
		int priority, best_priority;

		if (!n)
			continue;
		priority = claim_at(owner, 0)->task->priority;
		if (priority > top)
			top = priority;
		if (owner == self || priority < least)
			continue;
		best_priority = best ? claim_at(best, 0)->task->priority : INT_MIN;
		if (best && (priority < best_priority ||
		             (priority == best_priority && n <= ring_count(&best->claims))))
			continue;
		i = claim_search(owner, &id);
		if (i == n)
			continue;
		best = owner;
		*place = i;
	}
	c->claimed_top = top;
	return best;
}

static struct starpu_task *take_back(struct context *c, struct worker *owner, size_t place)
{
	struct starpu_task *task = claim_at(owner, place)->task;

	claim_leave(c, owner, place);
	return task;
}

/* The best task in the pool for a worker, if it is better than what the worker
 * claimed already. */
static const struct heddle_pool_key *pool_find(struct context *c, unsigned *id,
                                               struct heddle_pool_place *place)
{
	const struct worker *worker = &c->workers[*id];
	struct heddle_pool_query query = {
	    .kind = worker->kind, .least = INT_MIN, .accept = policy_accepts, .arg = id};

	if (ring_count(&worker->claims)) {
		int claimed = claim_at(worker, 0)->task->priority;

		if (claimed == INT_MAX)
			return NULL;
		query.least = claimed + 1;
	}
	return heddle_pool_find(c->pool, &query, place);
}

/* The best task for a worker, wherever it lies: on equal priority its own claims
 * first, then the pool, then what others claimed. */
static struct starpu_task *take(struct context *c, unsigned id)
{
	struct worker *worker = &c->workers[id], *owner = NULL;
	bool own = ring_count(&worker->claims);
	struct heddle_pool_place pooled;
	const struct heddle_pool_key *key = pool_find(c, &id, &pooled);
	int best = own ? claim_at(worker, 0)->task->priority : INT_MIN;
	size_t place = 0;

	if (key)
		best = key->priority;
	if (c->claimed_top > best)
		owner = claimer_search(c, id, best + 1, &place);
	if (owner)
		return take_back(c, owner, place);
	if (key)
		return take_pooled(c, id, &pooled);
	if (own)
		return take_claimed(c, worker);
	owner = c->nclaimed ? claimer_search(c, id, INT_MIN, &place) : NULL;
	return owner ? take_back(c, owner, place) : NULL;
}

/* Whether anything is left for a worker. */
static bool work_for(struct context *c, unsigned id)
{
	size_t place;
	int priority;

	return heddle_pool_priority(c->pool, c->workers[id].kind, policy_accepts, &id, &priority) ||
	       (c->nclaimed && claimer_search(c, id, INT_MIN, &place));
}

/* ---- waking; lists are made under the mutex and used without it ---- */

/* The waiting members that a task, or (NULL) any work left, is for. */
static void wake_list_make(struct context *c, const struct heddle_pool_entry *entry,
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
		if (!entry ? !work_for(c, id)
		           : !heddle_pool_key_runs(&entry->key, c->workers[id].kind) ||
		                 (entry->key.tag != HEDDLE_POOL_UNIFORM &&
		                  !policy_accepts(entry->item, &id)))
			continue;
		list->workers[list->n++] = id;
	}
}

/* Work is left although somebody has just taken some: is it for one who waits? */
static void wake_further(struct context *c, struct wake_list *list)
{
	list->n = 0;
	if (atomic_load(&c->unstarted))
		wake_list_make(c, NULL, list);
}

/* ---- StarPU's hooks ---- */

static struct context *context_of(unsigned ctx)
{
	return starpu_sched_ctx_get_policy_data(ctx);
}

static void self_init(unsigned ctx)
{
	const struct starpu_sched_policy *policy = starpu_sched_ctx_get_sched_policy(ctx);
	unsigned nworkers = starpu_worker_get_count();
	struct context *c =
	    aligned_alloc(64, (sizeof(*c) + nworkers * sizeof(struct worker) + 63) / 64 * 64);
	int status;

	STARPU_ASSERT_MSG(c, "no memory for a scheduling context");
	memset(c, 0, sizeof(*c) + nworkers * sizeof(struct worker));
	c->id = ctx;
	c->strategy = policies_tasks_strategy(policy->policy_name);
	c->nworkers = nworkers;
	c->claimed_top = INT_MIN;
	c->depth = starpu_get_prefetch_flag() ? heddle_variable_number(HEDDLE_VARIABLE_DEPTH) : 0;
	for (unsigned w = 0; w < nworkers; w++) {
		ring_init(&c->workers[w].claims, sizeof(struct claim));
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
	struct context *c = context_of(ctx);

	heddle_pool_destroy(c->pool);
	heddle_blocks_destroy(c->blocks);
	for (unsigned w = 0; w < c->nworkers; w++)
		ring_free(&c->workers[w].claims);
	STARPU_PTHREAD_MUTEX_DESTROY(&c->mutex);
	free(c);
}

static void self_add_workers(unsigned ctx, int *ids, unsigned n)
{
	struct context *c = context_of(ctx);

	STARPU_PTHREAD_MUTEX_LOCK(&c->mutex);
	c->members = 0; /* the strategy begins anew when it is next asked */
	STARPU_PTHREAD_MUTEX_UNLOCK(&c->mutex);
	waiters_joined(&c->waiters, ids, n);
}

/* Puts what a worker claimed back into the pool; the mutex is held. */
static void claims_give_back(struct context *c, struct worker *worker)
{
	while (ring_count(&worker->claims)) {
		struct starpu_task *task = claim_at(worker, 0)->task;
		struct heddle_pool_key key;

		policy_task_key(task, &key);
		if (heddle_pool_push(c->pool, task, &key))
			return; /* no memory: others can still take it back */
		claim_leave(c, worker, 0);
	}
}

static void self_remove_workers(unsigned ctx, int *ids, unsigned n)
{
	struct context *c = context_of(ctx);

	STARPU_PTHREAD_MUTEX_LOCK(&c->mutex);
	for (unsigned i = 0; i < n; i++) {
		waiters_remove(&c->waiters, ids[i]);
		claims_give_back(c, &c->workers[ids[i]]);
	}
	STARPU_PTHREAD_MUTEX_UNLOCK(&c->mutex);
}

static int self_push(struct starpu_task *task)
{
	struct context *c = context_of(task->sched_ctx);
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
static bool nothing_new(struct context *c, struct worker *worker, unsigned id)
{
	bool waits = waiters_stay(&c->waiters, id, &c->unstarted);

	if (waits && worker->done && worker->done == worker->started && !worker->idle_us)
		worker->idle_us = starpu_timing_now();
	return waits;
}

/* The claimed task if its inputs are to be asked for. */
static struct starpu_task *fetch_begin(struct claim *claim)
{
	struct starpu_task *task = claim->task;

	if (claim->fetch != FETCH_NOT)
		return NULL;
	if (task->prefetched || !STARPU_TASK_GET_NBUFFERS(task)) {
		claim->fetch = FETCH_DONE;
		return NULL;
	}
	claim->fetch = FETCH_BUSY;
	return task;
}

/* Tasks in front of the busy one may have been taken back meanwhile. */
static void fetch_end(struct worker *worker)
{
	for (size_t i = 0; i < ring_count(&worker->claims); i++)
		if (claim_at(worker, i)->fetch == FETCH_BUSY)
			claim_at(worker, i)->fetch = FETCH_DONE;
}

/* Asks for the inputs of the next claimed tasks while this one runs. */
static void prefetch(struct context *c, struct worker *worker, unsigned id)
{
	for (unsigned i = 0; i < c->depth; i++) {
		struct starpu_task *task = NULL;
		struct wake_list wake;

		policy_lock(&c->mutex);
		if (i < ring_count(&worker->claims))
			task = fetch_begin(claim_at(worker, i));
		STARPU_PTHREAD_MUTEX_UNLOCK(&c->mutex);
		if (!task)
			continue;
		starpu_prefetch_task_input_for(task, id);
		policy_lock(&c->mutex);
		fetch_end(worker);
		wake_further(c, &wake);
		STARPU_PTHREAD_MUTEX_UNLOCK(&c->mutex);
		wake_list_wake(&wake, &c->waiters);
	}
}

static struct starpu_task *self_pop(unsigned ctx)
{
	struct context *c = context_of(ctx);
	unsigned id = starpu_worker_get_id_check();
	struct worker *worker = &c->workers[id];
	struct starpu_task *task = NULL;
	struct wake_list wake;

	if (nothing_new(c, worker, id)) {
		policy_let_others();
		return NULL;
	}
	policy_lock(&c->mutex);
	waiters_remove(&c->waiters, id);
	if (!starpu_sched_ctx_contains_worker(id, ctx)) {
		/* StarPU does not tell that a worker has left. */
		claims_give_back(c, worker);
	} else if ((task = take(c, id))) {
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
	struct context *c = context_of(ctx);
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
	struct worker *worker = &context_of(ctx)->workers[starpu_worker_get_id_check()];
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
