/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * What a kernel's instructions read and write.
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/analyse/analyse.h"

bool argument_is_buffer(unsigned argument)
{
	LLVMTypeRef type = LLVMTypeOf(LLVMGetParam(analysed, argument));
	unsigned space;

	if (LLVMGetTypeKind(type) != LLVMPointerTypeKind)
		return false;
	space = LLVMGetPointerAddressSpace(type);
	return space == SPACE_GLOBAL || space == SPACE_CONSTANT;
}

void refuse_print(const char *why)
{
	printf("refuse %s\n", why);
}

/* Where nobody says what an access may rely on: OpenCL's largest type. */
enum { UNKNOWN_ALIGNMENT = 128 };

/* Nodes are computed anew behind other guards: so often. */
enum { MAXEVALUATIONS = 1 << 20 };

static void evaluation_count(const struct place *place)
{
	static struct place last;
	static unsigned evaluations;

	if (evaluations && place->nguards == last.nguards &&
	    !memcmp(place->guards, last.guards, last.nguards * sizeof(last.guards[0])))
		return;
	last = *place;
	if (++evaluations > MAXEVALUATIONS / (node_count() + 1))
		too_large();
}

static void access_line(unsigned argument, int node, unsigned long long bytes, const char *mode,
                        const struct place *place, unsigned alignment)
{
	printf("access %u %d %llu %s %s %u", argument, node, bytes, mode,
	       !place->always ? "maybe"
	       : place->every ? "every"
	                      : "always",
	       alignment);
	evaluation_count(place);
	for (unsigned g = 0; g < place->nguards; g++)
		printf(" %d", place->guards[g]);
	putchar('\n');
}

static void access_print(struct pointer pointer, unsigned long long bytes, const char *mode,
                         const struct place *place, unsigned alignment)
{
	struct place somewhere = *place;

	if (pointer.base == BASE_OWN)
		return;
	if (bytes > 65536)
		pointer.node = -1, bytes = 1;
	somewhere.always = place->always && pointer.base >= 0;
	for (unsigned i = 0; i < LLVMCountParams(analysed); i++)
		if ((pointer.base == (int)i || pointer.base == BASE_UNKNOWN) &&
		    argument_is_buffer(i))
			access_line(i, pointer.base == BASE_UNKNOWN ? -1 : pointer.node, bytes,
			            mode, &somewhere, alignment);
}

/* vloadN(offset, pointer) and vstoreN(data, offset, pointer). */
static bool vector_access(LLVMValueRef call, const char *name, const struct place *place)
{
	bool load = text_starts(name, "_Z6vload") || text_starts(name, "_Z7vload");
	bool store = text_starts(name, "_Z7vstore") || text_starts(name, "_Z8vstore");
	const char *digits = load    ? strstr(name, "vload") + 5
	                     : store ? strstr(name, "vstore") + 6
	                             : "";
	int n = atoi(digits);
	struct pointer pointer;
	LLVMTypeRef vector;
	unsigned long long bytes;

	if (n < 2 || n > 16)
		return false;
	vector = LLVMTypeOf(load ? call : LLVMGetOperand(call, 0));
	if (LLVMGetTypeKind(vector) != LLVMVectorTypeKind)
		return false;
	pointer = pointer_of(LLVMGetOperand(call, load ? 1 : 2));
	bytes = n * LLVMABISizeOfType(data_layout, LLVMGetElementType(vector));
	if (pointer.base >= 0 && pointer.node >= 0)
		pointer.node =
		    node_sum(pointer.node,
		             node_product(value_node(LLVMGetOperand(call, load ? 0 : 1)), bytes));
	access_print(pointer, bytes, load ? "read" : "write", place, bytes / n);
	return true;
}

static void copy_access(LLVMValueRef call, const struct place *place)
{
	LLVMValueRef length = LLVMGetOperand(call, 2);
	unsigned long long bytes =
	    LLVMIsAConstantInt(length) ? LLVMConstIntGetZExtValue(length) : ~0ULL;

	access_print(pointer_of(LLVMGetOperand(call, 0)), bytes, "write", place, UNKNOWN_ALIGNMENT);
	if (!text_starts(called_name(call), "llvm.memset"))
		access_print(pointer_of(LLVMGetOperand(call, 1)), bytes, "read", place,
		             UNKNOWN_ALIGNMENT);
}

/* What is called must be known to do the same in a range of groups as in all of them. */
static void call_check(LLVMValueRef call, const char *name)
{
	LLVMValueRef called = LLVMGetCalledValue(call);
	char *plain = (char *)name;
	int length = strlen(name);

	if (!LLVMIsAFunction(called) || !LLVMIsDeclaration(called)) {
		refuse_print("it calls a function that cannot be inlined");
	} else if (strstr(name, "printf")) {
		refuse_print("it prints");
	} else if (!function_known(name)) {
		if (text_starts(name, "_Z"))
			length = strtoul(name + 2, &plain, 10);
		printf("refuse it calls %.*s(), which may do something else in a part of the "
		       "NDRange\n",
		       length, plain);
	}
}

static void call_accesses(LLVMValueRef call, const struct place *place)
{
	const char *name = called_name(call);
	int n = LLVMGetNumArgOperands(call);

	if (text_starts(name, "llvm.memcpy.") || text_starts(name, "llvm.memmove.") ||
	    text_starts(name, "llvm.memset.")) {
		copy_access(call, place);
		return;
	}
	call_check(call, name);
	if (text_starts(name, "llvm.") || vector_access(call, name, place))
		return;
	for (int i = 0; i < n; i++) {
		LLVMValueRef argument = LLVMGetOperand(call, i);
		struct pointer pointer;

		if (LLVMGetTypeKind(LLVMTypeOf(argument)) != LLVMPointerTypeKind)
			continue;
		pointer = pointer_of(argument);
		if (pointer.base == BASE_OWN)
			continue;
		if (strstr(name, "atom"))
			refuse_print("it has atomic operations on global memory");
		pointer.node = -1;
		access_print(pointer, 1, "update", &(struct place){0}, UNKNOWN_ALIGNMENT);
	}
}

static void atomic_access(LLVMValueRef value)
{
	if (pointer_of(LLVMGetOperand(value, 0)).base != BASE_OWN)
		refuse_print("it has atomic operations on global memory");
}

/* Work-groups that wait for each other, or tell each other something, do so by these. */
static void order_check(LLVMValueRef value, unsigned pointer)
{
	if ((LLVMGetVolatile(value) || LLVMGetOrdering(value) != LLVMAtomicOrderingNotAtomic) &&
	    pointer_of(LLVMGetOperand(value, pointer)).base != BASE_OWN)
		refuse_print("it has volatile or atomic accesses to global memory");
}

static void instruction_accesses(LLVMValueRef value, const struct place *place)
{
	struct place there = *place;
	LLVMValueRef stored;

	switch (LLVMGetInstructionOpcode(value)) {
	case LLVMLoad:
		order_check(value, 0);
		access_print(pointer_of(LLVMGetOperand(value, 0)),
		             LLVMStoreSizeOfType(data_layout, LLVMTypeOf(value)), "read", place,
		             LLVMGetAlignment(value));
		break;
	case LLVMStore:
		order_check(value, 1);
		stored = LLVMGetOperand(value, 0);
		/* What takes the address of a buffer along is not followed. */
		if (LLVMGetTypeKind(LLVMTypeOf(stored)) == LLVMPointerTypeKind)
			refuse_print("it stores a pointer");
		there.every = place->always && counts_every(LLVMGetOperand(value, 1),
		                                            LLVMGetInstructionParent(value));
		access_print(pointer_of(LLVMGetOperand(value, 1)),
		             LLVMStoreSizeOfType(data_layout, LLVMTypeOf(stored)), "write", &there,
		             LLVMGetAlignment(value));
		break;
	case LLVMAtomicRMW:
	case LLVMAtomicCmpXchg:
		atomic_access(value);
		break;
	case LLVMCall:
		call_accesses(value, place);
		break;
	case LLVMFence:
	case LLVMVAArg:
	case LLVMInvoke:
	case LLVMCallBr:
		refuse_print("it has instructions that are not understood");
		break;
	default:
		break;
	}
}

static bool has_accesses(LLVMBasicBlockRef block)
{
	for (LLVMValueRef value = LLVMGetFirstInstruction(block); value;
	     value = LLVMGetNextInstruction(value))
		switch (LLVMGetInstructionOpcode(value)) {
		case LLVMLoad:
		case LLVMStore:
		case LLVMCall:
			return true;
		default:
			break;
		}
	return false;
}

void accesses_print(void)
{
	bool followed = blocks_find();

	for (LLVMBasicBlockRef block = LLVMGetFirstBasicBlock(analysed); block;
	     block = LLVMGetNextBasicBlock(block)) {
		struct place place = {0};

		if (followed && has_accesses(block))
			place = place_of(block);
		for (LLVMValueRef value = LLVMGetFirstInstruction(block); value;
		     value = LLVMGetNextInstruction(value))
			instruction_accesses(value, &place);
	}
}
