/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "config.h"

#include <errno.h>

#include "estimator/rate_fit.h"

void heddle_line_add(struct heddle_line *line, double x, double y)
{
	line->n++;
	line->x += x;
	line->y += y;
	line->xx += x * x;
	line->xy += x * y;
}

int heddle_line_fit(const struct heddle_line *line, double *slope, double *intercept)
{
	double spread = line->n * line->xx - line->x * line->x;

	/* The spread of equal x is what rounding leaves of zero. */
	if (line->n < 2 || spread <= 1e-12 * line->n * line->xx)
		return -EDOM;
	*slope = (line->n * line->xy - line->x * line->y) / spread;
	*intercept = (line->y - *slope * line->x) / line->n;
	return 0;
}
