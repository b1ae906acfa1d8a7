/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "config.h"

#include <math.h>

#include "codelets/heart/heart.h"

static void react(enum heart_model model, double u, double w, double *du, double *dw)
{
	if (model == HEART_ALIEV_PANFILOV) {
		double k = 8, a = 0.15, e0 = 0.002, mu1 = 0.2, mu2 = 0.3;
		double e = e0 + mu1 * w / (u + mu2);

		*du = -k * u * (u - a) * (u - 1) - u * w;
		*dw = e * (-w - k * u * (u - a - 1));
	} else {
		double in = 0.3, out = 6, open = 120, close = 150, gate = 0.13;

		*du = w * u * u * (1 - u) / in - u / out;
		*dw = u < gate ? (1 - w) / open : -w / close;
	}
}

/* What flows from cell j to cell i. */
static double flow(const float *conductivity, const double *u, size_t i, size_t j)
{
	return fmin(conductivity[i], conductivity[j]) * (u[j] - u[i]);
}

void heart_reference(const struct heart_problem *problem, size_t width, size_t height,
                     const float *conductivity, const double *u, const double *w, double *u_out,
                     double *w_out)
{
	double dt = problem->dt / (double)problem->substeps;

	for (size_t y = 0; y < height; y++)
		for (size_t x = 0; x < width; x++) {
			size_t i = y * width + x;
			double sum = 0, potential, recovery = w[i], du, dw;

			sum += y ? flow(conductivity, u, i, i - width) : 0;
			sum += y + 1 < height ? flow(conductivity, u, i, i + width) : 0;
			sum += x ? flow(conductivity, u, i, i - 1) : 0;
			sum += x + 1 < width ? flow(conductivity, u, i, i + 1) : 0;
			potential = u[i] + problem->coupling * sum;
			for (unsigned s = 0; s < problem->substeps; s++) {
				react(problem->model, potential, recovery, &du, &dw);
				potential += dt * du;
				recovery += dt * dw;
			}
			u_out[i] = potential;
			w_out[i] = recovery;
		}
}
