/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "config.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "apps/common/sweep.h"

static int ascending(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* A quarter, half or three of the way through the sorted values. */
static double quartile(const double *sorted, unsigned n, unsigned quarters)
{
	return sorted[(n - 1) * quarters / 4];
}

static double *sort(const double *values, unsigned n)
{
	double *sorted = n ? malloc(n * sizeof(*sorted)) : NULL;

	if (!sorted)
		return NULL;
	memcpy(sorted, values, n * sizeof(*sorted));
	qsort(sorted, n, sizeof(*sorted), ascending);
	return sorted;
}

unsigned sweep_median_at(const double *values, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		unsigned before = 0;

		for (unsigned other = 0; other < n; other++)
			before +=
			    values[other] < values[i] || (values[other] == values[i] && other < i);
		if (before == (n - 1) / 2)
			return i;
	}
	return 0;
}

double sweep_median(const double *values, unsigned n)
{
	double *sorted = sort(values, n), median;

	if (!sorted)
		return NAN;
	median = quartile(sorted, n, 2);
	free(sorted);
	return median;
}

struct sweep_ratio sweep_ratio(const double *us, const double *other, unsigned n)
{
	struct sweep_ratio ratio = {NAN, NAN, NAN};
	double *ratios = n ? malloc(n * sizeof(*ratios)) : NULL;

	if (!ratios)
		return ratio;
	for (unsigned r = 0; r < n; r++)
		ratios[r] = us[r] / other[r];
	qsort(ratios, n, sizeof(*ratios), ascending);
	ratio = (struct sweep_ratio){quartile(ratios, n, 2), quartile(ratios, n, 1),
	                             quartile(ratios, n, 3)};
	free(ratios);
	return ratio;
}

/* Every other time of a variant, from the first or the second one on. */
static unsigned half(const struct sweep *sweep, unsigned variant, unsigned first, double *us)
{
	unsigned n = 0;

	for (unsigned r = first; r < sweep->nreps; r += 2)
		us[n++] = sweep->us[variant][r];
	return n;
}

static double half_regret(const struct sweep *sweep, unsigned first, double *us, double *other)
{
	double least = INFINITY;
	unsigned best = sweep->from, n;

	for (unsigned v = sweep->from; v < sweep->nvariants; v++) {
		double median;

		n = half(sweep, v, first, us);
		median = sweep_median(us, n);
		if (median < least) {
			least = median;
			best = v;
		}
	}
	half(sweep, best, !first, other);
	n = half(sweep, 0, !first, us);
	return sweep_ratio(us, other, n).median;
}

double sweep_regret(const struct sweep *sweep)
{
	double *us = malloc(2 * (sweep->nreps + 1) * sizeof(*us)), regret = NAN;

	if (us && sweep->nreps >= 4)
		regret = sqrt(half_regret(sweep, 0, us, us + sweep->nreps + 1) *
		              half_regret(sweep, 1, us, us + sweep->nreps + 1));
	free(us);
	return regret;
}
