/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Electrical excitation of heart tissue in two dimensions: the monodomain equation
 *
 *	du/dt = div(D grad u) + f(u, w),  dw/dt = g(u, w)
 *
 * with the potential u from 0 (at rest) to 1, one recovery variable w, and no current through the
 * borders. The current between two cells follows the smaller of their conductivities, so that none
 * enters a scar. Cells have one of two ionic models:
 *
 *	Aliev and Panfilov, "A simple two-variable model of cardiac excitation", Chaos, Solitons &
 *	Fractals 7(3), 1996: dimensionless; a unit of time is 12.9 ms
 *	Mitchell and Schaeffer, "A two-current model for the dynamics of cardiac membrane", Bulletin
 *of Mathematical Biology 65(5), 2003: times in ms
 *
 * A time step is a step of diffusion, then `substeps` steps of the reaction (explicit Euler). An
 * iteration of the loop is a row of cells, over `steps` time steps: a block computes again what it
 * needs of its neighbours' rows.
 */
#ifndef CODELETS_HEART_H
#define CODELETS_HEART_H

#include <stddef.h>

#include "codelets/isa.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Versions round differently, and while a cell is excited, differences grow some tenfold. */
#define HEART_TOLERANCE 1e-3

enum heart_model {
	HEART_ALIEV_PANFILOV,
	HEART_MITCHELL_SCHAEFFER,
};

/** The loop's `arg`. */
struct heart_problem {
	enum heart_model model;
	unsigned steps;    /**< at least 1; the halo of the inputs */
	unsigned substeps; /**< at least 1 */
	float dt;          /**< in the model's unit */
	float coupling;    /**< dt D / h^2, with the cells' distance h; below 1/4 to be stable */
};

/** Rows of a block. Distances between rows are in numbers. */
struct heart_band {
	struct heart_problem problem;
	size_t width;
	size_t rows;       /**< to compute */
	size_t above;      /**< rows of the inputs before the first of them */
	size_t input_rows; /**< with halos */
	size_t u_stride, w_stride, conductivity_stride, u_out_stride, w_out_stride;
};

/** Where the state is. */
struct heart_state {
	const float *u, *w, *conductivity; /**< input rows; conductivities from 0 to 1 */
	float *u_out, *w_out;              /**< rows to compute */
};

/** Computes some rows. @return 0; -ENOMEM. */
int heart_cpu(enum codelet_isa isa, const struct heart_band *band, const struct heart_state *state);

/** One time step of all cells in double precision, cell by cell.
 * @param conductivity,u,w,u_out,w_out height * width, without gaps */
void heart_reference(const struct heart_problem *problem, size_t width, size_t height,
                     const float *conductivity, const double *u, const double *w, double *u_out,
                     double *w_out);

/** Launches the CUDA version on device memory; returns without waiting.
 * @param stream a cudaStream_t
 * @return 0; -ENOMEM; -EIO when a launch was refused. */
int heart_cuda(void *stream, const struct heart_band *band, const struct heart_state *state);

/** The codelet: matrices of float: u, w, conductivity (HEDDLE_HALO of `steps`), u and w after the
 * steps (written). */
extern struct starpu_codelet heart_codelet;
/** Its OpenCL program, where this build has OpenCL. */
extern struct codelet_program heart_program;

/* ---- shared by the versions ---- */

#ifdef __CUDACC__
#define HEART_ANYWHERE __host__ __device__
#else
#define HEART_ANYWHERE
#endif

/** The changes of a cell in a unit of time, without diffusion. */
HEART_ANYWHERE static inline __attribute__((always_inline)) void
heart_react(enum heart_model model, float u, float w, float *du, float *dw)
{
	if (model == HEART_ALIEV_PANFILOV) {
		float k = 8, a = 0.15f, e = 0.002f + 0.2f * w / (u + 0.3f);

		*du = -k * u * (u - a) * (u - 1) - u * w;
		*dw = e * (-w - k * u * (u - a - 1));
	} else {
		*du = w * u * u * (1 - u) * (1 / 0.3f) - u * (1 / 6.f);
		*dw = u < 0.13f ? (1 - w) * (1 / 120.f) : w * (-1 / 150.f);
	}
}

/** The rows that a step must compute so that the last step has all it needs: input rows
 * first … first+n-1.
 * @param step from 1 to steps */
HEART_ANYWHERE static inline void heart_rows(const struct heart_band *band, unsigned step,
                                             size_t *first, size_t *n)
{
	size_t more = band->problem.steps - step, end = band->above + band->rows + more;

	*first = band->above > more ? band->above - more : 0;
	*n = (end < band->input_rows ? end : band->input_rows) - *first;
}

#ifdef __cplusplus
}
#endif
#endif
