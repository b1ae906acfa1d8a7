/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A plane through what is known near a place: locally weighted linear regression, held
 * near slopes that are expected. In logarithms such a plane is a power law, which the times
 * of most kernels follow over an octave or two of their sizes. Pure.
 */
#ifndef HEDDLE_ESTIMATOR_LOCAL_FIT_H
#define HEDDLE_ESTIMATOR_LOCAL_FIT_H

/** Most coordinates. */
#define HEDDLE_LOCAL_FIT_DIMENSIONS 9

/** Something known. */
struct heddle_local_fit_point {
	double x[HEDDLE_LOCAL_FIT_DIMENSIONS]; /**< where, from the place that is asked about */
	double y;
	double weight; /**< above 0 */
};

/** The value at x = 0 of the plane y = a + b x that has the least
 * sum of weight (a + b x - y)^2 + stiffness * sum of (b_d - slopes_d)^2.
 * Nothing but one point: the expected slopes from there.
 * @param n points, at least 1
 * @param dimensions 0 to HEDDLE_LOCAL_FIT_DIMENSIONS
 * @param stiffness above 0, as much as so much squared spread of the points
 * @param[in,out] slopes expected; those of the plane */
double heddle_local_fit(const struct heddle_local_fit_point *points, unsigned n,
                        unsigned dimensions, double stiffness,
                        double slopes[HEDDLE_LOCAL_FIT_DIMENSIONS]);

#endif
