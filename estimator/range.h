/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * How far a prediction of a history can be trusted: the interval that holds about four of five
 * times, and whether the parameters lie outside of what was measured. Pure.
 */
#ifndef HEDDLE_ESTIMATOR_RANGE_H
#define HEDDLE_ESTIMATOR_RANGE_H

#include <stdbool.h>
#include <stddef.h>

#include "estimator/history.h"

/** The part of all times that intervals are meant to hold. */
#define HEDDLE_HISTORY_RANGE_PART 0.8
/** Known points that it takes to say so. */
#define HEDDLE_HISTORY_RANGE_LEAST 4
/** The nearest points, whose errors count. */
#define HEDDLE_HISTORY_RANGE_MOST 20

/** The intervals of a task's times. Each of the nearest points is predicted from the others, as
 * the task is from them all. The task's prediction may be wrong by as large a factor as four of
 * five of those (the jackknife of Barber, Candes, Ramdas and Tibshirani, Annals of Statistics
 * 49(1), 2021). It says nothing of parameters outside of what was measured.
 * @param values,rule,leave_out as of heddle_history_predict()
 * @param us of the task, where known; 0 else
 * @param[out] ranges of each class; 0 to 0 where the time is known, cannot be predicted, or fewer
 * than HEDDLE_HISTORY_RANGE_LEAST other points have one */
void heddle_history_ranges(const struct heddle_history *history, const double *values,
                           struct heddle_history_rule rule, size_t leave_out,
                           const double us[HEDDLE_HISTORY_CLASSES],
                           struct heddle_history_range ranges[HEDDLE_HISTORY_CLASSES]);

/** Whether parameters lie outside of what was measured on a class: of the points with the same
 * words and the same parameters, a number is smaller or larger than all, or the nearest one is
 * farther away than each of them is from its own nearest. */
bool heddle_history_extrapolates(const struct heddle_history *history, const double *values,
                                 unsigned class);

#endif
