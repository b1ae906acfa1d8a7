/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A row for each work-item. Offsets are in bytes.
 */

#define MULTIPLY(name, number)                                                                     \
	__kernel void name(ulong n, ulong before, __global const uint *starts,                     \
			   ulong starts_offset, __global const int *columns, ulong columns_offset, \
			   __global const number *values, ulong values_offset,                     \
			   __global const number *x, ulong x_offset, __global number *y,           \
			   ulong y_offset)                                                         \
	{                                                                                          \
		ulong i = get_global_id(0);                                                        \
		number sum = 0;                                                                    \
                                                                                                   \
		if (i >= n)                                                                        \
			return;                                                                    \
		starts += starts_offset / sizeof(uint) + before;                                   \
		columns += columns_offset / sizeof(int);                                           \
		values += values_offset / sizeof(number);                                          \
		x += x_offset / sizeof(number);                                                    \
		for (uint e = starts[i] - starts[0]; e < starts[i + 1] - starts[0]; e++)           \
			sum += values[e] * x[columns[e]];                                          \
		y[y_offset / sizeof(number) + i] = sum;                                            \
	}

MULTIPLY(multiply_float, float)
#ifdef cl_khr_fp64
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
MULTIPLY(multiply_double, double)
#endif
