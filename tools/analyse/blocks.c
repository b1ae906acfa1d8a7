/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Conditions under which a block is reached, and blocks that every iteration of a loop
 * goes through.
 */
#include "config.h"

#include <stdio.h>
#include <string.h>

#include "tools/analyse/analyse.h"

static LLVMBasicBlockRef blocks[MAXBLOCKS];
static unsigned nblocks;
static bool all_found;
/* Where each goes to: successors[first_successor[b]] and on. */
static unsigned successors[MAXEDGES], first_successor[MAXBLOCKS + 1];

static unsigned block_index(LLVMBasicBlockRef block)
{
	unsigned i = 0;

	while (i < nblocks && blocks[i] != block)
		i++;
	return i;
}

/* Marks the blocks that are reached from the first one: without going through a block (NULL:
 * none is left out), and not to the barred successor of each block (-1: none is barred). */
static void reach(LLVMBasicBlockRef without, const signed char *barred, bool *reached)
{
	static unsigned stack[MAXBLOCKS];
	unsigned n = 0;

	memset(reached, 0, nblocks * sizeof(*reached));
	if (blocks[0] == without)
		return;
	stack[n++] = 0;
	reached[0] = true;
	while (n) {
		unsigned at = stack[--n];

		for (unsigned e = first_successor[at]; e < first_successor[at + 1]; e++) {
			unsigned to = successors[e];

			if (blocks[to] == without || reached[to] ||
			    (barred && barred[at] == (int)(e - first_successor[at])))
				continue;
			reached[to] = true;
			stack[n++] = to;
		}
	}
}

bool block_find_all(void)
{
	unsigned nedges = 0;

	for (LLVMBasicBlockRef block = LLVMGetFirstBasicBlock(analyse_kernel); block;
	     block = LLVMGetNextBasicBlock(block)) {
		if (nblocks == MAXBLOCKS)
			return false;
		blocks[nblocks++] = block;
	}
	for (unsigned b = 0; b < nblocks; b++) {
		LLVMValueRef end = LLVMGetBasicBlockTerminator(blocks[b]);
		unsigned n = LLVMGetNumSuccessors(end);

		if (nedges + n > MAXEDGES)
			return false;
		first_successor[b] = nedges;
		for (unsigned k = 0; k < n; k++)
			successors[nedges++] = block_index(LLVMGetSuccessor(end, k));
	}
	first_successor[nblocks] = nedges;
	all_found = true;
	return true;
}

/* ---- iterations of loops ---- */

static bool dominates(unsigned block, unsigned other)
{
	static bool reached[MAXBLOCKS][MAXBLOCKS], known[MAXBLOCKS];

	if (!known[block])
		reach(blocks[block], NULL, reached[block]);
	known[block] = true;
	return block == other || !reached[block][other];
}

bool block_dominates(LLVMBasicBlockRef block, LLVMBasicBlockRef other)
{
	return all_found && dominates(block_index(block), block_index(other));
}

static bool goes_to(unsigned block, unsigned to)
{
	for (unsigned e = first_successor[block]; e < first_successor[block + 1]; e++)
		if (successors[e] == to)
			return true;
	return false;
}

/* The one block that goes back to a loop's header; nblocks: there is none, or several. */
static unsigned latch_find(unsigned header)
{
	unsigned latch = nblocks;

	for (unsigned b = 0; b < nblocks; b++)
		if (goes_to(b, header) && dominates(header, b)) {
			if (latch < nblocks)
				return nblocks;
			latch = b;
		}
	return latch;
}

/* The blocks from which the latch is reached without the header, and the header. */
static void body_find(unsigned header, unsigned latch, bool *body)
{
	bool more = true;

	memset(body, 0, nblocks * sizeof(*body));
	body[header] = body[latch] = true;
	while (more) {
		more = false;
		for (unsigned b = 0; b < nblocks; b++) {
			bool leads = false;

			for (unsigned e = first_successor[b]; e < first_successor[b + 1]; e++)
				leads = leads || (body[successors[e]] && successors[e] != header);
			if (leads && !body[b] && dominates(header, b))
				body[b] = more = true;
		}
	}
}

/* For each block the edges that nobody takes for whom its guards hold: the number of the successor
 * of each block, -1 where there is none. */
static signed char guarded[MAXBLOCKS][MAXBLOCKS];

/* Whether a loop's latch goes on by one comparison, not by one of several. */
static bool ends_by_one_test(unsigned latch)
{
	LLVMValueRef end = LLVMGetBasicBlockTerminator(blocks[latch]);

	return LLVMIsABranchInst(end) && LLVMIsConditional(end) &&
	       value_is_compare(LLVMGetCondition(end));
}

/* Whether a loop can only end at its latch, and a block is part of every iteration for those for
 * whom its guards hold. A guard may be in the loop: if its values are others in each iteration,
 * index_uses() does not take it for one that holds. */
static bool every_iteration(unsigned header, unsigned block)
{
	static bool body[MAXBLOCKS], skipped[MAXBLOCKS];
	unsigned latch = latch_find(header);
	bool more = true;

	if (latch == nblocks)
		return false;
	body_find(header, latch, body);
	if (!body[block] || !ends_by_one_test(latch))
		return false;
	for (unsigned b = 0; b < nblocks; b++)
		for (unsigned e = first_successor[b]; e < first_successor[b + 1]; e++)
			if (body[b] && b != latch && !body[successors[e]])
				return false;
	/* Blocks that are reached from the header without the block. */
	memset(skipped, 0, sizeof(skipped));
	skipped[header] = header != block;
	while (more) {
		more = false;
		for (unsigned b = 0; b < nblocks; b++)
			for (unsigned e = first_successor[b]; e < first_successor[b + 1]; e++) {
				unsigned to = successors[e];

				if (guarded[block][b] == (int)(e - first_successor[b]))
					continue;
				if (skipped[b] && body[to] && to != block && !skipped[to])
					skipped[to] = more = true;
			}
	}
	return !skipped[latch];
}

static bool every_iteration_known(unsigned header, unsigned block)
{
	static signed char known[MAXBLOCKS][MAXBLOCKS]; /* 0: not yet */

	if (!known[header][block])
		known[header][block] = every_iteration(header, block) ? 1 : -1;
	return known[header][block] > 0;
}

static bool counts_all(LLVMValueRef value, unsigned block)
{
	struct growth growth;

	if (!LLVMIsAInstruction(value) || !value_walk_first(value))
		return true; /* the first false result ends the walk */
	if (LLVMIsAPHINode(value))
		return value_growth(value, &growth) && !growth.varies &&
		       every_iteration_known(block_index(LLVMGetInstructionParent(value)), block) &&
		       counts_all(growth.initial, block);
	for (int i = 0; i < LLVMGetNumOperands(value); i++)
		if (!counts_all(LLVMGetOperand(value, i), block))
			return false;
	return true;
}

bool block_counts_every(LLVMValueRef value, LLVMBasicBlockRef block)
{
	value_walk_begin();
	return counts_all(value, block_index(block));
}

/* ---- conditions ---- */

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

/* ---- tests of loops ---- */

/* Takes the comparisons all of which have to hold. Others are left out. */
static void tests_take(LLVMValueRef condition, bool negated, struct block_tests *tests, int depth)
{
	LLVMValueRef a, b;

	if (value_is_compare(condition) && tests->n < BLOCK_MAXTESTS) {
		tests->compares[tests->n] = condition;
		tests->negated[tests->n++] = negated;
	} else if (depth < 8 && sides_find(condition, negated, &a, &b)) {
		tests_take(a, negated, tests, depth + 1);
		tests_take(b, negated, tests, depth + 1);
	} else if (depth < 8 && LLVMIsAFreezeInst(condition)) {
		tests_take(LLVMGetOperand(condition, 0), negated, tests, depth + 1);
	}
}

void block_loop_tests(LLVMBasicBlockRef header, LLVMBasicBlockRef latch, struct block_tests *tests)
{
	static bool body[MAXBLOCKS];
	unsigned first = block_index(header), last = block_index(latch);

	tests->n = 0;
	if (!all_found || latch_find(first) != last)
		return;
	body_find(first, last, body);
	for (unsigned i = 0; i <= nblocks; i++) {
		unsigned b = i ? i - 1 : last; /* the latch first */
		LLVMValueRef end = LLVMGetBasicBlockTerminator(blocks[b]);
		bool stays[2];

		if (!body[b] || (i && b == last) || !dominates(b, last) ||
		    !LLVMIsABranchInst(end) || !LLVMIsConditional(end))
			continue;
		for (int k = 0; k < 2; k++) {
			unsigned to = block_index(LLVMGetSuccessor(end, k));

			stays[k] = b == last ? to == first : body[to];
		}
		if (stays[0] != stays[1])
			tests_take(LLVMGetCondition(end), stays[1], tests, 0);
	}
}

/* ---- guards ---- */

/* Adds the comparisons of a condition.
 * @return whether they are the whole condition */
static bool condition_add(LLVMValueRef condition, bool negated, struct place *place, int depth)
{
	LLVMValueRef a, b;
	bool all;

	if (depth > 8)
		return false;
	if (value_is_compare(condition)) {
		int guard = place->nguards < INDEX_MAXGUARDS ? value_guard(condition, negated) : -1;

		if (guard >= 0)
			place->guards[place->nguards++] = guard;
		return guard >= 0;
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

/* Whether every path to a block takes one edge. If so, the edge's condition still holds in the
 * block: on a path that computed one of the condition's values anew, or that took the other
 * edge last, the block could also be reached without the edge. */
static bool edge_dominates(unsigned from, unsigned successor, LLVMBasicBlockRef block)
{
	static signed char barred[MAXBLOCKS];
	static bool reached[MAXBLOCKS];

	memset(barred, -1, nblocks);
	barred[from] = successor;
	reach(NULL, barred, reached);
	return !reached[block_index(block)];
}

/* Whether an edge leaves a loop. Who gets into the loop takes it some time, or another edge out of
 * the loop: its condition keeps nobody away. */
static bool leaves_loop(unsigned block, unsigned to)
{
	static bool body[MAXBLOCKS];

	for (unsigned header = 0; header < nblocks; header++) {
		unsigned latch = latch_find(header);

		if (latch == nblocks)
			continue;
		body_find(header, latch, body);
		if (body[block] && !body[to])
			return true;
	}
	return false;
}

static bool leaves_loop_known(unsigned block, unsigned successor)
{
	static signed char known[MAXEDGES]; /* 0: not yet */
	unsigned edge = first_successor[block] + successor;

	if (!known[edge])
		known[edge] = leaves_loop(block, successors[edge]) ? 1 : -1;
	return known[edge] > 0;
}

/* Whether every path through the kernel goes through a block. */
static bool inevitable(LLVMBasicBlockRef block, const signed char *barred)
{
	static bool reached[MAXBLOCKS];

	reach(block, barred, reached);
	for (unsigned b = 0; b < nblocks; b++)
		if (reached[b] && first_successor[b] == first_successor[b + 1])
			return false;
	return true;
}

struct place block_place(LLVMBasicBlockRef block)
{
	signed char *barred = guarded[block_index(block)];
	struct place place = {0};

	memset(barred, -1, nblocks);
	for (unsigned b = 0; b < nblocks; b++) {
		LLVMValueRef end = LLVMGetBasicBlockTerminator(blocks[b]);

		if (!LLVMIsABranchInst(end) || !LLVMIsConditional(end) ||
		    LLVMGetSuccessor(end, 0) == LLVMGetSuccessor(end, 1))
			continue;
		for (int k = 0; k < 2; k++)
			if (edge_dominates(b, k, block) && !leaves_loop_known(b, k) &&
			    condition_add(LLVMGetCondition(end), k == 1, &place, 0))
				barred[b] = 1 - k;
	}
	place.always = inevitable(block, barred);
	return place;
}
