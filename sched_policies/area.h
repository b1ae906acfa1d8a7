/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The area bound of a set of tasks on classes of alike processors: no schedule ends before it, as
 * if tasks could be cut at will and none waited for another. It is a linear programme (Agullo,
 * Beaumont, Eyraud-Dubois, Kumar, "Are static schedules so bad?", IPDPS 2016, section III). Its
 * dual gives each class a price: by how much the bound falls for each microsecond of one processor
 * of the class. So us * price of a class is what a task costs the whole machine there. Pure.
 */
#ifndef HEDDLE_SCHED_POLICIES_AREA_H
#define HEDDLE_SCHED_POLICIES_AREA_H

#include <stddef.h>

#include "sched_policies/pool.h"

/** Tasks that take equal times. */
struct heddle_area_type {
	double count;
	/** On each class; 0: cannot run there; below 0: not known. */
	double us[HEDDLE_POOL_CLASSES];
};

/** Computes the bound and the prices. Of two classes that share tasks the result is exact, of more
 * it is approximate: the bound is then a lower one.
 * @param workers processors of each class; 0: the class does not take part
 * @param[in,out] price of each class, us/us; those of a similar set of tasks are a good start, 0 is
 * none
 * @return the bound, us; 0 where there is nothing to do */
double heddle_area_prices(const struct heddle_area_type *types, size_t n,
                          const unsigned workers[HEDDLE_POOL_CLASSES],
                          double price[HEDDLE_POOL_CLASSES]);

/** By how much a class shortens the bound. What is not known of the class is hoped to take as long
 * as on the fastest class.
 * @param gap_us of a processor of each class, between two tasks
 * @return us for each task that other classes can run; 0 where there is none; infinite where only
 * this class is known to take some time */
double heddle_area_help_us(const struct heddle_area_type *types, size_t n,
                           const unsigned workers[HEDDLE_POOL_CLASSES],
                           const double gap_us[HEDDLE_POOL_CLASSES], unsigned class);

/** Time from the end of one task to the end of the next on the whole machine, if no processor ever
 * waits. Where it is short, the time that choosing takes counts.
 * @param bound_us of these tasks
 * @return us; infinite where there is no task, or where no class has a known time for some of them
 */
double heddle_area_interval_us(const struct heddle_area_type *types, size_t n, double bound_us);

#endif
