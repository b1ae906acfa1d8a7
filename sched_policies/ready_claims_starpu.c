/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Claims: what a worker has asked for and not started, and what they add to the load of
 * each class of devices. The mutex is held.
 */
#include "config.h"

#include <limits.h>
#include <string.h>

#include "sched_policies/ready.h"

static void load_add(struct ready_context *c, const struct heddle_pool_key *key, int sign)
{
	for (unsigned k = 0; c->choosing && k < c->nkinds; k++)
		if (heddle_pool_key_runs(key, k))
			c->claimed_us[k] += sign * heddle_pool_us(key->cost[k]);
}

void ready_claim_add(struct ready_context *c, struct ready_worker *worker,
                     const struct ready_claim *claim)
{
	const struct heddle_pool_key *key = &claim->entry.key;

	ring_push(&worker->claims, claim);
	worker->claims_us += heddle_pool_us(key->cost[worker->kind]);
	worker->claims_bytes += claim->bytes;
	load_add(c, key, 1);
	c->nclaimed++;
	if (key->priority > c->claimed_top)
		c->claimed_top = key->priority;
}

void ready_claim_remove(struct ready_context *c, struct ready_worker *worker, size_t i,
                        struct ready_claim *claim)
{
	*claim = *ready_claim_at(worker, i);
	ring_remove(&worker->claims, i);
	worker->claims_us -= heddle_pool_us(claim->entry.key.cost[worker->kind]);
	worker->claims_bytes -= claim->bytes;
	load_add(c, &claim->entry.key, -1);
	if (!ring_count(&worker->claims))
		worker->claims_us = 0;
	if (--c->nclaimed)
		return;
	c->claimed_top = INT_MIN;
	memset(c->claimed_us, 0, sizeof(c->claimed_us));
}

size_t ready_claim_best(const struct ready_worker *worker)
{
	size_t best = 0;

	for (size_t i = 1; i < ring_count(&worker->claims); i++)
		if (ready_claim_at(worker, i)->entry.key.priority >
		    ready_claim_at(worker, best)->entry.key.priority)
			best = i;
	return best;
}

/* Claims of one worker, of which something else is believed now. */
static void claims_renew(struct ready_context *c, struct ready_worker *worker, unsigned long family)
{
	for (size_t i = 0; i < ring_count(&worker->claims); i++) {
		struct heddle_pool_key *key = &ready_claim_at(worker, i)->entry.key;

		if (key->type != family)
			continue;
		worker->claims_us -= heddle_pool_us(key->cost[worker->kind]);
		load_add(c, key, -1);
		ready_key_renew(c, key);
		worker->claims_us += heddle_pool_us(key->cost[worker->kind]);
		load_add(c, key, 1);
	}
}

void ready_claims_renew(struct ready_context *c, unsigned long family)
{
	for (unsigned w = 0; c->nclaimed && w < c->nworkers; w++)
		claims_renew(c, &c->workers[w], family);
}

void ready_claims_give_back(struct ready_context *c, struct ready_worker *worker)
{
	size_t i = 0;

	c->last.plain = false;
	while (i < ring_count(&worker->claims)) {
		struct ready_claim claim = *ready_claim_at(worker, i);

		if (claim.fetch == READY_FETCH_BUSY || claim.fetch == READY_FETCH_ASKED) {
			i++; /* who takes it back sees to what was asked for */
			continue;
		}
		if (heddle_pool_push_since(c->pool, claim.entry.item, &claim.entry.key,
		                           claim.entry.since_us))
			return; /* no memory: others can still take it back */
		ready_claim_remove(c, worker, i, &claim);
		if (claim.probe)
			ready_probe_cancel(c, &claim.entry.key, worker->kind);
	}
}
