/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * What the nearest points let expect of a task, by planes through them in logarithms.
 */
#include "config.h"

#include <math.h>
#include <string.h>

#include "estimator/history.h"
#include "estimator/local_fit.h"

_Static_assert(HEDDLE_HISTORY_DIMENSIONS + 1 == HEDDLE_LOCAL_FIT_DIMENSIONS,
               "a coordinate for each dimension, and one for the sizes of data");

/* Coordinate of the sizes. */
#define SIZES HEDDLE_HISTORY_DIMENSIONS
/* Points of a plane: so many, and so many more for each dimension. */
#define POINTS 3
#define POINTS_MORE 2
/* Two points this far apart, e to the power of it, decide about the slope as much as what is
 * expected of it. */
#define STIFFNESS (0.1 * 0.1 / 2)
/* Expected exponents of times over sizes of data. */
#define GROWTH 1
#define GROWTH_WIDE 0.5
/* Times are between these, as logarithms, wherever planes lead: a nanosecond, decades. */
#define SHORTEST -7.
#define LONGEST 35.
/* No weight distinguishes points that are nearer than that. */
#define NEAR 0.1

/* Of what a plane is wanted. */
struct question {
	const struct heddle_history *history;
	const double *values;
	const double *sizes; /* NULL: not known */
	size_t leave_out;
};

/* How far a point is from the task in a dimension: the logarithm of the ratio where both are
 * numbers above 0. What has none counts as published; so do words, and what another word costs
 * becomes a slope. */
static double step(const struct question *q, unsigned d, const struct heddle_history_point *point)
{
	const struct heddle_knn_dimension *dimension = &q->history->dimensions[d];
	double a = q->values[d], b = point->values[d];

	if (!dimension->categorical && a > 0 && b > 0)
		return log(b / a);
	return heddle_knn_distance(dimension, 1, &a, &b);
}

static double distance(const struct question *q, const struct heddle_history_point *point)
{
	double sum = 0;

	for (unsigned d = 0; d < q->history->ndimensions; d++) {
		double by = step(q, d, point);

		sum += by * by;
	}
	return sqrt(sum);
}

/* How much more data a point has, as a logarithm, by the piece that differs most. */
static double growth(const double *from, const double *to)
{
	double most = 0;

	for (unsigned i = 0; i < HEDDLE_HISTORY_SIZES && from[i] > 0 && to[i] > 0; i++) {
		double by = log(to[i] / from[i]);

		if (fabs(by) > fabs(most))
			most = by;
	}
	return most;
}

static void nearest(const struct question *q, unsigned classes, struct heddle_knn *knn)
{
	unsigned k = POINTS + POINTS_MORE * q->history->ndimensions;

	*knn = (struct heddle_knn){.k = k < HEDDLE_KNN_MAXK ? k : HEDDLE_KNN_MAXK};
	for (size_t p = 0; p < q->history->npoints; p++) {
		const struct heddle_history_point *point = &q->history->points[p];

		if (p != q->leave_out && heddle_history_has(point, classes))
			heddle_knn_consider(knn, p, distance(q, point));
	}
}

/* The points of a plane, but for their heights. @return whether the sizes of all are known */
static bool points_place(const struct question *q, const struct heddle_knn *knn,
                         struct heddle_local_fit_point *points)
{
	double reach = fmax(knn->nearest[knn->found - 1].distance / 2, NEAR);
	bool sized = q->sizes && q->sizes[0] > 0;

	for (unsigned i = 0; i < knn->found; i++)
		sized = sized && q->history->points[knn->nearest[i].point].sizes[0] > 0;
	for (unsigned i = 0; i < knn->found; i++) {
		const struct heddle_history_point *point =
		    &q->history->points[knn->nearest[i].point];
		double far = knn->nearest[i].distance / reach;

		points[i].weight = exp(-far * far / 2);
		for (unsigned d = 0; d < SIZES; d++)
			points[i].x[d] = d < q->history->ndimensions ? step(q, d, point) : 0;
		points[i].x[SIZES] = sized ? growth(q->sizes, point->sizes) : 0;
	}
	return sized;
}

/* The logarithm of the task's time on a class by the nearest points that have times on all
 * those classes, of which there is one at least.
 * @param[in,out] slopes expected where sizes are not known; those of the plane */
static double fit(const struct question *q, unsigned classes, unsigned class, double *slopes,
                  double *away)
{
	struct heddle_local_fit_point points[HEDDLE_KNN_MAXK];
	struct heddle_knn knn;

	nearest(q, classes, &knn);
	*away = knn.nearest[0].distance;
	if (points_place(q, &knn, points)) {
		memset(slopes, 0, HEDDLE_LOCAL_FIT_DIMENSIONS * sizeof(*slopes));
		slopes[SIZES] = q->history->wide >> class & 1 ? GROWTH_WIDE : GROWTH;
	}
	for (unsigned i = 0; i < knn.found; i++)
		points[i].y = log(q->history->points[knn.nearest[i].point].us[class]);
	return heddle_local_fit(points, knn.found, HEDDLE_LOCAL_FIT_DIMENSIONS, STIFFNESS, slopes);
}

static bool have(const struct question *q, unsigned classes)
{
	for (size_t p = 0; p < q->history->npoints; p++)
		if (p != q->leave_out && heddle_history_has(&q->history->points[p], classes))
			return true;
	return false;
}

/* How much longer the task takes than expected, as a logarithm, by a class where its time is
 * known: of points that are far that says little of another class. */
static double surprise(const struct question *q, const double *us, const double *slopes,
                       unsigned class)
{
	for (unsigned c = 0; c < HEDDLE_HISTORY_CLASSES; c++) {
		double its[HEDDLE_LOCAL_FIT_DIMENSIONS], away, y;

		if (c == class || !(us[c] > 0) || !have(q, 1u << c | 1u << class))
			continue;
		memcpy(its, slopes, sizeof(its));
		y = fit(q, 1u << c | 1u << class, c, its, &away);
		return exp(-away * away) * (log(us[c]) - y);
	}
	return 0;
}

void heddle_history_fit(const struct heddle_history *history, const double *values,
                        size_t leave_out, double us[HEDDLE_HISTORY_CLASSES])
{
	const struct question q = {
	    .history = history,
	    .values = values,
	    .sizes = leave_out < history->npoints ? history->points[leave_out].sizes : NULL,
	    .leave_out = leave_out,
	};
	double believed[HEDDLE_HISTORY_CLASSES], slopes[HEDDLE_LOCAL_FIT_DIMENSIONS] = {0}, away;
	unsigned base = heddle_history_best_known(history);

	memcpy(believed, us, sizeof(believed));
	if (have(&q, 1u << base))
		fit(&q, 1u << base, base, slopes, &away);
	for (unsigned c = 0; c < HEDDLE_HISTORY_CLASSES; c++) {
		double its[HEDDLE_LOCAL_FIT_DIMENSIONS], y;

		if (us[c] > 0 || !have(&q, 1u << c))
			continue;
		memcpy(its, slopes, sizeof(its));
		y = fit(&q, 1u << c, c, its, &away) + surprise(&q, believed, slopes, c);
		us[c] = exp(fmax(SHORTEST, fmin(y, LONGEST)));
	}
}
