/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Claims: tasks that a worker has reserved and not started. They stay visible: another worker
 * takes them back when it finds nothing else. An accelerator asks for the inputs of its claims
 * ahead. The policy's mutex guards them and is held in every call that does not say otherwise.
 */
#ifndef HEDDLE_SCHED_POLICIES_CLAIMS_STARPU_H
#define HEDDLE_SCHED_POLICIES_CLAIMS_STARPU_H

#include <stdbool.h>

#include "support/starpu_compat.h"
#include "sched_policies/pool.h"
#include "sched_policies/ring.h"

/** Transfer requests at once, at the most. */
#define CLAIMS_MAX_REQUESTS 64

enum claim_input {
	CLAIM_INPUT_NOT_ASKED, /**< nobody has asked for the input */
	CLAIM_INPUT_BUSY,      /**< its owner deals with the input: nobody may take the task */
	CLAIM_INPUT_ASKED,     /**< on its way to the owner */
	CLAIM_INPUT_ARRIVED    /**< in the owner's memory, or there is none */
};

struct claim {
	struct heddle_pool_entry entry;
	enum claim_input input;
	bool trial;        /**< the first task of its type for the owner's class */
	double since_us;   /**< when it was claimed */
	double arrival_us; /**< under heddle: when its inputs are expected; 0: they are there */
	double fetch_us;   /**< how long they travel; 0: they are there */
	size_t bytes;      /**< of its data */
};

/** The claims of one worker, in the order in which they were made. */
struct claim_list {
	struct ring ring; /**< of struct claim */
	bool mixed;       /**< their priorities may differ */
};

/** The claims of all workers of a context. */
struct claims {
	unsigned nworkers;
	size_t total;
	int top;    /**< no claim has a higher priority */
	bool looks; /**< an owner does not ask for inputs that it has */
	struct claim_list *lists;
};

static inline size_t claims_count(const struct claims *claims, unsigned worker)
{
	return ring_count(&claims->lists[worker].ring);
}

static inline struct claim *claims_at(const struct claims *claims, unsigned worker, size_t i)
{
	return ring_at(&claims->lists[worker].ring, i);
}

/** @return 0; -ENOMEM */
int claims_create(struct claims *claims, unsigned nworkers);

void claims_destroy(struct claims *claims);

/** Makes room for another claim of a worker. @return 0; -ENOMEM */
int claims_reserve(struct claims *claims, unsigned worker);

/** Adds a claim; claims_reserve() has made room. */
void claims_add(struct claims *claims, unsigned worker, const struct claim *claim);

/** Takes the i-th claim of a worker away.
 * @param[out] claim what it was */
void claims_remove(struct claims *claims, unsigned worker, size_t i, struct claim *claim);

/** Place of the first of a worker's claims of highest priority; there is one. */
size_t claims_best(const struct claims *claims, unsigned worker);

/** What a worker looks for among the claims of others. */
struct claims_query {
	unsigned worker; /**< whose own claims do not count */
	int least;       /**< nothing of a lower priority */
	/** Whether the worker may take it. */
	bool (*accept)(const struct claim *claim, unsigned owner, void *arg);
	void *arg;
};

/** Finds the claim of highest priority that a worker may take back; among equals from the owner
 * of most claims, and there the last.
 * @param[out] owner, index set on success
 * @return whether there is one */
bool claims_find(struct claims *claims, const struct claims_query *query, unsigned *owner,
                 size_t *index);

/** Puts a worker's claims back into the pool. Those whose input was asked for stay: who takes
 * them back waits for it (claims_left_behind()). Without memory the others stay too.
 * @param removed called with each claim that went back */
void claims_give_back(struct claims *claims, unsigned worker, struct heddle_pool *pool,
                      void (*removed)(unsigned worker, const struct claim *claim, void *arg),
                      void *arg);

/** Whether a memory has all that a task reads. The mutex need not be held. */
bool claims_inputs_are_there(struct starpu_task *task, unsigned node);

/** Transfer requests of a worker: made without the mutex. */
struct claims_requests {
	unsigned n;
	struct {
		struct starpu_task *task;
		double since_us; /**< when it was claimed */
		bool asked;      /**< before: has the input arrived? */
		bool arrived;
	} of[CLAIMS_MAX_REQUESTS];
};

/** Collects the transfer requests of a worker's first claims.
 * @param arrivals also asks whether what was asked for before has arrived */
void claims_requests_collect(struct claims *claims, unsigned worker, size_t first, bool arrivals,
                             struct claims_requests *requests);

/** Asks StarPU for the inputs, and which have arrived. The mutex is not held. */
void claims_requests_send(unsigned worker, struct claims_requests *requests);

/** Others may take the claims again. */
void claims_requests_end(struct claims *claims, unsigned worker,
                         const struct claims_requests *requests);

/** A task goes to another worker than the one that asked for its input. The transfer goes on, and
 * StarPU waits for it when the data ends. On a full device that would be for ever, since an
 * input that is fetched ahead replaces no other data: so the input is fetched without delay. The
 * mutex is not held.
 * @param from the worker that asked, to the one that starts the task */
void claims_left_behind(struct starpu_task *task, unsigned from, unsigned to);

/** Hook do_schedule: before StarPU is shut down, waits for the transfers of such tasks. */
void claims_drain(unsigned ctx);

#endif
