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
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <heddle/policy.h>

#include "private/clock_starpu.h"
#include "private/message.h"
#include "private/variables.h"
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

/* ---- choosing; the mutex is held ---- */

/* Where a worker's next task comes from. */
struct choice {
	enum { NOWHERE, OWN, POOL, BACK } from;
	struct heddle_pool_place place; /* in the pool */
	const struct heddle_pool_key *key;
	struct ready_worker *owner; /* of the claim */
	size_t index;
};

static bool accepts(void *task, void *asker)
{
	return policy_accepts(task, &((struct ready_asker *)asker)->id);
}

static bool claim_is_for(const struct ready_claim *claim, struct ready_asker *asker, int least)
{
	const struct heddle_pool_key *key = &claim->entry.key;

	return claim->fetch != READY_FETCH_BUSY && key->priority >= least &&
	       heddle_pool_key_runs(key, asker->c->workers[asker->id].kind) &&
	       accepts(claim->entry.item, asker) && ready_wants(key, claim->entry.since_us, asker);
}

/* Finds the claim of highest priority, at least `least`, that a worker may take
 * back; among equals from who has most of them, and there the last. */
static void choose_claimed(struct ready_asker *asker, int least, struct choice *choice)
{
	struct ready_context *c = asker->c;
	int top = INT_MIN, best = INT_MIN;

	for (unsigned w = 0; w < c->nworkers; w++) {
		struct ready_worker *owner = &c->workers[w];

		for (size_t i = ring_count(&owner->claims); i-- > 0;) {
			const struct ready_claim *claim = ready_claim_at(owner, i);
			int priority = claim->entry.key.priority;

			if (priority > top)
				top = priority;
			if (w == asker->id ||
			    (choice->from == BACK && priority <= best &&
			     (priority < best || choice->owner == owner ||
			      ring_count(&owner->claims) <= ring_count(&choice->owner->claims))))
				continue;
			if (!claim_is_for(claim, asker, least))
				continue;
			*choice = (struct choice){.from = BACK, .owner = owner, .index = i};
			best = priority;
		}
	}
	c->claimed_top = top;
}

/* The best task for a worker, wherever it lies: on equal priority its own claims
 * first, then the pool, then what others claimed. */
static struct choice choose(struct ready_asker *asker)
{
	struct ready_context *c = asker->c;
	struct ready_worker *worker = &c->workers[asker->id];
	struct heddle_pool_query query = {
	    .kind = worker->kind,
	    .least = INT_MIN,
	    .admit = c->choosing ? ready_wants : NULL,
	    .accept = accepts,
	    .arg = asker,
	};
	struct choice choice = {.from = NOWHERE};
	int best = INT_MIN;

	if (ring_count(&worker->claims)) {
		choice = (struct choice){OWN, .owner = worker, .index = ready_claim_best(worker)};
		best = ready_claim_at(worker, choice.index)->entry.key.priority;
		if (best == INT_MAX)
			return choice;
		query.least = best + 1;
	}
	choice.key = heddle_pool_find(c->pool, &query, &choice.place);
	if (choice.key) {
		choice.from = POOL;
		best = choice.key->priority;
	}
	if (choice.from == NOWHERE ? c->nclaimed : c->claimed_top > best)
		choose_claimed(asker, choice.from == NOWHERE ? INT_MIN : best + 1, &choice);
	return choice;
}

/* The same, but what comes as a probe of a family is weighed again. Each family is
 * refused at most once. */
static struct choice choose_weighed(struct ready_asker *asker, bool *probe)
{
	unsigned kind = asker->c->workers[asker->id].kind;
	struct choice choice;

	do {
		choice = choose(asker);
		*probe = choice.from == POOL && ready_is_probe(choice.key, kind);
	} while (*probe && !ready_probe_begin(asker, choice.key));
	return choice;
}

/* ---- taking; the mutex is held ---- */

static void members_count(struct ready_context *c)
{
	int *ids;
	unsigned n = starpu_sched_ctx_get_nworkers(c->id);

	if (n == c->members)
		return;
	c->members = n;
	n = starpu_sched_ctx_get_workers_list_raw(c->id, &ids);
	memset(c->count, 0, sizeof(c->count));
	for (unsigned i = 0; i < n; i++)
		if ((unsigned)ids[i] < c->nworkers)
			c->count[c->workers[ids[i]].kind]++;
}

/* Claims tasks until the worker has as many as it should. */
static void claim_ahead(struct ready_asker *asker)
{
	struct ready_context *c = asker->c;
	struct ready_worker *worker = &c->workers[asker->id];
	unsigned target = ready_fetch_target(c, worker);

	while (ring_count(&worker->claims) < target && !ring_reserve(&worker->claims)) {
		struct ready_claim claim = {.since_us = asker->now_us};
		struct heddle_pool_query query = {
		    .kind = worker->kind,
		    .least = INT_MIN,
		    .admit = c->choosing ? ready_wants : NULL,
		    .accept = accepts,
		    .arg = asker,
		};
		struct heddle_pool_place place;
		const struct heddle_pool_key *key = heddle_pool_find(c->pool, &query, &place);

		if (!key)
			return;
		claim.bytes = ready_task_bytes(heddle_pool_at(&place));
		if (!ready_fetch_fits(worker, claim.bytes))
			return;
		claim.probe = ready_is_probe(key, worker->kind);
		heddle_pool_take(c->pool, &place, &claim.entry);
		if (claim.probe && !ready_probe_begin(asker, &claim.entry.key))
			claim.probe = false; /* one task of the family is here already */
		ready_claim_add(c, worker, &claim);
	}
}

/* ---- who took tasks of a family last ---- */

static atomic_uchar *taker_of(struct ready_context *c, unsigned long family)
{
	return &c->taker[(family * 0x9e3779b97f4a7c15u >> 40) % READY_TAKERS];
}

static void taker_remember(struct ready_context *c, unsigned long family, unsigned kind)
{
	atomic_uchar *taker = taker_of(c, family);

	if (atomic_load_explicit(taker, memory_order_relaxed) != kind + 1)
		atomic_store_explicit(taker, kind + 1, memory_order_relaxed);
}

/* When a worker will have done what it has started, as far as is known: the first of its
 * tasks has been running since the end of the one before. */
static double busy_until(const struct ready_worker *worker, double now_us)
{
	double until_us = now_us;

	if (worker->begun != worker->done)
		until_us = fmax(worker->start_us[worker->done % READY_PIPELINE], worker->done_us);
	for (unsigned i = worker->done; i != worker->started; i++) {
		until_us += worker->expected_us[i % READY_PIPELINE];
		until_us = fmax(until_us, now_us);
	}
	return until_us;
}

static void started(struct ready_asker *asker, const struct heddle_pool_entry *entry,
                    const struct ready_claim *claim, bool probe)
{
	struct ready_context *c = asker->c;
	struct ready_worker *worker = &c->workers[asker->id];
	double us = heddle_pool_us(entry->key.cost[worker->kind]);

	atomic_fetch_sub(&c->unstarted, 1);
	worker->expected_us[worker->started++ % READY_PIPELINE] = us;
	worker->waits_since_us = 0;
	atomic_store_explicit(&worker->look_at_us, 0, memory_order_relaxed);
	taker_remember(c, entry->key.family, worker->kind);
	worker->busy_until_us = busy_until(worker, asker->now_us);
	if (probe)
		ready_probe_started(c, asker->id, &entry->key, asker->now_us);
	ready_fetch_started(c, worker, entry, claim, asker->now_us);
}

/* Takes a worker's next task. @return whether there is one */
static bool take(struct ready_asker *asker, struct heddle_pool_entry *entry)
{
	struct ready_context *c = asker->c;
	struct ready_worker *worker = &c->workers[asker->id];
	struct ready_claim claim;
	struct choice choice;
	bool probe;

	ready_probes_age(c, asker->now_us);
	choice = choose_weighed(asker, &probe);
	switch (choice.from) {
	case OWN:
	case BACK:
		ready_claim_remove(c, choice.owner, choice.index, &claim);
		if (choice.from == BACK && claim.fetch == READY_FETCH_ASKED)
			policy_left_behind(choice.owner - c->workers);
		*entry = claim.entry;
		probe = claim.probe && choice.owner->kind == worker->kind;
		if (claim.probe && !probe)
			ready_probe_cancel(c, &entry->key, choice.owner->kind);
		break;
	case POOL:
		heddle_pool_take(c->pool, &choice.place, entry);
		break;
	case NOWHERE:
		if (worker->waits_since_us <= 0)
			worker->waits_since_us = asker->now_us;
		atomic_store_explicit(&worker->look_at_us, asker->look_at_us, memory_order_relaxed);
		return false;
	}
	started(asker, entry, choice.from == OWN ? &claim : NULL, probe);
	claim_ahead(asker);
	return true;
}

/* ---- waking; lists are made under the mutex and used without it ---- */

/* Who may run a task; the task itself may be gone when that is asked. */
struct readership {
	unsigned kind;  /* that took such a task last */
	unsigned kinds; /* bit k: class k can run it */
	bool special;   /* only the workers of the list, whatever their class */
	struct waiters workers;
};

static void readership_find(struct ready_context *c, struct starpu_task *task, unsigned long family,
                            struct readership *readers)
{
	unsigned char taker = atomic_load_explicit(taker_of(c, family), memory_order_relaxed);

	readers->kind = taker ? taker - 1u : c->reference;
	readers->kinds = 0;
	readers->special = policy_task_tag(task) != HEDDLE_POOL_UNIFORM;
	for (unsigned k = 0; k < c->nkinds; k++) {
		if ((uint32_t)task->where & c->where[k])
			readers->kinds |= 1u << k;
		readers->special |= c->mixed[k];
	}
	if (!readers->special)
		return;
	memset(&readers->workers, 0, sizeof(readers->workers));
	for (unsigned id = 0; id < c->nworkers; id++)
		if (policy_accepts(task, &id))
			waiters_add(&readers->workers, id);
}

static bool readership_has(const struct ready_context *c, const struct readership *readers,
                           unsigned id)
{
	return (readers->kinds >> c->workers[id].kind & 1) &&
	       (!readers->special || waiters_has(&readers->workers, id));
}

/* The waiting members that may run a task, first those of the class that took such
 * a task last: up to the first one that belongs to no other context, where it might
 * find something else to do. If it leaves the task to others, it wakes them. */
static void wake_list_make(struct ready_context *c, const struct readership *readers,
                           struct wake_list *list)
{
	int *ids;
	unsigned n;

	list->n = 0;
	if (!waiters_any(&c->waiters))
		return;
	n = starpu_sched_ctx_get_workers_list_raw(c->id, &ids);
	for (unsigned i = 0; i < 2 * n; i++) {
		unsigned id = ids[i % n];

		if (id >= c->nworkers || !waiters_has(&c->waiters, id) ||
		    (c->workers[id].kind == readers->kind) != (i < n) ||
		    !readership_has(c, readers, id))
			continue;
		list->workers[list->n++] = id;
		if (!starpu_sched_ctx_overlapping_ctxs_on_worker(id))
			return;
	}
}

/* Whether there is work for a waiting worker. What it leaves to others it looks at
 * again later. */
static bool work_for(struct ready_context *c, unsigned id, double now_us, double *look_at_us)
{
	struct ready_asker asker = {c, id, now_us, 0};
	bool any = choose(&asker).from != NOWHERE;

	*look_at_us = asker.look_at_us;
	return any;
}

/* What is known of the waiting workers of each class. */
struct survey {
	double now_us;
	unsigned asked;                        /* bit k: one of class k has nothing to do */
	double look_at_us[HEDDLE_POOL_NKINDS]; /* and looks again then */
};

static void look_again(struct ready_worker *worker, double at_us, double now_us)
{
	double before_us = atomic_load_explicit(&worker->look_at_us, memory_order_relaxed);

	if (at_us > 0 && (before_us <= now_us || at_us < before_us))
		atomic_store_explicit(&worker->look_at_us, at_us, memory_order_relaxed);
}

/* Whether there is work for a waiting worker. Those of a class give the same answer,
 * unless one has waited long. */
static bool has_work(struct ready_context *c, unsigned id, struct survey *survey)
{
	struct ready_worker *worker = &c->workers[id];
	double look_at_us = atomic_load_explicit(&worker->look_at_us, memory_order_relaxed);
	bool asked = survey->asked >> worker->kind & 1;

	if (!asked || c->special || (look_at_us > 0 && look_at_us <= survey->now_us)) {
		if (work_for(c, id, survey->now_us, &survey->look_at_us[worker->kind]))
			return true;
		survey->asked |= 1u << worker->kind;
	}
	look_again(worker, survey->look_at_us[worker->kind], survey->now_us);
	return false;
}

/* Work is left although somebody has just taken some: is it for one who waits? */
static void wake_further(struct ready_context *c, struct wake_list *list)
{
	struct survey survey = {0};
	int *ids;
	unsigned n;

	list->n = 0;
	ready_inbox_empty(c);
	if (!atomic_load(&c->unstarted) || !waiters_any(&c->waiters))
		return;
	survey.now_us = c->choosing ? starpu_timing_now() : 0;
	n = starpu_sched_ctx_get_workers_list_raw(c->id, &ids);
	for (unsigned i = 0; i < n; i++) {
		unsigned id = ids[i];

		if (id >= c->nworkers || !waiters_has(&c->waiters, id) || !has_work(c, id, &survey))
			continue;
		list->workers[list->n++] = id;
		if (!starpu_sched_ctx_overlapping_ctxs_on_worker(id))
			return;
	}
}

/* ---- StarPU's hooks ---- */

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
	struct readership readers;
	struct wake_list wake;

	readership_find(c, task, ready_introduce(c, task), &readers);
	atomic_fetch_add(&c->unstarted, 1);
	/* Handed in, the task may be done and freed at once. */
	starpu_push_task_end(task);
	ready_inbox_put(c, task);
	wake_list_make(c, &readers, &wake);
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
		if (take(asker, entry))
			return;
		waiters_add(&c->waiters, asker->id);
	} while (ready_inbox_waits(c));
}

static struct starpu_task *ready_pop(unsigned ctx)
{
	struct ready_context *c = context_of(ctx);
	unsigned id = starpu_worker_get_id_check();
	struct ready_worker *worker = &c->workers[id];
	struct heddle_pool_entry entry = {.item = NULL};
	struct ready_asker asker = {c, id, 0, 0};
	struct ready_errands errands;
	struct wake_list wake;

	if (nothing_new(c, worker, id)) {
		policy_let_others();
		return NULL;
	}
	if (c->choosing || worker->accelerator)
		asker.now_us = starpu_timing_now();
	policy_lock(&c->mutex);
	waiters_remove(&c->waiters, id);
	errands.n = 0;
	if (!starpu_sched_ctx_contains_worker(id, ctx)) {
		/* StarPU does not tell that a worker has left. */
		ready_claims_give_back(c, worker);
	} else {
		members_count(c);
		worker->busy_until_us = busy_until(worker, asker.now_us);
		take_or_wait(&asker, &entry);
		if (entry.item && worker->accelerator) {
			ready_fetch_collect(worker, &errands);
			ready_log_queue(c, id, asker.now_us);
		}
	}
	wake_further(c, &wake);
	STARPU_PTHREAD_MUTEX_UNLOCK(&c->mutex);
	wake_list_wake(&wake, &c->waiters);
	if (!entry.item) {
		ready_fetch_idle(worker);
		return NULL;
	}
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
	members_count(c);
	wake_further(c, &wake);
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
