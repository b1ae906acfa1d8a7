/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Parts of heddle-analyse (tools/heddle-analyse.c): nodes.c prints the nodes of the description,
 * values.c follows integers, pointers.c pointers, and blocks.c finds conditions. These lead to each
 * other: a pointer has an index, which may be loaded by a pointer, or be chosen by a condition.
 * accesses.c prints accesses (partition/kernel/access/index.h has the format).
 * The program analyses one kernel, so the kernel and its data layout are globals.
 */
#ifndef TOOLS_ANALYSE_ANALYSE_H
#define TOOLS_ANALYSE_ANALYSE_H

#include <stdbool.h>
#include <string.h>

#include <llvm-c/Core.h>
#include <llvm-c/Target.h>

#include "partition/kernel/access/index.h"

extern LLVMValueRef analyse_kernel;
extern LLVMTargetDataRef analyse_layout;

/* Address spaces of the target spir64. */
enum { SPACE_PRIVATE, SPACE_GLOBAL, SPACE_CONSTANT, SPACE_LOCAL };

enum { MAXNODES = 20000, MAXBLOCKS = 300, MAXEDGES = 2000 };

/* ---- nodes.c: node_...() prints a node and returns its number ---- */

/** @param numbers the rest of the line, a blank before each number */
int node_print(enum index_op op, unsigned bits, const char *numbers);
int node_unknown(void);
int node_value(enum index_op op, unsigned bits, long long value);
int node_one(enum index_op op, unsigned bits, int a);
int node_two(enum index_op op, unsigned bits, int a, int b);
int node_constant(long long value);
int node_sum(int a, int b);
int node_product(int a, long long factor);

/** The number of nodes so far. */
unsigned node_count(void);

/** Ends the program with the message that the kernel is too large. */
_Noreturn void node_too_large(void);

/* ---- values.c ---- */

/* What a pointer is based on: an argument's number, or */
enum {
	BASE_UNKNOWN = -1,
	BASE_OWN = -2, /* memory that is no buffer */
	BASE_NONE = -3 /* no memory: such a pointer is set to another before it is used */
};

struct pointer {
	int base;
	int node; /* the offset in bytes; -1: unknown */
	/* Where it perhaps points to instead, if all are arguments; no base comes twice. NULL:
	 * nowhere else */
	const struct pointer *other;
};

enum memo_state { MEMO_NEW, MEMO_BEGUN, MEMO_MADE };

/* What has been found out about a value, which is analysed once. */
struct memo {
	LLVMValueRef value;
	enum memo_state node_state, pointer_state;
	int node;
	struct pointer pointer;
	struct {
		enum memo_state state;
		int node;
	} elements[16]; /* of a vector */
	unsigned walk;  /* the latest walk that visited the value */
};

struct memo *value_memo(LLVMValueRef value);

/** Begins a walk, which visits each value once. */
void value_walk_begin(void);
/** Whether the walk visits a value for the first time. */
bool value_walk_first(LLVMValueRef value);

/** The node of an integer; each value has one. */
int value_node(LLVMValueRef value);

/** The node of an element of a vector of integers. */
int value_element_node(LLVMValueRef vector, unsigned element);

/** The node of an integer in an argument.
 * @param argument its number
 * @param offset of the integer in the argument, in bytes */
int value_field_node(unsigned argument, unsigned long long offset, unsigned bits);

/** The number of the argument that a value is; -1: it is none. */
int value_argument(LLVMValueRef value);

/* What a phi grows by in each iteration: next = phi + step, or a sum that is another one in each
 * iteration, by conditions and loops within. */
struct growth {
	LLVMValueRef initial, next, step;
	LLVMBasicBlockRef latch;
	int element; /* of a vector, which counts; -1: it is a number */
	bool negative, is_pointer;
	bool is_product; /* the step is that of two operands of a mad24() */
	bool varies;     /* there is no such step */
};

bool value_growth(LLVMValueRef phi, struct growth *growth);

/** The node of a phi that grows, from the node of its first value. */
int value_loop_node(LLVMValueRef phi, const struct growth *growth, int initial, unsigned bits);

/** Whether a value is a comparison of integers, as guards are. */
bool value_is_compare(LLVMValueRef value);

/** Prints a guard. @return its number; -1: there are too many */
int value_guard_print(enum index_predicate predicate, int a, int b);

/** Prints a comparison as a guard, once. @return its number; -1: there are too many */
int value_guard(LLVMValueRef compare, bool negated);

/** The node of one of two values, of which a condition says which. */
int value_choice(LLVMValueRef condition, unsigned bits, int a, int b);

/** The predicate of a comparison in the description; INDEX_NPREDICATES: there is none.
 * @param swapped the operands are exchanged
 * @param negated the comparison does not hold */
enum index_predicate value_predicate(LLVMIntPredicate predicate, bool swapped, bool negated);

/** The name of the function that is called; empty: it has none. */
const char *value_called_name(LLVMValueRef call);

/** Whether a function tells of the NDRange or the work-item alone. */
bool value_query_known(const char *symbol);

/** Whether the effects of a function that is called and not defined are known. */
bool value_function_known(const char *symbol);

/** Whether a name in a source is that of such a function. */
bool value_function_named(const char *name, size_t length);

static inline bool text_starts(const char *text, const char *with)
{
	return !strncmp(text, with, strlen(with));
}

/* ---- pointers.c ---- */

extern const struct pointer pointer_nowhere;

/** Where a pointer points to. One that depends on itself is not followed. */
struct pointer pointer_of(LLVMValueRef value);

/** A pointer so many bytes behind another one, of which the number is a node. */
struct pointer pointer_add(struct pointer pointer, int bytes);

/** Whether anything is known of where in a buffer it points to. */
bool pointer_is_followed(struct pointer pointer);

/** Whether a pointer is made of constants and numbers of items alone: no buffer lies there. */
bool pointer_is_no_address(LLVMValueRef value);

/** Whether an instruction makes an integer of other integers, as addresses are computed. */
bool pointer_is_step(LLVMValueRef instruction);

/* ---- blocks.c ---- */

/* Where an access stands: the guards in front of it, and whether it is always reached behind
 * them. */
struct place {
	bool always;
	bool every; /* also in every iteration of the loops that the address counts */
	unsigned nguards;
	int guards[INDEX_MAXGUARDS];
};

/** Finds the kernel's blocks.
 * @return whether there are few enough of them to follow conditions */
bool block_find_all(void);

/** Whether every path to another block goes through a block. Of too many blocks: false. */
bool block_dominates(LLVMBasicBlockRef block, LLVMBasicBlockRef other);

/** Comparisons that hold whenever a loop goes back, those of its latch first. */
enum { BLOCK_MAXTESTS = 8 };
struct block_tests {
	unsigned n;
	LLVMValueRef compares[BLOCK_MAXTESTS];
	bool negated[BLOCK_MAXTESTS]; /* the opposite holds */
};

/** Finds the tests that a loop makes in each round. Of too many blocks: none. */
void block_loop_tests(LLVMBasicBlockRef header, LLVMBasicBlockRef latch, struct block_tests *tests);

/** Prints the guards in front of a block. */
struct place block_place(LLVMBasicBlockRef block);

/** Whether a block is part of every iteration of each loop whose counter is in an address, for
 * those for whom its guards hold. After block_place() of that block. */
bool block_counts_every(LLVMValueRef value, LLVMBasicBlockRef block);

/* ---- accesses.c ---- */

/** Prints the description of analyse_kernel. */
void access_describe(LLVMModuleRef module);

#endif
