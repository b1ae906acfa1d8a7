/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * How long accelerators' queues are and should be: a CSV line whenever one takes a
 * task (HEDDLE_QUEUE_LOG), as in Figure 12 of Teodoro et al., HPDC 2010.
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>

#include "support/log.h"
#include "support/message.h"
#include "estimator/platform_starpu.h"
#include "sched_policies/ready.h"

struct ready_record {
	double time_us;
	unsigned worker, target, queued;
	enum heddle_kind kind;
};

void ready_log_init(struct ready_context *c)
{
	c->log.on = *heddle_variable_text(HEDDLE_VARIABLE_QUEUE_LOG);
	c->log.begin_us = c->log.on ? starpu_timing_now() : 0;
}

void ready_log_queue(struct ready_context *c, unsigned id, double now_us)
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
	    .time_us = now_us - log->begin_us,
	    .worker = id,
	    .target = ready_fetch_target(c, worker),
	    .queued = ring_count(&worker->claims),
	    .kind = heddle_worker_kind(id),
	};
}

void ready_log_write(struct ready_context *c)
{
	const struct ready_log *log = &c->log;
	struct heddle_log lines;

	if (log->n && !heddle_log_open(&lines, HEDDLE_VARIABLE_QUEUE_LOG,
	                               "time_us,worker,kind,target,queued")) {
		for (size_t r = 0; r < log->n; r++)
			fprintf(lines.file, "%.3f,%u,%s,%u,%u\n", log->records[r].time_us,
			        log->records[r].worker, heddle_kind_name(log->records[r].kind),
			        log->records[r].target, log->records[r].queued);
		heddle_log_close(&lines);
	}
	free(log->records);
}
