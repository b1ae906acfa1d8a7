/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A work-group has a row and some members, as in cuda.cu. Offsets are in bytes.
 */
#define GROUP 64
#define MEMBERS 16
#define TILE 512

__kernel void count_pairs(ulong words, uint prefix, uint members, __global const ulong *bits,
			  ulong bits_offset, __global const int *items, ulong items_offset,
			  __global uint *counts, ulong counts_offset)
{
	__local ulong common[TILE];
	__local uint parts[MEMBERS][GROUP];
	uint lane = get_local_id(0), row = get_group_id(0), from = get_group_id(1) * MEMBERS;
	uint sums[MEMBERS];

	bits += bits_offset / sizeof(ulong);
	items += items_offset / sizeof(int);
	counts += counts_offset / sizeof(uint) + (ulong)row * members;
	for (uint e = 0; e < MEMBERS; e++)
		sums[e] = 0;
	for (ulong first = 0; first < words; first += TILE) {
		uint n = words - first < TILE ? words - first : TILE;

		for (uint w = lane; w < n; w += GROUP) {
			ulong word = bits[items[prefix + row] * words + first + w];

			for (uint p = 0; p < prefix; p++)
				word &= bits[items[p] * words + first + w];
			common[w] = word;
		}
		barrier(CLK_LOCAL_MEM_FENCE);
		for (uint e = 0; e < MEMBERS; e++) {
			uint m = from + e;

			if (m <= row || m >= members)
				continue;
			for (uint w = lane; w < n; w += GROUP)
				sums[e] += popcount(common[w] &
						    bits[items[prefix + m] * words + first + w]);
		}
		barrier(CLK_LOCAL_MEM_FENCE);
	}
	for (uint e = 0; e < MEMBERS; e++)
		parts[e][lane] = sums[e];
	barrier(CLK_LOCAL_MEM_FENCE);
	if (lane < MEMBERS && from + lane < members) {
		uint sum = 0;

		for (uint l = 0; l < GROUP; l++)
			sum += parts[lane][l];
		counts[from + lane] = sum;
	}
}
