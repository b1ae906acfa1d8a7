/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "config.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "watch.h"

/* A rank tells this often in the time that its silence may last. */
#define TIMES 4

int mpi_watch_init(struct mpi_watch *watch, unsigned rank, unsigned nranks, double limit_us)
{
	*watch = (struct mpi_watch){.rank = rank, .nranks = nranks, .limit_us = limit_us};
	watch->heard = calloc(nranks, sizeof(*watch->heard));
	return watch->heard ? 0 : -ENOMEM;
}

void mpi_watch_fini(struct mpi_watch *watch)
{
	free(watch->heard);
}

void mpi_watch_begin(struct mpi_watch *watch, double now_us)
{
	watch->told_us = watch->look_us = now_us;
	for (unsigned r = 0; r < watch->nranks; r++)
		watch->heard[r] = now_us;
}

double mpi_watch_look(struct mpi_watch *watch, double now_us)
{
	double still_us = now_us - watch->look_us;

	watch->look_us = now_us;
	if (still_us < watch->limit_us / TIMES)
		return 0;
	for (unsigned r = 0; r < watch->nranks; r++)
		watch->heard[r] = fmin(watch->heard[r] + still_us, now_us);
	return still_us;
}

bool mpi_watch_due(struct mpi_watch *watch, double now_us)
{
	if (watch->limit_us <= 0 || now_us - watch->told_us < watch->limit_us / TIMES)
		return false;
	watch->told_us = now_us;
	return true;
}

void mpi_watch_others(const struct mpi_watch *watch, unsigned *first, unsigned *end)
{
	*first = watch->rank ? 0 : 1;
	*end = watch->rank ? 1 : watch->nranks;
}

int mpi_watch_silent(const struct mpi_watch *watch, double now_us)
{
	unsigned first, end;

	if (watch->limit_us <= 0)
		return -1;
	mpi_watch_others(watch, &first, &end);
	for (unsigned r = first; r < end; r++)
		if (now_us - watch->heard[r] > watch->limit_us)
			return r;
	return -1;
}
