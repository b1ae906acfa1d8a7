/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A tile is cut into blocks of 32 rows, and the blocks of an anti-diagonal are
 * computed at once, one launch after the other. A block belongs to one warp: a lane has
 * one row, one column a step, and the lane after it is one column behind. What a lane
 * reads on its right is, one step later, what is below the lane before. A tile of r rows
 * keeps at most r / 32 warps busy: bands for a GPU are better high.
 */
#include <errno.h>
#include <cuda_runtime.h>

#include "codelets/heat2d/heat2d.h"

#define ROWS 32 /* of a block, one a lane */
#define COLUMNS 64
#define WARPS 2
#define ALL 0xffffffffu

struct geometry {
	struct heat2d_inner inner;
	size_t stride;
	unsigned diagonal, first, last; /* blocks first … last from the top */
};

static __global__ void compute_blocks(struct geometry g, float *u)
{
	unsigned self = threadIdx.x % 32, down = g.first + blockIdx.x * WARPS + threadIdx.x / 32;
	size_t row = g.inner.top + (size_t)down * ROWS + self;
	size_t column = g.inner.left + (size_t)(g.diagonal - down) * COLUMNS;
	int columns, height;
	bool there = row < g.inner.bottom;
	float left, right;

	if (down > g.last)
		return;
	columns = (int)min((size_t)COLUMNS, g.inner.right - column);
	height = (int)min((size_t)ROWS, g.inner.bottom - (row - self));
	u += row * g.stride + column;
	left = there ? u[-1] : 0.0f;
	right = there ? u[0] : 0.0f;
	for (int step = 0; step < columns + height - 1; step++) {
		int j = step - (int)self;
		bool works = there && j >= 0 && j < columns;
		float above = __shfl_up_sync(ALL, left, 1), below, sum;

		if (works)
			right = u[j + 1];
		/* The lane below has just read, or still has, its value in this column. */
		below = __shfl_down_sync(ALL, right, 1);
		if (works) {
			if (!self)
				above = *(u + j - g.stride);
			if (self == height - 1)
				below = u[j + g.stride];
			sum = above + below;
			sum = sum + right;
			sum = sum + left;
			left = sum * 0.25f;
			u[j] = left;
		}
	}
}

extern "C" int heat2d_cuda(void *stream, const struct heat2d_tile *tile, float *u)
{
	struct geometry g = {heat2d_inner(tile), tile->stride, 0, 0, 0};
	unsigned down, across;

	if (g.inner.top == g.inner.bottom || g.inner.left == g.inner.right)
		return 0;
	down = (unsigned)((g.inner.bottom - g.inner.top + ROWS - 1) / ROWS);
	across = (unsigned)((g.inner.right - g.inner.left + COLUMNS - 1) / COLUMNS);
	for (g.diagonal = 0; g.diagonal < down + across - 1; g.diagonal++) {
		g.first = g.diagonal < across ? 0 : g.diagonal - across + 1;
		g.last = g.diagonal < down ? g.diagonal : down - 1;
		compute_blocks<<<(g.last - g.first) / WARPS + 1, WARPS * 32, 0,
				 (cudaStream_t)stream>>>(g, u);
	}
	return cudaGetLastError() == cudaSuccess ? 0 : -EIO;
}

extern "C" int heat2d_cuda_load(void)
{
	struct cudaFuncAttributes attributes;

	return cudaFuncGetAttributes(&attributes, (const void *)compute_blocks) == cudaSuccess
		       ? 0
		       : -EIO;
}
