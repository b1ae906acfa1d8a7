/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The k nearest neighbours of a task among others, by their parameters, as in
 * Teodoro et al., HPDC 2010, section 4: numbers are divided by the highest value
 * of their dimension, categories are 0 apart when equal and 1 otherwise, and the
 * distance is Euclidean.
 */
#ifndef HEDDLE_ESTIMATOR_KNN_H
#define HEDDLE_ESTIMATOR_KNN_H

#include <stdbool.h>
#include <stddef.h>

/** The paper's k: near the best for all its applications. */
#define HEDDLE_KNN_K 2
/** Largest k. */
#define HEDDLE_KNN_MAXK 32

/** One dimension of the space of parameters. */
struct heddle_knn_dimension {
	bool categorical;
	double highest; /**< absolute value of a number there is; 0: all are 0 */
};

/** The nearest so far; zero-initialise, but k. */
struct heddle_knn {
	unsigned k; /**< how many are wanted, 1 to HEDDLE_KNN_MAXK */
	unsigned found;
	struct {
		size_t point;
		double distance;
	} nearest[HEDDLE_KNN_MAXK]; /**< nearest first */
};

/** Distance between two points. A value that is missing on one side only (NaN)
 * is 1 away.
 * @param values of a category: any number that stands for the word */
double heddle_knn_distance(const struct heddle_knn_dimension *dimensions, unsigned n,
                           const double *a, const double *b);

/** Takes a point in if it is one of the k nearest. Of equally distant ones those
 * that came first stay. */
void heddle_knn_consider(struct heddle_knn *knn, size_t point, double distance);

#endif
