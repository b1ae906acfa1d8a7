/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "partition/kernel/addresses.h"
#include "partition/kernel/index_ops.h"
#include "partition/kernel/index_private.h"

/* ---- what is needed ---- */

/* Operations with one value for each work-item. */
static bool is_plain(const struct index_node *node)
{
	switch (node->op) {
	case INDEX_UNKNOWN:
	case INDEX_RANGE:
	case INDEX_SELECT:
	case INDEX_EITHER:
	case INDEX_TRIPS:
	case INDEX_LOOP:
		return false;
	default:
		return true;
	}
}

/* Marks the nodes that the writes of a buffer need.
 * @return whether all writes have an address and all of these nodes are plain */
static bool nodes_mark(const struct index_kernel *kernel, unsigned argument, bool *needed)
{
	bool plain = true;

	for (unsigned i = 0; i < kernel->naccesses; i++) {
		const struct index_access *access = &kernel->accesses[i];

		if (access->argument != (int)argument || !access->write)
			continue;
		if (!access->always || access->node < 0)
			return false;
		needed[access->node] = true;
		for (unsigned g = 0; g < access->nguards; g++)
			for (int side = 0; side < 2; side++)
				needed[kernel->guards[access->guards[g]].nodes[side]] = true;
	}
	/* Operands come before. */
	for (unsigned i = kernel->nnodes; i-- && plain;) {
		if (!needed[i])
			continue;
		plain = is_plain(&kernel->nodes[i]);
		for (int o = 0; o < 3; o++)
			if (kernel->nodes[i].operands[o] >= 0)
				needed[kernel->nodes[i].operands[o]] = true;
	}
	return plain;
}

/* Whether what is needed is known in a box: no number too large for its bits, none
 * negative where that is not understood. */
static bool box_known(struct evaluation *e, const bool *needed)
{
	index_evaluate(e);
	for (unsigned i = 0; i < e->kernel->nnodes; i++)
		if (needed[i] && !e->values[i].known)
			return false;
	return true;
}

int addresses_known(const struct index_kernel *kernel, const struct index_launch *launch,
                    unsigned argument, size_t from, size_t n)
{
	struct ndrange_box boxes[NDRANGE_MAXBOXES];
	unsigned nboxes = ndrange_boxes(launch->range, from, n, boxes);
	struct evaluation e = {.kernel = kernel, .launch = launch};
	bool *needed = calloc(kernel->nnodes + 1, sizeof(*needed));
	int known = -ENOMEM;

	e.values = calloc(kernel->nnodes + 1, sizeof(*e.values));
	if (needed && e.values)
		known = nodes_mark(kernel, argument, needed);
	for (unsigned b = 0; b < nboxes && known > 0; b++) {
		index_space(launch->range, &boxes[b], &e.space);
		known = box_known(&e, needed);
	}
	free(needed);
	free(e.values);
	return known;
}

/* ---- one by one ---- */

/* A work-item, with the values of the nodes that are needed. */
struct item {
	const struct index_kernel *kernel;
	const struct index_launch *launch;
	const bool *needed;
	size_t numbers[6];
	int64_t *values;
};

static int64_t binary(const struct index_node *node, int64_t a, int64_t b)
{
	switch (node->op) {
	case INDEX_ADD:
		return a + b;
	case INDEX_SUB:
		return a - b;
	case INDEX_MUL:
		return a * b;
	case INDEX_SHL:
		return a * ((int64_t)1 << b);
	case INDEX_SHR:
		return a >> b;
	case INDEX_DIV:
		return a / b;
	case INDEX_REM:
		return a % b;
	case INDEX_AND:
		return a & b;
	case INDEX_OR:
		return a | b;
	case INDEX_XOR:
		return a ^ b;
	case INDEX_MIN:
		return a < b ? a : b;
	default: /* INDEX_MAX */
		return a > b ? a : b;
	}
}

/* Values are known to fit their bits, so no arithmetic wraps. */
static int64_t value(const struct item *item, const struct index_node *node)
{
	const struct ndrange *range = item->launch->range;
	int64_t a = node->operands[0] >= 0 ? item->values[node->operands[0]] : 0;

	switch (node->op) {
	case INDEX_CONSTANT:
		return node->value;
	case INDEX_ARGUMENT:
		return item->launch->integers[node->value];
	case INDEX_GROUP:
		return item->numbers[node->value];
	case INDEX_ITEM:
		return item->numbers[3 + node->value];
	case INDEX_GROUPS:
		return range->groups[node->value];
	case INDEX_ITEMS:
		return range->local[node->value];
	case INDEX_DIMENSIONS:
		return range->dimensions;
	case INDEX_EXTEND:
	case INDEX_IN_BOUNDS:
		return node->bits < 64 ? a & (int64_t)(((uint64_t)1 << node->bits) - 1) : a;
	case INDEX_FIT:
		return a;
	default:
		return binary(node, a, item->values[node->operands[1]]);
	}
}

static bool passes(const struct item *item, const struct index_guard *guard)
{
	int64_t a = item->values[guard->nodes[0]], b = item->values[guard->nodes[1]];

	switch (guard->predicate) {
	case INDEX_NE:
		return a != b;
	case INDEX_SLT:
		return a < b;
	case INDEX_SLE:
		return a <= b;
	case INDEX_SGT:
		return a > b;
	case INDEX_SGE:
		return a >= b;
	case INDEX_ULT:
		return (uint64_t)a < (uint64_t)b;
	case INDEX_ULE:
		return (uint64_t)a <= (uint64_t)b;
	case INDEX_UGT:
		return (uint64_t)a > (uint64_t)b;
	case INDEX_UGE:
		return (uint64_t)a >= (uint64_t)b;
	default:
		return a == b;
	}
}

/* Copies what one work-item wrote. @return bytes */
static size_t item_merge(struct item *item, unsigned argument, unsigned char *into,
                         const unsigned char *partial, size_t first)
{
	const struct index_kernel *kernel = item->kernel;
	size_t bytes = item->launch->bytes[argument], taken = 0;

	for (unsigned i = 0; i < kernel->nnodes; i++)
		if (item->needed[i])
			item->values[i] = value(item, &kernel->nodes[i]);
	for (unsigned i = 0; i < kernel->naccesses; i++) {
		const struct index_access *access = &kernel->accesses[i];
		bool all = access->argument == (int)argument && access->write;
		int64_t at;

		for (unsigned g = 0; g < access->nguards && all; g++)
			all = passes(item, &kernel->guards[access->guards[g]]);
		if (!all)
			continue;
		at = item->values[access->node];
		if (at < (int64_t)first || at + (int64_t)access->bytes > (int64_t)bytes)
			continue; /* not touched by a kernel that is right */
		memcpy(into + at, partial + (at - first), access->bytes);
		taken += access->bytes;
	}
	return taken;
}

/* Copies what one group wrote. @return bytes */
static size_t group_merge(struct item *item, size_t group, unsigned argument, unsigned char *into,
                          const unsigned char *partial, size_t first)
{
	const struct ndrange *range = item->launch->range;
	size_t items = range->local[0] * range->local[1] * range->local[2], taken = 0;

	item->numbers[0] = group % range->groups[0];
	item->numbers[1] = group / range->groups[0] % range->groups[1];
	item->numbers[2] = group / range->groups[0] / range->groups[1];
	for (size_t i = 0; i < items; i++) {
		item->numbers[3] = i % range->local[0];
		item->numbers[4] = i / range->local[0] % range->local[1];
		item->numbers[5] = i / range->local[0] / range->local[1];
		taken += item_merge(item, argument, into, partial, first);
	}
	return taken;
}

int addresses_merge(const struct index_kernel *kernel, const struct index_launch *launch,
                    unsigned argument, size_t from, size_t n, void *into, const void *partial,
                    size_t first, size_t *taken)
{
	bool *needed = calloc(kernel->nnodes + 1, sizeof(*needed));
	struct item item = {.kernel = kernel, .launch = launch, .needed = needed};
	int known = addresses_known(kernel, launch, argument, from, n);
	size_t bytes = 0;

	item.values = calloc(kernel->nnodes + 1, sizeof(*item.values));
	if (!needed || !item.values)
		known = -ENOMEM;
	if (known > 0) {
		nodes_mark(kernel, argument, needed);
		for (size_t group = from; group < from + n; group++)
			bytes += group_merge(&item, group, argument, into, partial, first);
	}
	free(needed);
	free(item.values);
	if (known > 0 && taken)
		*taken = bytes;
	return known > 0 ? 0 : known ? known : -EINVAL;
}
