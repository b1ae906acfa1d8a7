/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * What a tile costs a worker, fitted to timed tiles of several shapes. A tile of V rows and
 * h columns takes
 *
 *	us + V row + h column + V h iteration
 */
#ifndef HEDDLE_WAVEFRONT_COST_H
#define HEDDLE_WAVEFRONT_COST_H

/* On a core, iterations decide. A device that computes the anti-diagonals of a tile one after the
 * other takes as long as the tile has of them, which V and h determine each on its own, until
 * iterations are so many that they fill it. So a sample that is small in both shows nothing of a
 * wide band, and samples that differ in one alone are needed.
 *
 * Beyond Andronikos et al. (Performance Evaluation 67, 2010), who have V h c_p (2) and for messages
 * c_d + h c_c (1): `row` is new. */

#include <stdbool.h>

/** Microseconds; all 0 or more, iteration above 0. */
struct wave_tile_cost {
	double us, row, column, iteration;
};

/** A tile that was measured. */
struct wave_tile_sample {
	double rows, columns, us; /**< each above 0 */
};

/** How much cheaper an iteration may at most become in tiles larger than any measured. */
#define WAVE_COST_MOST 512

/** Four samples or more that rows and columns explain but for this part say nothing of
 * iterations, which then cost the least. */
#define WAVE_COST_NOISE 0.1

/** Of more samples the first count. */
#define WAVE_COST_MOST_SAMPLES 16

/** A sample that took longer than this times what the others say may be left out. */
#define WAVE_COST_DISTURBED 1.2

double wave_cost_us(const struct wave_tile_cost *cost, double rows, double columns);

/** The costs that explain samples best: the least sum of squares of relative errors
 * with no cost below 0, and of several such the one with the fewest that are not 0. (The
 * constant may be: a square of n by n blocks has 2 n - 1 anti-diagonals. It then counts
 * as 0 in the result.) Samples are small and tiles large, and what an iteration is taken to
 * cost there counts for most: so it must be needed to explain the samples. Of five samples
 * or more those that were disturbed are left out.
 * An iteration costs at least 1/WAVE_COST_MOST of what it did in the sample that was
 * fastest.
 * @param n at least 1
 * @param core iterations decide: they always count */
void wave_cost_fit(const struct wave_tile_sample *samples, unsigned n, bool core,
                   struct wave_tile_cost *cost);

/** A factor by which costs seem to have changed counts when it is seen twice in a row: of both
 * the one nearer to 1.
 * @param[in,out] doubtful the one seen before, 1 at first: what only this time was seen
 * @param factor 1: as expected
 * @return what is to be applied */
double wave_cost_confirm(double *doubtful, double factor);

#endif
