/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Replays a strategy on a described machine: an event simulation without clock or threads, with the
 * same result in every run. The strategy auto, `heddle plan blocks` and tests use it.
 */
#ifndef HEDDLE_BLOCKS_REPLAY_H
#define HEDDLE_BLOCKS_REPLAY_H

#include <stdbool.h>
#include <stddef.h>

#include <heddle/strategy.h>

#include "partition/blocks/memory.h"

/* A worker takes overhead_us + n / rate(n) for a block of n iterations. rate(n) is `rate`, or
 * min(rate, a ln n + b) where a or b is given. With a depth of 2 or more it is a pipeline of two
 * stages: the overhead and the part `transfer` of the rest come first, and overlap with the
 * computation of the block before. If the strategy does not overlap blocks, the depth is 1. The
 * ideal time knows nothing of what a worker loses while cores have blocks. */

struct replay_worker {
	char name[48];
	struct heddle_strategy_worker given; /**< known to the strategy */
	double rate;                         /**< iterations per microsecond */
	double a, b;                         /**< logarithmic curve of the rate; both 0: none */
	double overhead_us;                  /**< of every block */
	double once_us;                      /**< of its first block, beside that */
	unsigned depth;                      /**< blocks in progress at once; 0: 1 */
	double transfer;                     /**< part of a block's time that is transfer, 0 to 1 */
	double noise;                        /**< relative standard deviation of a block's time */
	unsigned spike_block;                /**< this block of the worker (from 1; 0: none) ... */
	double spike_factor;                 /**< ... takes this many times as long */
	double stop_us;       /**< fails at this time (0: never); its blocks are given again */
	double change_us;     /**< at this time (0: never) ... */
	double change_factor; /**< ... its speed is multiplied by this */
	double crowded;       /**< part of its speed that it loses while all cores have blocks, less
	                           while some have */
};

struct replay_machine {
	size_t n;
	/** Iterations may cost differently: work[i] is what those before i cost together, in
	 * iterations at a worker's rate; n + 1 numbers that do not fall. NULL: each costs 1. */
	const double *work;
	const struct costs *costs; /**< the same, known by parts of the loop; instead of work */
	unsigned nworkers;
	struct replay_worker *workers;
	unsigned long seed; /**< of the noise */
	/** What the strategy knows of earlier runs; the run adds to it. NULL: nothing, and nothing
	 * is kept. To be freed with free(). */
	struct blocks_memory **memory;
	const struct blocks_memory *known; /**< the same, and the run adds nothing; or NULL */
	/** Ends the replay without a message after so many blocks, with -E2BIG. 0: 4194304, with a
	 * message. */
	size_t limit;
};

struct replay_block {
	unsigned worker;
	size_t start, size;
	enum heddle_phase phase; /**< in which it was given */
	double begin_us, end_us; /**< of its first stage, of its last */
	bool lost;               /**< its worker failed; its iterations are given again */
};

struct replay_result {
	struct replay_block *blocks; /**< in the order they were given */
	size_t nblocks;
	double makespan_us;
	double ideal_us;      /**< all workers at their best rates to the end; with a limit 0 */
	double learning_us;   /**< when the last worker left its adaptive phase */
	double finish_spread; /**< latest minus earliest last end of the workers that
	                           did not fail, over the makespan */
	size_t left;          /**< iterations that were not computed: all workers failed */
};

/** Replays a strategy.
 * @return 0; -EINVAL (see heddle_strategy_create()); -E2BIG for more than 4194304 blocks;
 * -ENOMEM. There is a message, except for -ENOMEM. */
int replay_run(const char *spec, const struct replay_machine *machine,
               struct replay_result *result);

void replay_free(struct replay_result *result);

#endif
