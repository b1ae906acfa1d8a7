/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * What a point waits for is the one on its left; the sum of the other three
 * neighbours is made beforehand, by vector instructions, for SPAN columns. Then ROWS rows go
 * through their spans at once, so that their chains of additions and
 * multiplications overlap: each row is one span behind the row above it.
 */
#include "config.h"

#include "codelets/heat2d/heat2d.h"

#define ROWS 8
#define SPAN 32

/* Sums of three neighbours of n points of a row. */
ISA_BODY void sum_three(const float *at, size_t stride, size_t n, float *restrict sums)
{
	const float *above = at - stride, *below = at + stride;

	for (size_t k = 0; k < n; k++)
		sums[k] = (above[k] + below[k]) + at[k + 1];
}

/* Full spans of ROWS rows: first[r] is where row r is. */
ISA_BODY void run_full(float *const *first, float sums[ROWS][SPAN])
{
	float u[ROWS];

#pragma GCC unroll 8
	for (int r = 0; r < ROWS; r++)
		u[r] = first[r][-1];
	for (int k = 0; k < SPAN; k++) {
#pragma GCC unroll 8
		for (int r = 0; r < ROWS; r++) {
			u[r] = (sums[r][k] + u[r]) * 0.25f;
			first[r][k] = u[r];
		}
	}
}

ISA_BODY void run_short(float *first, size_t n, const float *sums)
{
	float u = first[-1];

	for (size_t k = 0; k < n; k++)
		first[k] = u = (sums[k] + u) * 0.25f;
}

/* At most ROWS rows with n columns. */
ISA_BODY void strip(float *u, size_t stride, size_t rows, size_t n)
{
	size_t spans = (n + SPAN - 1) / SPAN;
	float sums[ROWS][SPAN];

	for (size_t step = 0; step < spans + rows - 1; step++) {
		float *first[ROWS];
		size_t full = 0, lengths[ROWS];

		for (size_t r = 0; r < rows; r++) {
			size_t span = step - r, begin = span * SPAN;

			lengths[r] = step < r || span >= spans ? 0
			             : n - begin < SPAN        ? n - begin
			                                       : SPAN;
			first[r] = lengths[r] ? u + r * stride + begin : u;
			full += lengths[r] == SPAN;
			sum_three(first[r], stride, lengths[r], sums[r]);
		}
		if (full == ROWS) {
			run_full(first, sums);
			continue;
		}
		for (size_t r = 0; r < rows; r++)
			if (lengths[r])
				run_short(first[r], lengths[r], sums[r]);
	}
}

ISA_BODY void tile_body(const struct heat2d_tile *tile, float *u)
{
	struct heat2d_inner inner = heat2d_inner(tile);

	if (inner.left == inner.right)
		return;
	for (size_t i = inner.top; i < inner.bottom; i += ROWS)
		strip(u + i * tile->stride + inner.left, tile->stride,
		      inner.bottom - i < ROWS ? inner.bottom - i : ROWS, inner.right - inner.left);
}

ISA_VARIANTS(tile, (const struct heat2d_tile *tile, float *u), (tile, u));

void heat2d_cpu_isa(enum codelet_isa isa, const struct heat2d_tile *tile, float *u)
{
	tile_variants[isa](tile, u);
}

void heat2d_cpu(const struct heat2d_tile *tile, float *u)
{
	heat2d_cpu_isa(codelet_isa_best(), tile, u);
}
