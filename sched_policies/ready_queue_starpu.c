/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The queue of an accelerator: how many tasks it claims ahead, and the transfers of their inputs.
 * The sender of Anthill's streams is the pool. A request is a claim, answered when the task's
 * input is in the worker's memory; the time between is DQAA's request latency. Algorithm 1 bounds
 * the claims by what raises the throughput, DQAA's target lies below. Workers in main memory claim
 * nothing: they would wait for nothing.
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>

#include "support/log.h"
#include "support/message.h"
#include "support/variables.h"
#include "estimator/platform_starpu.h"
#include "sched_policies/ready.h"

/* Tasks of a round of Algorithm 1, at least: single ones are measured badly. A round's work is
 * the time that its tasks are estimated to need, so that a change in the mix of tasks does not look
 * like one in throughput. */
#define ROUND 8

void ready_queue_init(struct ready_context *c, unsigned id)
{
	struct ready_worker *worker = &c->workers[id];

	worker->node = starpu_worker_get_memory_node(id);
	worker->accelerator = worker->node != STARPU_MAIN_RAM;
	heddle_streams_init(&worker->streams, CLAIMS_MAX_REQUESTS);
	heddle_dqaa_init(&worker->dqaa, CLAIMS_MAX_REQUESTS);
}

unsigned ready_queue_target(const struct ready_context *c, const struct ready_worker *worker)
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
size_t ready_queue_room(const struct ready_context *c, unsigned node)
{
	starpu_ssize_t total = starpu_memory_get_total(node);
	size_t half = total / 2, fetched = atomic_load(&c->fetched_bytes[node]);

	if (total <= 0)
		return SIZE_MAX;
	return fetched < half ? half - fetched : 0;
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
		    ready_queue_target(c, worker) == worker->streams.concurrent)
			round_end(worker, now_us);
	} else {
		worker->round_us = 0; /* work of unknown length */
	}
	worker->weight = weight;
}

void ready_queue_started(struct ready_context *c, struct ready_worker *worker,
                         const struct heddle_pool_entry *entry, const struct claim *claim,
                         double now_us)
{
	if (!worker->accelerator)
		return;
	if (claim && claim->input == CLAIM_INPUT_ASKED) {
		worker->late = entry->item;
		worker->late_since_us = claim->since_us;
	}
	if (c->traits.transfers && c->prefetch < 0)
		round_task(c, worker,
		           c->choosing ? heddle_pool_us(entry->key.cost[worker->class]) : 1,
		           now_us);
}

void ready_queue_running(struct ready_worker *worker, const struct starpu_task *task)
{
	if (worker->late != task)
		return;
	heddle_dqaa_received(&worker->dqaa, starpu_timing_now() - worker->late_since_us);
	worker->late = NULL;
}

void ready_queue_done(const struct ready_context *c, struct ready_worker *worker, double us)
{
	if (worker->accelerator && c->traits.queue && c->prefetch < 0)
		heddle_dqaa_processed(&worker->dqaa, us);
}

void ready_queue_idle(struct ready_worker *worker)
{
	worker->round_us = 0;
	worker->weight = 0;
	worker->rested = true;
}

/* ---- inputs ---- */

void ready_queue_fetch(struct ready_context *c, unsigned id, struct claims_requests *requests)
{
	double now_us;

	if (!requests->n)
		return;
	claims_requests_send(id, requests);
	ready_lock(c, id);
	claims_requests_end(&c->claims, id, requests);
	STARPU_PTHREAD_MUTEX_UNLOCK(&c->mutex);
	now_us = starpu_timing_now();
	for (unsigned i = 0; i < requests->n; i++)
		if (requests->of[i].arrived)
			heddle_dqaa_received(&c->workers[id].dqaa,
			                     now_us - requests->of[i].since_us);
}

/* ---- the log (HEDDLE_QUEUE_LOG), as in Figure 12 of Teodoro et al., HPDC 2010 ---- */

struct ready_record {
	double time_us;
	unsigned worker, target, queued;
	enum heddle_kind kind;
};

void ready_queue_log_begin(struct ready_context *c)
{
	c->log.on = *heddle_variable_text(HEDDLE_VARIABLE_QUEUE_LOG);
	c->log.begin_us = c->log.on ? starpu_timing_now() : 0;
}

void ready_queue_log(struct ready_context *c, unsigned id, double now_us)
{
	const struct ready_worker *worker = &c->workers[id];
	struct ready_log *log = &c->log;

	if (!log->on || !worker->accelerator)
		return;
	if (log->n == log->room) {
		size_t room = log->room ? 2 * log->room : 1024;
		struct ready_record *grown = realloc(log->records, room * sizeof(*grown));

		if (!grown) {
			heddle_warn("HEDDLE_QUEUE_LOG: no memory, it ends here");
			log->on = false;
			return;
		}
		log->records = grown;
		log->room = room;
	}
	log->records[log->n++] = (struct ready_record){
	    .time_us = now_us,
	    .worker = id,
	    .target = ready_queue_target(c, worker),
	    .queued = claims_count(&c->claims, id),
	    .kind = heddle_worker_kind(id),
	};
}

void ready_queue_log_write(struct ready_context *c)
{
	const struct ready_log *log = &c->log;
	double zero_us = heddle_log_first_zero(log->begin_us);
	struct heddle_log lines;

	if (log->n && !heddle_log_open(&lines, HEDDLE_VARIABLE_QUEUE_LOG,
	                               "time_us,worker,kind,target,queued")) {
		for (size_t r = 0; r < log->n; r++) {
			fprintf(lines.file, "%.3f,%u,%s,%u,%u", log->records[r].time_us - zero_us,
			        log->records[r].worker, heddle_kind_name(log->records[r].kind),
			        log->records[r].target, log->records[r].queued);
			heddle_log_line_end(&lines);
		}
		heddle_log_close(&lines);
	}
	free(log->records);
}
