/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A query for each work-item. The nearest points and their votes as in knn.h. Offsets are in bytes.
 */
#pragma OPENCL FP_CONTRACT OFF

#define LARGEST_K 32

int vote(const float *distances, const int *labels, uint found)
{
	uint most = 0;
	int winner = 0;

	for (uint i = 0; i < found; i++) {
		uint votes = 0;

		for (uint j = i; j < found; j++)
			votes += labels[j] == labels[i];
		if (votes > most) {
			most = votes;
			winner = labels[i];
		}
	}
	return winner;
}

__kernel void classify(ulong n, ulong npoints, uint dimensions, uint k, uint manhattan,
		       __global const float *points, ulong points_offset,
		       __global const int *labels, ulong labels_offset,
		       __global const float *queries, ulong queries_offset, __global int *classes,
		       ulong classes_offset)
{
	ulong q = get_global_id(0);
	float distances[LARGEST_K];
	int nearest[LARGEST_K];
	uint found = 0;

	if (q >= n)
		return;
	points += points_offset / sizeof(float);
	labels += labels_offset / sizeof(int);
	queries += queries_offset / sizeof(float) + q * dimensions;
	for (ulong i = 0; i < npoints; i++) {
		float distance = 0;
		uint place;

		for (uint d = 0; d < dimensions; d++) {
			float by = queries[d] - points[d * npoints + i];

			distance += manhattan ? fabs(by) : by * by;
		}
		if (found == k && !(distance < distances[k - 1]))
			continue;
		place = found < k ? found++ : k - 1;
		for (; place && distances[place - 1] > distance; place--) {
			distances[place] = distances[place - 1];
			nearest[place] = nearest[place - 1];
		}
		distances[place] = distance;
		nearest[place] = labels[i];
	}
	classes[classes_offset / sizeof(int) + q] = vote(distances, nearest, found);
}
