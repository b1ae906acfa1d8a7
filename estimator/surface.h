/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A smooth surface through what is known: a plane by weighted linear regression, held near slopes
 * that are expected, and on it what the points differ from the plane by, as far as points near each
 * other differ alike (universal kriging, G. Matheron, 1969). In logarithms the plane is a power
 * law, which the times of most kernels follow over an octave or two of their sizes. The rest is
 * starts, caches and sums of several laws. Pure.
 */
#ifndef HEDDLE_ESTIMATOR_SURFACE_H
#define HEDDLE_ESTIMATOR_SURFACE_H

#include <stdbool.h>

/** Most coordinates. */
#define HEDDLE_SURFACE_DIMENSIONS 9

/** What is expected of a surface before any point is known. Variances are in units of that of a
 * point of weight 1. */
struct heddle_surface_law {
	/** Above 0: a slope is as sure as by points of so much squared spread. */
	double stiffness;
	double bend;  /**< variance of what the surface differs from the plane by; 0: nothing */
	double reach; /**< above 0: about so far from each other, points differ alike */
	/** How much farther that is apart in each coordinate, as a logarithm; 0: by nothing. */
	double relevance[HEDDLE_SURFACE_DIMENSIONS];
	/** Of all times, below each: exp(y) is that and a time that follows the surface, such as of
	 * a launch and of a kernel. 0: none. */
	double start;
};

/** Points, and what follows from them. */
struct heddle_surface {
	unsigned room, n, dimensions;
	/** Bit d: coordinate d is a number that stands for a word; two are equal or not. */
	unsigned words;
	double slopes[HEDDLE_SURFACE_DIMENSIONS]; /**< expected */
	/* Private. */
	double stiffness, bend, start;
	double scales[HEDDLE_SURFACE_DIMENSIONS]; /* of squared distances */
	double parts;   /* logarithm of the product of what is left of times without their start */
	double plane;   /* the height at x = 0; the rest is what is above it */
	bool solved;    /* whether `plane` and `pulls` are of these points */
	double *factor; /* of the points' covariance: an upper triangle, by rows */
	double *x;      /* of each point, by coordinates: `room` of the first, and so on */
	double *y;      /* without what is expected */
	double *ones, *rest; /* 1, y; of linear combinations that differ independently */
	double *pulls;       /* how much each point draws what is near to itself */
};

/** Numbers that a surface for `room` points needs. */
#define HEDDLE_SURFACE_MEMORY(room) ((room) * ((room) + HEDDLE_SURFACE_DIMENSIONS + 4))

/** Makes a surface without points.
 * @param slopes expected, of each dimension; that of a word is 0
 * @param memory HEDDLE_SURFACE_MEMORY(room) numbers, which the surface uses */
void heddle_surface_begin(struct heddle_surface *surface, const struct heddle_surface_law *law,
                          unsigned dimensions, unsigned words, const double *slopes, unsigned room,
                          double *memory);

/** Adds a point, where there is room. That takes about as long as n^2 / 2 multiplications.
 * @param weight above 0: 1 / the variance of y */
void heddle_surface_add(struct heddle_surface *surface, const double *x, double y, double weight);

/** Moves the i-th point, as far from its start as it was. It takes as long as to add one. */
void heddle_surface_set(struct heddle_surface *surface, unsigned i, double y);

/** The value at some place, of a surface with points, and the logarithm of the start where there is
 * one. Its plane y = a + b x has the least sum of weight (a + b x - y)^2 + stiffness * sum of
 * (b_d - slopes_d)^2, where points do not differ alike. Nothing but one point: the expected slopes
 * from there. The first time after a change takes as long as to add a point, others n steps. */
double heddle_surface_value(struct heddle_surface *surface, const double *x);

/** The value at the i-th point of two at least, by the others. */
double heddle_surface_without(struct heddle_surface *surface, unsigned i);

/** The slopes of the plane. */
void heddle_surface_slopes(struct heddle_surface *surface, double *slopes);

/** How likely the points are on such a surface: the logarithm of their density, but for what all
 * surfaces have in common.
 * @param noise standard deviation of a point of weight 1, above 0 */
double heddle_surface_likelihood(struct heddle_surface *surface, double noise);

#endif
