/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Distances of one query to a tile of points at a time, in vectors. Few of them belong to the
 * nearest: a group without any is left with one look. Compiled without fused operations
 * (codelets/Makefile.mk).
 */
#include "config.h"

#include <math.h>
#include <string.h>

#include "codelets/knn/knn.h"

#define TILE 256
#define GROUP 32

/* Distances to `n` points from `first` on; a tile of zeros follows. */
ISA_BODY void tile_distances(const struct knn_problem *problem, enum knn_metric metric,
                             const float *points, size_t first, size_t n, const float *query,
                             float *distances)
{
	memset(distances, 0, TILE * sizeof(*distances));
	for (unsigned d = 0; d < problem->dimensions; d++) {
		const float *coordinates = points + d * problem->points + first;
		float at = query[d];

		for (size_t i = 0; i < n; i++) {
			float by = at - coordinates[i];

			distances[i] += metric == KNN_MANHATTAN ? fabsf(by) : by * by;
		}
	}
}

ISA_BODY void group_add(struct knn_nearest *nearest, unsigned k, const float *distances, size_t n,
                        const int32_t *labels)
{
	float last = nearest->found < k ? INFINITY : nearest->distances[k - 1];
	int any = nearest->found < k;

	for (size_t i = 0; i < GROUP; i++)
		any |= distances[i] < last;
	for (size_t i = 0; any && i < n; i++)
		if (knn_is_near(nearest, k, distances[i]))
			knn_add(nearest, k, distances[i], labels[i]);
}

ISA_BODY int32_t query_classify(const struct knn_problem *problem, enum knn_metric metric,
                                const float *points, const int32_t *labels, const float *query)
{
	struct knn_nearest nearest = {.found = 0};
	float distances[TILE];

	for (size_t first = 0; first < problem->points; first += TILE) {
		size_t n = problem->points - first < TILE ? problem->points - first : TILE;

		tile_distances(problem, metric, points, first, n, query, distances);
		for (size_t g = 0; g < n; g += GROUP)
			group_add(&nearest, problem->k, distances + g,
			          n - g < GROUP ? n - g : GROUP, labels + first + g);
	}
	return knn_vote(&nearest);
}

/* The metric is a constant in each call, so that it is no question in the loop. */
ISA_BODY void queries_body(const struct knn_problem *problem, size_t n, const float *points,
                           const int32_t *labels, const float *queries, int32_t *classes)
{
	for (size_t q = 0; q < n; q++) {
		const float *query = queries + q * problem->dimensions;

		classes[q] = problem->metric == KNN_MANHATTAN
		                 ? query_classify(problem, KNN_MANHATTAN, points, labels, query)
		                 : query_classify(problem, KNN_EUCLIDEAN, points, labels, query);
	}
}

ISA_VARIANTS(queries,
             (const struct knn_problem *problem, size_t n, const float *points,
              const int32_t *labels, const float *queries, int32_t *classes),
             (problem, n, points, labels, queries, classes));

void knn_cpu_isa(enum codelet_isa isa, const struct knn_problem *problem, size_t n,
                 const float *points, const int32_t *labels, const float *queries, int32_t *classes)
{
	queries_variants[isa](problem, n, points, labels, queries, classes);
}

void knn_cpu(const struct knn_problem *problem, size_t n, const float *points,
             const int32_t *labels, const float *queries, int32_t *classes)
{
	knn_cpu_isa(codelet_isa_best(), problem, n, points, labels, queries, classes);
}
