/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * What the files of self-scheduling share: self_scheduling_starpu.c has the hooks,
 * self_strategy_starpu.c how many tasks a worker claims, self_take_starpu.c which ones.
 *
 * One mutex a context guards the pool, the claims and the strategy. What only a
 * worker itself touches needs none.
 */
#ifndef HEDDLE_SCHED_POLICIES_SELF_H
#define HEDDLE_SCHED_POLICIES_SELF_H

#include <stdatomic.h>
#include <stdbool.h>

#include <heddle/strategy.h>

#include "sched_policies/common_starpu.h"
#include "sched_policies/pool.h"
#include "sched_policies/ring.h"

enum self_fetch {
	SELF_FETCH_NOT,
	SELF_FETCH_BUSY, /* being asked for: nobody may take the task meanwhile */
	SELF_FETCH_DONE
};

/** A task that a worker has claimed. */
struct self_claim {
	struct starpu_task *task;
	enum self_fetch fetch;
};

struct self_worker {
	/* Under the context's mutex. */
	struct ring claims; /* of struct self_claim, all of one priority */
	int slot;           /* its number in the strategy, -1: none */
	size_t given;       /* tasks that the strategy gave it and has not heard of */
	/* The worker's own. */
	unsigned kind;
	unsigned started, done; /* tasks, since the strategy last heard */
	double since_us;        /* start of the time the strategy has not heard of */
	double idle_us;         /* end of it, when the worker ran out of work; or 0 */
	double foreign_us;      /* start of a task that came from elsewhere */
} __attribute__((aligned(64)));

struct self_context {
	starpu_pthread_mutex_t mutex;
	unsigned id;
	const char *strategy;
	struct heddle_pool *pool;
	struct heddle_strategy *blocks; /* NULL: none yet, or no memory for it */
	unsigned members;               /* of the context, when blocks was made; 0: since changed */
	unsigned nworkers;              /* of the machine */
	size_t nclaimed;
	int claimed_top;         /* no claimed task has a higher priority */
	unsigned depth;          /* claimed tasks whose inputs are fetched ahead */
	atomic_size_t unstarted; /* tasks in the pool and claimed */
	struct waiters waiters;
	struct self_worker workers[];
};

static inline struct self_claim *self_claim_at(const struct self_worker *worker, size_t i)
{
	return ring_at(&worker->claims, i);
}

/** How many of the ready tasks a worker claims, the one that it needs now among them: 1 or
 * more. The mutex is held here and below. */
size_t self_chunk(struct self_context *c, struct self_worker *worker);

/** Tells the strategy of tasks that it gave a worker and another has, or nobody. */
void self_return(struct self_context *c, struct self_worker *worker, size_t n);

/** The best task for a worker, wherever it lies; NULL: there is none.
 * @param[out] left who had asked for its input, set if somebody else had */
struct starpu_task *self_take(struct self_context *c, unsigned id, int *left);

/** Whether anything is left for a worker. */
bool self_work_for(struct self_context *c, unsigned id);

/** Puts what a worker claimed back into the pool, as far as memory allows, but for what it
 * has asked for the inputs of: that others take back when they find nothing else. */
void self_claims_give_back(struct self_context *c, struct self_worker *worker);

#endif
