/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "config.h"

#include <math.h>

#include "partition/kernel/costs.h"

/* How far one launch moves what is believed; and how far off it may be. */
#define FOLLOW 0.5
#define LEAST 0.5
#define MOST 8.0
#define FIRST 3.0
/* A part that takes so many times as long as the ones before does not count for more. */
#define HELD_UP 1.5
/* A part that waits so many times as long as usual was held up by something else. */
#define LATE 3.0

void costs_measured(struct costs *costs, double late_us, double alone_us, double us)
{
	double factor = us / alone_us, weight = costs->n ? FOLLOW : 1;

	if (!(late_us >= 0 && alone_us > 0 && us > 0) || !isfinite(late_us) || !isfinite(factor))
		return;
	if (costs->n && late_us > LATE * costs->part_us)
		late_us = LATE * fmax(costs->part_us, 1);
	factor =
	    fmin(fmax(factor, LEAST), costs->n ? fmin(HELD_UP * costs->slowdown, MOST) : FIRST);
	costs->part_us += weight * (late_us - costs->part_us);
	costs->slowdown += weight * (factor - costs->slowdown);
	costs->n++;
}
