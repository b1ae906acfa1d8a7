/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "config.h"

#include <math.h>

#include "estimator/knn.h"

static double apart(const struct heddle_knn_dimension *dimension, double a, double b)
{
	if (isnan(a) || isnan(b))
		return isnan(a) != isnan(b);
	if (dimension->categorical)
		return a != b;
	return dimension->highest > 0 ? a / dimension->highest - b / dimension->highest : 0;
}

double heddle_knn_distance(const struct heddle_knn_dimension *dimensions, unsigned n,
                           const double *a, const double *b)
{
	double sum = 0;

	for (unsigned d = 0; d < n; d++) {
		double difference = apart(&dimensions[d], a[d], b[d]);

		sum += difference * difference;
	}
	return sqrt(sum);
}

void heddle_knn_consider(struct heddle_knn *knn, size_t point, double distance)
{
	unsigned place = knn->found;

	while (place && knn->nearest[place - 1].distance > distance)
		place--;
	if (place >= knn->k)
		return;
	if (knn->found < knn->k)
		knn->found++;
	for (unsigned i = knn->found - 1; i > place; i--)
		knn->nearest[i] = knn->nearest[i - 1];
	knn->nearest[place].point = point;
	knn->nearest[place].distance = distance;
}
