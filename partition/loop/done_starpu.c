/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * What happens when a block is done: its outputs come home, the strategy hears how long it
 * took, and the lane is filled again. Short blocks of CPU workers follow each other in one
 * task; of many workers that are done at a time, one asks the strategy for all.
 */
#include "config.h"

#include <errno.h>
#include <string.h>

#include "loop_private.h"
#include "partition/common/home_starpu.h"
#include "support/helgrind.h"
#include "support/message.h"

/* For a loop that waits for another core. */
static inline void cpu_relax(void)
{
#if defined(__x86_64__) || defined(__i386__)
	__builtin_ia32_pause();
#endif
}

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
		heddle_strategy_completed(loop->blocks, lane->index, block->given.n, now - since);
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
			                     home_array_bytes(&view->array),
			                     (void *)loop->loop.arg);
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

void block_done_at_home(void *arg)
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
		lane->busy_since_us =
		    block->submit_us > lane->last_done_us ? block->submit_us : lane->last_done_us;
	starpu_pthread_mutex_unlock(&loop->mutex);
}

void block_done_away(void *arg)
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
