/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Integers: an integer is followed back to ids, sizes, arguments and counters of loops,
 * and becomes a node of the description.
 */
#include "config.h"

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <llvm/Config/llvm-config.h>

#include "tools/analyse/analyse.h"

LLVMValueRef analyse_kernel;
LLVMTargetDataRef analyse_layout;

/* ---- memo: each value is analysed once ---- */

enum { SLOTS = 1 << 16 };

static struct memo memos[SLOTS];
static unsigned nmemos, walks;

struct memo *value_memo(LLVMValueRef value)
{
	unsigned at = (uintptr_t)value / 16 * 2654435761U % SLOTS;

	while (memos[at].value && memos[at].value != value)
		at = (at + 1) % SLOTS;
	if (!memos[at].value && ++nmemos > SLOTS / 2)
		node_too_large();
	memos[at].value = value;
	return &memos[at];
}

void value_walk_begin(void)
{
	walks++;
}

bool value_walk_first(LLVMValueRef value)
{
	struct memo *memo = value_memo(value);
	bool first = memo->walk != walks;

	memo->walk = walks;
	return first;
}

/* ---- functions that are called and not defined ---- */

const char *value_called_name(LLVMValueRef call)
{
	LLVMValueRef called = LLVMGetCalledValue(call);
	size_t length;

	return LLVMIsAFunction(called) ? LLVMGetValueName2(called, &length) : "";
}

/* Functions about the NDRange: those of the prologue, and OpenCL's own. */
static const struct {
	const char *symbol;
	enum index_op op, times; /* UNKNOWN: one operation */
	bool of_items;           /* an item's number and the offset are to be added */
} queries[] = {
    {"heddle_group_id", INDEX_GROUP, INDEX_UNKNOWN, false},
    {"heddle_num_groups", INDEX_GROUPS, INDEX_UNKNOWN, false},
    {"heddle_global_id", INDEX_GROUP, INDEX_ITEMS, true},
    {"heddle_global_size", INDEX_GROUPS, INDEX_ITEMS, false},
    {"heddle_global_offset", INDEX_OFFSET, INDEX_UNKNOWN, false},
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

bool value_query_known(const char *symbol)
{
	return query_find(symbol) >= 0 || !strcmp(symbol, dimensions_query);
}

/* Functions of OpenCL C whose results depend on their arguments and the work-group alone, and
 * that access memory through their arguments alone. The prologue defines the other functions
 * about the NDRange (NDRANGE_ANSWERS). */
static const char *const names[] = {
    "get_local_id", "get_local_size", "get_local_linear_id", "get_enqueued_local_size",
    /* mathematics */
    "acos", "acosh", "acospi", "asin", "asinh", "asinpi", "atan", "atan2", "atan2pi", "atanh",
    "atanpi", "cbrt", "ceil", "copysign", "cos", "cosh", "cospi", "erf", "erfc", "exp", "exp10",
    "exp2", "expm1", "fabs", "fdim", "floor", "fma", "fmax", "fmin", "fmod", "fract", "frexp",
    "hypot", "ilogb", "ldexp", "lgamma", "lgamma_r", "log", "log10", "log1p", "log2", "logb", "mad",
    "maxmag", "minmag", "modf", "nan", "nextafter", "pow", "pown", "powr", "remainder", "remquo",
    "rint", "rootn", "round", "rsqrt", "sin", "sincos", "sinh", "sinpi", "sqrt", "tan", "tanh",
    "tanpi", "tgamma", "trunc",
    /* integers */
    "abs", "abs_diff", "add_sat", "clamp", "clz", "ctz", "hadd", "mad24", "mad_hi", "mad_sat",
    "max", "min", "mul24", "mul_hi", "popcount", "rhadd", "rotate", "sub_sat", "upsample",
    /* common, of geometry, of relations */
    "all", "any", "bitselect", "cross", "degrees", "distance", "dot", "fast_distance",
    "fast_length", "fast_normalize", "isequal", "isfinite", "isgreater", "isgreaterequal", "isinf",
    "isless", "islessequal", "islessgreater", "isnan", "isnormal", "isnotequal", "isordered",
    "isunordered", "length", "mix", "normalize", "radians", "select", "sign", "signbit",
    "smoothstep", "step",
    /* images */
    "get_image_array_size", "get_image_channel_data_type", "get_image_channel_order",
    "get_image_depth", "get_image_dim", "get_image_height", "get_image_width", "read_imagef",
    "read_imagei", "read_imageui", "write_imagef", "write_imagei", "write_imageui",
    /* vectors, synchronisation of work-groups, copies */
    "async_work_group_copy", "async_work_group_strided_copy", "barrier", "mem_fence", "prefetch",
    "read_mem_fence", "shuffle", "shuffle2", "wait_group_events", "work_group_all",
    "work_group_any", "work_group_barrier", "work_group_broadcast", "write_mem_fence"};

/* First letters of such names. Atomic operations on global memory are refused elsewhere. */
static const char *const prefixes[] = {
    "atom_",  "atomic_", "convert_",           "half_",           "native_", "vload", "vloada",
    "vstore", "vstorea", "work_group_reduce_", "work_group_scan_"};

/* Intrinsics of LLVM with the same property; accesses.c knows those that copy memory. */
static const char *const intrinsics[] = {
    "abs",       "assume", "bitreverse", "bswap",        "canonicalize", "ceil",
    "copysign",  "cos",    "ctlz",       "ctpop",        "cttz",         "dbg",
    "exp",       "exp2",   "expect",     "fabs",         "floor",        "fma",
    "fmuladd",   "fshl",   "fshr",       "ldexp",        "lifetime",     "log",
    "log10",     "log2",   "maximum",    "maxnum",       "minimum",      "minnum",
    "nearbyint", "pow",    "powi",       "rint",         "round",        "roundeven",
    "sadd",      "sin",    "smax",       "smin",         "smul",         "sqrt",
    "ssub",      "trap",   "trunc",      "uadd",         "umax",         "umin",
    "umul",      "usub",   "vector",     "stackrestore", "stacksave",    "experimental.noalias"};

/* Whether a text begins with a word that ends there, or at a dot. */
static bool has_word(const char *text, const char *word)
{
	size_t length = strlen(word);

	return !strncmp(text, word, length) && (!text[length] || text[length] == '.');
}

static bool intrinsic_known(const char *name)
{
	for (size_t i = 0; i < sizeof(intrinsics) / sizeof(intrinsics[0]); i++)
		if (has_word(name, intrinsics[i]))
			return true;
	return false;
}

bool value_function_named(const char *name, size_t length)
{
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strlen(names[i]) == length && !strncmp(name, names[i], length))
			return true;
	for (size_t i = 0; i < sizeof(prefixes) / sizeof(prefixes[0]); i++)
		if (strlen(prefixes[i]) < length && text_starts(name, prefixes[i]))
			return true;
	return false;
}

bool value_function_known(const char *symbol)
{
	char *name;
	size_t length;

	if (text_starts(symbol, "llvm."))
		return intrinsic_known(symbol + 5);
	if (text_starts(symbol, "heddle_"))
		return value_query_known(symbol);
	if (!text_starts(symbol, "_Z"))
		return false;
	length = strtoul(symbol + 2, &name, 10);
	return value_function_named(name, length);
}

/* ---- counters of loops ---- */

enum index_predicate value_predicate(LLVMIntPredicate predicate, bool swapped, bool negated)
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

/* The letter of the integers of a function, in its mangled name: of vectors that of their elements.
 * 0: it is another function. */
static char integers_of(const char *name, const char *function)
{
	char *of = (char *)name + strlen(function);

	if (!text_starts(name, function))
		return 0;
	if (text_starts(of, "Dv")) {
		strtoul(of + 2, &of, 10);
		of += *of == '_';
	}
	return *of && strchr("ijlm", *of) ? *of : 0;
}

/* The node of an element of a vector, or of a number (element -1), which counts for all elements.
 */
static int part_node(LLVMValueRef value, int element)
{
	return element < 0 || LLVMGetTypeKind(LLVMTypeOf(value)) != LLVMVectorTypeKind
	           ? value_node(value)
	           : value_element_node(value, element);
}

static bool leads_to_phi(LLVMValueRef value)
{
	if (!LLVMIsAInstruction(value) || !value_walk_first(value))
		return false;
	if (LLVMIsAPHINode(value))
		return true; /* of another loop, possibly an inner one */
	for (int i = 0; i < LLVMGetNumOperands(value); i++)
		if (leads_to_phi(LLVMGetOperand(value, i)))
			return true;
	return false;
}

/* Whether a value may differ between iterations. */
static bool depends(LLVMValueRef value)
{
	value_walk_begin();
	return leads_to_phi(value);
}

/* Values that a sum in a loop is followed through. */
enum { MOST_ADDED = 40 };

static bool growth_find(LLVMValueRef phi, struct growth *growth, unsigned *left);

static bool step_find(LLVMValueRef phi, LLVMValueRef next, struct growth *growth)
{
	LLVMOpcode op;

	if (!LLVMIsAInstruction(next))
		return false;
	op = LLVMGetInstructionOpcode(next);
	growth->negative = op == LLVMSub;
	growth->is_pointer = op == LLVMGetElementPtr;
	growth->is_product = op == LLVMCall && integers_of(value_called_name(next), "_Z5mad24") &&
	                     LLVMGetOperand(next, 2) == phi;
	if (growth->is_product)
		growth->step = next;
	else if ((op == LLVMAdd || op == LLVMSub || op == LLVMGetElementPtr) &&
	         LLVMGetNumOperands(next) == 2 && LLVMGetOperand(next, 0) == phi)
		growth->step = LLVMGetOperand(next, 1);
	else if (op == LLVMAdd && LLVMGetOperand(next, 1) == phi)
		growth->step = LLVMGetOperand(next, 0);
	else
		return false;
	return true;
}

/* Whether a value is that of a phi in the same round, with something added to it, perhaps: by
 * conditions, or by a loop within. @param left values to look at */
static bool is_sum(LLVMValueRef value, LLVMValueRef phi, unsigned *left)
{
	struct growth inner;

	if (value == phi)
		return true;
	if (!*left || !LLVMIsAInstruction(value) ||
	    !block_dominates(LLVMGetInstructionParent(phi), LLVMGetInstructionParent(value)))
		return false;
	--*left;
	switch (LLVMGetInstructionOpcode(value)) {
	case LLVMAdd:
		return is_sum(LLVMGetOperand(value, 0), phi, left) ||
		       is_sum(LLVMGetOperand(value, 1), phi, left);
	case LLVMGetElementPtr:
		return LLVMGetNumOperands(value) == 2 &&
		       is_sum(LLVMGetOperand(value, 0), phi, left);
	case LLVMSub:
		return is_sum(LLVMGetOperand(value, 0), phi, left);
	case LLVMSelect:
		return is_sum(LLVMGetOperand(value, 1), phi, left) &&
		       is_sum(LLVMGetOperand(value, 2), phi, left);
	case LLVMPHI:
		/* Another one of the loop has its value of an earlier round. */
		if (LLVMGetInstructionParent(value) == LLVMGetInstructionParent(phi))
			return false;
		if (growth_find(value, &inner, left))
			return is_sum(inner.initial, phi, left);
		for (unsigned k = 0; k < LLVMCountIncoming(value); k++)
			if (!is_sum(LLVMGetIncomingValue(value, k), phi, left))
				return false;
		return true;
	default:
		return false;
	}
}

static bool growth_find(LLVMValueRef phi, struct growth *growth, unsigned *left)
{
	if (!LLVMIsAPHINode(phi) || LLVMCountIncoming(phi) != 2)
		return false;
	growth->element = -1;
	for (int varies = 0; varies < 2; varies++)
		for (unsigned k = 0; k < 2; k++) {
			growth->next = LLVMGetIncomingValue(phi, k);
			growth->initial = LLVMGetIncomingValue(phi, 1 - k);
			growth->latch = LLVMGetIncomingBlock(phi, k);
			growth->varies = varies;
			if (varies
			        ? block_dominates(LLVMGetInstructionParent(phi), growth->latch) &&
			              is_sum(growth->next, phi, left)
			        : step_find(phi, growth->next, growth))
				return true;
		}
	return false;
}

bool value_growth(LLVMValueRef phi, struct growth *growth)
{
	unsigned left = MOST_ADDED;

	if (!growth_find(phi, growth, &left))
		return false;
	if (growth->varies) {
		growth->is_pointer = LLVMGetTypeKind(LLVMTypeOf(phi)) == LLVMPointerTypeKind;
		growth->is_product = growth->negative = false;
	}
	return true;
}

static int product_24_node(LLVMValueRef call, int element);

static int element_bytes_node(LLVMValueRef pointer, int number)
{
	return node_product(
	    number, LLVMABISizeOfType(analyse_layout, LLVMGetGEPSourceElementType(pointer)));
}

/* What is added to a phi to make a value, which is_sum() has found to be one. */
static int added_node(LLVMValueRef value, LLVMValueRef phi, int element)
{
	unsigned left = MOST_ADDED;
	struct growth inner;
	int a, b;

	if (value == phi)
		return node_constant(0);
	switch (LLVMGetInstructionOpcode(value)) {
	case LLVMAdd:
		a = !is_sum(LLVMGetOperand(value, 0), phi, &left);
		b = part_node(LLVMGetOperand(value, !a), element);
		return node_sum(added_node(LLVMGetOperand(value, a), phi, element), b);
	case LLVMGetElementPtr:
		a = added_node(LLVMGetOperand(value, 0), phi, element);
		return node_sum(a, element_bytes_node(value, value_node(LLVMGetOperand(value, 1))));
	case LLVMSub:
		a = added_node(LLVMGetOperand(value, 0), phi, element);
		return node_two(INDEX_SUB, 64, a, part_node(LLVMGetOperand(value, 1), element));
	case LLVMSelect:
		a = added_node(LLVMGetOperand(value, 1), phi, element);
		b = added_node(LLVMGetOperand(value, 2), phi, element);
		return value_choice(LLVMGetOperand(value, 0), 64, a, b);
	default:
		break;
	}
	if (value_growth(value, &inner)) {
		inner.element = element;
		return value_loop_node(value, &inner, added_node(inner.initial, phi, element), 64);
	}
	a = added_node(LLVMGetIncomingValue(value, 0), phi, element);
	for (unsigned k = 1; k < LLVMCountIncoming(value); k++)
		a = node_two(INDEX_SELECT, 64, a,
		             added_node(LLVMGetIncomingValue(value, k), phi, element));
	return a;
}

static int step_node(const struct growth *growth, LLVMValueRef phi)
{
	int step;

	if (growth->varies)
		return added_node(growth->next, phi, growth->element);
	step = growth->is_product ? product_24_node(growth->step, growth->element)
	                          : part_node(growth->step, growth->element);
	if (growth->negative)
		return node_two(INDEX_SUB, 64, node_constant(0), step);
	return growth->is_pointer ? element_bytes_node(growth->next, step) : step;
}

/* Whether a number is extended with zeros that is not negative: then it is extended with its sign,
 * too. LLVM from 18 on has this where earlier ones extend with the sign. */
static bool extends_both(LLVMValueRef extension)
{
#if LLVM_VERSION_MAJOR >= 18
	return LLVMIsAZExtInst(extension) && LLVMGetNNeg(extension);
#else
	return false;
#endif
}

/* What the test of a loop compares with a bound. */
struct tested {
	LLVMValueRef value, bound;
	enum index_predicate predicate; /* of the value to the bound */
	unsigned bits;                  /* of the counts for which it tells */
};

/* Takes one side of a test as the counter. A counter that is extended in front of the test has no
 * other values than before. Two of them are the same in different ways: what is negative, and a
 * large unsigned number. So the predicate tells of what is not negative. */
static bool tested_read(LLVMValueRef compare, bool negated, bool swapped, struct tested *tested)
{
	bool zero, sign, equality, is_unsigned;

	tested->value = LLVMGetOperand(compare, swapped);
	tested->bound = LLVMGetOperand(compare, !swapped);
	tested->predicate = value_predicate(LLVMGetICmpPredicate(compare), swapped, negated);
	equality = tested->predicate == INDEX_EQ || tested->predicate == INDEX_NE;
	is_unsigned = tested->predicate >= INDEX_ULT && tested->predicate <= INDEX_UGE;
	sign = LLVMIsASExtInst(tested->value) || (extends_both(tested->value) && !is_unsigned);
	zero = LLVMIsAZExtInst(tested->value) && !sign;
	if (zero || sign)
		tested->value = LLVMGetOperand(tested->value, 0);
	tested->bits = LLVMGetIntTypeWidth(LLVMTypeOf(tested->value));
	if (zero && !equality && !is_unsigned)
		tested->predicate += INDEX_ULT - INDEX_SLT;
	if (sign && is_unsigned)
		tested->bits--;
	return tested->predicate != INDEX_NPREDICATES && !(zero && equality);
}

/* How often a loop goes back, computed from one of its counters; -1: unknown. */
static int counter_trips(LLVMValueRef counter, const struct tested *tested, LLVMBasicBlockRef latch)
{
	struct growth growth;
	char text[96];
	int initial, step, limit;

	if (!value_growth(counter, &growth) || growth.latch != latch || growth.is_pointer ||
	    growth.varies)
		return -1;
	if ((tested->value != counter && tested->value != growth.next) || depends(tested->bound))
		return -1;
	initial = value_node(growth.initial);
	step = step_node(&growth, counter);
	limit = value_node(tested->bound);
	snprintf(text, sizeof(text), " %d %d %d %d %d", initial, step, limit,
	         (int)tested->predicate, tested->value == growth.next);
	return node_print(INDEX_TRIPS, tested->bits, text);
}

/* How often a loop goes back, by the side of its test that counts; -1: unknown. */
static int side_trips(LLVMValueRef compare, bool negated, bool swapped, LLVMBasicBlockRef header,
                      LLVMBasicBlockRef latch)
{
	struct tested tested;
	int node = -1;

	if (!tested_read(compare, negated, swapped, &tested))
		return -1;
	for (LLVMValueRef value = LLVMGetFirstInstruction(header);
	     node < 0 && value && LLVMIsAPHINode(value); value = LLVMGetNextInstruction(value))
		node = counter_trips(value, &tested, latch);
	return node;
}

/* How often a loop goes back at most: of its tests, of which each may end it, the smallest number
 * that is known at a launch. */
static int trips_make(LLVMBasicBlockRef header, LLVMBasicBlockRef latch)
{
	struct block_tests tests;
	int least = -1;

	block_loop_tests(header, latch, &tests);
	for (unsigned t = 0; t < tests.n; t++)
		for (int swapped = 0; swapped < 2; swapped++) {
			int node =
			    side_trips(tests.compares[t], tests.negated[t], swapped, header, latch);

			if (node < 0)
				continue;
			least = least < 0 ? node : node_two(INDEX_EITHER, 0, least, node);
			break;
		}
	return least < 0 ? node_unknown() : least;
}

/* How often a loop goes back, from its tests. A loop has one such node: by it Heddle knows which
 * counters go together. */
static int trips_node(LLVMBasicBlockRef header, LLVMBasicBlockRef latch)
{
	struct memo *memo = value_memo(LLVMBasicBlockAsValue(header));

	if (memo->node_state != MEMO_MADE) {
		int node = trips_make(header, latch);

		memo = value_memo(LLVMBasicBlockAsValue(header));
		memo->node = node;
		memo->node_state = MEMO_MADE;
	}
	return memo->node;
}

int value_loop_node(LLVMValueRef phi, const struct growth *growth, int initial, unsigned bits)
{
	int step = step_node(growth, phi);
	int trips = trips_node(LLVMGetInstructionParent(phi), growth->latch);
	char text[64];

	snprintf(text, sizeof(text), " %d %d %d", initial, step, trips);
	return node_print(INDEX_LOOP, bits, text);
}

/* ---- guards and choices ---- */

static struct {
	LLVMValueRef compare;
	bool negated;
} guards[MAXNODES];
static unsigned nguards;

bool value_is_compare(LLVMValueRef value)
{
	return LLVMIsAICmpInst(value) &&
	       LLVMGetTypeKind(LLVMTypeOf(LLVMGetOperand(value, 0))) == LLVMIntegerTypeKind &&
	       LLVMGetIntTypeWidth(LLVMTypeOf(LLVMGetOperand(value, 0))) <= 64;
}

int value_guard_print(enum index_predicate predicate, int a, int b)
{
	if (nguards == MAXNODES)
		return -1;
	printf("guard %d %d %d\n", (int)predicate, a, b);
	return nguards++;
}

int value_guard(LLVMValueRef compare, bool negated)
{
	enum index_predicate predicate =
	    value_predicate(LLVMGetICmpPredicate(compare), false, negated);
	int a, b, guard;

	for (unsigned g = 0; g < nguards; g++)
		if (guards[g].compare == compare && guards[g].negated == negated)
			return g;
	/* These may have guards. */
	a = value_node(LLVMGetOperand(compare, 0));
	b = value_node(LLVMGetOperand(compare, 1));
	guard = value_guard_print(predicate, a, b);
	if (guard < 0)
		return -1;
	guards[guard].compare = compare;
	guards[guard].negated = negated;
	return guard;
}

int value_choice(LLVMValueRef condition, unsigned bits, int a, int b)
{
	int guard = value_is_compare(condition) ? value_guard(condition, false) : -1;
	char text[64];

	if (guard < 0)
		return node_two(INDEX_SELECT, bits, a, b);
	snprintf(text, sizeof(text), " %d %d %d", guard, a, b);
	return node_print(INDEX_CHOOSE, bits, text);
}

/* ---- integers ---- */

/* Where an element of a vector is made.
 * @param[in,out] element -1: the vector has it as a number */
static LLVMValueRef element_origin(LLVMValueRef value, int *element)
{
	LLVMValueRef at;

	while (*element >= 0 && LLVMIsAInsertElementInst(value)) {
		at = LLVMGetOperand(value, 2);
		if (!LLVMIsAConstantInt(at))
			break;
		if (LLVMConstIntGetZExtValue(at) == (unsigned)*element) {
			value = LLVMGetOperand(value, 1);
			*element = -1;
		} else {
			value = LLVMGetOperand(value, 0);
		}
	}
	return value;
}

static int phi_node(LLVMValueRef phi, unsigned bits, int element)
{
	struct growth growth;
	int node = -1;

	if (value_growth(phi, &growth)) {
		growth.element = element;
		return value_loop_node(phi, &growth, part_node(growth.initial, element), bits);
	}
	for (unsigned k = 0; k < LLVMCountIncoming(phi); k++) {
		int from = element, next;
		LLVMValueRef origin = element_origin(LLVMGetIncomingValue(phi, k), &from);

		if (origin == phi)
			continue; /* it is as it was */
		next = part_node(LLVMGetIncomingValue(phi, k), element);
		node = node < 0 ? next : node_two(INDEX_SELECT, bits, node, next);
	}
	return node < 0 ? node_unknown() : node;
}

/* ---- fields of arguments ---- */

int value_argument(LLVMValueRef value)
{
	for (unsigned i = 0; i < LLVMCountParams(analyse_kernel); i++)
		if (LLVMGetParam(analyse_kernel, i) == value)
			return i;
	return -1;
}

int value_field_node(unsigned argument, unsigned long long offset, unsigned bits)
{
	static struct index_field fields[INDEX_MAXFIELDS];
	static unsigned nfields;
	struct index_field field = {argument, offset, bits / 8};
	unsigned f = 0;

	if (offset > 65536 || (bits != 8 && bits != 16 && bits != 32 && bits != 64))
		return node_unknown();
	while (f < nfields && memcmp(&fields[f], &field, sizeof(field)))
		f++;
	if (f == INDEX_MAXFIELDS)
		return node_unknown();
	if (f == nfields) {
		fields[nfields++] = field;
		printf("field %u %u %u\n", field.argument, field.offset, field.bytes);
	}
	return node_value(INDEX_FIELD, 0, f);
}

/* What an image tells of its size.
 * @param element of a vector; 0: the function returns a number */
static int image_query_node(LLVMValueRef call, const char *name, unsigned element)
{
	static const struct {
		const char *name;
		unsigned offsets[3];
	} sizes[] = {
	    {"_Z15get_image_width", {offsetof(struct index_image, width)}},
	    {"_Z16get_image_height", {offsetof(struct index_image, height)}},
	    {"_Z15get_image_depth", {offsetof(struct index_image, depth)}},
	    {"_Z20get_image_array_size", {offsetof(struct index_image, layers)}},
	    {"_Z13get_image_dim",
	     {offsetof(struct index_image, width), offsetof(struct index_image, height),
	      offsetof(struct index_image, depth)}},
	};
	int argument;

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		if (!text_starts(name, sizes[i].name) || element > 2)
			continue;
		argument = value_argument(LLVMGetOperand(call, 0));
		if (argument >= 0)
			return value_field_node(argument, sizes[i].offsets[element], 32);
	}
	return -1;
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
	if (!queries[query].of_items)
		return node;
	return node_sum(node_sum(node, node_value(INDEX_ITEM, 0, d)),
	                node_value(INDEX_OFFSET, 0, d));
}

/* A product of numbers of 24 bits. What a device does with larger ones is not known. */
static int product_24_node(LLVMValueRef call, int element)
{
	const char *name = value_called_name(call);
	bool is_unsigned =
	    integers_of(name, "_Z5mul24") == 'j' || integers_of(name, "_Z5mad24") == 'j';
	int factors[2];

	for (int i = 0; i < 2; i++) {
		factors[i] = part_node(LLVMGetOperand(call, i), element);
		if (is_unsigned)
			factors[i] = node_one(INDEX_EXTEND, 32, factors[i]);
		factors[i] = node_one(INDEX_FIT, is_unsigned ? 25 : 24, factors[i]);
	}
	return node_two(INDEX_MUL, 32, factors[0], factors[1]);
}

/* What tells the lesser or the greater of two integers apart: 'i' and 'l' are signed, 'j' is not.
 */
static char comparison_of(const char *name, const char *signed_one, const char *unsigned_one,
                          const char *function)
{
	return text_starts(name, signed_one)     ? 'i'
	       : text_starts(name, unsigned_one) ? 'j'
	                                         : integers_of(name, function);
}

static int call_node(LLVMValueRef call, unsigned bits, int element)
{
	const char *name = value_called_name(call);
	char least = comparison_of(name, "llvm.smin.", "llvm.umin.", "_Z3min");
	char most = comparison_of(name, "llvm.smax.", "llvm.umax.", "_Z3max");
	char clamped = integers_of(name, "_Z5clamp");
	char letter = least ? least : most ? most : clamped;
	int a, b, image;

	if (letter == 'm' || (clamped && letter == 'j'))
		return node_unknown();
	if (letter) {
		a = part_node(LLVMGetOperand(call, 0), element);
		b = part_node(LLVMGetOperand(call, 1), element);
		if (letter == 'j') {
			/* A negative number is a large unsigned one: extend the operands first. */
			a = node_one(INDEX_EXTEND, bits, a);
			b = node_one(INDEX_EXTEND, bits, b);
		}
		a = node_two(least ? INDEX_MIN : INDEX_MAX, bits, a, b);
		return clamped ? node_two(INDEX_MIN, bits, a,
		                          part_node(LLVMGetOperand(call, 2), element))
		               : a;
	}
	if (integers_of(name, "_Z5mul24"))
		return product_24_node(call, element);
	if (integers_of(name, "_Z5mad24")) {
		a = product_24_node(call, element);
		return node_two(INDEX_ADD, 32, a, part_node(LLVMGetOperand(call, 2), element));
	}
	image = image_query_node(call, name, element < 0 ? 0 : element);
	if (image >= 0)
		return image;
	return element < 0 ? query_node(call, name) : node_unknown();
}

/* Follows parts of a structure or an array whose numbers are constant.
 * @param[in,out] offset what is added to it */
static LLVMValueRef whole_find(LLVMValueRef pointer, unsigned long long *offset)
{
	LLVMTypeRef type;

	if (LLVMIsABitCastInst(pointer))
		return whole_find(LLVMGetOperand(pointer, 0), offset);
	if (!LLVMIsAGetElementPtrInst(pointer))
		return pointer;
	type = LLVMGetGEPSourceElementType(pointer);
	for (int i = 1; i < LLVMGetNumOperands(pointer); i++) {
		LLVMValueRef index = LLVMGetOperand(pointer, i);
		unsigned long long number;

		if (!LLVMIsAConstantInt(index))
			return pointer;
		number = LLVMConstIntGetZExtValue(index);
		if (i > 1 && LLVMGetTypeKind(type) == LLVMStructTypeKind) {
			*offset += LLVMOffsetOfElement(analyse_layout, type, number);
			type = LLVMStructGetTypeAtIndex(type, number);
			continue;
		}
		if (i > 1)
			type = LLVMGetElementType(type);
		*offset += number * LLVMABISizeOfType(analyse_layout, type);
	}
	return whole_find(LLVMGetOperand(pointer, 0), offset);
}

/* Whether nobody writes through a pointer, or takes it elsewhere. */
static bool only_read(LLVMValueRef pointer)
{
	for (LLVMUseRef use = LLVMGetFirstUse(pointer); use; use = LLVMGetNextUse(use)) {
		LLVMValueRef user = LLVMGetUser(use);

		if (LLVMIsALoadInst(user) && !LLVMGetVolatile(user))
			continue;
		if ((LLVMIsABitCastInst(user) || LLVMIsAGetElementPtrInst(user)) && only_read(user))
			continue;
		if (LLVMIsACallInst(user) && text_starts(value_called_name(user), "llvm.memcpy.") &&
		    LLVMGetOperand(user, 0) != pointer)
			continue;
		return false;
	}
	return true;
}

/* An integer in a buffer. Whether the kernel writes there is asked at the launch.
 * @param offset of it in what is loaded */
static int content_node(LLVMValueRef load, unsigned bits, unsigned long long offset)
{
	struct pointer pointer = pointer_of(LLVMGetOperand(load, 0));
	char text[48];

	if (pointer.base < 0 || pointer.node < 0 || pointer.other || LLVMGetVolatile(load) ||
	    LLVMGetOrdering(load) != LLVMAtomicOrderingNotAtomic ||
	    (bits != 8 && bits != 16 && bits != 32 && bits != 64) ||
	    LLVMGetAlignment(load) < bits / 8)
		return node_unknown();
	if (offset)
		pointer = pointer_add(pointer, node_constant(offset));
	snprintf(text, sizeof(text), " %d %d", pointer.base, pointer.node);
	return node_print(INDEX_LOAD, bits, text);
}

/* A kernel has its structures in memory of its own, where it could write. */
static int load_node(LLVMValueRef load, unsigned bits, int element)
{
	unsigned long long offset = element < 0 ? 0 : element * (bits / 8);
	LLVMValueRef pointer = LLVMGetOperand(load, 0), whole;

	if (LLVMGetPointerAddressSpace(LLVMTypeOf(pointer)) != SPACE_PRIVATE)
		return content_node(load, bits, offset);
	whole = whole_find(pointer, &offset);
	return LLVMIsAArgument(whole) && only_read(whole)
	           ? value_field_node(value_argument(whole), offset, bits)
	           : node_unknown();
}

static LLVMValueRef constant_element(LLVMValueRef vector, unsigned element)
{
#if LLVM_VERSION_MAJOR >= 15
	return LLVMGetAggregateElement(vector, element);
#else
	if (LLVMIsAConstantDataVector(vector))
		return LLVMGetElementAsConstant(vector, element);
	return LLVMIsAConstantVector(vector) ? LLVMGetOperand(vector, element) : NULL;
#endif
}

static int shuffled_node(LLVMValueRef shuffle, unsigned element)
{
	LLVMValueRef first = LLVMGetOperand(shuffle, 0);
	int from = LLVMGetMaskValue(shuffle, element);
	int n = LLVMGetVectorSize(LLVMTypeOf(first));

	if (from < 0)
		return node_unknown();
	return from < n ? value_element_node(first, from)
	                : value_element_node(LLVMGetOperand(shuffle, 1), from - n);
}

/* ---- instructions ---- */

static int cast_node(LLVMValueRef value, LLVMOpcode op, unsigned bits, int element)
{
	LLVMValueRef from = LLVMGetOperand(value, 0);
	LLVMTypeRef type = LLVMTypeOf(from);
	int node;

	if (LLVMGetTypeKind(type) == LLVMVectorTypeKind)
		type = LLVMGetElementType(type);
	if (LLVMGetTypeKind(type) != LLVMIntegerTypeKind)
		return node_unknown();
	if (value_is_compare(from)) {
		node = node_constant(op == LLVMSExt ? -1 : 1);
		return value_choice(from, bits, node, node_constant(0));
	}
	node = part_node(from, element);
	if (op == LLVMSExt || extends_both(value))
		return node;
	if (op == LLVMTrunc)
		return node_one(INDEX_FIT, bits, node);
	return node_one(INDEX_EXTEND, LLVMGetIntTypeWidth(type), node);
}

/* What is shifted to the left and back, by no more: compilers cut a number to fewer bits so. LLVM
 * 19 shifts back by less where the number is to be multiplied by the size of an element. -1:
 * another value. */
static int cut_node(LLVMValueRef value, unsigned bits)
{
	LLVMValueRef shifted, left, right;
	unsigned long long by, back;

	if (LLVMGetInstructionOpcode(value) != LLVMAShr)
		return -1;
	shifted = LLVMGetOperand(value, 0);
	right = LLVMGetOperand(value, 1);
	if (!LLVMIsAInstruction(shifted) || LLVMGetInstructionOpcode(shifted) != LLVMShl)
		return -1;
	left = LLVMGetOperand(shifted, 1);
	if (!LLVMIsAConstantInt(left) || !LLVMIsAConstantInt(right))
		return -1;
	by = LLVMConstIntGetZExtValue(left);
	back = LLVMConstIntGetZExtValue(right);
	if (by >= bits || back > by)
		return -1;
	return node_product(node_one(INDEX_FIT, bits - by, value_node(LLVMGetOperand(shifted, 0))),
	                    1LL << (by - back));
}

/* @param element of a vector; -1: the instruction makes a number */
static int instruction_node(LLVMValueRef value, unsigned bits, int element)
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
	int cut = element < 0 ? cut_node(value, bits) : -1;

	if (cut >= 0)
		return cut;
	for (size_t i = 0; i < sizeof(binary) / sizeof(binary[0]); i++)
		if (binary[i].llvm == op) {
			int a = part_node(LLVMGetOperand(value, 0), element);

			return node_two(binary[i].ours, bits, a,
			                part_node(LLVMGetOperand(value, 1), element));
		}
	switch (op) {
	case LLVMPHI:
		return phi_node(value, bits, element);
	case LLVMCall:
		return call_node(value, bits, element);
	case LLVMSExt:
	case LLVMZExt:
	case LLVMTrunc:
		return cast_node(value, op, bits, element);
	case LLVMLoad:
		return load_node(value, bits, element);
	case LLVMExtractElement: {
		LLVMValueRef index = LLVMGetOperand(value, 1);

		return LLVMIsAConstantInt(index)
		           ? value_element_node(LLVMGetOperand(value, 0),
		                                LLVMConstIntGetZExtValue(index))
		           : node_unknown();
	}
	case LLVMInsertElement: {
		LLVMValueRef origin = element_origin(value, &element);

		return origin == value ? node_unknown() : part_node(origin, element);
	}
	case LLVMShuffleVector:
		return shuffled_node(value, element);
	case LLVMFreeze:
		return part_node(LLVMGetOperand(value, 0), element);
	case LLVMSelect: {
		int a = part_node(LLVMGetOperand(value, 1), element);

		return value_choice(LLVMGetOperand(value, 0), bits, a,
		                    part_node(LLVMGetOperand(value, 2), element));
	}
	default:
		return node_unknown();
	}
}

static int argument_node(LLVMValueRef value)
{
	int argument = value_argument(value);

	return argument < 0 ? node_unknown() : node_value(INDEX_ARGUMENT, 0, argument);
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
	return LLVMIsAInstruction(value) ? instruction_node(value, bits, -1) : node_unknown();
}

int value_node(LLVMValueRef value)
{
	struct memo *memo = value_memo(value);

	if (memo->node_state == MEMO_BEGUN)
		return node_unknown();
	if (memo->node_state == MEMO_NEW) {
		memo->node_state = MEMO_BEGUN;
		memo->node = value_make(value);
		memo->node_state = MEMO_MADE;
	}
	return memo->node;
}

static int element_make(LLVMValueRef vector, unsigned element, unsigned bits)
{
	LLVMValueRef constant;

	if (LLVMIsAArgument(vector))
		return value_field_node(value_argument(vector), element * (bits / 8), bits);
	if (LLVMIsAConstantAggregateZero(vector))
		return node_constant(0);
	if (LLVMIsAConstant(vector)) {
		constant = constant_element(vector, element);
		return constant ? value_node(constant) : node_unknown();
	}
	return LLVMIsAInstruction(vector) ? instruction_node(vector, bits, element)
	                                  : node_unknown();
}

int value_element_node(LLVMValueRef vector, unsigned element)
{
	LLVMTypeRef type = LLVMGetElementType(LLVMTypeOf(vector));
	struct memo *memo = value_memo(vector);
	const size_t n = sizeof(memo->elements) / sizeof(memo->elements[0]);

	if (LLVMGetTypeKind(type) != LLVMIntegerTypeKind || LLVMGetIntTypeWidth(type) > 64 ||
	    element >= LLVMGetVectorSize(LLVMTypeOf(vector)) || element >= n ||
	    memo->elements[element].state == MEMO_BEGUN)
		return node_unknown();
	if (memo->elements[element].state == MEMO_NEW) {
		memo->elements[element].state = MEMO_BEGUN;
		memo->elements[element].node =
		    element_make(vector, element, LLVMGetIntTypeWidth(type));
		memo->elements[element].state = MEMO_MADE;
	}
	return memo->elements[element].node;
}
