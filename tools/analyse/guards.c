/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Conditions under which a block is reached.
 */
#include "config.h"

#include <stdio.h>
#include <string.h>

#include "tools/analyse/analyse.h"

static struct {
	LLVMValueRef compare;
	bool negated;
	int guard;
} guards[MAXNODES];
static unsigned nguards;

static bool is_compare(LLVMValueRef value)
{
	return LLVMIsAICmpInst(value) &&
	       LLVMGetTypeKind(LLVMTypeOf(LLVMGetOperand(value, 0))) == LLVMIntegerTypeKind &&
	       LLVMGetIntTypeWidth(LLVMTypeOf(LLVMGetOperand(value, 0))) <= 64;
}

/* The guard's number. */
static int guard_print(LLVMValueRef compare, bool negated)
{
	enum index_predicate predicate =
	    predicate_of(LLVMGetICmpPredicate(compare), false, negated);
	int a, b;

	for (unsigned g = 0; g < nguards; g++)
		if (guards[g].compare == compare && guards[g].negated == negated)
			return guards[g].guard;
	a = value_node(LLVMGetOperand(compare, 0));
	b = value_node(LLVMGetOperand(compare, 1));
	printf("guard %d %d %d\n", (int)predicate, a, b);
	guards[nguards].compare = compare;
	guards[nguards].negated = negated;
	guards[nguards].guard = nguards;
	return nguards++;
}

static bool is_constant(LLVMValueRef value, unsigned long long number)
{
	return LLVMIsAConstantInt(value) && LLVMConstIntGetZExtValue(value) == number;
}

/* The two sides of "both" (or, negated, of "not either"). */
static bool sides_find(LLVMValueRef condition, bool negated, LLVMValueRef *a, LLVMValueRef *b)
{
	LLVMOpcode op;

	if (!LLVMIsAInstruction(condition))
		return false;
	op = LLVMGetInstructionOpcode(condition);
	*a = LLVMGetOperand(condition, 0);
	if (op == (negated ? LLVMOr : LLVMAnd)) {
		*b = LLVMGetOperand(condition, 1);
		return true;
	}
	if (op != LLVMSelect)
		return false;
	*b = LLVMGetOperand(condition, negated ? 2 : 1);
	return is_constant(LLVMGetOperand(condition, negated ? 1 : 2), negated);
}

/* Adds the comparisons that make up a condition.
 * @return whether they are all of it */
static bool condition_add(LLVMValueRef condition, bool negated, struct place *place, int depth)
{
	LLVMValueRef a, b;
	bool all;

	if (depth > 8)
		return false;
	if (is_compare(condition)) {
		if (place->nguards == INDEX_MAXGUARDS || nguards == MAXNODES)
			return false;
		place->guards[place->nguards++] = guard_print(condition, negated);
		return true;
	}
	if (sides_find(condition, negated, &a, &b)) {
		all = condition_add(a, negated, place, depth + 1);
		return condition_add(b, negated, place, depth + 1) && all;
	}
	if (!LLVMIsAInstruction(condition))
		return false;
	if (LLVMGetInstructionOpcode(condition) == LLVMFreeze)
		return condition_add(LLVMGetOperand(condition, 0), negated, place, depth + 1);
	return LLVMGetInstructionOpcode(condition) == LLVMXor &&
	       is_constant(LLVMGetOperand(condition, 1), 1) &&
	       condition_add(LLVMGetOperand(condition, 0), !negated, place, depth + 1);
}

/* Whether every way to a block goes along one edge. Where it does, the condition held when
 * it was last asked before, with the values that are still those of all that the block can
 * use: a way on which one of them is new, or the answer another, would also be there
 * without the edge. */
static bool edge_dominates(unsigned from, unsigned successor, LLVMBasicBlockRef block)
{
	static signed char barred[MAXBLOCKS];
	static bool reached[MAXBLOCKS];

	memset(barred, -1, nblocks);
	barred[from] = successor;
	reach(NULL, barred, reached);
	return !reached[block_index(block)];
}

/* Whether a kernel cannot end without having been in a block. */
static bool inevitable(LLVMBasicBlockRef block, const signed char *barred)
{
	static bool reached[MAXBLOCKS];

	reach(block, barred, reached);
	for (unsigned b = 0; b < nblocks; b++)
		if (reached[b] && first_successor[b] == first_successor[b + 1])
			return false;
	return true;
}

struct place place_of(LLVMBasicBlockRef block)
{
	static signed char barred[MAXBLOCKS];
	struct place place = {0};

	memset(barred, -1, nblocks);
	for (unsigned b = 0; b < nblocks; b++) {
		LLVMValueRef end = LLVMGetBasicBlockTerminator(blocks[b]);

		if (!LLVMIsABranchInst(end) || !LLVMIsConditional(end) ||
		    LLVMGetSuccessor(end, 0) == LLVMGetSuccessor(end, 1))
			continue;
		for (int k = 0; k < 2; k++)
			if (edge_dominates(b, k, block) &&
			    condition_add(LLVMGetCondition(end), k == 1, &place, 0))
				barred[b] = 1 - k;
	}
	place.always = inevitable(block, barred);
	return place;
}
