/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Which ways there are from block to block, and what every round of a loop goes through.
 */
#include "config.h"

#include <string.h>

#include "tools/analyse/analyse.h"

LLVMBasicBlockRef blocks[MAXBLOCKS];
unsigned nblocks;
unsigned successors[MAXEDGES], first_successor[MAXBLOCKS + 1];

unsigned block_index(LLVMBasicBlockRef block)
{
	unsigned i = 0;

	while (i < nblocks && blocks[i] != block)
		i++;
	return i;
}

void reach(LLVMBasicBlockRef without, const signed char *barred, bool *reached)
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

bool blocks_find(void)
{
	unsigned nedges = 0;

	for (LLVMBasicBlockRef block = LLVMGetFirstBasicBlock(analysed); block;
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
	return true;
}

/* ---- rounds of loops ---- */

static bool dominates(unsigned block, unsigned other)
{
	static bool reached[MAXBLOCKS][MAXBLOCKS], known[MAXBLOCKS];

	if (!known[block])
		reach(blocks[block], NULL, reached[block]);
	known[block] = true;
	return block == other || !reached[block][other];
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

/* Whether a loop can only end at its latch, and every round goes through a block. */
static bool every_round(unsigned header, unsigned block)
{
	static bool body[MAXBLOCKS], skipped[MAXBLOCKS];
	unsigned latch = latch_find(header);
	bool more = true;

	if (latch == nblocks)
		return false;
	body_find(header, latch, body);
	if (!body[block])
		return false;
	for (unsigned b = 0; b < nblocks; b++)
		for (unsigned e = first_successor[b]; e < first_successor[b + 1]; e++)
			if (body[b] && b != latch && !body[successors[e]])
				return false;
	/* What is reached from the header without the block. */
	memset(skipped, 0, sizeof(skipped));
	skipped[header] = header != block;
	while (more) {
		more = false;
		for (unsigned b = 0; b < nblocks; b++)
			for (unsigned e = first_successor[b]; e < first_successor[b + 1]; e++) {
				unsigned to = successors[e];

				if (skipped[b] && body[to] && to != block && !skipped[to])
					skipped[to] = more = true;
			}
	}
	return !skipped[latch];
}

static bool every_round_known(unsigned header, unsigned block)
{
	static signed char known[MAXBLOCKS][MAXBLOCKS]; /* 0: not yet */

	if (!known[header][block])
		known[header][block] = every_round(header, block) ? 1 : -1;
	return known[header][block] > 0;
}

static bool counts_all(LLVMValueRef value, unsigned block)
{
	struct growth growth;

	if (!LLVMIsAInstruction(value) || !walk_first(value))
		return true; /* where it was not so the walk has ended */
	if (LLVMIsAPHINode(value))
		return growth_find(value, &growth) &&
		       every_round_known(block_index(LLVMGetInstructionParent(value)), block) &&
		       counts_all(growth.initial, block);
	for (int i = 0; i < LLVMGetNumOperands(value); i++)
		if (!counts_all(LLVMGetOperand(value, i), block))
			return false;
	return true;
}

bool counts_every(LLVMValueRef value, LLVMBasicBlockRef block)
{
	walk_begin();
	return counts_all(value, block_index(block));
}
