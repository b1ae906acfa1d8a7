/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Several sums a row: one would wait for its own addition, product by product. Instructions that
 * gather numbers do not pay: on an EPYC with AVX-512 those of AVX2 took twice as long as single
 * loads, those of AVX-512 a tenth less. So there is one version for all instruction sets.
 */
#include "config.h"

#include "codelets/spmv/spmv.h"

#define SUMS 8

/* The function for a type of number. */
#define MULTIPLY(name, type)                                                                       \
	static void name(const struct spmv_rows *rows)                                             \
	{                                                                                          \
		const type *restrict x = rows->x, *restrict values = rows->values;                 \
		const int32_t *restrict columns = rows->columns;                                   \
		const uint32_t *restrict starts = rows->starts;                                    \
		type *restrict y = rows->y;                                                        \
                                                                                                   \
		for (size_t i = 0, e = 0; i < rows->n; i++) {                                      \
			size_t end = starts[i + 1] - starts[0];                                    \
			type sums[SUMS] = {0}, sum = 0;                                            \
                                                                                                   \
			for (; e + SUMS <= end; e += SUMS)                                         \
				for (int s = 0; s < SUMS; s++)                                     \
					sums[s] += values[e + s] * x[columns[e + s]];              \
			for (; e < end; e++)                                                       \
				sum += values[e] * x[columns[e]];                                  \
			for (int s = 0; s < SUMS; s++)                                             \
				sum += sums[s];                                                    \
			y[i] = sum;                                                                \
		}                                                                                  \
	}

MULTIPLY(multiply_float, float)
MULTIPLY(multiply_double, double)

void spmv_cpu(const struct spmv_rows *rows)
{
	if (rows->wide)
		multiply_double(rows);
	else
		multiply_float(rows);
}
