/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Exclusive prefix sums of blocks, up and down a tree in local memory (G. E. Blelloch, "Prefix
 * Sums and Their Applications", 1990), and the sum of each block, with which a large array
 * goes on.
 */

__kernel void scan_blocks(__global const float *in, __global float *out, __global float *totals,
                          __local float *tree)
{
	int item = get_local_id(0), items = get_local_size(0), step = 1;
	int block = get_group_id(0) * 2 * items;

	tree[item] = in[block + item];
	tree[item + items] = in[block + item + items];
	for (int pairs = items; pairs > 0; pairs /= 2) {
		barrier(CLK_LOCAL_MEM_FENCE);
		if (item < pairs)
			tree[step * (2 * item + 2) - 1] += tree[step * (2 * item + 1) - 1];
		step *= 2;
	}
	if (item == 0) {
		totals[get_group_id(0)] = tree[2 * items - 1];
		tree[2 * items - 1] = 0;
	}
	for (int pairs = 1; pairs <= items; pairs *= 2) {
		step /= 2;
		barrier(CLK_LOCAL_MEM_FENCE);
		if (item < pairs) {
			float left = tree[step * (2 * item + 1) - 1];

			tree[step * (2 * item + 1) - 1] = tree[step * (2 * item + 2) - 1];
			tree[step * (2 * item + 2) - 1] += left;
		}
	}
	barrier(CLK_LOCAL_MEM_FENCE);
	out[block + item] = tree[item];
	out[block + item + items] = tree[item + items];
}
