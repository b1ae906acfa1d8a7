/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The accuracy of predictions by nearest neighbours: k-fold cross-validation, as for Table 1 of
 * Teodoro et al., HPDC 2010. The jobs are the points of a history with times on two classes. They
 * are distributed over folds, and the jobs of each fold are predicted from those of the others.
 */
#ifndef HEDDLE_TOOLS_COMMON_CROSS_VALIDATION_H
#define HEDDLE_TOOLS_COMMON_CROSS_VALIDATION_H

#include "estimator/history.h"

/** The paper's number of folds. */
#define HEDDLE_CROSS_VALIDATION_FOLDS 10

/** Averages over the jobs of |predicted - measured| / measured. */
struct heddle_cross_validation {
	size_t jobs;
	double speedup;   /**< of the class over the reference */
	double time;      /**< on the class */
	double reference; /**< time on the reference */
	double inside;    /**< the part of all times on the class that are in their intervals; not
	                       a number where none has one */
};

/** @param folds 2 or more; with fewer jobs than that each job is a fold
 * @param rule how neighbours predict
 * @param seed of the distribution over folds
 * @return 0; -ENODATA with fewer than two jobs; -ENOMEM. */
int heddle_cross_validation_run(const struct heddle_history *history, unsigned class,
                                unsigned reference, unsigned folds, struct heddle_history_rule rule,
                                unsigned seed, struct heddle_cross_validation *result);

/** The same averages where another sampling of the same jobs predicts: no rule can do better.
 * @param again with the dimensions and words of the history, and times of the same jobs; its jobs
 * that the history has not got are left out
 * @return 0; -ENODATA where no job is in both; `inside` is no number */
int heddle_cross_validation_again(const struct heddle_history *history,
                                  const struct heddle_history *again, unsigned class,
                                  unsigned reference, struct heddle_cross_validation *result);

#endif
