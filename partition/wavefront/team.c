/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "config.h"

#include <errno.h>
#include <stdlib.h>

#include "team.h"

int wave_team_init(struct wave_team *team, unsigned capacity)
{
	*team = (struct wave_team){.capacity = capacity};
	team->waiting = calloc(capacity ? capacity : 1, sizeof(*team->waiting));
	return team->waiting ? 0 : -ENOMEM;
}

void wave_team_fini(struct wave_team *team)
{
	free(team->waiting);
}

static bool is_before(const struct wave_team_member *a, const struct wave_team_member *b)
{
	return a->rate > b->rate || (a->rate == b->rate && a->worker < b->worker);
}

static void swap(struct wave_team_member *a, struct wave_team_member *b)
{
	struct wave_team_member other = *a;

	*a = *b;
	*b = other;
}

void wave_team_push(struct wave_team *team, unsigned worker, double rate)
{
	unsigned i = team->n++;

	team->waiting[i] = (struct wave_team_member){worker, rate};
	for (; i && is_before(&team->waiting[i], &team->waiting[(i - 1) / 2]); i = (i - 1) / 2)
		swap(&team->waiting[i], &team->waiting[(i - 1) / 2]);
}

bool wave_team_pop(struct wave_team *team, unsigned *worker)
{
	unsigned i = 0, child;

	if (!team->n)
		return false;
	*worker = team->waiting[0].worker;
	team->waiting[0] = team->waiting[--team->n];
	while ((child = 2 * i + 1) < team->n) {
		if (child + 1 < team->n &&
		    is_before(&team->waiting[child + 1], &team->waiting[child]))
			child++;
		if (!is_before(&team->waiting[child], &team->waiting[i]))
			break;
		swap(&team->waiting[child], &team->waiting[i]);
		i = child;
	}
	return true;
}
