/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * When an accelerator's block counts as late, and how those that are idle share its iterations to
 * compute them again. The first result counts, as in rDLB (Mohammed, Cavelan, Ciorba), but nothing
 * is computed twice before a block is overdue. A core computes in place: its block is not computed
 * again, but it gives away what it has not begun.
 */
#ifndef HEDDLE_LOOP_LATE_H
#define HEDDLE_LOOP_LATE_H

#include <stdbool.h>
#include <stddef.h>

/** Whether a block is late: it has taken longer than predicted by more than its prediction, by more
 * than it takes to compute it again, and by more than least_us. So the loop ends at most twice as
 * late as by the best choice at the time that was predicted.
 * @param elapsed_us since the block began
 * @param predicted_us its time; 0: not known
 * @param again_us what the idle workers need for it */
bool loop_late_is(double elapsed_us, double predicted_us, double again_us, double least_us);

/** Iterations that an idle worker takes of those that are to be computed again: half of its share
 * by the rates, so that all end at about the same time.
 * @param left iterations that nobody has taken
 * @param rate of the worker; 0: not known, as the mean of those that are known
 * @param sum of the rates that are known
 * @param known how many those are
 * @param workers that may take some, at least 1
 * @param unit the result is a multiple, or all
 * @return 1 to left, if left is not 0 */
size_t loop_late_piece(size_t left, double rate, double sum, unsigned known, unsigned workers,
                       size_t unit);

/** Iterations of a core's block that its kernel gets at once: an eighth, or more where that would
 * take less than 50 us, or than 20 times what a block costs beside its iterations: each call may
 * cost as much. What comes after the first part can still be given to others.
 * @param n of the block
 * @param expected_us its time; 0: not known
 * @param start_us of that, beside its iterations
 * @param unit the result is a multiple, or n
 * @return 1 to n, if n is not 0; n, if the time is not known */
size_t loop_late_part(size_t n, double expected_us, double start_us, size_t unit);

/** How long the rest of such a block would take, if it is for whoever is free: what is done has
 * taken more than eight times what was expected, and the rest would take more than 100 us so.
 * @param n of the block
 * @param done of them
 * @param elapsed_us what they took
 * @param expected_us time of the block
 * @return 0: the worker goes on */
double loop_late_rest_us(size_t n, size_t done, double elapsed_us, double expected_us);

#endif
