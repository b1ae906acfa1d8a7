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
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "support/message.h"
#include "sched_policies/heap.h"
#include "sched_policies/ready.h"

/* Task types that a queue counts; of further ones the tasks are not counted. */
#define TYPES 64
/* Where nobody has taken a task for so long, us, anybody may. */
#define STILL 20000
/* Where kernels are not asynchronous, a worker has so many tasks beside the one that it begins, and
 * has asked for their inputs: StarPU begins transfers between two kernels. */
#define AHEAD 2

/* Tasks of a type that came into a queue. */
struct counted {
	unsigned long type; /* 0: the place is free */
	unsigned classes;   /* bit k: class k can run them */
	double count;
};

struct queue {
	/* Read without the mutex, as hints; written under it, but for `held`. */
	_Alignas(64) atomic_size_t count;
	atomic_size_t ahead;      /* tasks that the workers of that memory have taken, not begun */
	atomic_int top;           /* the highest priority */
	atomic_uint workers;      /* of the class, with that memory, or of all */
	_Atomic double moving_us; /* a task was taken then, or came to an empty queue */
	atomic_bool held;         /* a worker of that memory runs something else */
	_Alignas(64) starpu_pthread_mutex_t mutex;
	unsigned open; /* class whose workers take the tasks, and 1; 0: closed */
	struct heddle_heap heap;
	struct counted counted[TYPES];
};

/* What a worker will begin next, the first one first, under the mutex of its memory's queue. */
struct ahead {
	/* Read without the mutex, as hints. */
	atomic_uint n;
	_Atomic double asked_us; /* the worker took a task then */
	atomic_bool held;        /* it runs something else */
	struct starpu_task *tasks[AHEAD];
	size_t bytes[AHEAD];
};

struct ready_local {
	atomic_bool open;
	atomic_uint class;             /* whose workers take the tasks */
	atomic_uint members;           /* of the context, when the queues were opened */
	bool opened;                   /* ever */
	unsigned n;                    /* queues: of no memory, then of each of the context's */
	struct counted counted[TYPES]; /* not told yet */
	double counted_us;             /* since then */
	struct ahead *ahead;           /* of each worker */
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
	local->ahead = calloc(c->nworkers, sizeof(*local->ahead));
	if (!local->ahead) {
		free(local);
		return -ENOMEM;
	}
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
	if (c->local)
		free(c->local->ahead);
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
		if (atomic_load(&c->local->queues[q].count) ||
		    atomic_load(&c->local->queues[q].ahead))
			return true;
	return false;
}

/* The queue of a memory. */
static struct queue *queue_of(const struct ready_context *c, unsigned node)
{
	for (unsigned m = 0; m < c->nmemories; m++)
		if (c->memories[m] == node)
			return &c->local->queues[m + 1];
	return &c->local->queues[0];
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

static void moves_now(struct queue *queue)
{
	atomic_store_explicit(&queue->moving_us, starpu_timing_now(), memory_order_relaxed);
}

int ready_local_class(const struct ready_context *c, const struct starpu_task *task,
                      const struct heddle_estimate *estimates, unsigned classes)
{
	unsigned class;

	if (!ready_local_is_open(c) || ready_local_is_stale(c))
		return -1;
	class = atomic_load(&c->local->class);
	return classes >> class & 1 && !c->mixed[class] &&
	               estimates[class].source > HEDDLE_ESTIMATE_NEIGHBOURS &&
	               policy_task_tag(task) == HEDDLE_POOL_UNIFORM
	           ? (int)class
	           : -1;
}

bool ready_local_put(struct ready_context *c, struct starpu_task *task, unsigned class,
                     unsigned home, unsigned long type, unsigned classes)
{
	struct queue *queue = queue_of(c, home);
	bool put;

	policy_lock_briefly(&queue->mutex);
	put = queue->open == class + 1 && !heddle_heap_push(&queue->heap, task->priority, task);
	if (put) {
		type_count(queue->counted, type, classes, 1);
		if (queue->heap.n == 1)
			moves_now(queue);
		hints_set(queue);
	}
	STARPU_PTHREAD_MUTEX_UNLOCK(&queue->mutex);
	return put;
}

/* First who has the task's data, then who might take it from them. */
void ready_local_wake(struct ready_context *c, unsigned home)
{
	struct wake_list list = {.n = 0};
	unsigned class, n;
	int *ids;

	/* Who polls looks at the queues. */
	if (POLICY_WORKERS_POLL || !ready_local_any(c) || !waiters_any(&c->waiters))
		return;
	class = atomic_load(&c->local->class);
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

/* How long nobody has taken a task of a queue, us; 0: there is none. */
static double still_us(const struct queue *queue, double now_us)
{
	if (!atomic_load(&queue->count) && !atomic_load(&queue->ahead))
		return 0;
	return now_us - atomic_load_explicit(&queue->moving_us, memory_order_relaxed);
}

/* Whether anybody may take the tasks of a memory. */
static bool is_stuck(const struct queue *queue)
{
	return atomic_load_explicit(&queue->held, memory_order_relaxed) ||
	       still_us(queue, starpu_timing_now()) > STILL;
}

/* The longest of the queues that have more than their workers will begin soon; NULL: none has. */
static struct queue *queue_longest(struct ready_local *local)
{
	struct queue *longest = NULL;
	size_t most = 0;

	for (unsigned q = 1; q < local->n; q++) {
		struct queue *queue = &local->queues[q];
		size_t count = atomic_load(&queue->count);

		if (count <= most || (count <= atomic_load(&queue->workers) && !is_stuck(queue)))
			continue;
		most = count;
		longest = queue;
	}
	return longest;
}

/* The queue from which a worker takes next: its own, or that of no memory if the task there has a
 * higher priority. NULL: there is nothing. */
static struct queue *queue_choose(struct ready_local *local, struct queue *own)
{
	struct queue *best = is_better(own, NULL) ? own : NULL;

	if (is_better(&local->queues[0], best))
		best = &local->queues[0];
	return best;
}

/* The place of the task that has the least data missing in a memory; of equal ones that of the
 * highest priority. */
static size_t heap_least(const struct heddle_heap *heap, unsigned node, size_t *least)
{
	struct ready_looks looks = {.n = 0};
	size_t place = 0;

	*least = SIZE_MAX;
	for (size_t i = 0; i < heap->n && i < HEDDLE_POOL_LOOKS && (*least || place); i++) {
		bool before = heddle_heap_is_before(&heap->items[i], &heap->items[place]);
		size_t bytes;

		if (!*least && !before)
			continue;
		bytes = ready_look(&looks, heap->items[i].item, node, *least);
		if (i && (bytes > *least || (bytes == *least && !before)))
			continue;
		*least = bytes;
		place = i;
	}
	return place;
}

/* Takes a task for a worker of a memory.
 * @param most bytes of its data
 * @param missing bytes of it that may not be in the memory, where the worker goes by that
 * @return NULL: it is empty, or of another class by now, or the task in question has more */
static struct starpu_task *queue_take(struct queue *queue, struct ready_context *c, unsigned id,
                                      size_t most, size_t missing)
{
	struct ready_worker *worker = &c->workers[id];
	struct starpu_task *task = NULL;
	const struct heddle_heap_item *items;
	size_t place = 0, least = 0;

	policy_lock_briefly(&queue->mutex);
	items = queue->heap.items;
	if (queue->open == worker->class + 1 && queue->heap.n) {
		if (ready_goes_by_memory(c, worker) && ready_may_pass(worker))
			place = heap_least(&queue->heap, worker->node, &least);
		if (least <= missing &&
		    (most == SIZE_MAX || ready_task_bytes(items[place].item) <= most)) {
			ready_pass_note(worker, items[place].priority < items[0].priority);
			task = heddle_heap_take(&queue->heap, place);
		}
	}
	if (task) {
		moves_now(queue);
		hints_set(queue);
	}
	STARPU_PTHREAD_MUTEX_UNLOCK(&queue->mutex);
	return task;
}

/* ---- what a worker takes ahead ---- */

/* Takes the first task that a worker has ahead.
 * @param least priority below which it stays there */
static struct starpu_task *ahead_take(struct ready_context *c, unsigned id, int least)
{
	struct queue *own = queue_of(c, c->workers[id].node);
	struct ahead *ahead = &c->local->ahead[id];
	struct starpu_task *task = NULL;
	unsigned n;

	if (!atomic_load(&ahead->n))
		return NULL;
	policy_lock_briefly(&own->mutex);
	n = atomic_load(&ahead->n);
	if (n && ahead->tasks[0]->priority >= least) {
		task = ahead->tasks[0];
		atomic_fetch_sub(&c->fetched_bytes[c->workers[id].node], ahead->bytes[0]);
		for (unsigned i = 1; i < n; i++) {
			ahead->tasks[i - 1] = ahead->tasks[i];
			ahead->bytes[i - 1] = ahead->bytes[i];
		}
		atomic_store(&ahead->n, n - 1);
		atomic_fetch_sub(&own->ahead, 1);
		moves_now(own);
	}
	STARPU_PTHREAD_MUTEX_UNLOCK(&own->mutex);
	return task;
}

/* Whether a worker will not soon begin what it has ahead. Others of its memory may take tasks of
 * the queue meanwhile. */
static bool ahead_is_left(const struct ahead *ahead)
{
	return atomic_load_explicit(&ahead->held, memory_order_relaxed) ||
	       starpu_timing_now() - atomic_load_explicit(&ahead->asked_us, memory_order_relaxed) >
	           STILL;
}

/* The same of another worker with that memory: the inputs come there anyway.
 * @param queue what the worker would take from otherwise, or NULL; and the priority there */
static struct starpu_task *ahead_take_sibling(struct ready_context *c, unsigned id,
                                              const struct queue *queue, int top)
{
	const struct queue *own = queue_of(c, c->workers[id].node);
	struct starpu_task *task = NULL;

	if (atomic_load(&own->ahead) <= atomic_load(&c->local->ahead[id].n))
		return NULL;
	for (unsigned w = 0; !task && w < c->nworkers; w++) {
		const struct ahead *ahead = &c->local->ahead[w];

		if (w == id || c->workers[w].node != c->workers[id].node || !atomic_load(&ahead->n))
			continue;
		/* Who will soon begin it has come first. */
		task = ahead_take(c, w,
		                  queue && top < INT_MAX && !ahead_is_left(ahead) ? top + 1 : top);
	}
	return task;
}

/* The same of a worker with another memory that will not begin it soon.
 * @param[out] from the worker, whose memory it was sent to */
static struct starpu_task *ahead_take_back(struct ready_context *c, unsigned id, unsigned *from)
{
	struct starpu_task *task = NULL;

	for (unsigned w = 0; !task && w < c->nworkers; w++)
		if (w != id && atomic_load(&c->local->ahead[w].n) &&
		    ahead_is_left(&c->local->ahead[w])) {
			task = ahead_take(c, w, INT_MIN);
			*from = w;
		}
	return task;
}

/* A task that a worker has asked for becomes a claim of it: then others find it. The context's
 * mutex is held. */
static void ahead_claim(struct ready_context *c, unsigned id, struct starpu_task *task)
{
	struct claim claim = {.input = CLAIM_INPUT_ASKED,
	                      .since_us = starpu_timing_now(),
	                      .bytes = ready_task_bytes(task)};

	atomic_fetch_add(&c->unstarted, 1);
	task->next = NULL;
	if (claims_reserve(&c->claims, id)) {
		ready_late_add(c, task);
		return;
	}
	ready_task_key(c, task, c->choosing, &claim.entry.key);
	if (c->plan && c->choosing)
		claim.entry.key.rank = ready_plan_rank(c, task);
	/* Its inputs go there. */
	claim.entry.home = c->workers[id].node;
	claim.entry.item = task;
	claim.entry.since_us = claim.since_us;
	ready_claim_add(c, id, &claim);
}

/* A worker has asked for a task's inputs. The queues may have been closed meanwhile. */
static void ahead_add(struct ready_context *c, unsigned id, struct starpu_task *task)
{
	struct queue *own = queue_of(c, c->workers[id].node);
	struct ahead *ahead = &c->local->ahead[id];
	size_t bytes = ready_task_bytes(task);
	bool open;

	policy_lock_briefly(&own->mutex);
	open = own->open == c->workers[id].class + 1;
	if (open) {
		unsigned n = atomic_load(&ahead->n);

		ahead->tasks[n] = task;
		ahead->bytes[n] = bytes;
		atomic_fetch_add(&c->fetched_bytes[c->workers[id].node], bytes);
		atomic_store(&ahead->n, n + 1);
		atomic_fetch_add(&own->ahead, 1);
	}
	STARPU_PTHREAD_MUTEX_UNLOCK(&own->mutex);
	if (open)
		return;
	policy_lock(&c->mutex);
	ahead_claim(c, id, task);
	STARPU_PTHREAD_MUTEX_UNLOCK(&c->mutex);
}

/* How much data a task may have that a worker takes ahead. All that its memory's workers have
 * takes at most half of it, claims included. */
static size_t ahead_most(const struct ready_context *c, unsigned id, const struct queue *own)
{
	starpu_ssize_t total = starpu_memory_get_total(c->workers[id].node);
	size_t tasks = AHEAD * (atomic_load(&own->workers) + 1u);
	size_t room = ready_queue_room(c, c->workers[id].node);

	return total > 0 && total / (2 * tasks) < room ? total / (2 * tasks) : room;
}

/* A worker has come for a task, so that it will begin soon what it has ahead. */
static void ahead_asks(struct ahead *ahead)
{
	if (atomic_load_explicit(&ahead->held, memory_order_relaxed))
		atomic_store(&ahead->held, false);
	atomic_store_explicit(&ahead->asked_us, starpu_timing_now(), memory_order_relaxed);
}

/* A worker takes tasks ahead while there are more than its queue's workers begin at once. */
static void ahead_fill(struct ready_context *c, unsigned id)
{
	struct ready_worker *worker = &c->workers[id];
	struct ahead *ahead = &c->local->ahead[id];
	struct queue *own = queue_of(c, worker->node), *queue;
	unsigned target = ready_queue_target(c, worker);

	if (!worker->blocks)
		return;
	while (atomic_load(&ahead->n) < (target < AHEAD ? target : AHEAD) &&
	       (queue = queue_choose(c->local, own)) &&
	       atomic_load(&queue->count) > atomic_load(&queue->workers)) {
		struct starpu_task *task =
		    queue_take(queue, c, id, ahead_most(c, id, own), SIZE_MAX);

		if (!task)
			return;
		if (!claims_inputs_are_there(task, worker->node))
			heddle_compat_fetch_ahead(task, id);
		ahead_add(c, id, task);
	}
}

/* ---- a worker asks ---- */

/* The best task for a worker. NULL: there is none, or what was chosen is gone.
 * @param[out] none there is none */
static struct starpu_task *local_find(struct ready_context *c, unsigned id, bool *none)
{
	struct ready_worker *worker = &c->workers[id];
	struct queue *own = queue_of(c, worker->node);
	struct queue *queue = queue_choose(c->local, own);
	bool by_memory = ready_goes_by_memory(c, worker);
	int top =
	    queue && !by_memory ? atomic_load_explicit(&queue->top, memory_order_relaxed) : INT_MIN;
	struct starpu_task *task = ahead_take(c, id, top);
	unsigned from;

	*none = false;
	if (!task)
		task = ahead_take_sibling(c, id, queue, top);
	if (task)
		return task;
	if (by_memory && queue && queue != own && atomic_load(&own->count) &&
	    ready_may_pass(worker)) {
		unsigned passes = worker->passes;

		task = queue_take(own, c, id, SIZE_MAX, 0);
		worker->passes = passes + (task != NULL);
	}
	if (task)
		return task;
	if (!queue)
		queue = queue_longest(c->local);
	if (queue)
		return queue_take(queue, c, id, SIZE_MAX, SIZE_MAX);
	task = ahead_take_back(c, id, &from);
	if (task)
		claims_left_behind(task, from, id);
	*none = !task;
	return task;
}

struct starpu_task *ready_local_take(struct ready_context *c, unsigned id)
{
	struct ready_worker *worker = &c->workers[id];
	struct starpu_task *task = NULL;
	struct queue *own;
	bool none = false;

	if (!ready_local_is_open(c))
		return NULL;
	own = queue_of(c, worker->node);
	while (!task && !none && worker->class == atomic_load(&c->local->class) &&
	       !ready_local_is_stale(c))
		task = local_find(c, id, &none);
	if (!task)
		return NULL;
	if (atomic_load_explicit(&own->held, memory_order_relaxed))
		atomic_store(&own->held, false);
	ahead_asks(&c->local->ahead[id]);
	worker->plain = NULL;
	worker->blocks = worker->started && !worker->comes;
	worker->comes = false;
	/* How long it takes matters to plans alone. */
	worker->after_us[worker->started % READY_PIPELINE] = 0;
	worker->fetch_us[worker->started % READY_PIPELINE] = 0;
	worker->taken_us[worker->started % READY_PIPELINE] = starpu_timing_now();
	worker->expected_us[worker->started++ % READY_PIPELINE] = 0;
	worker->round_us = 0;
	worker->weight = 0;
	atomic_store_explicit(&worker->rests_since_us, 0, memory_order_relaxed);
	waiters_remove(&c->waiters, id);
	ready_local_wake(c, worker->node);
	ahead_fill(c, id);
	return task;
}

void ready_local_hold(struct ready_context *c, unsigned id)
{
	if (!ready_local_is_open(c))
		return;
	atomic_store(&queue_of(c, c->workers[id].node)->held, true);
	atomic_store(&c->local->ahead[id].held, true);
	ready_local_wake(c, c->workers[id].node);
}

/* ---- opening and closing; the context's mutex is held ---- */

/* Whether a worker of the class may take the tasks of a queue of the pool from here. */
static bool is_movable(const struct heddle_pool_key *key, void *first, double since_us, void *arg)
{
	struct ready_context *c = arg;
	unsigned class = atomic_load(&c->local->class);

	(void)first;
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
		if (!ready_local_put(c, entry.item, query.class, entry.home, entry.key.type,
		                     classes_of(c, &entry.key))) {
			heddle_pool_push_entry(c->pool, &entry); /* there was room for it */
			return;
		}
		atomic_fetch_sub(&c->unstarted, 1);
	}
}

/* @param open class and 1; 0: closed */
static void queues_set_open(struct ready_local *local, unsigned open)
{
	for (unsigned q = 0; q < local->n; q++) {
		struct queue *queue = &local->queues[q];

		policy_lock_briefly(&queue->mutex);
		queue->open = open;
		memset(queue->counted, 0, sizeof(queue->counted));
		STARPU_PTHREAD_MUTEX_UNLOCK(&queue->mutex);
	}
	atomic_store(&local->open, open != 0);
}

void ready_local_open(struct ready_context *c, unsigned class)
{
	struct ready_local *local = c->local;

	if (ready_local_is_open(c))
		return;
	atomic_store(&local->class, class);
	atomic_store(&local->members, starpu_sched_ctx_get_nworkers(c->id));
	for (unsigned q = 0; q < local->n; q++) {
		atomic_store(&local->queues[q].workers, 0);
		atomic_store(&local->queues[q].held, false);
	}
	for (unsigned w = 0; w < c->nworkers; w++)
		if (c->workers[w].class == class && starpu_sched_ctx_contains_worker(w, c->id)) {
			struct queue *own = queue_of(c, c->workers[w].node);

			atomic_fetch_add(&own->workers, 1);
			/* Of no memory: all take from there. */
			if (own != &local->queues[0])
				atomic_fetch_add(&local->queues[0].workers, 1);
		}
	memset(local->counted, 0, sizeof(local->counted));
	local->counted_us = starpu_timing_now();
	if (!local->opened)
		heddle_explain("short tasks wait in local queues, without plans");
	local->opened = true;
	queues_set_open(local, class + 1);
	pool_move(c);
}

/* Puts the tasks of a queue behind others that wait for the pool. */
static void queue_empty(struct ready_context *c, struct queue *queue)
{
	struct starpu_task *task;

	policy_lock_briefly(&queue->mutex);
	while ((task = heddle_heap_pop(&queue->heap))) {
		task->next = NULL;
		ready_late_add(c, task);
		atomic_fetch_add(&c->unstarted, 1);
	}
	hints_set(queue);
	STARPU_PTHREAD_MUTEX_UNLOCK(&queue->mutex);
}

/* What a worker has ahead becomes claims of it. */
static void ahead_empty(struct ready_context *c, unsigned id)
{
	struct starpu_task *task;

	while ((task = ahead_take(c, id, INT_MIN)))
		ahead_claim(c, id, task);
}

/* Of their workers nobody knows what they have done meanwhile, and until when. */
void ready_local_close(struct ready_context *c)
{
	double now_us = starpu_timing_now();

	if (!ready_local_is_open(c))
		return;
	queues_set_open(c->local, 0);
	for (unsigned q = 0; q < c->local->n; q++)
		queue_empty(c, &c->local->queues[q]);
	for (unsigned w = 0; w < c->nworkers; w++)
		if (c->workers[w].class == atomic_load(&c->local->class)) {
			c->workers[w].waits_since_us = 0;
			c->workers[w].busy_until_us = now_us;
			ahead_empty(c, w);
		}
	ready_inbox_empty(c);
}

/* ---- what came of late ---- */

/* Adds what a queue has counted, which begins anew. */
static void counts_add(struct queue *queue, struct counted *sums)
{
	struct counted counted[TYPES];

	policy_lock_briefly(&queue->mutex);
	memcpy(counted, queue->counted, sizeof(counted));
	memset(queue->counted, 0, sizeof(queue->counted));
	STARPU_PTHREAD_MUTEX_UNLOCK(&queue->mutex);
	for (size_t i = 0; i < TYPES; i++)
		if (counted[i].type)
			type_count(sums, counted[i].type, counted[i].classes, counted[i].count);
}

size_t ready_local_types(struct ready_context *c, double least, double us,
                         struct heddle_area_type *types, unsigned long *numbers)
{
	struct ready_local *local = c->local;
	double count = 0, now_us = starpu_timing_now(), part;
	size_t n = 0;

	for (unsigned q = 0; q < local->n; q++)
		counts_add(&local->queues[q], local->counted);
	for (size_t i = 0; i < TYPES; i++)
		count += local->counted[i].count;
	if (count < least)
		return 0;
	part = us / fmax(now_us - local->counted_us, 1);
	for (size_t i = 0; i < TYPES; i++) {
		const struct counted *counted = &local->counted[i];

		if (!counted->type || n == HEDDLE_GRAPH_TYPES)
			continue;
		numbers[n] = counted->type;
		types[n] = (struct heddle_area_type){.count = counted->count * part};
		for (unsigned k = 0; k < c->nclasses; k++)
			types[n].us[k] = counted->classes >> k & 1 ? -1 : 0;
		n++;
	}
	memset(local->counted, 0, sizeof(local->counted));
	local->counted_us = now_us;
	return n;
}

double ready_local_still_us(const struct ready_context *c, double now_us)
{
	double longest = 0;

	for (unsigned q = 0; q < c->local->n; q++)
		longest = fmax(longest, still_us(&c->local->queues[q], now_us));
	return longest;
}
