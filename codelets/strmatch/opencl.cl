/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * As in the CUDA version, with a work-group for a square and a row for a
 * work-item: rows pass their values on through local memory, which two steps use in turn.
 */

#define SIDE 64
#define LETTERS 32

struct row {
	int h, e, corner, best;
	uint best_at;
};

__kernel void compute_squares(ulong nrows, ulong ncolumns, uint first_column, int least, int open,
			      int extend, uint diagonal, uint first,
			      __global const char *scores, __global const uchar *query,
			      ulong query_offset, __global const uchar *subject,
			      ulong subject_offset, __global struct row *rows, ulong rows_offset,
			      __global int2 *edge, ulong edge_offset)
{
	/* H and F of each row; place 0 is the row above the square. */
	__local int2 line[2][SIDE + 1];
	uint self = get_local_id(0), down = first + get_group_id(0);
	ulong row = (ulong)down * SIDE + self, column = (ulong)(diagonal - down) * SIDE;
	int columns = min((ulong)SIDE, ncolumns - column);
	int height = min((ulong)SIDE, nrows - (ulong)down * SIDE);
	bool there = row < nrows;
	struct row own = {0, 0, 0, 0, 0};
	int corner = 0;

	query += query_offset;
	subject += subject_offset + column;
	rows = (__global struct row *)((__global char *)rows + rows_offset);
	edge = (__global int2 *)((__global char *)edge + edge_offset) + column;
	if (there) {
		own = rows[row];
		corner = own.corner;
		scores += query[row] * LETTERS;
	}
	for (int step = 0; step < columns + height - 1; step++) {
		int j = step - (int)self;
		bool works = there && j >= 0 && j < columns;
		int2 up = 0;

		if (self == 0 && j < columns)
			line[step & 1][0] = edge[j];
		barrier(CLK_LOCAL_MEM_FENCE);
		if (works) {
			up = self == 0 ? line[step & 1][0] : line[(step + 1) & 1][self];
			own.e = max(own.e - extend, own.h - open);
			up.y = max(up.y - extend, up.x - open);
			int h = max(max(least, corner + scores[subject[j]]), max(own.e, up.y));

			corner = up.x;
			own.h = h;
			if (h > own.best) {
				own.best = h;
				own.best_at = first_column + (uint)(column + j);
			}
			line[step & 1][self + 1] = (int2)(h, up.y);
			if (self == (uint)height - 1)
				edge[j] = (int2)(h, up.y);
		}
		barrier(CLK_LOCAL_MEM_FENCE);
	}
	if (there) {
		own.corner = corner;
		rows[row] = own;
	}
}
