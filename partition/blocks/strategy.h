/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * What a block strategy is made of. blocks.c keeps the books (who has how much,
 * what remains, sizes that honour minimum, maximum and alignment); a strategy
 * answers one question, how large a block it wishes, and hears of the events it
 * cares for. doc/internals/strategies.md is a tutorial.
 */
#ifndef HEDDLE_BLOCKS_STRATEGY_H
#define HEDDLE_BLOCKS_STRATEGY_H

#include <stdbool.h>
#include <stddef.h>

#include <heddle/strategy.h>

#include "partition/blocks/memory.h"
#include "support/message.h"

#define BLOCKS_MAXPARAMETERS 24

/** The books of one worker. Strategies read them. */
struct blocks_worker {
	bool retired;
	unsigned blocks_under_way;
	size_t under_way;      /**< iterations it was given and has not answered for */
	unsigned long refused; /**< number of the last event when it last got nothing */
	struct heddle_strategy_worker given; /**< minimum and alignment at least 1 after begin */
	size_t done;                         /**< iterations completed */
	double busy_us;                      /**< time of those */
};

struct heddle_strategy {
	const struct blocks_strategy *strategy;
	double parameters[BLOCKS_MAXPARAMETERS]; /**< in the order of the strategy's table */
	void *state;                             /**< the strategy's own */
	size_t total;                            /**< iterations seen so far, extensions included */
	size_t given_up;                         /**< no longer among them */
	size_t remaining;
	bool stream; /**< was extended: how long it will be is not known */
	bool ranks;  /**< workers are: messages begin their blocks, which takes different times */
	bool scattered; /**< blocks are not given in the order of their iterations */
	bool at_hand; /**< the next block's data need not come: nothing of it hides behind others */
	unsigned nworkers;
	unsigned long
	    events; /**< that may let a worker have a block it was refused before; from 1 */
	struct blocks_worker workers[];
};

/** From now on the worker gets no larger block, or the shortest that its minimum and alignment
 * allow; 0: any, whatever was its maximum. */
void blocks_bound(struct heddle_strategy *b, unsigned worker, size_t maximum);

/** A strategy. Hooks other than next may be NULL. */
struct blocks_strategy {
	struct heddle_strategy_info table;
	/** A second set of defaults, in force when the first parameter, which is then
	 * called "published", is 1; NULL: there is none. */
	const double *published;
	/** Whether a worker may have its next block while one is under way. NULL: it may. */
	bool (*overlaps)(const double *parameters);

	/** Makes b->state; may set alignments that the caller left 0.
	 * @return 0; -ENOMEM; -EINVAL after a message. */
	int (*begin)(struct heddle_strategy *b);
	/** Wished size of the worker's next block; 0: none now. b->remaining is
	 * above 0 and the worker is not retired. */
	size_t (*next)(struct heddle_strategy *b, unsigned worker);
	/** What became of the wish; the books are already up to date. */
	void (*gave)(struct heddle_strategy *b, unsigned worker, size_t n);
	void (*completed)(struct heddle_strategy *b, unsigned worker, size_t n, double us);
	void (*returned)(struct heddle_strategy *b, unsigned worker, size_t n);
	void (*extended)(struct heddle_strategy *b, size_t n);
	/** The last n iterations, which nobody has, are taken away. */
	void (*shortened)(struct heddle_strategy *b, size_t n);
	void (*retired)(struct heddle_strategy *b, unsigned worker);
	enum heddle_phase (*phase)(const struct heddle_strategy *b, unsigned worker);
	/** Without it the mean rate of all that the worker completed. */
	double (*rate)(const struct heddle_strategy *b, unsigned worker);
	void (*end)(struct heddle_strategy *b);
	/** How long the worker's latest block is expected to take, microseconds; 0: not known.
	 * NULL: it never is.
	 * @param[out] start_us of that, what it costs beside its iterations */
	double (*expected)(const struct heddle_strategy *b, unsigned worker, double *start_us);
	/** When all is expected to be done, microseconds since the beginning; 0: not known. With
	 * expected(). */
	double (*ends)(const struct heddle_strategy *b);
	/** See memory.h. All or none of them. */
	bool (*kept)(const struct heddle_strategy *b);
	void (*remember)(struct heddle_strategy *b, const struct blocks_memory *memory);
	int (*learn)(const struct heddle_strategy *b, struct blocks_memory *memory);
};

/** Every strategy there is, in the order of the table. */
#define BLOCKS_STRATEGIES(ROW)                                                                     \
	ROW(hdss)                                                                                  \
	ROW(gss)                                                                                   \
	ROW(css)                                                                                   \
	ROW(tss)                                                                                   \
	ROW(fss)                                                                                   \
	ROW(linear)                                                                                \
	ROW(exponential)                                                                           \
	ROW(static)                                                                                \
	ROW(qilin)                                                                                 \
	ROW(axel) ROW(mfsc) ROW(awfd) ROW(awfe) ROW(af) ROW(plbhec) ROW(logfit) ROW(auto)

#define ROW(name) extern const struct blocks_strategy blocks_##name;
BLOCKS_STRATEGIES(ROW)
#undef ROW

/** Reads a specification.
 * @param[out] strategy, parameters (BLOCKS_MAXPARAMETERS of them)
 * @return 0; -EINVAL after a message. */
int blocks_spec_parse(const char *spec, const struct blocks_strategy **strategy,
                      double *parameters);

/** How long the worker's latest block is expected to take, microseconds; 0: not known. Before the
 * next call for another worker.
 * @param[out] start_us of that, what it costs beside its iterations */
static inline double blocks_expected_us(const struct heddle_strategy *b, unsigned worker,
                                        double *start_us)
{
	*start_us = 0;
	return b->strategy->expected ? b->strategy->expected(b, worker, start_us) : 0;
}

/** When all is expected to be done, microseconds since the beginning; 0: not known. */
static inline double blocks_end_us(const struct heddle_strategy *b)
{
	return b->strategy->ends ? b->strategy->ends(b) : 0;
}

/** Takes away the last n iterations, of those that no worker has. */
void blocks_shorten(struct heddle_strategy *b, size_t n);

/** Workers that are not retired. */
static inline unsigned blocks_active(const struct heddle_strategy *b)
{
	unsigned active = 0;

	for (unsigned w = 0; w < b->nworkers; w++)
		active += !b->workers[w].retired;
	return active;
}

/** Mean rate of all a worker completed, iterations per microsecond; 0: none. */
static inline double blocks_mean_rate(const struct heddle_strategy *b, unsigned worker)
{
	const struct blocks_worker *w = &b->workers[worker];

	return w->busy_us > 0 ? w->done / w->busy_us : 0;
}

/** The iterations that sizes are parts of: all of a loop; of a stream those that
 * are there, given or not. */
static inline size_t blocks_extent(const struct heddle_strategy *b)
{
	size_t extent = b->remaining;

	if (!b->stream)
		return b->total;
	for (unsigned w = 0; w < b->nworkers; w++)
		extent += b->workers[w].under_way;
	return extent;
}

/** A wish as a size: what remains if it is more than that. */
static inline size_t blocks_wish(const struct heddle_strategy *b, double size)
{
	return size < b->remaining ? (size_t)size : b->remaining;
}

/** n/d rounded up. */
static inline size_t blocks_ceil(size_t n, size_t d)
{
	return n / d + (n % d != 0);
}

/** Size of the blocks of mfsc. */
size_t blocks_mfsc_size(const struct heddle_strategy *b);

/** Size of blocks that only measure; given: a parameter, 0: half of a block of mfsc. */
static inline size_t blocks_first(const struct heddle_strategy *b, double given)
{
	return given ? blocks_wish(b, given) : blocks_ceil(blocks_mfsc_size(b), 2);
}

/** Smallest of the blocks that follow. Where a block is mostly launch, its iterations look dear:
 * without a bound, millions of blocks of one iteration could follow. */
static inline double blocks_least(const struct heddle_strategy *b, double first, double given)
{
	return given ? given : blocks_ceil(blocks_first(b, first), 32);
}

#endif
