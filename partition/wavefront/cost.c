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

/* So many samples tell noise from what is explained worse, and so much worse that must be. */
#define MANY 6
#define CLEARLY 4

double wave_cost_us(const struct wave_tile_cost *cost, double rows, double columns)
{
	return cost->us + rows * cost->row + columns * cost->column +
	       rows * columns * cost->iteration;
}

/* A sample's factors of the four costs, in relation to its time. */
static void factors(const struct wave_tile_sample *sample, double *row)
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
static double fit_some(const struct wave_tile_sample *samples, unsigned n, unsigned set,
                       double *costs)
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

/* What some of the costs explain. */
struct fit {
	double error; /* sum of squares */
	unsigned terms;
	double costs[TERMS];
};

/* Whether times are explained without iterations: what these would cost in large tiles must
 * not come from noise. Of many samples one can see that iterations explain them better. */
static bool is_plain(const struct fit *without, const struct fit *with, unsigned n)
{
	double noise = WAVE_COST_NOISE * WAVE_COST_NOISE * (n - (TERMS - 1.0));

	if (n < TERMS || without->error > noise)
		return false;
	return n < MANY || with->terms > without->terms ||
	       with->error * CLEARLY * CLEARLY > without->error;
}

/* The costs that explain samples best, and how far they are off (root mean square). */
static double fit_all(const struct wave_tile_sample *samples, unsigned n, bool core, double *costs)
{
	/* Bits: iteration, us, row, column; fewer first. */
	static const unsigned char sets[] = {1, 2, 4, 8, 3, 5, 9, 6, 10, 12, 7, 11, 13, 14, 15};
	struct fit best[2] = {{.error = INFINITY}, {.error = INFINITY}}, *least;

	for (unsigned i = 0; i < sizeof(sets); i++) {
		struct fit fit = {.terms = __builtin_popcount(sets[i])};

		least = &best[sets[i] & 1];
		fit.error = fit_some(samples, n, sets[i], fit.costs);
		if (fit.error < least->error - NOTHING ||
		    (least->error == INFINITY && fit.error < INFINITY))
			*least = fit;
	}
	least = &best[core || (!is_plain(&best[0], &best[1], n) &&
	                       best[0].error >= best[1].error - NOTHING)];
	memcpy(costs, least->costs, sizeof(least->costs));
	return sqrt(least->error / n);
}

/* A sample that the machine disturbed, if there is one: the others say that it has
 * taken too long, and agree with each other much better than with it. */
static unsigned disturbed(const struct wave_tile_sample *samples, unsigned n, bool core,
                          double error)
{
	struct wave_tile_sample others[WAVE_COST_MOST_SAMPLES];
	double costs[TERMS];
	unsigned worst = n;

	for (unsigned s = 0; s < n; s++) {
		double rest, us;

		memcpy(others, samples, n * sizeof(*samples));
		others[s] = others[n - 1];
		rest = fit_all(others, n - 1, core, costs);
		us = wave_cost_us(&(struct wave_tile_cost){.iteration = costs[0],
		                                           .us = costs[CONSTANT],
		                                           .row = costs[2],
		                                           .column = costs[3]},
		                  samples[s].rows, samples[s].columns);
		if (samples[s].us < us * WAVE_COST_DISTURBED || rest > error / 2)
			continue;
		worst = s;
		error = 2 * rest;
	}
	return worst;
}

void wave_cost_fit(const struct wave_tile_sample *given, unsigned n, bool core,
                   struct wave_tile_cost *cost)
{
	double fastest = INFINITY, least[TERMS] = {0}, error;
	struct wave_tile_sample samples[WAVE_COST_MOST_SAMPLES];

	if (n > WAVE_COST_MOST_SAMPLES)
		n = WAVE_COST_MOST_SAMPLES;
	memcpy(samples, given, n * sizeof(*samples));
	error = fit_all(samples, n, core, least);
	while (n > TERMS) {
		unsigned worst = disturbed(samples, n, core, error);

		if (worst == n)
			break;
		samples[worst] = samples[--n];
		error = fit_all(samples, n, core, least);
	}
	for (unsigned s = 0; s < n; s++)
		fastest = fmin(fastest, samples[s].us / samples[s].rows / samples[s].columns);
	*cost = (struct wave_tile_cost){.iteration = fmax(least[0], fastest / WAVE_COST_MOST),
	                                .us = fmax(least[CONSTANT], 0),
	                                .row = least[2],
	                                .column = least[3]};
}

double wave_cost_confirm(double *doubtful, double factor)
{
	double before = *doubtful;

	if ((before > 1) != (factor > 1) || (before < 1) != (factor < 1) || factor == 1) {
		*doubtful = factor;
		return 1;
	}
	*doubtful = 1;
	return factor > 1 ? fmin(before, factor) : fmax(before, factor);
}
