/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Parts of heddle-analyse (tools/heddle-analyse.c), from LLVM's code of a kernel to lines that
 * say which bytes its work-groups touch (partition/kernel/access/index.h). accesses.c goes through
 * the instructions; pointers.c follows an address back to an argument, values.c an integer to
 * ids and arguments, loops.c what a loop counts; guards.c and blocks.c find the conditions in
 * front of an access; functions.c knows what functions do; memo.c keeps what was found out about
 * a value; nodes.c prints. The function that is analysed and the layout of its data are the same
 * all the time, so they are globals.
 */
#ifndef TOOLS_ANALYSE_ANALYSE_H
#define TOOLS_ANALYSE_ANALYSE_H

#include <stdbool.h>

#include <llvm-c/Core.h>
#include <llvm-c/Target.h>

#include "partition/kernel/access/index.h"

extern LLVMValueRef analysed;
extern LLVMTargetDataRef data_layout;

/* Address spaces of the target spir64. */
enum { SPACE_PRIVATE, SPACE_GLOBAL, SPACE_CONSTANT, SPACE_LOCAL };

enum { MAXNODES = 20000, MAXBLOCKS = 300, MAXEDGES = 2000 };

/** Ends the program with a message: the kernel is larger than it takes. */
_Noreturn void too_large(void);

/* ---- nodes (nodes.c): all print one and return its number ---- */

/** @param numbers what follows in the line, a blank before each */
int node_print(enum index_op op, unsigned bits, const char *numbers);
int node_unknown(void);
/** How many there are. */
unsigned node_count(void);
int node_value(enum index_op op, unsigned bits, long long value);
int node_one(enum index_op op, unsigned bits, int a);
int node_two(enum index_op op, unsigned bits, int a, int b);
int node_constant(long long value);
int node_sum(int a, int b);
int node_product(int a, long long factor);

/* ---- integers (values.c) ---- */

/** The node of a value; each value has one. */
int value_node(LLVMValueRef value);

/** The name of the function that is called; empty: it has none. */
const char *called_name(LLVMValueRef call);
bool text_starts(const char *text, const char *with);

/* ---- functions (functions.c) ---- */

/** Whether it is known what a function does that is not defined. */
bool function_known(const char *symbol);

/** Whether it answers a question about the NDRange (NDRANGE_ANSWERS). */
bool query_known(const char *symbol);

/* ---- counters (loops.c) ---- */

/* What a phi grows by in each iteration: nx = phi + step. */
struct growth {
	LLVMValueRef initial, next, step;
	LLVMBasicBlockRef latch;
	bool negative, is_pointer;
};

bool growth_find(LLVMValueRef phi, struct growth *growth);

/** The node of what grows, from the node of its first value. */
int loop_node(LLVMValueRef phi, const struct growth *growth, int initial, unsigned bits);

/** A comparison as ours; INDEX_NPREDICATES: there is none.
 * @param swapped its operands are exchanged; negated: it does not hold */
enum index_predicate predicate_of(LLVMIntPredicate predicate, bool swapped, bool negated);

/* ---- pointers (pointers.c) ---- */

/* What a pointer is based on: an argument's number, or */
enum { BASE_UNKNOWN = -1, BASE_OWN = -2 /* memory that is no buffer */ };

struct pointer {
	int base;
	int node; /* bytes from there; -1: unknown */
};

struct pointer pointer_of(LLVMValueRef value);

/* ---- what is known of values (memo.c) ---- */

enum memo_state { MEMO_NEW, MEMO_BEGUN, MEMO_MADE };

struct memo {
	LLVMValueRef value;
	enum memo_state node_state, pointer_state;
	int node;
	struct pointer pointer;
	unsigned walk; /* the latest one that came by */
};

struct memo *memo_of(LLVMValueRef value);

/** Begins to go through values, each of which is to be looked at once. */
void walk_begin(void);
/** Whether a value is looked at for the first time. */
bool walk_first(LLVMValueRef value);

/* ---- accesses (accesses.c) ---- */

bool argument_is_buffer(unsigned argument);
void refuse_print(const char *why);
void accesses_print(void);

/* ---- blocks (blocks.c) ---- */

extern LLVMBasicBlockRef blocks[MAXBLOCKS];
extern unsigned nblocks;
/* Where each goes to: successors[first_successor[b]] and on. */
extern unsigned successors[MAXEDGES], first_successor[MAXBLOCKS + 1];

/** @return whether there are few enough blocks to follow conditions */
bool blocks_find(void);
unsigned block_index(LLVMBasicBlockRef block);

/** Marks the blocks that are reached from the first one.
 * @param without a block that is not gone through; NULL: none
 * @param barred for each block the successor that it does not go to; -1: none. NULL: none */
void reach(LLVMBasicBlockRef without, const signed char *barred, bool *reached);

/** Whether all counters in an address are of loops in each of whose rounds a block is. */
bool counts_every(LLVMValueRef value, LLVMBasicBlockRef block);

/* ---- conditions (guards.c) ---- */

/* Where an access stands: the guards in front of it, and whether it is reached for sure
 * behind them. */
struct place {
	bool always;
	bool every; /* also in every round of the loops that the address counts */
	unsigned nguards;
	int guards[INDEX_MAXGUARDS];
};

/** Prints the guards in front of a block. */
struct place place_of(LLVMBasicBlockRef block);

#endif
