/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "config.h"

#include <math.h>

#include "estimator/robust.h"
#include "partition/kernel/split/pieces.h"

/* Launches of each number before the fastest counts; and between later trials at least. */
enum { TRIED = 3, PERIOD = 4 };
/* More pieces have to save so much, and by how few launches tell so: so much over their number. */
#define SAVES 0.03
#define DOUBT 0.3
/* What later trials may cost, of all time. */
#define TRIALS 0.01
/* What each of them counts at least, in launches, lest numbers that cost nothing keep others from
 * being tried. */
#define TRIAL 0.002

_Static_assert((int)PIECES_RECENT <= HEDDLE_ROBUST_ROOM, "room for a median");

static unsigned fastest(const struct pieces *pieces)
{
	unsigned best = 0;

	for (unsigned c = 1; c < PIECES_CHOICES; c++) {
		double saves = SAVES + DOUBT / fmax(pieces->choices[c].n, 1);

		if (pieces->choices[c].n &&
		    pieces->choices[c].usual_us < (1 - saves) * pieces->choices[best].usual_us)
			best = c;
	}
	return best;
}

/* What a trial is expected to cost. */
static double cost(const struct pieces *pieces, unsigned choice, unsigned best)
{
	return fmax(pieces->choices[choice].usual_us - pieces->choices[best].usual_us, 0);
}

/* The choice for which least will have been lost, if it can be afforded; else the best. */
static unsigned trial_choose(const struct pieces *pieces, unsigned best)
{
	double least_us = INFINITY, lost_us = 0;
	unsigned trial = best;

	for (unsigned c = 0; c < PIECES_CHOICES; c++) {
		double us = pieces->choices[c].lost_us + cost(pieces, c, best) +
		            pieces->choices[c].trials * TRIAL * pieces->choices[best].usual_us;

		lost_us += pieces->choices[c].lost_us;
		if (c != best && us < least_us) {
			least_us = us;
			trial = c;
		}
	}
	return lost_us + cost(pieces, trial, best) <= TRIALS * pieces->total_us ? trial : best;
}

unsigned pieces_choose(const struct pieces *pieces)
{
	unsigned least = 0, best = fastest(pieces);

	for (unsigned c = 1; c < PIECES_CHOICES; c++)
		if (pieces->choices[c].n < pieces->choices[least].n)
			least = c;
	if (pieces->choices[least].n < TRIED)
		return 1U << least;
	return 1U << (pieces->since < PERIOD ? best : trial_choose(pieces, best));
}

void pieces_measured(struct pieces *pieces, unsigned n, double us)
{
	unsigned choice = 0, best = fastest(pieces);

	while (choice < PIECES_CHOICES && 1U << choice != n)
		choice++;
	if (choice == PIECES_CHOICES)
		return;
	pieces->total_us += us;
	pieces->since = choice == best ? pieces->since + 1 : 0;
	if (choice != best && pieces->choices[choice].n >= TRIED) {
		pieces->choices[choice].lost_us += fmax(us - pieces->choices[best].usual_us, 0);
		pieces->choices[choice].trials++;
	}
	pieces->choices[choice].us[pieces->choices[choice].n++ % PIECES_RECENT] = us;
	pieces->choices[choice].usual_us = heddle_robust_latest(
	    pieces->choices[choice].us, pieces->choices[choice].n, PIECES_RECENT);
}
