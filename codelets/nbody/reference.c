/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * All bodies, one after the other, in double precision.
 */
#include "config.h"

#include <float.h>
#include <math.h>

#include "codelets/nbody/nbody.h"

/* Rounding errors of one body's part, before it is added to the sum: of the truncation they count
 * as if there were none, since near the cut-off it is a small difference. */
#define OF_EACH 32

/* A sum, and the sums of what the errors of its parts can be. */
struct sum {
	double x, y, z, magnitude;
	size_t parts;
};

static void part_add(const struct nbody_problem *problem, const float *bodies, size_t i, size_t j,
                     struct sum *sum)
{
	const float *x = bodies, *y = x + problem->n, *z = y + problem->n, *mass = z + problem->n;
	double dx = (double)x[j] - x[i], dy = (double)y[j] - y[i], dz = (double)z[j] - z[i];
	double r2 = dx * dx + dy * dy + dz * dz, soft = r2 + problem->softening2;
	double s = 1 - r2 * problem->inverse_cutoff2, w = mass[j] / (soft * sqrt(soft));

	if (s <= -OF_EACH * FLT_EPSILON)
		return;
	s = s > 0 ? s : 0;
	sum->magnitude += fabs(w) * sqrt(r2);
	sum->parts++;
	sum->x += w * s * s * dx;
	sum->y += w * s * s * dy;
	sum->z += w * s * s * dz;
}

double nbody_error(const struct nbody_problem *problem, size_t body, const float *bodies,
                   const float acceleration[3])
{
	struct sum sum = {0};
	double error, explained;

	for (size_t j = 0; j < problem->n; j++)
		part_add(problem, bodies, body, j, &sum);
	error = fmax(fabs(acceleration[0] - sum.x), fabs(acceleration[1] - sum.y));
	error = fmax(error, fabs(acceleration[2] - sum.z));
	if (isnan(acceleration[0] + acceleration[1] + acceleration[2]))
		return INFINITY;
	explained = FLT_EPSILON / 2 * (sum.parts + OF_EACH) * sum.magnitude;
	return error > 0 ? error / explained : 0;
}
