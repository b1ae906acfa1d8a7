/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "config.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "cost.h"

enum { CONSTANT = 1, TERMS = 4 }; /* iteration, us, row, column */

/* What is no better than this is not worth a cost more; the same in relation to the
 * pivot is a matrix that says nothing of one. */
#define NOTHING 1e-9

double tile_cost_us(const struct tile_cost *cost, double rows, double columns)
{
	return cost->us + rows * cost->row + columns * cost->column +
	       rows * columns * cost->iteration;
}

/* A sample's factors of the four costs, in relation to its time. */
static void factors(const struct tile_sample *sample, double *row)
{
	row[0] = sample->rows * sample->columns / sample->us;
	row[1] = 1 / sample->us;
	row[2] = sample->rows / sample->us;
	row[3] = sample->columns / sample->us;
}

/* Solves the n equations of a square system by elimination; false: it has no pivot. */
static bool solve(double a[TERMS][TERMS + 1], unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		unsigned pivot = i;
		double scale = 0;

		for (unsigned r = i; r < n; r++)
			if (fabs(a[r][i]) > fabs(a[pivot][i]))
				pivot = r;
		for (unsigned c = i; c <= n; c++) {
			double other = a[i][c];

			a[i][c] = a[pivot][c];
			a[pivot][c] = other;
			scale = fmax(scale, c < n ? fabs(a[i][c]) : 0);
		}
		if (fabs(a[i][i]) <= NOTHING || fabs(a[i][i]) < NOTHING * scale)
			return false;
		for (unsigned r = 0; r < n; r++) {
			double factor = r == i ? 0 : a[r][i] / a[i][i];

			for (unsigned c = i; c <= n; c++)
				a[r][c] -= factor * a[i][c];
		}
	}
	return true;
}

/* Least squares with the costs of a set alone; columns of the matrix are scaled to
 * length 1, since rows, columns and iterations differ by orders of magnitude.
 * Returns the error, or INFINITY where there is no such solution. */
static double fit_some(const struct tile_sample *samples, unsigned n, unsigned set, double *costs)
{
	double a[TERMS][TERMS + 1] = {{0}}, length[TERMS] = {0}, error = 0, row[TERMS];
	unsigned terms[TERMS], nterms = 0;

	for (unsigned t = 0; t < TERMS; t++)
		if (set >> t & 1)
			terms[nterms++] = t;
	for (unsigned s = 0; s < n; s++) {
		factors(&samples[s], row);
		for (unsigned t = 0; t < TERMS; t++)
			length[t] += row[t] * row[t];
	}
	for (unsigned s = 0; s < n; s++) {
		factors(&samples[s], row);
		for (unsigned i = 0; i < nterms; i++) {
			double scaled = row[terms[i]] / sqrt(length[terms[i]]);

			for (unsigned j = 0; j < nterms; j++)
				a[i][j] += scaled * row[terms[j]] / sqrt(length[terms[j]]);
			a[i][nterms] += scaled;
		}
	}
	if (!solve(a, nterms))
		return INFINITY;
	memset(costs, 0, TERMS * sizeof(*costs));
	for (unsigned i = 0; i < nterms; i++) {
		costs[terms[i]] = a[i][nterms] / a[i][i] / sqrt(length[terms[i]]);
		if (terms[i] != CONSTANT && !(costs[terms[i]] >= 0))
			return INFINITY;
	}
	for (unsigned s = 0; s < n; s++) {
		double sum = -1;

		factors(&samples[s], row);
		for (unsigned t = 0; t < TERMS; t++)
			sum += costs[t] * row[t];
		error += sum * sum;
	}
	return error;
}

void tile_cost_fit(const struct tile_sample *samples, unsigned n, struct tile_cost *cost)
{
	/* Bits: iteration, us, row, column; fewer first. */
	static const unsigned char sets[] = {1, 2, 4, 8, 3, 5, 9, 6, 10, 12, 7, 11, 13, 14, 15};
	double best = INFINITY, fastest = INFINITY, costs[TERMS], least[TERMS] = {0};
	const double noise = n * TILE_COST_NOISE * TILE_COST_NOISE;

	for (unsigned i = 0; i < sizeof(sets); i++) {
		double error = fit_some(samples, n, sets[i], costs);

		/* What iterations would cost in large tiles must not come from noise. */
		if (n >= TERMS && !(sets[i] & 1) && error < noise)
			error = 0;
		if (error < best - NOTHING || best == INFINITY) {
			best = error;
			memcpy(least, costs, sizeof(least));
		}
	}
	for (unsigned s = 0; s < n; s++)
		fastest = fmin(fastest, samples[s].us / samples[s].rows / samples[s].columns);
	*cost = (struct tile_cost){.iteration = fmax(least[0], fastest / TILE_COST_MOST),
	                           .us = fmax(least[CONSTANT], 0),
	                           .row = least[2],
	                           .column = least[3]};
}
