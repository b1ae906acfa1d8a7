/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A robust estimate from repeated measurements of one time: the median of the latest few.
 * Disturbances only lengthen times, so of two middle ones the shorter counts: from the second
 * measurement on, one that is wildly too long changes nothing, from the fifth on, two. Old
 * measurements leave as new ones come: the estimate follows a lasting change with the fourth.
 */
#ifndef HEDDLE_ESTIMATOR_ROBUST_H
#define HEDDLE_ESTIMATOR_ROBUST_H

#define HEDDLE_ROBUST_RECENT 7
#define HEDDLE_ROBUST_ROOM 15

/** All zero: nothing measured. */
struct heddle_robust {
	unsigned count; /**< measurements ever */
	double recent[HEDDLE_ROBUST_RECENT];
	double sorted[HEDDLE_ROBUST_RECENT]; /**< the same, the least first */
};

/** Adds a measurement, µs, above 0 and finite; others are ignored. */
void heddle_robust_add(struct heddle_robust *robust, double us);

/** The estimate; 0: nothing measured. */
double heddle_robust_us(const struct heddle_robust *robust);

/** The lower median of the latest numbers, 0 without any.
 * @param ring number i of all is at i % room
 * @param count of all there were
 * @param room HEDDLE_ROBUST_ROOM at most */
double heddle_robust_latest(const double *ring, unsigned count, unsigned room);

/** Puts some numbers into order, the least first. */
void heddle_robust_sort(double *values, unsigned n);

/** The lower median of some numbers, 0 without any.
 * @param values are put into order */
double heddle_robust_median(double *values, unsigned n);

#endif
