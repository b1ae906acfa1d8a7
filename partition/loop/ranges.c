/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "config.h"

#include <errno.h>
#include <stdlib.h>

#include "ranges.h"

void loop_ranges_init(struct loop_ranges *ranges, size_t total)
{
	*ranges = (struct loop_ranges){.total = total};
}

void loop_ranges_fini(struct loop_ranges *ranges)
{
	free(ranges->returned);
}

size_t loop_ranges_remaining(const struct loop_ranges *ranges)
{
	size_t n = ranges->total - ranges->next;

	for (size_t i = 0; i < ranges->nreturned; i++)
		n += ranges->returned[i].n;
	return n;
}

size_t loop_ranges_first(const struct loop_ranges *ranges)
{
	return ranges->nreturned ? ranges->returned[ranges->nreturned - 1].start : ranges->next;
}

struct loop_range loop_ranges_take(struct loop_ranges *ranges, size_t n)
{
	struct loop_range taken = {.start = ranges->next, .n = n};

	if (ranges->nreturned) {
		struct loop_range *top = &ranges->returned[ranges->nreturned - 1];

		taken = *top;
		if (n < taken.n)
			taken.n = n;
		top->start += taken.n;
		top->n -= taken.n;
		if (!top->n)
			ranges->nreturned--;
		return taken;
	}
	if (n > ranges->total - ranges->next)
		taken.n = ranges->total - ranges->next;
	ranges->next += taken.n;
	return taken;
}

size_t loop_ranges_shorten(struct loop_ranges *ranges, size_t n)
{
	if (n > ranges->total - ranges->next)
		n = ranges->total - ranges->next;
	ranges->total -= n;
	return n;
}

int loop_ranges_return(struct loop_ranges *ranges, struct loop_range range)
{
	if (!range.n)
		return 0;
	if (ranges->nreturned == ranges->capacity) {
		size_t capacity = ranges->capacity ? 2 * ranges->capacity : 8;
		struct loop_range *grown = realloc(ranges->returned, capacity * sizeof(*grown));

		if (!grown)
			return -ENOMEM;
		ranges->returned = grown;
		ranges->capacity = capacity;
	}
	ranges->returned[ranges->nreturned++] = range;
	return 0;
}
