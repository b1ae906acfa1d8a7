/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Volatile, so that every pass goes to memory.
 */

__kernel void vecinc(ulong n, uint passes, volatile __global uint *values, ulong values_offset)
{
	ulong i = get_global_id(0);

	if (i >= n)
		return;
	values += values_offset / sizeof(uint);
	for (uint p = 0; p < passes; p++)
		values[i] = values[i] + 1;
}
