/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "config.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "sched_policies/area.h"

/* Steps towards the prices, and the first one's length. The first call may be some tenths off; who
 * calls again comes nearer. */
#define STEPS 100
#define STRIDE 0.5
#define LEAST 1e-3 /* price to begin with */

struct programme {
	const struct heddle_area_type *types;
	size_t n;
	const unsigned *workers;
};

/* Has the prices sum up to 1 over all processors. */
static void scale(const struct programme *lp, double *price)
{
	double sum = 0;

	for (unsigned k = 0; k < HEDDLE_POOL_CLASSES; k++)
		sum += lp->workers[k] * price[k];
	for (unsigned k = 0; k < HEDDLE_POOL_CLASSES; k++)
		price[k] = lp->workers[k] ? price[k] / sum : 0;
}

static bool runs(const struct programme *lp, const struct heddle_area_type *type, unsigned class)
{
	return lp->workers[class] && type->us[class] > 0;
}

/* The dual's value at some prices; and how long each class computes if each type runs where it is
 * cheapest. */
static double value(const struct programme *lp, const double *price, double *busy_us)
{
	double sum = 0;

	memset(busy_us, 0, HEDDLE_POOL_CLASSES * sizeof(*busy_us));
	for (size_t i = 0; i < lp->n; i++) {
		const struct heddle_area_type *type = &lp->types[i];
		double least = INFINITY;
		unsigned best = 0;

		for (unsigned k = 0; k < HEDDLE_POOL_CLASSES; k++)
			if (runs(lp, type, k) && price[k] * type->us[k] < least) {
				least = price[k] * type->us[k];
				best = k;
			}
		if (isinf(least))
			continue;
		sum += type->count * least;
		busy_us[best] += type->count * type->us[best] / lp->workers[best];
	}
	return sum;
}

/* Raises the prices of classes that are busy for long, and keeps the best ones. */
static double climb(const struct programme *lp, double *price)
{
	double busy_us[HEDDLE_POOL_CLASSES], at[HEDDLE_POOL_CLASSES], best;

	best = value(lp, price, busy_us);
	/* A price of nothing would never rise. */
	for (unsigned k = 0; k < HEDDLE_POOL_CLASSES; k++)
		at[k] = fmax(price[k], LEAST);
	scale(lp, at);
	value(lp, at, busy_us);
	for (int step = 0; step < STEPS; step++) {
		double longest = 0, bound;

		for (unsigned k = 0; k < HEDDLE_POOL_CLASSES; k++)
			longest = fmax(longest, busy_us[k]);
		if (longest <= 0)
			break;
		for (unsigned k = 0; k < HEDDLE_POOL_CLASSES; k++)
			at[k] *= exp(STRIDE / sqrt(step + 1) * (busy_us[k] / longest - 0.5));
		scale(lp, at);
		bound = value(lp, at, busy_us);
		if (bound > best) {
			best = bound;
			memcpy(price, at, sizeof(at));
		}
	}
	return best;
}

/* Of two classes that share tasks: the ratio of their prices at the best is one of the ratios of a
 * type's times, or one of the classes costs nothing. Between these the dual is linear. */
static double pair(const struct programme *lp, unsigned a, unsigned b, double *price)
{
	double busy_us[HEDDLE_POOL_CLASSES], best = -1;

	for (size_t i = 0; i <= lp->n + 1; i++) {
		double at[HEDDLE_POOL_CLASSES] = {0}, bound;

		if (i < lp->n && !(runs(lp, &lp->types[i], a) && runs(lp, &lp->types[i], b)))
			continue;
		at[a] = i == lp->n ? 0 : i > lp->n ? 1 : lp->types[i].us[b];
		at[b] = i == lp->n ? 1 : i > lp->n ? 0 : lp->types[i].us[a];
		scale(lp, at);
		bound = value(lp, at, busy_us);
		if (bound > best) {
			best = bound;
			memcpy(price, at, sizeof(at));
		}
	}
	return best;
}

double heddle_area_prices(const struct heddle_area_type *types, size_t n,
                          const unsigned workers[HEDDLE_POOL_CLASSES],
                          double price[HEDDLE_POOL_CLASSES])
{
	struct programme lp = {types, n, workers};
	unsigned classes[HEDDLE_POOL_CLASSES], nclasses = 0;
	bool any = false;

	for (unsigned k = 0; k < HEDDLE_POOL_CLASSES; k++)
		if (workers[k]) {
			classes[nclasses++] = k;
			any |= price[k] > 0;
		}
	if (!nclasses)
		return 0;
	if (nclasses == 2)
		return pair(&lp, classes[0], classes[1], price);
	for (unsigned i = 0; i < nclasses; i++)
		price[classes[i]] = any ? price[classes[i]] : 1;
	scale(&lp, price);
	return climb(&lp, price);
}
