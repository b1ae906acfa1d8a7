/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Guards: comparisons in front of an access, such as `if (i < n)`. They limit the groups and
 * items that get to the access, and thereby its addresses.
 */
#ifndef HEDDLE_KERNEL_GUARDS_H
#define HEDDLE_KERNEL_GUARDS_H

#include "partition/kernel/access/affine.h"
#include "partition/kernel/access/index.h"

/** sum of k[i] * number i  <=  most, of six group and item numbers. */
struct guards_limit {
	int64_t k[6];
	wide most;
};

/** The part of a box that passes guards, or more than it. */
struct guards_space {
	struct affine_space space;
	bool exact; /**< all numbers in `space` that keep the limits pass, if they get there */
	unsigned nlimits;
	struct guards_limit limits[2 * INDEX_MAXGUARDS]; /**< not kept by all of `space` */
};

/** Applies an access's guards to a box.
 * @param values of the kernel's nodes, evaluated for the box
 * @return false when nobody passes them */
bool guards_apply(const struct index_kernel *kernel, const struct index_access *access,
                  const struct affine *values, const struct affine_space *box,
                  struct guards_space *behind);

/** Narrows a space to those who may pass a guard.
 * @param values of the kernel's nodes, evaluated for the space
 * @return false when nobody passes it */
bool guards_narrow(const struct index_guard *guard, const struct affine *values,
                   struct affine_space *space);

/** An address as a sum of independent terms, each taking all of its steps:
 * base + sum of step * (least to most). */
struct guards_terms {
	wide base;
	wide lo, hi; /**< added to it, from the address */
	unsigned n;
	struct guards_term {
		int64_t step, least, most;
	} terms[6 + AFFINE_MAXSTEPS];
};

/** Takes an address that is known apart.
 * @param behind guards; NULL: none
 * @param every whether all rounds of loops are made, so that their steps count
 * @return whether all sums of steps are addresses of work-items that pass the guards; if
 * not, they are more */
bool guards_terms(const struct affine *address, const struct affine_space *space,
                  const struct guards_space *behind, bool every, struct guards_terms *terms);

/** Least and greatest address. */
void guards_bounds(const struct guards_terms *terms, wide *lo, wide *hi);

/** How far the terms, from the smallest, each go on where the ones before have ended: what
 * is gapless, then rows of it.
 * @param[in,out] width bytes that are covered without the terms; of a row
 * @param[out] pitch 0: everything is one row
 * @return whether all terms are accounted for */
bool guards_rows(const struct guards_terms *terms, wide *width, wide *pitch, wide *rows);

#endif
