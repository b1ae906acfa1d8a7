/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A tile has bands of 32 rows. One warp computes a channel of a band: a lane has one row, computes
 * one column a step, and passes its error to the next lane, which is one step behind. One launch
 * computes a tile: a band publishes the progress of its last row, and the band below follows it.
 * Steps are grouped by 32: the pixels of the next group are loaded during the current one.
 */
#include <errno.h>
#include <limits.h>
#include <stdint.h>
#include <cuda_runtime.h>

#include "codelets/cuda_pool.h"
#include "codelets/floyd/floyd.h"

/* Bands are taken in the order of their start, so that the band above always runs or has run. A
 * tile of r rows keeps at most r / 32 warps of each channel busy: a GPU needs high tiles, and a
 * small image does not fill it. Pixels are read along the rows and transposed in shared memory. */

#define ROWS 32  /* of a band, one a lane */
#define CHUNK 32 /* steps */
#define PITCH 36 /* bytes of a row in shared memory: no bank conflicts */
#define ALL 0xffffffffu

/* The data of all bands of a tile. */
struct geometry {
	struct floyd_tile tile;
	int top, factor, bias;
};

/* A band. Positions count in each row from the beginning of the tile. */
struct band {
	size_t row;      /* of the tile, its first */
	ptrdiff_t first; /* column of its first row's position 0 */
	int height;
	ptrdiff_t begin, end; /* positions to compute: others have no pixel in any row */
};

/* A lane's errors in its row and the row above; `position` is that of e. */
struct lane {
	int e, before; /* errors at this position and the one before */
	int up1, up2;  /* of the row above, at this position and the one before */
	int corner;    /* up1 at the last position that was computed */
};

static __device__ ptrdiff_t least(ptrdiff_t a, ptrdiff_t b)
{
	return a < b ? a : b;
}

static __device__ struct band band_of(const struct geometry &g, unsigned number)
{
	struct band band;
	ptrdiff_t end, width = (ptrdiff_t)g.tile.image.width;

	band.row = (size_t)number * ROWS;
	band.first = g.tile.column - (ptrdiff_t)band.row;
	band.height = (int)least(ROWS, (ptrdiff_t)(g.tile.rows - band.row));
	band.begin = band.first < 0 ? -band.first : 0;
	/* The last row is in the image for the longest; two positions more make the errors
	 * to its right 0. */
	end = width - (band.first - (band.height - 1));
	band.end = end <= band.begin ? band.begin : least((ptrdiff_t)g.tile.columns, end + 2);
	return band;
}

/* An error in the row above the band. Another multiprocessor may just have written it. */
static __device__ int error_above(const struct geometry &g, const int16_t *edge, ptrdiff_t column)
{
	return column < 0 || column >= (ptrdiff_t)g.tile.image.width
	           ? 0
	           : __ldcg(edge + column * g.tile.image.channels);
}

/* Waits until the band above has computed so many positions of its last row. */
static __device__ void wait_for(const volatile int *above, ptrdiff_t positions)
{
	if (!threadIdx.x)
		while (*above < positions)
			;
	__threadfence();
	__syncwarp();
}

/* Whether all lanes have pixels in all steps of a chunk. */
static __device__ bool is_inner(const struct geometry &g, const struct band &band, ptrdiff_t step)
{
	return band.height == ROWS && step - (ROWS - 1) >= band.begin && step + CHUNK <= band.end &&
	       band.first + step - 2 * (ROWS - 1) >= 0 &&
	       band.first + step + CHUNK <= (ptrdiff_t)g.tile.image.width;
}

/* A column of the band's row `r`, as many steps after `step` as the lane's number; -1: there
 * is no pixel, or it is not computed in this tile. */
static __device__ ptrdiff_t column_of(const struct geometry &g, const struct band &band,
                                      ptrdiff_t step, int r)
{
	ptrdiff_t position = step + (int)threadIdx.x - r, column = band.first + position - r;

	return r < band.height && position >= band.begin && position < band.end && column >= 0 &&
	               column < (ptrdiff_t)g.tile.image.width
	           ? column
	           : -1;
}

static __device__ void fetch(const struct geometry &g, const struct band &band, const uint8_t *in,
                             ptrdiff_t step, int pixels[ROWS])
{
	const ptrdiff_t channels = g.tile.image.channels;

	if (is_inner(g, band, step)) {
		in += (band.first + step + (int)threadIdx.x) * channels;
#pragma unroll
		for (int r = 0; r < ROWS; r++, in += g.tile.in_stride - 2 * channels)
			pixels[r] = *in;
		return;
	}
#pragma unroll
	for (int r = 0; r < ROWS; r++) {
		ptrdiff_t column = column_of(g, band, step, r);

		pixels[r] = column < 0 ? 0 : in[r * g.tile.in_stride + column * channels];
	}
}

static __device__ void store(const struct geometry &g, const struct band &band, uint8_t *out,
                             ptrdiff_t step, const uint8_t levels[ROWS][PITCH])
{
	const ptrdiff_t channels = g.tile.image.channels;

	if (is_inner(g, band, step)) {
		out += (band.first + step + (int)threadIdx.x) * channels;
#pragma unroll
		for (int r = 0; r < ROWS; r++, out += g.tile.out_stride - 2 * channels)
			*out = levels[r][threadIdx.x];
		return;
	}
	for (int r = 0; r < ROWS; r++) {
		ptrdiff_t column = column_of(g, band, step, r);

		if (column >= 0)
			out[r * g.tile.out_stride + column * channels] = levels[r][threadIdx.x];
	}
}

/* Computes a pixel and its error. */
static __device__ __forceinline__ int diffuse(const struct geometry &g, const struct lane &lane,
                                              int up, int pixel, int *level)
{
	int v = pixel + ((7 * lane.e + (lane.up2 + 5 * lane.up1 + 3 * up + 8)) >> 4);
	int q = min(max(v, 0), 255) * g.top + 128;

	q = (q + (q >> 8)) >> 8;
	*level = (q * g.factor + g.bias) >> 8;
	return v - *level;
}

/* The steps of a chunk; `step` is the first one, in which lane 0 is at that position.
 * `INNER`: all lanes have pixels in all of them. */
template <bool INNER>
static __device__ __forceinline__ void
compute(const struct geometry &g, const struct band &band, const struct floyd_row &state,
        struct lane &lane, ptrdiff_t step, int above, const uint8_t pixels[ROWS][PITCH],
        uint8_t levels[ROWS][PITCH], int16_t *edge)
{
	/* Positions from band.begin on: all, and those in the image. */
	const int self = (int)threadIdx.x, n = (int)(band.end - band.begin);
	const ptrdiff_t column = band.first - self + band.begin;
	const int from = (int)(column < 0 ? -column : 0);
	const int to = (int)least(n, (ptrdiff_t)g.tile.image.width - column);
	const bool exists = self < band.height, last = self == band.height - 1;
	int position = (int)(step - band.begin) - self;

	edge += (column + position) * g.tile.image.channels;
#pragma unroll
	for (int k = 0; k < CHUNK; k++, position++, edge += g.tile.image.channels) {
		int up = __shfl_up_sync(ALL, lane.e, 1), first = __shfl_sync(ALL, above, k);

		if (!self)
			up = first;
		/* Before its first position a lane has the errors of the tile on the left. */
		if (!INNER && position == -1)
			lane.e = state.left;
		if (INNER || (exists && position >= 0 && position < n)) {
			int level, e = diffuse(g, lane, up, pixels[self][k], &level);

			levels[self][k] = (uint8_t)level;
			if (!INNER && (position < from || position >= to))
				e = 0;
			else if (last)
				*edge = (int16_t)e;
			lane.before = lane.e;
			lane.corner = lane.up1;
			lane.e = e;
		}
		lane.up2 = lane.up1;
		lane.up1 = up;
	}
}

/* Takes the next band. @return its number */
static __device__ __forceinline__ unsigned take_number(int *begun)
{
	unsigned number = 0;

	if (!threadIdx.x)
		number = (unsigned)atomicAdd(begun, 1);
	return __shfl_sync(ALL, number, 0);
}

/* A lane before the first position of its row. */
static __device__ __forceinline__ struct lane lane_of(const struct floyd_row &state)
{
	struct lane lane;

	lane.e = lane.before = lane.corner = state.before;
	lane.up1 = lane.up2 = 0;
	if (!threadIdx.x)
		lane.up1 = lane.corner = state.corner;
	return lane;
}

/* Stores the errors for the tile on the right. A row that is not in the image yet keeps 0. */
static __device__ __forceinline__ void leave(const struct geometry &g, const struct band &band,
                                             const struct lane &lane, struct floyd_row *row)
{
	if ((int)threadIdx.x < band.height && band.begin < (ptrdiff_t)g.tile.columns) {
		bool right = band.begin >= band.end;
		struct floyd_row state;

		state.left = (int16_t)(right ? 0 : lane.e);
		state.before = (int16_t)(right ? 0 : lane.before);
		state.corner = (int16_t)(right ? 0 : lane.corner);
		*row = state;
	}
}

/* Computes a band of a channel. `progress` has, for each channel, the number of bands taken,
 * then for each band the number of positions done in its last row. */
static __global__ void compute_bands(struct geometry g, const uint8_t *__restrict__ in,
                                     uint8_t *__restrict__ out, struct floyd_row *rows,
                                     int16_t *edge, int *progress)
{
	__shared__ uint8_t pixels[ROWS][PITCH], levels[ROWS][PITCH];
	unsigned self = threadIdx.x, channel = blockIdx.y;
	int *done = progress + channel * (gridDim.x + 1), next[ROWS];
	unsigned number = take_number(done);
	struct floyd_row state = {0, 0, 0};
	struct band band;
	struct lane lane;

	done += 1 + number;
	band = band_of(g, number);
	in += channel + band.row * g.tile.in_stride;
	out += channel + band.row * g.tile.out_stride;
	rows += (band.row + self) * g.tile.image.channels + channel;
	edge += channel;
	if ((int)self < band.height && !band.begin)
		state = *rows;
	lane = lane_of(state);
	if (band.begin < band.end)
		fetch(g, band, in, band.begin - 1, next);
	for (ptrdiff_t step = band.begin - 1;
	     band.begin < band.end && step < band.end + band.height - 1; step += CHUNK) {
		/* The row above, as far as the image and this tile go. */
		ptrdiff_t needed = least(least(step + CHUNK, (ptrdiff_t)g.tile.columns),
		                         (ptrdiff_t)g.tile.image.width - 1 - band.first);
		int above;

		if (number && needed > 0)
			wait_for(done - 1, needed);
		above = error_above(g, edge, band.first + step + (int)self + 1);
#pragma unroll
		for (int r = 0; r < ROWS; r++)
			pixels[r][self] = (uint8_t)next[r];
		__syncwarp();
		fetch(g, band, in, step + CHUNK, next);
		if (is_inner(g, band, step))
			compute<true>(g, band, state, lane, step, above, pixels, levels, edge);
		else
			compute<false>(g, band, state, lane, step, above, pixels, levels, edge);
		__syncwarp();
		store(g, band, out, step, levels);
		if ((int)self == band.height - 1) {
			__threadfence();
			*(volatile int *)done = (int)(step + CHUNK - self);
		}
		__syncwarp();
	}
	if ((int)self == band.height - 1) {
		__threadfence();
		*(volatile int *)done = INT_MAX;
	}
	leave(g, band, lane, rows);
}

extern "C" int floyd_cuda(void *stream, const struct floyd_tile *tile, const uint8_t *in,
                          uint8_t *out, struct floyd_row *rows, int16_t *edge)
{
	cudaStream_t on = (cudaStream_t)stream;
	unsigned bands = (unsigned)((tile->rows + ROWS - 1) / ROWS);
	unsigned channels = tile->image.channels;
	size_t bytes = (bands + 1) * channels * sizeof(int);
	struct geometry g = {*tile, (1 << tile->image.bits) - 1,
	                     (int)floyd_factor(tile->image.bits),
	                     (int)floyd_bias(tile->image.bits)};
	void *progress;

	if (!tile->rows || !tile->columns)
		return 0;
	if (codelet_cuda_allocate(&progress, bytes, on) != cudaSuccess)
		return -ENOMEM;
	cudaMemsetAsync(progress, 0, bytes, on);
	compute_bands<<<dim3(bands, channels), ROWS, 0, on>>>(g, in, out, rows, edge,
	                                                      (int *)progress);
	cudaFreeAsync(progress, on);
	return cudaGetLastError() == cudaSuccess ? 0 : -EIO;
}

CODELET_CUDA_LOAD(floyd, (const void *)compute_bands)
