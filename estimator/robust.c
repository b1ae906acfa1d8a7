/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "config.h"

#include <math.h>
#include <string.h>

#include "estimator/robust.h"

void heddle_robust_add(struct heddle_robust *robust, double us)
{
	if (!(us > 0) || !isfinite(us))
		return;
	robust->recent[robust->count++ % HEDDLE_ROBUST_RECENT] = us;
	/* Once around: the count goes on without ever looking young again. */
	if (!robust->count)
		robust->count = HEDDLE_ROBUST_RECENT;
}

/* By insertion: there are few, and often nearly in order. */
void heddle_robust_sort(double *values, unsigned n)
{
	for (unsigned i = 1; i < n; i++) {
		double value = values[i];
		unsigned j = i;

		for (; j && values[j - 1] > value; j--)
			values[j] = values[j - 1];
		values[j] = value;
	}
}

double heddle_robust_median(double *values, unsigned n)
{
	heddle_robust_sort(values, n);
	return n ? values[(n - 1) / 2] : 0;
}

double heddle_robust_latest(const double *ring, unsigned count, unsigned room)
{
	unsigned n = count < room ? count : room;
	double values[HEDDLE_ROBUST_ROOM];

	memcpy(values, ring, n * sizeof(*values));
	return heddle_robust_median(values, n);
}

double heddle_robust_us(const struct heddle_robust *robust)
{
	return heddle_robust_latest(robust->recent, robust->count, HEDDLE_ROBUST_RECENT);
}
