/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * As in the CUDA version, with a work-group for a block of rows. A row reads its neighbours from
 * memory.
 */

#define ROWS 32
#define COLUMNS 64

__kernel void compute_blocks(ulong top, ulong bottom, ulong left_column, ulong right_column,
			     ulong stride, uint diagonal, uint first_down, __global float *u,
			     ulong offset)
{
	uint self = get_local_id(0), down = first_down + get_group_id(0);
	ulong row = top + (ulong)down * ROWS + self;
	ulong column = left_column + (ulong)(diagonal - down) * COLUMNS;
	int columns = min((ulong)COLUMNS, right_column - column);
	int height = min((ulong)ROWS, bottom - (row - self));

	u += offset / sizeof(float) + row * stride + column;
	for (int step = 0; step < columns + height - 1; step++) {
		int j = step - (int)self;

		if (row < bottom && j >= 0 && j < columns) {
			float sum = *(u + j - stride) + u[j + stride];

			sum = sum + u[j + 1];
			sum = sum + u[j - 1];
			u[j] = sum * 0.25f;
		}
		barrier(CLK_GLOBAL_MEM_FENCE);
	}
}
