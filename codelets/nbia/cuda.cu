/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * One kernel. A block of threads converts a part of the tile and the pixels around it, and counts
 * in shared memory. Where a tile has several blocks, they add their counters to those of the tile,
 * and the last block computes the summary.
 */
#include <errno.h>
#include <cuda_runtime.h>

#include "codelets/cuda_pool.h"
#include "codelets/nbia/nbia.h"

#define THREADS 256
/* The largest part of a tile for a block: a tile of this size needs one block. */
#define LARGEST_PART 64
#define MAX_PIXELS ((LARGEST_PART + 2) * (LARGEST_PART + 2))

/* A tile and its parts. */
struct geometry {
	unsigned size, columns, rows; /* columns and rows of a part */
	size_t stride;
};

static __device__ void convert(const struct geometry &g, unsigned left, unsigned top,
                               const nbia_u32 *__restrict__ table,
                               const unsigned char *__restrict__ rgb, uint16_t *pixels)
{
	unsigned width = g.columns + 2, n = width * (g.rows + 2);

#pragma unroll 4
	for (unsigned i = threadIdx.x; i < n; i += THREADS) {
		/* 0 - 1 is no column of any tile. */
		unsigned x = left + i % width - 1, y = top + i / width - 1;
		const unsigned char *at = rgb + y * g.stride + 3 * x;

		if (x < g.size && y < g.size)
			pixels[i] = nbia_pixel(table, at[0], at[1], at[2]);
	}
}

static __device__ __forceinline__ void count_pair(unsigned from, unsigned to, nbia_u32 *counters)
{
	atomicAdd(&counters[(from & 0xf0) | (to >> 4 & 15)], 1);
	atomicAdd(&counters[NBIA_CELLS + ((from >> 4 & 0xf0) | (to >> 8 & 15))], 1);
	atomicAdd(&counters[2 * NBIA_CELLS + ((from >> 8 & 0xf0) | to >> 12)], 1);
}

static __device__ void count_pixel(const struct geometry &g, unsigned x, unsigned y,
                                   const uint16_t *at, nbia_u32 *counters)
{
	int width = g.columns + 2;
	const int around[8] = {1, 1 - width, -width, -1 - width, -1, width - 1, width, width + 1};
	unsigned self = *at, pattern = 0;

	if (x + 1 < g.size)
		count_pair(self, at[1], counters);
	if (y + 1 < g.size) {
		count_pair(self, at[width], counters);
		if (x + 1 < g.size)
			count_pair(self, at[width + 1], counters);
		if (x)
			count_pair(self, at[width - 1], counters);
	}
	if (!x || !y || x + 1 >= g.size || y + 1 >= g.size)
		return;
#pragma unroll
	for (int p = 0; p < 8; p++)
		pattern |= ((at[around[p]] & 0xff) >= (self & 0xff)) << p;
	atomicAdd(&counters[NBIA_FIRST_PATTERN + pattern], 1);
}

/* By all threads of a block; three of the sums have a row of a matrix as their parts. */
static __device__ void summarise(const nbia_u32 *counters, struct nbia_summary *summary)
{
	const unsigned rows = NBIA_CHANNELS * NBIA_LEVELS;
	__shared__ nbia_u64 parts[3][rows];
	__shared__ nbia_u32 groups[NBIA_GROUPS];
	unsigned self = threadIdx.x, row = self % rows, c = row / NBIA_LEVELS;

	if (self < NBIA_GROUPS)
		groups[self] = 0;
	__syncthreads();
	atomicAdd(&groups[nbia_group(self)], counters[NBIA_FIRST_PATTERN + self]);
	if (self < rows)
		nbia_row(counters + c * NBIA_CELLS, row % NBIA_LEVELS, &parts[0][row],
		         &parts[1][row], &parts[2][row],
		         &summary->channels[c].marginal[row % NBIA_LEVELS]);
	else if (self < 2 * rows)
		summary->channels[c].difference[row % NBIA_LEVELS] =
		    nbia_difference(counters + c * NBIA_CELLS, row % NBIA_LEVELS);
	__syncthreads();
	if (self < NBIA_GROUPS)
		summary->patterns[self] = groups[self];
	if (self < 3 * NBIA_CHANNELS) {
		struct nbia_channel *channel = &summary->channels[self / 3];
		nbia_u64 sum = 0;

		for (unsigned i = 0; i < NBIA_LEVELS; i++)
			sum += parts[self % 3][self / 3 * NBIA_LEVELS + i];
		*(self % 3 == 0   ? &channel->squares
		  : self % 3 == 1 ? &channel->entropy
		                  : &channel->products) = sum;
	}
}

/* Adds a block's counters to the tile's. The word after those is the number of blocks that have
 * added theirs. @return whether this was the last block; then `counters` are the tile's */
static __device__ bool add_up(nbia_u32 *counters, nbia_u32 *total)
{
	__shared__ bool last;

	for (unsigned i = threadIdx.x; i < NBIA_COUNTERS; i += THREADS)
		if (counters[i])
			atomicAdd(&total[i], counters[i]);
	__threadfence();
	__syncthreads();
	if (!threadIdx.x)
		last = atomicAdd(&total[NBIA_COUNTERS], 1) + 1 == gridDim.x * gridDim.y;
	__syncthreads();
	if (!last)
		return false;
	__threadfence();
	for (unsigned i = threadIdx.x; i < NBIA_COUNTERS; i += THREADS)
		counters[i] = __ldcg(total + i);
	__syncthreads();
	return true;
}

static __global__ void __launch_bounds__(THREADS)
    count_tile(struct geometry g, const nbia_u32 *__restrict__ table,
               const unsigned char *__restrict__ rgb, nbia_u32 *total, struct nbia_summary *summary)
{
	__shared__ uint16_t pixels[MAX_PIXELS];
	__shared__ nbia_u32 counters[NBIA_COUNTERS];
	unsigned left = blockIdx.x * g.columns, top = blockIdx.y * g.rows;

	for (unsigned i = threadIdx.x; i < NBIA_COUNTERS; i += THREADS)
		counters[i] = 0;
	convert(g, left, top, table, rgb, pixels);
	__syncthreads();
	for (unsigned i = threadIdx.x; i < g.columns * g.rows; i += THREADS) {
		unsigned column = i % g.columns, row = i / g.columns;

		if (left + column < g.size && top + row < g.size)
			count_pixel(g, left + column, top + row,
			            pixels + (row + 1) * (g.columns + 2) + column + 1, counters);
	}
	__syncthreads();
	if (gridDim.x * gridDim.y == 1 || add_up(counters, total))
		summarise(counters, summary);
}

static cudaError_t launch(cudaStream_t stream, struct geometry g, const nbia_u32 *table,
                          const unsigned char *rgb, struct nbia_summary *summary)
{
	const size_t bytes = (NBIA_COUNTERS + 1) * sizeof(nbia_u32);
	dim3 blocks((g.size + g.columns - 1) / g.columns, (g.size + g.rows - 1) / g.rows);
	cudaError_t error = cudaSuccess;
	nbia_u32 *total = NULL;

	if (blocks.x * blocks.y > 1)
		error = codelet_cuda_allocate((void **)&total, bytes, stream);
	if (error != cudaSuccess)
		return error;
	if (total)
		error = cudaMemsetAsync(total, 0, bytes, stream);
	if (error == cudaSuccess) {
		count_tile<<<blocks, THREADS, 0, stream>>>(g, table, rgb, total, summary);
		error = cudaGetLastError();
	}
	if (total)
		cudaFreeAsync(total, stream);
	return error;
}

extern "C" int nbia_cuda(void *stream, const nbia_u32 *table, size_t size, size_t stride,
                         const unsigned char *rgb, struct nbia_summary *summary)
{
	struct geometry g = {};
	cudaError_t error;

	/* Small parts spread a small tile over the device; large parts have fewer counters to add.
	 */
	g.size = size;
	g.columns = size <= LARGEST_PART ? size : size <= 256 ? 32 : 64;
	g.rows = size <= LARGEST_PART ? size : g.columns / 2;
	g.stride = stride;
	error = launch((cudaStream_t)stream, g, table, rgb, summary);
	if (error == cudaErrorMemoryAllocation)
		return -ENOMEM;
	return error == cudaSuccess ? 0 : -EIO;
}

extern "C" int nbia_cuda_load(void)
{
	struct cudaFuncAttributes attributes;
	cudaError_t error = cudaFuncGetAttributes(&attributes, (const void *)count_tile);
	void *piece;

	if (error == cudaSuccess)
		error = codelet_cuda_allocate(&piece, sizeof(nbia_u32), 0);
	if (error == cudaSuccess) {
		cudaFreeAsync(piece, 0);
		error = cudaStreamSynchronize(0);
	}
	return error == cudaSuccess ? 0 : -EIO;
}
