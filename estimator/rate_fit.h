/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Least-squares fits of what was measured of blocks: a straight line, and the
 * logarithmic curve of HDSS 3.2, rate = a ln(size) + b, which is a line over the
 * logarithm of the size. Points are summed up, not stored; a structure of zeros
 * has none.
 */
#ifndef HEDDLE_ESTIMATOR_RATE_FIT_H
#define HEDDLE_ESTIMATOR_RATE_FIT_H

/** Sums of the points of a line y = slope x + intercept. */
struct heddle_line {
	double n, x, y, xx, xy;
};

/** Adds a point. */
void heddle_line_add(struct heddle_line *line, double x, double y);

/** Least-squares line through the points.
 * @return 0; -EDOM with fewer than two different x. */
int heddle_line_fit(const struct heddle_line *line, double *slope, double *intercept);

#endif
