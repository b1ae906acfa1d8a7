/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The life of a block. A lane that has room asks the strategy (lane_fill), the
 * block becomes a task pinned to the lane's worker, and the task's callback
 * accounts for it and fills the lane again.
 *
 * On a CPU worker the data is in place: the control task holds all of it in main
 * memory, so the block has no handles and its kernel gets interfaces made up from
 * the arrays. On an accelerator the parts of the arrays are registered just in
 * time. To unregister a handle does not bring its contents home: outputs are
 * acquired in main memory from the callback first, which also tells when they
 * have arrived.
 */
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "loop_private.h"
#include "partition/common/home_starpu.h"
#include "partition/common/workers_starpu.h"
#include "private/helgrind.h"
#include "private/message.h"

/* For a loop that waits for another core. */
static inline void cpu_relax(void)
{
#if defined(__x86_64__) || defined(__i386__)
	__builtin_ia32_pause();
#endif
}

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
static struct block *block_get(struct heddle_loop_request *loop)
{
	struct block *block = loop->spare;

	if (!block)
		return block_new(loop);
	loop->spare = block->next;
	return block;
}

/* Mutex held. */
static void block_spare(struct block *block)
{
	block->next = block->loop->spare;
	block->loop->spare = block;
}

/* ---- from a block to a task ---- */

static void block_clear_partial(struct block *block)
{
	for (unsigned i = 0; i < block->loop->loop.naccesses; i++)
		if (block->parts[i].partial)
			memset(block->parts[i].partial, 0, home_array_bytes(&block->loop->views[i].array));
}

/* On a CPU worker. */
static void block_compute(struct block *block)
{
	const struct heddle_loop *given = &block->loop->loop;
	union array_interface interfaces[HEDDLE_LOOP_MAXHANDLES];
	void *pointers[HEDDLE_LOOP_MAXHANDLES];

	modelled_kernel_begin(block);
	if (!block->loop->modelled)
		block->begin_us = starpu_timing_now();
	for (unsigned i = 0; i < given->naccesses; i++) {
		const struct view *view = &block->loop->views[i];

		view_interface(view, view_window(view, block), block->parts[i].partial, &interfaces[i]);
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
	size_t usual = loop->loop.n / USUAL_ROOM, room = window_allocation(count, view->array.units);
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
				    : view_register(view, window,
						    block_room(block, view, window.count),
						    block->parts[i].partial);
		task->handles[i] = block->parts[i].handle;
	}
}

static void block_unregister(struct block *block, unsigned i)
{
	if (!block->loop->views[i].whole)
		starpu_data_unregister_submit(block->parts[i].handle);
}

static void host_callback(void *arg);
static void device_callback(void *arg);

static int block_submit(struct block *block, bool on_host, int worker)
{
	struct heddle_loop_request *loop = block->loop;
	struct starpu_task *task = starpu_task_create();
	int status;

	block_clear_partial(block);
	if (on_host) {
		task->cl = &loop->host_codelet;
		task->callback_func = host_callback;
	} else {
		task->cl = &loop->device_codelet;
		task->callback_func = device_callback;
		block_register(block, task);
	}
	task->cl_arg = &block->given;
	task->callback_arg = block;
	task->sched_ctx = loop->loop.sched_ctx;
	if (worker >= 0)
		task_pin(task, worker, on_host ? 0 : block->lane->implementation);
	else
		task_choose(task, &loop->workers);
	log_decision(loop, block);
	status = task_submit(task, loop->name);
	for (unsigned i = 0; status && !on_host && i < loop->loop.naccesses; i++)
		block_unregister(block, i);
	return status;
}

static void block_prepare(struct block *block, struct range range, double now)
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

/* ---- giving blocks out ---- */

/* In the adaptive phase blocks of an accelerator run alone, so that the time of
 * each is its own, transfers included; later the next block arrives while one
 * runs. */
static unsigned lane_depth(const struct lane *lane, enum heddle_phase phase)
{
	return phase == HEDDLE_PHASE_ADAPTIVE ? 1 : lane->depth;
}

/* Mutex held. */
static void lane_learns(struct heddle_loop_request *loop, struct lane *lane, bool learning)
{
	loop->nlearning += learning - lane->learning;
	lane->learning = learning;
}

/* Mutex held: a block of a lane is done. It may have told what others were to learn by
 * blocks that they are still at. */
static void lanes_learned(struct heddle_loop_request *loop, const struct lane *done, double now)
{
	for (unsigned l = 0; loop->nlearning && l < loop->nlanes; l++) {
		struct lane *lane = &loop->lanes[l];

		if (lane->learning &&
		    (lane == done ||
		     heddle_blocks_phase(loop->blocks, l) == HEDDLE_PHASE_COMPLETION)) {
			lane_learns(loop, lane, false);
			loop->learned_us = now;
		}
	}
}

/* Mutex held: how many iterations the lane gets now. */
static size_t lane_ask(struct heddle_loop_request *loop, struct lane *lane)
{
	size_t n = heddle_blocks_next(loop->blocks, lane->index);

	if (!n && !lane->waiting && ranges_remaining(&loop->ranges)) {
		lane->waiting = true;
		loop->nwaiting++;
	}
	return n;
}

/* Mutex held: a block of n iterations, at most, for the lane. */
static struct block *lane_give(struct heddle_loop_request *loop, struct lane *lane, size_t n,
			       double now)
{
	struct block *block = block_get(loop);
	struct range range;

	if (!block) {
		loop->status = -ENOMEM;
		return NULL;
	}
	/* A strategy knows the bound too; a block above it would never find room. */
	range = ranges_take(&loop->ranges,
			    lane->maximum && n > lane->maximum ? lane->maximum : n);
	if (range.n < n)
		heddle_blocks_return(loop->blocks, lane->index, n - range.n);
	if (!range.n) { /* the strategy does not know that a leftover was given away */
		block_spare(block);
		return NULL;
	}
	block_prepare(block, range, now);
	block->lane = lane;
	block->phase = heddle_blocks_phase(loop->blocks, lane->index);
	lane_learns(loop, lane, block->phase == HEDDLE_PHASE_ADAPTIVE);
	block->isolated = lane_depth(lane, block->phase) == 1;
	lane->in_flight++;
	if (!lane->away++)
		lane->busy_since_us = now;
	modelled_given(block);
	return block;
}

/* Mutex held. */
static struct block *lane_next(struct heddle_loop_request *loop, struct lane *lane, double now)
{
	enum heddle_phase phase = heddle_blocks_phase(loop->blocks, lane->index);
	size_t n;

	if (loop->status || lane->retired || lane->in_flight >= lane_depth(lane, phase))
		return NULL;
	n = lane_ask(loop, lane);
	return n ? lane_give(loop, lane, n, now) : NULL;
}

/* Mutex held: the lane gets no further block. */
static void lane_retire(struct heddle_loop_request *loop, struct lane *lane)
{
	if (!loop->blocks || lane->retired)
		return;
	lane->retired = true;
	heddle_blocks_retire(loop->blocks, lane->index);
}

static bool lanes_left(const struct heddle_loop_request *loop)
{
	for (unsigned l = 0; l < loop->nlanes; l++)
		if (!loop->lanes[l].retired)
			return true;
	return false;
}

/* Mutex held: every lane is to ask again. */
static void lanes_want(struct heddle_loop_request *loop)
{
	loop->nwaiting = 0;
	for (unsigned l = 0; l < loop->nlanes; l++) {
		loop->lanes[l].waiting = !loop->lanes[l].retired;
		loop->nwaiting += loop->lanes[l].waiting;
	}
}

/* Mutex held: the iterations of a lane's block are given out again.
 * @return false: there is none, or no memory. */
static bool range_pass_on(struct heddle_loop_request *loop, struct lane *lane, struct range range)
{
	if (!loop->blocks || !lanes_left(loop) || ranges_return(&loop->ranges, range))
		return false;
	heddle_blocks_return(loop->blocks, lane->index, range.n);
	loop->nretried++;
	lanes_want(loop);
	return true;
}

/* Mutex held: the block is accounted for, whatever became of it. */
static void block_put(struct block *block, double now)
{
	struct heddle_loop_request *loop = block->loop;
	struct lane *lane = block->lane;

	if (lane && !--lane->away)
		lane->stats.busy_us += now - lane->busy_since_us;
	loop->under_way--;
	block_spare(block);
}

/* Mutex held: a block will not be done by its worker, which gets no more; another does
 * it. Where there is none, the loop ends with the error.
 * @return whether another does it */
static bool block_return(struct block *block, int error)
{
	struct heddle_loop_request *loop = block->loop;
	struct lane *lane = block->lane;
	bool again = false;

	loop->nblocks--;
	if (lane) {
		lane->in_flight--;
		lane->running = false;
		lane_retire(loop, lane);
		again = range_pass_on(loop, lane, block->range);
	}
	if (!again && !loop->status)
		loop->status = error;
	block_put(block, loop_now(loop));
	return again;
}

/* StarPU refused a block's task. */
static void block_refused(struct block *block, int error)
{
	struct heddle_loop_request *loop = block->loop;
	struct lane *lane = block->lane;
	struct range range = block->range;
	bool again;

	starpu_pthread_mutex_lock(&loop->mutex);
	again = block_return(block, error);
	starpu_pthread_mutex_unlock(&loop->mutex);
	heddle_warn("loop %s: StarPU refuses a task on %s (%s); iterations %zu to %zu %s",
		    loop->name, lane ? lane->stats.name : "any worker", strerror(-error),
		    range.start, range.start + range.n - 1,
		    again ? "go to another worker" : "are lost");
	if (again)
		lanes_wake(loop);
	loop_release(loop);
}

/* Submits a block that its lane, or StarPU's policy, was given. */
static void block_start(struct block *block, double before)
{
	struct heddle_loop_request *loop = block->loop;
	struct lane *lane = block->lane;
	int status = block_submit(block, lane && lane_is_host(lane), lane ? lane->stats.id : -1);
	double us = starpu_timing_now() - before;

	if (!status) {
		starpu_pthread_mutex_lock(&loop->mutex);
		loop->overhead_us += us;
		starpu_pthread_mutex_unlock(&loop->mutex);
	} else {
		block_refused(block, status);
	}
}

void lane_fill(struct heddle_loop_request *loop, struct lane *lane)
{
	for (;;) {
		double before = starpu_timing_now();
		struct block *block;

		starpu_pthread_mutex_lock(&loop->mutex);
		block = lane_next(loop, lane, loop_time(loop, before));
		starpu_pthread_mutex_unlock(&loop->mutex);
		if (!block)
			return;
		block_start(block, before);
	}
}

/* Mutex held: nothing is under way and iterations remain, so that nobody would
 * ever ask again; a lane takes them. */
static struct block *loop_leftover(struct heddle_loop_request *loop, double now)
{
	size_t remaining = ranges_remaining(&loop->ranges);

	if (loop->under_way || !remaining || loop->status)
		return NULL;
	for (unsigned l = 0; l < loop->nlanes; l++) {
		struct lane *lane = &loop->lanes[l];

		if (lane->retired)
			continue;
		heddle_explain("loop %s: %zu iterations are left over, %s takes them", loop->name,
			       remaining, lane->stats.name);
		return lane_give(loop, lane, remaining, now);
	}
	return NULL;
}

/* Mutex held: blocks for the lanes that wait, as a list. */
static struct block *lanes_next(struct heddle_loop_request *loop, double now)
{
	struct block *list = NULL;

	for (unsigned l = 0; loop->nwaiting && l < loop->nlanes; l++) {
		struct lane *lane = &loop->lanes[l];
		struct block *block;

		if (!lane->waiting)
			continue;
		lane->waiting = false;
		loop->nwaiting--;
		/* If there is nothing for it, it waits again. */
		block = lane_next(loop, lane, now);
		if (!block)
			continue;
		block->next = list;
		list = block;
	}
	return list;
}

void lanes_wake(struct heddle_loop_request *loop)
{
	struct block *block, *list;
	double now;

	/* Who begins to wait from now on knows all that has happened. */
	if (!__atomic_load_n(&loop->nwaiting, __ATOMIC_RELAXED))
		return;
	now = starpu_timing_now();
	starpu_pthread_mutex_lock(&loop->mutex);
	list = lanes_next(loop, loop_time(loop, now));
	starpu_pthread_mutex_unlock(&loop->mutex);
	while ((block = list)) {
		struct lane *lane = block->lane;

		list = block->next;
		block_start(block, now);
		lane_fill(loop, lane); /* it may have room for more */
		now = starpu_timing_now();
	}
}

/* The last reference goes: nobody is left who would ask for iterations that
 * remain, so a lane takes them, or the loop ends. */
void loop_release(struct heddle_loop_request *loop)
{
	struct block *block;
	bool last;

	do {
		double now = starpu_timing_now();

		starpu_pthread_mutex_lock(&loop->mutex);
		block = NULL;
		if (loop->blocks && loop->references == 1)
			block = loop_leftover(loop, loop_time(loop, now));
		/* Kept while the block starts: it may be done before that returns. */
		last = !block && !--loop->references;
		starpu_pthread_mutex_unlock(&loop->mutex);
		if (block)
			block_start(block, now);
	} while (block);
	if (last)
		loop_end(loop);
}

/* Part p of all under a stock policy, NULL when it is empty. Mutex held. */
static struct block *loop_part(struct heddle_loop_request *loop, unsigned p, unsigned parts,
			       double now)
{
	size_t n = loop->loop.n;
	/* It ends at floor(n (p+1) / parts); this way without overflow. */
	size_t end = n / parts * (p + 1) + n % parts * (p + 1) / parts;
	struct block *block;

	if (end == loop->ranges.next || loop->status)
		return NULL;
	block = block_get(loop);
	if (!block) {
		loop->status = -ENOMEM;
		return NULL;
	}
	block_prepare(block, ranges_take(&loop->ranges, end - loop->ranges.next), now);
	block->lane = NULL;
	block->phase = HEDDLE_PHASE_COMPLETION;
	block->isolated = true;
	return block;
}

void loop_submit_parts(struct heddle_loop_request *loop, unsigned parts)
{
	for (unsigned p = 0; p < parts; p++) {
		double now = starpu_timing_now();
		struct block *block;

		starpu_pthread_mutex_lock(&loop->mutex);
		block = loop_part(loop, p, parts, now);
		starpu_pthread_mutex_unlock(&loop->mutex);
		if (block)
			block_start(block, now);
	}
}

/* ---- when a block is done ---- */

/* When the time of a block begins: when it was submitted, or when the worker's
 * previous one was done, where that was later. A CPU worker's first block may have
 * waited for the worker to give the others theirs, which says nothing of its rate. */
static double block_since(const struct block *block)
{
	const struct lane *lane = block->lane;
	double since = block->submit_us;

	if (lane_is_host(lane) && lane->last_done_us == block->loop->start_us &&
	    block->begin_us > since)
		since = block->begin_us;
	return since > lane->last_done_us ? since : lane->last_done_us;
}

/* Mutex held: tells the strategy how long a block took. */
static void block_account(struct block *block, double now)
{
	struct heddle_loop_request *loop = block->loop;
	struct lane *lane = block->lane;
	double since = block_since(block);

	lane->last_done_us = now;
	lane->in_flight--;
	if (loop->warm && !block->given.status && now > since)
		heddle_block_time_add(&lane->time, block->given.n, now - since, true, true);
	if (loop->blocks && !block->given.status) {
		heddle_blocks_completed(loop->blocks, lane->index, block->given.n, now - since);
		lanes_learned(loop, lane, now);
	}
}

/* Mutex held: whether a block may run a second time. In main memory one that reads
 * what it writes may have been half done; what a device did is thrown away. */
static bool block_repeatable(const struct block *block)
{
	const struct heddle_loop_request *loop = block->loop;

	if (block->range.attempts)
		return false;
	for (unsigned i = 0; lane_is_host(block->lane) && i < loop->loop.naccesses; i++)
		if (loop->views[i].access.share == HEDDLE_SLICE &&
		    loop->views[i].access.mode == STARPU_RW)
			return false;
	return true;
}

/* Mutex held: a kernel found its device full. Its worker gets blocks of half the
 * size from now on.
 * @return false: not that, or it cannot be cut */
static bool block_cut(const struct block *block)
{
	size_t unit = block->loop->loop.alignment ? block->loop->loop.alignment : 1;
	size_t half = block->given.n / 2 / unit * unit;
	struct lane *lane = block->lane;

	if (block->given.status != -ENOMEM || !block->loop->blocks || lane_is_host(lane) ||
	    lane->retired || !half)
		return false;
	if (!lane->maximum || half < lane->maximum)
		lane->maximum = half;
	return true;
}

/* A kernel failed: where its device was full, the iterations are given out again
 * in smaller blocks; otherwise its worker gets no more and another does the block,
 * once. */
static void block_fail(struct block *block)
{
	struct heddle_loop_request *loop = block->loop;
	struct lane *lane = block->lane;
	struct range range = block->range;
	bool cut, again;

	starpu_pthread_mutex_lock(&loop->mutex);
	cut = block_cut(block);
	again = cut || block_repeatable(block);
	if (!cut) {
		lane_retire(loop, lane);
		range.attempts++;
	}
	again = again && range_pass_on(loop, lane, range);
	if (!again && !loop->status)
		loop->status = block->given.status;
	starpu_pthread_mutex_unlock(&loop->mutex);
	heddle_warn("loop %s: the kernel failed on %s (%s); iterations %zu to %zu %s", loop->name,
		    lane->stats.name, strerror(-block->given.status), range.start,
		    range.start + range.n - 1,
		    !again ? "are lost"
		    : cut  ? "are cut smaller"
			   : "go to another worker");
}

/* Adds a block's sums to the loop's. That may take longer than all that the loop's
 * mutex is held for, so it has one of its own. */
static void block_combine(struct block *block)
{
	struct heddle_loop_request *loop = block->loop;

	if (!loop->reduces || block->given.status)
		return;
	starpu_pthread_mutex_lock(&loop->sums);
	for (unsigned i = 0; i < loop->loop.naccesses; i++) {
		const struct view *view = &loop->views[i];

		if (block->parts[i].partial)
			view->access.combine((void *)view->array.base, block->parts[i].partial,
					     home_array_bytes(&view->array), (void *)loop->loop.arg);
	}
	starpu_pthread_mutex_unlock(&loop->sums);
}

/* Mutex held: what a block leaves behind. */
static void block_book(struct block *block, double now)
{
	struct heddle_loop_request *loop = block->loop;
	struct lane *lane = block->lane;

	if (!block->given.status) {
		lane->stats.iterations += block->given.n;
		lane->stats.blocks++;
		lane->stats.finish_us = now - loop->start_us;
		block->done_us = now;
		log_block(loop, block);
	}
	block_put(block, now);
}

void block_settle(struct block *block, double now)
{
	struct heddle_loop_request *loop = block->loop;
	struct lane *lane = block->lane;

	block_combine(block);
	starpu_pthread_mutex_lock(&loop->mutex);
	if (block->isolated)
		block_account(block, now);
	starpu_pthread_mutex_unlock(&loop->mutex);
	if (block->given.status)
		block_fail(block);
	starpu_pthread_mutex_lock(&loop->mutex);
	block_book(block, now);
	starpu_pthread_mutex_unlock(&loop->mutex);
	if (loop->blocks) {
		lane_fill(loop, lane);
		lanes_wake(loop);
	}
	loop_release(loop);
}

/* The block's outputs are in main memory. */
static void block_come_home(struct block *block)
{
	struct heddle_loop_request *loop = block->loop;

	if (!loop->modelled) {
		block_settle(block, starpu_timing_now());
		return;
	}
	modelled_home(block);
	modelled_turn(loop);
}

static void block_arrived_one(struct block *block)
{
	if (!__atomic_sub_fetch(&block->coming, 1, __ATOMIC_ACQ_REL))
		block_come_home(block);
}

/* Mutex held: a block that was put back last is left to its task, which still knows it. */
static void block_end(struct block *block)
{
	block_get(block->loop);
	block->over = true;
}

/* Mutex held: makes a block, of which nothing is left to do, the next one of its
 * lane. False where there is none now: the block is not spare then, for its task
 * still knows it. */
static bool block_renew(struct block *block, double now)
{
	struct heddle_loop_request *loop = block->loop;

	/* It was put back last, so it is what a lane is given first. */
	if (lane_next(loop, block->lane, now)) {
		loop->references--; /* its task has one already */
		return true;
	}
	block_end(block);
	return false;
}

/* What StarPU asks of a task before it takes it is asked of a block that shares one, too.
 * The worker of one that the codelet refuses gets no more, as if StarPU had.
 * @return whether it may run */
static bool block_allowed(struct block *block)
{
	struct heddle_loop_request *loop = block->loop;
	const struct heddle_block given = block->given;
	bool again;

	if (!loop->host_codelet.can_execute ||
	    loop->host_codelet.can_execute(block->lane->stats.id, starpu_task_get_current(), 0))
		return true;
	starpu_pthread_mutex_lock(&loop->mutex);
	again = block_return(block, -ENODEV);
	block_end(block);
	starpu_pthread_mutex_unlock(&loop->mutex);
	heddle_warn("loop %s: can_execute refuses a block on %s; iterations %zu to %zu %s",
		    loop->name, block->lane->stats.name, given.start, given.start + given.n - 1,
		    again ? "go to another worker" : "are lost");
	return false;
}

/* Mutex held: does what the workers wait for that have posted a block: it is
 * accounted for, and becomes their next one if there is one. */
static void lanes_serve(struct heddle_loop_request *loop)
{
	double began = starpu_timing_now();

	for (unsigned l = 0; l < loop->nlanes; l++) {
		struct lane *lane = &loop->lanes[l];
		struct block *block = __atomic_load_n(&lane->posted, __ATOMIC_ACQUIRE);

		if (!block)
			continue;
		HELGRIND_TAKE_OVER(&lane->posted);
		block_account(block, lane->posted_us);
		block_book(block, lane->posted_us);
		lane->renewed = block_renew(block, lane->posted_us);
		HELGRIND_HAND_OVER(&lane->renewed);
		__atomic_store_n(&lane->posted, NULL, __ATOMIC_RELEASE);
	}
	loop->overhead_us += starpu_timing_now() - began;
}

/* How often a worker looks whether another has served it before it sleeps until the
 * mutex is free, from which it would wake up much later than that. */
#define PATIENCE 400

/* Lets a block be accounted for and renewed. When many workers have done short blocks
 * at a time, one that has the mutex serves all: what the strategy knows is in the
 * cache of its core then, while it would have to come from another one each time if
 * every worker asked for itself, which takes several times as long.
 * @return whether it was renewed */
static bool block_exchange(struct block *block, double now)
{
	struct heddle_loop_request *loop = block->loop;
	struct lane *lane = block->lane;
	bool locked = false;

	lane->posted_us = now;
	HELGRIND_HAND_OVER(&lane->posted);
	__atomic_store_n(&lane->posted, block, __ATOMIC_RELEASE);
	for (unsigned i = 0; !locked && __atomic_load_n(&lane->posted, __ATOMIC_ACQUIRE); i++) {
		if (i == PATIENCE) {
			starpu_pthread_mutex_lock(&loop->mutex);
			locked = true;
		} else if (i % 8 == 0) {
			locked = !starpu_pthread_mutex_trylock(&loop->mutex);
		} else {
			cpu_relax();
		}
	}
	if (locked) {
		lanes_serve(loop);
		starpu_pthread_mutex_unlock(&loop->mutex);
	}
	HELGRIND_TAKE_OVER(&lane->renewed);
	return lane->renewed;
}

/* A task costs several microseconds, and the more workers begin and end tasks at a
 * time the more: a block that a CPU worker did in less is followed by the next one
 * in the same task. Blocks that failed are the callback's. */
static bool block_follow(struct block *block, double began)
{
	struct heddle_loop_request *loop = block->loop;
	double now = starpu_timing_now();
	bool more;

	if (block->given.status || now - began >= loop->task_us)
		return false;
	block_combine(block);
	more = block_exchange(block, now) && block_allowed(block);
	if (more) {
		block_clear_partial(block);
		log_decision(loop, block);
	}
	lanes_wake(loop);
	return more;
}

void loop_host_function(void *buffers[], void *arg)
{
	double began = starpu_timing_now();

	do
		block_compute(arg);
	while (block_follow(arg, began));
}

static void host_callback(void *arg)
{
	struct block *block = arg;
	struct heddle_loop_request *loop = block->loop;

	if (!block->over) {
		block_come_home(block);
		return;
	}
	starpu_pthread_mutex_lock(&loop->mutex);
	block->over = false;
	block_spare(block);
	starpu_pthread_mutex_unlock(&loop->mutex);
	loop_release(loop);
}

/* An output is in main memory. */
static void output_arrived(void *block)
{
	block_arrived_one(block);
}

/* Called by the block's callback, which is one that the block waits for. */
static void output_bring(struct block *block, unsigned i)
{
	struct heddle_loop_request *loop = block->loop;
	int status;

	__atomic_add_fetch(&block->coming, 1, __ATOMIC_RELAXED);
	status = home_bring(block->parts[i].handle, output_arrived, block);
	if (!status)
		return;
	block_unregister(block, i);
	starpu_pthread_mutex_lock(&loop->mutex);
	if (!loop->status)
		loop->status = status;
	starpu_pthread_mutex_unlock(&loop->mutex);
	block_arrived_one(block);
}

/* Under a stock policy only now it is known which worker it was. */
static void block_find_lane(struct block *block)
{
	struct heddle_loop_request *loop = block->loop;
	struct lane *lane = &loop->lanes[loop->lane_of_worker[starpu_worker_get_id()]];

	starpu_pthread_mutex_lock(&loop->mutex);
	block->lane = lane;
	lane->in_flight++;
	if (!lane->away++)
		lane->busy_since_us = block->submit_us > lane->last_done_us ? block->submit_us
									    : lane->last_done_us;
	starpu_pthread_mutex_unlock(&loop->mutex);
}

static void device_callback(void *arg)
{
	struct block *block = arg;
	struct heddle_loop_request *loop = block->loop;

	if (!block->lane)
		block_find_lane(block);
	if (!block->isolated) {
		starpu_pthread_mutex_lock(&loop->mutex);
		block_account(block, starpu_timing_now());
		starpu_pthread_mutex_unlock(&loop->mutex);
		/* The device's next block is submitted before the output comes home. */
		if (!block->given.status)
			lane_fill(loop, block->lane);
	}
	block->coming = 1;
	for (unsigned i = 0; i < loop->loop.naccesses; i++) {
		if (view_is_output(&loop->views[i]) && !block->given.status)
			output_bring(block, i);
		else
			block_unregister(block, i);
	}
	block_arrived_one(block);
}
