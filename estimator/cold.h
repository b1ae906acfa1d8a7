/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * What to expect of a task on a class of devices that has not run its codelet, for policies that
 * place tasks by expected times before any of them runs. It says how classes compare, not how long
 * the task takes. Pure.
 */
#ifndef HEDDLE_ESTIMATOR_COLD_H
#define HEDDLE_ESTIMATOR_COLD_H

#include <stdbool.h>

/** A class of devices. */
struct cold_class {
	double us;    /**< known time of the task; 0: not known */
	bool first;   /**< it may have loaded the kernel */
	double speed; /**< of a device, in cores, as long as nothing is known */
	double load;  /**< what a first run may take longer, us */
};

/** The time to expect of a task on a class: its own, where known; by the fastest class where the
 * time is known, and both speeds; else by the bytes of its data. A first run that others beat says
 * little. */
double cold_expect(const struct cold_class *classes, unsigned n, unsigned class, double bytes);

/** Whether a class of cores had better be tried with a task at once, since that cannot take long:
 * small tasks may be faster there than on accelerators. */
bool cold_try(const struct cold_class *classes, unsigned n, unsigned class);

#endif
