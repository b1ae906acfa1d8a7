/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Local queues, under the policy heddle. Where only accelerators of one class take part and tasks
 * are short, there is nothing to plan, and what a choice costs counts. So tasks wait in a queue for
 * each memory, by priority. A task is in the queue of the memory that has the most of its data. Who
 * makes a task ready puts it there, and workers take it, without the context's mutex. A worker
 * whose queue is empty takes what those of another memory cannot begin at once.
 *
 * Plans open and close the queues. All that not every worker of the class can run, and of which no
 * time is known, goes through the pool.
 */
#include "config.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "support/message.h"
#include "sched_policies/heap.h"
#include "sched_policies/ready.h"

/* Task types that a queue counts; of further ones the tasks are not counted. */
#define TYPES 64

/* Tasks of a type that came into a queue. */
struct counted {
	unsigned long type; /* 0: the place is free */
	unsigned classes;   /* bit k: class k can run them */
	double count;
};

struct queue {
	/* Read without the mutex, as hints; written under it. */
	_Alignas(64) atomic_size_t count;
	atomic_int top;      /* the highest priority */
	atomic_uint workers; /* of the class, with that memory */
	_Alignas(64) starpu_pthread_mutex_t mutex;
	bool open;
	size_t taken;
	struct heddle_heap heap;
	struct counted counted[TYPES];
};

struct ready_local {
	atomic_bool open;
	atomic_uint class;             /* whose workers take the tasks */
	atomic_uint members;           /* of the context, when the queues were opened */
	bool opened;                   /* ever */
	unsigned n;                    /* queues: of no memory, then of each of the context's */
	struct counted counted[TYPES]; /* not told yet */
	size_t taken;                  /* tasks, when somebody looked last */
	double taken_us;               /* when there were fewer */
	struct queue queues[];
};

int ready_local_create(struct ready_context *c)
{
	unsigned n = c->nmemories + 1;
	size_t size = sizeof(struct ready_local) + n * sizeof(struct queue);
	struct ready_local *local = aligned_alloc(64, (size + 63) / 64 * 64);

	if (!local)
		return -ENOMEM;
	memset(local, 0, size);
	local->n = n;
	for (unsigned q = 0; q < n; q++)
		STARPU_PTHREAD_MUTEX_INIT(&local->queues[q].mutex, NULL);
	c->local = local;
	return 0;
}

void ready_local_destroy(struct ready_context *c)
{
	for (unsigned q = 0; c->local && q < c->local->n; q++) {
		heddle_heap_free(&c->local->queues[q].heap);
		STARPU_PTHREAD_MUTEX_DESTROY(&c->local->queues[q].mutex);
	}
	free(c->local);
	c->local = NULL;
}

bool ready_local_is_open(const struct ready_context *c)
{
	return c->local && atomic_load_explicit(&c->local->open, memory_order_relaxed);
}

bool ready_local_is_stale(const struct ready_context *c)
{
	return ready_local_is_open(c) &&
	       atomic_load(&c->local->members) != starpu_sched_ctx_get_nworkers(c->id);
}

void ready_local_members_change(struct ready_context *c)
{
	if (c->local)
		atomic_store(&c->local->members, 0);
}

bool ready_local_any(const struct ready_context *c)
{
	for (unsigned q = 0; ready_local_is_open(c) && q < c->local->n; q++)
		if (atomic_load(&c->local->queues[q].count))
			return true;
	return false;
}

/* The queue of a memory. */
static unsigned queue_of(const struct ready_context *c, unsigned node)
{
	for (unsigned m = 0; m < c->nmemories; m++)
		if (c->memories[m] == node)
			return m + 1;
	return 0;
}

/* ---- a task becomes ready ---- */

static void type_count(struct counted *table, unsigned long type, unsigned classes, double count)
{
	size_t place = ready_type_place(type, TYPES);

	for (size_t i = 0; i < TYPES; i++, place = (place + 1) % TYPES) {
		if (table[place].type && table[place].type != type)
			continue;
		table[place].type = type;
		table[place].classes = classes;
		table[place].count += count;
		return;
	}
}

static void hints_set(struct queue *queue)
{
	atomic_store_explicit(&queue->top, heddle_heap_top(&queue->heap), memory_order_relaxed);
	atomic_store(&queue->count, queue->heap.n);
}

static bool queue_put(struct queue *queue, struct starpu_task *task, int priority,
                      unsigned long type, unsigned classes)
{
	bool put;

	policy_lock(&queue->mutex);
	put = queue->open && !heddle_heap_push(&queue->heap, priority, task);
	if (put) {
		type_count(queue->counted, type, classes, 1);
		hints_set(queue);
	}
	STARPU_PTHREAD_MUTEX_UNLOCK(&queue->mutex);
	return put;
}

/* Whether a task of a type belongs here. */
static bool belongs(const struct ready_context *c, const struct starpu_task *task,
                    const struct heddle_estimate *estimates, unsigned classes)
{
	unsigned class = atomic_load(&c->local->class);

	return classes >> class & 1 && !c->mixed[class] &&
	       estimates[class].source > HEDDLE_ESTIMATE_NEIGHBOURS &&
	       policy_task_tag(task) == HEDDLE_POOL_UNIFORM;
}

bool ready_local_wants(const struct ready_context *c, const struct starpu_task *task,
                       const struct heddle_estimate *estimates, unsigned classes)
{
	return ready_local_is_open(c) && belongs(c, task, estimates, classes);
}

bool ready_local_put(struct ready_context *c, struct starpu_task *task, unsigned home,
                     unsigned long type, unsigned classes)
{
	return queue_put(&c->local->queues[queue_of(c, home)], task, task->priority, type, classes);
}

/* First who has the task's data, then who might take it from them. */
void ready_local_wake(struct ready_context *c, unsigned home)
{
	unsigned class = atomic_load(&c->local->class), n;
	struct wake_list list = {.n = 0};
	int *ids;

	/* Who polls looks at the queues. */
	if (POLICY_WORKERS_POLL || !waiters_any(&c->waiters))
		return;
	n = starpu_sched_ctx_get_workers_list_raw(c->id, &ids);
	for (unsigned i = 0; i < 2 * n; i++) {
		unsigned id = ids[i % n];

		if (id < c->nworkers && c->workers[id].class == class &&
		    waiters_has(&c->waiters, id) && (c->workers[id].node == home) == (i < n))
			list.workers[list.n++] = id;
	}
	wake_list_wake(&list, &c->waiters);
}

/* ---- a worker takes a task ---- */

/* Whether a worker takes from a queue rather than from another one. */
static bool is_better(const struct queue *queue, const struct queue *best)
{
	return atomic_load(&queue->count) &&
	       (!best || atomic_load_explicit(&queue->top, memory_order_relaxed) >
	                     atomic_load_explicit(&best->top, memory_order_relaxed));
}

/* The queue that has the most beyond what its workers can begin; NULL: none has. */
static struct queue *queue_longest(struct ready_local *local)
{
	struct queue *longest = NULL;
	size_t most = 0;

	for (unsigned q = 1; q < local->n; q++) {
		size_t count = atomic_load(&local->queues[q].count);

		if (count <= atomic_load(&local->queues[q].workers) || count <= most)
			continue;
		most = count;
		longest = &local->queues[q];
	}
	return longest;
}

/* The queue from which a worker takes next: its own, or that of no memory if the task there has a
 * higher priority. NULL: there is nothing for it. */
static struct queue *queue_choose(struct ready_local *local, unsigned own)
{
	struct queue *best = is_better(&local->queues[own], NULL) ? &local->queues[own] : NULL;

	if (is_better(&local->queues[0], best))
		best = &local->queues[0];
	return best ? best : queue_longest(local);
}

static struct starpu_task *queue_take(struct queue *queue)
{
	struct starpu_task *task;

	policy_lock(&queue->mutex);
	task = heddle_heap_pop(&queue->heap);
	queue->taken += task != NULL;
	hints_set(queue);
	STARPU_PTHREAD_MUTEX_UNLOCK(&queue->mutex);
	return task;
}

struct starpu_task *ready_local_take(struct ready_context *c, unsigned id)
{
	struct ready_worker *worker = &c->workers[id];
	struct starpu_task *task = NULL;
	struct queue *queue;
	unsigned own;

	if (!ready_local_is_open(c) || worker->class != atomic_load(&c->local->class) ||
	    ready_local_is_stale(c))
		return NULL;
	own = queue_of(c, worker->node);
	while (!task && (queue = queue_choose(c->local, own)))
		task = queue_take(queue); /* it may be gone */
	if (!task)
		return NULL;
	/* How long it takes matters to plans alone. */
	worker->expected_us[worker->started++ % READY_PIPELINE] = 0;
	worker->round_us = 0;
	worker->weight = 0;
	atomic_store_explicit(&worker->rests_since_us, 0, memory_order_relaxed);
	return task;
}

/* ---- opening and closing; the context's mutex is held ---- */

/* Whether a worker of the class may take the tasks of a queue of the pool from here. */
static bool is_movable(const struct heddle_pool_key *key, double since_us, void *arg)
{
	struct ready_context *c = arg;
	unsigned class = atomic_load(&c->local->class);

	(void)since_us;
	return key->tag == HEDDLE_POOL_UNIFORM && !c->mixed[class] &&
	       ready_is_measured(c, key, class);
}

static unsigned classes_of(const struct ready_context *c, const struct heddle_pool_key *key)
{
	unsigned classes = 0;

	for (unsigned k = 0; k < c->nclasses; k++)
		classes |= (unsigned)heddle_pool_key_runs(key, k) << k;
	return classes;
}

/* What waits in the pool goes into the queues. */
static void pool_move(struct ready_context *c)
{
	struct heddle_pool_query query = {.class = atomic_load(&c->local->class),
	                                  .least = INT_MIN,
	                                  .admit = is_movable,
	                                  .arg = c};
	struct heddle_pool_place place;

	while (heddle_pool_find(c->pool, &query, &place)) {
		struct heddle_pool_entry entry;

		heddle_pool_take(c->pool, &place, &entry);
		if (!ready_local_put(c, entry.item, entry.home, entry.key.type,
		                     classes_of(c, &entry.key))) {
			heddle_pool_push_entry(c->pool, &entry); /* there was room for it */
			return;
		}
		atomic_fetch_sub(&c->unstarted, 1);
	}
}

static void queues_set_open(struct ready_local *local, bool open)
{
	for (unsigned q = 0; q < local->n; q++) {
		policy_lock(&local->queues[q].mutex);
		local->queues[q].open = open;
		STARPU_PTHREAD_MUTEX_UNLOCK(&local->queues[q].mutex);
	}
	atomic_store(&local->open, open);
}

void ready_local_open(struct ready_context *c, unsigned class)
{
	struct ready_local *local = c->local;

	if (ready_local_is_open(c) || c->log.on)
		return;
	atomic_store(&local->class, class);
	atomic_store(&local->members, starpu_sched_ctx_get_nworkers(c->id));
	for (unsigned q = 0; q < local->n; q++)
		atomic_store(&local->queues[q].workers, 0);
	for (unsigned w = 0; w < c->nworkers; w++)
		if (c->workers[w].class == class && starpu_sched_ctx_contains_worker(w, c->id))
			atomic_fetch_add(&local->queues[queue_of(c, c->workers[w].node)].workers,
			                 1);
	if (!local->opened)
		heddle_explain("short tasks wait in local queues, without plans");
	local->opened = true;
	queues_set_open(local, true);
	pool_move(c);
}

/* Puts the tasks of a queue behind others that wait for the pool. */
static void queue_empty(struct ready_context *c, struct queue *queue)
{
	struct starpu_task **end = &c->late, *task;

	while (*end)
		end = &(*end)->next;
	policy_lock(&queue->mutex);
	while ((task = heddle_heap_pop(&queue->heap))) {
		task->next = NULL;
		*end = task;
		end = &task->next;
		atomic_fetch_add(&c->unstarted, 1);
	}
	hints_set(queue);
	STARPU_PTHREAD_MUTEX_UNLOCK(&queue->mutex);
}

void ready_local_close(struct ready_context *c)
{
	if (!ready_local_is_open(c))
		return;
	queues_set_open(c->local, false);
	for (unsigned q = 0; q < c->local->n; q++)
		queue_empty(c, &c->local->queues[q]);
	ready_inbox_empty(c);
}

/* ---- what came of late ---- */

/* Adds what a queue has counted, which begins anew. */
static void counts_add(struct queue *queue, struct counted *sums)
{
	struct counted counted[TYPES];

	policy_lock(&queue->mutex);
	memcpy(counted, queue->counted, sizeof(counted));
	memset(queue->counted, 0, sizeof(queue->counted));
	STARPU_PTHREAD_MUTEX_UNLOCK(&queue->mutex);
	for (size_t i = 0; i < TYPES; i++)
		if (counted[i].type)
			type_count(sums, counted[i].type, counted[i].classes, counted[i].count);
}

size_t ready_local_types(struct ready_context *c, double least, struct heddle_area_type *types,
                         unsigned long *numbers)
{
	struct ready_local *local = c->local;
	double count = 0;
	size_t n = 0;

	for (unsigned q = 0; q < local->n; q++)
		counts_add(&local->queues[q], local->counted);
	for (size_t i = 0; i < TYPES; i++)
		count += local->counted[i].count;
	if (count < least)
		return 0;
	for (size_t i = 0; i < TYPES; i++) {
		const struct counted *counted = &local->counted[i];

		if (!counted->type || n == HEDDLE_GRAPH_TYPES)
			continue;
		numbers[n] = counted->type;
		types[n] = (struct heddle_area_type){.count = counted->count};
		for (unsigned k = 0; k < c->nclasses; k++)
			types[n].us[k] = counted->classes >> k & 1 ? -1 : 0;
		n++;
	}
	memset(local->counted, 0, sizeof(local->counted));
	return n;
}

bool ready_local_is_stuck(struct ready_context *c, double now_us, double us)
{
	struct ready_local *local = c->local;
	size_t taken = 0;

	for (unsigned q = 0; q < local->n; q++) {
		policy_lock(&local->queues[q].mutex);
		taken += local->queues[q].taken;
		STARPU_PTHREAD_MUTEX_UNLOCK(&local->queues[q].mutex);
	}
	if (taken != local->taken || !ready_local_any(c)) {
		local->taken = taken;
		local->taken_us = now_us;
	}
	return now_us - local->taken_us > us;
}
