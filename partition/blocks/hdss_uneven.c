/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * HDSS where iterations cost differently. Workers that are all slower, or faster, than expected
 * tell of the iterations, not of the workers. From then on paces come from blocks side by side,
 * as for the next run (costs.h), and the costs of the latest blocks hold for the next ones, for
 * all workers. Until then nothing is different from a loop of equal iterations.
 */
#include "config.h"

#include <math.h>

#include "partition/blocks/hdss.h"

/* A block is odd if the logarithm of its time is so far from that expected, and so many times as
 * far again as blocks are on average, ... */
#define ODD 0.5
#define USUAL 2
/* ... and so many in turn, each of another worker than the one before, tell of uneven costs. */
#define ODD_BLOCKS 3
/* Paces come from so many blocks of each worker, ... */
#define LATEST_BLOCKS 8
/* ... and are found again after so many for each worker. */
#define REFRESH (1 / 4.0)
/* The cost of iterations at one place is at most so many times that at another. */
#define MOST_RATIO 1000.0
/* Blocks that differ by no more from what was expected, on average, as a logarithm, are even. */
#define EVEN 0.15

bool blocks_hdss_even(const struct heddle_strategy *b)
{
	const struct hdss *h = b->state;

	return !h->uneven && h->odd.seen >= b->nworkers && h->odd.usual < EVEN;
}

void blocks_hdss_uneven_note(struct heddle_strategy *b, unsigned worker, double n, double us)
{
	struct hdss *h = b->state;
	struct hdss_estimate e;
	double off, least;

	h->unread++;
	if (h->uneven || !h->kept || h->run_blocks.lost || !b->parameters[HDSS_FOLLOW])
		return;
	/* Workers of a kind may be unlike each other. */
	if (!h->worker[worker].time.count || !blocks_hdss_measured(b, worker, &e) || !e.sized)
		return;
	/* Of such a block the time was hardly known. */
	if (n * e.pace < e.start)
		return;
	off = log(us / (e.start + n * e.pace));
	least = ODD + USUAL * h->odd.usual;
	h->odd.usual += (hdss_smaller(fabs(off), 1) - h->odd.usual) / ++h->odd.seen;
	if (fabs(off) < least || (off > 0) != h->odd.dear)
		h->odd.count = 0;
	if (fabs(off) < least || (h->odd.count && worker == h->odd.worker))
		return;
	h->odd.dear = off > 0;
	h->odd.worker = worker;
	h->uneven = ++h->odd.count == ODD_BLOCKS;
	h->unread = REFRESH * b->nworkers + 1;
}

void blocks_hdss_uneven_refresh(struct heddle_strategy *b)
{
	struct hdss *h = b->state;

	if (!h->uneven || h->unread < REFRESH * b->nworkers)
		return;
	h->unread = 0;
	for (unsigned w = 0; w < b->nworkers; w++) {
		struct hdss_estimate e;

		blocks_hdss_estimate(b, w, &e);
		h->front[w].kind = b->workers[w].given.kind;
		h->front[w].start.us = h->front[w].follow.us = e.start;
		h->front[w].pace = e.pace;
	}
	/* Without memory paces stay as they are. */
	costs_front(&h->run_blocks, LATEST_BLOCKS * b->nworkers, h->front, b->nworkers,
	            &h->scatter);
}

double blocks_hdss_uneven_size(const struct heddle_strategy *b, unsigned worker, double n)
{
	const struct hdss *h = b->state;
	int kind = b->workers[worker].given.kind;
	double was = h->worker[worker].time.pace, is = h->front[worker].pace;

	if (!h->uneven || !h->kind[kind].sized)
		return n;
	if (was <= 0 || is <= 0)
		return 0;
	/* Each such block changes the pace that was measured: without bounds the quotient could run
	 * away. */
	return n * hdss_larger(1 / MOST_RATIO, hdss_smaller(is / was, MOST_RATIO));
}
