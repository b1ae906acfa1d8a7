/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Two passes. First down the columns: a thread updates the sum of one column over the window's rows
 * along a strip of rows. Then along the rows: a block of threads computes prefix sums of a row,
 * whose differences are the sums over windows. The sums between the passes are four or eight times
 * as large as the image, so they use a bounded part of device memory, some rows at a time.
 */
#include <errno.h>
#include <stdint.h>
#include <cuda_runtime.h>

#include "codelets/boxfilter/boxfilter.h"
#include "codelets/cuda_pool.h"

#define THREADS 256
/* Threads of the second pass for a row, and the rows that keep the device busy with them. With
 * fewer rows, more threads share a row. */
#define ROW_THREADS 256
#define LONE_ROW_THREADS 1024
#define ROWS_ENOUGH 512
#define ITEMS 4 /* that a thread of the second pass takes before it waits for the others */
#define SCRATCH_BYTES (CODELET_CUDA_KEPT / 2)

/* The fields of boxfilter_band that the passes need. */
struct geometry {
	size_t radius, width, n; /* n: bytes of a row */
	unsigned channels;
	size_t above, input_rows, in_stride, out_stride;
	size_t first, rows; /* of the output: the current ones */
	size_t strip;       /* rows that one thread of the first pass walks down */
};

template <typename sum_t>
static __global__ void sum_columns(struct geometry g, const unsigned char *__restrict__ in,
                                   sum_t *__restrict__ sums)
{
	size_t i = (size_t)blockIdx.x * THREADS + threadIdx.x;
	size_t begin = blockIdx.y * g.strip, end = min(begin + g.strip, g.rows);
	size_t centre = g.above + g.first + begin;
	size_t from = centre < g.radius ? 0 : centre - g.radius;
	size_t to = from + boxfilter_span(centre, g.radius, g.input_rows);
	sum_t sum = 0;

	if (i >= g.n)
		return;
	for (size_t row = from; row < to; row++)
		sum += in[row * g.in_stride + i];
	for (size_t y = begin; y < end; y++, centre++) {
		sums[y * g.n + i] = sum;
		if (g.radius < g.input_rows && centre + 1 + g.radius < g.input_rows)
			sum += in[(centre + 1 + g.radius) * g.in_stride + i];
		if (centre >= g.radius)
			sum -= in[(centre - g.radius) * g.in_stride + i];
	}
}

/* Prefix sum over the threads of a block; `total` is the sum of all. */
template <typename sum_t, unsigned threads> static __device__ sum_t scan(sum_t value, sum_t *total)
{
	__shared__ sum_t warps[threads / 32];
	unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32;
	sum_t before = 0, all = 0;

	for (unsigned step = 1; step < 32; step *= 2) {
		sum_t other = __shfl_up_sync(0xffffffffu, value, step);

		if (lane >= step)
			value += other;
	}
	if (lane == 31)
		warps[warp] = value;
	__syncthreads();
	for (unsigned w = 0; w < threads / 32; w++) {
		if (w < warp)
			before += warps[w];
		all += warps[w];
	}
	__syncthreads();
	*total = all;
	return before + value;
}

template <typename sum_t, unsigned threads>
static __global__ void __launch_bounds__(threads)
    filter_rows(struct geometry g, sum_t *sums, unsigned char *__restrict__ out)
{
	size_t y = blockIdx.x;
	sum_t *row = sums + y * g.n;
	unsigned char *result = out + (g.first + y) * g.out_stride;
	size_t rows = boxfilter_span(g.above + g.first + y, g.radius, g.input_rows);

	for (unsigned c = 0; c < g.channels; c++) {
		sum_t carry = 0;

		for (size_t x0 = 0; x0 < g.width; x0 += threads * ITEMS) {
			size_t x = x0 + threadIdx.x * ITEMS;
			sum_t own[ITEMS], all = 0, total, before;

#pragma unroll
			for (unsigned k = 0; k < ITEMS; k++) {
				own[k] = x + k < g.width ? row[(x + k) * g.channels + c] : 0;
				all += own[k];
			}
			before = carry + scan<sum_t, threads>(all, &total) - all;
#pragma unroll
			for (unsigned k = 0; k < ITEMS; k++) {
				before += own[k];
				if (x + k < g.width)
					row[(x + k) * g.channels + c] = before;
			}
			carry += total;
		}
	}
	__syncthreads();
#pragma unroll 4
	for (size_t i = threadIdx.x; i < g.n; i += threads) {
		uint32_t x = (uint32_t)i / g.channels, c = (uint32_t)i % g.channels;
		size_t left = x < g.radius ? 0 : x - g.radius;
		size_t columns = boxfilter_span(x, g.radius, g.width);
		sum_t count = rows * columns;
		sum_t sum = row[(left + columns - 1) * g.channels + c];

		if (left)
			sum -= row[(left - 1) * g.channels + c];
		result[i] = (sum + count / 2) / count;
	}
}

template <typename sum_t>
static cudaError_t launch(cudaStream_t stream, struct geometry g, size_t rows, size_t at_once,
                          const unsigned char *in, unsigned char *out)
{
	sum_t *sums;
	cudaError_t error =
	    codelet_cuda_allocate((void **)&sums, at_once * g.n * sizeof(sum_t), stream);

	if (error != cudaSuccess)
		return error;
	for (g.first = 0; g.first < rows && error == cudaSuccess; g.first += at_once) {
		dim3 blocks((g.n + THREADS - 1) / THREADS);

		g.rows = rows - g.first < at_once ? rows - g.first : at_once;
		blocks.y = (g.rows + g.strip - 1) / g.strip;
		sum_columns<sum_t><<<blocks, THREADS, 0, stream>>>(g, in, sums);
		if (g.rows < ROWS_ENOUGH)
			filter_rows<sum_t, LONE_ROW_THREADS>
			    <<<g.rows, LONE_ROW_THREADS, 0, stream>>>(g, sums, out);
		else
			filter_rows<sum_t, ROW_THREADS>
			    <<<g.rows, ROW_THREADS, 0, stream>>>(g, sums, out);
		error = cudaGetLastError();
	}
	cudaFreeAsync(sums, stream);
	return error;
}

extern "C" int boxfilter_cuda(void *stream, const struct boxfilter_band *band,
                              const unsigned char *in, unsigned char *out)
{
	size_t n = band->width * band->window.channels;
	int narrow = boxfilter_is_narrow(band);
	size_t at_once = SCRATCH_BYTES / (n * (narrow ? 4 : 8));
	struct geometry g = {};
	cudaError_t error;

	if (!band->rows)
		return 0;
	at_once = at_once < 1 ? 1 : at_once > band->rows ? band->rows : at_once;
	g.radius = band->window.radius;
	g.width = band->width;
	g.n = n;
	g.channels = band->window.channels;
	g.above = band->above;
	g.input_rows = band->input_rows;
	g.in_stride = band->in_stride;
	g.out_stride = band->out_stride;
	/* Long enough for the start of 2 radius + 1 rows to be worth it; at most as
	 * many strips as the grid has in its second dimension. */
	g.strip = g.radius < 1024 ? 32 + g.radius : 1024;
	if (g.strip < at_once / 65535 + 1)
		g.strip = at_once / 65535 + 1;
	if (narrow)
		error = launch<uint32_t>((cudaStream_t)stream, g, band->rows, at_once, in, out);
	else
		error = launch<unsigned long long>((cudaStream_t)stream, g, band->rows, at_once, in,
		                                   out);
	if (error == cudaErrorMemoryAllocation)
		return -ENOMEM;
	return error == cudaSuccess ? 0 : -EIO;
}

template <typename sum_t> static cudaError_t load(void)
{
	struct cudaFuncAttributes attributes;
	cudaError_t error = cudaFuncGetAttributes(&attributes, (const void *)sum_columns<sum_t>);

	if (error == cudaSuccess)
		error = cudaFuncGetAttributes(&attributes,
		                              (const void *)filter_rows<sum_t, ROW_THREADS>);
	if (error == cudaSuccess)
		error = cudaFuncGetAttributes(&attributes,
		                              (const void *)filter_rows<sum_t, LONE_ROW_THREADS>);
	return error;
}

/* Also fills the pool with the memory of two blocks. */
extern "C" int boxfilter_cuda_load(void)
{
	void *pieces[2] = {NULL, NULL};
	cudaError_t error = load<uint32_t>();

	if (error == cudaSuccess)
		error = load<unsigned long long>();
	for (int p = 0; p < 2 && error == cudaSuccess; p++)
		error = codelet_cuda_allocate(&pieces[p], SCRATCH_BYTES, 0);
	for (int p = 0; p < 2; p++)
		if (pieces[p])
			cudaFreeAsync(pieces[p], 0);
	if (error == cudaSuccess)
		error = cudaStreamSynchronize(0);
	return error == cudaSuccess ? 0 : -EIO;
}
