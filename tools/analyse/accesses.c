/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * What a kernel reads and writes: its arguments, the buffers that its pointers are based on,
 * and the accesses of its instructions.
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <llvm/Config/llvm-config.h>

#include "tools/analyse/analyse.h"

/* ---- arguments ---- */

static bool argument_is_buffer(unsigned argument)
{
	LLVMTypeRef type = LLVMTypeOf(LLVMGetParam(analyse_kernel, argument));
	unsigned space;

	if (LLVMGetTypeKind(type) != LLVMPointerTypeKind)
		return false;
	space = LLVMGetPointerAddressSpace(type);
	return space == SPACE_GLOBAL || space == SPACE_CONSTANT;
}

static void refuse_print(const char *why)
{
	printf("refuse %s\n", why);
}

/* Images, samplers and such: LLVM 14 has pointers to opaque structures for them, later versions
 * types of their own. */
static bool is_opaque(LLVMTypeRef type)
{
#if LLVM_VERSION_MAJOR >= 16
	return LLVMGetTypeKind(type) == LLVMTargetExtTypeKind;
#else
	LLVMTypeRef to;

	if (LLVMGetTypeKind(type) != LLVMPointerTypeKind)
		return false;
	to = LLVMGetElementType(type);
	return LLVMGetTypeKind(to) == LLVMStructTypeKind && LLVMIsOpaqueStruct(to);
#endif
}

static void argument_print(unsigned argument)
{
	LLVMTypeRef type = LLVMTypeOf(LLVMGetParam(analyse_kernel, argument));
	LLVMTypeKind kind = LLVMGetTypeKind(type);

	if (argument_is_buffer(argument))
		puts("argument buffer");
	else if (kind == LLVMPointerTypeKind && LLVMGetPointerAddressSpace(type) == SPACE_LOCAL)
		puts("argument local");
	else if (kind == LLVMIntegerTypeKind && LLVMGetIntTypeWidth(type) <= 64)
		printf("argument integer %u\n", LLVMGetIntTypeWidth(type));
	else
		puts("argument other");
	if (is_opaque(type))
		refuse_print("it has an image or another opaque argument");
}

/* Each device has its own copy of a variable in global memory, so it cannot be shared. */
static void globals_check(LLVMModuleRef module)
{
	for (LLVMValueRef global = LLVMGetFirstGlobal(module); global;
	     global = LLVMGetNextGlobal(global)) {
		unsigned space = LLVMGetPointerAddressSpace(LLVMTypeOf(global));

		if (space != SPACE_CONSTANT && space != SPACE_LOCAL &&
		    !LLVMIsGlobalConstant(global))
			refuse_print("its source has variables in global memory");
	}
}

/* ---- pointers ---- */

static const struct pointer nowhere = {BASE_UNKNOWN, -1}, own = {BASE_OWN, -1};

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

static struct pointer pointer_of(LLVMValueRef value);

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

			pointer.node = node_sum(pointer.node, node_constant(LLVMOffsetOfElement(
			                                          analyse_layout, type, field)));
			type = LLVMStructGetTypeAtIndex(type, field);
			continue;
		}
		if (i > 1)
			type = LLVMGetElementType(type);
		pointer.node =
		    node_sum(pointer.node, node_product(offset_node(index),
		                                        LLVMABISizeOfType(analyse_layout, type)));
	}
	return pointer;
}

/* @param condition says which; NULL: none does */
static struct pointer either(LLVMValueRef condition, struct pointer a, struct pointer b)
{
	if (a.base != b.base)
		return nowhere;
	if (a.base < 0 || a.node < 0 || b.node < 0)
		return (struct pointer){a.base, -1};
	return (struct pointer){a.base, condition ? value_choice(condition, 64, a.node, b.node)
	                                          : node_two(INDEX_SELECT, 64, a.node, b.node)};
}

static struct pointer phi_pointer(LLVMValueRef phi)
{
	struct growth growth;
	struct pointer pointer;

	if (value_growth(phi, &growth) && growth.is_pointer) {
		pointer = pointer_of(growth.initial);
		if (pointer.base >= 0 && pointer.node >= 0)
			pointer.node = value_loop_node(phi, &growth, pointer.node, 64);
		return pointer;
	}
	pointer = pointer_of(LLVMGetIncomingValue(phi, 0));
	for (unsigned k = 1; k < LLVMCountIncoming(phi); k++)
		pointer = either(NULL, pointer, pointer_of(LLVMGetIncomingValue(phi, k)));
	return pointer;
}

static struct pointer argument_pointer(LLVMValueRef value)
{
	for (unsigned i = 0; i < LLVMCountParams(analyse_kernel); i++)
		if (LLVMGetParam(analyse_kernel, i) == value)
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
		return either(LLVMGetOperand(value, 0), pointer_of(LLVMGetOperand(value, 1)),
		              pointer_of(LLVMGetOperand(value, 2)));
	default:
		return nowhere;
	}
}

/* A pointer that depends on itself is not followed. */
static struct pointer pointer_of(LLVMValueRef value)
{
	struct memo *memo = value_memo(value);

	if (memo->pointer_state == MEMO_BEGUN)
		return nowhere;
	if (memo->pointer_state == MEMO_NEW) {
		memo->pointer_state = MEMO_BEGUN;
		memo->pointer = pointer_make(value);
		memo->pointer_state = MEMO_MADE;
	}
	return memo->pointer;
}

/* ---- accesses ---- */

/* The alignment of an access that does not say it: that of OpenCL's largest type. */
enum { UNKNOWN_ALIGNMENT = 128 };

/* Heddle evaluates all nodes anew behind other guards; this bounds the evaluations. */
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
		node_too_large();
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
	for (unsigned i = 0; i < LLVMCountParams(analyse_kernel); i++)
		if ((pointer.base == (int)i || pointer.base == BASE_UNKNOWN) &&
		    argument_is_buffer(i))
			access_line(i, pointer.base == BASE_UNKNOWN ? -1 : pointer.node, bytes,
			            mode, &somewhere, alignment);
}

/* vloadN(offset, pointer), vstoreN(data, offset, pointer), and those of half: vload_halfN(),
 * vstorea_halfN_rte() and such. */
struct vector_name {
	bool load, half;
	int n; /* elements, which are n apart; of aligned vectors of 3, 4 */
};

static bool vector_name_read(const char *symbol, struct vector_name *name)
{
	char *at;

	if (!text_starts(symbol, "_Z"))
		return false;
	strtoul(symbol + 2, &at, 10);
	name->load = text_starts(at, "vload");
	if (!name->load && !text_starts(at, "vstore"))
		return false;
	at += strlen(name->load ? "vload" : "vstore");
	name->half = text_starts(at, "_half") || text_starts(at, "a_half");
	if (name->half)
		at = strchr(at, 'f') + 1;
	name->n = strtoul(at, &at, 10);
	return name->n <= 16 && (name->n > 1 || name->half);
}

static bool vector_access(LLVMValueRef call, const char *symbol, const struct place *place)
{
	struct vector_name name;
	struct pointer pointer;
	LLVMTypeRef type;
	unsigned long long bytes;

	/* Aligned vectors of 3 are 4 apart, and nobody has them. */
	if (!vector_name_read(symbol, &name) || strstr(symbol, "a_half3"))
		return false;
	type = LLVMTypeOf(name.load ? call : LLVMGetOperand(call, 0));
	if (LLVMGetTypeKind(type) == LLVMVectorTypeKind)
		type = LLVMGetElementType(type);
	else if (name.n)
		return false;
	bytes = name.half ? 2 : LLVMABISizeOfType(analyse_layout, type);
	bytes *= name.n ? name.n : 1;
	pointer = pointer_of(LLVMGetOperand(call, name.load ? 1 : 2));
	if (pointer.base >= 0 && pointer.node >= 0)
		pointer.node = node_sum(
		    pointer.node,
		    node_product(value_node(LLVMGetOperand(call, name.load ? 0 : 1)), bytes));
	access_print(pointer, bytes, name.load ? "read" : "write", place,
	             strstr(symbol, "a_half") ? bytes : bytes / (name.n ? name.n : 1));
	return true;
}

/* ---- copies by work-groups ---- */

/* The size of a type by its first letters in a mangled name; 0: it is not known. Copies take
 * vectors of 3 as of 4. */
static unsigned mangled_size(const char *type)
{
	static const char letters[] = "chstijlmfdx";
	static const unsigned sizes[] = {1, 1, 2, 2, 4, 4, 8, 8, 4, 8, 0};
	char *end;
	unsigned n;

	if (text_starts(type, "Dv")) {
		n = strtoul(type + 2, &end, 10);
		return *end == '_' && n >= 2 && n <= 16 ? (n == 3 ? 4 : n) * mangled_size(end + 1)
		                                        : 0;
	}
	if (text_starts(type, "Dh"))
		return 2;
	return *type && strchr(letters, *type) ? sizes[strchr(letters, *type) - letters] : 0;
}

/* One side of a copy: so many elements from a pointer on, like a loop over them. */
static void group_copy_side(LLVMValueRef call, unsigned operand, unsigned size, const char *mode,
                            const struct place *place)
{
	struct pointer pointer = pointer_of(LLVMGetOperand(call, operand));
	struct place there = *place;
	char text[96];
	int zero, one, number, trips;

	if (pointer.base >= 0 && pointer.node >= 0) {
		zero = node_constant(0);
		one = node_constant(1);
		number = value_node(LLVMGetOperand(call, 2));
		snprintf(text, sizeof(text), " %d %d %d %d 1", zero, one, number, (int)INDEX_ULT);
		trips = node_print(INDEX_TRIPS, 64, text);
		snprintf(text, sizeof(text), " %d %d %d", zero, one, trips);
		pointer.node =
		    node_sum(pointer.node, node_product(node_print(INDEX_LOOP, 64, text), size));
		there.every = place->always && block_counts_every(LLVMGetOperand(call, operand),
		                                                  LLVMGetInstructionParent(call));
	}
	access_print(pointer, size, mode, &there, size);
}

/* async_work_group_copy(to, from, number, event) */
static bool group_copy(LLVMValueRef call, const char *symbol, const struct place *place)
{
	static const char beginning[] = "_Z21async_work_group_copyPU3AS";
	const char *type = symbol + strlen(beginning) + 1;
	unsigned size;

	if (!text_starts(symbol, beginning))
		return false;
	size = mangled_size(type);
	if (!size || LLVMGetNumArgOperands(call) != 4)
		return false;
	group_copy_side(call, 0, size, "write", place);
	group_copy_side(call, 1, size, "read", place);
	return true;
}

static void copy_access(LLVMValueRef call, const struct place *place)
{
	LLVMValueRef length = LLVMGetOperand(call, 2);
	unsigned long long bytes =
	    LLVMIsAConstantInt(length) ? LLVMConstIntGetZExtValue(length) : ~0ULL;

	access_print(pointer_of(LLVMGetOperand(call, 0)), bytes, "write", place, UNKNOWN_ALIGNMENT);
	if (!text_starts(value_called_name(call), "llvm.memset"))
		access_print(pointer_of(LLVMGetOperand(call, 1)), bytes, "read", place,
		             UNKNOWN_ALIGNMENT);
}

/* Says that the kernel may do anything, and why. */
static void anything_print(const char *why)
{
	refuse_print(why);
	access_print(nowhere, 1, "update", &(struct place){0}, UNKNOWN_ALIGNMENT);
}

/* A called function must do the same in a range of groups as in all of them. */
static void call_check(LLVMValueRef call, const char *name)
{
	LLVMValueRef called = LLVMGetCalledValue(call);
	char *plain = (char *)name;
	int length = strlen(name);
	char why[256];

	if (!LLVMIsAFunction(called) || !LLVMIsDeclaration(called)) {
		anything_print("it calls a function that cannot be inlined");
	} else if (strstr(name, "printf")) {
		refuse_print("it prints");
	} else if (!value_function_known(name)) {
		if (text_starts(name, "_Z"))
			length = strtoul(name + 2, &plain, 10);
		snprintf(why, sizeof(why),
		         "it calls %.*s(), which may do something else in a part of the NDRange",
		         length, plain);
		anything_print(why);
	}
}

static void call_accesses(LLVMValueRef call, const struct place *place)
{
	const char *name = value_called_name(call);
	int n = LLVMGetNumArgOperands(call);

	if (text_starts(name, "llvm.memcpy.") || text_starts(name, "llvm.memmove.") ||
	    text_starts(name, "llvm.memset.")) {
		copy_access(call, place);
		return;
	}
	call_check(call, name);
	if (text_starts(name, "llvm.") || vector_access(call, name, place) ||
	    group_copy(call, name, place))
		return;
	for (int i = 0; i < n; i++) {
		LLVMValueRef argument = LLVMGetOperand(call, i);
		struct pointer pointer;

		if (LLVMGetTypeKind(LLVMTypeOf(argument)) != LLVMPointerTypeKind ||
		    is_opaque(LLVMTypeOf(argument)))
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
	struct pointer pointer = pointer_of(LLVMGetOperand(value, 0));

	if (pointer.base == BASE_OWN)
		return;
	refuse_print("it has atomic operations on global memory");
	pointer.node = -1;
	access_print(pointer, 1, "update", &(struct place){0}, UNKNOWN_ALIGNMENT);
}

/* Work-groups communicate through volatile and atomic accesses. */
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
		             LLVMStoreSizeOfType(analyse_layout, LLVMTypeOf(value)), "read", place,
		             LLVMGetAlignment(value));
		break;
	case LLVMStore:
		order_check(value, 1);
		stored = LLVMGetOperand(value, 0);
		/* Addresses in memory are not followed. Events of copies are none. */
		if (LLVMGetTypeKind(LLVMTypeOf(stored)) == LLVMPointerTypeKind &&
		    !(is_opaque(LLVMTypeOf(stored)) &&
		      pointer_of(LLVMGetOperand(value, 1)).base == BASE_OWN))
			anything_print("it stores a pointer");
		there.every = place->always && block_counts_every(LLVMGetOperand(value, 1),
		                                                  LLVMGetInstructionParent(value));
		access_print(pointer_of(LLVMGetOperand(value, 1)),
		             LLVMStoreSizeOfType(analyse_layout, LLVMTypeOf(stored)), "write",
		             &there, LLVMGetAlignment(value));
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
		anything_print("it has instructions that are not understood");
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

static void accesses_print(void)
{
	bool followed = block_find_all();

	for (LLVMBasicBlockRef block = LLVMGetFirstBasicBlock(analyse_kernel); block;
	     block = LLVMGetNextBasicBlock(block)) {
		struct place place = {0};

		if (followed && has_accesses(block))
			place = block_place(block);
		for (LLVMValueRef value = LLVMGetFirstInstruction(block); value;
		     value = LLVMGetNextInstruction(value))
			instruction_accesses(value, &place);
	}
}

void access_describe(LLVMModuleRef module)
{
	printf("heddle-index %d\n", INDEX_VERSION);
	for (unsigned i = 0; i < LLVMCountParams(analyse_kernel); i++)
		argument_print(i);
	globals_check(module);
	accesses_print();
}
