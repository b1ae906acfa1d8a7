/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "config.h"

#include <float.h>
#include <math.h>

#include "codelets/spmv/spmv.h"

static long double number(const void *numbers, bool wide, size_t i)
{
	return wide ? ((const double *)numbers)[i] : ((const float *)numbers)[i];
}

double spmv_error(const struct spmv_rows *rows)
{
	const long double rounding = (rows->wide ? DBL_EPSILON : FLT_EPSILON) / 2;
	double worst = 0;

	for (size_t i = 0; i < rows->n; i++) {
		size_t begin = rows->starts[i] - rows->starts[0];
		size_t end = rows->starts[i + 1] - rows->starts[0];
		long double sum = 0, magnitude = 0, error;

		for (size_t e = begin; e < end; e++) {
			long double product = number(rows->values, rows->wide, e) *
			                      number(rows->x, rows->wide, rows->columns[e]);

			sum += product;
			magnitude += fabsl(product);
		}
		error = fabsl(number(rows->y, rows->wide, i) - sum);
		if (error > 0)
			error /= rounding * magnitude * (end - begin + 1);
		if (isnan(error))
			return INFINITY;
		worst = error > worst ? error : worst;
	}
	return worst;
}
