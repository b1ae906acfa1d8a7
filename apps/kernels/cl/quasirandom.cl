/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Sobol's quasi-random numbers (USSR Computational Mathematics and Mathematical Physics 7,
 * 1967), a group for each dimension.
 */

#define BITS 32

__kernel void quasi_random(__global float *out, __global const uint *directions, int vectors)
{
	__local uint mine[BITS];
	int item = get_local_id(0), dimension = get_group_id(0);

	if (item < BITS)
		mine[item] = directions[dimension * BITS + item];
	barrier(CLK_LOCAL_MEM_FENCE);
	for (int i = item; i < vectors; i += get_local_size(0)) {
		uint bits = 0;

		for (int k = 0; k < BITS; k++)
			bits ^= i >> k & 1 ? mine[k] : 0;
		out[dimension * vectors + i] = bits * 0x1p-32f;
	}
}
