/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Row by row in vectors: first the diffusion of a row, then its reaction. The last vector overlaps
 * the ones before: cells that are left over and computed by themselves take as long as a vector,
 * and nobody could tell a row's time from its length.
 */
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "codelets/heart/heart.h"

/* Cells that are computed together: whole vectors of any instruction set. */
#define TOGETHER 16

/* Rows of a state, of which the first one is number `first` of the input. */
struct rows {
	const float *u, *w;
	size_t u_stride, w_stride, first;
};

struct rows_out {
	float *u, *w;
	size_t u_stride, w_stride, first;
};

ISA_BODY float least(float a, float b)
{
	return a < b ? a : b;
}

/* What a cell gets from four neighbours. `l` and `r` are the cells beside x. */
ISA_BODY float diffused(float coupling, const float *const u[3], const float *const c[3], size_t l,
                        size_t x, size_t r)
{
	float here = u[1][x], own = c[1][x];
	float sum = least(own, c[0][x]) * (u[0][x] - here) +
	            least(own, c[2][x]) * (u[2][x] - here) +
	            least(own, c[1][l]) * (u[1][l] - here) + least(own, c[1][r]) * (u[1][r] - here);

	return here + coupling * sum;
}

/* Cells x to x+n-1, none of them at a border. */
ISA_BODY void cells_diffuse(float coupling, const float *const u[3], const float *const c[3],
                            size_t x, size_t n, float *restrict out)
{
	for (size_t end = x + n; x < end; x++)
		out[x] = diffused(coupling, u, c, x - 1, x, x + 1);
}

/* Of the row above, the row and the one below; at a border the row itself. */
ISA_BODY void row_diffuse(const struct heart_band *band, const float *const u[3],
                          const float *const c[3], float *restrict out)
{
	size_t last = band->width - 1, inner = last ? last - 1 : 0;
	size_t whole = inner / TOGETHER * TOGETHER;
	float coupling = band->problem.coupling;

	out[0] = diffused(coupling, u, c, 0, 0, last ? 1 : 0);
	cells_diffuse(coupling, u, c, 1, whole ? whole : inner, out);
	if (whole && whole < inner)
		cells_diffuse(coupling, u, c, last - TOGETHER, TOGETHER, out);
	if (last)
		out[last] = diffused(coupling, u, c, last - 1, last, last);
}

ISA_BODY void cells_react(enum heart_model model, float dt, unsigned substeps, size_t n,
                          float *restrict u, float *restrict w)
{
	for (unsigned s = 0; s < substeps; s++)
		for (size_t x = 0; x < n; x++) {
			float du, dw;

			heart_react(model, u[x], w[x], &du, &dw);
			u[x] += dt * du;
			w[x] += dt * dw;
		}
}

ISA_BODY void row_react(enum heart_model model, float dt, unsigned substeps, size_t width, float *u,
                        float *w)
{
	size_t whole = width / TOGETHER * TOGETHER, last = width - TOGETHER;
	float last_u[TOGETHER], last_w[TOGETHER];

	if (whole == width || !whole) {
		cells_react(model, dt, substeps, width, u, w);
		return;
	}
	memcpy(last_u, u + last, sizeof(last_u));
	memcpy(last_w, w + last, sizeof(last_w));
	cells_react(model, dt, substeps, whole, u, w);
	cells_react(model, dt, substeps, TOGETHER, last_u, last_w);
	memcpy(u + last, last_u, sizeof(last_u));
	memcpy(w + last, last_w, sizeof(last_w));
}

/* Input rows i … i+n-1; one of the models, so that it is no question in the loop. */
ISA_BODY void rows_step(const struct heart_band *band, enum heart_model model,
                        const struct rows *from, const float *conductivity,
                        const struct rows_out *to, size_t i, size_t n)
{
	const struct heart_problem *problem = &band->problem;
	float dt = problem->dt / problem->substeps;

	for (size_t end = i + n; i < end; i++) {
		size_t up = i ? i - 1 : 0, down = i + 1 < band->input_rows ? i + 1 : i;
		size_t near[3] = {up, i, down};
		float *out = to->u + (i - to->first) * to->u_stride;
		float *w_out = to->w + (i - to->first) * to->w_stride;
		const float *w = from->w + (i - from->first) * from->w_stride, *u[3], *c[3];

		for (int r = 0; r < 3; r++) {
			u[r] = from->u + (near[r] - from->first) * from->u_stride;
			c[r] = conductivity + near[r] * band->conductivity_stride;
		}
		row_diffuse(band, u, c, out);
		for (size_t x = 0; x < band->width; x++)
			w_out[x] = w[x];
		row_react(model, dt, problem->substeps, band->width, out, w_out);
	}
}

ISA_BODY void step_body(const struct heart_band *band, const struct rows *from,
                        const float *conductivity, const struct rows_out *to, size_t first,
                        size_t n)
{
	if (band->problem.model == HEART_ALIEV_PANFILOV)
		rows_step(band, HEART_ALIEV_PANFILOV, from, conductivity, to, first, n);
	else
		rows_step(band, HEART_MITCHELL_SCHAEFFER, from, conductivity, to, first, n);
}

ISA_VARIANTS(step,
             (const struct heart_band *band, const struct rows *from, const float *conductivity,
              const struct rows_out *to, size_t first, size_t n),
             (band, from, conductivity, to, first, n));

/* Two states between the steps, in turn. */
static struct rows_out between(const struct heart_band *band, float *scratch, unsigned step)
{
	size_t size = band->input_rows * band->width;
	float *place = scratch + (step % 2 ? 0 : 2 * size);

	return (struct rows_out){
	    .u = place, .w = place + size, .u_stride = band->width, .w_stride = band->width};
}

int heart_cpu(enum codelet_isa isa, const struct heart_band *band, const struct heart_state *state)
{
	struct rows from = {
	    .u = state->u, .w = state->w, .u_stride = band->u_stride, .w_stride = band->w_stride};
	unsigned steps = band->problem.steps;
	float *scratch = NULL;

	if (steps > 1) {
		scratch = malloc(4 * band->input_rows * band->width * sizeof(*scratch));
		if (!scratch)
			return -ENOMEM;
	}
	for (unsigned s = 1; s <= steps; s++) {
		struct rows_out to = {.u = state->u_out,
		                      .w = state->w_out,
		                      .u_stride = band->u_out_stride,
		                      .w_stride = band->w_out_stride,
		                      .first = band->above};
		size_t first, n;

		if (s < steps)
			to = between(band, scratch, s);
		heart_rows(band, s, &first, &n);
		step_variants[isa](band, &from, state->conductivity, &to, first, n);
		from = (struct rows){
		    .u = to.u, .w = to.w, .u_stride = to.u_stride, .w_stride = to.w_stride};
	}
	free(scratch);
	return 0;
}
