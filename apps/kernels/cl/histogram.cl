/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Histograms of bytes, one for each group; the host adds them up. Every work-item counts in
 * bins of its own, so that nobody waits for another.
 */

#define BINS 256

__kernel void histogram(__global const uchar *in, __global uint *partial, int each,
                        __local ushort *counts)
{
	int item = get_local_id(0), items = get_local_size(0), group = get_group_id(0);

	for (int i = 0; i < BINS; i++)
		counts[item * BINS + i] = 0;
	for (int i = 0; i < each; i++)
		counts[item * BINS + in[(group * each + i) * items + item]]++;
	barrier(CLK_LOCAL_MEM_FENCE);
	for (int bin = item; bin < BINS; bin += items) {
		uint sum = 0;

		for (int i = 0; i < items; i++)
			sum += counts[i * BINS + bin];
		partial[group * BINS + bin] = sum;
	}
}
