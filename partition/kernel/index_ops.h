/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The operations of a description of a kernel's addresses, and their text: what
 * heddle-analyse writes and index_text.c reads. A description is lines of
 *
 *   heddle-index 4
 *   refuse REASON
 *   argument buffer | integer BITS | local | other      in order
 *   node OPERATION BITS NUMBER...                       see below
 *   guard PREDICATE NODE NODE                           see enum index_predicate
 *   access ARGUMENT NODE BYTES read|write|update every|always|maybe ALIGNMENT GUARD...
 *
 * with NODE -1 for an address that is not understood. Guards, numbered from 0 on, are
 * comparisons that hold wherever the access is reached; `always` says that every work-item
 * for which they all hold does reach it. Such a work-item gets there with the values that it
 * compared. `every` says that it does so in every round of the loops whose counters are in
 * the address, and that these end by their own tests alone. BITS other than 0: a result that
 * they cannot hold as a signed number is unknown; of TRIPS, the width of what is counted. The
 * numbers are nodes (`n`) from 0 on, which come before, or values (`v`).
 */
#ifndef HEDDLE_KERNEL_INDEX_OPS_H
#define HEDDLE_KERNEL_INDEX_OPS_H

#include "partition/kernel/index.h"

#define INDEX_VERSION 4

/* OPERATION(identifier, text, numbers) */
#define INDEX_OPERATIONS(OPERATION)                                                                \
	OPERATION(UNKNOWN, "unknown", "")                                                          \
	OPERATION(CONSTANT, "constant", "v")                                                       \
	OPERATION(ARGUMENT, "argument", "v")                                                       \
	OPERATION(GROUP, "group", "v")   /* dimension */                                           \
	OPERATION(ITEM, "item", "v")     /* dimension */                                           \
	OPERATION(GROUPS, "groups", "v") /* dimension */                                           \
	OPERATION(ITEMS, "items", "v")   /* dimension */                                           \
	OPERATION(DIMENSIONS, "dimensions", "")                                                    \
	OPERATION(RANGE, "range", "vm") /* least, greatest */                                      \
	OPERATION(ADD, "add", "nn")                                                                \
	OPERATION(SUB, "sub", "nn")                                                                \
	OPERATION(MUL, "mul", "nn")                                                                \
	OPERATION(SHL, "shl", "nn")                                                                \
	OPERATION(SHR, "shr", "nn") /* of what is not negative, as DIV and REM */                  \
	OPERATION(DIV, "div", "nn")                                                                \
	OPERATION(REM, "rem", "nn")                                                                \
	OPERATION(AND, "and", "nn")                                                                \
	OPERATION(OR, "or", "nn")                                                                  \
	OPERATION(XOR, "xor", "nn")                                                                \
	OPERATION(MIN, "min", "nn")                                                                \
	OPERATION(MAX, "max", "nn")                                                                \
	OPERATION(SELECT, "select", "nn")     /* one of them */                                    \
	OPERATION(EITHER, "either", "nn")     /* the smaller one of those known */                 \
	OPERATION(FIT, "fit", "n")            /* truncation */                                     \
	OPERATION(EXTEND, "extend", "n")      /* of so many bits, as unsigned */                   \
	OPERATION(IN_BOUNDS, "inbounds", "n") /* of 32, perhaps 2^32 more, in an address */        \
	OPERATION(TRIPS, "trips", "nnnpa")    /* start, step, bound; see index.c */                \
	OPERATION(LOOP, "loop", "nnn")        /* start, step, trips */

enum index_op {
#define OPERATION(id, text, numbers) INDEX_##id,
	INDEX_OPERATIONS(OPERATION)
#undef OPERATION
	    INDEX_NOPS
};

/** How a loop's count compares to its bound when it goes on (`p`), or the sides of a guard
 * to each other; `a` is 1 when the count has made its step already. */
enum index_predicate {
	INDEX_NE,
	INDEX_SLT,
	INDEX_SLE,
	INDEX_SGT,
	INDEX_SGE,
	INDEX_ULT,
	INDEX_ULE,
	INDEX_UGT,
	INDEX_UGE,
	INDEX_EQ, /* of guards */
	INDEX_NPREDICATES
};

/** Text of an operation. */
const char *index_op_text(enum index_op op);

#endif
