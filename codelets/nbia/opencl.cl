/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Comes after pixel.cl. A work-group counts a part of the tile in local memory and adds it
 * to the tile's counters; a second kernel of one work-group computes the summary.
 */

#define COLUMNS 32
#define ROWS 16
#define WIDTH (COLUMNS + 2)
#define HEIGHT (ROWS + 2)

void count_pixel(__local const ushort *pixels, uint at, bool right, bool left, bool below,
		 bool above, volatile __local uint *counters)
{
	const int to[4] = {1, WIDTH, WIDTH + 1, WIDTH - 1};
	const bool there[4] = {right, below, right && below, left && below};
	const int around[8] = {1, 1 - WIDTH, -WIDTH, -1 - WIDTH, -1, WIDTH - 1, WIDTH, WIDTH + 1};
	uint self = pixels[at], pattern = 0;

	for (int d = 0; d < 4; d++) {
		uint other = there[d] ? pixels[at + to[d]] : 0;

		if (!there[d])
			continue;
		atomic_inc(&counters[(self >> 4 & 15) << 4 | (other >> 4 & 15)]);
		atomic_inc(&counters[NBIA_CELLS + ((self >> 8 & 15) << 4 | (other >> 8 & 15))]);
		atomic_inc(&counters[2 * NBIA_CELLS + (self >> 12 << 4 | other >> 12)]);
	}
	if (!(right && left && below && above))
		return;
	for (int p = 0; p < 8; p++)
		pattern |= ((pixels[at + around[p]] & 0xff) >= (self & 0xff) ? 1u : 0u) << p;
	atomic_inc(&counters[NBIA_FIRST_PATTERN + pattern]);
}

__kernel void count_tile(uint size, ulong stride, __global const uchar *rgb, ulong rgb_offset,
			 __global const uint *table, ulong table_offset, volatile __global uint *total)
{
	__local ushort pixels[WIDTH * HEIGHT];
	__local uint counters[NBIA_COUNTERS];
	uint self = get_local_id(0), items = get_local_size(0);
	uint left = get_group_id(0) * COLUMNS, top = get_group_id(1) * ROWS;

	rgb += rgb_offset;
	table += table_offset / sizeof(uint);
	for (uint i = self; i < NBIA_COUNTERS; i += items)
		counters[i] = 0;
	/* One more on each side, where the tile has it; 0 - 1 is no column of any tile. */
	for (uint i = self; i < WIDTH * HEIGHT; i += items) {
		uint x = left + i % WIDTH - 1, y = top + i / WIDTH - 1;
		__global const uchar *at = rgb + y * stride + 3 * x;

		if (x < size && y < size)
			pixels[i] = nbia_pixel(table, at[0], at[1], at[2]);
	}
	barrier(CLK_LOCAL_MEM_FENCE);
	for (uint i = self; i < COLUMNS * ROWS; i += items) {
		uint column = i % COLUMNS, row = i / COLUMNS, x = left + column, y = top + row;

		if (x < size && y < size)
			count_pixel(pixels, (row + 1) * WIDTH + column + 1, x + 1 < size, x > 0,
				    y + 1 < size, y > 0, counters);
	}
	barrier(CLK_LOCAL_MEM_FENCE);
	for (uint i = self; i < NBIA_COUNTERS; i += items)
		if (counters[i])
			atomic_add(&total[i], counters[i]);
}

/* One work-group of NBIA_CHANNELS * NBIA_LEVELS items: each has a row of a matrix. */
__kernel void summarise(__global const uint *total, __global struct nbia_summary *summary,
			ulong summary_offset)
{
	__local uint counters[NBIA_COUNTERS];
	__local ulong parts[3][NBIA_CHANNELS * NBIA_LEVELS];
	uint self = get_local_id(0), items = get_local_size(0);
	uint c = self / NBIA_LEVELS, i = self % NBIA_LEVELS, marginal;
	ulong squares, entropy, products;

	summary = (__global struct nbia_summary *)((__global uchar *)summary + summary_offset);
	for (uint k = self; k < NBIA_COUNTERS; k += items)
		counters[k] = total[k];
	barrier(CLK_LOCAL_MEM_FENCE);
	nbia_row(counters + c * NBIA_CELLS, i, &squares, &entropy, &products, &marginal);
	parts[0][self] = squares;
	parts[1][self] = entropy;
	parts[2][self] = products;
	summary->channels[c].marginal[i] = marginal;
	summary->channels[c].difference[i] = nbia_difference(counters + c * NBIA_CELLS, i);
	if (self < NBIA_GROUPS) {
		uint patterns = 0;

		for (uint p = 0; p < NBIA_PATTERNS; p++)
			patterns += nbia_group(p) == self ? counters[NBIA_FIRST_PATTERN + p] : 0;
		summary->patterns[self] = patterns;
	}
	barrier(CLK_LOCAL_MEM_FENCE);
	if (i)
		return;
	squares = entropy = products = 0;
	for (uint k = 0; k < NBIA_LEVELS; k++) {
		squares += parts[0][self + k];
		entropy += parts[1][self + k];
		products += parts[2][self + k];
	}
	summary->channels[c].squares = squares;
	summary->channels[c].entropy = entropy;
	summary->channels[c].products = products;
}
