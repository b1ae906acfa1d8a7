/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Integers that a kernel loads from buffers, as a launch finds them there: offsets of segments,
 * sizes of images of a batch.
 */
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "partition/kernel/access/index_values.h"

/* As in index.c: an address of unsigned 32 bits may be a multiple of 2^32 too low. */
#define WRAP ((wide)1 << 32)

/* Arguments that are looked at, as bits. */
static uint64_t looked_find(const struct index_kernel *kernel, const struct index_launch *launch)
{
	uint64_t looked = 0;

	for (unsigned a = 0; a < kernel->narguments && a < 64 && launch->contents; a++)
		if (launch->contents[a] && index_looks(kernel, launch->same, a))
			looked |= (uint64_t)1 << a;
	return looked;
}

int index_evaluation_begin(const struct index_kernel *kernel, const struct index_launch *launch,
                           struct evaluation *e)
{
	*e = (struct evaluation){
	    .kernel = kernel, .launch = launch, .looked = looked_find(kernel, launch)};
	e->values = calloc(kernel->nnodes + 1, sizeof(*e->values));
	if (e->looked)
		e->looks = calloc(kernel->nnodes, sizeof(*e->looks));
	return !e->values || (e->looked && !e->looks) ? -ENOMEM : 0;
}

void index_evaluation_end(struct evaluation *e)
{
	free(e->values);
	free(e->looks);
}

static int64_t gcd(int64_t a, int64_t b)
{
	while (b) {
		int64_t rest = a % b;

		a = b;
		b = rest;
	}
	return a < 0 ? -a : a;
}

/* A number that divides all distances between a value's places; 0: there is one place. */
static int64_t distance(const struct affine_space *space, const struct affine *a)
{
	int64_t common = !a->nsteps && a->lo != a->hi;

	for (int i = 0; i < 6; i++)
		if (space->least[i] != space->most[i])
			common = gcd(a->k[i], common);
	for (unsigned s = 0; s < a->nsteps; s++)
		common = gcd(a->steps[s].by, common);
	return common;
}

static int64_t integer_at(const unsigned char *at, unsigned bits)
{
	static const struct index_field whole[] = {
	    {.bytes = 1}, {.bytes = 2}, {.bytes = 4}, {.bytes = 8}};

	return index_field_value(&whole[bits == 8 ? 0 : bits == 16 ? 1 : bits == 32 ? 2 : 3], at);
}

/* The least and the greatest integer of some places. */
static struct affine span_of(const unsigned char *contents, const struct evaluation_look *look,
                             unsigned bits)
{
	int64_t least = INT64_MAX, most = INT64_MIN;

	for (wide at = look->first; at <= look->last; at += look->step) {
		int64_t value = integer_at(contents + at, bits);

		least = value < least ? value : least;
		most = value > most ? value : most;
	}
	return least == most ? affine_constant(least) : affine_range(least, most);
}

/* The places that may be loaded from: those in the buffer, at multiples of the integer's size, as
 * OpenCL demands. @return whether there are any, and few enough */
static bool places_find(const struct evaluation *e, const struct index_node *node,
                        const struct affine *at, struct evaluation_look *look)
{
	const wide size = e->launch->bytes[node->value], bytes = node->bits / 8;
	wide lo, hi, step;

	if (!affine_bounds(&e->space, at, &lo, &hi) || lo + WRAP < size)
		return false;
	step = distance(&e->space, at);
	if (step % bytes)
		lo += ((-lo) % bytes + bytes) % bytes;
	else if (lo % bytes)
		return false;
	if (!step || step % bytes)
		step = bytes;
	if (lo < 0)
		lo += (-lo + step - 1) / step * step;
	if (hi > size - bytes)
		hi = size - bytes;
	if (lo > hi || (hi - lo) / step >= INDEX_MOSTLOOKED)
		return false;
	*look = (struct evaluation_look){lo, lo + (hi - lo) / step * step, step, {0}};
	return true;
}

struct affine index_load(struct evaluation *e, const struct index_node *node, struct affine at)
{
	struct evaluation_look *known, look;
	unsigned n;

	if (!e->looked || node->value > 63 || !(e->looked >> node->value & 1) ||
	    !places_find(e, node, &at, &look))
		return affine_unknown();
	n = (look.last - look.first) / look.step + 1;
	if (n > e->left)
		return affine_unknown();
	e->left -= n;
	known = &e->looks[node - e->kernel->nodes];
	if (known->step != look.step || known->first != look.first || known->last != look.last) {
		look.value = span_of(e->launch->contents[node->value], &look, node->bits);
		*known = look;
	}
	return known->value;
}
