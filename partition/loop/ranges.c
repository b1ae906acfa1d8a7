/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "config.h"

#include <errno.h>
#include <stdlib.h>

#include "ranges.h"

void ranges_init(struct ranges *ranges, size_t total)
{
	*ranges = (struct ranges){.total = total};
}

void ranges_fini(struct ranges *ranges)
{
	free(ranges->returned);
}

size_t ranges_remaining(const struct ranges *ranges)
{
	size_t n = ranges->total - ranges->next;

	for (size_t i = 0; i < ranges->nreturned; i++)
		n += ranges->returned[i].n;
	return n;
}

struct range ranges_take(struct ranges *ranges, size_t n)
{
	struct range taken = {.start = ranges->next, .n = n};

	if (ranges->nreturned) {
		struct range *top = &ranges->returned[ranges->nreturned - 1];

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

int ranges_return(struct ranges *ranges, struct range range)
{
	if (!range.n)
		return 0;
	if (ranges->nreturned == ranges->capacity) {
		size_t capacity = ranges->capacity ? 2 * ranges->capacity : 8;
		struct range *grown = realloc(ranges->returned, capacity * sizeof(*grown));

		if (!grown)
			return -ENOMEM;
		ranges->returned = grown;
		ranges->capacity = capacity;
	}
	ranges->returned[ranges->nreturned++] = range;
	return 0;
}
