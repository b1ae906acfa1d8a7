/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Random problems of nearest neighbours, for the tests of codelets. Coordinates are few whole
 * numbers, so that many distances are equal.
 */
#ifndef TESTS_UNIT_NEAREST_H
#define TESTS_UNIT_NEAREST_H

#include <stdlib.h>

#include "codelets/knn/knn.h"
#include "tests/unit/test.h"

struct nearest {
	struct knn_problem problem;
	size_t queries;
	float *points, *coordinates;
	int32_t *labels, *classes;
};

static inline float *nearest_numbers(size_t n, int round)
{
	float *numbers = malloc(n * sizeof(*numbers));

	assert_non_null(numbers);
	for (size_t i = 0; i < n; i++)
		numbers[i] = round % 3 ? rand() % 5 : rand() / (float)RAND_MAX;
	return numbers;
}

static inline struct nearest nearest_make(int round)
{
	struct nearest nearest = {
	    .problem = {.points = 1 + rand() % (round % 2 ? 70 : 900),
	                .dimensions = 1 + rand() % (round % 7 ? 5 : KNN_DIMENSIONS),
	                .metric = round % 2 ? KNN_MANHATTAN : KNN_EUCLIDEAN},
	    .queries = 1 + rand() % 300};
	size_t most =
	    nearest.problem.points < KNN_LARGEST_K ? nearest.problem.points : KNN_LARGEST_K;

	nearest.problem.k = 1 + rand() % most;
	nearest.points =
	    nearest_numbers(nearest.problem.points * nearest.problem.dimensions, round);
	nearest.coordinates = nearest_numbers(nearest.queries * nearest.problem.dimensions, round);
	nearest.labels = malloc(nearest.problem.points * sizeof(int32_t));
	nearest.classes = malloc(nearest.queries * sizeof(int32_t));
	assert_non_null(nearest.labels);
	assert_non_null(nearest.classes);
	for (size_t i = 0; i < nearest.problem.points; i++)
		nearest.labels[i] = rand() % 4;
	return nearest;
}

static inline size_t nearest_errors(const struct nearest *nearest)
{
	return knn_errors(&nearest->problem, nearest->queries, nearest->points, nearest->labels,
	                  nearest->coordinates, nearest->classes);
}

static inline void nearest_free(struct nearest *nearest)
{
	free(nearest->points);
	free(nearest->coordinates);
	free(nearest->labels);
	free(nearest->classes);
}

#endif
