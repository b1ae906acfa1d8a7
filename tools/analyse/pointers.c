/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Pointers: followed back to the argument that they are based on.
 */
#include "config.h"

#include "tools/analyse/analyse.h"

static const struct pointer nowhere = {BASE_UNKNOWN, -1}, own = {BASE_OWN, -1};

/* One index of an address. An unsigned one of 32 bits is read as signed: where the two
 * differ the address is beyond every buffer for which the description is used. */
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

static struct pointer element_pointer(LLVMValueRef value)
{
	struct pointer pointer = pointer_of(LLVMGetOperand(value, 0));
	LLVMTypeRef type = LLVMGetGEPSourceElementType(value);

	if (pointer.base < 0 || pointer.node < 0)
		return pointer;
	for (int i = 1; i < LLVMGetNumOperands(value); i++) {
		LLVMValueRef index = LLVMGetOperand(value, i);

		if (i > 1 && LLVMGetTypeKind(type) == LLVMStructTypeKind) {
			unsigned field = LLVMConstIntGetZExtValue(index);

			pointer.node =
			    node_sum(pointer.node,
			             node_constant(LLVMOffsetOfElement(data_layout, type, field)));
			type = LLVMStructGetTypeAtIndex(type, field);
			continue;
		}
		if (i > 1)
			type = LLVMGetElementType(type);
		pointer.node =
		    node_sum(pointer.node, node_product(offset_node(index),
		                                        LLVMABISizeOfType(data_layout, type)));
	}
	return pointer;
}

static struct pointer either(struct pointer a, struct pointer b)
{
	if (a.base != b.base)
		return nowhere;
	if (a.base < 0 || a.node < 0 || b.node < 0)
		return (struct pointer){a.base, -1};
	return (struct pointer){a.base, node_two(INDEX_SELECT, 64, a.node, b.node)};
}

static struct pointer phi_pointer(LLVMValueRef phi)
{
	struct growth growth;
	struct pointer pointer;

	if (growth_find(phi, &growth) && growth.is_pointer) {
		pointer = pointer_of(growth.initial);
		if (pointer.base >= 0 && pointer.node >= 0)
			pointer.node = loop_node(phi, &growth, pointer.node, 64);
		return pointer;
	}
	pointer = pointer_of(LLVMGetIncomingValue(phi, 0));
	for (unsigned k = 1; k < LLVMCountIncoming(phi); k++)
		pointer = either(pointer, pointer_of(LLVMGetIncomingValue(phi, k)));
	return pointer;
}

static struct pointer argument_pointer(LLVMValueRef value)
{
	for (unsigned i = 0; i < LLVMCountParams(analysed); i++)
		if (LLVMGetParam(analysed, i) == value)
			return (struct pointer){i, node_constant(0)};
	return nowhere;
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
		return space == SPACE_CONSTANT ? own : nowhere; /* parts of a table */
	if (!LLVMIsAInstruction(value))
		return nowhere;
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
		return either(pointer_of(LLVMGetOperand(value, 1)),
		              pointer_of(LLVMGetOperand(value, 2)));
	default:
		return nowhere;
	}
}

/* One that goes by itself is not followed. */
struct pointer pointer_of(LLVMValueRef value)
{
	struct memo *memo = memo_of(value);

	if (memo->pointer_state == MEMO_BEGUN)
		return nowhere;
	if (memo->pointer_state == MEMO_NEW) {
		memo->pointer_state = MEMO_BEGUN;
		memo->pointer = pointer_make(value);
		memo->pointer_state = MEMO_MADE;
	}
	return memo->pointer;
}
