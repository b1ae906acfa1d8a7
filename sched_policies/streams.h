/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * How many tasks' inputs are on their way to an accelerator at once (Teodoro et
 * al., HPDC 2010, section 5.1, Algorithm 1): twice as many from round to round while
 * that raises the throughput, then one more or less. Pure.
 *
 * Where the printed listing and the text of the paper differ, the text holds: once
 * doubling no longer pays, the number before is saved and the search goes on from
 * there. A step of one more has to raise the throughput by more than the dead
 * band, one less must not lower it: where more transfers neither help nor harm, the
 * smaller number is kept. A step that fails is taken back, the next one goes the
 * other way, and after more and more rounds; a number that was clearly worse is left
 * alone for long, so that trying costs little.
 */
#ifndef HEDDLE_SCHED_POLICIES_STREAMS_H
#define HEDDLE_SCHED_POLICIES_STREAMS_H

#include <stdbool.h>

#define HEDDLE_STREAMS_MOST 64

struct heddle_streams {
	unsigned concurrent; /**< transfers at once, 1 to most */
	unsigned most;       /**< 1 to HEDDLE_STREAMS_MOST */
	bool doubling;
	unsigned saved;    /**< the best number so far */
	double saved_rate; /**< throughput with it; 0: not measured */
	int direction;     /**< of the next step of one */
	unsigned patience; /**< rounds between steps */
	unsigned rest;     /**< of them, until the next */
	double known[HEDDLE_STREAMS_MOST + 1]; /**< latest throughput with each number; 0: none */
};

/** Begins with two, as the paper does, as far as `most` allows. */
void heddle_streams_init(struct heddle_streams *streams, unsigned most);

/** A round, some tasks under this number of transfers, is over.
 * @param rate its throughput, in any unit; what is not above 0 is no round */
void heddle_streams_round(struct heddle_streams *streams, double rate);

#endif
