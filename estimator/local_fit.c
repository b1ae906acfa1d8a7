/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "config.h"

#include <math.h>

#include "estimator/local_fit.h"

#define MOST HEDDLE_LOCAL_FIT_DIMENSIONS

/* Weighted means of all coordinates and of y, which comes last. */
static void means(const struct heddle_local_fit_point *points, unsigned n, unsigned dimensions,
                  double mean[MOST + 1])
{
	double total = 0;

	for (unsigned d = 0; d <= MOST; d++)
		mean[d] = 0;
	for (unsigned i = 0; i < n; i++) {
		total += points[i].weight;
		for (unsigned d = 0; d < dimensions; d++)
			mean[d] += points[i].weight * points[i].x[d];
		mean[MOST] += points[i].weight * points[i].y;
	}
	for (unsigned d = 0; d <= MOST; d++)
		mean[d] /= total;
}

/* Solves m b = b for a symmetric positive definite matrix, by Cholesky's method. */
static void solve(double m[MOST][MOST], unsigned n, double *b)
{
	for (unsigned j = 0; j < n; j++) {
		for (unsigned k = 0; k < j; k++)
			m[j][j] -= m[j][k] * m[j][k];
		m[j][j] = sqrt(m[j][j]);
		for (unsigned i = j + 1; i < n; i++) {
			for (unsigned k = 0; k < j; k++)
				m[i][j] -= m[i][k] * m[j][k];
			m[i][j] /= m[j][j];
		}
	}
	for (unsigned i = 0; i < n; i++) {
		for (unsigned k = 0; k < i; k++)
			b[i] -= m[i][k] * b[k];
		b[i] /= m[i][i];
	}
	for (unsigned i = n; i-- > 0;) {
		for (unsigned k = i + 1; k < n; k++)
			b[i] -= m[k][i] * b[k];
		b[i] /= m[i][i];
	}
}

double heddle_local_fit(const struct heddle_local_fit_point *points, unsigned n,
                        unsigned dimensions, double stiffness, double slopes[MOST])
{
	double mean[MOST + 1], m[MOST][MOST], value;

	means(points, n, dimensions, mean);
	for (unsigned d = 0; d < dimensions; d++) {
		for (unsigned e = 0; e <= d; e++) {
			m[d][e] = d == e ? stiffness : 0;
			for (unsigned i = 0; i < n; i++)
				m[d][e] += points[i].weight * (points[i].x[d] - mean[d]) *
				           (points[i].x[e] - mean[e]);
		}
		slopes[d] *= stiffness;
		for (unsigned i = 0; i < n; i++)
			slopes[d] += points[i].weight * (points[i].x[d] - mean[d]) *
			             (points[i].y - mean[MOST]);
	}
	solve(m, dimensions, slopes);
	value = mean[MOST];
	for (unsigned d = 0; d < dimensions; d++)
		value -= slopes[d] * mean[d];
	return value;
}
