/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * C = A B for square matrices. A group of 16 x 16 items computes a tile of 32 x 32, of which
 * it keeps the tiles of A and B that it needs at a time in local memory.
 */

#define TILE 32
#define HALF (TILE / 2)

__kernel void matrix_multiply(__global const float *a, __global const float *b, __global float *c,
                              int n)
{
	__local float ta[TILE][TILE], tb[TILE][TILE];
	int lx = get_local_id(0), ly = get_local_id(1);
	int x = get_group_id(0) * TILE + lx, y = get_group_id(1) * TILE + ly;
	float c00 = 0, c01 = 0, c10 = 0, c11 = 0;

	for (int t = 0; t < n; t += TILE) {
		ta[ly][lx] = a[y * n + t + lx];
		ta[ly][lx + HALF] = a[y * n + t + lx + HALF];
		ta[ly + HALF][lx] = a[(y + HALF) * n + t + lx];
		ta[ly + HALF][lx + HALF] = a[(y + HALF) * n + t + lx + HALF];
		tb[ly][lx] = b[(t + ly) * n + x];
		tb[ly][lx + HALF] = b[(t + ly) * n + x + HALF];
		tb[ly + HALF][lx] = b[(t + ly + HALF) * n + x];
		tb[ly + HALF][lx + HALF] = b[(t + ly + HALF) * n + x + HALF];
		barrier(CLK_LOCAL_MEM_FENCE);
		for (int k = 0; k < TILE; k++) {
			c00 += ta[ly][k] * tb[k][lx];
			c01 += ta[ly][k] * tb[k][lx + HALF];
			c10 += ta[ly + HALF][k] * tb[k][lx];
			c11 += ta[ly + HALF][k] * tb[k][lx + HALF];
		}
		barrier(CLK_LOCAL_MEM_FENCE);
	}
	c[y * n + x] = c00;
	c[y * n + x + HALF] = c01;
	c[(y + HALF) * n + x] = c10;
	c[(y + HALF) * n + x + HALF] = c11;
}
