/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Which task a worker takes: the best in the pool, one that it claimed before, or one that
 * another has claimed and not begun. The context's mutex is held.
 */
#include "config.h"

#include <limits.h>

#include "sched_policies/self.h"

static void claim_remove(struct self_context *c, struct self_worker *worker, size_t i)
{
	ring_remove(&worker->claims, i);
	if (!--c->nclaimed)
		c->claimed_top = INT_MIN;
}

/* Whether a task's input may be on its way to its claimer. */
static bool claim_asked(const struct self_claim *claim)
{
	return claim->fetch != SELF_FETCH_NOT && STARPU_TASK_GET_NBUFFERS(claim->task);
}

/* The task leaves its claimer. */
static void claim_leave(struct self_context *c, struct self_worker *worker, size_t i)
{
	claim_remove(c, worker, i);
	self_return(c, worker, 1);
}

static struct starpu_task *take_claimed(struct self_context *c, struct self_worker *worker)
{
	struct starpu_task *task = self_claim_at(worker, 0)->task;

	claim_remove(c, worker, 0);
	return task;
}

/* Takes the best task out of the pool, from where it was found, and, when the worker
 * has nothing, claims the rest of a chunk of the same priority. */
static struct starpu_task *take_pooled(struct self_context *c, unsigned id,
                                       const struct heddle_pool_place *place)
{
	struct self_worker *worker = &c->workers[id];
	bool idle = !ring_count(&worker->claims);
	size_t chunk = idle ? self_chunk(c, worker) : 1, got = 1;
	struct heddle_pool_entry first, next;

	heddle_pool_take(c->pool, place, &first);
	while (got < chunk && !ring_reserve(&worker->claims) &&
	       heddle_pool_pop(c->pool, worker->kind, first.key.priority, policy_accepts, &id,
	                       &next)) {
		ring_push(&worker->claims,
		          &(struct self_claim){.task = next.item, .fetch = SELF_FETCH_NOT});
		c->nclaimed++;
		got++;
	}
	if (got > 1 && first.key.priority > c->claimed_top)
		c->claimed_top = first.key.priority;
	if (idle)
		self_return(c, worker, chunk - got);
	return first.item;
}

/* Where the last claimed task lies that a worker may take from another; the
 * claimer's list length when there is none. */
static size_t claim_search(const struct self_worker *owner, unsigned *id)
{
	size_t n = ring_count(&owner->claims);

	for (size_t i = n; i-- > 0;) {
		const struct self_claim *claim = self_claim_at(owner, i);

		if (claim->fetch != SELF_FETCH_BUSY && policy_accepts(claim->task, id))
			return i;
	}
	return n;
}

/* The claimer of the task of highest priority, at least `least`, that a worker may
 * take back; among equals the one with the longest list. */
static struct self_worker *claimer_search(struct self_context *c, unsigned id, int least,
                                          size_t *place)
{
	const struct self_worker *self = &c->workers[id];
	struct self_worker *best = NULL;
	int top = INT_MIN;

	for (unsigned w = 0; w < c->nworkers; w++) {
		struct self_worker *owner = &c->workers[w];
		size_t n = ring_count(&owner->claims), i;
		int priority, best_priority;

		if (!n)
			continue;
		priority = self_claim_at(owner, 0)->task->priority;
		if (priority > top)
			top = priority;
		if (owner == self || priority < least)
			continue;
		best_priority = best ? self_claim_at(best, 0)->task->priority : INT_MIN;
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

static struct starpu_task *take_back(struct self_context *c, struct self_worker *owner,
                                     size_t place, int *left)
{
	struct starpu_task *task = self_claim_at(owner, place)->task;

	if (claim_asked(self_claim_at(owner, place)))
		*left = owner - c->workers;
	claim_leave(c, owner, place);
	return task;
}

/* The best task in the pool for a worker, if it is better than what the worker
 * claimed already. */
static const struct heddle_pool_key *pool_find(struct self_context *c, unsigned *id,
                                               struct heddle_pool_place *place)
{
	const struct self_worker *worker = &c->workers[*id];
	struct heddle_pool_query query = {
	    .class = worker->kind, .least = INT_MIN, .accept = policy_accepts, .arg = id};

	if (ring_count(&worker->claims)) {
		int claimed = self_claim_at(worker, 0)->task->priority;

		if (claimed == INT_MAX)
			return NULL;
		query.least = claimed + 1;
	}
	return heddle_pool_find(c->pool, &query, place);
}

/* On equal priority its own claims
 * first, then the pool, then what others claimed. */
struct starpu_task *self_take(struct self_context *c, unsigned id, int *left)
{
	struct self_worker *worker = &c->workers[id], *owner = NULL;
	bool own = ring_count(&worker->claims);
	struct heddle_pool_place pooled;
	const struct heddle_pool_key *key = pool_find(c, &id, &pooled);
	int best = own ? self_claim_at(worker, 0)->task->priority : INT_MIN;
	size_t place = 0;

	if (key)
		best = key->priority;
	if (c->claimed_top > best)
		owner = claimer_search(c, id, best + 1, &place);
	if (owner)
		return take_back(c, owner, place, left);
	if (key)
		return take_pooled(c, id, &pooled);
	if (own)
		return take_claimed(c, worker);
	owner = c->nclaimed ? claimer_search(c, id, INT_MIN, &place) : NULL;
	return owner ? take_back(c, owner, place, left) : NULL;
}

bool self_work_for(struct self_context *c, unsigned id)
{
	size_t place;
	int priority;

	return heddle_pool_priority(c->pool, c->workers[id].kind, policy_accepts, &id, &priority) ||
	       (c->nclaimed && claimer_search(c, id, INT_MIN, &place));
}

void self_claims_give_back(struct self_context *c, struct self_worker *worker)
{
	size_t i = 0;

	while (i < ring_count(&worker->claims)) {
		struct starpu_task *task = self_claim_at(worker, i)->task;
		struct heddle_pool_key key;

		if (claim_asked(self_claim_at(worker, i))) {
			i++; /* who takes it back sees to what was asked for */
			continue;
		}
		policy_task_key(task, &key);
		if (heddle_pool_push(c->pool, task, &key))
			return; /* no memory: others can still take it back */
		claim_leave(c, worker, i);
	}
}
