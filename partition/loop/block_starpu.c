/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A block as a task. A lane that has room gives out a block (give_starpu.c), which
 * becomes a task pinned to the lane's worker, whose callback accounts for it and fills
 * the lane again (done_starpu.c).
 *
 * On a CPU worker the data is in place: the control task holds all of it in main
 * memory, so the block has no handles and its kernel gets interfaces made up from
 * the arrays. On an accelerator the parts of the arrays are registered just in
 * time. To unregister a handle does not bring its contents home: outputs are
 * acquired in main memory from the callback first, which also tells when they
 * have arrived.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "loop_private.h"
#include "partition/common/workers_starpu.h"

/* ---- spare blocks ---- */

void block_free(struct block *block)
{
	for (unsigned i = 0; i < HEDDLE_LOOP_MAXHANDLES; i++)
		free(block->parts[i].partial);
	free(block);
}

static struct block *block_new(struct heddle_loop_request *loop)
{
	struct block *block = calloc(1, sizeof(*block));

	if (!block)
		return NULL;
	block->loop = loop;
	for (unsigned i = 0; i < loop->loop.naccesses; i++) {
		const struct view *view = &loop->views[i];

		if (view->access.share != HEDDLE_REDUCE)
			continue;
		block->parts[i].partial = malloc(home_array_bytes(&view->array));
		if (!block->parts[i].partial) {
			block_free(block);
			return NULL;
		}
	}
	return block;
}

/* Mutex held. */
struct block *block_get(struct heddle_loop_request *loop)
{
	struct block *block = loop->spare;

	if (!block)
		return block_new(loop);
	loop->spare = block->next;
	return block;
}

/* Mutex held. */
void block_spare(struct block *block)
{
	block->next = block->loop->spare;
	block->loop->spare = block;
}

/* ---- from a block to a task ---- */

void block_clear_partial(struct block *block)
{
	for (unsigned i = 0; i < block->loop->loop.naccesses; i++)
		if (block->parts[i].partial)
			memset(block->parts[i].partial, 0,
			       home_array_bytes(&block->loop->views[i].array));
}

/* On a CPU worker. */
void block_compute(struct block *block)
{
	const struct heddle_loop *given = &block->loop->loop;
	union array_interface interfaces[HEDDLE_LOOP_MAXHANDLES];
	void *pointers[HEDDLE_LOOP_MAXHANDLES];

	modelled_kernel_begin(block);
	if (!block->loop->modelled)
		block->begin_us = starpu_timing_now();
	for (unsigned i = 0; i < given->naccesses; i++) {
		const struct view *view = &block->loop->views[i];

		view_interface(view, view_window(view, block), block->parts[i].partial,
		               &interfaces[i]);
		pointers[i] = &interfaces[i];
	}
	given->codelet->cpu_funcs[block->lane->implementation](pointers, &block->given);
	modelled_kernel_end(block);
}

void loop_device_function(void *buffers[], void *arg)
{
	struct block *block = arg;
	const struct heddle_loop *given = &block->loop->loop;
	unsigned implementation = starpu_task_get_implementation(starpu_task_get_current());
	enum starpu_worker_archtype type = starpu_worker_get_type(starpu_worker_get_id_check());

	/* A stock policy decided who computes it: this worker. */
	if (!block->lane)
		log_decision(block->loop, block);
	for (unsigned i = 0; i < given->naccesses; i++) {
		const struct view *view = &block->loop->views[i];

		view_correct(view, view_window(view, block), buffers[i]);
	}
	codelet_function(given->codelet, type, implementation)(buffers, &block->given);
	modelled_kernel_end(block);
}

/* Part of the loop that all smaller blocks of an accelerator have room for: a
 * little more than its longest slice under HDSS, 1/16 of the run's time and hence
 * no more of its iterations. */
#define USUAL_ROOM 14

/* Units of a view that a device is to allocate for a block. A device allocation
 * costs as much as a small block, and StarPU reuses only buffers of equal size:
 * so usual blocks all get one size, where that fits, and larger ones a size of a
 * coarse series. With 1/32 as the usual one a loop's first run allocated 8 to 10
 * buffers an array, with this 3 or 4: as many as are in use at a time. */
static size_t block_room(const struct block *block, const struct view *view, size_t count)
{
	const struct heddle_loop_request *loop = block->loop;
	size_t usual = loop->loop.n / USUAL_ROOM,
	       room = window_allocation(count, view->array.units);
	size_t unit = home_array_unit(&view->array);

	/* A stock policy's model goes by the footprint: equal sizes stay equal. */
	if (!loop->blocks)
		return count;
	if (view->access.share != HEDDLE_SLICE && view->access.share != HEDDLE_HALO)
		return room;
	if (block->lane && block->lane->maximum && usual > block->lane->maximum)
		usual = block->lane->maximum;
	usual = window_allocation(usual * view->access.per_iteration + 2 * view->access.halo,
	                          view->array.units);
	room = usual > room ? usual : room;
	/* Not above what it can allocate, which is enough for the block itself. */
	if (block->lane && unit && room > block->lane->buffer / unit)
		room = block->lane->buffer / unit;
	return room;
}

static void block_register(struct block *block, struct starpu_task *task)
{
	struct heddle_loop_request *loop = block->loop;

	for (unsigned i = 0; i < loop->loop.naccesses; i++) {
		const struct view *view = &loop->views[i];
		struct window window = view_window(view, block);

		block->parts[i].handle =
		    view->whole ? view->whole
		                : view_register(view, window, block_room(block, view, window.count),
		                                block->parts[i].partial);
		task->handles[i] = block->parts[i].handle;
	}
}

void block_unregister(struct block *block, unsigned i)
{
	if (!block->loop->views[i].whole)
		starpu_data_unregister_submit(block->parts[i].handle);
}

int block_submit(struct block *block, bool on_host, int worker)
{
	struct heddle_loop_request *loop = block->loop;
	struct starpu_task *task = starpu_task_create();
	int status;

	block_clear_partial(block);
	if (on_host) {
		task->cl = &loop->host_codelet;
		task->callback_func = block_done_at_home;
	} else {
		task->cl = &loop->device_codelet;
		task->callback_func = block_done_away;
		block_register(block, task);
	}
	task->cl_arg = &block->given;
	task->callback_arg = block;
	task->sched_ctx = loop->loop.sched_ctx;
	if (worker >= 0)
		task_pin(task, worker, on_host ? 0 : block->lane->implementation);
	else
		task_choose(task, &loop->workers);
	if (block->lane)
		log_decision(loop, block);
	status = task_submit(task, loop->name);
	for (unsigned i = 0; status && !on_host && i < loop->loop.naccesses; i++)
		block_unregister(block, i);
	return status;
}

void block_prepare(struct block *block, struct range range, double now)
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
