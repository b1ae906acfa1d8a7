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

/* How much of what they differ from the plane by two points have in common: Matern's covariance of
 * smoothness 5/2. */
static double common(const struct heddle_local_fit_surface *surface, const double *a,
                     const double *b, unsigned dimensions)
{
	double squared = 0, by;

	if (!(surface->bend > 0))
		return 0;
	for (unsigned d = 0; d < dimensions; d++)
		squared += (a[d] - b[d]) * (a[d] - b[d]);
	by = sqrt(5 * squared) / surface->reach;
	return surface->bend * (1 + by + by * by / 3) * exp(-by);
}

/* Points, of which linear combinations are made that differ independently, with variance 1. */
struct independent {
	unsigned n;
	double factor[POINTS * POINTS]; /* of the points' covariance */
	double ones[POINTS], y[POINTS], x[MOST][POINTS];
};

/* Takes off what a shift of all points explains. */
static void centre(const struct independent *all, double *column)
{
	double by = product(all->ones, column, all->n) / product(all->ones, all->ones, all->n);

	for (unsigned i = 0; i < all->n; i++)
		column[i] -= by * all->ones[i];
}

static void separate(const struct heddle_local_fit_point *points, unsigned n, unsigned dimensions,
                     const struct heddle_local_fit_surface *surface, struct independent *all)
{
	all->n = n;
	for (unsigned i = 0; i < n; i++) {
		for (unsigned j = i + 1; j < n; j++)
			all->factor[i * POINTS + j] =
			    common(surface, points[i].x, points[j].x, dimensions);
		all->factor[i * POINTS + i] = surface->bend + 1 / points[i].weight;
		all->ones[i] = 1;
		all->y[i] = points[i].y;
		for (unsigned d = 0; d < dimensions; d++)
			all->x[d][i] = points[i].x[d];
	}
	factorise(all->factor, POINTS, n);
	solve_lower(all->factor, POINTS, n, all->ones);
	solve_lower(all->factor, POINTS, n, all->y);
	for (unsigned d = 0; d < dimensions; d++)
		solve_lower(all->factor, POINTS, n, all->x[d]);
}

/* The slopes of the plane. The points' columns are centred. */
static void slopes_find(const struct independent *all, unsigned dimensions, double stiffness,
                        double slopes[MOST])
{
	double m[MOST * MOST];

	for (unsigned d = 0; d < dimensions; d++) {
		for (unsigned e = d; e < dimensions; e++)
			m[d * MOST + e] =
			    (d == e ? stiffness : 0) + product(all->x[d], all->x[e], all->n);
		slopes[d] = slopes[d] * stiffness + product(all->x[d], all->y, all->n);
	}
	factorise(m, MOST, dimensions);
	solve_lower(m, MOST, dimensions, slopes);
	solve_upper(m, MOST, dimensions, slopes);
}

/* The height of the plane at x = 0, and what the surface differs from it by. */
static double height(const struct heddle_local_fit_point *points, unsigned dimensions,
                     const struct heddle_local_fit_surface *surface, const struct independent *all,
                     const double slopes[MOST])
{
	static const double here[MOST];
	double rest[POINTS], plane, value;

	for (unsigned i = 0; i < all->n; i++)
		rest[i] = points[i].y - product(slopes, points[i].x, dimensions);
	solve_lower(all->factor, POINTS, all->n, rest);
	value = plane = product(all->ones, rest, all->n) / product(all->ones, all->ones, all->n);
	for (unsigned i = 0; i < all->n; i++)
		rest[i] -= plane * all->ones[i];
	solve_upper(all->factor, POINTS, all->n, rest);
	for (unsigned i = 0; i < all->n; i++)
		value += common(surface, here, points[i].x, dimensions) * rest[i];
	return value;
}

double heddle_local_fit(const struct heddle_local_fit_point *points, unsigned n,
                        unsigned dimensions, const struct heddle_local_fit_surface *surface,
                        double slopes[MOST])
{
	struct independent all;

	separate(points, n, dimensions, surface, &all);
	for (unsigned d = 0; d < dimensions; d++)
		centre(&all, all.x[d]);
	centre(&all, all.y);
	slopes_find(&all, dimensions, surface->stiffness, slopes);
	return height(points, dimensions, surface, &all, slopes);
}
