/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Classifies points by the k nearest known ones (T. Cover and P. Hart, "Nearest Neighbor Pattern
 * Classification", 1967). An iteration of the loop is a query. Of equally distant points the one
 * with the lower number is nearer; of classes with equally many votes the one with the nearest
 * point wins. Single precision without fused operations, so that all versions give the same
 * classes.
 */
#ifndef CODELETS_KNN_H
#define CODELETS_KNN_H

#include <stddef.h>
#include <stdint.h>

#include "codelets/isa.h"

#ifdef __cplusplus
extern "C" {
#endif

#define KNN_LARGEST_K 32
#define KNN_DIMENSIONS 64 /**< at most */

enum knn_metric {
	KNN_EUCLIDEAN,
	KNN_MANHATTAN,
};

/** What is asked: the loop's `arg`. */
struct knn_problem {
	size_t points;       /**< known ones, at least k */
	unsigned dimensions; /**< 1 to KNN_DIMENSIONS */
	unsigned k;          /**< 1 to KNN_LARGEST_K */
	enum knn_metric metric;
};

/** Classifies n queries.
 * @param points coordinate d of point i is number d * points + i
 * @param labels the class of each point
 * @param queries coordinate d of query q is number q * dimensions + d
 * @param[out] classes of the queries */
void knn_cpu(enum codelet_isa isa, const struct knn_problem *problem, size_t n, const float *points,
             const int32_t *labels, const float *queries, int32_t *classes);

/** How many classes are not those of a plain search. */
size_t knn_errors(const struct knn_problem *problem, size_t n, const float *points,
                  const int32_t *labels, const float *queries, const int32_t *classes);

/** Launches the CUDA version on device memory; returns without waiting.
 * @param stream a cudaStream_t
 * @return 0, or -EIO when the launch was refused. */
int knn_cuda(void *stream, const struct knn_problem *problem, size_t n, const float *points,
             const int32_t *labels, const float *queries, int32_t *classes);

/** The codelet: vectors of float (points, HEDDLE_WHOLE), int32_t (labels, HEDDLE_WHOLE), float
 * (queries, `dimensions` an iteration) and int32_t (classes, written). */
extern struct starpu_codelet knn_codelet;
/** Its OpenCL program, where this build has OpenCL. */
extern struct codelet_program knn_program;

/* ---- shared by the versions ---- */

#ifdef __CUDACC__
#define KNN_ANYWHERE __host__ __device__
#else
#define KNN_ANYWHERE
#endif

/** The nearest points so far, nearest first. */
struct knn_nearest {
	unsigned found;
	float distances[KNN_LARGEST_K];
	int32_t labels[KNN_LARGEST_K];
};

/** Whether a point that comes later belongs to the nearest. */
KNN_ANYWHERE static inline int knn_is_near(const struct knn_nearest *nearest, unsigned k,
                                           float distance)
{
	return nearest->found < k || distance < nearest->distances[k - 1];
}

KNN_ANYWHERE static inline void knn_add(struct knn_nearest *nearest, unsigned k, float distance,
                                        int32_t label)
{
	unsigned place = nearest->found < k ? nearest->found++ : k - 1;

	for (; place && nearest->distances[place - 1] > distance; place--) {
		nearest->distances[place] = nearest->distances[place - 1];
		nearest->labels[place] = nearest->labels[place - 1];
	}
	nearest->distances[place] = distance;
	nearest->labels[place] = label;
}

KNN_ANYWHERE static inline int32_t knn_vote(const struct knn_nearest *nearest)
{
	unsigned most = 0;
	int32_t winner = 0;

	for (unsigned i = 0; i < nearest->found; i++) {
		unsigned votes = 0;

		for (unsigned j = i; j < nearest->found; j++)
			votes += nearest->labels[j] == nearest->labels[i];
		if (votes > most) {
			most = votes;
			winner = nearest->labels[i];
		}
	}
	return winner;
}

#ifdef __cplusplus
}
#endif
#endif
