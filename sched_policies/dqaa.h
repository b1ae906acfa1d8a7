/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * How many tasks a worker has waiting: the Dynamic Queue Adaptation Algorithm (Teodoro et al., HPDC
 * 2010, section 5.3.1, Algorithms 2 and 3). As many as it processes in the time that a request for
 * one takes to be answered. With fewer it would idle, more would wait where nobody else finds
 * them. Pure.
 */
#ifndef HEDDLE_SCHED_POLICIES_DQAA_H
#define HEDDLE_SCHED_POLICIES_DQAA_H

/* After every task the target moves by at most one towards request latency / time to process,
 * rounded up. Where tasks are of several sizes, the last request and the last task say little of
 * the next ones, and a long input may come behind a short task. So the latency is the longest one
 * not long ago, forgotten by a sixteenth with every shorter one, and the time to process the
 * shortest one likewise. */
struct heddle_dqaa {
	unsigned target;   /**< tasks, 1 to most: what the worker asks for */
	unsigned most;     /**< at least 1 */
	double latency_us; /**< of requests, the longer ones above all */
	double process_us; /**< of a task, the shorter ones above all; 0: none yet */
};

/** Begins with a target of 1, as Algorithm 2 does. */
void heddle_dqaa_init(struct heddle_dqaa *dqaa, unsigned most);

/** A request was answered: the task is in the worker's memory.
 * @param us since it was asked for; what is below 0 counts as 0 */
void heddle_dqaa_received(struct heddle_dqaa *dqaa, double us);

/** A task was processed.
 * @param us its time; what is not above 0 changes nothing */
void heddle_dqaa_processed(struct heddle_dqaa *dqaa, double us);

#endif
