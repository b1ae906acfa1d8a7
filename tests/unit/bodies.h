/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Random bodies in their grid, for the tests of codelets.
 */
#ifndef TESTS_UNIT_BODIES_H
#define TESTS_UNIT_BODIES_H

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "apps/nbody/bodies.h"
#include "tests/unit/test.h"

struct bodies {
	struct nbody_problem problem;
	float *bodies, *accelerations;
	uint32_t *starts;
};

static inline struct bodies bodies_shaped(const struct bodies_shape *shape, bool astray)
{
	size_t n = shape->n, cells = bodies_cells(n) + 1;
	uint32_t *places = malloc(n * sizeof(*places) + 1);
	float *scratch = malloc(n * sizeof(*scratch) + 1);
	struct bodies made = {.bodies = malloc(4 * n * sizeof(float) + 1),
	                      .accelerations = malloc(3 * n * sizeof(float) + 1),
	                      .starts = malloc(cells * sizeof(uint32_t))};

	assert_true(places && scratch && made.bodies && made.accelerations && made.starts);
	for (size_t i = 0; i < n; i++) {
		float body[4];

		bodies_random(shape, i, body);
		for (int c = 0; c < 4; c++)
			made.bodies[c * n + i] = body[c];
	}
	bodies_grid(shape, made.bodies, &made.problem);
	for (size_t i = 0; i < n && astray; i += 7)
		made.bodies[i] += 0.2f;
	memset(made.accelerations, 0xff, 3 * n * sizeof(float));
	bodies_sort(&made.problem, places, made.bodies, NULL, 0, scratch, made.starts);
	free(places);
	free(scratch);
	return made;
}

/* Rounds differ by the number of bodies and cells; some bodies lie outside of the grid. */
static inline struct bodies bodies_make(int round)
{
	const struct bodies_shape shape = {.n = rand() % (round % 2 ? 40 : 1500),
	                                   .cutoff = round % 5 ? exp2(-1 - rand() % 6) : 0,
	                                   .softening = 0.01,
	                                   .clusters = 1 + round % 4,
	                                   .seed = rand()};

	return bodies_shaped(&shape, round % 3 == 0);
}

/* Of one of so many bodies. */
static inline double bodies_error(const struct bodies *bodies, size_t every)
{
	double worst = 0;

	for (size_t i = 0; i < bodies->problem.n; i += every)
		worst = fmax(worst, nbody_error(&bodies->problem, i, bodies->bodies,
		                                bodies->accelerations + 3 * i));
	return worst;
}

static inline void bodies_free(struct bodies *bodies)
{
	free(bodies->bodies);
	free(bodies->accelerations);
	free(bodies->starts);
}

#endif
