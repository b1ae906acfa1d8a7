/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Nodes of the description: a node is printed when it is made, and numbered in that order.
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>

#include "tools/analyse/analyse.h"

static unsigned nnodes;

void node_too_large(void)
{
	fputs("heddle-analyse: the kernel is too large\n", stderr);
	exit(INDEX_TOO_LARGE);
}

int node_print(enum index_op op, unsigned bits, const char *numbers)
{
	if (nnodes >= MAXNODES)
		node_too_large();
	printf("node %s %u%s\n", index_op_text(op), bits, numbers);
	return nnodes++;
}

unsigned node_count(void)
{
	return nnodes;
}

int node_unknown(void)
{
	return node_print(INDEX_UNKNOWN, 0, "");
}

int node_value(enum index_op op, unsigned bits, long long value)
{
	char text[32];

	snprintf(text, sizeof(text), " %lld", value);
	return node_print(op, bits, text);
}

int node_one(enum index_op op, unsigned bits, int a)
{
	return node_value(op, bits, a);
}

int node_two(enum index_op op, unsigned bits, int a, int b)
{
	char text[48];

	snprintf(text, sizeof(text), " %d %d", a, b);
	return node_print(op, bits, text);
}

int node_constant(long long value)
{
	return node_value(INDEX_CONSTANT, 0, value);
}

int node_sum(int a, int b)
{
	return node_two(INDEX_ADD, 64, a, b);
}

int node_product(int a, long long factor)
{
	return factor == 1 ? a : node_two(INDEX_MUL, 64, a, node_constant(factor));
}
