/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A block as a task. On a CPU worker the arrays are in place: the control task holds them
 * in main memory, so the block has no handles and its kernel gets made-up interfaces. For
 * an accelerator the block's part of each array is registered when it is submitted.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "loop_private.h"
#include "partition/common/workers_starpu.h"

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

/* ---- from a block to a task ---- */

void loop_block_clear_partial(struct loop_block *block)
{
	for (unsigned i = 0; i < block->loop->loop.naccesses; i++)
		if (block->data[i].partial)
			memset(block->data[i].partial, 0,
			       work_array_bytes(&block->loop->views[i].array));
}

/* On a CPU worker. */
void loop_block_compute(struct loop_block *block)
{
	const struct heddle_loop *given = &block->loop->loop;
	union work_array_interface interfaces[HEDDLE_LOOP_MAXHANDLES];
	void *pointers[HEDDLE_LOOP_MAXHANDLES];

	loop_modelled_kernel_begin(block);
	if (!block->loop->modelled)
		block->begin_us = starpu_timing_now();
	for (unsigned i = 0; i < given->naccesses; i++) {
		const struct loop_view *view = &block->loop->views[i];

		loop_view_interface(view, loop_view_window(view, block), block->data[i].partial,
		                    &interfaces[i]);
		pointers[i] = &interfaces[i];
	}
	given->codelet->cpu_funcs[block->worker->implementation](pointers, &block->given);
	loop_modelled_kernel_end(block);
}

void loop_device_function(void *buffers[], void *arg)
{
	struct loop_block *block = arg;
	const struct heddle_loop *given = &block->loop->loop;
	unsigned implementation = starpu_task_get_implementation(starpu_task_get_current());
	enum starpu_worker_archtype type = starpu_worker_get_type(starpu_worker_get_id_check());

	/* A stock policy chose this worker. */
	if (!block->worker)
		loop_log_decision(block->loop, block);
	for (unsigned i = 0; i < given->naccesses; i++) {
		const struct loop_view *view = &block->loop->views[i];

		loop_view_correct(view, loop_view_window(view, block), buffers[i]);
	}
	work_codelet_function(given->codelet, type, implementation)(buffers, &block->given);
	loop_modelled_kernel_end(block);
}

/* 1/14 of the loop's iterations: a little more than the longest block that HDSS gives an
 * accelerator, which takes 1/16 of the run's time. */
#define USUAL_ROOM 14

/* Units of a view that a device is to allocate for a block. A device allocation costs as
 * much as a small block, and StarPU reuses only buffers of equal size. So all blocks up to
 * USUAL_ROOM get one size, where that fits, and larger ones a size of a coarse series. With
 * 1/32 instead a loop's first run allocated 8 to 10 buffers an array, with this 3 or 4: as
 * many as are in use at a time. */
static size_t block_room(const struct loop_block *block, const struct loop_view *view, size_t count)
{
	const struct heddle_loop_request *loop = block->loop;
	size_t usual = loop->loop.n / USUAL_ROOM,
	       room = loop_window_allocation(count, view->array.units);
	size_t unit = work_array_unit(&view->array);

	/* A stock policy's model is indexed by the footprint: equal sizes stay equal. */
	if (!loop->blocks)
		return count;
	if (view->access.share != HEDDLE_SLICE && view->access.share != HEDDLE_HALO)
		return room;
	if (block->worker && block->worker->maximum && usual > block->worker->maximum)
		usual = block->worker->maximum;
	usual = loop_window_allocation(usual * view->access.per_iteration + 2 * view->access.halo,
	                               view->array.units);
	room = usual > room ? usual : room;
	/* Not above what it can allocate, which is enough for the block itself. */
	if (block->worker && unit && room > block->worker->buffer / unit)
		room = block->worker->buffer / unit;
	return room;
}

static void block_register(struct loop_block *block, struct starpu_task *task)
{
	struct heddle_loop_request *loop = block->loop;

	for (unsigned i = 0; i < loop->loop.naccesses; i++) {
		const struct loop_view *view = &loop->views[i];
		struct loop_window window = loop_view_window(view, block);

		block->data[i].handle =
		    view->whole
		        ? view->whole
		        : loop_view_register(view, window, block_room(block, view, window.count),
		                             block->data[i].partial);
		task->handles[i] = block->data[i].handle;
	}
}

void loop_block_unregister(struct loop_block *block, unsigned i)
{
	if (!block->loop->views[i].whole)
		starpu_data_unregister_submit(block->data[i].handle);
}

int loop_block_submit(struct loop_block *block, bool on_host, void (*done)(void *block))
{
	struct heddle_loop_request *loop = block->loop;
	struct starpu_task *task = starpu_task_create();
	int status;

	loop_block_clear_partial(block);
	if (on_host) {
		task->cl = &loop->host_codelet;
	} else {
		task->cl = &loop->device_codelet;
		block_register(block, task);
	}
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
	}
	status = work_task_submit(task, loop->name);
	for (unsigned i = 0; status && !on_host && i < loop->loop.naccesses; i++)
		loop_block_unregister(block, i);
	return status;
}

void loop_block_prepare(struct loop_block *block, struct loop_range range, double now)
{
	block->given = (struct heddle_block){
	    .start = range.start,
	    .n = range.n,
	    .total = block->loop->loop.n,
	    .arg = block->loop->loop.arg,
	};
	block->range = range;
	block->submit_us = block->begin_us = now;
	block->loop->under_way++;
	block->loop->references++;
	block->loop->nblocks++;
}
