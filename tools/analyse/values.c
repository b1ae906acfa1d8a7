/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Integers: followed back to ids, sizes, arguments and counters of loops.
 */
#include "config.h"

#include <string.h>

#include "tools/analyse/analyse.h"

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

const char *called_name(LLVMValueRef call)
{
	LLVMValueRef called = LLVMGetCalledValue(call);
	size_t length;

	return LLVMIsAFunction(called) ? LLVMGetValueName2(called, &length) : "";
}

/* Answers of the prologue, and of OpenCL. */
static const struct {
	const char *symbol;
	enum index_op op, times; /* UNKNOWN: one operation */
	bool of_items;           /* an item's number is to be added */
} queries[] = {
    {"heddle_group_id", INDEX_GROUP, INDEX_UNKNOWN, false},
    {"heddle_num_groups", INDEX_GROUPS, INDEX_UNKNOWN, false},
    {"heddle_global_id", INDEX_GROUP, INDEX_ITEMS, true},
    {"heddle_global_size", INDEX_GROUPS, INDEX_ITEMS, false},
    {"_Z12get_local_idj", INDEX_ITEM, INDEX_UNKNOWN, false},
    {"_Z14get_local_sizej", INDEX_ITEMS, INDEX_UNKNOWN, false},
};
static const char dimensions_query[] = "heddle_dimensions";

static int query_find(const char *symbol)
{
	for (size_t i = 0; i < sizeof(queries) / sizeof(queries[0]); i++)
		if (!strcmp(queries[i].symbol, symbol))
			return i;
	return -1;
}

bool query_known(const char *symbol)
{
	return query_find(symbol) >= 0 || !strcmp(symbol, dimensions_query);
}

static int query_node(LLVMValueRef call, const char *name)
{
	int query = query_find(name), node;
	LLVMValueRef dimension;
	unsigned long long d;

	if (!strcmp(name, dimensions_query))
		return node_print(INDEX_DIMENSIONS, 0, "");
	dimension = query < 0 ? NULL : LLVMGetOperand(call, 0);
	if (!dimension || !LLVMIsAConstantInt(dimension))
		return node_unknown();
	d = LLVMConstIntGetZExtValue(dimension);
	if (d > 2)
		return node_unknown();
	node = node_value(queries[query].op, 0, d);
	if (queries[query].times != INDEX_UNKNOWN)
		node = node_two(INDEX_MUL, 64, node, node_value(queries[query].times, 0, d));
	return queries[query].of_items ? node_sum(node, node_value(INDEX_ITEM, 0, d)) : node;
}

bool text_starts(const char *text, const char *with)
{
	return !strncmp(text, with, strlen(with));
}

static int call_node(LLVMValueRef call, unsigned bits)
{
	const char *name = called_name(call);
	bool least = text_starts(name, "llvm.smin.") || text_starts(name, "_Z3minii") ||
	             text_starts(name, "_Z3minll");
	bool most = text_starts(name, "llvm.smax.") || text_starts(name, "_Z3maxii") ||
	            text_starts(name, "_Z3maxll");

	if (text_starts(name, "llvm.umin.") || text_starts(name, "llvm.umax.") ||
	    text_starts(name, "_Z3minjj") || text_starts(name, "_Z3maxjj")) {
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
	if (text_starts(name, "_Z5clampiii") || text_starts(name, "_Z5clamplll")) {
		int a = value_node(LLVMGetOperand(call, 0)),
		    b = value_node(LLVMGetOperand(call, 1));

		a = node_two(INDEX_MAX, bits, a, b);
		return node_two(INDEX_MIN, bits, a, value_node(LLVMGetOperand(call, 2)));
	}
	if (text_starts(name, "_Z5mul24")) {
		int a = value_node(LLVMGetOperand(call, 0));

		return node_two(INDEX_MUL, 32, a, value_node(LLVMGetOperand(call, 1)));
	}
	return query_node(call, name);
}

static int cast_node(LLVMValueRef value, LLVMOpcode op, unsigned bits)
{
	LLVMValueRef from = LLVMGetOperand(value, 0);
	int node;

	if (LLVMGetTypeKind(LLVMTypeOf(from)) != LLVMIntegerTypeKind)
		return node_unknown();
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
		return node_unknown();
	}
}

static int argument_node(LLVMValueRef value)
{
	for (unsigned i = 0; i < LLVMCountParams(analysed); i++)
		if (LLVMGetParam(analysed, i) == value)
			return node_value(INDEX_ARGUMENT, 0, i);
	return node_unknown();
}

static int value_make(LLVMValueRef value)
{
	LLVMTypeRef type = LLVMTypeOf(value);
	unsigned bits;

	if (LLVMGetTypeKind(type) != LLVMIntegerTypeKind || LLVMGetIntTypeWidth(type) > 64)
		return node_unknown();
	bits = LLVMGetIntTypeWidth(type);
	if (LLVMIsAConstantInt(value))
		return node_constant(LLVMConstIntGetSExtValue(value));
	if (LLVMIsAArgument(value))
		return argument_node(value);
	return LLVMIsAInstruction(value) ? instruction_node(value, bits) : node_unknown();
}

int value_node(LLVMValueRef value)
{
	struct memo *memo = memo_of(value);

	if (memo->node_state == MEMO_BEGUN)
		return node_unknown();
	if (memo->node_state == MEMO_NEW) {
		memo->node_state = MEMO_BEGUN;
		memo->node = value_make(value);
		memo->node_state = MEMO_MADE;
	}
	return memo->node;
}
