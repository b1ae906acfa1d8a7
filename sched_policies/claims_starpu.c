/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Claims, what others take back of them, and the transfers of their inputs.
 */
#include "config.h"

#include <limits.h>
#include <stdatomic.h>
#include <stdlib.h>

#include <starpu_expert.h>

#include "sched_policies/claims_starpu.h"

/* ---- lists ---- */

int claims_create(struct claims *claims, unsigned nworkers)
{
	claims->lists = malloc(nworkers * sizeof(*claims->lists));
	if (!claims->lists)
		return -ENOMEM;
	for (unsigned w = 0; w < nworkers; w++) {
		ring_init(&claims->lists[w].ring, sizeof(struct claim));
		claims->lists[w].mixed = false;
	}
	claims->nworkers = nworkers;
	claims->total = 0;
	claims->top = INT_MIN;
	return 0;
}

void claims_destroy(struct claims *claims)
{
	for (unsigned w = 0; w < claims->nworkers; w++)
		ring_free(&claims->lists[w].ring);
	free(claims->lists);
}

int claims_reserve(struct claims *claims, unsigned worker)
{
	return ring_reserve(&claims->lists[worker].ring);
}

void claims_add(struct claims *claims, unsigned worker, const struct claim *claim)
{
	struct claim_list *list = &claims->lists[worker];
	int priority = claim->entry.key.priority;
	const struct heddle_pool_key *first =
	    ring_count(&list->ring) ? &claims_at(claims, worker, 0)->entry.key : NULL;

	if (first && (first->priority != priority || first->rank != claim->entry.key.rank))
		list->mixed = true;
	ring_push(&list->ring, claim);
	claims->total++;
	if (priority > claims->top)
		claims->top = priority;
}

void claims_remove(struct claims *claims, unsigned worker, size_t i, struct claim *claim)
{
	struct claim_list *list = &claims->lists[worker];

	*claim = *claims_at(claims, worker, i);
	ring_remove(&list->ring, i);
	if (!ring_count(&list->ring))
		list->mixed = false;
	if (!--claims->total)
		claims->top = INT_MIN;
}

size_t claims_best(const struct claims *claims, unsigned worker)
{
	size_t best = 0;

	for (size_t i = 1; claims->lists[worker].mixed && i < claims_count(claims, worker); i++) {
		const struct heddle_pool_key *key = &claims_at(claims, worker, i)->entry.key,
		                             *first = &claims_at(claims, worker, best)->entry.key;

		if (key->priority > first->priority ||
		    (key->priority == first->priority && key->rank > first->rank))
			best = i;
	}
	return best;
}

/* ---- taking back ---- */

/* The claim found so far. */
struct found {
	bool any;
	int priority;
	unsigned owner;
	size_t index;
};

static bool is_better(const struct claims *claims, const struct found *found, int priority,
                      unsigned owner)
{
	if (!found->any || priority > found->priority)
		return true;
	return priority == found->priority && owner != found->owner &&
	       claims_count(claims, owner) > claims_count(claims, found->owner);
}

/* Looks through the claims of one worker, the last one first. */
static void list_search(const struct claims *claims, const struct claims_query *query,
                        unsigned owner, struct found *found)
{
	for (size_t i = claims_count(claims, owner); i-- > 0;) {
		const struct claim *claim = claims_at(claims, owner, i);
		int priority = claim->entry.key.priority;

		if (priority < query->least || !is_better(claims, found, priority, owner)) {
			if (!claims->lists[owner].mixed)
				return; /* the others have the same priority */
			continue;
		}
		if (claim->input != CLAIM_INPUT_BUSY && query->accept(claim, owner, query->arg))
			*found = (struct found){true, priority, owner, i};
	}
}

bool claims_find(struct claims *claims, const struct claims_query *query, unsigned *owner,
                 size_t *index)
{
	struct found found = {0};
	int top = INT_MIN;

	for (unsigned w = 0; w < claims->nworkers; w++) {
		int priority;

		if (!claims_count(claims, w))
			continue;
		priority = claims_at(claims, w, claims_best(claims, w))->entry.key.priority;
		if (priority > top)
			top = priority;
		if (w != query->worker)
			list_search(claims, query, w, &found);
	}
	claims->top = top;
	*owner = found.owner;
	*index = found.index;
	return found.any;
}

void claims_give_back(struct claims *claims, unsigned worker, struct heddle_pool *pool,
                      void (*removed)(unsigned worker, const struct claim *claim, void *arg),
                      void *arg)
{
	size_t i = 0;

	while (i < claims_count(claims, worker)) {
		struct claim claim = *claims_at(claims, worker, i);

		if (claim.input == CLAIM_INPUT_BUSY || claim.input == CLAIM_INPUT_ASKED) {
			i++;
			continue;
		}
		if (heddle_pool_push_entry(pool, &claim.entry))
			return;
		claims_remove(claims, worker, i, &claim);
		removed(worker, &claim, arg);
	}
}

/* ---- transfer requests ---- */

bool claims_inputs_are_there(struct starpu_task *task, unsigned node)
{
	for (unsigned i = 0; i < STARPU_TASK_GET_NBUFFERS(task); i++) {
		int valid;

		if (!(STARPU_TASK_GET_MODE(task, i) & STARPU_R))
			continue;
		starpu_data_query_status(STARPU_TASK_GET_HANDLE(task, i), node, NULL, &valid, NULL);
		if (!valid)
			return false;
	}
	return true;
}

void claims_requests_collect(struct claims *claims, unsigned worker, size_t first, bool arrivals,
                             struct claims_requests *requests)
{
	size_t n = claims_count(claims, worker);
	unsigned node = starpu_worker_get_memory_node(worker);

	requests->n = 0;
	for (size_t i = 0; i < n && i < first && requests->n < CLAIMS_MAX_REQUESTS; i++) {
		struct claim *claim = claims_at(claims, worker, i);
		struct starpu_task *task = claim->entry.item;
		bool asked = claim->input == CLAIM_INPUT_ASKED || task->prefetched;

		if (claim->input == CLAIM_INPUT_ARRIVED || claim->input == CLAIM_INPUT_BUSY)
			continue;
		if (!STARPU_TASK_GET_NBUFFERS(task)) {
			claim->input = CLAIM_INPUT_ARRIVED;
			continue;
		}
		if (asked && !arrivals) {
			claim->input = CLAIM_INPUT_ASKED;
			continue;
		}
		if (!asked && claims->looks && claims_inputs_are_there(task, node)) {
			claim->input = CLAIM_INPUT_ARRIVED;
			continue;
		}
		requests->of[requests->n].task = task;
		requests->of[requests->n].since_us = claim->since_us;
		requests->of[requests->n].asked = asked;
		requests->of[requests->n++].arrived = false;
		claim->input = CLAIM_INPUT_BUSY;
	}
}

void claims_requests_send(unsigned worker, struct claims_requests *requests)
{
	unsigned node = starpu_worker_get_memory_node(worker);

	for (unsigned i = 0; i < requests->n; i++)
		if (requests->of[i].asked)
			requests->of[i].arrived =
			    claims_inputs_are_there(requests->of[i].task, node);
		else
			heddle_compat_fetch_ahead(requests->of[i].task, worker);
}

/* Busy claims stay where they are, in their order. Those in front of them may be gone. */
void claims_requests_end(struct claims *claims, unsigned worker,
                         const struct claims_requests *requests)
{
	unsigned n = 0;

	for (size_t i = 0; i < claims_count(claims, worker) && n < requests->n; i++) {
		struct claim *claim = claims_at(claims, worker, i);

		if (claim->input == CLAIM_INPUT_BUSY)
			claim->input =
			    requests->of[n++].arrived ? CLAIM_INPUT_ARRIVED : CLAIM_INPUT_ASKED;
	}
}

/* ---- transfers of tasks that another worker started ---- */

/* StarPU aborts when it is shut down before such a transfer has ended. The data may be gone by
 * then, so that they cannot be asked. But StarPU starts an idle fetch when nothing else is on its
 * way to a device, and handles what is wanted in main memory in order: when one of each has
 * ended, so has what was asked for before. */
static atomic_bool left_behind[STARPU_MAXNODES];

/* What the task writes StarPU hastens itself: the writer waits for it. */
void claims_left_behind(struct starpu_task *task, unsigned from, unsigned to)
{
	unsigned node = starpu_worker_get_memory_node(from);

	if (node == STARPU_MAIN_RAM || node == starpu_worker_get_memory_node(to))
		return;
	if (!atomic_load(&left_behind[node]))
		atomic_store(&left_behind[node], true);
	for (unsigned i = 0; i < STARPU_TASK_GET_NBUFFERS(task); i++)
		if ((STARPU_TASK_GET_MODE(task, i) & STARPU_RW) == STARPU_R)
			starpu_data_fetch_on_node(STARPU_TASK_GET_HANDLE(task, i), node, 1);
}

#if defined(HEDDLE_USE_SIMGRID) && HEDDLE_STARPU_14
static void note(void *arg)
{
	*(bool *)arg = true;
}

/* When StarPU 1.4 simulates, a worker that finds no room for data sleeps, although it has just
 * begun to make room. */
static int acquire_on(starpu_data_handle_t handle, unsigned node, enum starpu_data_access_mode mode)
{
	bool acquired = false;
	int status = starpu_data_acquire_on_node_cb(handle, node, mode, note, &acquired);

	while (!status && !acquired) {
		starpu_sleep(1e-6);
		starpu_wake_all_blocked_workers();
	}
	return status;
}
#else
static int acquire_on(starpu_data_handle_t handle, unsigned node, enum starpu_data_access_mode mode)
{
	return starpu_data_acquire_on_node(handle, node, mode);
}
#endif

/* Waits for transfers that were asked for before, to a memory and to the main one. An idle fetch
 * frees no memory on a full device, others do: it gets its place beforehand. What comes back has a
 * place in main memory, too: for a byte of its own StarPU would pin 32 MB there, which takes 20 ms.
 */
static void await_transfers_to(unsigned node)
{
	starpu_data_handle_t handle;
	char byte = 0;

	starpu_variable_data_register(&handle, STARPU_MAIN_RAM, (uintptr_t)&byte, sizeof(byte));
	if (!acquire_on(handle, node, STARPU_R)) {
		starpu_data_release_on_node(handle, node);
		if (!starpu_data_acquire(handle, STARPU_RW))
			starpu_data_release(handle);
		starpu_data_idle_prefetch_on_node(handle, node, 0);
	}
	if (!acquire_on(handle, node, STARPU_RW)) {
		starpu_data_release_on_node(handle, node);
		if (!starpu_data_acquire(handle, STARPU_R))
			starpu_data_release(handle);
	}
	starpu_data_unregister(handle);
}

void claims_drain(unsigned ctx)
{
	/* This may be called at any time; tasks under way may leave more behind. */
	if (starpu_worker_get_id() >= 0 || starpu_task_nsubmitted())
		return;
	for (unsigned node = 0; node < starpu_memory_nodes_get_count(); node++)
		if (atomic_exchange(&left_behind[node], false))
			await_transfers_to(node);
}
