/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Block strategies: how many iterations a worker gets when it asks.
 *
 * A strategy is a pure algorithm: it sees a problem (how many iterations, how
 * many workers), answers how large the next block of a worker is, and is told
 * how long each block took. It knows no thread, clock or StarPU; whoever uses
 * it serialises the calls and measures the times. All it decides can be
 * replayed from the sequence of calls.
 *
 * Start with heddle_strategy_create(); heddle_loop_submit() does so for every loop.
 *
 * A strategy is named by a specification "NAME[:KEY=VALUE[,KEY=VALUE...]]",
 * for example "gss", "css:chunk=4096" or "hdss:initial=1024,slice=0".
 * heddle_strategies() lists names, parameters and sources;
 * `heddle info --strategies` prints them.
 */
#ifndef HEDDLE_STRATEGY_H
#define HEDDLE_STRATEGY_H

#include <stddef.h>
#include <heddle/kind.h>

#ifdef __cplusplus
extern "C" {
#endif

/** What a strategy is doing for one worker. Strategies that learn nothing are
 * in the completion phase from the start. */
enum heddle_phase {
	HEDDLE_PHASE_ADAPTIVE,  /**< still finding the worker's rate (HDSS 3.2) */
	HEDDLE_PHASE_COMPLETION /**< handing out the rest by the weights found */
};

/** "adaptive" or "completion". */
const char *heddle_phase_name(enum heddle_phase phase);

/** What a strategy is told of one worker. Zero in any field means "unknown" or
 * "no wish". */
struct heddle_strategy_worker {
	enum heddle_kind kind; /**< workers of one kind are taken to be alike */
	size_t minimum;        /**< smallest useful block, iterations (0: 1) */
	size_t maximum;        /**< largest block that fits, iterations (0: no bound) */
	size_t alignment;      /**< blocks are multiples of this except the last of the range:
	                            the block factor of HDSS (0: the strategy's own default) */
	double rate;           /**< prior rate, iterations per microsecond, up to 1e18 (0: none) */
	double start_us;       /**< with a prior rate: time of a block beside its iterations,
	                            microseconds, up to 1e18; one of n takes start_us + n / rate */
};

struct heddle_strategy_problem {
	size_t n;                                     /**< iterations in all; 0 is allowed */
	unsigned nworkers;                            /**< at least 1 */
	const struct heddle_strategy_worker *workers; /**< nworkers of them; NULL: nothing known */
};

/** Whether a strategy lets a worker have its next block while one is under way, so that
 * data arrives while a kernel runs. Who asks heddle_strategy_next() for a worker that has
 * one decides how far ahead; where the answer is 0 nobody should.
 * @param spec "NAME[:KEY=VALUE,...]"
 * @return 1; 0: one block at a time for each worker (hdss:overlap=0, and as published);
 * -EINVAL as heddle_strategy_create() */
int heddle_strategy_overlaps(const char *spec);

/** A strategy at work on one problem. */
struct heddle_strategy;

/** Begins a strategy on a problem.
 * @param spec "NAME[:KEY=VALUE,...]"
 * @param problem copied; need not outlive the call
 * @param[out] blocks the strategy at work
 * @return 0; -EINVAL for an unknown name, key or a value out of range, or no
 * worker (a message names the culprit); -ENOMEM. */
int heddle_strategy_create(const char *spec, const struct heddle_strategy_problem *problem,
                           struct heddle_strategy **blocks);

/** Size of the next block for a worker, in iterations. The iterations are taken
 * off those that remain; which ones they are is the caller's to decide (the
 * first that nobody has, usually).
 * @return 0: none now. While heddle_strategy_remaining() is not 0 the worker may
 * ask again after any later heddle_strategy_completed(), heddle_strategy_return(),
 * heddle_strategy_extend() or heddle_strategy_retire(). A worker is refused only while
 * another has something under way, or has not asked yet. */
size_t heddle_strategy_next(struct heddle_strategy *blocks, unsigned worker);

/** Tells that a worker finished a block.
 * @param n its iterations
 * @param us time it took in microseconds, transfers included; where blocks
 * overlap, the time since the worker's previous completion. Times that are not
 * above 0 count as the smallest measurable time. */
void heddle_strategy_completed(struct heddle_strategy *blocks, unsigned worker, size_t n,
                               double us);

/** Gives iterations back that a worker was given and could not do (its device
 * was full, its kernel failed): they count as remaining again. */
void heddle_strategy_return(struct heddle_strategy *blocks, unsigned worker, size_t n);

/** Adds iterations to a problem at work, for streams whose length is not known
 * in advance (tasks that become ready one after the other). */
void heddle_strategy_extend(struct heddle_strategy *blocks, size_t n);

/** Takes a worker out: it gets no further block, and the others share what it
 * was expected to do. */
void heddle_strategy_retire(struct heddle_strategy *blocks, unsigned worker);

/** Iterations that no worker has been given yet. */
size_t heddle_strategy_remaining(const struct heddle_strategy *blocks);

/** What the strategy is doing for a worker. */
enum heddle_phase heddle_strategy_phase(const struct heddle_strategy *blocks, unsigned worker);

/** What the strategy believes of a worker's rate, iterations per microsecond;
 * 0 when it knows nothing (yet). */
double heddle_strategy_rate(const struct heddle_strategy *blocks, unsigned worker);

/** Ends a strategy; NULL is allowed. */
void heddle_strategy_destroy(struct heddle_strategy *blocks);

/** One parameter of a strategy. */
struct heddle_strategy_parameter {
	const char *name;
	double value;    /**< the default */
	double min, max; /**< both allowed */
	const char *unit;
	const char *doc;
};

/** A strategy as it stands in the table. */
struct heddle_strategy_info {
	const char *name;
	const char *source; /**< the paper, section and equation it follows */
	const char *doc;
	const struct heddle_strategy_parameter *parameters; /**< ends with a NULL name */
};

/** The table of strategies, in the order of `heddle info`; ends with NULL. */
const struct heddle_strategy_info *const *heddle_strategies(void);

#ifdef __cplusplus
}
#endif
#endif
