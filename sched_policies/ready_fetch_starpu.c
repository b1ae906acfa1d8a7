/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * How many tasks an accelerator claims ahead, and fetching their inputs meanwhile.
 *
 * In one node the sender of Anthill's streams is the pool that all workers share. A
 * request is a claim; it is answered when the task's input is in the worker's
 * memory, and the time between is DQAA's request latency. Whether it is there is
 * looked at once per task that the worker takes: the length of a queue is counted
 * in tasks, a finer clock would not change it.
 *
 * Algorithm 1 bounds the claims by what raises the throughput: the work taken per
 * time, a task's work being the time it is believed to need, so that a change in
 * the mix of tasks does not look like one in throughput. DQAA's target lies below.
 *
 * Workers in main memory claim nothing: they would wait for nothing.
 */
#include "config.h"

#include <errno.h>
#include <stdlib.h>

#include "support/variables.h"
#include "sched_policies/ready.h"

/* Tasks of a round of Algorithm 1, at least: single ones are measured badly. */
#define ROUND 8

void ready_fetch_init(struct ready_context *c, unsigned id)
{
	struct ready_worker *worker = &c->workers[id];

	worker->node = starpu_worker_get_memory_node(id);
	worker->accelerator = worker->node != STARPU_MAIN_RAM;
	heddle_streams_init(&worker->streams, READY_MAX_TRANSFERS);
	heddle_dqaa_init(&worker->dqaa, READY_MAX_TRANSFERS);
}

unsigned ready_fetch_target(const struct ready_context *c, const struct ready_worker *worker)
{
	unsigned target = c->depth;

	if (!worker->accelerator)
		return 0;
	if (c->prefetch >= 0)
		return c->prefetch;
	if (c->traits.transfers)
		target = worker->streams.concurrent;
	if (c->traits.queue && worker->dqaa.target < target)
		target = worker->dqaa.target;
	return target;
}

/* Half of the device: the rest is for results and for what is still in use. */
bool ready_fetch_fits(const struct ready_worker *worker, size_t bytes)
{
	starpu_ssize_t total = starpu_memory_get_total(worker->node);

	return total <= 0 || worker->claims_bytes + bytes <= (size_t)total / 2;
}

size_t ready_task_bytes(struct starpu_task *task)
{
	size_t bytes = 0;

	for (unsigned i = 0; i < STARPU_TASK_GET_NBUFFERS(task); i++)
		bytes += starpu_data_get_size(STARPU_TASK_GET_HANDLE(task, i));
	return bytes;
}

/* ---- rounds of Algorithm 1 ---- */

static void round_end(struct ready_worker *worker, double now_us)
{
	if (now_us > worker->round_us)
		heddle_streams_round(&worker->streams,
		                     worker->round_weight / (now_us - worker->round_us));
	worker->round_us = now_us;
	worker->round_weight = 0;
	worker->round_tasks = 0;
}

/* Work that is taken counts when the next is taken: then it was done. */
static void round_task(const struct ready_context *c, struct ready_worker *worker, double weight,
                       double now_us)
{
	unsigned tasks = worker->streams.concurrent > ROUND ? worker->streams.concurrent : ROUND;

	if (worker->round_us <= 0) {
		worker->round_us = now_us;
		worker->round_weight = 0;
		worker->round_tasks = 0;
	} else if (weight > 0 && worker->weight > 0) {
		worker->round_weight += worker->weight;
		/* A number that was not made use of says nothing. */
		if (++worker->round_tasks >= tasks &&
		    ready_fetch_target(c, worker) == worker->streams.concurrent)
			round_end(worker, now_us);
	} else {
		worker->round_us = 0; /* work of unknown length */
	}
	worker->weight = weight;
}

void ready_fetch_started(struct ready_context *c, struct ready_worker *worker,
                         const struct heddle_pool_entry *entry, const struct ready_claim *claim,
                         double now_us)
{
	if (!worker->accelerator)
		return;
	if (claim && claim->fetch == READY_FETCH_ASKED) {
		worker->late = entry->item;
		worker->late_since_us = claim->since_us;
	}
	if (c->traits.transfers && c->prefetch < 0)
		round_task(c, worker,
		           c->choosing ? heddle_pool_us(entry->key.cost[worker->kind]) : 1, now_us);
}

void ready_fetch_running(struct ready_worker *worker, const struct starpu_task *task)
{
	if (worker->late != task)
		return;
	heddle_dqaa_received(&worker->dqaa, starpu_timing_now() - worker->late_since_us);
	worker->late = NULL;
}

void ready_fetch_done(const struct ready_context *c, struct ready_worker *worker, double us)
{
	if (worker->accelerator && c->traits.queue && c->prefetch < 0)
		heddle_dqaa_processed(&worker->dqaa, us);
}

void ready_fetch_idle(struct ready_worker *worker)
{
	worker->round_us = 0;
	worker->weight = 0;
}

/* ---- inputs ---- */

static bool has_arrived(struct starpu_task *task, unsigned node)
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

void ready_fetch_collect(struct ready_worker *worker, struct ready_errands *errands)
{
	errands->n = 0;
	for (size_t i = 0; i < ring_count(&worker->claims) && errands->n < READY_MAX_TRANSFERS;
	     i++) {
		struct ready_claim *claim = ready_claim_at(worker, i);
		struct starpu_task *task = claim->entry.item;

		if (claim->fetch != READY_FETCH_NOT && claim->fetch != READY_FETCH_ASKED)
			continue;
		if (!STARPU_TASK_GET_NBUFFERS(task)) {
			claim->fetch = READY_FETCH_DONE;
			continue;
		}
		errands->of[errands->n].task = task;
		errands->of[errands->n].asked =
		    claim->fetch == READY_FETCH_ASKED || task->prefetched;
		errands->of[errands->n++].arrived = false;
		claim->fetch = READY_FETCH_BUSY;
	}
}

/* Claims that are looked after stay where they are, in their order. */
static void errands_end(struct ready_worker *worker, const struct ready_errands *errands)
{
	double now_us = starpu_timing_now();
	unsigned n = 0;

	for (size_t i = 0; i < ring_count(&worker->claims) && n < errands->n; i++) {
		struct ready_claim *claim = ready_claim_at(worker, i);
		bool arrived = errands->of[n].arrived;

		if (claim->fetch != READY_FETCH_BUSY)
			continue;
		claim->fetch = arrived ? READY_FETCH_DONE : READY_FETCH_ASKED;
		if (arrived)
			heddle_dqaa_received(&worker->dqaa, now_us - claim->since_us);
		n++;
	}
}

void ready_fetch_attend(struct ready_context *c, unsigned id, struct ready_errands *errands)
{
	struct ready_worker *worker = &c->workers[id];

	if (!errands->n)
		return;
	for (unsigned i = 0; i < errands->n; i++)
		if (errands->of[i].asked)
			errands->of[i].arrived = has_arrived(errands->of[i].task, worker->node);
		else
			heddle_compat_fetch_ahead(errands->of[i].task, id);
	policy_lock(&c->mutex);
	errands_end(worker, errands);
	STARPU_PTHREAD_MUTEX_UNLOCK(&c->mutex);
}
