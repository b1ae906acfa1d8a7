/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Several neighbours at a time, each lane with a sum of its own.
 */
#include "config.h"

#include <math.h>

#include "codelets/nbody/nbody.h"

#define LANES 16

struct sums {
	float x[LANES], y[LANES], z[LANES];
};

/* Adds what `some` bodies do, from j on. */
ISA_BODY void lanes_add(const struct nbody_problem *problem, const float *bodies, size_t j,
                        size_t some, const float at[3], struct sums *sums)
{
	const float *x = bodies + j, *y = x + problem->n, *z = y + problem->n,
	            *mass = z + problem->n;

	for (size_t l = 0; l < some; l++) {
		float dx = x[l] - at[0], dy = y[l] - at[1], dz = z[l] - at[2];
		float r2 = dx * dx + dy * dy + dz * dz, soft = r2 + problem->softening2;
		float s = 1 - r2 * problem->inverse_cutoff2, w;

		s = s > 0 ? s : 0;
		w = mass[l] * s * s / (soft * sqrtf(soft));
		sums->x[l] += w * dx;
		sums->y[l] += w * dy;
		sums->z[l] += w * dz;
	}
}

ISA_BODY void run_add(const struct nbody_problem *problem, const float *bodies, size_t begin,
                      size_t end, const float at[3], struct sums *sums)
{
	size_t j = begin;

	for (; j + LANES <= end; j += LANES)
		lanes_add(problem, bodies, j, LANES, at, sums);
	if (j < end)
		lanes_add(problem, bodies, j, end - j, at, sums);
}

ISA_BODY void body_compute(const struct nbody_problem *problem, size_t i, const float *bodies,
                           const uint32_t *starts, float *acceleration)
{
	const float at[3] = {bodies[i], bodies[problem->n + i], bodies[2 * problem->n + i]};
	uint32_t x = nbody_cell(problem, 0, at[0]), y = nbody_cell(problem, 1, at[1]);
	uint32_t z = nbody_cell(problem, 2, at[2]);
	struct sums sums = {{0}, {0}, {0}};

	for (uint32_t k = z ? z - 1 : 0; k <= z + 1 && k < problem->cells[2]; k++)
		for (uint32_t j = y ? y - 1 : 0; j <= y + 1 && j < problem->cells[1]; j++) {
			uint32_t begin, end;

			nbody_run(problem, starts, x, j, k, &begin, &end);
			run_add(problem, bodies, begin, end, at, &sums);
		}
	acceleration[0] = acceleration[1] = acceleration[2] = 0;
	for (int l = 0; l < LANES; l++) {
		acceleration[0] += sums.x[l];
		acceleration[1] += sums.y[l];
		acceleration[2] += sums.z[l];
	}
}

ISA_BODY void bodies_body(const struct nbody_problem *problem, size_t first, size_t n,
                          const float *bodies, const uint32_t *starts, float *accelerations)
{
	for (size_t i = 0; i < n; i++)
		body_compute(problem, first + i, bodies, starts, accelerations + 3 * i);
}

ISA_VARIANTS(bodies,
             (const struct nbody_problem *problem, size_t first, size_t n, const float *bodies,
              const uint32_t *starts, float *accelerations),
             (problem, first, n, bodies, starts, accelerations));

void nbody_cpu(enum codelet_isa isa, const struct nbody_problem *problem, size_t first, size_t n,
               const float *bodies, const uint32_t *starts, float *accelerations)
{
	bodies_variants[isa](problem, first, n, bodies, starts, accelerations);
}
