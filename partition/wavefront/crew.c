/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "config.h"

#include <errno.h>
#include <stdlib.h>

#include "crew.h"

int crew_init(struct crew *crew, unsigned capacity)
{
	*crew = (struct crew){.capacity = capacity};
	crew->waiting = calloc(capacity ? capacity : 1, sizeof(*crew->waiting));
	return crew->waiting ? 0 : -ENOMEM;
}

void crew_fini(struct crew *crew)
{
	free(crew->waiting);
}

static bool is_before(const struct crew_member *a, const struct crew_member *b)
{
	return a->rate > b->rate || (a->rate == b->rate && a->worker < b->worker);
}

static void swap(struct crew_member *a, struct crew_member *b)
{
	struct crew_member other = *a;

	*a = *b;
	*b = other;
}

void crew_push(struct crew *crew, unsigned worker, double rate)
{
	unsigned i = crew->n++;

	crew->waiting[i] = (struct crew_member){worker, rate};
	for (; i && is_before(&crew->waiting[i], &crew->waiting[(i - 1) / 2]); i = (i - 1) / 2)
		swap(&crew->waiting[i], &crew->waiting[(i - 1) / 2]);
}

bool crew_pop(struct crew *crew, unsigned *worker)
{
	unsigned i = 0, child;

	if (!crew->n)
		return false;
	*worker = crew->waiting[0].worker;
	crew->waiting[0] = crew->waiting[--crew->n];
	while ((child = 2 * i + 1) < crew->n) {
		if (child + 1 < crew->n &&
		    is_before(&crew->waiting[child + 1], &crew->waiting[child]))
			child++;
		if (!is_before(&crew->waiting[child], &crew->waiting[i]))
			break;
		swap(&crew->waiting[child], &crew->waiting[i]);
		i = child;
	}
	return true;
}
