/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Four sums for each group, of two vectors of four numbers an item; the host adds them up.
 */

__kernel void reduction(__global const uint4 *in, __global uint4 *out, __local uint4 *sums)
{
	int item = get_local_id(0), at = get_group_id(0) * get_local_size(0) * 2 + item;

	sums[item] = in[at] + in[at + get_local_size(0)];
	for (int rest = get_local_size(0) / 2; rest > 0; rest /= 2) {
		barrier(CLK_LOCAL_MEM_FENCE);
		if (item < rest)
			sums[item] += sums[item + rest];
	}
	if (item == 0)
		out[get_group_id(0)] = sums[0];
}
