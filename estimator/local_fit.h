/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A smooth surface through what is known near a place: a plane by weighted linear regression, held
 * near slopes that are expected, and on it what the points differ from the plane by, as far as
 * points near each other differ alike (universal kriging, G. Matheron, 1969). In logarithms the
 * plane is a power law, which the times of most kernels follow over an octave or two of their
 * sizes. The rest is starts, caches and sums of several laws. Pure.
 */
#ifndef HEDDLE_ESTIMATOR_LOCAL_FIT_H
#define HEDDLE_ESTIMATOR_LOCAL_FIT_H

/** Most coordinates. */
#define HEDDLE_LOCAL_FIT_DIMENSIONS 9
/** Most points. */
#define HEDDLE_LOCAL_FIT_POINTS 32

/** Something known. */
struct heddle_local_fit_point {
	double x[HEDDLE_LOCAL_FIT_DIMENSIONS]; /**< where, from the place that is asked about */
	double y;
	double weight; /**< above 0: 1 / the variance of y */
};

/** What is expected of a surface before any point is known. Variances are in units of that of a
 * point of weight 1. */
struct heddle_local_fit_surface {
	/** Above 0: a slope is as sure as by points of so much squared spread. */
	double stiffness;
	double bend;  /**< variance of what the surface differs from the plane by; 0: nothing */
	double reach; /**< above 0: about so far from each other, points differ alike */
	/** How much farther that is apart in each coordinate, as a logarithm; 0: by nothing. */
	double relevance[HEDDLE_LOCAL_FIT_DIMENSIONS];
	/** Of all times, below each: exp(y) is that and a time that follows the surface, such as of
	 * a launch and of a kernel. 0: none. */
	double start;
};

/** The value at x = 0 of the surface, and the logarithm of the start where there is one. Its plane
 * y = a + b x has the least sum of weight (a + b x - y)^2 + stiffness * sum of (b_d - slopes_d)^2,
 * where points do not differ alike. Nothing but one point: the expected slopes from there.
 * @param n points, 1 to HEDDLE_LOCAL_FIT_POINTS
 * @param dimensions 0 to HEDDLE_LOCAL_FIT_DIMENSIONS
 * @param[in,out] slopes expected; those of the plane */
double heddle_local_fit(const struct heddle_local_fit_point *points, unsigned n,
                        unsigned dimensions, const struct heddle_local_fit_surface *surface,
                        double slopes[HEDDLE_LOCAL_FIT_DIMENSIONS]);

/** How likely the points are on such a surface: the logarithm of their density, but for what all
 * surfaces have in common.
 * @param slopes expected
 * @param noise standard deviation of a point of weight 1, above 0 */
double heddle_local_fit_likelihood(const struct heddle_local_fit_point *points, unsigned n,
                                   unsigned dimensions,
                                   const struct heddle_local_fit_surface *surface,
                                   const double slopes[HEDDLE_LOCAL_FIT_DIMENSIONS], double noise);

#endif
