/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * What the methods of splitting share.
 */
#ifndef HEDDLE_KERNEL_SPLIT_PRIVATE_H
#define HEDDLE_KERNEL_SPLIT_PRIVATE_H

#include "partition/kernel/split.h"

/** Algorithm 1 with `granularity` groups a step, from all groups on the best device. */
double split_paper(const struct split_problem *problem, size_t granularity, size_t *share);

/** Moves groups between devices as long as that makes the split faster.
 * @param largest first step, groups
 * @param[in,out] share */
double split_refine(const struct split_problem *problem, size_t largest, size_t *share);

/** SPLIT_HEDDLE. */
double split_best(const struct split_problem *problem, size_t *share);

double split_single(const struct split_problem *problem, size_t *share);
double split_linear(const struct split_problem *problem, size_t *share);
double split_optimum(const struct split_problem *problem, size_t *share);

#endif
