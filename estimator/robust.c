/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "config.h"

#include <math.h>
#include <string.h>

#include "estimator/robust.h"

/* @return how many are left */
static unsigned sorted_remove(struct heddle_robust *robust, double us)
{
	unsigned i = 0;

	while (robust->sorted[i] < us)
		i++;
	for (; i + 1 < HEDDLE_ROBUST_RECENT; i++)
		robust->sorted[i] = robust->sorted[i + 1];
	return HEDDLE_ROBUST_RECENT - 1;
}

static void sorted_insert(struct heddle_robust *robust, unsigned n, double us)
{
	for (; n && robust->sorted[n - 1] > us; n--)
		robust->sorted[n] = robust->sorted[n - 1];
	robust->sorted[n] = us;
}

void heddle_robust_add(struct heddle_robust *robust, double us)
{
	unsigned n = robust->count;

	if (!(us > 0) || !isfinite(us))
		return;
	if (robust->count >= HEDDLE_ROBUST_RECENT)
		n = sorted_remove(robust, robust->recent[robust->count % HEDDLE_ROBUST_RECENT]);
	sorted_insert(robust, n, us);
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
	unsigned n = robust->count < HEDDLE_ROBUST_RECENT ? robust->count : HEDDLE_ROBUST_RECENT;

	return n ? robust->sorted[(n - 1) / 2] : 0;
}
