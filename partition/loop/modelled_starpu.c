/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Loops in modelled time (heddle/clock.h). A block on a simulated board lasts as long as
 * the board says its transfers and its kernel take; elsewhere as long as on the wall,
 * less what its kernel spent on simulating a device, plus what that device would have
 * taken. Blocks are settled in the order in which they end in modelled time, which
 * need not be that of the wall: one that is done waits until no block that runs can
 * end before. What the settling gives out begins at the time of the block that is settled.
 *
 * Lanes have one block at a time: what overlaps while a device is simulated would
 * not beside the device.
 */
#include "config.h"

#include "loop_private.h"
#include "support/clock_starpu.h"

void modelled_given(struct block *block)
{
	struct lane *lane = block->lane;

	if (!block->loop->modelled)
		return;
	block->saved_us = 0;
	block->wall_us = starpu_timing_now();
	lane->running = true;
	lane->running_us = block->submit_us;
	lane->wall_us = lane_is_host(lane) ? 0 : block->wall_us;
	block->board_us = heddle_clock_board_us(lane->stats.id);
	if (block->board_us >= 0)
		lane->simulates = true;
}

void modelled_kernel_begin(struct block *block)
{
	struct heddle_loop_request *loop = block->loop;

	if (!loop->modelled || !lane_is_host(block->lane))
		return;
	/* Until here it waited for its worker, which says nothing of its rate. */
	starpu_pthread_mutex_lock(&loop->mutex);
	block->wall_us = block->lane->wall_us = starpu_timing_now();
	starpu_pthread_mutex_unlock(&loop->mutex);
}

void modelled_kernel_end(struct block *block)
{
	double wall_us, modelled_us;

	if (block->loop->modelled &&
	    heddle_clock_said(starpu_task_get_current(), &wall_us, &modelled_us))
		block->saved_us = wall_us - modelled_us;
}

void modelled_home(struct block *block)
{
	struct heddle_loop_request *loop = block->loop;
	struct lane *lane = block->lane;
	double us = block->board_us < 0 ? starpu_timing_now() - block->wall_us - block->saved_us
	                                : heddle_clock_board_us(lane->stats.id) - block->board_us;

	block->done_us = block->submit_us + (us > 0 ? us : 0);
	starpu_pthread_mutex_lock(&loop->mutex);
	lane->running = false;
	if (block->saved_us)
		lane->simulates = true;
	block->next = loop->home;
	loop->home = block;
	starpu_pthread_mutex_unlock(&loop->mutex);
}

/* Mutex held: whether a lane's block could still end before a time. */
static bool lane_may_end_before(const struct lane *lane, double us, double wall_us)
{
	double least = lane->running_us;

	if (!lane->running)
		return false;
	if (lane->wall_us && !lane->simulates)
		least += wall_us - lane->wall_us;
	return least < us;
}

/* Mutex held: the block whose turn it is, off the list; NULL: none. */
static struct block *home_next(struct heddle_loop_request *loop)
{
	struct block **first = &loop->home, *block;
	double wall_us = starpu_timing_now();

	if (!loop->home)
		return NULL;
	for (struct block **at = &loop->home->next; *at; at = &(*at)->next)
		if ((*at)->done_us < (*first)->done_us)
			first = at;
	block = *first;
	for (unsigned l = 0; l < loop->nlanes; l++)
		if (lane_may_end_before(&loop->lanes[l], block->done_us, wall_us))
			return NULL;
	*first = block->next;
	return block;
}

/* Blocks that end meanwhile are settled here, too. The callers are blocks' callbacks,
 * and the loop may end with the last one. */
void modelled_turn(struct heddle_loop_request *loop)
{
	struct block *block;

	starpu_pthread_mutex_lock(&loop->mutex);
	if (loop->turning) {
		starpu_pthread_mutex_unlock(&loop->mutex);
		return;
	}
	loop->turning = true;
	loop->references++;
	while ((block = home_next(loop))) {
		if (block->done_us > loop->now_us)
			loop->now_us = block->done_us;
		starpu_pthread_mutex_unlock(&loop->mutex);
		block_settle(block, loop->now_us);
		starpu_pthread_mutex_lock(&loop->mutex);
	}
	loop->turning = false;
	starpu_pthread_mutex_unlock(&loop->mutex);
	loop_release(loop);
}
