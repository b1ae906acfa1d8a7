/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A tile has bands of 128 rows, each computed by one warp: a lane has ROWS rows in registers,
 * computes one column a step, and passes its lowest row to the next lane, which is one column
 * behind. One launch computes a tile: a band publishes the progress of its last row, and the band
 * below follows it. Bands are taken in the order of their start, so that the band above always runs
 * or has run. A tile of r rows keeps at most r / (32 ROWS) warps busy: a GPU needs high bands.
 */
#include <errno.h>
#include <stdint.h>
#include <cuda_runtime.h>

#include "codelets/cuda_pool.h"
#include "codelets/strmatch/strmatch.h"

#define ROWS 4   /* of a lane */
#define HIGH 128 /* rows of a band: 32 ROWS */
#define CHUNK 32 /* steps */
#define ALL 0xffffffffu

/* The data of all bands of a tile. */
struct geometry {
	struct strmatch_tile tile;
	int open, extend;
};

/* The scores are an argument of the kernel. */
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

/* The rows of a lane. */
struct lane {
	int h[ROWS], e[ROWS], best[ROWS], letter[ROWS];
	unsigned best_at[ROWS];
	int diagonal; /* H of the row above the first, one column back */
	int last_f;   /* F of the last row */
	int nrows;    /* that exist */
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

/* Computes one column. Rows that do not exist pass on the values above them. */
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

/* Columns of the row above a band, and their letters: a column a lane. */
struct above {
	int h, f, letter;
};

/* Waits until the band above has computed so many columns of its last row. */
static __device__ void wait_for(const volatile int *above, int columns)
{
	if (!threadIdx.x)
		while (*above < columns)
			;
	__threadfence();
	__syncwarp();
}

/* Another multiprocessor may just have written the row above. */
static __device__ struct above fetch(const struct geometry &g, const uint8_t *subject,
                                     const struct strmatch_edge *edge, int column)
{
	struct above above = {0, 0, 0};

	if (column >= (int)g.tile.ncolumns)
		return above;
	above.h = __ldcg(&edge[column].h);
	above.f = __ldcg(&edge[column].f);
	above.letter = subject[column];
	return above;
}

/* The steps of a chunk; lane 0 is at column `step` in the first one. `letter` is that of the lane's
 * latest column. */
static __device__ __forceinline__ void compute(struct lane &lane, const struct geometry &g,
                                               const int8_t *scores, int step,
                                               const struct above &above, int &letter,
                                               struct strmatch_edge *edge)
{
	const int self = (int)threadIdx.x, ncolumns = (int)g.tile.ncolumns;

#pragma unroll 4
	for (int k = 0; k < CHUNK; k++) {
		int up_h = __shfl_up_sync(ALL, lane.h[ROWS - 1], 1);
		int up_f = __shfl_up_sync(ALL, lane.last_f, 1);
		int first_h = __shfl_sync(ALL, above.h, k), first_f = __shfl_sync(ALL, above.f, k);
		int first_letter = __shfl_sync(ALL, above.letter, k), column = step + k - self;

		letter = __shfl_up_sync(ALL, letter, 1);
		if (!self) {
			up_h = first_h;
			up_f = first_f;
			letter = first_letter;
		}
		if (column < 0 || column >= ncolumns)
			continue;
		lane_step(lane, g, scores, letter, g.tile.first_column + (unsigned)column, up_h,
		          up_f);
		if (self == 31) {
			edge[column].h = lane.h[ROWS - 1];
			edge[column].f = lane.last_f;
		}
	}
}

/* Computes a band. `progress` has the number of bands taken, then for each band the number of
 * columns done in its last row. */
static __global__ void compute_bands(struct geometry g, struct table table,
                                     const uint8_t *__restrict__ query,
                                     const uint8_t *__restrict__ subject, struct strmatch_row *rows,
                                     struct strmatch_edge *edge, int *progress)
{
	__shared__ int8_t scores[STRMATCH_LETTERS * STRMATCH_LETTERS];
	int self = (int)threadIdx.x, ncolumns = (int)g.tile.ncolumns, letter = 0, *done;
	unsigned number = 0;
	struct lane lane;
	size_t row;

	for (unsigned i = threadIdx.x; i < sizeof(scores); i += blockDim.x)
		scores[i] = (&table.scores[0][0])[i];
	if (!self)
		number = (unsigned)atomicAdd(progress, 1);
	number = __shfl_sync(ALL, number, 0);
	__syncwarp();
	done = progress + 1 + number;
	row = (size_t)number * HIGH + (size_t)self * ROWS;
	lane_load(lane, rows + row, query + row,
	          row < g.tile.nrows ? (int)min((size_t)ROWS, g.tile.nrows - row) : 0);
	for (int step = 0; step < ncolumns + 31; step += CHUNK) {
		int needed = min(step + CHUNK, ncolumns);

		if (number && step < needed)
			wait_for(done - 1, needed);
		compute(lane, g, scores, step, fetch(g, subject, edge, step + self), letter, edge);
		/* Only the last lane has written what the next band reads. */
		if (self == 31) {
			__threadfence();
			*(volatile int *)done = step + CHUNK - 31;
		}
		__syncwarp();
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
	struct geometry g = {*tile, scoring->open, scoring->extend};
	unsigned bands = (unsigned)((tile->nrows + HIGH - 1) / HIGH);
	size_t bytes = (bands + 1) * sizeof(int);
	struct table table;
	void *progress;

	if (!tile->nrows || !tile->ncolumns)
		return 0;
	if (codelet_cuda_allocate(&progress, bytes, on) != cudaSuccess)
		return -ENOMEM;
	for (int i = 0; i < STRMATCH_LETTERS; i++)
		for (int j = 0; j < STRMATCH_LETTERS; j++)
			table.scores[i][j] = scoring->scores[i][j];
	if (above != below)
		copy_edge<<<(unsigned)((tile->ncolumns + threads - 1) / threads), threads, 0, on>>>(
		    tile->ncolumns, tile->floor, above, below);
	cudaMemsetAsync(progress, 0, bytes, on);
	compute_bands<<<bands, 32, 0, on>>>(g, table, query, subject, rows, below, (int *)progress);
	cudaFreeAsync(progress, on);
	return cudaGetLastError() == cudaSuccess ? 0 : -EIO;
}

CODELET_CUDA_LOAD(strmatch, (const void *)copy_edge, (const void *)compute_bands)
