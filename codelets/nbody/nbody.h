/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Accelerations of bodies that attract each other, up to a cut-off:
 *
 *	a_i = sum over j of m_j (x_j - x_i) s^2 / (r^2 + softening^2)^(3/2),  s = max(0, 1 - r^2 /
 *cutoff^2)
 *
 * with Plummer's softening and a truncation that is smooth at the cut-off. Bodies lie in the order
 *of a grid of cells that are as wide as the cut-off, so that a body's neighbours are nine runs of
 * bodies. An iteration of the loop is a body. Where bodies are dense, iterations are dear.
 */
#ifndef CODELETS_NBODY_H
#define CODELETS_NBODY_H

#include <stddef.h>
#include <stdint.h>

#include "codelets/isa.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Versions add in different orders. nbody_error() counts in what rounding explains. */
#define NBODY_TOLERANCE 1.0

/** The loop's `arg`. */
struct nbody_problem {
	size_t n;               /**< bodies */
	float low[3];           /**< corner of the grid; who is outside belongs to its border */
	float cells_per_length; /**< 1 / width of a cell, which is a little above the cut-off */
	uint32_t cells[3];      /**< along x, y, z */
	float softening2;       /**< squared, above 0 */
	float inverse_cutoff2;  /**< 1 / cutoff^2; 0: no cut-off, of a grid of one cell */
};

/** Accelerations of bodies first … first+n-1.
 * @param bodies 4 n numbers: all x, all y, all z, all masses; in the order of cells
 * @param starts the first body of each cell, x fastest; and at the end n
 * @param[out] accelerations x, y, z of the first of them, then of the next */
void nbody_cpu(enum codelet_isa isa, const struct nbody_problem *problem, size_t first, size_t n,
               const float *bodies, const uint32_t *starts, float *accelerations);

/** The error of a body's acceleration, in units of what rounding explains (NBODY_TOLERANCE):
 * compares with a sum over all bodies, in double precision and without the grid; infinite where a
 * result is no number. */
double nbody_error(const struct nbody_problem *problem, size_t body, const float *bodies,
                   const float acceleration[3]);

/** Launches the CUDA version on device memory; returns without waiting.
 * @param stream a cudaStream_t
 * @return 0, or -EIO when the launch was refused. */
int nbody_cuda(void *stream, const struct nbody_problem *problem, size_t first, size_t n,
               const float *bodies, const uint32_t *starts, float *accelerations);

/** The codelet: vectors of float (bodies, HEDDLE_WHOLE), uint32_t (starts, HEDDLE_WHOLE) and float
 * (accelerations, written, 3 an iteration). */
extern struct starpu_codelet nbody_codelet;
/** Its OpenCL program, where this build has OpenCL. */
extern struct codelet_program nbody_program;

/* ---- shared by the versions ---- */

#ifdef __CUDACC__
#define NBODY_ANYWHERE __host__ __device__
#else
#define NBODY_ANYWHERE
#endif

/** The cell of a coordinate along an axis. The cells' extra width allows for its rounding. */
NBODY_ANYWHERE static inline uint32_t nbody_cell(const struct nbody_problem *problem, int axis,
                                                 float at)
{
	float cell = (at - problem->low[axis]) * problem->cells_per_length;
	uint32_t last = problem->cells[axis] - 1;

	return !(cell > 0) ? 0 : cell < (float)last ? (uint32_t)cell : last;
}

/** The bodies of a row of cells that are within one cell of x. */
NBODY_ANYWHERE static inline void nbody_run(const struct nbody_problem *problem,
                                            const uint32_t *starts, uint32_t x, uint32_t y,
                                            uint32_t z, uint32_t *begin, uint32_t *end)
{
	size_t row = ((size_t)z * problem->cells[1] + y) * problem->cells[0];
	uint32_t last = x + 1 < problem->cells[0] ? x + 1 : x;

	*begin = starts[row + (x ? x - 1 : 0)];
	*end = starts[row + last + 1];
}

#ifdef __cplusplus
}
#endif
#endif
