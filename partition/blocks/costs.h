/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * What the iterations of a loop cost, by their place in it. A run keeps its blocks: where they
 * were, who computed them, what they took. Costs come from that when it is over, for the next
 * run. They are counted in work: the iterations of the whole loop cost 1 on average.
 *
 * The time of a block is start + pace x work, with a start and a pace of its worker. What the
 * paces are to each other shows where blocks of different workers lie side by side, since
 * neighbours cost alike nearly everywhere. Given the paces, times tell costs.
 */
#ifndef HEDDLE_BLOCKS_COSTS_H
#define HEDDLE_BLOCKS_COSTS_H

#include <stdbool.h>
#include <stddef.h>

/** Parts of a loop whose costs are told apart. */
#define COSTS_PARTS 1024
/** Blocks of which one has so many times the iterations (or the work) of the other tell a start. */
#define COSTS_OTHER_SIZE 1.25

/** Work of the iterations before each part, and of all. */
struct costs {
	size_t n; /**< iterations of the loop */
	double before[COSTS_PARTS + 1];
};

/** All iterations cost 1. */
void costs_init(struct costs *costs, size_t n);

/** Work of n iterations from `start` on. */
double costs_work(const struct costs *costs, size_t start, size_t n);

/** How many iterations from `start` on are so much work; all that there are where they are less. */
double costs_size(const struct costs *costs, size_t start, double work);

/** A block of a run. */
struct costs_block {
	size_t start, n;
	double us;   /**< 0: not done */
	double work; /**< as it was believed when the block was given */
	unsigned worker;
	unsigned next; /**< the worker's next block under way */
	bool follows;  /**< was given while the worker had another one */
	bool once;     /**< most of its time came once: it tells nothing of its iterations */
	bool first;    /**< of its worker in this run */
	bool hidden;   /**< most of it passed while the one before it was under way: the same */
};

/** The blocks of a run, in the order in which they were given. All zero: none. */
struct costs_run {
	struct costs_block *blocks;
	unsigned count, capacity;
	size_t next;     /**< first iteration that was never given */
	size_t returned; /**< iterations that were given back: they come before others */
	unsigned *head;  /**< of each worker's blocks under way */
	unsigned *tail;
	bool lost; /**< there was no memory for a block: nothing is kept of the run */
};

/** @return 0; -ENOMEM. */
int costs_run_init(struct costs_run *run, unsigned nworkers);
void costs_run_fini(struct costs_run *run);

/** The worker was given a block of n iterations.
 * @return the work that the block is taken for */
double costs_run_gave(struct costs_run *run, const struct costs *costs, unsigned worker, size_t n);

/** The worker's first block under way is done.
 * @return its work */
double costs_run_done(struct costs_run *run, unsigned worker, size_t n, double us);

/** Iterations of the worker's latest blocks were given back.
 * @return their work */
double costs_run_returned(struct costs_run *run, unsigned worker, size_t n);

/** What a block costs beside its iterations. */
struct costs_start {
	double us;
	double sure; /**< sum over the blocks it comes from of 1 / time^2; 0: it is assumed, since
	                  no blocks of different sizes told it */
};

/** What a worker's blocks take: start + pace x work. */
struct costs_worker {
	int kind; /**< workers of a kind have the same starts, and are likely to have one pace */
	struct costs_start start;  /**< of a block that finds the worker without work */
	struct costs_start follow; /**< of one that was given before: part of it is hidden */
	double pace;               /**< microseconds for a unit of work; 0: unknown */
};

/** Learns costs and paces from a run, and which first blocks of accelerators took most of their
 * time for what comes once in it.
 * @param costs those of earlier runs, or equal ones; the new ones come in their place
 * @param known how many earlier runs they come from; 0: they are only assumed, and a block that
 * seems to cost next to nothing behind one that was held up tells nothing
 * @param workers what was believed of their starts; starts and paces come out
 * @param[out] noise how much blocks side by side differ, as part of their time
 * @return 0; -ENOMEM; -ENOENT where the run tells too little, nothing changes then */
int costs_learn(struct costs *costs, unsigned known, const struct costs_run *run,
                struct costs_worker *workers, unsigned nworkers, double *noise);

/** @return whether all parts of the loop cost about the same */
bool costs_even(const struct costs *costs);

/** The value below which this part of all weights is. Both arrays come into another order.
 * @param count at least 1
 * @param part 0.5: the middle one */
double costs_quantile(double *values, double *weights, long count, double part);

/** Learns paces while a run goes on: what an iteration takes each worker where the latest blocks
 * lie. Without costs: nobody knows them yet.
 * @param blocks so many of the latest are looked at
 * @param workers what is believed of starts and paces; paces come out
 * @param[in,out] noise as of the call before; 0: this is the first
 * @return as costs_learn() */
int costs_front(const struct costs_run *run, unsigned blocks, struct costs_worker *workers,
                unsigned nworkers, double *noise);

#endif
