/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "config.h"

#include <errno.h>
#include <string.h>

#include "estimator/block_time.h"
#include "estimator/rate_fit.h"

/* What a block counts when one more has come. */
#define DECAY 0.7

static void sums_add(struct heddle_block_time *t, double n, double us)
{
	t->blocks = t->blocks * DECAY + 1;
	t->n = t->n * DECAY + n;
	t->us = t->us * DECAY + us;
	memmove(t->points + 1, t->points, sizeof(t->points) - sizeof(t->points[0]));
	t->points[0] = (struct heddle_block_point){n, us};
	if (!t->count++ || us < t->shortest)
		t->shortest = us;
}

/* us / n = start / n + pace is a line over 1/n; there errors of small and large
 * blocks count alike. */
static int start_fit(const struct heddle_block_time *t, double *start)
{
	struct heddle_line line = {0};
	double least = 0, most = 0, pace;

	for (int i = 0; i < BLOCK_TIME_POINTS && t->points[i].n > 0; i++) {
		const struct heddle_block_point *p = &t->points[i];

		heddle_line_add(&line, 1 / p->n, p->us / p->n);
		least = !i || p->n < least ? p->n : least;
		most = p->n > most ? p->n : most;
	}
	if (most < BLOCK_TIME_SPREAD * least || heddle_line_fit(&line, start, &pace))
		return -EDOM;
	if (*start < 0)
		*start = 0;
	/* No block ever took less than the start, however noisy the latest are. */
	if (*start > (1 - BLOCK_TIME_LEAST_PART) * t->shortest)
		*start = (1 - BLOCK_TIME_LEAST_PART) * t->shortest;
	return 0;
}

void heddle_block_time_add(struct heddle_block_time *t, double n, double us, bool robust, bool line)
{
	if (!robust)
		t->blocks = t->n = t->us = 0;
	sums_add(t, n, us);
	if (line) {
		double start;

		if (!start_fit(t, &start)) {
			t->start_us = start;
			t->start_known = true;
		}
	}
	t->pace = heddle_block_time_pace(t, t->start_us);
}
