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
	/** For so long it has been at tasks of the codelet of which none has ended, us. */
	double running_us;
	unsigned workers; /**< for cold_ahead(): devices of the class that may take the task */
};

/** The time to expect of a task on a class: its own, where known; by the fastest class where the
 * time is known, and both speeds; else by the bytes of its data. What has been running for long on
 * a class that is not the fastest is expected to take long. A first run that others beat says
 * little. */
double cold_expect(const struct cold_class *classes, unsigned n, unsigned class, double bytes);

/** How long a task may take where a class is tried with it, us; infinite: the class is known, or
 * nothing is to compare it with, or it is faster and needs no trial. A first run is none: the
 * second one tells. */
double cold_trial(const struct cold_class *classes, unsigned n, unsigned class);

/** Whether to try it. What one only believes of a class is never put right otherwise. A program
 * that has run for long will go on, so trials are worth a part of that time, and short ones are at
 * once.
 * @param us cold_trial()
 * @param tried_us of all trials before
 * @param ran_us how long the codelet has been in use */
bool cold_try(double us, double tried_us, double ran_us);

/** The time to count for a task on a slow class where it is known, for tasks of one type may be
 * unequal. Those that run for longer than that count before they end, since short ones end first.
 * What the known time may be off by counts as well: where it is as likely to be longer as shorter,
 * a long one does more harm.
 * @param samples how many times the known one is of
 * @param spread its logarithm may be off by so much
 * @param overdue how many tasks have run for longer than it
 * @param overdue_us all of them together */
double cold_unequal(double us, unsigned samples, double spread, unsigned overdue,
                    double overdue_us);

/** How many tasks a policy had better have at once: while a class is not known, enough for the
 * fastest devices to be busy; then enough for all.
 * @param[out] probe whether a slower class is not known: a small task may tell
 * @return UINT_MAX: any number, for all classes are equal */
unsigned cold_ahead(const struct cold_class *classes, unsigned n, bool *probe);

#endif
