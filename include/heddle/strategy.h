/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Block strategies: how many iterations a worker gets when it requests work.
 *
 * A strategy gets a problem (iterations and workers). It returns the size of a worker's next
 * block, and gets the measured time of each block. It uses no threads, no clock and no
 * StarPU. The caller measures the times. The sequence of calls determines all results.
 *
 * A specification "NAME[:KEY=VALUE[,KEY=VALUE...]]" selects a strategy, for example "gss",
 * "css:chunk=4096" or "hdss:initial=1024,slice=0". `heddle info --strategies` prints all names
 * and parameters.
 *
 * Start with heddle_strategy_create(). heddle_loop_submit() calls it for every loop.
 */
#ifndef HEDDLE_STRATEGY_H
#define HEDDLE_STRATEGY_H

#include <stddef.h>
#include <heddle/kind.h>

#ifdef __cplusplus
extern "C" {
#endif

/** The phase of a strategy for a worker. Strategies that learn nothing are always in the
 * completion phase. */
enum heddle_phase {
	HEDDLE_PHASE_ADAPTIVE,  /**< the strategy measures the worker's rate (HDSS, section 3.2) */
	HEDDLE_PHASE_COMPLETION /**< the strategy shares the rest by the rates */
};

/** Returns the name of a phase. Any thread may call it at any time.
 * @param phase a value of the enumeration
 * @return "adaptive" or "completion", a constant string */
const char *heddle_phase_name(enum heddle_phase phase);

/** What a strategy knows of a worker at the start. The number 0 means: unknown, or no bound. */
struct heddle_strategy_worker {
	enum heddle_kind kind; /**< the worker's kind; workers of one kind are assumed alike */
	size_t minimum;        /**< smallest useful block, iterations; 0: 1 */
	size_t maximum;        /**< largest block that fits, iterations; 0: no bound */
	/** Blocks are multiples of this, except the last of the range, and if minimum and maximum
	 * allow no multiple: the block factor of HDSS. In iterations; 0: the strategy's default. */
	size_t alignment;
	double rate; /**< prior rate, iterations per microsecond, 0 to 1e18; 0: none */
	/** Fixed time of a block, microseconds, 0 to 1e18. Used with a prior rate: a block of n
	 * iterations takes start_us + n / rate. */
	double start_us;
};

/** A problem for a strategy. */
struct heddle_strategy_problem {
	size_t n;                                     /**< iterations; 0 is allowed */
	unsigned nworkers;                            /**< workers, at least 1 */
	const struct heddle_strategy_worker *workers; /**< nworkers entries; NULL: all unknown */
};

/** Tells whether a strategy allows a worker to have its next block while one is under way, so
 * that transfers overlap with computation. If it does, the caller decides how many blocks a
 * worker may have. Any thread may call it at any time.
 * @param spec specification, not NULL
 * @return 1; 0 if each worker must have one block at a time (hdss:overlap=0 and
 * hdss:published=1); -EINVAL as heddle_strategy_create() */
int heddle_strategy_overlaps(const char *spec);

/** A strategy at work on one problem. The caller must serialise all calls for one such object.
 * Worker arguments are numbers from 0 to nworkers - 1; the effect of others is undefined. */
struct heddle_strategy;

/** Starts a strategy on a problem. Any thread may call it at any time.
 * @param spec specification, not NULL
 * @param problem the problem; it is copied
 * @param[out] strategy the strategy at work, to be freed with heddle_strategy_destroy()
 * @return 0; -ENOMEM; -EINVAL after a message that names the cause: an unknown name or key, a
 * key twice, a value that is not a number or out of range, no workers, or a worker with an
 * unknown kind, a negative or too large rate or start_us, or a minimum or alignment above its
 * maximum */
int heddle_strategy_create(const char *spec, const struct heddle_strategy_problem *problem,
                           struct heddle_strategy **strategy);

/** Takes the next block for a worker from the remaining iterations. The caller decides which
 * iterations these are (usually the first that no worker has).
 * @param strategy the strategy at work
 * @param worker the worker's number
 * @return size of the block, iterations. 0: the worker gets no block now. If
 * heddle_strategy_remaining() is not 0, it may request again after any later
 * heddle_strategy_completed(), heddle_strategy_return(), heddle_strategy_extend() or
 * heddle_strategy_retire(). A worker gets 0 only if nothing remains, if it is retired, while some
 * worker has a block under way, or while another worker has not requested one since the last
 * change */
size_t heddle_strategy_next(struct heddle_strategy *strategy, unsigned worker);

/** Reports a completed block.
 * @param strategy the strategy at work
 * @param worker the number of the worker that completed it
 * @param n its iterations; more than the worker has under way count as what it has; 0 has no
 * effect
 * @param us its time in microseconds, with transfers. If the worker's blocks overlap: the time
 * since its previous completion. Times below 0.001, and NaN, count as 0.001, times above 1e18 as
 * 1e18 */
void heddle_strategy_completed(struct heddle_strategy *strategy, unsigned worker, size_t n,
                               double us);

/** Returns iterations that a worker got and could not compute (its device was full, its kernel
 * failed). They count as remaining again.
 * @param strategy the strategy at work
 * @param worker the worker's number
 * @param n iterations; more than the worker has under way count as what it has; 0 has no
 * effect */
void heddle_strategy_return(struct heddle_strategy *strategy, unsigned worker, size_t n);

/** Adds iterations to a problem, for streams whose length is not known in advance (such as
 * tasks that become ready one after the other).
 * @param strategy the strategy at work
 * @param n iterations to add; 0 has no effect */
void heddle_strategy_extend(struct heddle_strategy *strategy, size_t n);

/** Excludes a worker. It gets no further block, and the others share its part. A second call
 * has no effect.
 * @param strategy the strategy at work
 * @param worker the worker's number */
void heddle_strategy_retire(struct heddle_strategy *strategy, unsigned worker);

/** Returns the number of iterations that no worker has got.
 * @param strategy the strategy at work
 * @return iterations */
size_t heddle_strategy_remaining(const struct heddle_strategy *strategy);

/** Returns the phase for a worker.
 * @param strategy the strategy at work
 * @param worker the worker's number
 * @return the phase */
enum heddle_phase heddle_strategy_phase(const struct heddle_strategy *strategy, unsigned worker);

/** Returns the measured rate of a worker.
 * @param strategy the strategy at work
 * @param worker the worker's number
 * @return iterations per microsecond; 0: not measured yet */
double heddle_strategy_rate(const struct heddle_strategy *strategy, unsigned worker);

/** Frees a strategy at work.
 * @param strategy the strategy; NULL has no effect */
void heddle_strategy_destroy(struct heddle_strategy *strategy);

/** A parameter of a strategy. */
struct heddle_strategy_parameter {
	const char *name; /**< the key in specifications; NULL ends the list */
	double value;     /**< the default */
	double min;       /**< smallest allowed value */
	double max;       /**< largest allowed value */
	const char *unit; /**< unit of the value, for people */
	const char *doc;  /**< description in one line */
};

/** The description of a strategy. */
struct heddle_strategy_info {
	const char *name;   /**< the name in specifications */
	const char *source; /**< the paper, section and equation that it implements */
	const char *doc;    /**< description in one line */
	const struct heddle_strategy_parameter *parameters; /**< ends with an entry without name */
};

/** Returns the table of strategies, in the order of `heddle info`. Any thread may call it at
 * any time.
 * @return a constant array of pointers; NULL ends it */
const struct heddle_strategy_info *const *heddle_strategies(void);

#ifdef __cplusplus
}
#endif
#endif
