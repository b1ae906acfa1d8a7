/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Loops in modelled time (heddle/clock.h): how long blocks take, and in which order they
 * end. On a simulated board a block takes what the board says. Elsewhere it takes its time
 * on the wall clock; the time that its kernel spent on simulating a device is replaced by
 * what that device would have taken.
 */
#include "config.h"

#include "loop_private.h"
#include "support/clock_starpu.h"

/* Workers have one block at a time: blocks that overlap while a device is simulated would
 * not overlap on the device. */

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

void loop_modelled_submit(struct loop_block *block)
{
	if (block->loop->modelled && block->worker)
		block->board_us = heddle_clock_board_us(block->worker->stats.id);
}

void loop_modelled_kernel_begin(struct loop_block *block)
{
	struct heddle_loop_request *loop = block->loop;

	if (!loop->modelled || !loop_worker_is_host(block->worker))
		return;
	/* The time that it waited for its worker is no part of its time. */
	starpu_pthread_mutex_lock(&loop->mutex);
	block->wall_us = block->worker->wall_us = starpu_timing_now();
	starpu_pthread_mutex_unlock(&loop->mutex);
}

void loop_modelled_kernel_end(struct loop_block *block)
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
	starpu_pthread_mutex_lock(&loop->mutex);
	worker->running = false;
	if (block->saved_us)
		worker->simulates = true;
	block->next = loop->finished;
	loop->finished = block;
	starpu_pthread_mutex_unlock(&loop->mutex);
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
