/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * An estimate of what a block takes on one worker: time(n) = start + n pace, from the blocks
 * measured so far. A line is enough: between two sizes that were measured it is right for any
 * curve, and it follows the worker as it changes. Slow blocks count as others do.
 */
#ifndef HEDDLE_ESTIMATOR_BLOCK_TIME_H
#define HEDDLE_ESTIMATOR_BLOCK_TIME_H

#include <stdbool.h>

#define BLOCK_TIME_POINTS 8
/** Sizes must differ by this factor to tell the start from the pace. */
#define BLOCK_TIME_SPREAD 2

/* The start comes from blocks of different sizes, the pace from the latest blocks whatever their
 * sizes, older ones counting less. The pace is a quotient of sums: where blocks overlap, the times
 * between their ends vary wildly while their sum is right. */

struct heddle_block_point {
	double n, us;
};

/** All zero: nothing measured. */
struct heddle_block_time {
	double start_us;
	double pace;      /**< microseconds per iteration; 0: unknown */
	bool start_known; /**< two sizes were measured */
	unsigned count;   /**< blocks that count */

	/* Inside: decayed sums, the latest points. */
	double blocks, n, us;
	double shortest; /**< shortest time of a block ever */
	struct heddle_block_point points[BLOCK_TIME_POINTS];
};

/** Adds a measured block.
 * @param robust without it the latest block alone makes the pace, as HDSS does
 * @param line finds the start too; without it the start is 0, as in HDSS */
void heddle_block_time_add(struct heddle_block_time *t, double n, double us, bool robust,
                           bool line);

/** Time of a block of n iterations, microseconds. */
static inline double heddle_block_time_us(const struct heddle_block_time *t, double n)
{
	return t->start_us + n * t->pace;
}

/** What is left for the iterations of a block at the least, as part of its time. */
#define BLOCK_TIME_LEAST_PART 0.02

/** The pace that the latest blocks have if their start is so long. */
static inline double heddle_block_time_pace(const struct heddle_block_time *t, double start_us)
{
	double rest = t->us - t->blocks * start_us, least = BLOCK_TIME_LEAST_PART * t->us;

	if (t->blocks <= 0)
		return t->pace;
	/* Faster than the start allows: the estimated start is too long. */
	return (rest > least ? rest : least) / t->n;
}

/** Iterations that fit in a time; 0 where not even the start does. */
static inline double heddle_block_time_fit(const struct heddle_block_time *t, double us)
{
	return us > t->start_us ? (us - t->start_us) / t->pace : 0;
}

#endif
