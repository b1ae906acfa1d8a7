/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Comparing variants of a program on a machine whose speed varies. All of them run once a
 * repetition, so that those of the same repetition are compared. And the least of many noisy
 * medians is less than any variant takes: so the best is found in some repetitions, and
 * what it takes in the others.
 */
#ifndef APPS_COMMON_SWEEP_H
#define APPS_COMMON_SWEEP_H

/** Times of the variants; the first is the one to be judged. */
struct sweep {
	unsigned nvariants, nreps;
	const double *const *us; /**< us[variant][repetition], above 0 */
	unsigned from;           /**< the best is found among the variants from this one on */
};

/** The median of n values (of an even number the lower one); NAN: none, or no memory. */
double sweep_median(const double *values, unsigned n);
/** Which one is the median, of an even number the lower one; 0 of none. */
unsigned sweep_median_at(const double *values, unsigned n);

/** Median and quartiles of one variant's time over that of another, repetition by repetition. */
struct sweep_ratio {
	double median, low, high;
};
struct sweep_ratio sweep_ratio(const double *us, const double *other, unsigned n);

/** The first variant's time over that of the best one: the best by the medians of every other
 * repetition, the ratio by those between them, and the other way round; their geometric mean.
 * Where all are alike it is 1 on average, however large the noise. Below 1: the first, which is
 * not among those the best is found of, is faster than they are.
 * @return NAN: fewer than 4 repetitions, or no memory */
double sweep_regret(const struct sweep *sweep);

#endif
