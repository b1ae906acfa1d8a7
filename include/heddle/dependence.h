/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Uniform dependences of a doubly nested loop, and of a series of sweeps over it.
 *
 * The loop is
 *
 *     for (sweep = 0; sweep < sweeps; sweep++)
 *             for (row = 0; row < rows; row++)
 *                     for (column = 0; column < columns; column++)
 *
 * and a vector says that iteration (sweep, row, column) needs the iteration
 * (sweep - v.sweep, row - v.row, column - v.column), where that lies within the
 * loop. The row is the chunk dimension of Andronikos et al. (Performance Evaluation
 * 67, 2010, section 2), the column their synchronisation dimension.
 */
#ifndef HEDDLE_DEPENDENCE_H
#define HEDDLE_DEPENDENCE_H

#ifdef __cplusplus
extern "C" {
#endif

/** Components are between -2^20 and 2^20. */
struct heddle_dependence {
	int row;    /**< rows above (negative: below, in an earlier sweep alone) */
	int column; /**< columns to the left (negative: to the right) */
	int sweep;  /**< sweeps earlier, 0 or more */
};

/** Whether a loop with these vectors can be run at all: each must be greater than
 * zero when (sweep, row, column) are compared in this order, or an iteration would
 * need one that comes after it.
 * @return 0; -EINVAL after a message that names the vector. */
int heddle_dependences_check(const struct heddle_dependence *vectors, unsigned nvectors);

#ifdef __cplusplus
}
#endif
#endif
