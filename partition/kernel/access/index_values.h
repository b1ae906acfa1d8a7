/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The evaluation of a description: what index.c asks of index_values.c.
 */
#ifndef HEDDLE_KERNEL_INDEX_VALUES_H
#define HEDDLE_KERNEL_INDEX_VALUES_H

#include "partition/kernel/access/affine.h"
#include "partition/kernel/access/index.h"

/** An evaluation for the groups of one box. */
struct evaluation {
	const struct index_kernel *kernel;
	const struct index_launch *launch;
	struct affine_space space; /**< of the box, or of it behind guards */
	struct affine *values;     /**< of the nodes so far */
};

/** Values of all nodes in the evaluation's space. */
void index_evaluate(struct evaluation *e);

#endif
