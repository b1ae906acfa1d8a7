/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * How many tasks an idle worker claims: a block strategy (heddle/strategy.h) whose
 * iterations are the tasks that are ready now says so, and hears how long they took.
 */
#include "config.h"

#include "estimator/platform_starpu.h"
#include "sched_policies/self.h"

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

/* Tells the strategy what a worker did since it last heard. Tasks that were not
 * its gift (taken back from another) took their part of the time. */
static void strategy_tell(struct self_context *c, struct self_worker *worker, double now)
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

/* The time a worker was idle is not work that the strategy will hear of. */
static void idle_skip(struct self_worker *worker)
{
	if (!worker->idle_us)
		return;
	worker->since_us += starpu_timing_now() - worker->idle_us;
	worker->idle_us = 0;
}

/* How many of the ready tasks a worker claims, where a single one is nothing to
 * divide and the strategy is not asked: at least the one that it needs
 * now, whatever the strategy says, since a ready task never waits for a strategy. */
size_t self_chunk(struct self_context *c, struct self_worker *worker)
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
	remaining = heddle_strategy_remaining(c->blocks);
	if (remaining < ready)
		heddle_strategy_extend(c->blocks, ready - remaining);
	chunk = heddle_strategy_next(c->blocks, worker->slot);
	worker->given += chunk;
	return chunk ? chunk : 1;
}

void self_return(struct self_context *c, struct self_worker *worker, size_t n)
{
	if (n > worker->given)
		n = worker->given;
	if (n && c->blocks)
		heddle_strategy_return(c->blocks, worker->slot, n);
	worker->given -= n;
}
