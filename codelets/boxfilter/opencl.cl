/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Two passes, as in the CUDA version: sums of columns over the window's rows, then
 * sums of those along each row. Each pass has a version for sums of 32 and of 64 bits.
 */

#define MAX_ITEMS 64

/* The number of pixels of a window around `at`, in a line of `length`. */
ulong span(ulong at, ulong radius, ulong length)
{
	ulong from = at < radius ? 0 : at - radius;
	ulong to = length - at <= radius ? length : at + radius + 1;

	return to - from;
}

/* A work-item computes `strip` rows of one column. */
#define SUM_COLUMNS(name, sum_t)                                                                   \
	__kernel void name(ulong radius, ulong n, ulong above, ulong input_rows, ulong first,      \
			   ulong rows, ulong strip, __global const uchar *in, ulong in_offset,     \
			   ulong in_stride, __global sum_t *sums)                                  \
	{                                                                                          \
		ulong i = get_global_id(0), begin = get_global_id(1) * strip;                      \
		ulong end = min(begin + strip, rows);                                              \
		ulong centre = above + first + begin;                                              \
		ulong from = centre < radius ? 0 : centre - radius;                                \
		sum_t sum = 0;                                                                     \
                                                                                                   \
		if (i >= n || begin >= rows)                                                       \
			return;                                                                    \
		in += in_offset + i;                                                               \
		for (ulong k = span(centre, radius, input_rows); k > 0; k--)                       \
			sum += in[(from + k - 1) * in_stride];                                     \
		for (ulong y = begin; y < end; y++, centre++) {                                    \
			sums[y * n + i] = sum;                                                     \
			if (radius < input_rows && centre + 1 + radius < input_rows)               \
				sum += in[(centre + 1 + radius) * in_stride];                      \
			if (centre >= radius)                                                      \
				sum -= in[(centre - radius) * in_stride];                          \
		}                                                                                  \
	}

/* A work-group takes a row. Each item sums a part of it, adds the totals of the parts before, and
 * writes prefix sums in place; then all items divide. */
#define FILTER_ROWS(name, sum_t)                                                                   \
	__kernel void name(ulong radius, ulong width, uint channels, ulong above,                  \
			   ulong input_rows, ulong first, __global sum_t *sums,                    \
			   __global uchar *out, ulong out_offset, ulong out_stride)                \
	{                                                                                          \
		__local sum_t totals[MAX_ITEMS];                                                   \
		uint self = get_local_id(0), items = get_local_size(0);                            \
		ulong y = get_group_id(0), n = width * channels;                                   \
		ulong piece = (width + items - 1) / items;                                         \
		ulong begin = min(self * piece, width), end = min(begin + piece, width);           \
		ulong rows = span(above + first + y, radius, input_rows);                          \
                                                                                                   \
		sums += y * n;                                                                     \
		out += out_offset + (first + y) * out_stride;                                      \
		for (uint c = 0; c < channels; c++) {                                              \
			sum_t sum = 0;                                                             \
                                                                                                   \
			for (ulong x = begin; x < end; x++)                                        \
				sum += sums[x * channels + c];                                     \
			totals[self] = sum;                                                        \
			barrier(CLK_LOCAL_MEM_FENCE);                                              \
			sum = 0;                                                                   \
			for (uint other = 0; other < self; other++)                                \
				sum += totals[other];                                              \
			for (ulong x = begin; x < end; x++) {                                      \
				sum += sums[x * channels + c];                                     \
				sums[x * channels + c] = sum;                                      \
			}                                                                          \
			barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);                       \
		}                                                                                  \
		for (ulong i = self; i < n; i += items) {                                          \
			ulong x = i / channels, c = i % channels;                                  \
			ulong left = x < radius ? 0 : x - radius;                                  \
			ulong columns = span(x, radius, width);                                    \
			sum_t count = rows * columns;                                              \
			sum_t sum = sums[(left + columns - 1) * channels + c];                     \
                                                                                                   \
			if (left > 0)                                                              \
				sum -= sums[(left - 1) * channels + c];                            \
			out[i] = (sum + count / 2) / count;                                        \
		}                                                                                  \
	}

SUM_COLUMNS(sum_columns_narrow, uint)
SUM_COLUMNS(sum_columns_wide, ulong)
FILTER_ROWS(filter_rows_narrow, uint)
FILTER_ROWS(filter_rows_wide, ulong)
