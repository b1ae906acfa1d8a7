/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "config.h"

#include <math.h>
#include <string.h>

#include "estimator/surface.h"

/* ---- linear algebra; Cholesky's method: factors are upper triangles, by rows ---- */

/* What is done to rows has no chain of sums that wait for each other. */
static void take_off(double *restrict from, double by, const double *restrict what, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		from[i] -= by * what[i];
}

/* Four sums, for the same reason. */
static double product(const double *a, const double *b, unsigned n)
{
	double sums[4] = {0};
	unsigned i = 0;

	for (; i + 4 <= n; i += 4)
		for (unsigned k = 0; k < 4; k++)
			sums[k] += a[i + k] * b[i + k];
	for (; i < n; i++)
		sums[0] += a[i] * b[i];
	return sums[0] + sums[1] + (sums[2] + sums[3]);
}

/* Solves transposed factor b = b, of which nothing comes before `from`. */
static void solve_lower(const struct heddle_surface *s, unsigned from, double *b)
{
	for (unsigned i = from; i < s->n; i++) {
		const double *row = s->factor + i * s->room;

		b[i] /= row[i];
		take_off(b + i + 1, b[i], row + i + 1, s->n - i - 1);
	}
}

/* Solves factor b = b. */
static void solve_upper(const struct heddle_surface *s, double *b)
{
	for (unsigned i = s->n; i-- > 0;) {
		const double *row = s->factor + i * s->room;

		b[i] = (b[i] - product(row + i + 1, b + i + 1, s->n - i - 1)) / row[i];
	}
}

/* ---- the surface ---- */

void heddle_surface_begin(struct heddle_surface *surface, const struct heddle_surface_law *law,
                          unsigned dimensions, unsigned words, const double *slopes, unsigned room,
                          double *memory)
{
	*surface = (struct heddle_surface){.room = room,
	                                   .dimensions = dimensions,
	                                   .words = words,
	                                   .stiffness = law->stiffness,
	                                   .bend = law->bend,
	                                   .start = law->start};
	for (unsigned d = 0; d < dimensions; d++) {
		surface->slopes[d] = slopes[d];
		surface->scales[d] = (law->relevance[d] ? exp(2 * law->relevance[d]) : 1) /
		                     (law->reach * law->reach);
	}
	surface->factor = memory;
	surface->x = surface->factor + room * room;
	surface->y = surface->x + room * HEDDLE_SURFACE_DIMENSIONS;
	surface->ones = surface->y + room;
	surface->rest = surface->ones + room;
	surface->pulls = surface->rest + room;
}

/* What the height of each point has in common with that of a place: by the plane, and by how near
 * they are, for which it is a rational quadratic covariance, of power 2. That is as good as
 * Matern's here, and takes no exponential. */
static void common(const struct heddle_surface *s, const double *x, double *covariances)
{
	double sure = 1 / s->stiffness;
	double apart[s->n + 1];

	memset(apart, 0, sizeof(apart));
	memset(covariances, 0, s->n * sizeof(*covariances));
	for (unsigned d = 0; d < s->dimensions; d++) {
		const double *of = s->x + d * s->room;
		double scale = s->scales[d], here = x[d];

		/* Of two words each has a half of what they may differ by. */
		if (s->words >> d & 1)
			for (unsigned i = 0; i < s->n; i++) {
				apart[i] += of[i] == here ? 0 : scale;
				covariances[i] += of[i] == here ? sure / 2 : 0;
			}
		else
			for (unsigned i = 0; i < s->n; i++) {
				apart[i] += scale * (of[i] - here) * (of[i] - here);
				covariances[i] += sure * of[i] * here;
			}
	}
	if (s->bend > 0)
		for (unsigned i = 0; i < s->n; i++)
			covariances[i] += s->bend / ((1 + apart[i]) * (1 + apart[i]));
}

/* What is left of a time that is no longer than the start. */
#define LEAST_PART 0.05

/* What a point's time is without the start, as a part of it. Its error is as long as before. */
static double part_of(const struct heddle_surface *s, double y)
{
	return s->start > 0 ? fmax(1 - s->start * exp(-y), LEAST_PART) : 1;
}

/* By the slopes that are expected. */
static double expected(const struct heddle_surface *s, const double *x)
{
	double sum = 0;

	for (unsigned d = 0; d < s->dimensions; d++)
		sum += s->slopes[d] * x[d];
	return sum;
}

static void place_of(const struct heddle_surface *s, unsigned i, double *x)
{
	for (unsigned d = 0; d < s->dimensions; d++)
		x[d] = s->x[d * s->room + i];
}

void heddle_surface_add(struct heddle_surface *surface, const double *x, double y, double weight)
{
	unsigned n = surface->n;
	double part = part_of(surface, y), column[n + 1], spread = surface->bend, deviation;

	common(surface, x, column);
	solve_lower(surface, 0, column);
	for (unsigned d = 0; d < surface->dimensions; d++) {
		surface->x[d * surface->room + n] = x[d];
		spread += (surface->words >> d & 1 ? .5 : x[d] * x[d]) / surface->stiffness;
	}
	spread += 1 / (weight * part * part);
	deviation = sqrt(spread - product(column, column, n));
	for (unsigned i = 0; i < n; i++)
		surface->factor[i * surface->room + n] = column[i];
	surface->factor[n * surface->room + n] = deviation;
	surface->parts += log(part);
	surface->y[n] = y + log(part) - expected(surface, x);
	surface->ones[n] = (1 - product(column, surface->ones, n)) / deviation;
	surface->rest[n] = (surface->y[n] - product(column, surface->rest, n)) / deviation;
	surface->n++;
	surface->solved = false;
}

void heddle_surface_set(struct heddle_surface *surface, unsigned i, double y)
{
	double x[HEDDLE_SURFACE_DIMENSIONS];

	place_of(surface, i, x);
	surface->y[i] = y + log(part_of(surface, y)) - expected(surface, x);
	memcpy(surface->rest, surface->y, surface->n * sizeof(double));
	solve_lower(surface, 0, surface->rest);
	surface->solved = false;
}

static void solve(struct heddle_surface *s)
{
	if (s->solved)
		return;
	s->plane = product(s->ones, s->rest, s->n) / product(s->ones, s->ones, s->n);
	memcpy(s->pulls, s->rest, s->n * sizeof(double));
	take_off(s->pulls, s->plane, s->ones, s->n);
	solve_upper(s, s->pulls);
	s->solved = true;
}

static double with_start(const struct heddle_surface *s, double value)
{
	return s->start > 0 ? log(s->start + exp(value)) : value;
}

double heddle_surface_value(struct heddle_surface *surface, const double *x)
{
	double covariances[surface->n + 1];

	solve(surface);
	common(surface, x, covariances);
	return with_start(surface, surface->plane + expected(surface, x) +
	                               product(covariances, surface->pulls, surface->n));
}

double heddle_surface_without(struct heddle_surface *surface, unsigned i)
{
	double only[surface->n], x[HEDDLE_SURFACE_DIMENSIONS], all, own;
	unsigned left = surface->n - i;

	solve(surface);
	memset(only, 0, sizeof(only));
	only[i] = 1;
	solve_lower(surface, i, only);
	all = product(only + i, surface->ones + i, left);
	own = product(only + i, only + i, left) -
	      all * all / product(surface->ones, surface->ones, surface->n);
	place_of(surface, i, x);
	return with_start(surface, surface->y[i] + expected(surface, x) - surface->pulls[i] / own);
}

void heddle_surface_slopes(struct heddle_surface *surface, double *slopes)
{
	solve(surface);
	for (unsigned d = 0; d < surface->dimensions; d++)
		slopes[d] = surface->slopes[d] + (surface->words >> d & 1
		                                      ? 0
		                                      : product(surface->x + d * surface->room,
		                                                surface->pulls, surface->n) /
		                                            surface->stiffness);
}

double heddle_surface_likelihood(struct heddle_surface *surface, double noise)
{
	double ones = product(surface->ones, surface->ones, surface->n);
	double both = product(surface->ones, surface->rest, surface->n);
	double rest = product(surface->rest, surface->rest, surface->n) - both * both / ones;
	double value = -surface->parts - log(ones) / 2 - rest / (2 * noise * noise) -
	               (surface->n - 1) * log(noise);

	for (unsigned i = 0; i < surface->n; i++)
		value -= log(surface->factor[i * surface->room + i]);
	return value;
}
