/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Distances of one query to a tile of points at a time, in vectors. Few of them belong to the
 * nearest: a group without any is left with one look. Where branches depend on the points, a
 * processor foretells few of them, and how many depends on how often it has seen the same points:
 * that costs time, and makes times hard to estimate. So there are few of them. Compiled without
 * fused operations (codelets/Makefile.mk).
 */
#include "config.h"

#include <math.h>
#include <string.h>

#include "codelets/knn/knn.h"

#define TILE 256
#define GROUP 32
#define PLACES 8

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

/* The nearest points so far, nearest first, behind one that is nearer than all. */
struct list {
	unsigned found;
	float distances[1 + KNN_LARGEST_K];
	int32_t labels[1 + KNN_LARGEST_K];
};

/* While fewer than k are found, any point is near. */
ISA_BODY void first_add(struct list *list, float distance, int32_t label)
{
	unsigned place = ++list->found;

	for (; list->distances[place - 1] > distance; place--) {
		list->distances[place] = list->distances[place - 1];
		list->labels[place] = list->labels[place - 1];
	}
	list->distances[place] = distance;
	list->labels[place] = label;
}

/* Once k are found. Where a point belongs cannot be foretold, so each place looks for itself
 * whether it keeps what it has, takes that of the place before, or the new point. By masks, since
 * the compiler turns a choice of labels into jumps where the instruction set has no choice. */
ISA_BODY void further_add(struct list *list, unsigned k, float distance, int32_t label)
{
	/* PLACES at a time; later ones first, for they look at earlier ones. */
	for (unsigned first = (k - 1) / PLACES * PLACES + 1;; first -= PLACES) {
		const float *own = list->distances + first, *before = own - 1;
		const int32_t *own_label = list->labels + first, *label_before = own_label - 1;
		float distances[PLACES];
		int32_t labels[PLACES];

		for (unsigned i = 0; i < PLACES; i++) {
			int32_t changes = -(own[i] > distance), shifts = -(before[i] > distance);
			float other = before[i] > distance ? before[i] : distance;

			distances[i] = own[i] > distance ? other : own[i];
			labels[i] = (own_label[i] & ~changes) | (label_before[i] & shifts) |
			            (label & changes & ~shifts);
		}
		memcpy(list->distances + first, distances, sizeof(distances));
		memcpy(list->labels + first, labels, sizeof(labels));
		if (first == 1)
			return;
	}
}

/* Which of a group's points are near: bit i: point i. */
ISA_BODY uint32_t group_near(const float *distances, size_t n, float last)
{
	uint32_t near = 0;
	int any = 0;

	/* One look, for most groups have none. */
	for (unsigned i = 0; i < GROUP; i++)
		any |= distances[i] < last;
	for (unsigned i = 0; any && i < GROUP; i++)
		near |= (uint32_t)(distances[i] < last) << i;
	return n < GROUP ? near & ((UINT32_C(1) << n) - 1) : near;
}

ISA_BODY void group_add(struct list *list, unsigned k, const float *distances, size_t n,
                        const int32_t *labels)
{
	size_t i = 0;

	for (; list->found < k && i < n; i++)
		first_add(list, distances[i], labels[i]);
	for (uint32_t near = group_near(distances, n, list->distances[k]); near; near &= near - 1) {
		size_t j = __builtin_ctz(near);

		if (j >= i && distances[j] < list->distances[k])
			further_add(list, k, distances[j], labels[j]);
	}
}

ISA_BODY int32_t list_vote(const struct list *list)
{
	struct knn_nearest nearest = {.found = list->found};

	memcpy(nearest.distances, list->distances + 1, sizeof(nearest.distances));
	memcpy(nearest.labels, list->labels + 1, sizeof(nearest.labels));
	return knn_vote(&nearest);
}

ISA_BODY int32_t query_classify(const struct knn_problem *problem, enum knn_metric metric,
                                const float *points, const int32_t *labels, const float *query)
{
	struct list list = {.distances = {-INFINITY}};
	float distances[TILE];

	for (size_t first = 0; first < problem->points; first += TILE) {
		size_t n = problem->points - first < TILE ? problem->points - first : TILE;

		tile_distances(problem, metric, points, first, n, query, distances);
		for (size_t g = 0; g < n; g += GROUP)
			group_add(&list, problem->k, distances + g, n - g < GROUP ? n - g : GROUP,
			          labels + first + g);
	}
	return list_vote(&list);
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

void knn_cpu(enum codelet_isa isa, const struct knn_problem *problem, size_t n, const float *points,
             const int32_t *labels, const float *queries, int32_t *classes)
{
	queries_variants[isa](problem, n, points, labels, queries, classes);
}
