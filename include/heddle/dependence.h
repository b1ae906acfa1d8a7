/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Dependences of a doubly nested loop, and of a series of sweeps over it.
 *
 *     for (sweep = 0; sweep < sweeps; sweep++)
 *             for (row = 0; row < rows; row++)
 *                     for (column = 0; column < columns; column++)
 *
 * A vector v means: iteration (sweep, row, column) needs the result of iteration
 * (sweep - v.sweep, row - v.row, column - v.column), if that one is in the loop. Start with
 * struct heddle_dependence. In Andronikos et al. (Performance Evaluation 67, 2010, section 2)
 * rows are the chunk dimension and columns the synchronisation dimension.
 */
#ifndef HEDDLE_DEPENDENCE_H
#define HEDDLE_DEPENDENCE_H

#ifdef __cplusplus
extern "C" {
#endif

/** A dependence vector. Each component is from -2^20 to 2^20. */
struct heddle_dependence {
	int row;    /**< rows above; negative: rows below, which needs sweep > 0 */
	int column; /**< columns to the left; negative: to the right */
	int sweep;  /**< sweeps earlier, 0 or more */
};

/** Checks whether a loop with these vectors can run. Each vector must be lexicographically
 * positive: the first of (sweep, row, column) that is not 0 must be above 0. Otherwise an
 * iteration would need itself or a later one. Any thread may call it at any time.
 * @param vectors nvectors vectors; may be NULL if nvectors is 0
 * @param nvectors number of vectors, 0 or more
 * @return 0; -EINVAL if a vector is not lexicographically positive or has a component out of
 * range, after a message that names the first such vector */
int heddle_dependences_check(const struct heddle_dependence *vectors, unsigned nvectors);

#ifdef __cplusplus
}
#endif
#endif
