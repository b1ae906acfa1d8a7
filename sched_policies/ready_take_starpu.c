/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Who takes which task: the best one of the pool, of a worker's own claims and of those
 * of others that can be taken back. The mutex is held.
 */
#include "config.h"

#include <limits.h>
#include <math.h>

#include "sched_policies/ready.h"

/* ---- choosing ---- */

/* Where a worker's next task comes from. */
struct choice {
	enum { NOWHERE, OWN, POOL, BACK } from;
	struct heddle_pool_place place;    /* in the pool */
	const struct heddle_pool_key *key; /* there or of the claim; not of one's own */
	struct ready_worker *owner;        /* of the claim */
	size_t index;
};

static bool accepts(void *task, void *asker)
{
	return policy_accepts(task, &((struct ready_asker *)asker)->id);
}

/* For whatever in the pool a worker takes. */
static struct heddle_pool_query query_of(struct ready_asker *asker)
{
	return (struct heddle_pool_query){
	    .class = asker->c->workers[asker->id].kind,
	    .least = INT_MIN,
	    .admit = asker->c->choosing ? ready_wants : NULL,
	    .accept = accepts,
	    .arg = asker,
	};
}

static bool claim_is_for(const struct ready_claim *claim, const struct ready_worker *owner,
                         struct ready_asker *asker, int least)
{
	const struct heddle_pool_key *key = &claim->entry.key;
	bool wanted;

	if (claim->fetch == READY_FETCH_BUSY || key->priority < least ||
	    !heddle_pool_key_runs(key, asker->c->workers[asker->id].kind) ||
	    !accepts(claim->entry.item, asker))
		return false;
	asker->probed = claim->probe ? (int)owner->kind : -1;
	wanted = ready_wants(key, claim->entry.since_us, asker);
	asker->probed = -1;
	return wanted;
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
			if (!claim_is_for(claim, owner, asker, least))
				continue;
			*choice = (struct choice){
			    .from = BACK, .key = &claim->entry.key, .owner = owner, .index = i};
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
	struct heddle_pool_query query = query_of(asker);
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

/* The same, but what would be a probe of a family is weighed again, also where another
 * worker has claimed it. Each family is refused at most once. */
static struct choice choose_weighed(struct ready_asker *asker, bool *probe)
{
	unsigned kind = asker->c->workers[asker->id].kind;
	struct choice choice;

	do {
		choice = choose(asker);
		*probe = (choice.from == POOL || choice.from == BACK) &&
		         ready_is_probe(choice.key, kind);
	} while (*probe && !ready_probe_begin(asker, choice.key));
	return choice;
}

/* ---- taking ---- */

void ready_members_count(struct ready_context *c)
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
		struct heddle_pool_query query = query_of(asker);
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

void ready_busy_note(const struct ready_context *c, struct ready_worker *worker, double now_us)
{
	double until_us = now_us;

	if (!c->patient)
		return;
	if (worker->begun != worker->done)
		until_us = fmax(worker->start_us[worker->done % READY_PIPELINE], worker->done_us);
	for (unsigned i = worker->done; i != worker->started; i++) {
		until_us += worker->expected_us[i % READY_PIPELINE];
		until_us = fmax(until_us, now_us);
	}
	worker->busy_until_us = until_us;
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
	ready_taker_remember(c, entry->key.type, worker->kind);
	ready_busy_note(c, worker, asker->now_us);
	if (probe)
		ready_probe_started(c, asker->id, &entry->key, asker->now_us);
	ready_fetch_started(c, worker, entry, claim, asker->now_us);
}

bool ready_take(struct ready_asker *asker, struct heddle_pool_entry *entry)
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
			asker->left = choice.owner - c->workers;
		*entry = claim.entry;
		if (claim.probe && choice.owner->kind == worker->kind)
			probe = true;
		else if (claim.probe)
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

bool ready_find(struct ready_asker *asker)
{
	return choose(asker).from != NOWHERE;
}
