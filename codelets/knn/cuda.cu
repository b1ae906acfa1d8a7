/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A query for each thread. The threads of a block read the points tile by tile into shared memory,
 * beside their queries. The intrinsic functions are never fused.
 */
#include <errno.h>
#include <cuda_runtime.h>

#include "codelets/cuda_pool.h"
#include "codelets/knn/knn.h"

#define THREADS 128
#define TILE 64

/* Shared memory: the block's queries, then a tile of points; coordinate by coordinate. */
static size_t shared_bytes(const struct knn_problem *problem)
{
	return (THREADS + TILE) * problem->dimensions * sizeof(float);
}

static __device__ __forceinline__ float away(float sum, float by, enum knn_metric metric)
{
	return __fadd_rn(sum, metric == KNN_MANHATTAN ? fabsf(by) : __fmul_rn(by, by));
}

static __global__ void classify(struct knn_problem problem, size_t n,
                                const float *__restrict__ points,
                                const int32_t *__restrict__ labels,
                                const float *__restrict__ queries, int32_t *__restrict__ classes)
{
	extern __shared__ float shared[];
	float *query = shared + threadIdx.x, *tile = shared + THREADS * problem.dimensions;
	size_t q = (size_t)blockIdx.x * THREADS + threadIdx.x;
	struct knn_nearest nearest;

	nearest.found = 0;
	for (unsigned d = 0; d < problem.dimensions; d++)
		query[d * THREADS] = q < n ? queries[q * problem.dimensions + d] : 0;
	for (size_t first = 0; first < problem.points; first += TILE) {
		unsigned some = problem.points - first < TILE ? problem.points - first : TILE;

		__syncthreads();
		for (unsigned i = threadIdx.x; i < TILE * problem.dimensions; i += THREADS)
			if (i % TILE < some)
				tile[i] = points[i / TILE * problem.points + first + i % TILE];
		__syncthreads();
		for (unsigned i = 0; i < some; i++) {
			float distance = 0;

			for (unsigned d = 0; d < problem.dimensions; d++)
				distance = away(distance,
				                __fsub_rn(query[d * THREADS], tile[d * TILE + i]),
				                problem.metric);
			if (knn_is_near(&nearest, problem.k, distance))
				knn_add(&nearest, problem.k, distance, labels[first + i]);
		}
	}
	if (q < n)
		classes[q] = knn_vote(&nearest);
}

/* Queries of one launch: far below the most blocks of a grid. */
#define MOST ((size_t)1 << 30)

extern "C" int knn_cuda(void *stream, const struct knn_problem *problem, size_t n,
                        const float *points, const int32_t *labels, const float *queries,
                        int32_t *classes)
{
	for (size_t done = 0; done < n; done += MOST) {
		size_t some = n - done < MOST ? n - done : MOST;

		classify<<<(unsigned)((some + THREADS - 1) / THREADS), THREADS,
		           shared_bytes(problem), (cudaStream_t)stream>>>(
		    *problem, some, points, labels, queries + done * problem->dimensions,
		    classes + done);
	}
	return cudaGetLastError() == cudaSuccess ? 0 : -EIO;
}

CODELET_CUDA_LOAD(knn, (const void *)classify)
