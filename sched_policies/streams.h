/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * How many tasks' inputs are on their way to an accelerator at once (Teodoro et al., HPDC 2010,
 * section 5.1, Algorithm 1): twice as many from round to round while that raises the throughput,
 * then one more or less. Pure.
 */
#ifndef HEDDLE_SCHED_POLICIES_STREAMS_H
#define HEDDLE_SCHED_POLICIES_STREAMS_H

#include <stdbool.h>

#define HEDDLE_STREAMS_MOST 64

/* Where the printed listing and the text of the paper differ, the text holds: once doubling no
 * longer pays, the number before is saved and the search goes on from there. More must raise the
 * throughput by more than the dead band, one less must not lower it: the smaller of two equal
 * numbers is kept. A step that fails is taken back, and the next one goes the other way, after more
 * and more rounds. A number that was clearly worse is left alone for long.
 *
 * Rounds are noisy, of which the paper says nothing. A number's throughput is the mean of its
 * rounds. A trial lasts until its mean differs by more than chance explains, at most some rounds.
 * More transfers are kept only then; where nothing was seen the next step to more is twice as
 * wide. */
struct heddle_streams {
	unsigned concurrent; /**< transfers at once, 1 to most */
	unsigned most;       /**< 1 to HEDDLE_STREAMS_MOST */
	bool doubling;
	unsigned saved;        /**< the best number so far */
	unsigned saved_rounds; /**< that its throughput is the mean of; 0: not measured */
	double saved_rate;
	double best_rate;      /**< the best mean of any number, slowly forgotten */
	double noise;          /**< standard deviation of a round's throughput, a part of it */
	unsigned trial_rounds; /**< with a number that is not the saved one, so far … */
	double trial_rate;     /**< … and their mean throughput */
	int direction;         /**< of the next step */
	unsigned stride;       /**< of a step to more */
	unsigned patience;     /**< rounds between steps */
	unsigned rest;         /**< of them, until the next */
	/** Throughput of each number in its latest trial, at the most; 0: none. */
	double known[HEDDLE_STREAMS_MOST + 1];
};

/** Begins with two, as the paper does, as far as `most` allows. */
void heddle_streams_init(struct heddle_streams *streams, unsigned most);

/** A round, some tasks under this number of transfers, is over.
 * @param rate its throughput, in any unit; what is not above 0 is no round */
void heddle_streams_round(struct heddle_streams *streams, double rate);

#endif
