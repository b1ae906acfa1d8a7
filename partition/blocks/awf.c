/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Adaptive weighted factoring: as factoring, batches of half of what remains, but a worker's
 * block is its part of the batch by its rate. Late blocks count more in a rate than early ones:
 * the k-th of a worker counts k times. awfd takes rates anew for each batch, awfe for each block.
 */
#include "config.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "partition/blocks/strategy.h"

enum { FIRST, LEAST };

static const struct heddle_strategy_parameter parameters[] = {
    {"first", 0, 0, 1e18, "iterations",
     "a worker's blocks until one is done; 0: half of a block of mfsc"},
    {"least", 0, 0, 1e18, "iterations", "smallest block after these; 0: 1/32 of first"},
    {0},
};

struct awf_worker {
	double blocks, done, us; /* done and us: sums in which the k-th block counts k times */
	double rate;             /* that goes for this batch; 0: no block is done */
};

struct awf {
	double size, left; /* of this batch */
	struct awf_worker workers[];
};

static int awf_begin(struct heddle_strategy *b)
{
	b->state = calloc(1, sizeof(struct awf) + b->nworkers * sizeof(struct awf_worker));
	return b->state ? 0 : -ENOMEM;
}

static void batch_begin(struct heddle_strategy *b)
{
	struct awf *a = b->state;

	for (unsigned w = 0; w < b->nworkers; w++)
		if (a->workers[w].blocks)
			a->workers[w].rate = a->workers[w].done / a->workers[w].us;
	a->size = b->remaining / 2.0;
	a->left = ceil(a->size);
}

/* A worker's part of a batch. Others that have done nothing are taken to be as fast as the mean. */
static double part(const struct heddle_strategy *b, unsigned worker)
{
	const struct awf *a = b->state;
	unsigned known = 0;
	double rates = 0;

	for (unsigned w = 0; w < b->nworkers; w++)
		if (!b->workers[w].retired && a->workers[w].rate > 0) {
			rates += a->workers[w].rate;
			known++;
		}
	return a->workers[worker].rate * known / (rates * blocks_active(b));
}

static size_t awf_next(struct heddle_strategy *b, unsigned worker)
{
	struct awf *a = b->state;
	double size;

	if (!(a->workers[worker].rate > 0))
		return blocks_first(b, b->parameters[FIRST]);
	if (a->left < 1 || b->strategy == &blocks_awfe)
		batch_begin(b);
	size = fmin(ceil(part(b, worker) * a->size), a->left);
	return blocks_wish(b,
	                   fmax(size, blocks_least(b, b->parameters[FIRST], b->parameters[LEAST])));
}

static void awf_gave(struct heddle_strategy *b, unsigned worker, size_t n)
{
	struct awf *a = b->state;

	a->left -= n;
}

static void awf_completed(struct heddle_strategy *b, unsigned worker, size_t n, double us)
{
	struct awf *a = b->state;
	struct awf_worker *w = &a->workers[worker];

	w->blocks++;
	w->done += w->blocks * n;
	w->us += w->blocks * us;
	if (!w->rate)
		w->rate = w->done / w->us;
}

/* A batch is planned for what remained when it began. */
static void awf_extended(struct heddle_strategy *b, size_t n)
{
	struct awf *a = b->state;

	a->left = 0;
}

static enum heddle_phase awf_phase(const struct heddle_strategy *b, unsigned worker)
{
	const struct awf *a = b->state;

	return a->workers[worker].rate > 0 ? HEDDLE_PHASE_COMPLETION : HEDDLE_PHASE_ADAPTIVE;
}

static void awf_end(struct heddle_strategy *b)
{
	free(b->state);
}

#define AWF(title, variant, text)                                                                  \
	const struct blocks_strategy blocks_##title = {                                            \
	    .table = {.name = #title,                                                              \
	              .source = "Carino and Banicescu, Dynamic Load Balancing with Adaptive "      \
	                        "Factoring Methods in Scientific Applications, J. Supercomputing " \
	                        "44(1), 2008, " variant,                                           \
	              .doc = "adaptive weighted factoring: shares of half of what remains by "     \
	                     "measured rates, " text,                                              \
	              .parameters = parameters},                                                   \
	    .begin = awf_begin,                                                                    \
	    .next = awf_next,                                                                      \
	    .gave = awf_gave,                                                                      \
	    .completed = awf_completed,                                                            \
	    .extended = awf_extended,                                                              \
	    .phase = awf_phase,                                                                    \
	    .end = awf_end,                                                                        \
	}

AWF(awfd, "AWF-D", "anew for each batch");
AWF(awfe, "AWF-E", "anew for each block");
