/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * How the windows of different ranges lie to each other: tried with some ranges.
 */
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "partition/kernel/index.h"

static const char *const class_names[] = {"UNUSED", "CONTIGUOUS", "SLAB", "HALO",
                                          "RECT",   "BROADCAST",  "WHOLE"};

const char *index_class_name(enum index_class class)
{
	return (unsigned)class < sizeof(class_names) / sizeof(class_names[0]) ? class_names[class]
	                                                                      : NULL;
}

static bool same(const struct index_window *a, const struct index_window *b)
{
	return a->first == b->first && a->end == b->end;
}

/* Bytes in both windows. */
static size_t overlap(const struct index_window *a, const struct index_window *b)
{
	size_t first = a->first > b->first ? a->first : b->first;
	size_t end = a->end < b->end ? a->end : b->end;

	return first < end ? end - first : 0;
}

/* Samples of ranges of groups: everything, the first and the last group, and what lies
 * left and right of a cut after the first group, and after the first row (or plane). */
enum { ALL, FIRST, LAST, ROW, AFTER_FIRST, AFTER_ROW, NSAMPLES };

static enum index_class class_of(const struct index_window *windows, bool rows)
{
	size_t at_row = overlap(&windows[ROW], &windows[AFTER_ROW]);

	if (windows[ALL].first == windows[ALL].end)
		return INDEX_UNUSED;
	if (!windows[ALL].known)
		return INDEX_WHOLE;
	if (same(&windows[FIRST], &windows[ALL]) && same(&windows[LAST], &windows[ALL]))
		return INDEX_BROADCAST;
	if (!at_row && !overlap(&windows[FIRST], &windows[AFTER_FIRST]))
		return INDEX_CONTIGUOUS;
	if (!at_row && rows)
		return INDEX_SLAB;
	return 2 * at_row <= windows[ROW].end - windows[ROW].first ? INDEX_HALO : INDEX_RECT;
}

int index_classes(const struct index_kernel *kernel, const struct index_launch *launch,
                  unsigned argument, enum index_class *read, enum index_class *write)
{
	const struct ndrange *range = launch->range;
	size_t total = ndrange_groups(range), row = range->groups[0];
	struct index_use *uses = calloc(kernel->narguments + 1, sizeof(*uses));
	struct index_window reads[NSAMPLES], writes[NSAMPLES];
	bool rows;
	int error = uses ? 0 : -ENOMEM;

	if (range->groups[2] > 1 || row == 1)
		row *= range->groups[1];
	rows = row > 1 && row < total;
	row = rows ? row : 1;
	const size_t from[NSAMPLES] = {0, 0, total - 1, 0, 1, row};
	const size_t n[NSAMPLES] = {total, 1, 1, row, total - 1, total - row};

	for (int i = 0; !error && i < NSAMPLES; i++) {
		error = index_uses(kernel, launch, from[i], n[i], uses);
		reads[i] = uses[argument].read;
		writes[i] = uses[argument].write;
	}
	free(uses);
	if (error)
		return error;
	*read = class_of(reads, rows);
	*write = class_of(writes, rows);
	return 0;
}
