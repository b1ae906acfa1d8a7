/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The evaluation of a description: what index.c asks of index_values.c.
 */
#ifndef HEDDLE_KERNEL_INDEX_VALUES_H
#define HEDDLE_KERNEL_INDEX_VALUES_H

#include "partition/kernel/access/affine.h"
#include "partition/kernel/access/index.h"

/** What a node found in a buffer, and for which places. */
struct evaluation_look {
	wide first, last;
	int64_t step; /**< 0: none yet */
	struct affine value;
};

/** An evaluation for the groups of one box. */
struct evaluation {
	const struct index_kernel *kernel;
	const struct index_launch *launch;
	struct affine_space space;     /**< of the box, or of it behind guards */
	struct affine *values;         /**< of the nodes so far */
	struct evaluation_look *looks; /**< by node; NULL: nothing is looked at */
	uint64_t looked;               /**< arguments whose contents count, as bits */
	uint64_t *wanted;              /**< see below */
	unsigned left;                 /**< integers that may still be looked at, in all spaces */
};

/** index_evaluation_end() is to follow, also where this fails.
 * @param[in,out] wanted NULL; or arguments whose contents the launch does not give are added, as
 * bits, where they could be looked at
 * @return 0; -ENOMEM */
int index_evaluation_begin(const struct index_kernel *kernel, const struct index_launch *launch,
                           uint64_t *wanted, struct evaluation *e);
void index_evaluation_end(struct evaluation *e);

/** Whether a node loads from what is looked at. */
static inline bool index_is_looked(const struct evaluation *e, const struct index_node *node)
{
	return node->op == INDEX_LOAD && node->value < 64 && e->looked >> node->value & 1;
}

/** An integer in a buffer.
 * @param at where, in bytes: of all those there the value is one */
struct affine index_load(struct evaluation *e, const struct index_node *node, struct affine at);

/** Values of all nodes in the evaluation's space. */
void index_evaluate(struct evaluation *e);

#endif
