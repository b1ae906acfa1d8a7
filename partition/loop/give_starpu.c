/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Who gets which iterations, and when: lanes that have room ask the strategy; what a
 * worker could not do goes to another one; and when nobody is left who would ask, a lane
 * takes what remains, or the loop ends.
 */
#include "config.h"

#include <errno.h>
#include <string.h>

#include "loop_private.h"
#include "support/message.h"

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
void lanes_learned(struct heddle_loop_request *loop, const struct lane *done, double now)
{
	for (unsigned l = 0; loop->nlearning && l < loop->nlanes; l++) {
		struct lane *lane = &loop->lanes[l];

		if (lane->learning && (lane == done || heddle_strategy_phase(loop->blocks, l) ==
		                                           HEDDLE_PHASE_COMPLETION)) {
			lane_learns(loop, lane, false);
			loop->learned_us = now;
		}
	}
}

/* Mutex held: how many iterations the lane gets now. */
static size_t lane_ask(struct heddle_loop_request *loop, struct lane *lane)
{
	size_t n = heddle_strategy_next(loop->blocks, lane->index);

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
	range = ranges_take(&loop->ranges, lane->maximum && n > lane->maximum ? lane->maximum : n);
	if (range.n < n)
		heddle_strategy_return(loop->blocks, lane->index, n - range.n);
	if (!range.n) { /* the strategy does not know that a leftover was given away */
		block_spare(block);
		return NULL;
	}
	block_prepare(block, range, now);
	block->lane = lane;
	block->phase = heddle_strategy_phase(loop->blocks, lane->index);
	lane_learns(loop, lane, block->phase == HEDDLE_PHASE_ADAPTIVE);
	block->isolated = lane_depth(lane, block->phase) == 1;
	lane->in_flight++;
	if (!lane->away++)
		lane->busy_since_us = now;
	modelled_given(block);
	return block;
}

/* Mutex held. */
struct block *lane_next(struct heddle_loop_request *loop, struct lane *lane, double now)
{
	enum heddle_phase phase = heddle_strategy_phase(loop->blocks, lane->index);
	size_t n;

	if (loop->status || lane->retired || lane->in_flight >= lane_depth(lane, phase))
		return NULL;
	n = lane_ask(loop, lane);
	return n ? lane_give(loop, lane, n, now) : NULL;
}

/* Mutex held: the lane gets no further block. */
void lane_retire(struct heddle_loop_request *loop, struct lane *lane)
{
	if (!loop->blocks || lane->retired)
		return;
	lane->retired = true;
	heddle_strategy_retire(loop->blocks, lane->index);
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
bool range_pass_on(struct heddle_loop_request *loop, struct lane *lane, struct range range)
{
	if (!loop->blocks || !lanes_left(loop) || ranges_return(&loop->ranges, range))
		return false;
	heddle_strategy_return(loop->blocks, lane->index, range.n);
	loop->nretried++;
	lanes_want(loop);
	return true;
}

/* Mutex held: the block is accounted for, whatever became of it. */
void block_put(struct block *block, double now)
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
bool block_return(struct block *block, int error)
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
