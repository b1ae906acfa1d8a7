/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Every work-group counts in a table of local memory and adds it to the counters
 * once. 64-bit atomics are optional in OpenCL: a counter is two words, the lower
 * one first. The work-item whose addition wraps the lower one adds the carry to the upper one.
 */

#define BINS 256

static void add_to_counter(volatile __global uint *counter, uint value)
{
	uint before = atomic_add(&counter[0], value);

	if (before + value < before)
		atomic_inc(&counter[1]);
}

__kernel void histogram(ulong n, __global const uchar *bytes, ulong bytes_offset,
			__global uint *counters, ulong counters_offset)
{
	__local uint table[BINS];
	uint self = get_local_id(0), width = get_local_size(0);

	bytes += bytes_offset;
	counters += counters_offset / sizeof(uint);
	for (uint b = self; b < BINS; b += width)
		table[b] = 0;
	barrier(CLK_LOCAL_MEM_FENCE);
	for (ulong i = get_global_id(0); i < n; i += get_global_size(0))
		atomic_inc(&table[bytes[i]]);
	barrier(CLK_LOCAL_MEM_FENCE);
	for (uint b = self; b < BINS; b += width)
		if (table[b])
			add_to_counter(&counters[2 * b], table[b]);
}
