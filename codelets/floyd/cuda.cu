/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A tile is cut into blocks of 32 rows, shifted like the tile, and the blocks of an
 * anti-diagonal are computed at once, one launch after the other. A block belongs to
 * one warp: a lane has one row, one column a step, and hands its error to the next
 * lane, which is one step behind. A tile of r rows keeps at most r / 32 warps of each
 * channel busy: bands for a GPU are better high, and a small image does not fill it.
 */
#include <errno.h>
#include <stdint.h>
#include <cuda_runtime.h>

#include "codelets/floyd/floyd.h"

#define ROWS 32   /* of a block, one a lane */
#define COLUMNS 64
#define WARPS 2
#define ALL 0xffffffffu

struct geometry {
	struct floyd_tile tile;
	unsigned diagonal, first, last; /* blocks first … last from the top */
	int top, factor, bias;
};

/* An error in the row above the block, by the position in its first row. */
static __device__ int error_above(const struct geometry &g, const int16_t *edge, ptrdiff_t column)
{
	return column < 0 || column >= (ptrdiff_t)g.tile.image.width
		       ? 0
		       : edge[column * g.tile.image.channels];
}

static __global__ void compute_blocks(struct geometry g, const uint8_t *__restrict__ in,
				      uint8_t *__restrict__ out, struct floyd_row *rows,
				      int16_t *edge)
{
	unsigned self = threadIdx.x % 32, down = g.first + blockIdx.x * WARPS + threadIdx.x / 32;
	unsigned channels = g.tile.image.channels;
	size_t row = (size_t)down * ROWS + self;
	size_t across = (size_t)(g.diagonal - down) * COLUMNS;
	ptrdiff_t first = g.tile.column + (ptrdiff_t)across - (ptrdiff_t)row;
	ptrdiff_t top_first = first + self; /* of the block's first row */
	int columns, height, e, before, corner, up1 = 0, up2 = 0, fetched = 0;
	struct floyd_row state = {0, 0, 0};

	if (down > g.last)
		return;
	in += blockIdx.y + row * g.tile.in_stride;
	out += blockIdx.y + row * g.tile.out_stride;
	rows += row * channels + blockIdx.y;
	edge += blockIdx.y;
	columns = (int)min((size_t)COLUMNS, g.tile.columns - across);
	height = (int)min((size_t)ROWS, g.tile.rows - (size_t)down * ROWS);
	if (row < g.tile.rows)
		state = *rows;
	e = state.before;
	corner = before = state.before;
	if (!self) {
		up1 = state.corner;
		corner = state.corner;
	}
	/* In the first step, lane 0 takes the error left of the block. */
	for (int step = -1; step < columns + height - 1; step++) {
		int position = step - (int)self, up = __shfl_up_sync(ALL, e, 1), from_above;
		ptrdiff_t column = first + position;

		/* 32 errors of the row above are fetched at once, one a lane. */
		if ((step + 1) % 32 == 0)
			fetched = error_above(g, edge, top_first + step + (int)self + 1);
		from_above = __shfl_sync(ALL, fetched, (step + 1) % 32);
		if (!self)
			up = from_above;
		if (position == -1)
			e = state.left;
		if (position >= 0 && position < columns && row < g.tile.rows) {
			before = e;
			corner = up1;
			e = 0;
			if (column >= 0 && column < (ptrdiff_t)g.tile.image.width) {
				int sum = 7 * before + up2 + 5 * up1 + 3 * up;
				int v = in[column * channels] + ((sum + 8) >> 4);
				int q = min(max(v, 0), 255) * g.top + 128;

				q = (q + (q >> 8)) >> 8;
				q = (q * g.factor + g.bias) >> 8;
				out[column * channels] = (uint8_t)q;
				e = v - q;
				if (self == height - 1)
					edge[column * channels] = (int16_t)e;
			}
		}
		up2 = up1;
		up1 = up;
	}
	if (row < g.tile.rows) {
		state.left = (int16_t)e;
		state.before = (int16_t)before;
		state.corner = (int16_t)corner;
		*rows = state;
	}
}

extern "C" int floyd_cuda(void *stream, const struct floyd_tile *tile, const uint8_t *in,
			  uint8_t *out, struct floyd_row *rows, int16_t *edge)
{
	unsigned down = (unsigned)((tile->rows + ROWS - 1) / ROWS);
	unsigned across = (unsigned)((tile->columns + COLUMNS - 1) / COLUMNS);
	struct geometry g = {*tile, 0, 0, 0, 0, 0, 0};

	if (!tile->rows || !tile->columns)
		return 0;
	g.top = (1 << tile->image.bits) - 1;
	g.factor = (int)floyd_factor(tile->image.bits);
	g.bias = (int)floyd_bias(tile->image.bits);
	for (g.diagonal = 0; g.diagonal < down + across - 1; g.diagonal++) {
		g.first = g.diagonal < across ? 0 : g.diagonal - across + 1;
		g.last = g.diagonal < down ? g.diagonal : down - 1;
		compute_blocks<<<dim3((g.last - g.first) / WARPS + 1, tile->image.channels),
				 WARPS * 32, 0, (cudaStream_t)stream>>>(g, in, out, rows, edge);
	}
	return cudaGetLastError() == cudaSuccess ? 0 : -EIO;
}

extern "C" int floyd_cuda_load(void)
{
	struct cudaFuncAttributes attributes;

	return cudaFuncGetAttributes(&attributes, (const void *)compute_blocks) == cudaSuccess
		       ? 0
		       : -EIO;
}
