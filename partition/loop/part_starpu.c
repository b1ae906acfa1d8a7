/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "config.h"

#include <math.h>

#include "loop_private.h"
#include "part.h"
#include "partition/blocks/strategy.h"

/* Mutex held: what a worker has of its blocks still to do. */
static double worker_left(const struct heddle_loop_request *loop, unsigned l, double now)
{
	const struct blocks_worker *books = &loop->blocks->workers[l];
	double rate, done;

	/* The clock of one without blocks may not be set yet. */
	if (!books->under_way)
		return 0;
	rate = heddle_strategy_rate(loop->blocks, l);
	/* Of one that has done none nothing is known, unless by an earlier run. */
	if (!books->done && !(rate > 0))
		return books->under_way / 2.0;
	done = rate * fmax(0, now - loop->workers[l].last_done_us);
	return done < books->under_way ? books->under_way - done : 0;
}

bool loop_part_progress(struct heddle_loop_request *loop, struct loop_progress *progress)
{
	size_t done = 0, under_way = 0;
	double now;

	*progress = (struct loop_progress){0};
	loop_lock(loop);
	now = starpu_timing_now();
	/* One that has ended may have given them away. */
	if (!loop->blocks) {
		loop_unlock(loop);
		return false;
	}
	progress->left = loop_ranges_remaining(&loop->ranges);
	for (unsigned l = 0; l < loop->nworkers; l++) {
		progress->left += worker_left(loop, l, now);
		under_way += loop->blocks->workers[l].under_way;
		done += loop->blocks->workers[l].done;
	}
	if (done)
		progress->us = now - loop->start_us;
	loop_unlock(loop);
	return done || under_way;
}

size_t loop_part_shorten(struct heddle_loop_request *loop, size_t n)
{
	size_t taken = 0;

	loop_lock(loop);
	if (loop->blocks && !loop->status) {
		taken = loop_ranges_shorten(&loop->ranges, n);
		blocks_shorten(loop->blocks, taken);
	}
	loop_unlock(loop);
	return taken;
}
