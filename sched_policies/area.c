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
	const double *gap_us; /* of each class, between two tasks; NULL: none */
	int hoped; /* class that is hoped to be fast with what is not known of it; -1: none */
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

/* The time of a type on a class that takes part; 0: none. */
static double time_us(const struct programme *lp, const struct heddle_area_type *type,
                      unsigned class)
{
	double us = type->us[class], least = INFINITY;

	if (!lp->workers[class])
		return 0;
	if (us < 0 && lp->hoped == (int)class) {
		for (unsigned k = 0; k < HEDDLE_POOL_CLASSES; k++)
			if (type->us[k] > 0)
				least = fmin(least, type->us[k]);
		us = isinf(least) ? 0 : least;
	}
	return us > 0 ? us + (lp->gap_us ? lp->gap_us[class] : 0) : 0;
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

		for (unsigned k = 0; k < HEDDLE_POOL_CLASSES; k++) {
			double us = time_us(lp, type, k);

			if (us > 0 && price[k] * us < least) {
				least = price[k] * us;
				best = k;
			}
		}
		if (isinf(least))
			continue;
		sum += type->count * least;
		busy_us[best] += type->count * time_us(lp, type, best) / lp->workers[best];
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

/* Who computes for longer where each type runs on class a if its ratio of times, b's to a's, is
 * above x, and on class b if it is below. Types with that ratio may run on either.
 * @return above 0: a, even without those; below 0: b, even without those; 0: it depends on them */
static int busier(const struct programme *lp, unsigned a, unsigned b, double x)
{
	double busy_us[2] = {0}, either_us[2] = {0};

	for (size_t i = 0; i < lp->n; i++) {
		const struct heddle_area_type *type = &lp->types[i];
		double a_us = time_us(lp, type, a), b_us = time_us(lp, type, b);
		double *us = a_us > 0 && b_us > 0 && b_us / a_us == x ? either_us : busy_us;

		if (us == either_us || b_us <= 0 || (a_us > 0 && b_us / a_us > x))
			us[0] += type->count * a_us / lp->workers[a];
		if (us == either_us || a_us <= 0 || (b_us > 0 && b_us / a_us < x))
			us[1] += type->count * b_us / lp->workers[b];
	}
	if (busy_us[0] > busy_us[1] + either_us[1])
		return 1;
	return busy_us[1] > busy_us[0] + either_us[0] ? -1 : 0;
}

/* Of two classes that share tasks: the ratio of their prices at the best is one of the ratios of a
 * type's times, or one of the classes costs nothing. Between these the dual is linear. It is
 * concave: each look at a ratio says on which side the best one is. */
static double pair(const struct programme *lp, unsigned a, unsigned b, double *price)
{
	double busy_us[HEDDLE_POOL_CLASSES], above = 0, below = INFINITY;
	int side = busier(lp, a, b, 1);

	memset(price, 0, HEDDLE_POOL_CLASSES * sizeof(*price));
	for (size_t i = 0; i < lp->n; i++) {
		double a_us = time_us(lp, &lp->types[i], a), b_us = time_us(lp, &lp->types[i], b);
		double x = b_us / a_us;

		if (!(a_us > 0 && b_us > 0 && x > above && x < below))
			continue;
		side = busier(lp, a, b, x);
		price[a] = b_us;
		price[b] = a_us;
		if (!side)
			break;
		*(side > 0 ? &above : &below) = x;
	}
	/* Between two ratios, by rounding: either is the best. */
	if (price[a] <= 0 || (side && (side > 0 ? isinf(below) : above <= 0))) {
		price[a] = side > 0;
		price[b] = side <= 0;
	}
	scale(lp, price);
	return value(lp, price, busy_us);
}

static double prices(const struct programme *lp, double *price)
{
	unsigned classes[HEDDLE_POOL_CLASSES], nclasses = 0;
	bool any = false;

	for (unsigned k = 0; k < HEDDLE_POOL_CLASSES; k++)
		if (lp->workers[k]) {
			classes[nclasses++] = k;
			any |= price[k] > 0;
		}
	if (!nclasses)
		return 0;
	if (nclasses == 1) {
		double busy_us[HEDDLE_POOL_CLASSES];

		memset(price, 0, HEDDLE_POOL_CLASSES * sizeof(*price));
		price[classes[0]] = 1;
		scale(lp, price);
		return value(lp, price, busy_us);
	}
	if (nclasses == 2)
		return pair(lp, classes[0], classes[1], price);
	for (unsigned i = 0; i < nclasses; i++)
		price[classes[i]] = any ? price[classes[i]] : 1;
	scale(lp, price);
	return climb(lp, price);
}

double heddle_area_prices(const struct heddle_area_type *types, size_t n,
                          const unsigned workers[HEDDLE_POOL_CLASSES],
                          double price[HEDDLE_POOL_CLASSES])
{
	return prices(&(struct programme){types, n, workers, NULL, -1}, price);
}

double heddle_area_help_us(const struct heddle_area_type *types, size_t n,
                           const unsigned workers[HEDDLE_POOL_CLASSES],
                           const double gap_us[HEDDLE_POOL_CLASSES], unsigned class)
{
	double price[HEDDLE_POOL_CLASSES] = {0}, count = 0, without_us;
	struct programme lp = {types, n, workers, gap_us, class};
	unsigned others[HEDDLE_POOL_CLASSES];
	bool open = false;

	memcpy(others, workers, sizeof(others));
	others[class] = 0;
	lp.workers = others;
	/* What the others cannot do does not count. */
	for (size_t i = 0; i < n; i++) {
		bool known = false, could = false;

		for (unsigned k = 0; k < HEDDLE_POOL_CLASSES; k++) {
			known |= time_us(&lp, &types[i], k) > 0;
			could |= others[k] && types[i].us[k] < 0;
		}
		count += known ? types[i].count : 0;
		open |= !known && could && types[i].us[class] > 0;
	}
	if (count <= 0)
		return open ? INFINITY : 0;
	without_us = prices(&lp, price);
	lp.workers = workers;
	memset(price, 0, sizeof(price));
	return fmax(0, without_us - prices(&lp, price)) / count;
}

double heddle_area_interval_us(const struct heddle_area_type *types, size_t n, double bound_us)
{
	double count = 0;

	for (size_t i = 0; i < n; i++) {
		bool known = types[i].count <= 0;

		for (unsigned k = 0; k < HEDDLE_POOL_CLASSES; k++)
			known |= types[i].us[k] > 0;
		if (!known)
			return INFINITY;
		count += types[i].count;
	}
	return count > 0 ? bound_us / count : INFINITY;
}
