/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Several threads a row, as many as the mean row keeps busy: they read neighbouring non-zeros. Rows
 * that are much longer are left to all threads of a block, one after the other.
 */
#include <errno.h>
#include <cuda_runtime.h>

#include "codelets/cuda_pool.h"
#include "codelets/spmv/spmv.h"

#define THREADS 256
#define ALL 0xffffffffu
/* Non-zeros of each of a row's threads above which the row is a long one. */
#define MOST 64

/* The products of one of `threads` threads of a row. */
template <typename number>
static __device__ __forceinline__ number products(const int32_t *__restrict__ columns,
                                                  const number *__restrict__ values,
                                                  const number *__restrict__ x, size_t begin,
                                                  size_t end, unsigned thread, unsigned threads)
{
	number sum = 0;

	for (size_t e = begin + thread; e < end; e += threads)
		sum += __ldcs(values + e) * __ldg(x + __ldcs(columns + e));
	return sum;
}

/* The sum of `width` neighbouring threads, in the first of them. */
template <typename number>
static __device__ __forceinline__ number sum_of(number sum, unsigned width)
{
	for (unsigned step = width / 2; step; step /= 2)
		sum += __shfl_down_sync(ALL, sum, step, width);
	return sum;
}

template <typename number>
static __global__ void multiply(size_t n, unsigned width, const uint32_t *__restrict__ starts,
                                const int32_t *__restrict__ columns,
                                const number *__restrict__ values, const number *__restrict__ x,
                                number *__restrict__ y)
{
	__shared__ size_t longs[THREADS / 2]; /* rows of at least two threads */
	__shared__ unsigned nlongs;
	__shared__ number parts[THREADS / 32];
	size_t row = ((size_t)blockIdx.x * THREADS + threadIdx.x) / width, first = starts[0];
	size_t begin = 0, end = 0;
	unsigned thread = threadIdx.x % width;
	number sum;
	bool is_long;

	if (threadIdx.x == 0)
		nlongs = 0;
	__syncthreads();
	if (row < n) {
		begin = starts[row] - first;
		end = starts[row + 1] - first;
	}
	is_long = end - begin > MOST * width;
	sum = products(columns, values, x, begin, is_long ? begin : end, thread, width);
	sum = sum_of(sum, width);
	if (is_long && thread == 0)
		longs[atomicAdd(&nlongs, 1)] = row;
	else if (row < n && thread == 0)
		y[row] = sum;
	__syncthreads();
	for (unsigned k = 0; k < nlongs; k++) {
		row = longs[k];
		sum = products(columns, values, x, starts[row] - first, starts[row + 1] - first,
		               threadIdx.x, THREADS);
		sum = sum_of(sum, 32);
		if (threadIdx.x % 32 == 0)
			parts[threadIdx.x / 32] = sum;
		__syncthreads();
		if (threadIdx.x < 32) {
			sum = threadIdx.x < THREADS / 32 ? parts[threadIdx.x] : 0;
			sum = sum_of(sum, 32);
			if (threadIdx.x == 0)
				y[row] = sum;
		}
		__syncthreads();
	}
}

template <typename number>
static void launch(cudaStream_t stream, const struct spmv_rows *rows, unsigned width)
{
	size_t blocks = (rows->n * width + THREADS - 1) / THREADS;

	multiply<number><<<(unsigned)blocks, THREADS, 0, stream>>>(
	    rows->n, width, rows->starts, rows->columns, (const number *)rows->values,
	    (const number *)rows->x, (number *)rows->y);
}

extern "C" int spmv_cuda(void *stream, const struct spmv_rows *rows, size_t count)
{
	unsigned width = 2;

	if (!rows->n)
		return 0;
	while (width < 32 && width < count / rows->n)
		width *= 2;
	if (rows->wide)
		launch<double>((cudaStream_t)stream, rows, width);
	else
		launch<float>((cudaStream_t)stream, rows, width);
	return cudaGetLastError() == cudaSuccess ? 0 : -EIO;
}

CODELET_CUDA_LOAD(spmv, (const void *)multiply<float>, (const void *)multiply<double>)
