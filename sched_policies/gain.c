/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "config.h"

#include <math.h>

#include "sched_policies/gain.h"

/* Shortest time on classes other than one, 0 when none is known; counts the classes. */
static double best_other(const struct heddle_pool_key *key, const double *us, unsigned except,
                         unsigned *classes)
{
	double best = 0;

	*classes = 0;
	for (unsigned k = 0; k < HEDDLE_POOL_CLASSES; k++) {
		if (k == except || !heddle_pool_key_runs(key, k))
			continue;
		++*classes;
		if (us[k] > 0 && (best <= 0 || us[k] < best))
			best = us[k];
	}
	return best;
}

void heddle_gain_set(struct heddle_pool_key *key, const double us[HEDDLE_POOL_CLASSES],
                     unsigned reference)
{
	bool base = heddle_pool_key_runs(key, reference);

	for (unsigned k = 0; k < HEDDLE_POOL_CLASSES; k++) {
		unsigned others;
		double best, than;

		if (!heddle_pool_key_runs(key, k))
			continue;
		best = best_other(key, us, k, &others);
		than = k == reference ? best : us[reference];
		key->cost[k] = heddle_pool_cost(us[k]);
		if (!others || !base)
			key->gain[k] = HEDDLE_POOL_ALONE;
		else
			key->gain[k] = us[k] > 0 && than > 0 ? heddle_pool_gain(than / us[k]) : 0;
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
