/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "config.h"

#include <math.h>

#include "sched_policies/gain.h"

/* Steps of a gain in e-foldings of a speed-up. */
#define STEPS (8 / M_LN2)

/* The class other than one with the shortest time, that one itself when none is known; counts the
 * classes. */
static unsigned best_other(const struct heddle_pool_key *key, const double *us, unsigned except,
                           unsigned *classes)
{
	unsigned best = except;

	*classes = 0;
	for (unsigned k = 0; k < HEDDLE_POOL_CLASSES; k++) {
		if (k == except || !heddle_pool_key_runs(key, k))
			continue;
		++*classes;
		if (us[k] > 0 && (best == except || us[k] < us[best]))
			best = k;
	}
	return best;
}

/* Rounds a gain to a power of two that is at least the interval it lies in. */
static int round_off(int gain, double spread)
{
	double interval = 2 * STEPS * spread, step = 1;

	while (step < interval && step < HEDDLE_POOL_ALONE)
		step *= 2;
	return step * rint(gain / step);
}

void heddle_gain_set(struct heddle_pool_key *key, const double us[HEDDLE_POOL_CLASSES],
                     const double spread[HEDDLE_POOL_CLASSES], unsigned reference)
{
	bool base = heddle_pool_key_runs(key, reference);

	for (unsigned k = 0; k < HEDDLE_POOL_CLASSES; k++) {
		unsigned others, than;

		if (!heddle_pool_key_runs(key, k))
			continue;
		than = best_other(key, us, k, &others);
		if (k != reference)
			than = reference;
		key->cost[k] = heddle_pool_cost(us[k]);
		if (!others || !base)
			key->gain[k] = HEDDLE_POOL_ALONE;
		else
			key->gain[k] =
			    us[k] > 0 && us[than] > 0 ? heddle_pool_gain(us[than] / us[k]) : 0;
		if (spread && key->gain[k] < HEDDLE_POOL_ALONE)
			key->gain[k] = round_off(key->gain[k], hypot(spread[k], spread[than]));
	}
}

double heddle_gain_finish(const struct heddle_gain_helper *helpers, unsigned n)
{
	double rate = 0;

	for (unsigned h = 0; h < n; h++) {
		double us = helpers[h].load_us + helpers[h].busy_us;

		if (helpers[h].workers > 0 && us <= 0)
			return 0;
		if (helpers[h].workers > 0)
			rate += helpers[h].workers / us;
	}
	return 1 / rate;
}
