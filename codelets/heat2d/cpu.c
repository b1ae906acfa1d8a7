/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The CPU version. A point waits only for the one on its left: vector instructions sum the other
 * three neighbours beforehand, for a span of columns. ROWS rows are computed at once, each one span
 * behind the row above, so that their chains of additions overlap. A finished row makes room for
 * the row ROWS below it.
 */
#include "config.h"

#include <string.h>

#include "codelets/heat2d/heat2d.h"

#define ROWS 8
#define SPAN 32
/* The columns of a row that are prefetched before it begins, and those of a cache line. */
#define BEGINNING 128
#define LINE 16

/* One of the rows that are computed at once. */
struct lane {
	float *first; /* of the span; `aside` where that is not full */
	size_t length;
	float *target;         /* the span in memory */
	float aside[1 + SPAN]; /* the point before the span, and the span */
};

/* Sums of three neighbours of n points of a row. */
ISA_BODY void sum_three(const float *at, size_t stride, size_t n, float *restrict sums)
{
	const float *above = at - stride, *below = at + stride;

	for (size_t k = 0; k < n; k++)
		sums[k] = (above[k] + below[k]) + at[k + 1];
}

/* Computes a span of each lane. */
ISA_BODY void run_lanes(const struct lane *lanes, float sums[ROWS][SPAN], size_t span)
{
	float *first[ROWS], u[ROWS];

#pragma GCC unroll 8
	for (int r = 0; r < ROWS; r++) {
		first[r] = lanes[r].first;
		u[r] = first[r][-1];
	}
	for (size_t k = 0; k < span; k++) {
#pragma GCC unroll 8
		for (int r = 0; r < ROWS; r++) {
			u[r] = (sums[r][k] + u[r]) * 0.25f;
			first[r][k] = u[r];
		}
	}
}

/* Gives a lane `length` columns of a row, at most a span. Sums beyond them are not used. */
ISA_BODY void lane_enter(struct lane *lane, float *at, size_t stride, size_t length, size_t span,
                         float *sums)
{
	lane->length = length;
	lane->target = at;
	lane->first = at;
	sum_three(at, stride, length, sums);
	if (length == span)
		return;
	lane->first = lane->aside + 1;
	lane->aside[0] = at[-1];
	memset(sums + length, 0, (span - length) * sizeof(*sums));
}

/* Gives a lane nothing to do: its results are not used. */
ISA_BODY void lane_rest(struct lane *lane, float *sums)
{
	lane->length = 0;
	lane->first = lane->aside + 1;
	lane->aside[0] = 0;
	memset(sums, 0, SPAN * sizeof(*sums));
}

ISA_BODY void lane_leave(const struct lane *lane, size_t span)
{
	if (lane->length && lane->length < span)
		memcpy(lane->target, lane->aside + 1, lane->length * sizeof(float));
}

/* Prefetches the beginning of a row. Processors prefetch the rest themselves. */
ISA_BODY void fetch(const float *at, size_t span)
{
	for (size_t k = 0; k < span; k += LINE)
		__builtin_prefetch(at + k, 0, 2);
}

/* Rows of n columns. A row must not begin before the one above it has left its first span,
 * so there are ROWS spans of a row or more. */
ISA_BODY void rows_body(float *u, size_t stride, size_t rows, size_t n)
{
	size_t span = n > SPAN * (ROWS - 1) ? SPAN : n / ROWS, spans = (n + span - 1) / span;
	size_t steps = (rows - 1) / ROWS * spans + (rows - 1) % ROWS + spans;
	float sums[ROWS][SPAN];
	struct lane lanes[ROWS];

	for (size_t step = 0; step < steps; step++) {
		for (size_t r = 0; r < ROWS; r++) {
			size_t row = step < r ? rows : (step - r) / spans * ROWS + r;
			size_t begin = step < r ? 0 : (step - r) % spans * span;

			if (begin < BEGINNING && row + ROWS < rows)
				fetch(u + (row + ROWS + 1) * stride + begin, span);
			if (row < rows)
				lane_enter(&lanes[r], u + row * stride + begin, stride,
				           n - begin < span ? n - begin : span, span, sums[r]);
			else
				lane_rest(&lanes[r], sums[r]);
		}
		run_lanes(lanes, sums, span);
		for (size_t r = 0; r < ROWS; r++)
			lane_leave(&lanes[r], span);
	}
}

ISA_BODY void narrow_body(float *u, size_t stride, size_t rows, size_t n)
{
	for (size_t row = 0; row < rows; row++, u += stride)
		for (size_t k = 0; k < n; k++)
			u[k] = (((u + k)[-(ptrdiff_t)stride] + u[k + stride]) + u[k + 1] +
			        u[(ptrdiff_t)k - 1]) *
			       0.25f;
}

ISA_BODY void tile_body(const struct heat2d_tile *tile, float *u)
{
	struct heat2d_inner inner = heat2d_inner(tile);

	if (inner.left == inner.right || inner.top == inner.bottom)
		return;
	if (inner.right - inner.left < ROWS)
		narrow_body(u + inner.top * tile->stride + inner.left, tile->stride,
		            inner.bottom - inner.top, inner.right - inner.left);
	else
		rows_body(u + inner.top * tile->stride + inner.left, tile->stride,
		          inner.bottom - inner.top, inner.right - inner.left);
}

ISA_VARIANTS(tile, (const struct heat2d_tile *tile, float *u), (tile, u));

void heat2d_cpu(enum codelet_isa isa, const struct heat2d_tile *tile, float *u)
{
	tile_variants[isa](tile, u);
}
