/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Several sums a row: one would wait for its own addition, product by product.
 */
#include "config.h"

#include "codelets/spmv/spmv.h"

#define SUMS 8

/* The body for a type of number. */
#define MULTIPLY(name, type)                                                                       \
	ISA_BODY void name##_body(const struct spmv_rows *rows)                                    \
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
	}                                                                                          \
	ISA_VARIANTS(name, (const struct spmv_rows *rows), (rows))

MULTIPLY(multiply_float, float);
MULTIPLY(multiply_double, double);

void spmv_cpu_isa(enum codelet_isa isa, const struct spmv_rows *rows)
{
	if (rows->wide)
		multiply_double_variants[isa](rows);
	else
		multiply_float_variants[isa](rows);
}

void spmv_cpu(const struct spmv_rows *rows)
{
	spmv_cpu_isa(codelet_isa_best(), rows);
}
