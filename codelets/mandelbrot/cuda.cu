/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A pixel for each thread. The intrinsic functions are never fused.
 */
#include <errno.h>
#include <cuda_runtime.h>

#include "codelets/cuda_pool.h"
#include "codelets/mandelbrot/mandelbrot.h"

/* A warp's pixels are close to each other in both directions, so that they take alike. */
#define ACROSS 8
#define DOWN 16

static __global__ void compute(struct mandelbrot_view view, size_t first, size_t n,
                               unsigned char *out, size_t stride)
{
	size_t x = (size_t)blockIdx.x * ACROSS + threadIdx.x;
	size_t y = (size_t)blockIdx.y * DOWN + threadIdx.y;
	double zr = 0, zi = 0, rr = 0, ii = 0, cr, ci;
	uint32_t count = 0;

	if (x >= view.width || y >= n)
		return;
	cr = __dadd_rn(view.left, __dmul_rn((double)x, view.step));
	ci = __dsub_rn(view.top, __dmul_rn((double)(first + y), view.step));
	while (count < view.limit && __dadd_rn(rr, ii) <= 4.0) {
		zi = __dadd_rn(__dmul_rn(__dadd_rn(zr, zr), zi), ci);
		zr = __dadd_rn(__dsub_rn(rr, ii), cr);
		rr = __dmul_rn(zr, zr);
		ii = __dmul_rn(zi, zi);
		count++;
	}
	mandelbrot_paint(count, view.limit, out + y * stride + 3 * x);
}

/* Rows of one launch: the most blocks that a grid has down, times their height. */
#define MAX_ROWS ((size_t)65535 * DOWN)

extern "C" int mandelbrot_cuda(void *stream, const struct mandelbrot_view *view, size_t first,
                               size_t n, unsigned char *out, size_t stride)
{
	for (size_t done = 0; done < n; done += MAX_ROWS) {
		size_t rows = n - done < MAX_ROWS ? n - done : MAX_ROWS;
		dim3 blocks((unsigned)((view->width + ACROSS - 1) / ACROSS),
		            (unsigned)((rows + DOWN - 1) / DOWN));

		compute<<<blocks, dim3(ACROSS, DOWN), 0, (cudaStream_t)stream>>>(
		    *view, first + done, rows, out + done * stride, stride);
	}
	return cudaGetLastError() == cudaSuccess ? 0 : -EIO;
}

CODELET_CUDA_LOAD(mandelbrot, (const void *)compute)
