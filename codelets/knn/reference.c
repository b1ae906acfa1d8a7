/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Neighbour by neighbour, each the nearest of those that are left. Compiled without fused
 * operations (codelets/Makefile.mk).
 */
#include "config.h"

#include <math.h>
#include <stdbool.h>

#include "codelets/knn/knn.h"

static float distance(const struct knn_problem *problem, const float *points, size_t i,
                      const float *query)
{
	float sum = 0;

	for (unsigned d = 0; d < problem->dimensions; d++) {
		float by = query[d] - points[d * problem->points + i];

		sum += problem->metric == KNN_MANHATTAN ? fabsf(by) : by * by;
	}
	return sum;
}

static bool is_taken(const size_t *taken, unsigned n, size_t i)
{
	for (unsigned t = 0; t < n; t++)
		if (taken[t] == i)
			return true;
	return false;
}

static size_t next_nearest(const struct knn_problem *problem, const float *points,
                           const float *query, const size_t *taken, unsigned n)
{
	float least = INFINITY;
	size_t nearest = problem->points;

	for (size_t i = 0; i < problem->points; i++) {
		float away = distance(problem, points, i, query);

		if ((away < least || nearest == problem->points) && !is_taken(taken, n, i)) {
			least = away;
			nearest = i;
		}
	}
	return nearest;
}

static int32_t class_of(const struct knn_problem *problem, const float *points,
                        const int32_t *labels, const float *query)
{
	size_t taken[KNN_LARGEST_K];
	unsigned most = 0;
	int32_t winner = 0;

	for (unsigned n = 0; n < problem->k; n++)
		taken[n] = next_nearest(problem, points, query, taken, n);
	for (unsigned n = 0; n < problem->k; n++) {
		unsigned votes = 0;

		for (unsigned m = 0; m < problem->k; m++)
			votes += labels[taken[m]] == labels[taken[n]];
		if (votes > most) {
			most = votes;
			winner = labels[taken[n]];
		}
	}
	return winner;
}

size_t knn_errors(const struct knn_problem *problem, size_t n, const float *points,
                  const int32_t *labels, const float *queries, const int32_t *classes)
{
	size_t errors = 0;

	for (size_t q = 0; q < n; q++)
		errors += classes[q] !=
		          class_of(problem, points, labels, queries + q * problem->dimensions);
	return errors;
}
