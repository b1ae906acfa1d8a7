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

static const unsigned char *contents_of(const struct index_launch *launch, unsigned a)
{
	return launch->contents ? launch->contents[a] : NULL;
}

/* Arguments that are looked at, as bits.
 * @param all also those whose contents the launch does not give */
static uint64_t looked_find(const struct index_kernel *kernel, const struct index_launch *launch,
                            bool all)
{
	uint64_t looked = 0;

	for (unsigned a = 0; a < kernel->narguments && a < 64; a++)
		if ((all || contents_of(launch, a)) && index_looks(kernel, launch->same, a))
			looked |= (uint64_t)1 << a;
	return looked;
}

int index_evaluation_begin(const struct index_kernel *kernel, const struct index_launch *launch,
                           uint64_t *wanted, struct evaluation *e)
{
	*e = (struct evaluation){.kernel = kernel,
	                         .launch = launch,
	                         .looked = looked_find(kernel, launch, wanted),
	                         .wanted = wanted,
	                         .left = INDEX_MOSTLOOKS};
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

/* A number that divides all distances between a value's places; 0: there is one place. */
static int64_t distance(const struct affine_space *space, const struct affine *a)
{
	int64_t common = !a->nsteps && a->lo != a->hi;

	for (int i = 0; i < 6; i++)
		if (space->least[i] != space->most[i])
			common = affine_gcd(a->k[i], common);
	for (unsigned s = 0; s < a->nsteps; s++)
		common = affine_gcd(a->steps[s].by, common);
	return common;
}

static int64_t integer_at(const unsigned char *at, unsigned bits)
{
	const struct index_field whole = {.bytes = bits / 8};

	return index_field_value(&whole, at);
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

	if (!affine_bounds(&e->space, at, &lo, &hi) || lo + AFFINE_WRAP < size)
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

/* Whether the places of one look are all among those of another one. */
static bool look_within(const struct evaluation_look *look, const struct evaluation_look *in)
{
	return in->step && look->first >= in->first && look->last <= in->last &&
	       !(look->step % in->step) && !((look->first - in->first) % in->step);
}

struct affine index_load(struct evaluation *e, const struct index_node *node, struct affine at)
{
	struct evaluation_look *known, look;
	const unsigned char *contents;
	unsigned n;

	if (!index_is_looked(e, node) || !places_find(e, node, &at, &look))
		return affine_unknown();
	contents = contents_of(e->launch, node->value);
	if (!contents) {
		*e->wanted |= (uint64_t)1 << node->value;
		return affine_unknown();
	}
	known = &e->looks[node - e->kernel->nodes];
	if (look_within(&look, known) && look_within(known, &look))
		return known->value;
	n = (look.last - look.first) / look.step + 1;
	if (n > e->left) /* what more places hold bounds what these do */
		return look_within(&look, known) ? known->value : affine_unknown();
	e->left -= n;
	look.value = span_of(contents, &look, node->bits);
	*known = look;
	return known->value;
}
