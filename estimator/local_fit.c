/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "config.h"

#include <math.h>

#include "estimator/local_fit.h"

#define POINTS HEDDLE_LOCAL_FIT_POINTS
#define MOST HEDDLE_LOCAL_FIT_DIMENSIONS

/* ---- linear algebra; Cholesky's method: factors are upper triangles, by rows ---- */

static void take_off(double *restrict from, double by, const double *restrict what, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		from[i] -= by * what[i];
}

/* Of a symmetric positive definite matrix, in place. What is done to rows has no chain of sums that
 * wait for each other. */
static void factorise(double *m, unsigned room, unsigned n)
{
	for (unsigned j = 0; j < n; j++) {
		double *row = m + j * room, by = 1 / sqrt(row[j]);

		for (unsigned i = j; i < n; i++)
			row[i] *= by;
		for (unsigned i = j + 1; i < n; i++)
			take_off(m + i * room + i, row[i], row + i, n - i);
	}
}

/* Solves transposed factor b = b. */
static void solve_lower(const double *factor, unsigned room, unsigned n, double *b)
{
	for (unsigned i = 0; i < n; i++) {
		b[i] /= factor[i * room + i];
		take_off(b + i + 1, b[i], factor + i * room + i + 1, n - i - 1);
	}
}

/* Solves factor b = b. */
static void solve_upper(const double *factor, unsigned room, unsigned n, double *b)
{
	for (unsigned i = n; i-- > 0;) {
		for (unsigned k = i + 1; k < n; k++)
			b[i] -= factor[i * room + k] * b[k];
		b[i] /= factor[i * room + i];
	}
}

static double product(const double *a, const double *b, unsigned n)
{
	double sum = 0;

	for (unsigned i = 0; i < n; i++)
		sum += a[i] * b[i];
	return sum;
}

/* ---- the surface ---- */

/* How much of what they differ from the plane by two points have in common: a rational quadratic
 * covariance, of power 2. It is as good as Matern's here, and takes no exponential. */
static double common(const struct heddle_local_fit_surface *surface, const double *scales,
                     const double *a, const double *b, unsigned dimensions)
{
	double squared = 0, by;

	if (!(surface->bend > 0))
		return 0;
	for (unsigned d = 0; d < dimensions; d++)
		squared += scales[d] * (a[d] - b[d]) * (a[d] - b[d]);
	by = 1 + squared / (surface->reach * surface->reach);
	return surface->bend / (by * by);
}

/* Points as linear combinations that differ independently, with variance 1. */
struct independent {
	double factor[POINTS * POINTS]; /* of the points' covariance */
	double scales[MOST];            /* of squared distances */
	double ones[POINTS], rest[POINTS];
	double plane; /* the height at x = 0; the rest is what is above it */
	double parts; /* logarithm of the product of what is left of times without their start */
};

static void scales_set(const struct heddle_local_fit_surface *surface, unsigned dimensions,
                       double *scales)
{
	for (unsigned d = 0; d < dimensions; d++)
		scales[d] = surface->relevance[d] ? exp(2 * surface->relevance[d]) : 1;
}

/* What is left of a time that is no longer than the start. */
#define LEAST_PART 0.05

/* What a point's time is without the start, as a part of it. Its error is as long as before. */
static double part_of(const struct heddle_local_fit_surface *surface,
                      const struct heddle_local_fit_point *point)
{
	return surface->start > 0 ? fmax(1 - surface->start * exp(-point->y), LEAST_PART) : 1;
}

static void covariances_set(const struct heddle_local_fit_point *points, unsigned n,
                            unsigned dimensions, const struct heddle_local_fit_surface *surface,
                            struct independent *all)
{
	for (unsigned i = 0; i < n; i++)
		for (unsigned j = i; j < n; j++)
			all->factor[i * POINTS + j] =
			    common(surface, all->scales, points[i].x, points[j].x, dimensions) +
			    product(points[i].x, points[j].x, dimensions) / surface->stiffness;
}

static void separate(const struct heddle_local_fit_point *points, unsigned n, unsigned dimensions,
                     const struct heddle_local_fit_surface *surface, const double *slopes,
                     struct independent *all)
{
	scales_set(surface, dimensions, all->scales);
	covariances_set(points, n, dimensions, surface, all);
	all->parts = 0;
	for (unsigned i = 0; i < n; i++) {
		double part = part_of(surface, &points[i]);

		all->factor[i * POINTS + i] += 1 / (points[i].weight * part * part);
		all->parts += log(part);
		all->ones[i] = 1;
		all->rest[i] = points[i].y + log(part) - product(slopes, points[i].x, dimensions);
	}
	factorise(all->factor, POINTS, n);
	solve_lower(all->factor, POINTS, n, all->ones);
	solve_lower(all->factor, POINTS, n, all->rest);
	all->plane = product(all->ones, all->rest, n) / product(all->ones, all->ones, n);
	take_off(all->rest, all->plane, all->ones, n);
}

double heddle_local_fit(const struct heddle_local_fit_point *points, unsigned n,
                        unsigned dimensions, const struct heddle_local_fit_surface *surface,
                        double slopes[MOST])
{
	static const double here[MOST];
	struct independent all;
	double value;

	separate(points, n, dimensions, surface, slopes, &all);
	solve_upper(all.factor, POINTS, n, all.rest);
	value = all.plane;
	for (unsigned i = 0; i < n; i++) {
		value += common(surface, all.scales, here, points[i].x, dimensions) * all.rest[i];
		for (unsigned d = 0; d < dimensions; d++)
			slopes[d] += points[i].x[d] * all.rest[i] / surface->stiffness;
	}
	return surface->start > 0 ? log(surface->start + exp(value)) : value;
}

double heddle_local_fit_likelihood(const struct heddle_local_fit_point *points, unsigned n,
                                   unsigned dimensions,
                                   const struct heddle_local_fit_surface *surface,
                                   const double slopes[MOST], double noise)
{
	struct independent all;
	double value;

	separate(points, n, dimensions, surface, slopes, &all);
	value = -all.parts - log(product(all.ones, all.ones, n)) / 2 -
	        product(all.rest, all.rest, n) / (2 * noise * noise) - (n - 1) * log(noise);
	for (unsigned i = 0; i < n; i++)
		value -= log(all.factor[i * POINTS + i]);
	return value;
}
