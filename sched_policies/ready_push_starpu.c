/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A task becomes ready. Who makes it ready hands it in without the mutex and wakes a worker; the
 * next worker that looks for work puts all that was handed in into the pool. So one thread that
 * submits what many workers run waits for none of them.
 */
#include "config.h"

#include <stdint.h>
#include <string.h>

#include "support/helgrind.h"
#include "support/message.h"
#include "sched_policies/ready.h"

/* ---- the inbox ---- */

/* Hands a task in: any thread, without the mutex. From now on the task may be run and freed.
 * Tasks are chained by their field `next`, which StarPU leaves to policies. */
static void inbox_put(struct ready_context *c, struct starpu_task *task)
{
	struct starpu_task *last = atomic_load_explicit(&c->inbox, memory_order_relaxed);

	do {
		task->next = last;
		HELGRIND_HAND_OVER(&c->inbox);
	} while (!atomic_compare_exchange_weak(&c->inbox, &last, task));
}

bool ready_inbox_waits(struct ready_context *c)
{
	return atomic_load(&c->inbox);
}

/* What was handed in, the first one first. */
static struct starpu_task *inbox_take(struct ready_context *c)
{
	struct starpu_task *task = atomic_exchange(&c->inbox, NULL), *first = NULL;

	HELGRIND_TAKE_OVER(&c->inbox);
	while (task) {
		struct starpu_task *before = task->next;

		task->next = first;
		first = task;
		task = before;
	}
	return first;
}

/* Whether a task for which nothing is to be chosen has the key of the one before, as many do. */
static bool like_last(const struct ready_context *c, const struct starpu_task *task)
{
	return c->last.plain && c->last.priority == task->priority &&
	       c->last.where == (uint32_t)task->where &&
	       policy_task_tag(task) == HEDDLE_POOL_UNIFORM;
}

/* What a task writes moves; what it reads can be in several memories. */
unsigned ready_home(const struct ready_context *c, struct starpu_task *task)
{
	size_t most[2] = {0};
	unsigned home = 0;

	for (unsigned m = 0; m < c->nmemories; m++) {
		unsigned node = c->memories[m];
		size_t bytes[2] = {0};

		for (unsigned i = 0; i < STARPU_TASK_GET_NBUFFERS(task); i++) {
			starpu_data_handle_t handle = STARPU_TASK_GET_HANDLE(task, i);
			enum starpu_data_access_mode mode = STARPU_TASK_GET_MODE(task, i);
			int valid = 0;

			if (mode & STARPU_R)
				starpu_data_query_status(handle, node, NULL, &valid, NULL);
			if (valid)
				bytes[mode & STARPU_W ? 0 : 1] += starpu_data_get_size(handle);
		}
		if (bytes[0] == most[0] && bytes[1] == most[1]) {
			home = 0;
		} else if (bytes[0] > most[0] || (bytes[0] == most[0] && bytes[1] > most[1])) {
			home = node;
			memcpy(most, bytes, sizeof(most));
		}
	}
	return home;
}

/* @param plainly nothing is asked of what cores alone can run */
static int pool_add(struct ready_context *c, struct starpu_task *task, double now_us, bool plainly)
{
	struct heddle_pool_entry entry = {.item = task, .since_us = now_us};
	struct heddle_pool_key *key = &entry.key;
	bool choosing = c->choosing && !(plainly && ready_cores_run(c, task));

	if (!choosing && like_last(c, task) && !heddle_pool_push_like_last(c->pool, task, now_us))
		return 0;
	ready_task_key(c, task, choosing, key);
	if (c->plan && choosing)
		key->rank = ready_plan_rank(c, task);
	if (choosing)
		entry.home = ready_home(c, task);
	c->special |= key->tag != HEDDLE_POOL_UNIFORM;
	c->last.plain = !choosing && key->tag == HEDDLE_POOL_UNIFORM;
	c->last.priority = task->priority;
	c->last.where = task->where;
	return heddle_pool_push_entry(c->pool, &entry);
}

void ready_late_add(struct ready_context *c, struct starpu_task *first)
{
	if (!c->late)
		c->late_alike = true;
	for (struct starpu_task *task = first; task; task = task->next) {
		if (c->late)
			c->latest->next = task;
		else
			c->late = task;
		c->latest = task;
		c->late_alike = c->late_alike && task->priority == c->late->priority &&
		                task->where == c->late->where &&
		                policy_task_tag(task) == HEDDLE_POOL_UNIFORM;
	}
}

struct starpu_task *ready_inbox_oldest(struct ready_context *c, unsigned id)
{
	struct starpu_task *task;

	if (heddle_pool_count(c->pool))
		return NULL;
	if (ready_inbox_waits(c))
		ready_late_add(c, inbox_take(c));
	task = c->late;
	if (!task || !c->late_alike || !policy_accepts(task, &id))
		return NULL;
	c->late = task->next;
	task->next = NULL;
	return task;
}

static void inbox_empty(struct ready_context *c, bool plainly)
{
	double now_us;

	if (!c->late && !ready_inbox_waits(c))
		return;
	ready_late_add(c, inbox_take(c));
	now_us = c->choosing ? starpu_timing_now() : 0;
	if (!heddle_pool_count(c->pool) && !c->claims.total) {
		c->busy_since_us = now_us;
		c->most = 0;
		if (c->plan)
			ready_plan_look_anew(c);
	}
	while (c->late) {
		struct starpu_task *task = c->late, *next = task->next;

		task->next = NULL;
		if (pool_add(c, task, now_us, plainly)) {
			task->next = next;
			return; /* no memory now */
		}
		c->late = next;
	}
	if (c->most < heddle_pool_count(c->pool) + c->claims.total)
		c->most = heddle_pool_count(c->pool) + c->claims.total;
}

void ready_inbox_empty(struct ready_context *c)
{
	inbox_empty(c, ready_cores_alone(c));
}

void ready_inbox_empty_plainly(struct ready_context *c)
{
	inbox_empty(c, true);
}

/* ---- who is woken for a task ---- */

/* Who may run a task; the task itself may be gone when that is asked. */
struct eligible {
	unsigned class;   /* that took such a task last */
	unsigned classes; /* bit k: class k can run it */
	bool special;     /* only the workers of the list, whatever their class */
	struct waiters workers;
};

/* Finds out who may run a task, before it is handed in. The type is 0 where nothing is to be
 * chosen. */
static void eligible_find(struct ready_context *c, struct starpu_task *task, unsigned long type,
                          struct eligible *eligible)
{
	unsigned char taker = atomic_load_explicit(&c->taker[ready_type_place(type, READY_TAKERS)],
	                                           memory_order_relaxed);

	eligible->class = taker ? taker - 1u : c->reference;
	eligible->classes = ready_task_classes(c, task);
	eligible->special = policy_task_tag(task) != HEDDLE_POOL_UNIFORM;
	for (unsigned k = 0; k < c->nclasses; k++)
		eligible->special |= c->mixed[k];
	if (!eligible->special)
		return;
	memset(&eligible->workers, 0, sizeof(eligible->workers));
	for (unsigned id = 0; id < c->nworkers; id++)
		if (policy_accepts(task, &id))
			waiters_add(&eligible->workers, id);
}

static bool eligible_has(const struct ready_context *c, const struct eligible *eligible,
                         unsigned id)
{
	return (eligible->classes >> c->workers[id].class & 1) &&
	       (!eligible->special || waiters_has(&eligible->workers, id));
}

static bool eligible_any_waits(const struct ready_context *c, const struct eligible *eligible)
{
	for (unsigned k = 0; k < c->nclasses; k++)
		if (eligible->classes >> k & 1 && waiters_any_of(&c->waiters, &c->crew[k]))
			return true;
	return false;
}

/* Whether others than the class that took such a task last should see it now. Under a plan they
 * get their tasks when somebody looks at everything; until then that class goes on. Who polls
 * sees by itself when that is due. */
static bool others_look(const struct ready_context *c, const struct eligible *eligible, bool works)
{
	return !ready_is_planned(c) || !works || !(eligible->classes >> eligible->class & 1) ||
	       (!POLICY_WORKERS_POLL && ready_plan_full_is_due(c, starpu_timing_now()));
}

/* The waiting members that may run a task, first those of the class that took such a task last:
 * up to the first one that belongs to no other context, where it might find something else to do.
 * If it leaves the task to others, it wakes them. The mutex need not be held. */
static void eligible_wake(struct ready_context *c, const struct eligible *eligible,
                          struct wake_list *list)
{
	bool works = false; /* one of that class that may run it is at work */
	int *ids;
	unsigned n;

	list->n = 0;
	if (!eligible_any_waits(c, eligible))
		return;
	n = starpu_sched_ctx_get_workers_list_raw(c->id, &ids);
	for (unsigned i = 0; i < 2 * n; i++) {
		unsigned id = ids[i % n];

		if (i == n && !others_look(c, eligible, works))
			return;
		if (id >= c->nworkers || (c->workers[id].class == eligible->class) != (i < n))
			continue;
		if (!eligible_has(c, eligible, id))
			continue;
		if (!waiters_has(&c->waiters, id)) {
			works = true;
			continue;
		}
		list->workers[list->n++] = id;
		if (!starpu_sched_ctx_overlapping_ctxs_on_worker(id))
			return;
	}
}

/* ---- memories that are too small for a task ---- */

/* StarPU takes the memory of CUDA devices for data of up to PIECE bytes in portions. */
#define PIECE (READY_PORTION / 8)

/* What StarPU has to find in a memory at once for a task. */
static size_t room_for(struct starpu_task *task, bool portions)
{
	size_t bytes = 0, pieces = 0;

	for (unsigned i = 0, j; i < STARPU_TASK_GET_NBUFFERS(task); i++) {
		starpu_data_handle_t handle = STARPU_TASK_GET_HANDLE(task, i);
		size_t size = starpu_data_get_size(handle);

		for (j = 0; j < i && STARPU_TASK_GET_HANDLE(task, j) != handle; j++)
			;
		if (j == i)
			*(portions && size <= PIECE ? &pieces : &bytes) += size;
	}
	return bytes + (pieces + READY_PORTION - 1) / READY_PORTION * READY_PORTION;
}

/* The smallest memory of an accelerator. Drivers tell their sizes while StarPU starts, after the
 * context was made. */
static size_t memory_least(struct ready_context *c)
{
	size_t least = atomic_load_explicit(&c->memory_least, memory_order_relaxed);

	if (least)
		return least;
	least = SIZE_MAX;
	for (unsigned w = 0; w < c->nworkers; w++) {
		starpu_ssize_t total = starpu_memory_get_total(c->workers[w].node);

		if (c->workers[w].accelerator && total > 0 && (size_t)total < least)
			least = total;
	}
	atomic_store_explicit(&c->memory_least, least, memory_order_relaxed);
	return least;
}

static bool anybody_accepts(const struct ready_context *c, struct starpu_task *task)
{
	for (unsigned w = 0; w < c->nworkers; w++)
		if (policy_accepts(task, &w))
			return true;
	return false;
}

/* A device whose memory cannot hold a task's data would look for room for ever: others do the
 * task. */
static void task_fit(struct ready_context *c, struct starpu_task *task)
{
	int32_t where = task->where, before = where;
	size_t room = 0, bytes;

	if (!c->accelerators || task->where == STARPU_CPU)
		return;
	bytes = ready_task_bytes(task);
	if (bytes > atomic_load_explicit(&c->most_bytes, memory_order_relaxed))
		atomic_store_explicit(&c->most_bytes, bytes, memory_order_relaxed);
	if (bytes + READY_PORTION <= memory_least(c) || task->cl->specific_nodes)
		return;
	for (unsigned w = 0; w < c->nworkers; w++) {
		enum starpu_worker_archtype type = starpu_worker_get_type(w);
		starpu_ssize_t total = starpu_memory_get_total(c->workers[w].node);

		if (!c->workers[w].accelerator || total <= 0 || !policy_accepts(task, &w))
			continue;
		room = room_for(task, type == STARPU_CUDA_WORKER);
		if (room > (size_t)total)
			where &= ~heddle_compat_where(type);
	}
	if (where == before)
		return;
	task->where = where;
	if (anybody_accepts(c, task)) {
		ready_cores_fit(c, task, before);
		return;
	}
	task->where = before;
	if (!atomic_exchange(&c->too_large_told, true))
		heddle_warn("a task of %s needs %zu MiB at once, more than a device has, and "
		            "nobody else can do it: it may never end",
		            task->cl->name ? task->cl->name : "a codelet without a name",
		            (room >> 20) + 1);
}

/* Asks the estimator, once for each task and without the mutex: it may ask StarPU. The task carries
 * the answer: from its key the pool reads the estimates.
 * @return the task's type; 0 where nothing is to be chosen */
static unsigned long type_ask(const struct ready_context *c, struct starpu_task *task,
                              struct heddle_estimate *estimates)
{
	return c->choosing
	           ? heddle_estimate_all(task, c->nclasses, ready_task_classes(c, task), estimates)
	           : 0;
}

/* Hands a task in to the local queues. From now on it may be run and freed.
 * @return false: they do not take it any more */
static bool local_put(struct ready_context *c, struct starpu_task *task, unsigned class,
                      unsigned long type, unsigned classes)
{
	unsigned home = ready_home(c, task);

	if (!ready_local_put(c, task, class, home, type, classes))
		return false;
	ready_local_wake(c, home);
	return true;
}

int ready_push(struct starpu_task *task)
{
	struct ready_context *c = ready_context(task->sched_ctx);
	struct heddle_estimate estimates[HEDDLE_POOL_CLASSES];
	struct eligible eligible;
	struct wake_list wake;
	unsigned long type = 0;
	bool plain = ready_cores_ready(c, task);
	int local = -1;

	if (!plain) {
		task_fit(c, task);
		type = type_ask(c, task, estimates);
		if (type)
			ready_cores_row(c, task, estimates);
	}
	eligible_find(c, task, type, &eligible);
	if (c->local && !plain)
		local = ready_local_class(c, task, estimates, eligible.classes);
	/* Handed in, the task may be done and freed at once. */
	starpu_push_task_end(task);
	if (c->plan)
		atomic_fetch_add_explicit(&c->pushed, 1, memory_order_relaxed);
	if (local >= 0 && local_put(c, task, local, type, eligible.classes))
		return 0;
	atomic_fetch_add(&c->unstarted, 1);
	inbox_put(c, task);
	eligible_wake(c, &eligible, &wake);
	wake_list_wake(&wake, &c->waiters);
	return 0;
}
