/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Descriptions of random integer arithmetic, of all widths, signed and unsigned, with numbers that
 * overflow, against what a machine computes: what a work-item touches is in the window.
 */
#include "config.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "partition/kernel/access/index.h"
#include "test.h"

enum { STEPS = 12, MAXVALUES = 128, ROUNDS = 300 };

/* One value of a description, and how a machine computes it. Numbers are kept as signed ones of
 * the value's width. */
struct value {
	enum index_op op;
	bool is_unsigned;
	unsigned bits;
	int node;        /* of the description */
	int a, b, step;  /* values; a loop's step is a value, too */
	int left, right; /* that a choice compares */
	int64_t number;
	enum index_predicate predicate;
	bool after;
};

struct program {
	struct value values[MAXVALUES];
	int nvalues, nnodes, loop; /* the value that counts; -1: none */
	int nguards;
	bool is_unsigned; /* how the index is read */
	unsigned size;    /* bytes of an element */
	int64_t argument;
	FILE *out;
};

static int64_t wrap(uint64_t number, unsigned bits)
{
	uint64_t sign = (uint64_t)1 << (bits - 1);

	number &= bits < 64 ? ((uint64_t)1 << bits) - 1 : UINT64_MAX;
	return (int64_t)((number ^ sign) - sign);
}

static uint64_t positive(int64_t number, unsigned bits)
{
	return bits < 64 ? (uint64_t)number & (((uint64_t)1 << bits) - 1) : (uint64_t)number;
}

/* ---- making one ---- */

static int node_add(struct program *p, const char *text, unsigned bits, const char *numbers)
{
	fprintf(p->out, "node %s %u%s\n", text, bits, numbers);
	return p->nnodes++;
}

static int node_two(struct program *p, enum index_op op, unsigned bits, int a, int b)
{
	char numbers[64];

	snprintf(numbers, sizeof(numbers), b < 0 ? " %d" : " %d %d", a, b);
	return node_add(p, index_op_text(op), bits, numbers);
}

static int value_add(struct program *p, struct value value)
{
	p->values[p->nvalues] = value;
	return p->nvalues++;
}

static int leaf_add(struct program *p, enum index_op op, unsigned bits, int64_t number)
{
	char text[32];

	snprintf(text, sizeof(text), " %lld", (long long)number);
	return value_add(p, (struct value){.op = op,
	                                   .bits = bits,
	                                   .number = number,
	                                   .node = node_add(p, index_op_text(op), 0, text)});
}

/* Small, or near one of the ends of what the bits hold. */
static int64_t number_random(unsigned bits)
{
	uint64_t ends[] = {0, (uint64_t)1 << (bits - 1), (uint64_t)1 << (lrand48() % bits),
	                   bits < 64 ? (uint64_t)1 << bits : 0, 100};

	return wrap(ends[lrand48() % 5] + lrand48() % 40 - 20, bits);
}

static int constant_add(struct program *p, unsigned bits)
{
	return leaf_add(p, INDEX_CONSTANT, bits, number_random(bits));
}

/* Ones in one row, which may reach the sign. */
static int64_t mask_random(unsigned bits)
{
	unsigned low = lrand48() % bits, n = 1 + lrand48() % (bits - low);

	return wrap((UINT64_MAX >> (64 - n)) << low, bits);
}

static unsigned bits_random(void)
{
	return 8u << lrand48() % 4;
}

static int any_value(const struct program *p)
{
	return lrand48() % p->nvalues;
}

/* A value of some width, cast where there is need. */
static int cast_add(struct program *p, int from, unsigned bits, bool is_unsigned)
{
	struct value value = p->values[from];

	if (value.bits == bits)
		return from;
	value = (struct value){.a = from, .b = -1, .bits = bits, .is_unsigned = is_unsigned};
	if (bits < p->values[from].bits) {
		value.op = INDEX_FIT;
		value.node = node_two(p, INDEX_FIT, bits, p->values[from].node, -1);
	} else if (is_unsigned) {
		value.op = INDEX_EXTEND;
		value.node =
		    node_two(p, INDEX_EXTEND, p->values[from].bits, p->values[from].node, -1);
	} else {
		value.op = INDEX_FIT; /* a sign is extended without an operation */
		value.node = p->values[from].node;
	}
	return value_add(p, value);
}

/* For the operations that take a constant, one of them. */
static int second_add(struct program *p, enum index_op op, unsigned bits)
{
	switch (op) {
	case INDEX_SHL:
	case INDEX_SHR:
		return leaf_add(p, INDEX_CONSTANT, bits, lrand48() % bits);
	case INDEX_DIV:
	case INDEX_REM:
		return leaf_add(p, INDEX_CONSTANT, bits, 1 + lrand48() % 100);
	case INDEX_AND:
		if (lrand48() % 2)
			return leaf_add(p, INDEX_CONSTANT, bits, mask_random(bits));
		/* fall through */
	default:
		return lrand48() % 2 ? constant_add(p, bits)
		                     : cast_add(p, any_value(p), bits, lrand48() % 2);
	}
}

static void operation_add(struct program *p)
{
	static const enum index_op ops[] = {INDEX_ADD, INDEX_ADD, INDEX_SUB, INDEX_MUL,   INDEX_SHL,
	                                    INDEX_SHR, INDEX_DIV, INDEX_REM, INDEX_AND,   INDEX_OR,
	                                    INDEX_XOR, INDEX_MIN, INDEX_MAX, INDEX_SELECT};
	struct value value = {.op = ops[lrand48() % (sizeof(ops) / sizeof(ops[0]))],
	                      .is_unsigned = lrand48() % 2,
	                      .bits = bits_random()};
	int a, b;

	value.a = cast_add(p, any_value(p), value.bits, lrand48() % 2);
	value.b = second_add(p, value.op, value.bits);
	a = p->values[value.a].node;
	b = p->values[value.b].node;
	if ((value.op == INDEX_MIN || value.op == INDEX_MAX) && value.is_unsigned) {
		a = node_two(p, INDEX_EXTEND, value.bits, a, -1);
		b = node_two(p, INDEX_EXTEND, value.bits, b, -1);
	}
	value.node = node_two(p, value.op, value.bits, a, b);
	value_add(p, value);
}

/* One of two values, by a comparison of two others. */
static void choice_add(struct program *p)
{
	unsigned bits = bits_random(), compared = bits_random();
	struct value value = {
	    .op = INDEX_CHOOSE, .bits = bits, .predicate = lrand48() % INDEX_NPREDICATES};
	char text[64];

	value.a = cast_add(p, any_value(p), bits, lrand48() % 2);
	value.b = second_add(p, INDEX_CHOOSE, bits);
	value.left = cast_add(p, any_value(p), compared, lrand48() % 2);
	value.right = lrand48() % 2
	                  ? leaf_add(p, INDEX_CONSTANT, compared, wrap(lrand48() % 6, compared))
	                  : second_add(p, INDEX_CHOOSE, compared);
	fprintf(p->out, "guard %d %d %d\n", (int)value.predicate, p->values[value.left].node,
	        p->values[value.right].node);
	snprintf(text, sizeof(text), " %d %d %d", p->nguards++, p->values[value.a].node,
	         p->values[value.b].node);
	value.node = node_add(p, "choose", bits, text);
	value_add(p, value);
}

static void loop_add(struct program *p)
{
	unsigned bits = bits_random();
	struct value loop = {.op = INDEX_LOOP,
	                     .bits = bits,
	                     .predicate = lrand48() % INDEX_NPREDICATES,
	                     .after = lrand48() % 2};
	char text[96];
	int trips;

	loop.a = lrand48() % 2 ? constant_add(p, bits) : cast_add(p, any_value(p), bits, false);
	loop.b = lrand48() % 3 ? constant_add(p, bits) : cast_add(p, any_value(p), bits, false);
	loop.step = leaf_add(p, INDEX_CONSTANT, bits,
	                     wrap(lrand48() % 3 ? lrand48() % 9 - 4 : number_random(bits), bits));
	snprintf(text, sizeof(text), " %d %d %d %d %d", p->values[loop.a].node,
	         p->values[loop.step].node, p->values[loop.b].node, (int)loop.predicate,
	         loop.after);
	trips = node_add(p, "trips", bits, text);
	snprintf(text, sizeof(text), " %d %d %d", p->values[loop.a].node, p->values[loop.step].node,
	         trips);
	loop.node = node_add(p, "loop", bits, text);
	p->loop = value_add(p, loop);
}

/* The address: elements by an index, read as unsigned where it has fewer bits than addresses, or
 * as signed. */
static void address_print(struct program *p)
{
	const struct value *last = &p->values[p->nvalues - 1];
	int index = last->node, size;
	char text[32];

	p->is_unsigned = lrand48() % 2;
	if (last->bits == 32 && p->is_unsigned)
		index = node_two(p, INDEX_IN_BOUNDS, 32, index, -1);
	else if (last->bits < 32 && p->is_unsigned)
		index = node_two(p, INDEX_EXTEND, last->bits, index, -1);
	p->size = 1u << lrand48() % 3;
	snprintf(text, sizeof(text), " %u", p->size);
	size = node_add(p, "constant", 0, text);
	index = node_two(p, INDEX_MUL, 64, index, size);
	fprintf(p->out, "access 0 %d %u write %s %u\n", index, p->size,
	        p->loop < 0 ? "always" : "every", p->size);
}

/* ---- what a machine does ---- */

static bool compares(enum index_predicate predicate, int64_t a, int64_t b, unsigned bits)
{
	uint64_t ua = positive(a, bits), ub = positive(b, bits);
	bool results[] = {a != b, a<b, a <= b, a> b, a >= b, ua<ub, ua <= ub, ua> ub, ua >= ub,
	                  a == b};

	return results[predicate];
}

static int64_t operated(const struct value *value, int64_t a, int64_t b)
{
	uint64_t ua = positive(a, value->bits), ub = positive(b, value->bits);

	switch (value->op) {
	case INDEX_ADD:
		return ua + ub;
	case INDEX_SUB:
		return ua - ub;
	case INDEX_MUL:
		return ua * ub;
	case INDEX_SHL:
		return ua << b;
	case INDEX_SHR:
		return value->is_unsigned ? (int64_t)(ua >> b) : a >> b;
	case INDEX_DIV:
		return value->is_unsigned ? (int64_t)(ua / ub) : a / b;
	case INDEX_REM:
		return value->is_unsigned ? (int64_t)(ua % ub) : a % b;
	case INDEX_AND:
		return a & b;
	case INDEX_OR:
		return a | b;
	case INDEX_XOR:
		return a ^ b;
	case INDEX_MIN:
		return value->is_unsigned ? (ua < ub ? a : b) : (a < b ? a : b);
	case INDEX_MAX:
		return value->is_unsigned ? (ua > ub ? a : b) : (a > b ? a : b);
	default: /* INDEX_SELECT */
		return lrand48() % 2 ? a : b;
	}
}

/* @param counted what the loop counts */
static void item_compute(const struct program *p, int64_t group, int64_t item, int64_t counted,
                         int64_t *results)
{
	for (int i = 0; i < p->nvalues; i++) {
		const struct value *value = &p->values[i];

		if (value->op == INDEX_CONSTANT)
			results[i] = value->number;
		else if (value->op == INDEX_ARGUMENT)
			results[i] = p->argument;
		else if (value->op == INDEX_GROUP)
			results[i] = group;
		else if (value->op == INDEX_ITEM)
			results[i] = item;
		else if (value->op == INDEX_LOOP)
			results[i] = counted;
		else if (value->op == INDEX_EXTEND)
			results[i] = positive(results[value->a], p->values[value->a].bits);
		else if (value->op == INDEX_FIT)
			results[i] = wrap(results[value->a], value->bits);
		else if (value->op == INDEX_CHOOSE)
			results[i] =
			    results[compares(value->predicate, results[value->left],
			                     results[value->right], p->values[value->left].bits)
			                ? value->a
			                : value->b];
		else
			results[i] = wrap(operated(value, results[value->a], results[value->b]),
			                  value->bits);
	}
}

static int64_t address_of(const struct program *p, const int64_t *results)
{
	const struct value *last = &p->values[p->nvalues - 1];
	int64_t index = results[p->nvalues - 1];
	uint64_t at = p->is_unsigned ? positive(index, last->bits) : (uint64_t)index;

	return (int64_t)(at * p->size);
}

/* What one work-item touches. @return how much; -1: its loop has no end in sight */
static int item_run(const struct program *p, int64_t group, int64_t item, int64_t *addresses)
{
	const struct value *loop = &p->values[p->loop < 0 ? 0 : p->loop];
	int64_t results[MAXVALUES], counted, initial, step, bound;

	item_compute(p, group, item, 0, results);
	addresses[0] = address_of(p, results);
	if (p->loop < 0)
		return 1;
	initial = results[loop->a];
	step = results[loop->step];
	bound = results[loop->b];
	counted = initial;
	for (int round = 0; round < ROUNDS; round++) {
		int64_t next = wrap((uint64_t)counted + (uint64_t)step, loop->bits);

		item_compute(p, group, item, counted, results);
		addresses[round] = address_of(p, results);
		if (!compares(loop->predicate, loop->after ? next : counted, bound, loop->bits))
			return round + 1;
		counted = next;
	}
	return -1;
}

static bool in_window(const struct index_window *window, size_t at, size_t size)
{
	if (at < window->first || at + size > window->end)
		return false;
	return !window->pitch || (at - window->first) % window->pitch + size <= window->width;
}

static size_t window_bytes(const struct index_window *window)
{
	return index_window_rows(window) *
	       (window->pitch ? window->width : window->end - window->first);
}

/* ---- both ---- */

static char *program_make(struct program *p)
{
	char *text = NULL;
	size_t length;
	unsigned bits = lrand48() % 2 ? 32 : 64;

	*p = (struct program){.loop = -1, .out = open_memstream(&text, &length)};
	fprintf(p->out, "heddle-index %d\nargument buffer\nargument integer %u\n", INDEX_VERSION,
	        bits);
	p->argument = number_random(bits);
	leaf_add(p, INDEX_GROUP, 64, 0);
	leaf_add(p, INDEX_ITEM, 64, 0);
	leaf_add(p, INDEX_ARGUMENT, bits, 1);
	if (lrand48() % 3 == 0)
		loop_add(p);
	for (int steps = 1 + lrand48() % STEPS; steps; steps--)
		if (lrand48() % 5)
			operation_add(p);
		else
			choice_add(p);
	address_print(p);
	fclose(p->out);
	return text;
}

static void integers_are_sound(void **state)
{
	static const size_t sizes[] = {300,       4000,      70000,    1UL << 31,
	                               3UL << 30, 1UL << 32, 5UL << 32};
	unsigned known = 0, dense = 0, touched = 0;

	for (int i = 0; i < 20000; i++) {
		struct program program;
		struct ndrange range = {1, {6, 1, 1}, {4, 1, 1}, {0, 0, 0}};
		char *text = program_make(&program);
		size_t bytes[2] = {sizes[lrand48() % 7]}, from = lrand48() % 6;
		size_t n = 1 + lrand48() % (6 - from), inside = 0, all = 0;
		int64_t integers[2] = {0, program.argument}, addresses[ROUNDS];
		struct index_launch launch = {&range, integers, bytes, NULL, NULL};
		struct index_use uses[2];
		struct index_kernel kernel;

		assert_int_equal(index_parse(text, &kernel), 0);
		assert_int_equal(index_uses(&kernel, &launch, from, n, uses), 0);
		for (size_t item = from * 4; item < (from + n) * 4; item++) {
			int count = item_run(&program, item / 4, item % 4, addresses);

			all += count < 0; /* what it touches later is not known */
			for (int a = 0; a < count; a++) {
				all++;
				if (addresses[a] < 0 ||
				    (size_t)addresses[a] + program.size > bytes[0])
					continue;
				inside++;
				if (!in_window(&uses[0].write, addresses[a], program.size))
					fail_msg(
					    "%saddress %lld of %zu bytes is not in %zu to %zu, "
					    "groups %zu and %zu more, argument %lld",
					    text, (long long)addresses[a], bytes[0],
					    uses[0].write.first, uses[0].write.end, from, n - 1,
					    (long long)program.argument);
			}
		}
		known += uses[0].write.known;
		touched += inside > 0 && uses[0].write.known;
		dense += uses[0].write.dense;
		/* Of what is said to be written completely there is no more than was written. */
		if (uses[0].write.dense && inside == all && all &&
		    window_bytes(&uses[0].write) > inside * program.size)
			fail_msg("%s%zu bytes from %zu are not written by %zu accesses, groups %zu "
			         "and %zu more, argument %lld",
			         text, window_bytes(&uses[0].write), uses[0].write.first, inside,
			         from, n - 1, (long long)program.argument);
		index_free(&kernel);
		free(text);
	}
	printf("  of 20000 windows %u known, %u with something in them, %u dense\n", known, touched,
	       dense);
	assert_true(touched > 2000 && dense > 1000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(integers_are_sound)};
	unsigned seed = test_seed();

	srand48(seed);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
