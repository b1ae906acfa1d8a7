/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Random heart tissue, and what the reference makes of it, for the tests of codelets.
 */
#ifndef TESTS_UNIT_CELLS_H
#define TESTS_UNIT_CELLS_H

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "codelets/heart/heart.h"
#include "tests/unit/test.h"

struct cells {
	struct heart_problem problem;
	size_t width, height;
	float *u, *w, *conductivity, *u_out, *w_out;
};

static inline float *cells_numbers(size_t n, float least, float most)
{
	float *numbers = malloc(n * sizeof(*numbers));

	assert_non_null(numbers);
	for (size_t i = 0; i < n; i++)
		numbers[i] = least + (most - least) * (rand() / (float)RAND_MAX);
	return numbers;
}

static inline struct cells cells_make(int round)
{
	struct cells cells = {
	    .problem = {.model = round % 2 ? HEART_ALIEV_PANFILOV : HEART_MITCHELL_SCHAEFFER,
	                .steps = 1 + rand() % 6,
	                .substeps = 1 + rand() % 3,
	                .dt = 0.05f,
	                .coupling = 0.2f},
	    .width = 1 + rand() % 70,
	    .height = 1 + rand() % 50};
	size_t n = cells.width * cells.height;

	cells.u = cells_numbers(n, 0, 1);
	cells.w = cells_numbers(n, 0, 1);
	cells.conductivity = cells_numbers(n, 0, 1);
	cells.u_out = cells_numbers(n, 9, 9);
	cells.w_out = cells_numbers(n, 9, 9);
	return cells;
}

/* The rows first … first+n-1 as a band, with the halo that a loop gives it. */
static inline struct heart_band cells_band(const struct cells *cells, size_t first, size_t n,
                                           struct heart_state *state)
{
	size_t steps = cells->problem.steps, above = first < steps ? first : steps;
	size_t left = cells->height - first - n, below = left < steps ? left : steps;

	*state = (struct heart_state){.u = cells->u + (first - above) * cells->width,
	                              .w = cells->w + (first - above) * cells->width,
	                              .conductivity =
	                                  cells->conductivity + (first - above) * cells->width,
	                              .u_out = cells->u_out + first * cells->width,
	                              .w_out = cells->w_out + first * cells->width};
	return (struct heart_band){.problem = cells->problem,
	                           .width = cells->width,
	                           .rows = n,
	                           .above = above,
	                           .input_rows = above + n + below,
	                           .u_stride = cells->width,
	                           .w_stride = cells->width,
	                           .conductivity_stride = cells->width,
	                           .u_out_stride = cells->width,
	                           .w_out_stride = cells->width};
}

/* The largest difference to the reference. One cell may have a potential so near the gate of
 * Mitchell and Schaeffer that rounding decides between growth and decay of w: by 1/120 + 1/150. */
static inline double cells_error(const struct cells *cells)
{
	size_t n = cells->width * cells->height, at_gate = 0;
	double *from = malloc(2 * n * sizeof(*from)), *to = malloc(2 * n * sizeof(*to)), *turn;
	double gate = cells->problem.model == HEART_MITCHELL_SCHAEFFER ? cells->problem.dt / 66 : 0;
	double worst = 0, du, dw;

	assert_true(from && to);
	for (size_t i = 0; i < n; i++) {
		from[i] = cells->u[i];
		from[n + i] = cells->w[i];
	}
	for (unsigned s = 0; s < cells->problem.steps; s++) {
		heart_reference(&cells->problem, cells->width, cells->height, cells->conductivity,
		                from, from + n, to, to + n);
		turn = from;
		from = to;
		to = turn;
	}
	for (size_t i = 0; i < n; i++) {
		du = fabs(cells->u_out[i] - from[i]);
		dw = fabs(cells->w_out[i] - from[n + i]);
		if (dw > HEART_TOLERANCE / 10 && dw <= gate && !at_gate++)
			dw = 0;
		worst = fmax(worst, fmax(du, dw));
	}
	free(from);
	free(to);
	return worst;
}

static inline void cells_free(struct cells *cells)
{
	free(cells->u);
	free(cells->w);
	free(cells->conductivity);
	free(cells->u_out);
	free(cells->w_out);
}

#endif
