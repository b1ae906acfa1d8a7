/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Bodies in clusters, and their grid of cells. No StarPU.
 */
#ifndef APPS_NBODY_BODIES_H
#define APPS_NBODY_BODIES_H

#include <stddef.h>
#include <stdint.h>

#include "codelets/nbody/nbody.h"

/** What makes a problem of bodies. */
struct bodies_shape {
	size_t n;          /**< up to BODIES_MOST */
	double cutoff;     /**< 0: none */
	double softening;  /**< above 0 */
	unsigned clusters; /**< of random bodies */
	uint64_t seed;
};

#define BODIES_MOST ((size_t)1 << 30)

/** The place and velocity of a random body: clusters of Plummer's density in a unit cube (S.
 * Aarseth, M. Henon and R. Wielen, Astronomy and Astrophysics 37, 1974), at rest. All have a mass
 * of 1 / n.
 * @param[out] body x, y, z, mass */
void bodies_random(const struct bodies_shape *shape, size_t i, float body[4]);

/** Lays a grid around bodies.
 * @param bodies as of nbody_cpu(), in any order
 * @param[out] problem */
void bodies_grid(const struct bodies_shape *shape, const float *bodies,
                 struct nbody_problem *problem);

/** The most cells that a grid of so many bodies has. */
size_t bodies_cells(size_t n);

/** Of every number of a body. */
#define BODIES_BYTES 4

/** Puts bodies in the order of their cells.
 * @param places room for n
 * @param[in,out] bodies as of nbody_cpu()
 * @param[in,out] more arrays of n elements of BODIES_BYTES, one after the other, that change with
 * the bodies; NULL: none
 * @param nmore how many arrays
 * @param scratch room for n elements
 * @param[out] starts as of nbody_cpu(), room for bodies_cells(n) + 1 */
void bodies_sort(const struct nbody_problem *problem, uint32_t *places, float *bodies, void *more,
                 unsigned nmore, void *scratch, uint32_t *starts);

/** How many bodies a body is compared with, on the average: what its time depends on.
 * @param starts as of nbody_cpu() */
double bodies_near(const struct nbody_problem *problem, const uint32_t *starts);

#endif
