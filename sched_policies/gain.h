/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * From times to the order in which classes of devices want tasks, and whether a slow device helps
 * by taking one (DDWRR and DBSA of Teodoro et al., "Run-time optimizations for replicated dataflows
 * on heterogeneous environments", HPDC 2010, sections 5.2 and 5.3.2). Each class prefers the task
 * with the highest speedup over a reference, the CPU. Of the reference's own order the paper says
 * nothing, since all speedups over itself are 1: it takes the task that the others gain least from.
 * Pure.
 */
#ifndef HEDDLE_SCHED_POLICIES_GAIN_H
#define HEDDLE_SCHED_POLICIES_GAIN_H

#include "sched_policies/pool.h"

/** Sets gains and costs of a key for the classes that can run it (gain not
 * HEDDLE_POOL_CANNOT). A gain is rounded to what its times tell for sure: one inside the noise is
 * none, and tasks whose gains differ by less than that mostly have the same.
 * @param us time on each class, µs; 0: not known, which counts as neither gain nor loss
 * @param spread how far each time may be off, as a logarithm; NULL: not at all
 * @param reference a class. Where it cannot run the task, the others' gains have no
 * bound; nor has that of a class that alone can run it. */
void heddle_gain_set(struct heddle_pool_key *key, const double us[HEDDLE_POOL_CLASSES],
                     const double spread[HEDDLE_POOL_CLASSES], unsigned reference);

/** Some alike processors. */
struct heddle_gain_helper {
	double workers; /**< how many */
	double load_us; /**< what one of them would need for all that is waiting, µs */
	double busy_us; /**< what they still need together for what they have begun, µs */
};

/** Time until processors of several classes, sharing the work as it comes, have done
 * all that is waiting and all they have begun, µs; infinity when there are none.
 *
 * A processor that would need longer than this for a task alone had better leave
 * it to them. */
double heddle_gain_finish(const struct heddle_gain_helper *helpers, unsigned n);

#endif
