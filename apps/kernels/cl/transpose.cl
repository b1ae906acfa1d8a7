/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Transposes a square matrix by tiles of 32 x 32 in local memory, so that both sides are
 * touched row by row; 32 x 8 items, four elements each.
 */

#define TILE 32
#define ROWS 8

__kernel void matrix_transpose(__global const float *in, __global float *out, int n)
{
	__local float tile[TILE][TILE + 1];
	int lx = get_local_id(0), ly = get_local_id(1);
	int left = get_group_id(0) * TILE, top = get_group_id(1) * TILE;

	for (int i = 0; i < TILE; i += ROWS)
		tile[ly + i][lx] = in[(top + ly + i) * n + left + lx];
	barrier(CLK_LOCAL_MEM_FENCE);
	for (int i = 0; i < TILE; i += ROWS)
		out[(left + ly + i) * n + top + lx] = tile[lx][ly + i];
}
