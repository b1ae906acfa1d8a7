/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * As in the CUDA version, with a work-group for a block of rows: rows pass their
 * errors on through local memory, which two steps use in turn.
 */

#define ROWS 32
#define COLUMNS 64

struct row {
	short left, before, corner;
};

__kernel void compute_blocks(ulong width, uint channels, int top, int factor, int bias, ulong nrows,
			     long tile_column, ulong ncolumns, uint diagonal, uint first_down,
			     __global const uchar *in, ulong in_offset, ulong in_stride,
			     __global uchar *out, ulong out_offset, ulong out_stride,
			     __global struct row *rows, ulong rows_offset, __global short *edge,
			     ulong edge_offset)
{
	/* Place 0 is the row above. */
	__local int line[2][ROWS + 1];
	uint self = get_local_id(0), down = first_down + get_group_id(0), c = get_group_id(1);
	ulong row = (ulong)down * ROWS + self, across = (ulong)(diagonal - down) * COLUMNS;
	long first = tile_column + (long)across - (long)row, size = width;
	int columns = min((ulong)COLUMNS, ncolumns - across);
	int height = min((ulong)ROWS, nrows - (ulong)down * ROWS);
	struct row state = {0, 0, 0};
	int e, before, corner, up1 = 0, up2 = 0;

	in += in_offset + row * in_stride + c;
	out += out_offset + row * out_stride + c;
	rows = (__global struct row *)((__global char *)rows + rows_offset) + row * channels + c;
	edge = (__global short *)((__global char *)edge + edge_offset) + c;
	if (row < nrows)
		state = *rows;
	e = before = corner = state.before;
	if (self == 0)
		up1 = corner = state.corner;
	line[0][self + 1] = e;
	/* In the first step, the first row takes the error left of the block. */
	for (int step = -1; step < columns + height - 1; step++) {
		int position = step - (int)self, up;
		long column = first + position;

		barrier(CLK_LOCAL_MEM_FENCE);
		if (self)
			up = line[(step + 1) & 1][self];
		else
			up = column + 1 < 0 || column + 1 >= size ? 0 : edge[(column + 1) * channels];
		if (position == -1)
			e = state.left;
		if (position >= 0 && position < columns && row < nrows) {
			before = e;
			corner = up1;
			e = 0;
			if (column >= 0 && column < size) {
				int sum = 7 * before + up2 + 5 * up1 + 3 * up;
				int v = in[column * channels] + ((sum + 8) >> 4);
				int q = clamp(v, 0, 255) * top + 128;

				q = (q + (q >> 8)) >> 8;
				q = (q * factor + bias) >> 8;
				out[column * channels] = q;
				e = v - q;
				if (self == (uint)height - 1)
					edge[column * channels] = e;
			}
		}
		up2 = up1;
		up1 = up;
		line[step & 1][self + 1] = e;
	}
	if (row < nrows) {
		state.left = e;
		state.before = before;
		state.corner = corner;
		*rows = state;
	}
}
