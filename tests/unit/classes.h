/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Random equivalence classes of item sets, for the tests of codelets.
 */
#ifndef TESTS_UNIT_CLASSES_H
#define TESTS_UNIT_CLASSES_H

#include <stdlib.h>

#include "codelets/eclat/eclat.h"
#include "tests/unit/test.h"

struct classes {
	struct eclat_class of;
	size_t nbits, nitems, ncounts;
	uint64_t *bits;
	int32_t *items;
	uint32_t *counts;
};

static inline struct classes classes_make(int round)
{
	struct classes classes = {.of = {.words = 1 + rand() % (round % 5 ? 40 : 1500),
	                                 .prefix = rand() % 4,
	                                 .members = 1 + rand() % (round % 3 ? 20 : 90)}};
	struct eclat_class *of = &classes.of;
	size_t all = 100;

	of->rows = 1 + rand() % (round % 5 ? of->members : 2 < of->members ? 2 : of->members);
	classes.nbits = all * of->words;
	classes.nitems = of->prefix + of->members;
	classes.ncounts = (size_t)of->rows * of->members;
	classes.bits = malloc(classes.nbits * sizeof(*classes.bits));
	classes.items = malloc(classes.nitems * sizeof(*classes.items));
	classes.counts = malloc(classes.ncounts * sizeof(*classes.counts));
	assert_true(classes.bits && classes.items && classes.counts);
	/* Of two bits one is set; of all 64 in the last word. */
	for (size_t i = 0; i < classes.nbits; i++)
		classes.bits[i] = i % of->words == of->words - 1
		                      ? UINT64_MAX
		                      : (uint64_t)rand() << 40 ^ (uint64_t)rand() << 20 ^ rand();
	for (size_t i = 0; i < classes.nitems; i++)
		classes.items[i] = rand() % all;
	for (size_t i = 0; i < classes.ncounts; i++)
		classes.counts[i] = 12345;
	return classes;
}

static inline size_t classes_errors(const struct classes *classes)
{
	return eclat_errors(&classes->of, classes->bits, classes->items, classes->counts);
}

static inline void classes_free(struct classes *classes)
{
	free(classes->bits);
	free(classes->items);
	free(classes->counts);
}

#endif
