/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * heddle-analyse KERNEL SOURCE.cl [OPTION...]: describes which bytes of its buffers an
 * OpenCL kernel's work-groups touch (partition/kernel/index_ops.h has the format).
 *
 * clang compiles the source, with everything inlined, to LLVM's intermediate language,
 * of which the addresses of loads and stores are followed back to ids, sizes and
 * arguments. This is a program of its own because LLVM must not be in a process that
 * may load an OpenCL driver built on another LLVM.
 */
#include "config.h"

#include <errno.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <llvm-c/BitReader.h>
#include <llvm-c/Core.h>
#include <llvm-c/Target.h>

#include "partition/kernel/index_ops.h"

extern char **environ;

/* Address spaces of the target spir64. */
enum { SPACE_PRIVATE, SPACE_GLOBAL, SPACE_CONSTANT, SPACE_LOCAL };

enum { MAXNODES = 20000, MAXBLOCKS = 300, MAXEDGES = 2000, DEPTH = 64 };

/* What a pointer is based on: an argument's number, or */
enum { BASE_UNKNOWN = -1, BASE_OWN = -2 /* memory that is no buffer */ };

struct pointer {
	int base;
	int node; /* bytes from there; -1: unknown */
};

static LLVMValueRef function;
static LLVMTargetDataRef layout;
static unsigned nnodes;
static struct {
	LLVMValueRef value;
	int node; /* -1: being made */
} memo[MAXNODES];
static unsigned nmemo;

static int value_node(LLVMValueRef value);
static struct pointer pointer_of(LLVMValueRef value, int depth);

/* ---- output ---- */

static int node_print(enum index_op op, unsigned bits, const char *numbers)
{
	if (nnodes >= MAXNODES) {
		fputs("heddle-analyse: the kernel is too large\n", stderr);
		exit(1);
	}
	printf("node %s %u%s\n", index_op_text(op), bits, numbers);
	return nnodes++;
}

static int unknown(void)
{
	return node_print(INDEX_UNKNOWN, 0, "");
}

static int node_value(enum index_op op, unsigned bits, long long value)
{
	char text[32];

	snprintf(text, sizeof(text), " %lld", value);
	return node_print(op, bits, text);
}

static int node_one(enum index_op op, unsigned bits, int a)
{
	return node_value(op, bits, a);
}

static int node_two(enum index_op op, unsigned bits, int a, int b)
{
	char text[48];

	snprintf(text, sizeof(text), " %d %d", a, b);
	return node_print(op, bits, text);
}

static int constant(long long value)
{
	return node_value(INDEX_CONSTANT, 0, value);
}

static int sum(int a, int b)
{
	return node_two(INDEX_ADD, 64, a, b);
}

static int product(int a, long long factor)
{
	return factor == 1 ? a : node_two(INDEX_MUL, 64, a, constant(factor));
}

/* ---- loops ---- */

/* Whether a value may differ between iterations. */
static bool depends(LLVMValueRef value, int depth)
{
	if (!LLVMIsAInstruction(value))
		return false;
	if (depth > DEPTH)
		return true;
	if (LLVMIsAPHINode(value))
		return true; /* of another loop, which may be inside */
	for (int i = 0; i < LLVMGetNumOperands(value); i++)
		if (depends(LLVMGetOperand(value, i), depth + 1))
			return true;
	return false;
}

/* What a phi grows by in each iteration: nx = phi + step. */
struct growth {
	LLVMValueRef initial, next, step;
	LLVMBasicBlockRef latch;
	bool negative, is_pointer;
};

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

static bool growth_find(LLVMValueRef phi, struct growth *growth)
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
		return node_two(INDEX_SUB, 64, constant(0), step);
	if (growth->is_pointer)
		return product(
		    step, LLVMABISizeOfType(layout, LLVMGetGEPSourceElementType(growth->next)));
	return step;
}

static enum index_predicate predicate_of(LLVMIntPredicate predicate, bool swapped, bool negated)
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
	if (predicate == INDEX_NPREDICATES || predicate == INDEX_EQ || depends(bound, 0))
		return -1;
	int initial = value_node(growth.initial), step = step_node(&growth, counter);
	int limit = value_node(bound);

	snprintf(text, sizeof(text), " %d %d %d %d %d", initial, step, limit, (int)predicate,
	         (swapped ? b : a) == growth.next);
	return node_print(INDEX_TRIPS, 0, text);
}

/* How often a loop goes back: by the test at its end. */
static int trips_node(LLVMBasicBlockRef header, LLVMBasicBlockRef latch)
{
	LLVMValueRef branch = LLVMGetBasicBlockTerminator(latch), compare, value;

	if (!LLVMIsABranchInst(branch) || !LLVMIsConditional(branch))
		return unknown();
	compare = LLVMGetCondition(branch);
	if (!LLVMIsAICmpInst(compare) ||
	    LLVMGetTypeKind(LLVMTypeOf(LLVMGetOperand(compare, 0))) != LLVMIntegerTypeKind)
		return unknown();
	for (value = LLVMGetFirstInstruction(header); value && LLVMIsAPHINode(value);
	     value = LLVMGetNextInstruction(value)) {
		int node = counter_trips(value, compare, LLVMGetSuccessor(branch, 0) != header,
		                         header, latch);

		if (node >= 0)
			return node;
	}
	return unknown();
}

static int loop_node(LLVMValueRef phi, const struct growth *growth, int initial, unsigned bits)
{
	int step = step_node(growth, phi);
	int trips = trips_node(LLVMGetInstructionParent(phi), growth->latch);
	char text[64];

	snprintf(text, sizeof(text), " %d %d %d", initial, step, trips);
	return node_print(INDEX_LOOP, bits, text);
}

static int phi_node(LLVMValueRef phi, unsigned bits)
{
	struct growth growth;
	int node;

	if (growth_find(phi, &growth))
		return loop_node(phi, &growth, value_node(growth.initial), bits);
	node = value_node(LLVMGetIncomingValue(phi, 0));
	for (unsigned k = 1; k < LLVMCountIncoming(phi); k++)
		node = node_two(INDEX_SELECT, bits, node, value_node(LLVMGetIncomingValue(phi, k)));
	return node;
}

/* ---- numbers ---- */

static const char *called_name(LLVMValueRef call)
{
	LLVMValueRef called = LLVMGetCalledValue(call);
	size_t length;

	return LLVMIsAFunction(called) ? LLVMGetValueName2(called, &length) : "";
}

static int id_node(LLVMValueRef call, const char *name)
{
	LLVMValueRef dimension = LLVMGetOperand(call, 0);
	unsigned long long d = 3;

	if (!strcmp(name, "_Z12get_work_dimv"))
		return node_print(INDEX_DIMENSIONS, 0, "");
	if (LLVMIsAConstantInt(dimension))
		d = LLVMConstIntGetZExtValue(dimension);
	if (d > 2)
		return unknown();
	if (!strcmp(name, "_Z12get_group_idj"))
		return node_value(INDEX_GROUP, 0, d);
	if (!strcmp(name, "_Z12get_local_idj"))
		return node_value(INDEX_ITEM, 0, d);
	if (!strcmp(name, "_Z14get_local_sizej"))
		return node_value(INDEX_ITEMS, 0, d);
	if (!strcmp(name, "_Z14get_num_groupsj"))
		return node_value(INDEX_GROUPS, 0, d);
	if (!strcmp(name, "_Z17get_global_offsetj"))
		return constant(0);
	if (!strcmp(name, "_Z13get_global_idj")) {
		int group = node_value(INDEX_GROUP, 0, d), items = node_value(INDEX_ITEMS, 0, d);

		return sum(node_two(INDEX_MUL, 64, group, items), node_value(INDEX_ITEM, 0, d));
	}
	if (!strcmp(name, "_Z15get_global_sizej")) {
		int groups = node_value(INDEX_GROUPS, 0, d);

		return node_two(INDEX_MUL, 64, groups, node_value(INDEX_ITEMS, 0, d));
	}
	return unknown();
}

static bool starts(const char *text, const char *with)
{
	return !strncmp(text, with, strlen(with));
}

static int call_node(LLVMValueRef call, unsigned bits)
{
	const char *name = called_name(call);
	bool least =
	    starts(name, "llvm.smin.") || starts(name, "_Z3minii") || starts(name, "_Z3minll");
	bool most =
	    starts(name, "llvm.smax.") || starts(name, "_Z3maxii") || starts(name, "_Z3maxll");

	if (starts(name, "llvm.umin.") || starts(name, "llvm.umax.") || starts(name, "_Z3minjj") ||
	    starts(name, "_Z3maxjj")) {
		/* As unsigned numbers negative ones are large: read them so first. */
		bool min = strstr(name, "min") != NULL;
		int a = node_one(INDEX_EXTEND, bits, value_node(LLVMGetOperand(call, 0)));
		int b = node_one(INDEX_EXTEND, bits, value_node(LLVMGetOperand(call, 1)));

		return node_two(min ? INDEX_MIN : INDEX_MAX, bits, a, b);
	}
	if (least || most) {
		int a = value_node(LLVMGetOperand(call, 0));

		return node_two(least ? INDEX_MIN : INDEX_MAX, bits, a,
		                value_node(LLVMGetOperand(call, 1)));
	}
	if (starts(name, "_Z5clampiii") || starts(name, "_Z5clamplll")) {
		int a = value_node(LLVMGetOperand(call, 0)),
		    b = value_node(LLVMGetOperand(call, 1));

		a = node_two(INDEX_MAX, bits, a, b);
		return node_two(INDEX_MIN, bits, a, value_node(LLVMGetOperand(call, 2)));
	}
	if (starts(name, "_Z5mul24")) {
		int a = value_node(LLVMGetOperand(call, 0));

		return node_two(INDEX_MUL, 32, a, value_node(LLVMGetOperand(call, 1)));
	}
	return starts(name, "_Z") ? id_node(call, name) : unknown();
}

static int cast_node(LLVMValueRef value, LLVMOpcode op, unsigned bits)
{
	LLVMValueRef from = LLVMGetOperand(value, 0);
	int node;

	if (LLVMGetTypeKind(LLVMTypeOf(from)) != LLVMIntegerTypeKind)
		return unknown();
	node = value_node(from);
	if (op == LLVMSExt)
		return node;
	if (op == LLVMTrunc)
		return node_one(INDEX_FIT, bits, node);
	return node_one(INDEX_EXTEND, LLVMGetIntTypeWidth(LLVMTypeOf(from)), node);
}

static int instruction_node(LLVMValueRef value, unsigned bits)
{
	static const struct {
		LLVMOpcode llvm;
		enum index_op ours;
	} binary[] = {
	    {LLVMAdd, INDEX_ADD},  {LLVMSub, INDEX_SUB},  {LLVMMul, INDEX_MUL},
	    {LLVMShl, INDEX_SHL},  {LLVMLShr, INDEX_SHR}, {LLVMAShr, INDEX_SHR},
	    {LLVMUDiv, INDEX_DIV}, {LLVMSDiv, INDEX_DIV}, {LLVMURem, INDEX_REM},
	    {LLVMSRem, INDEX_REM}, {LLVMAnd, INDEX_AND},  {LLVMOr, INDEX_OR},
	    {LLVMXor, INDEX_XOR},
	};
	LLVMOpcode op = LLVMGetInstructionOpcode(value);

	for (size_t i = 0; i < sizeof(binary) / sizeof(binary[0]); i++)
		if (binary[i].llvm == op) {
			int a = value_node(LLVMGetOperand(value, 0));

			return node_two(binary[i].ours, bits, a,
			                value_node(LLVMGetOperand(value, 1)));
		}
	switch (op) {
	case LLVMPHI:
		return phi_node(value, bits);
	case LLVMCall:
		return call_node(value, bits);
	case LLVMSExt:
	case LLVMZExt:
	case LLVMTrunc:
		return cast_node(value, op, bits);
	case LLVMFreeze:
		return value_node(LLVMGetOperand(value, 0));
	case LLVMSelect: {
		int a = value_node(LLVMGetOperand(value, 1));

		return node_two(INDEX_SELECT, bits, a, value_node(LLVMGetOperand(value, 2)));
	}
	default:
		return unknown();
	}
}

static int argument_node(LLVMValueRef value)
{
	for (unsigned i = 0; i < LLVMCountParams(function); i++)
		if (LLVMGetParam(function, i) == value)
			return node_value(INDEX_ARGUMENT, 0, i);
	return unknown();
}

static int value_make(LLVMValueRef value)
{
	LLVMTypeRef type = LLVMTypeOf(value);
	unsigned bits;

	if (LLVMGetTypeKind(type) != LLVMIntegerTypeKind || LLVMGetIntTypeWidth(type) > 64)
		return unknown();
	bits = LLVMGetIntTypeWidth(type);
	if (LLVMIsAConstantInt(value))
		return constant(LLVMConstIntGetSExtValue(value));
	if (LLVMIsAArgument(value))
		return argument_node(value);
	return LLVMIsAInstruction(value) ? instruction_node(value, bits) : unknown();
}

static int value_node(LLVMValueRef value)
{
	unsigned at;

	for (unsigned i = 0; i < nmemo; i++)
		if (memo[i].value == value)
			return memo[i].node >= 0 ? memo[i].node : unknown();
	if (nmemo == MAXNODES) {
		fputs("heddle-analyse: the kernel is too large\n", stderr);
		exit(1);
	}
	at = nmemo++;
	memo[at].value = value;
	memo[at].node = -1;
	return memo[at].node = value_make(value);
}

/* ---- pointers ---- */

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

static struct pointer element_pointer(LLVMValueRef value, int depth)
{
	struct pointer pointer = pointer_of(LLVMGetOperand(value, 0), depth + 1);
	LLVMTypeRef type = LLVMGetGEPSourceElementType(value);

	if (pointer.base < 0 || pointer.node < 0)
		return pointer;
	for (int i = 1; i < LLVMGetNumOperands(value); i++) {
		LLVMValueRef index = LLVMGetOperand(value, i);

		if (i > 1 && LLVMGetTypeKind(type) == LLVMStructTypeKind) {
			unsigned field = LLVMConstIntGetZExtValue(index);

			pointer.node =
			    sum(pointer.node, constant(LLVMOffsetOfElement(layout, type, field)));
			type = LLVMStructGetTypeAtIndex(type, field);
			continue;
		}
		if (i > 1)
			type = LLVMGetElementType(type);
		pointer.node =
		    sum(pointer.node, product(offset_node(index), LLVMABISizeOfType(layout, type)));
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

static struct pointer phi_pointer(LLVMValueRef phi, int depth)
{
	struct growth growth;
	struct pointer pointer;

	if (growth_find(phi, &growth) && growth.is_pointer) {
		pointer = pointer_of(growth.initial, depth + 1);
		if (pointer.base >= 0 && pointer.node >= 0)
			pointer.node = loop_node(phi, &growth, pointer.node, 64);
		return pointer;
	}
	pointer = pointer_of(LLVMGetIncomingValue(phi, 0), depth + 1);
	for (unsigned k = 1; k < LLVMCountIncoming(phi); k++)
		pointer = either(pointer, pointer_of(LLVMGetIncomingValue(phi, k), depth + 1));
	return pointer;
}

static struct pointer argument_pointer(LLVMValueRef value)
{
	for (unsigned i = 0; i < LLVMCountParams(function); i++)
		if (LLVMGetParam(function, i) == value)
			return (struct pointer){i, constant(0)};
	return nowhere;
}

static struct pointer pointer_of(LLVMValueRef value, int depth)
{
	unsigned space = LLVMGetPointerAddressSpace(LLVMTypeOf(value));

	if (space == SPACE_LOCAL || LLVMIsAAllocaInst(value) ||
	    (LLVMIsAGlobalVariable(value) && space != SPACE_GLOBAL))
		return own;
	if (depth > DEPTH)
		return nowhere;
	if (LLVMIsAArgument(value))
		return space == SPACE_PRIVATE ? own : argument_pointer(value);
	if (LLVMIsAConstantExpr(value))
		return space == SPACE_CONSTANT ? own : nowhere; /* parts of a table */
	if (!LLVMIsAInstruction(value))
		return nowhere;
	switch (LLVMGetInstructionOpcode(value)) {
	case LLVMGetElementPtr:
		return element_pointer(value, depth);
	case LLVMBitCast:
	case LLVMAddrSpaceCast:
	case LLVMFreeze:
		return pointer_of(LLVMGetOperand(value, 0), depth + 1);
	case LLVMPHI:
		return phi_pointer(value, depth);
	case LLVMSelect:
		return either(pointer_of(LLVMGetOperand(value, 1), depth + 1),
		              pointer_of(LLVMGetOperand(value, 2), depth + 1));
	default:
		return nowhere;
	}
}

/* ---- accesses ---- */

static bool is_buffer(unsigned argument)
{
	LLVMTypeRef type = LLVMTypeOf(LLVMGetParam(function, argument));
	unsigned space;

	if (LLVMGetTypeKind(type) != LLVMPointerTypeKind)
		return false;
	space = LLVMGetPointerAddressSpace(type);
	return space == SPACE_GLOBAL || space == SPACE_CONSTANT;
}

/* Where nobody says what an access may rely on: OpenCL's largest type. */
enum { UNKNOWN_ALIGNMENT = 128 };

/* Where an access stands: the guards in front of it, and whether it is reached for sure
 * behind them. */
struct place {
	bool always;
	bool every; /* also in every round of the loops that the address counts */
	unsigned nguards;
	int guards[INDEX_MAXGUARDS];
};

static void access_line(unsigned argument, int node, unsigned long long bytes, const char *mode,
                        const struct place *place, unsigned alignment)
{
	printf("access %u %d %llu %s %s %u", argument, node, bytes, mode,
	       !place->always ? "maybe"
	       : place->every ? "every"
	                      : "always",
	       alignment);
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
	for (unsigned i = 0; i < LLVMCountParams(function); i++)
		if ((pointer.base == (int)i || pointer.base == BASE_UNKNOWN) && is_buffer(i))
			access_line(i, pointer.base == BASE_UNKNOWN ? -1 : pointer.node, bytes,
			            mode, &somewhere, alignment);
}

static void refuse(const char *why)
{
	printf("refuse %s\n", why);
}

/* vloadN(offset, pointer) and vstoreN(data, offset, pointer). */
static bool vector_access(LLVMValueRef call, const char *name, const struct place *place)
{
	bool load = starts(name, "_Z6vload") || starts(name, "_Z7vload");
	bool store = starts(name, "_Z7vstore") || starts(name, "_Z8vstore");
	const char *digits = load    ? strstr(name, "vload") + 5
	                     : store ? strstr(name, "vstore") + 6
	                             : "";
	int n = atoi(digits);
	struct pointer pointer;
	LLVMValueRef to;
	unsigned long long bytes;

	if (n < 2 || n > 16)
		return false;
	to = LLVMGetOperand(call, load ? 1 : 2);
	pointer = pointer_of(to, 0);
	bytes = n * LLVMABISizeOfType(layout, LLVMGetElementType(LLVMTypeOf(to)));
	if (pointer.base >= 0 && pointer.node >= 0)
		pointer.node = sum(pointer.node,
		                   product(value_node(LLVMGetOperand(call, load ? 0 : 1)), bytes));
	access_print(pointer, bytes, load ? "read" : "write", place, bytes / n);
	return true;
}

static void copy_access(LLVMValueRef call, const struct place *place)
{
	LLVMValueRef length = LLVMGetOperand(call, 2);
	unsigned long long bytes =
	    LLVMIsAConstantInt(length) ? LLVMConstIntGetZExtValue(length) : ~0ULL;

	access_print(pointer_of(LLVMGetOperand(call, 0), 0), bytes, "write", place,
	             UNKNOWN_ALIGNMENT);
	if (!starts(called_name(call), "llvm.memset"))
		access_print(pointer_of(LLVMGetOperand(call, 1), 0), bytes, "read", place,
		             UNKNOWN_ALIGNMENT);
}

static void call_accesses(LLVMValueRef call, const struct place *place)
{
	const char *name = called_name(call);
	LLVMValueRef called = LLVMGetCalledValue(call);
	int n = LLVMGetNumArgOperands(call);

	if (starts(name, "llvm.mem")) {
		copy_access(call, place);
		return;
	}
	if (starts(name, "llvm.") || vector_access(call, name, place))
		return;
	if (!LLVMIsAFunction(called) || !LLVMIsDeclaration(called))
		refuse("it calls a function that cannot be inlined");
	if (strstr(name, "printf"))
		refuse("it prints");
	for (int i = 0; i < n; i++) {
		LLVMValueRef argument = LLVMGetOperand(call, i);
		struct pointer pointer;

		if (LLVMGetTypeKind(LLVMTypeOf(argument)) != LLVMPointerTypeKind)
			continue;
		pointer = pointer_of(argument, 0);
		if (pointer.base == BASE_OWN)
			continue;
		if (strstr(name, "atom"))
			refuse("it has atomic operations on global memory");
		pointer.node = -1;
		access_print(pointer, 1, "update", &(struct place){0}, UNKNOWN_ALIGNMENT);
	}
}

static void atomic_access(LLVMValueRef value)
{
	if (pointer_of(LLVMGetOperand(value, 0), 0).base != BASE_OWN)
		refuse("it has atomic operations on global memory");
}

static bool counts_every(LLVMValueRef value, LLVMBasicBlockRef block, int depth);

static void instruction_accesses(LLVMValueRef value, const struct place *place)
{
	struct place there = *place;
	LLVMValueRef stored;

	switch (LLVMGetInstructionOpcode(value)) {
	case LLVMLoad:
		access_print(pointer_of(LLVMGetOperand(value, 0), 0),
		             LLVMStoreSizeOfType(layout, LLVMTypeOf(value)), "read", place,
		             LLVMGetAlignment(value));
		break;
	case LLVMStore:
		stored = LLVMGetOperand(value, 0);
		/* What takes the address of a buffer along is not followed. */
		if (LLVMGetTypeKind(LLVMTypeOf(stored)) == LLVMPointerTypeKind)
			refuse("it stores a pointer");
		there.every = place->always && counts_every(LLVMGetOperand(value, 1),
		                                            LLVMGetInstructionParent(value), 0);
		access_print(pointer_of(LLVMGetOperand(value, 1), 0),
		             LLVMStoreSizeOfType(layout, LLVMTypeOf(stored)), "write", &there,
		             LLVMGetAlignment(value));
		break;
	case LLVMAtomicRMW:
	case LLVMAtomicCmpXchg:
		atomic_access(value);
		break;
	case LLVMCall:
		call_accesses(value, place);
		break;
	default:
		break;
	}
}

/* ---- guards ---- */

static LLVMBasicBlockRef blocks[MAXBLOCKS];
static unsigned nblocks;
/* Where each goes to: successors[first_successor[b]] and on. */
static unsigned successors[MAXEDGES], first_successor[MAXBLOCKS + 1];

static struct {
	LLVMValueRef compare;
	bool negated;
	int guard;
} guards[MAXNODES];
static unsigned nguards;

static unsigned block_index(LLVMBasicBlockRef block)
{
	unsigned i = 0;

	while (i < nblocks && blocks[i] != block)
		i++;
	return i;
}

/* Marks the blocks that are reached from the first one.
 * @param without a block that is not gone through; NULL: none
 * @param barred for each block the successor that it does not go to; -1: none. NULL: none */
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

/* @return whether there are few enough blocks to follow conditions */
static bool blocks_find(void)
{
	unsigned nedges = 0;

	for (LLVMBasicBlockRef block = LLVMGetFirstBasicBlock(function); block;
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
	static bool reached[MAXBLOCKS];

	reach(blocks[block], NULL, reached);
	return block == other || !reached[other];
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

/* Whether all counters in an address are of loops in each of whose rounds a block is. */
static bool counts_every(LLVMValueRef value, LLVMBasicBlockRef block, int depth)
{
	struct growth growth;

	if (!LLVMIsAInstruction(value))
		return true;
	if (depth > DEPTH)
		return false;
	if (LLVMIsAPHINode(value))
		return growth_find(value, &growth) &&
		       every_round(block_index(LLVMGetInstructionParent(value)),
		                   block_index(block)) &&
		       counts_every(growth.initial, block, depth + 1);
	for (int i = 0; i < LLVMGetNumOperands(value); i++)
		if (!counts_every(LLVMGetOperand(value, i), block, depth + 1))
			return false;
	return true;
}

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

static struct place place_of(LLVMBasicBlockRef block)
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
	bool followed = blocks_find();

	for (LLVMBasicBlockRef block = LLVMGetFirstBasicBlock(function); block;
	     block = LLVMGetNextBasicBlock(block)) {
		struct place place = {0};

		if (followed && has_accesses(block))
			place = place_of(block);
		for (LLVMValueRef value = LLVMGetFirstInstruction(block); value;
		     value = LLVMGetNextInstruction(value))
			instruction_accesses(value, &place);
	}
}

static void arguments_print(void)
{
	for (unsigned i = 0; i < LLVMCountParams(function); i++) {
		LLVMTypeRef type = LLVMTypeOf(LLVMGetParam(function, i));
		LLVMTypeKind kind = LLVMGetTypeKind(type);

		if (is_buffer(i)) {
			LLVMTypeRef to = LLVMGetElementType(type);

			puts("argument buffer");
			if (LLVMGetTypeKind(to) == LLVMStructTypeKind && LLVMIsOpaqueStruct(to))
				refuse("it has an image or another opaque argument");
		} else if (kind == LLVMPointerTypeKind &&
		           LLVMGetPointerAddressSpace(type) == SPACE_LOCAL) {
			puts("argument local");
		} else if (kind == LLVMIntegerTypeKind && LLVMGetIntTypeWidth(type) <= 64) {
			printf("argument integer %u\n", LLVMGetIntTypeWidth(type));
		} else {
			puts("argument other");
		}
	}
}

/* ---- compiling ---- */

static int compile(const char *source, char *const *options, int noptions, const char *output)
{
	static const char *const fixed[] = {
	    CLANG,
	    "-c",
	    "--target=spir64",
	    "-x",
	    "cl",
	    "-O1",
	    "-fno-unroll-loops",
	    "-Dinline=inline __attribute__((always_inline))",
	    "-Xclang",
	    "-finline-functions",
	    "-mllvm",
	    "-inline-threshold=1000000",
	    "-fno-vectorize",
	    "-fno-slp-vectorize",
	    "-emit-llvm",
	    "-w",
	    "-cl-std=CL1.2",
	};
	size_t nfixed = sizeof(fixed) / sizeof(fixed[0]), n = 0;
	const char **arguments = calloc(nfixed + noptions + 4, sizeof(*arguments));
	int status = -1, error;
	pid_t pid;

	if (!arguments)
		return 1;
	for (size_t i = 0; i < nfixed; i++)
		arguments[n++] = fixed[i];
	for (int i = 0; i < noptions; i++)
		arguments[n++] = options[i];
	arguments[n++] = "-o";
	arguments[n++] = output;
	arguments[n++] = source;
	error = posix_spawnp(&pid, CLANG, NULL, NULL, (char *const *)arguments, environ);
	free(arguments);
	if (error) {
		fprintf(stderr, "heddle-analyse: %s: %s\n", CLANG, strerror(error));
		return 1;
	}
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return !WIFEXITED(status) || WEXITSTATUS(status);
}

static LLVMModuleRef module_read(const char *path)
{
	LLVMMemoryBufferRef buffer;
	LLVMModuleRef module;
	char *message = NULL;

	if (LLVMCreateMemoryBufferWithContentsOfFile(path, &buffer, &message)) {
		fprintf(stderr, "heddle-analyse: %s: %s\n", path, message);
		LLVMDisposeMessage(message);
		return NULL;
	}
	if (LLVMParseBitcode2(buffer, &module)) {
		fprintf(stderr, "heddle-analyse: %s: no bitcode\n", path);
		return NULL;
	}
	return module;
}

static int analyse(const char *path, const char *kernel)
{
	LLVMModuleRef module = module_read(path);

	if (!module)
		return 1;
	function = LLVMGetNamedFunction(module, kernel);
	if (!function || LLVMIsDeclaration(function) ||
	    LLVMGetFunctionCallConv(function) != 76 /* of kernels of SPIR */) {
		fprintf(stderr, "heddle-analyse: there is no kernel \"%s\"\n", kernel);
		return 1;
	}
	layout = LLVMCreateTargetData(LLVMGetDataLayoutStr(module));
	printf("heddle-index %d\n", INDEX_VERSION);
	arguments_print();
	accesses_print();
	LLVMDisposeTargetData(layout);
	LLVMDisposeModule(module);
	return fflush(stdout) || ferror(stdout);
}

int main(int argc, char **argv)
{
	char output[] = "/tmp/heddle-analyse.XXXXXX";
	int status, file;

	if (argc < 3 || argv[1][0] == '-') {
		fputs(
		    "Usage: heddle-analyse KERNEL SOURCE.cl [COMPILER OPTION...]\n\n"
		    "Prints which bytes of its buffers the work-groups of an OpenCL kernel touch,\n"
		    "in the form that Heddle reads.\n",
		    argc > 1 && !strcmp(argv[1], "--help") ? stdout : stderr);
		return argc > 1 && !strcmp(argv[1], "--help") ? 0 : 2;
	}
	file = mkstemp(output);
	if (file < 0) {
		fprintf(stderr, "heddle-analyse: %s: %s\n", output, strerror(errno));
		return 1;
	}
	close(file);
	status = compile(argv[2], argv + 3, argc - 3, output);
	if (!status)
		status = analyse(output, argv[1]);
	unlink(output);
	return status;
}
