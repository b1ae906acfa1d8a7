/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "config.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "apps/common/random.h"
#include "apps/nbody/bodies.h"

/* Plummer's radius of a cluster, and how many of them its bodies reach. */
#define RADIUS 0.05
#define REACH 8
/* Of 8 clusters the first one has half of all bodies in clusters. */
#define UNEQUAL 3
/* The part of all bodies that are in no cluster, but anywhere in the cube. */
#define ALONE 0.2
/* Cells along an axis at most: 10 bits for each. */
#define MOST_ALONG 1024
/* Cells are wider than the cut-off, for the rounding of their borders. */
#define WIDER 1.001

static double uniform(uint64_t seed, uint64_t index)
{
	return ((app_random(seed, index) >> 11) + 0.5) * 0x1p-53;
}

void bodies_random(const struct bodies_shape *shape, size_t i, float body[4])
{
	uint64_t cluster = shape->clusters * pow(uniform(shape->seed + 1, i), UNEQUAL);
	double r = RADIUS / sqrt(pow(uniform(shape->seed + 2, i), -2. / 3) - 1);
	double z = 2 * uniform(shape->seed + 3, i) - 1,
	       turn = 2 * M_PI * uniform(shape->seed + 4, i);
	double flat = sqrt(1 - z * z), direction[3] = {flat * cos(turn), flat * sin(turn), z};

	bool alone = uniform(shape->seed + 5, i) < ALONE;

	for (int axis = 0; axis < 3; axis++)
		body[axis] =
		    uniform(shape->seed + (alone ? 6 : 0), 3 * (alone ? i : cluster) + axis) +
		    (alone ? 0 : fmin(r, REACH * RADIUS) * direction[axis]);
	body[3] = 1. / shape->n;
}

/* ---- cells ---- */

/* About as many as bodies; a cube of them, for any shape. */
static uint32_t along(size_t n)
{
	double side = ceil(cbrt((double)n));

	return side < 1 ? 1 : side > MOST_ALONG ? MOST_ALONG : side;
}

size_t bodies_cells(size_t n)
{
	size_t side = along(n);

	return side * side * side;
}

void bodies_grid(const struct bodies_shape *shape, const float *bodies,
                 struct nbody_problem *problem)
{
	double widest = 0, size[3], width;

	*problem = (struct nbody_problem){.n = shape->n,
	                                  .cells_per_length = 1,
	                                  .cells = {1, 1, 1},
	                                  .softening2 = shape->softening * shape->softening};
	if (!(shape->cutoff > 0))
		return;
	problem->inverse_cutoff2 = 1 / (shape->cutoff * shape->cutoff);
	for (int axis = 0; axis < 3; axis++) {
		const float *at = bodies + axis * shape->n;
		float low = shape->n ? at[0] : 0, high = low;

		for (size_t i = 1; i < shape->n; i++) {
			low = fminf(low, at[i]);
			high = fmaxf(high, at[i]);
		}
		problem->low[axis] = low;
		size[axis] = (double)high - low;
		widest = fmax(widest, size[axis]);
	}
	width = fmax(shape->cutoff * WIDER, widest / along(shape->n) * WIDER);
	problem->cells_per_length = 1 / width;
	for (int axis = 0; axis < 3; axis++)
		problem->cells[axis] = fmin(floor(size[axis] / width) + 1, along(shape->n));
}

static size_t cell_of(const struct nbody_problem *problem, const float *bodies, size_t i)
{
	uint32_t x = nbody_cell(problem, 0, bodies[i]);
	uint32_t y = nbody_cell(problem, 1, bodies[problem->n + i]);
	uint32_t z = nbody_cell(problem, 2, bodies[2 * problem->n + i]);

	return ((size_t)z * problem->cells[1] + y) * problem->cells[0] + x;
}

/* Of any elements of 4 bytes. */
static void array_sort(size_t n, const uint32_t *places, char *array, char *scratch)
{
	memcpy(scratch, array, n * BODIES_BYTES);
	for (size_t i = 0; i < n; i++)
		memcpy(array + places[i] * BODIES_BYTES, scratch + i * BODIES_BYTES, BODIES_BYTES);
}

void bodies_sort(const struct nbody_problem *problem, uint32_t *places, float *bodies, void *more,
                 unsigned nmore, void *scratch, uint32_t *starts)
{
	size_t cells = (size_t)problem->cells[0] * problem->cells[1] * problem->cells[2];
	uint32_t before = 0;

	memset(starts, 0, (cells + 1) * sizeof(*starts));
	for (size_t i = 0; i < problem->n; i++)
		starts[cell_of(problem, bodies, i)]++;
	for (size_t c = 0; c <= cells; c++) {
		uint32_t count = starts[c];

		starts[c] = before;
		before += count;
	}
	/* Each place moves the start of its cell to the next one, which moves back below. */
	for (size_t i = 0; i < problem->n; i++)
		places[i] = starts[cell_of(problem, bodies, i)]++;
	for (size_t c = cells; c; c--)
		starts[c] = starts[c - 1];
	starts[0] = 0;
	for (unsigned a = 0; a < 4; a++)
		array_sort(problem->n, places, (char *)(bodies + a * problem->n), scratch);
	for (unsigned a = 0; a < nmore; a++)
		array_sort(problem->n, places, (char *)more + a * problem->n * BODIES_BYTES,
		           scratch);
}

/* Of a body in a cell. */
static size_t cell_near(const struct nbody_problem *problem, const uint32_t *starts, uint32_t x,
                        uint32_t y, uint32_t z)
{
	size_t sum = 0;

	for (uint32_t k = z ? z - 1 : 0; k <= z + 1 && k < problem->cells[2]; k++)
		for (uint32_t j = y ? y - 1 : 0; j <= y + 1 && j < problem->cells[1]; j++) {
			uint32_t begin, end;

			nbody_run(problem, starts, x, j, k, &begin, &end);
			sum += end - begin;
		}
	return sum;
}

double bodies_near(const struct nbody_problem *problem, const uint32_t *starts)
{
	const uint32_t *start = starts;
	double sum = 0;

	for (uint32_t z = 0; z < problem->cells[2]; z++)
		for (uint32_t y = 0; y < problem->cells[1]; y++)
			for (uint32_t x = 0; x < problem->cells[0]; x++, start++)
				if (start[1] > start[0])
					sum += (double)(start[1] - start[0]) *
					       cell_near(problem, starts, x, y, z);
	return problem->n ? sum / problem->n : 0;
}
