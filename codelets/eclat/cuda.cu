/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A block of threads has a row and some members. Its threads read, tile by tile, what the row has
 * in common with the prefix into shared memory; each warp compares members with it.
 */
#include <errno.h>
#include <cuda_runtime.h>

#include "codelets/cuda_pool.h"
#include "codelets/eclat/eclat.h"

#define THREADS 256
#define WARPS (THREADS / 32)
#define EACH 4 /* members of a warp */
#define MEMBERS (EACH * WARPS)
#define TILE 1024
#define ALL 0xffffffffu

static __device__ __forceinline__ void tile_common(const struct eclat_class &of,
                                                   const uint64_t *__restrict__ bits,
                                                   const int32_t *__restrict__ items, unsigned row,
                                                   size_t first, unsigned n, uint64_t *common)
{
	for (unsigned w = threadIdx.x; w < n; w += THREADS) {
		uint64_t word = bits[items[of.prefix + row] * of.words + first + w];

		for (unsigned p = 0; p < of.prefix; p++)
			word &= bits[items[p] * of.words + first + w];
		common[w] = word;
	}
}

static __device__ __forceinline__ unsigned warp_sum(unsigned sum)
{
	for (unsigned step = 16; step; step /= 2)
		sum += __shfl_down_sync(ALL, sum, step);
	return sum;
}

static __global__ void count_pairs(struct eclat_class of, const uint64_t *__restrict__ bits,
                                   const int32_t *__restrict__ items, uint32_t *__restrict__ counts)
{
	__shared__ uint64_t common[TILE];
	unsigned row = blockIdx.x, lane = threadIdx.x % 32;
	unsigned from = blockIdx.y * MEMBERS, sums[EACH] = {0};
	bool any = from + MEMBERS > row + 1; /* the same for all threads */

	for (size_t first = 0; first < of.words && any; first += TILE) {
		unsigned n = of.words - first < TILE ? of.words - first : TILE;

		__syncthreads();
		tile_common(of, bits, items, row, first, n, common);
		__syncthreads();
		for (unsigned e = 0; e < EACH; e++) {
			unsigned m = from + e * WARPS + threadIdx.x / 32;

			if (m <= row || m >= of.members)
				continue;
			const uint64_t *other = bits + items[of.prefix + m] * of.words + first;

			for (unsigned w = lane; w < n; w += 32)
				sums[e] += __popcll(common[w] & other[w]);
		}
	}
	for (unsigned e = 0; e < EACH; e++) {
		unsigned m = from + e * WARPS + threadIdx.x / 32, sum = warp_sum(sums[e]);

		if (!lane && m < of.members)
			counts[(size_t)row * of.members + m] = sum;
	}
}

extern "C" int eclat_cuda(void *stream, const struct eclat_class *of, const uint64_t *bits,
                          const int32_t *items, uint32_t *counts)
{
	dim3 grid(of->rows, (of->members + MEMBERS - 1) / MEMBERS);

	count_pairs<<<grid, THREADS, 0, (cudaStream_t)stream>>>(*of, bits, items, counts);
	return cudaGetLastError() == cudaSuccess ? 0 : -EIO;
}

CODELET_CUDA_LOAD(eclat, (const void *)count_pairs)
