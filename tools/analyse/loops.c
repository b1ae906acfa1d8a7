/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Counters of loops: what they grow by, and how often the loop goes round.
 */
#include "config.h"

#include <stdio.h>

#include "tools/analyse/analyse.h"

enum index_predicate predicate_of(LLVMIntPredicate predicate, bool swapped, bool negated)
{
	/* In order: what it is; with operands swapped; negated. */
	static const struct {
		LLVMIntPredicate llvm, swapped, negated;
		enum index_predicate ours;
	} table[] = {
	    {LLVMIntNE, LLVMIntNE, LLVMIntEQ, INDEX_NE},
	    {LLVMIntSLT, LLVMIntSGT, LLVMIntSGE, INDEX_SLT},
	    {LLVMIntSLE, LLVMIntSGE, LLVMIntSGT, INDEX_SLE},
	    {LLVMIntSGT, LLVMIntSLT, LLVMIntSLE, INDEX_SGT},
	    {LLVMIntSGE, LLVMIntSLE, LLVMIntSLT, INDEX_SGE},
	    {LLVMIntULT, LLVMIntUGT, LLVMIntUGE, INDEX_ULT},
	    {LLVMIntULE, LLVMIntUGE, LLVMIntUGT, INDEX_ULE},
	    {LLVMIntUGT, LLVMIntULT, LLVMIntULE, INDEX_UGT},
	    {LLVMIntUGE, LLVMIntULE, LLVMIntULT, INDEX_UGE},
	    {LLVMIntEQ, LLVMIntEQ, LLVMIntNE, INDEX_EQ},
	};
	const size_t n = sizeof(table) / sizeof(table[0]);

	for (size_t i = 0; swapped && i < n; i++)
		if (table[i].llvm == predicate) {
			predicate = table[i].swapped;
			break;
		}
	for (size_t i = 0; negated && i < n; i++)
		if (table[i].llvm == predicate) {
			predicate = table[i].negated;
			break;
		}
	for (size_t i = 0; i < n; i++)
		if (table[i].llvm == predicate)
			return table[i].ours;
	return INDEX_NPREDICATES;
}

static bool leads_to_phi(LLVMValueRef value)
{
	if (!LLVMIsAInstruction(value) || !walk_first(value))
		return false;
	if (LLVMIsAPHINode(value))
		return true; /* of another loop, which may be inside */
	for (int i = 0; i < LLVMGetNumOperands(value); i++)
		if (leads_to_phi(LLVMGetOperand(value, i)))
			return true;
	return false;
}

/* Whether a value may differ between iterations. */
static bool depends(LLVMValueRef value)
{
	walk_begin();
	return leads_to_phi(value);
}

static bool step_find(LLVMValueRef phi, LLVMValueRef next, struct growth *growth)
{
	LLVMOpcode op;

	if (!LLVMIsAInstruction(next))
		return false;
	op = LLVMGetInstructionOpcode(next);
	growth->negative = op == LLVMSub;
	growth->is_pointer = op == LLVMGetElementPtr;
	if ((op == LLVMAdd || op == LLVMSub || op == LLVMGetElementPtr) &&
	    LLVMGetNumOperands(next) == 2 && LLVMGetOperand(next, 0) == phi)
		growth->step = LLVMGetOperand(next, 1);
	else if (op == LLVMAdd && LLVMGetOperand(next, 1) == phi)
		growth->step = LLVMGetOperand(next, 0);
	else
		return false;
	return true;
}

bool growth_find(LLVMValueRef phi, struct growth *growth)
{
	if (!LLVMIsAPHINode(phi) || LLVMCountIncoming(phi) != 2)
		return false;
	for (unsigned k = 0; k < 2; k++) {
		growth->next = LLVMGetIncomingValue(phi, k);
		growth->initial = LLVMGetIncomingValue(phi, 1 - k);
		growth->latch = LLVMGetIncomingBlock(phi, k);
		if (step_find(phi, growth->next, growth))
			return true;
	}
	return false;
}

static int step_node(const struct growth *growth, LLVMValueRef phi)
{
	int step = value_node(growth->step);

	if (growth->negative)
		return node_two(INDEX_SUB, 64, node_constant(0), step);
	if (growth->is_pointer)
		return node_product(
		    step,
		    LLVMABISizeOfType(data_layout, LLVMGetGEPSourceElementType(growth->next)));
	return step;
}

/* The trips as one counter of the loop tells them, or -1. */
static int counter_trips(LLVMValueRef counter, LLVMValueRef compare, bool negated,
                         LLVMBasicBlockRef header, LLVMBasicBlockRef latch)
{
	LLVMValueRef a = LLVMGetOperand(compare, 0), b = LLVMGetOperand(compare, 1), bound;
	struct growth growth;
	enum index_predicate predicate;
	bool swapped;
	char text[96];

	if (!growth_find(counter, &growth) || growth.latch != latch || growth.is_pointer)
		return -1;
	swapped = b == counter || b == growth.next;
	if (!swapped && a != counter && a != growth.next)
		return -1;
	bound = swapped ? a : b;
	predicate = predicate_of(LLVMGetICmpPredicate(compare), swapped, negated);
	if (predicate == INDEX_NPREDICATES || predicate == INDEX_EQ || depends(bound))
		return -1;
	int initial = value_node(growth.initial), step = step_node(&growth, counter);
	int limit = value_node(bound);

	snprintf(text, sizeof(text), " %d %d %d %d %d", initial, step, limit, (int)predicate,
	         (swapped ? b : a) == growth.next);
	return node_print(INDEX_TRIPS, LLVMGetIntTypeWidth(LLVMTypeOf(counter)), text);
}

/* How often a loop goes back: by the test at its end. */
static int trips_node(LLVMBasicBlockRef header, LLVMBasicBlockRef latch)
{
	LLVMValueRef branch = LLVMGetBasicBlockTerminator(latch), compare, value;

	if (!LLVMIsABranchInst(branch) || !LLVMIsConditional(branch))
		return node_unknown();
	compare = LLVMGetCondition(branch);
	if (!LLVMIsAICmpInst(compare) ||
	    LLVMGetTypeKind(LLVMTypeOf(LLVMGetOperand(compare, 0))) != LLVMIntegerTypeKind)
		return node_unknown();
	for (value = LLVMGetFirstInstruction(header); value && LLVMIsAPHINode(value);
	     value = LLVMGetNextInstruction(value)) {
		int node = counter_trips(value, compare, LLVMGetSuccessor(branch, 0) != header,
		                         header, latch);

		if (node >= 0)
			return node;
	}
	return node_unknown();
}

int loop_node(LLVMValueRef phi, const struct growth *growth, int initial, unsigned bits)
{
	int step = step_node(growth, phi);
	int trips = trips_node(LLVMGetInstructionParent(phi), growth->latch);
	char text[64];

	snprintf(text, sizeof(text), " %d %d %d", initial, step, trips);
	return node_print(INDEX_LOOP, bits, text);
}
