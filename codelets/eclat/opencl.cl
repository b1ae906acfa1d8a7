/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A work-group has a row and some members, as in cuda.cu. Offsets are in bytes. Barriers in loops,
 * and values that live across them, PoCL 6 compiles wrong now and then.
 */
#define GROUP 64
#define MEMBERS 16
/* Of each item, that a lane looks at together. Behind the last one it reads that one again. */
#define WORDS 8
#define WORD(k) min(first + (k) * GROUP, words - 1)

__kernel void count_pairs(ulong words, uint prefix, uint members, __global const ulong *bits,
			  ulong bits_offset, __global const int *items, ulong items_offset,
			  __global uint *counts, ulong counts_offset)
{
	__local uint parts[MEMBERS][GROUP];
	uint lane = get_local_id(0), row = get_group_id(0), from = get_group_id(1) * MEMBERS;
	uint sums[MEMBERS];

	bits += bits_offset / sizeof(ulong);
	items += items_offset / sizeof(int);
	counts += counts_offset / sizeof(uint) + (ulong)row * members;
	for (uint e = 0; e < MEMBERS; e++)
		sums[e] = 0;
	for (ulong first = lane; first < words; first += GROUP * WORDS) {
		ulong common[WORDS];

		for (uint k = 0; k < WORDS; k++) {
			common[k] = first + k * GROUP < words
			                ? bits[items[prefix + row] * words + WORD(k)]
			                : 0;
			for (uint p = 0; p < prefix; p++)
				common[k] &= bits[items[p] * words + WORD(k)];
		}
		for (uint e = 0; e < MEMBERS; e++) {
			uint m = from + e;

			if (m <= row || m >= members)
				continue;
			for (uint k = 0; k < WORDS; k++)
				sums[e] += popcount(common[k] &
						    bits[items[prefix + m] * words + WORD(k)]);
		}
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
