/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "config.h"

#include <string.h>

#include "estimator/robust.h"
#include "partition/kernel/pieces.h"

/* Launches of each number before the fastest counts; and between later trials. */
enum { TRIED = 3, PERIOD = 48 };
/* More pieces have to save so much. */
#define SAVES 0.03

static double usual(const struct pieces *pieces, unsigned choice)
{
	unsigned n = pieces->choices[choice].n;
	double us[PIECES_RECENT];

	memcpy(us, pieces->choices[choice].us, sizeof(us));
	return heddle_robust_median(us, n < PIECES_RECENT ? n : PIECES_RECENT);
}

unsigned pieces_choose(const struct pieces *pieces)
{
	unsigned least = 0, best = 0;

	for (unsigned c = 1; c < PIECES_CHOICES; c++)
		if (pieces->choices[c].n < pieces->choices[least].n)
			least = c;
	if (pieces->choices[least].n < TRIED || pieces->launches % PERIOD == PERIOD - 1)
		return 1U << least;
	for (unsigned c = 1; c < PIECES_CHOICES; c++)
		if (usual(pieces, c) < (1 - SAVES) * usual(pieces, best))
			best = c;
	return 1U << best;
}

void pieces_measured(struct pieces *pieces, unsigned n, double us)
{
	unsigned choice = 0;

	while (choice < PIECES_CHOICES && 1U << choice != n)
		choice++;
	pieces->launches++;
	if (choice < PIECES_CHOICES)
		pieces->choices[choice].us[pieces->choices[choice].n++ % PIECES_RECENT] = us;
}

bool pieces_send(const struct index_window *read, struct pieces_span *sent,
                 struct pieces_span *send)
{
	*send = (struct pieces_span){read->first, read->end};
	if (read->first == read->end)
		return true;
	if (sent->first == sent->end || read->first > sent->end) {
		*sent = *send;
		return true;
	}
	if (read->first < sent->first)
		return false;
	send->first = sent->end;
	if (send->end < send->first)
		send->end = send->first;
	sent->end = send->end;
	return true;
}

bool pieces_fetch(const struct index_use *use, struct pieces_span *fetch)
{
	*fetch = (struct pieces_span){use->write.first, use->write.end};
	return fetch->first == fetch->end ||
	       (use->write.dense && !use->write.pitch && use->read.first == use->read.end);
}
