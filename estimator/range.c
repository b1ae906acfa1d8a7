/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "config.h"

#include <math.h>
#include <string.h>

#include "estimator/range.h"
#include "estimator/robust.h"

/* ---- intervals ---- */

/* The nearest points with a time on a class, nearest first. */
struct near {
	unsigned n;
	size_t points[HEDDLE_HISTORY_RANGE_MOST];
	double distances[HEDDLE_HISTORY_RANGE_MOST];
};

static void near_add(struct near *near, size_t point, double distance)
{
	unsigned place = near->n;

	while (place && near->distances[place - 1] > distance)
		place--;
	if (place == HEDDLE_HISTORY_RANGE_MOST)
		return;
	if (near->n < HEDDLE_HISTORY_RANGE_MOST)
		near->n++;
	for (unsigned i = near->n - 1; i > place; i--) {
		near->points[i] = near->points[i - 1];
		near->distances[i] = near->distances[i - 1];
	}
	near->points[place] = point;
	near->distances[place] = distance;
}

static void near_find(const struct heddle_history *history, const double *values, size_t leave_out,
                      unsigned class, struct near *near)
{
	near->n = 0;
	for (size_t p = 0; p < history->npoints; p++)
		if (p != leave_out && history->points[p].us[class] > 0)
			near_add(near, p, heddle_history_distance(history, values, p));
}

/* By which factor a point's time on a class was predicted wrongly, as a logarithm of 0 or more;
 * not a number where it cannot be predicted. What is known of the task is known of the point. */
static double residual(const struct heddle_history *history, struct heddle_history_rule rule,
                       size_t p, unsigned class, const double *known)
{
	const struct heddle_history_point *point = &history->points[p];
	double us[HEDDLE_HISTORY_CLASSES] = {0};

	for (unsigned c = 0; c < HEDDLE_HISTORY_CLASSES; c++)
		if (known[c] > 0)
			us[c] = point->us[c];
	heddle_history_predict(history, point->values, rule, p, us);
	return us[class] > 0 ? fabs(log(us[class] / point->us[class])) : NAN;
}

/* The residual that so large a part of all do not exceed; below 0: there are too few. */
static double quantile(double *residuals, unsigned n)
{
	unsigned rank = ceil(HEDDLE_HISTORY_RANGE_PART * (n + 1));

	if (n < HEDDLE_HISTORY_RANGE_LEAST)
		return -1;
	heddle_robust_sort(residuals, n);
	return residuals[(rank < n ? rank : n) - 1];
}

static double half_width(const struct heddle_history *history, const double *values,
                         struct heddle_history_rule rule, size_t leave_out, unsigned class,
                         const double *known)
{
	double residuals[HEDDLE_HISTORY_RANGE_MOST];
	struct near near;
	unsigned n = 0;

	near_find(history, values, leave_out, class, &near);
	for (unsigned i = 0; i < near.n; i++) {
		double off = residual(history, rule, near.points[i], class, known);

		if (isfinite(off))
			residuals[n++] = off;
	}
	return quantile(residuals, n);
}

void heddle_history_ranges(const struct heddle_history *history, const double *values,
                           struct heddle_history_rule rule, size_t leave_out,
                           const double us[HEDDLE_HISTORY_CLASSES],
                           struct heddle_history_range ranges[HEDDLE_HISTORY_CLASSES])
{
	double predicted[HEDDLE_HISTORY_CLASSES];

	memcpy(predicted, us, sizeof(predicted));
	heddle_history_predict(history, values, rule, leave_out, predicted);
	for (unsigned c = 0; c < HEDDLE_HISTORY_CLASSES; c++) {
		double width = us[c] > 0 || !(predicted[c] > 0)
		                   ? -1
		                   : half_width(history, values, rule, leave_out, c, us);

		ranges[c] = (struct heddle_history_range){0};
		if (width >= 0)
			ranges[c] = (struct heddle_history_range){
			    .low = predicted[c] * exp(-width), .high = predicted[c] * exp(width)};
	}
}

/* ---- outside of what was measured ---- */

/* Whether two sets have the same parameters, and the same words. */
static bool alike(const struct heddle_history *history, const double *a, const double *b)
{
	for (unsigned d = 0; d < history->ndimensions; d++)
		if (isnan(a[d]) != isnan(b[d]) ||
		    (history->dimensions[d].categorical && !isnan(a[d]) && a[d] != b[d]))
			return false;
	return true;
}

/* Points that are like some values. */
struct likes {
	const struct heddle_history *history;
	const double *values;
	unsigned class;
};

static bool is_like(const struct likes *likes, size_t p)
{
	const struct heddle_history_point *point = &likes->history->points[p];

	return point->us[likes->class] > 0 && alike(likes->history, likes->values, point->values);
}

/* Distance of some values to the nearest like point but one. */
static double apart(const struct likes *likes, const double *values, size_t but)
{
	double least = INFINITY;

	for (size_t p = 0; p < likes->history->npoints; p++)
		if (p != but && is_like(likes, p))
			least = fmin(least, heddle_history_distance(likes->history, values, p));
	return least;
}

static bool beyond(const struct likes *likes, unsigned d)
{
	double low = INFINITY, high = -INFINITY, value = likes->values[d];

	for (size_t p = 0; p < likes->history->npoints; p++)
		if (is_like(likes, p)) {
			low = fmin(low, likes->history->points[p].values[d]);
			high = fmax(high, likes->history->points[p].values[d]);
		}
	return !isnan(value) && !(low <= value && value <= high);
}

/* Whether the values are in a gap: all points are nearer to another one. */
static bool in_gap(const struct likes *likes)
{
	double away = apart(likes, likes->values, likes->history->npoints);

	for (size_t p = 0; p < likes->history->npoints; p++)
		if (is_like(likes, p) && apart(likes, likes->history->points[p].values, p) >= away)
			return false;
	return away > 0;
}

bool heddle_history_extrapolates(const struct heddle_history *history, const double *values,
                                 unsigned class)
{
	const struct likes likes = {.history = history, .values = values, .class = class};
	bool any = false;

	for (size_t p = 0; p < history->npoints && !any; p++)
		any = is_like(&likes, p);
	for (unsigned d = 0; d < history->ndimensions; d++)
		if (beyond(&likes, d))
			return true;
	return !any || in_gap(&likes);
}
