/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Several threads a row, as many as the mean row keeps busy: they read neighbouring non-zeros. A
 * row that is much longer than the mean one is left to a warp, or a block would wait for it.
 */
#include <errno.h>
#include <cuda_runtime.h>

#include "codelets/spmv/spmv.h"

#define THREADS 256

/* The sum of some threads' products of a row, in the first of them; `width` threads work on each
 * of the warp's rows. */
template <typename number>
static __device__ __forceinline__ number row_sum(const int32_t *__restrict__ columns,
                                                 const number *__restrict__ values,
                                                 const number *__restrict__ x, size_t begin,
                                                 size_t end, unsigned width)
{
	number sum = 0;

	for (size_t e = begin + threadIdx.x % width; e < end; e += width)
		sum += __ldcs(values + e) * __ldg(x + __ldcs(columns + e));
	for (unsigned step = width / 2; step; step /= 2)
		sum += __shfl_down_sync(0xffffffffu, sum, step, width);
	return sum;
}

template <typename number>
static __global__ void multiply(size_t n, unsigned width, const uint32_t *__restrict__ starts,
                                const int32_t *__restrict__ columns,
                                const number *__restrict__ values, const number *__restrict__ x,
                                number *__restrict__ y)
{
	size_t row = ((size_t)blockIdx.x * THREADS + threadIdx.x) / width;
	unsigned lane = threadIdx.x % 32;
	size_t begin = 0, end = 0, first = starts[0];
	bool is_long;
	unsigned longs;
	number sum;

	if (row < n) {
		begin = starts[row] - first;
		end = starts[row + 1] - first;
	}
	is_long = end - begin > 16 * width && width < 32;
	sum = row_sum(columns, values, x, begin, is_long ? begin : end, width);
	if (lane % width == 0 && row < n && !is_long)
		y[row] = sum;
	/* The long ones of the warp's rows, by all of its threads. */
	longs = __ballot_sync(0xffffffffu, is_long && lane % width == 0);
	while (longs) {
		int owner = __ffs(longs) - 1;

		longs &= longs - 1;
		sum = row_sum(columns, values, x, __shfl_sync(0xffffffffu, begin, owner),
		              __shfl_sync(0xffffffffu, end, owner), 32);
		sum = __shfl_sync(0xffffffffu, sum, 0);
		if (lane == owner)
			y[row] = sum;
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

extern "C" int spmv_cuda_load(void)
{
	struct cudaFuncAttributes attributes;

	if (cudaFuncGetAttributes(&attributes, (const void *)multiply<float>) != cudaSuccess ||
	    cudaFuncGetAttributes(&attributes, (const void *)multiply<double>) != cudaSuccess)
		return -EIO;
	return 0;
}
