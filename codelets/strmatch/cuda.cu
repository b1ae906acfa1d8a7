/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A tile is cut into squares, and the squares of an anti-diagonal are computed at
 * once, one launch after the other. A square belongs to one warp: a lane has ROWS
 * rows in registers, one column a step, and hands its lowest row to the next lane, which
 * is one column behind. A tile of r rows keeps at most r / (32 ROWS) warps busy, so
 * bands for a GPU are better high.
 */
#include <errno.h>
#include <stdint.h>
#include <cuda_runtime.h>

#include "codelets/strmatch/strmatch.h"

#define ROWS 4   /* of a lane */
#define SIDE 128 /* rows and columns of a square: 32 ROWS */
#define WARPS 2  /* of a block */
#define ALL 0xffffffffu

/* What all squares of a tile share. */
struct geometry {
	struct strmatch_tile tile;
	int open, extend;
	unsigned squares_down, squares_across;
};

/* The scores travel as an argument of the kernel. */
struct table {
	int8_t scores[STRMATCH_LETTERS][STRMATCH_LETTERS];
};

static __global__ void copy_edge(size_t n, int floor, const struct strmatch_edge *above,
				 struct strmatch_edge *below)
{
	size_t j = (size_t)blockIdx.x * blockDim.x + threadIdx.x;

	if (j >= n)
		return;
	if (above) {
		below[j] = above[j];
	} else {
		below[j].h = floor;
		below[j].f = STRMATCH_NONE;
	}
}

/* The rows of a lane while they pass through a square. */
struct lane {
	int h[ROWS], e[ROWS], best[ROWS], letter[ROWS];
	unsigned best_at[ROWS];
	int diagonal;   /* H of the row above the first, one column back */
	int last_f;     /* F of the last row */
	int nrows;      /* that exist */
};

static __device__ void lane_load(struct lane &lane, const struct strmatch_row *rows,
				 const uint8_t *query, int nrows)
{
	lane.nrows = nrows;
	lane.diagonal = nrows > 0 ? rows[0].corner : 0;
	lane.last_f = STRMATCH_NONE;
#pragma unroll
	for (int k = 0; k < ROWS; k++) {
		bool there = k < nrows;

		lane.h[k] = there ? rows[k].h : 0;
		lane.e[k] = there ? rows[k].e : 0;
		lane.best[k] = there ? rows[k].best : 0;
		lane.best_at[k] = there ? rows[k].best_at : 0;
		lane.letter[k] = there ? query[k] : 0;
	}
}

static __device__ void lane_store(const struct lane &lane, struct strmatch_row *rows)
{
#pragma unroll
	for (int k = 0; k < ROWS; k++)
		if (k < lane.nrows) {
			rows[k].h = lane.h[k];
			rows[k].e = lane.e[k];
			rows[k].corner = k ? lane.h[k - 1] : lane.diagonal;
			rows[k].best = lane.best[k];
			rows[k].best_at = lane.best_at[k];
		}
}

/* One column. Rows that do not exist hand on what is above them. */
static __device__ __forceinline__ void lane_step(struct lane &lane, const struct geometry &g,
						 const int8_t *scores, int letter, unsigned column,
						 int up_h, int up_f)
{
	int diagonal = lane.diagonal;

	lane.diagonal = up_h;
#pragma unroll
	for (int k = 0; k < ROWS; k++) {
		int left = lane.h[k], score = scores[lane.letter[k] * STRMATCH_LETTERS + letter];
		int f = max(up_f - g.extend, up_h - g.open);
		int e = max(lane.e[k] - g.extend, left - g.open);
		int h = max(max(g.tile.floor, diagonal + score), max(e, f));

		if (k < lane.nrows) {
			up_h = h;
			up_f = f;
			lane.e[k] = e;
			if (h > lane.best[k]) {
				lane.best[k] = h;
				lane.best_at[k] = column;
			}
		}
		lane.h[k] = up_h;
		diagonal = left;
	}
	lane.last_f = up_f;
}

/* The squares down … of anti-diagonal `diagonal`, one a warp, beginning at `first`. */
static __global__ void compute_squares(struct geometry g, struct table table, unsigned diagonal,
				       unsigned first, unsigned last,
				       const uint8_t *__restrict__ query,
				       const uint8_t *__restrict__ subject, struct strmatch_row *rows,
				       struct strmatch_edge *edge)
{
	__shared__ int8_t scores[STRMATCH_LETTERS * STRMATCH_LETTERS];
	unsigned self = threadIdx.x % 32;
	unsigned down = first + blockIdx.x * WARPS + threadIdx.x / 32;
	size_t row = (size_t)down * SIDE + self * ROWS, column = (size_t)(diagonal - down) * SIDE;
	int ncolumns, up_h, up_f, letter = 0, next_letter = 0, next_h = 0, next_f = 0;
	struct lane lane;

	for (unsigned i = threadIdx.x; i < sizeof(scores); i += blockDim.x)
		scores[i] = (&table.scores[0][0])[i];
	__syncthreads();
	if (down > last)
		return;
	ncolumns = (int)min((size_t)SIDE, g.tile.ncolumns - column);
	lane_load(lane, rows + row, query + row,
		  row < g.tile.nrows ? (int)min((size_t)ROWS, g.tile.nrows - row) : 0);
	for (int step = 0; step < ncolumns + 31; step++) {
		int j = step - (int)self;

		/* 32 columns of what is above are fetched at once, a column a lane. */
		if (step % 32 == 0) {
			int at = step + (int)self;

			if (at < ncolumns) {
				next_letter = subject[column + at];
				next_h = edge[column + at].h;
				next_f = edge[column + at].f;
			}
		}
		up_h = __shfl_up_sync(ALL, lane.h[ROWS - 1], 1);
		up_f = __shfl_up_sync(ALL, lane.last_f, 1);
		letter = __shfl_up_sync(ALL, letter, 1);
		{
			int first_h = __shfl_sync(ALL, next_h, step % 32);
			int first_f = __shfl_sync(ALL, next_f, step % 32);
			int first_letter = __shfl_sync(ALL, next_letter, step % 32);

			if (!self) {
				up_h = first_h;
				up_f = first_f;
				letter = first_letter;
			}
		}
		if (j >= 0 && j < ncolumns) {
			lane_step(lane, g, scores, letter, g.tile.first_column + (unsigned)(column + j),
				  up_h, up_f);
			if (self == 31) {
				edge[column + j].h = lane.h[ROWS - 1];
				edge[column + j].f = lane.last_f;
			}
		}
	}
	lane_store(lane, rows + row);
}

extern "C" int strmatch_cuda(void *stream, const struct strmatch_scoring *scoring,
			     const struct strmatch_tile *tile, const uint8_t *query,
			     const uint8_t *subject, struct strmatch_row *rows,
			     const struct strmatch_edge *above, struct strmatch_edge *below)
{
	const unsigned threads = 256;
	cudaStream_t on = (cudaStream_t)stream;
	struct geometry g = {*tile, scoring->open, scoring->extend, 0, 0};
	struct table table;

	if (!tile->nrows || !tile->ncolumns)
		return 0;
	for (int i = 0; i < STRMATCH_LETTERS; i++)
		for (int j = 0; j < STRMATCH_LETTERS; j++)
			table.scores[i][j] = scoring->scores[i][j];
	g.squares_down = (unsigned)((tile->nrows + SIDE - 1) / SIDE);
	g.squares_across = (unsigned)((tile->ncolumns + SIDE - 1) / SIDE);
	if (above != below)
		copy_edge<<<(unsigned)((tile->ncolumns + threads - 1) / threads), threads, 0, on>>>(
			tile->ncolumns, tile->floor, above, below);
	for (unsigned d = 0; d < g.squares_down + g.squares_across - 1; d++) {
		unsigned first = d < g.squares_across ? 0 : d - g.squares_across + 1;
		unsigned last = d < g.squares_down ? d : g.squares_down - 1;
		unsigned blocks = (last - first) / WARPS + 1;

		compute_squares<<<blocks, WARPS * 32, 0, on>>>(g, table, d, first, last, query,
							       subject, rows, below);
	}
	return cudaGetLastError() == cudaSuccess ? 0 : -EIO;
}

extern "C" int strmatch_cuda_load(void)
{
	struct cudaFuncAttributes attributes;

	return cudaFuncGetAttributes(&attributes, (const void *)copy_edge) == cudaSuccess &&
			       cudaFuncGetAttributes(&attributes, (const void *)compute_squares) ==
				       cudaSuccess
		       ? 0
		       : -EIO;
}
