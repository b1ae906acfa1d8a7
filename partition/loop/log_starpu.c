/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * What a loop leaves behind: a CSV line a block (HEDDLE_BLOCK_LOG) and an event a
 * decision in FxT traces.
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>

#include "loop_private.h"
#include "support/clock_starpu.h"
#include "support/log.h"
#include "support/message.h"

struct loop_record {
	unsigned worker;
	enum heddle_phase phase;
	size_t start, n;
	double submit_us, done_us;
};

/* Mutex held. Blocks are kept in memory and written when the loop is over, so
 * that the log does not change what it reports. */
void loop_log_block(struct heddle_loop_request *loop, const struct loop_block *block)
{
	if (!loop->logged)
		return;
	if (loop->nrecords == loop->capacity) {
		size_t capacity = loop->capacity ? 2 * loop->capacity : 256;
		struct loop_record *grown = realloc(loop->records, capacity * sizeof(*grown));

		if (!grown) {
			loop->nunlogged++;
			return;
		}
		loop->records = grown;
		loop->capacity = capacity;
	}
	loop->records[loop->nrecords++] = (struct loop_record){
	    .worker = block->worker->index,
	    .phase = block->phase,
	    .start = block->given.start,
	    .n = block->given.n,
	    .submit_us = block->submit_us - loop->start_us,
	    .done_us = block->done_us - loop->start_us,
	};
}

static void record_print(const struct heddle_loop_request *loop, const struct loop_record *record,
                         FILE *file)
{
	const struct heddle_worker_stats *worker = &loop->workers[record->worker].stats;

	fprintf(file, "%s,%d,%s,%s,%zu,%zu,%.3f,%.3f", loop->name, worker->id,
	        heddle_kind_name(worker->kind), heddle_phase_name(record->phase), record->start,
	        record->n, record->submit_us, record->done_us);
}

void loop_log_write(struct heddle_loop_request *loop)
{
	/* The clock is only named where the program uses modelled time. */
	bool modelled = heddle_clock() == HEDDLE_CLOCK_MODELLED;
	const char *clock =
	    heddle_clock_name(loop->modelled ? HEDDLE_CLOCK_MODELLED : HEDDLE_CLOCK_WALL);
	struct heddle_log log;

	if (!*heddle_variable_text(HEDDLE_VARIABLE_BLOCK_LOG) ||
	    heddle_log_open(&log, HEDDLE_VARIABLE_BLOCK_LOG,
	                    modelled ? "loop,worker,kind,phase,start,size,submit_us,done_us,clock"
	                             : "loop,worker,kind,phase,start,size,submit_us,done_us"))
		return;
	for (size_t r = 0; r < loop->nrecords; r++) {
		record_print(loop, &loop->records[r], log.file);
		fprintf(log.file, "%s%s\n", modelled ? "," : "", modelled ? clock : "");
	}
	heddle_log_close(&log);
	if (loop->nunlogged)
		heddle_warn("%s: %s: no memory for %zu blocks of loop %s", log.variable, log.path,
		            loop->nunlogged, loop->name);
}

void loop_log_decision(const struct heddle_loop_request *loop, const struct loop_block *block)
{
#ifdef HEDDLE_USE_FXT
	int worker = block->worker ? block->worker->stats.id : starpu_worker_get_id();
	char event[104]; /* what a trace event holds */

	if (!starpu_fxt_is_enabled())
		return;
	snprintf(event, sizeof(event), "heddle %.30s worker %d %s [%zu,+%zu]", loop->name, worker,
	         heddle_phase_name(block->phase), block->given.start, block->given.n);
	starpu_fxt_trace_user_event_string(event);
#endif
}
