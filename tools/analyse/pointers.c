/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Pointers: a pointer is followed back to the argument that it is based on, and its offset becomes
 * a node of the description.
 */
#include "config.h"

#include <stdlib.h>

#include "tools/analyse/analyse.h"

const struct pointer pointer_nowhere = {BASE_UNKNOWN, -1, NULL};

static const struct pointer own = {BASE_OWN, -1, NULL}, none = {BASE_NONE, -1, NULL};

/* Larger constants may be addresses. */
enum { MOST_NO_ADDRESS = 0xffff };

bool pointer_is_step(LLVMValueRef instruction)
{
	switch (LLVMGetInstructionOpcode(instruction)) {
	case LLVMAdd:
	case LLVMSub:
	case LLVMAnd:
	case LLVMOr:
	case LLVMXor:
	case LLVMShl:
	case LLVMLShr:
	case LLVMAShr:
	case LLVMTrunc:
	case LLVMZExt:
	case LLVMSExt:
	case LLVMFreeze:
		return true;
	default:
		return false;
	}
}

static bool is_of_items(LLVMValueRef value)
{
	if (LLVMIsNull(value))
		return true;
	if (LLVMIsAConstantInt(value))
		return LLVMConstIntGetZExtValue(value) <= MOST_NO_ADDRESS;
	if (!LLVMIsAInstruction(value))
		return false;
	if (!value_walk_first(value))
		return true;
	switch (LLVMGetInstructionOpcode(value)) {
	case LLVMCall:
		return value_query_known(value_called_name(value));
	case LLVMMul:
	case LLVMIntToPtr:
	case LLVMGetElementPtr:
	case LLVMBitCast:
		break;
	default:
		if (!pointer_is_step(value))
			return false;
	}
	for (int i = 0; i < LLVMGetNumOperands(value); i++)
		if (!is_of_items(LLVMGetOperand(value, i)))
			return false;
	return true;
}

bool pointer_is_no_address(LLVMValueRef value)
{
	value_walk_begin();
	return is_of_items(value);
}

/* An index of an address. An unsigned index of 32 bits is taken as signed: where the two
 * differ, the address is beyond every buffer for which the description is used. */
static int offset_node(LLVMValueRef index)
{
	LLVMValueRef from;

	if (LLVMIsAZExtInst(index)) {
		from = LLVMGetOperand(index, 0);
		if (LLVMGetIntTypeWidth(LLVMTypeOf(from)) == 32)
			return node_one(INDEX_IN_BOUNDS, 32, value_node(from));
	}
	return value_node(index);
}

/* A pointer in the memory of the process, which analyses one kernel. */
static const struct pointer *pointer_keep(struct pointer pointer)
{
	struct pointer *kept = malloc(sizeof(*kept));

	if (!kept)
		node_too_large();
	*kept = pointer;
	return kept;
}

bool pointer_is_followed(struct pointer pointer)
{
	return (pointer.base >= 0 && pointer.node >= 0) || pointer.other;
}

struct pointer pointer_add(struct pointer pointer, int bytes)
{
	if (pointer.base >= 0 && pointer.node >= 0)
		pointer.node = node_sum(pointer.node, bytes);
	if (pointer.other)
		pointer.other = pointer_keep(pointer_add(*pointer.other, bytes));
	return pointer;
}

static struct pointer element_pointer(LLVMValueRef value)
{
	struct pointer pointer = pointer_of(LLVMGetOperand(value, 0));
	LLVMTypeRef type = LLVMGetGEPSourceElementType(value);

	if (pointer.base == BASE_NONE && !pointer_is_no_address(value))
		return pointer_nowhere;
	if (!pointer_is_followed(pointer))
		return pointer;
	for (int i = 1; i < LLVMGetNumOperands(value); i++) {
		LLVMValueRef index = LLVMGetOperand(value, i);

		if (i > 1 && LLVMGetTypeKind(type) == LLVMStructTypeKind) {
			unsigned field = LLVMConstIntGetZExtValue(index);

			pointer = pointer_add(pointer, node_constant(LLVMOffsetOfElement(
			                                   analyse_layout, type, field)));
			type = LLVMStructGetTypeAtIndex(type, field);
			continue;
		}
		if (i > 1)
			type = LLVMGetElementType(type);
		pointer =
		    pointer_add(pointer, node_product(offset_node(index),
		                                      LLVMABISizeOfType(analyse_layout, type)));
	}
	return pointer;
}

/* @param condition says which of the offsets; NULL: none does */
static int either_node(LLVMValueRef condition, int a, int b)
{
	if (a < 0 || b < 0)
		return -1;
	return condition ? value_choice(condition, 64, a, b) : node_two(INDEX_SELECT, 64, a, b);
}

/* A pointer with one more place, of an argument. */
static struct pointer pointer_join(struct pointer pointer, int base, int node)
{
	if (pointer.base == base)
		pointer.node = either_node(NULL, pointer.node, node);
	else if (pointer.other)
		pointer.other = pointer_keep(pointer_join(*pointer.other, base, node));
	else
		pointer.other = pointer_keep((struct pointer){base, node, NULL});
	return pointer;
}

/* @param condition says which; NULL: none does */
static struct pointer either(LLVMValueRef condition, struct pointer a, struct pointer b)
{
	if (a.base == b.base && !a.other && !b.other)
		return (struct pointer){
		    a.base, a.base < 0 ? -1 : either_node(condition, a.node, b.node), NULL};
	if (a.base == BASE_NONE)
		return b;
	if (b.base == BASE_NONE)
		return a;
	if (a.base < 0 || b.base < 0)
		return pointer_nowhere;
	for (const struct pointer *place = &b; place; place = place->other)
		a = pointer_join(a, place->base, place->node);
	return a;
}

static struct pointer loop_pointer(LLVMValueRef phi, const struct growth *growth,
                                   struct pointer pointer)
{
	if (pointer.base >= 0 && pointer.node >= 0)
		pointer.node = value_loop_node(phi, growth, pointer.node, 64);
	if (pointer.other)
		pointer.other = pointer_keep(loop_pointer(phi, growth, *pointer.other));
	return pointer;
}

static struct pointer phi_pointer(LLVMValueRef phi)
{
	struct growth growth;
	struct pointer pointer;

	if (value_growth(phi, &growth) && growth.is_pointer)
		return loop_pointer(phi, &growth, pointer_of(growth.initial));
	pointer = pointer_of(LLVMGetIncomingValue(phi, 0));
	for (unsigned k = 1; k < LLVMCountIncoming(phi); k++)
		pointer = either(NULL, pointer, pointer_of(LLVMGetIncomingValue(phi, k)));
	return pointer;
}

static struct pointer argument_pointer(LLVMValueRef value)
{
	for (unsigned i = 0; i < LLVMCountParams(analyse_kernel); i++)
		if (LLVMGetParam(analyse_kernel, i) == value)
			return (struct pointer){i, node_constant(0), NULL};
	return pointer_nowhere;
}

static struct pointer pointer_make(LLVMValueRef value)
{
	unsigned space = LLVMGetPointerAddressSpace(LLVMTypeOf(value));

	if (space == SPACE_LOCAL || LLVMIsAAllocaInst(value) ||
	    (LLVMIsAGlobalVariable(value) && space != SPACE_GLOBAL))
		return own;
	if (LLVMIsAArgument(value))
		return space == SPACE_PRIVATE ? own : argument_pointer(value);
	if (LLVMIsAConstantExpr(value))
		return space == SPACE_CONSTANT ? own : pointer_nowhere; /* parts of a table */
	if (LLVMIsNull(value))
		return none;
	if (!LLVMIsAInstruction(value))
		return pointer_nowhere;
	switch (LLVMGetInstructionOpcode(value)) {
	case LLVMGetElementPtr:
		return element_pointer(value);
	case LLVMBitCast:
	case LLVMAddrSpaceCast:
	case LLVMFreeze:
		return pointer_of(LLVMGetOperand(value, 0));
	case LLVMPHI:
		return phi_pointer(value);
	case LLVMSelect:
		return either(LLVMGetOperand(value, 0), pointer_of(LLVMGetOperand(value, 1)),
		              pointer_of(LLVMGetOperand(value, 2)));
	case LLVMIntToPtr:
		return pointer_is_no_address(value) ? none : pointer_nowhere;
	default:
		return pointer_nowhere;
	}
}

/* A pointer that depends on itself is not followed. */
struct pointer pointer_of(LLVMValueRef value)
{
	struct memo *memo = value_memo(value);

	if (memo->pointer_state == MEMO_BEGUN)
		return pointer_nowhere;
	if (memo->pointer_state == MEMO_NEW) {
		memo->pointer_state = MEMO_BEGUN;
		memo->pointer = pointer_make(value);
		memo->pointer_state = MEMO_MADE;
	}
	return memo->pointer;
}
