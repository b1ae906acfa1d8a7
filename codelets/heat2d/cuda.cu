/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A tile has bands of 32 rows, each computed by one warp: a lane has one row, computes one column a
 * step, and is one column behind the lane before. One launch computes a tile: a band publishes the
 * progress of its last row, and the band below follows it. Steps are grouped by 32: the points of
 * the next group are loaded during the current one.
 */
#include <errno.h>
#include <cuda_runtime.h>

#include "codelets/cuda_pool.h"
#include "codelets/heat2d/heat2d.h"

/* Bands are taken in the order of their start, so that the band above always runs or has run. A
 * tile of r rows keeps at most r / 32 warps busy: a GPU needs high bands. Points are read along
 * the rows and transposed in shared memory. The points on the right and below have the values of
 * the sweep before: they are read before their lane or band computes them. */

#define ROWS 32  /* of a band, one a lane */
#define CHUNK 32 /* steps */
#define PITCH 33 /* floats of a row in shared memory: no bank conflicts */
#define ALL 0xffffffffu

struct geometry {
	struct heat2d_inner inner;
	ptrdiff_t stride;
};

/* The inner points of a band. */
struct band {
	float *u; /* the first */
	ptrdiff_t stride;
	int height, columns;
};

/* Whether all lanes have points in all steps of a chunk. */
static __device__ bool is_inner(const struct band &band, int step)
{
	return band.height == ROWS && step >= ROWS - 1 && step + CHUNK <= band.columns;
}

/* Of each row, and of the one below, the column on the right of where its lane is in the step
 * that is as many after `step` as this lane's number. */
static __device__ void fetch(const struct band &band, int step, float points[ROWS + 1])
{
	int column = step + (int)threadIdx.x + 1;
	const float *u = band.u + column;

	if (is_inner(band, step)) {
#pragma unroll
		for (int r = 0; r <= ROWS; r++, u += band.stride - 1)
			points[r] = *u;
		return;
	}
#pragma unroll
	for (int r = 0; r <= ROWS; r++, u += band.stride - 1, column--)
		points[r] = r <= band.height && column >= 0 && column <= band.columns ? *u : 0.0f;
}

static __device__ void store(const struct band &band, int step, const float points[ROWS][PITCH])
{
	int column = step + (int)threadIdx.x;
	float *u = band.u + column;

	if (is_inner(band, step)) {
#pragma unroll
		for (int r = 0; r < ROWS; r++, u += band.stride - 1)
			*u = points[r][threadIdx.x];
		return;
	}
	for (int r = 0; r < band.height; r++, u += band.stride - 1, column--)
		if (column >= 0 && column < band.columns)
			*u = points[r][threadIdx.x];
}

/* The steps of a chunk; lane 0 is at column `step` in the first one. `above`: the points above the
 * band, a column a lane. `INNER`: all lanes have points in all of them. */
template <bool INNER>
static __device__ __forceinline__ void compute(const struct band &band, int step, float above,
                                               const float points[ROWS + 1][PITCH],
                                               float results[ROWS][PITCH], float &left)
{
	const int self = (int)threadIdx.x;

#pragma unroll
	for (int k = 0; k < CHUNK; k++) {
		float up = __shfl_up_sync(ALL, left, 1), first = __shfl_sync(ALL, above, k);
		int column = step + k - self;

		if (!self)
			up = first;
		if (INNER || (self < band.height && column >= 0 && column < band.columns)) {
			float sum = up + points[self + 1][k];

			sum = sum + points[self][k];
			sum = sum + left;
			left = sum * 0.25f;
			results[self][k] = left;
		}
	}
}

/* Waits until the band above has computed so many columns of its last row. */
static __device__ void wait_for(const volatile int *above, int columns)
{
	if (!threadIdx.x)
		while (*above < columns)
			;
	__threadfence();
	__syncwarp();
}

/* Takes the next band. `progress` has the number of bands taken, then for each band the number of
 * columns done in its last row. */
static __device__ struct band band_begin(const struct geometry &g, float *u, int *progress,
                                         unsigned *number)
{
	struct band band;
	size_t row;

	if (!threadIdx.x)
		*number = (unsigned)atomicAdd(progress, 1);
	*number = __shfl_sync(ALL, *number, 0);
	row = g.inner.top + (size_t)*number * ROWS;
	band.u = u + row * g.stride + g.inner.left;
	band.stride = g.stride;
	band.height = (int)min((size_t)ROWS, g.inner.bottom - row);
	band.columns = (int)(g.inner.right - g.inner.left);
	return band;
}

static __global__ void compute_bands(struct geometry g, float *u, int *progress)
{
	__shared__ float points[ROWS + 1][PITCH], results[ROWS][PITCH];
	int self = (int)threadIdx.x, *done;
	unsigned number = 0;
	struct band band = band_begin(g, u, progress, &number);
	float next[ROWS + 1], left;

	done = progress + 1 + number;
	left = self < band.height ? band.u[self * band.stride - 1] : 0.0f;
	fetch(band, 0, next);
	for (int step = 0; step < band.columns + band.height - 1; step += CHUNK) {
		int needed = min(step + CHUNK, band.columns);
		float above = 0.0f;

		if (number && step < needed)
			wait_for(done - 1, needed);
		/* Another multiprocessor may just have written it. */
		if (step + self < band.columns)
			above = __ldcg(band.u - band.stride + step + self);
#pragma unroll
		for (int r = 0; r <= ROWS; r++)
			points[r][self] = next[r];
		__syncwarp();
		fetch(band, step + CHUNK, next);
		if (is_inner(band, step))
			compute<true>(band, step, above, points, results, left);
		else
			compute<false>(band, step, above, points, results, left);
		__syncwarp();
		store(band, step, results);
		__threadfence();
		__syncwarp();
		if (!self)
			*(volatile int *)done = step + CHUNK - (band.height - 1);
	}
}

extern "C" int heat2d_cuda(void *stream, const struct heat2d_tile *tile, float *u)
{
	cudaStream_t on = (cudaStream_t)stream;
	struct geometry g = {heat2d_inner(tile), (ptrdiff_t)tile->stride};
	void *progress;
	unsigned bands;
	size_t bytes;

	if (g.inner.top == g.inner.bottom || g.inner.left == g.inner.right)
		return 0;
	bands = (unsigned)((g.inner.bottom - g.inner.top + ROWS - 1) / ROWS);
	bytes = (bands + 1) * sizeof(int);
	if (codelet_cuda_allocate(&progress, bytes, on) != cudaSuccess)
		return -ENOMEM;
	cudaMemsetAsync(progress, 0, bytes, on);
	compute_bands<<<bands, ROWS, 0, on>>>(g, u, (int *)progress);
	cudaFreeAsync(progress, on);
	return cudaGetLastError() == cudaSuccess ? 0 : -EIO;
}

CODELET_CUDA_LOAD(heat2d, (const void *)compute_bands)
