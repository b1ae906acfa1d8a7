/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A block as a task, and how long it takes. On a CPU worker the arrays are in place: the control
 * task holds them in main memory, so the block has no handles and its kernel gets made-up
 * interfaces. For an accelerator the block's part of each array is registered when it is submitted.
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "estimator/estimate_starpu.h"
#include "late.h"
#include "loop_private.h"
#include "partition/common/workers_starpu.h"
#include "support/clock_starpu.h"
#include "support/log.h"
#include "support/message.h"

/* ---- spare blocks ---- */

void loop_block_free(struct loop_block *block)
{
	for (unsigned i = 0; i < HEDDLE_LOOP_MAXHANDLES; i++)
		free(block->data[i].partial);
	free(block);
}

static struct loop_block *block_new(struct heddle_loop_request *loop)
{
	struct loop_block *block = calloc(1, sizeof(*block));

	if (!block)
		return NULL;
	block->loop = loop;
	for (unsigned i = 0; i < loop->loop.naccesses; i++) {
		const struct loop_view *view = &loop->views[i];

		if (view->access.share != HEDDLE_REDUCE)
			continue;
		block->data[i].partial = malloc(work_array_bytes(&view->array));
		if (!block->data[i].partial) {
			loop_block_free(block);
			return NULL;
		}
	}
	return block;
}

struct loop_block *loop_block_get(struct heddle_loop_request *loop)
{
	struct loop_block *block = loop->spare;

	if (!block)
		return block_new(loop);
	loop->spare = block->next;
	return block;
}

void loop_block_spare(struct loop_block *block)
{
	block->next = block->loop->spare;
	block->loop->spare = block;
}

/* ---- what a block leaves in logs ---- */

struct loop_record {
	unsigned worker;
	enum heddle_phase phase;
	size_t start, n;
	double submit_us, done_us;
};

/* Blocks are kept in memory and written when the loop is over, so
 * that the log does not change what it reports. */
void loop_log_block(struct heddle_loop_request *loop, const struct loop_block *block)
{
	double zero_us;

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
	zero_us = heddle_log_zero(loop->start_us);
	loop->records[loop->nrecords++] = (struct loop_record){
	    .worker = block->worker->index,
	    .phase = block->phase,
	    .start = block->given.start,
	    .n = block->given.n,
	    .submit_us = block->submit_us - zero_us,
	    .done_us = block->done_us - zero_us,
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
		fprintf(log.file, "%s%s", modelled ? "," : "", modelled ? clock : "");
		heddle_log_line_end(&log);
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

/* ---- modelled time ----
 *
 * heddle/clock.h. On a simulated board a block takes what the board says. Elsewhere it takes its
 * time on the wall clock; the time that its kernel spent on simulating a device is replaced by what
 * that device would have taken. Blocks are settled in the order in which they end in modelled time.
 * Workers have one block at a time: blocks that overlap while a device is simulated would not
 * overlap on the device. */

void loop_modelled_given(struct loop_block *block)
{
	struct loop_worker *worker = block->worker;

	if (!block->loop->modelled)
		return;
	block->saved_us = 0;
	block->wall_us = starpu_timing_now();
	worker->running = true;
	worker->running_us = block->submit_us;
	worker->wall_us = loop_worker_is_host(worker) ? 0 : block->wall_us;
}

static void modelled_submit(struct loop_block *block)
{
	if (block->loop->modelled && block->worker)
		block->board_us = heddle_clock_board_us(block->worker->stats.id);
}

static void modelled_kernel_begin(struct loop_block *block)
{
	struct heddle_loop_request *loop = block->loop;

	if (!loop->modelled || !loop_worker_is_host(block->worker))
		return;
	/* The time that it waited for its worker is no part of its time. */
	loop_lock(loop);
	block->wall_us = block->worker->wall_us = starpu_timing_now();
	loop_unlock(loop);
}

static void modelled_kernel_end(struct loop_block *block)
{
	double wall_us, modelled_us;

	if (block->loop->modelled &&
	    heddle_clock_said(starpu_task_get_current(), &wall_us, &modelled_us))
		block->saved_us = wall_us - modelled_us;
}

void loop_modelled_finished(struct loop_block *block)
{
	struct heddle_loop_request *loop = block->loop;
	struct loop_worker *worker = block->worker;
	double us = block->board_us < 0 ? starpu_timing_now() - block->wall_us - block->saved_us
	                                : heddle_clock_board_us(worker->stats.id) - block->board_us;

	block->done_us = block->submit_us + (us > 0 ? us : 0);
	loop_lock(loop);
	worker->running = false;
	if (block->saved_us)
		worker->simulates = true;
	block->next = loop->finished;
	loop->finished = block;
	loop_unlock(loop);
}

/* Mutex held: whether a worker's block could still end before a time. */
static bool worker_may_end_before(const struct loop_worker *worker, double us, double wall_us)
{
	double least = worker->running_us;

	if (!worker->running)
		return false;
	if (worker->wall_us && !worker->simulates)
		least += wall_us - worker->wall_us;
	return least < us;
}

struct loop_block *loop_modelled_next(struct heddle_loop_request *loop)
{
	struct loop_block **first = &loop->finished, *block;
	double wall_us = starpu_timing_now();

	if (!loop->finished)
		return NULL;
	for (struct loop_block **at = &loop->finished->next; *at; at = &(*at)->next)
		if ((*at)->done_us < (*first)->done_us)
			first = at;
	block = *first;
	for (unsigned l = 0; l < loop->nworkers; l++)
		if (worker_may_end_before(&loop->workers[l], block->done_us, wall_us))
			return NULL;
	*first = block->next;
	if (block->done_us > loop->now_us)
		loop->now_us = block->done_us;
	return block;
}

/* ---- from a block to a task ---- */

struct loop_window loop_block_window(const struct loop_block *block, unsigned i)
{
	return loop_view_window(&block->loop->views[i], block->range.start, block->range.n);
}

void loop_block_clear_partial(struct loop_block *block)
{
	for (unsigned i = 0; i < block->loop->loop.naccesses; i++)
		if (block->data[i].partial)
			memset(block->data[i].partial, 0,
			       work_array_bytes(&block->loop->views[i].array));
}

void *loop_block_apart(const struct loop_block *block, unsigned i)
{
	const struct loop_again *again = block->piece_of;
	const struct work_array *array = &block->loop->views[i].array;
	size_t first;

	if (!again || !again->copies[i])
		return block->data[i].partial;
	first = loop_view_window(&block->loop->views[i], again->range.start, again->range.n).first;
	return (char *)again->copies[i] +
	       (loop_block_window(block, i).first - first) * array->ld * array->elemsize;
}

/* Calls the kernel of a CPU worker for the block's range. */
static void block_call(struct loop_block *block)
{
	const struct heddle_loop *given = &block->loop->loop;
	union work_array_interface interfaces[HEDDLE_LOOP_MAXHANDLES];
	void *pointers[HEDDLE_LOOP_MAXHANDLES];

	for (unsigned i = 0; i < given->naccesses; i++) {
		const struct loop_view *view = &block->loop->views[i];

		loop_view_interface(view, loop_block_window(block, i), loop_block_apart(block, i),
		                    &interfaces[i]);
		pointers[i] = &interfaces[i];
	}
	given->codelet->cpu_funcs[block->worker->implementation](pointers, &block->given);
}

static void block_set_range(struct loop_block *block, size_t start, size_t n)
{
	block->range.start = start;
	block->range.n = n;
	block->given.start = block->loop->loop.first + start;
	block->given.n = n;
}

/* Iterations that the kernel gets at once. A kernel may write its sums instead of adding to them.
 */
static size_t block_part(const struct loop_block *block)
{
	const struct heddle_loop_request *loop = block->loop;

	if (loop->reduces || loop->modelled || block->piece_of)
		return block->range.n;
	return loop_late_part(block->range.n, block->predicted_us, block->predicted_start_us,
	                      loop->loop.alignment ? loop->loop.alignment : 1);
}

/* Calls the kernel part by part. If these take far longer than expected, the block ends, and what
 * is left of it is given out again, unless the worker would be done with it before the loop is. */
static void block_call_parts(struct loop_block *block)
{
	const size_t start = block->range.start, n = block->range.n, part = block_part(block);
	size_t done = 0;
	double rest_us;

	do {
		block_set_range(block, start + done, part < n - done ? part : n - done);
		block_call(block);
		done += block->range.n;
		block_set_range(block, start, n);
		if (block->given.status || done == n)
			return;
		rest_us = loop_late_rest_us(n, done, starpu_timing_now() - block->begin_us,
		                            block->predicted_us);
	} while (!rest_us || !loop_block_shorten(block, done, rest_us));
}

/* On a CPU worker. */
void loop_block_compute(struct loop_block *block)
{
	if (loop_late_unwanted(block))
		return;
	loop_late_piece_begins(block);
	/* The first attempt may have written meanwhile what was copied. */
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	if (loop_late_unwanted(block))
		return;
	modelled_kernel_begin(block);
	if (!block->loop->modelled)
		block->begin_us = starpu_timing_now();
	block_call_parts(block);
	modelled_kernel_end(block);
}

void loop_plain_function(void *buffers[], void *arg)
{
	struct loop_block *block = arg;
	const struct heddle_loop *given = &block->loop->loop;
	void *arrays[HEDDLE_LOOP_MAXHANDLES];

	for (unsigned i = 0; i < given->naccesses; i++) {
		const struct heddle_access *access = &given->accesses[i];
		const struct work_array *array = &block->loop->views[i].array;
		const union work_array_interface *interface = buffers[i];
		size_t before =
		    access->share == HEDDLE_HALO
		        ? heddle_block_before(&block->given, access->per_iteration, access->halo)
		        : 0;

		arrays[i] =
		    (char *)(array->shape == STARPU_VECTOR_INTERFACE_ID ? interface->vector.ptr
		                                                        : interface->matrix.ptr) +
		    before * array->ld * array->elemsize;
	}
	block->given.status =
	    given->function(block->given.start, block->given.n, arrays, given->arg);
}

void loop_device_function(void *buffers[], void *arg)
{
	struct loop_block *block = arg;
	const struct heddle_loop *given = &block->loop->loop;
	unsigned implementation = starpu_task_get_implementation(starpu_task_get_current());
	enum starpu_worker_archtype type = starpu_worker_get_type(starpu_worker_get_id_check());

	if (loop_late_unwanted(block))
		return;
	/* A stock policy chose this worker. */
	if (!block->worker)
		loop_log_decision(block->loop, block);
	for (unsigned i = 0; i < given->naccesses; i++)
		loop_view_correct(&block->loop->views[i], block->data[i].count, buffers[i]);
	work_codelet_function(given->codelet, type, implementation)(buffers, &block->given);
	modelled_kernel_end(block);
}

static void block_register(struct loop_block *block, struct starpu_task *task)
{
	struct heddle_loop_request *loop = block->loop;

	loop_late_piece_begins(block);
	for (unsigned i = 0; i < loop->loop.naccesses; i++) {
		const struct loop_view *view = &loop->views[i];
		struct loop_window window = loop_block_window(block, i);

		block->data[i].count = window.count;
		block->data[i].handle =
		    view->whole
		        ? view->whole
		        : loop_view_register(
		              view, window, loop_view_room(loop, view, block->worker, window.count),
		              loop_block_apart(block, i));
		task->handles[i] = block->data[i].handle;
	}
}

void loop_block_unregister(struct loop_block *block, unsigned i)
{
	if (!block->loop->views[i].whole)
		starpu_data_unregister_submit(block->data[i].handle);
}

void loop_block_unregister_all(struct loop_block *block)
{
	for (unsigned i = 0; i < block->loop->loop.naccesses; i++)
		loop_block_unregister(block, i);
}

int loop_block_submit(struct loop_block *block, bool on_host, void (*done)(void *block))
{
	struct heddle_loop_request *loop = block->loop;
	struct starpu_task *task = starpu_task_create();
	bool registered;
	int status;

	modelled_submit(block);
	loop_block_clear_partial(block);
	task->cl = on_host ? &loop->host_codelet : &loop->device_codelet;
	registered = task->cl->nbuffers > 0;
	if (registered)
		block_register(block, task);
	task->cl_arg = &block->given;
	task->callback_func = done;
	task->callback_arg = block;
	task->sched_ctx = loop->loop.sched_ctx;
	if (block->worker) {
		work_task_pin(task, block->worker->stats.id,
		              on_host ? 0 : block->worker->implementation);
		loop_log_decision(loop, block);
	} else {
		work_task_choose(task, &loop->ids);
		if (block->probe)
			task->where = STARPU_CPU;
		if (!block->probe && task->cl->model && task->cl->model->arch_cost_function)
			atomic_store_explicit(&loop->key, heddle_estimate_key(task),
			                      memory_order_relaxed);
	}
	status = work_task_submit(task, loop->name);
	if (status && registered)
		loop_block_unregister_all(block);
	return status;
}

void loop_block_prepare(struct loop_block *block, struct loop_range range, double now)
{
	block->given = (struct heddle_block){
	    .start = block->loop->loop.first + range.start,
	    .n = range.n,
	    .total = block->loop->loop.total,
	    .arg = block->loop->loop.arg,
	};
	block->range = range;
	block->again = block->piece_of = NULL;
	block->dropped = false;
	block->submit_us = block->begin_us = now;
	block->loop->under_way++;
	block->loop->references++;
	block->loop->nblocks++;
}
