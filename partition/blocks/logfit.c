/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * LogFit: an accelerator's blocks grow until larger ones no longer raise its rate, which is fitted
 * by a logarithm of the size; a core's block takes as long as an accelerator's.
 *
 * The text of the paper was not at hand. The abstracts of both its versions, and what later work
 * says of it, tell of the fit, of cores that go by their relative speed, and of an end at which
 * all are to be done together. Chosen here:
 *
 * - Sizes double until there are `points` of them. A block is large enough when the fit promises
 *   less than `change` from a doubling, as in HDSS. From block to block a size at most doubles or
 *   halves.
 * - A size that was measured before counts for its latest two rates, half each. So the fit follows
 *   iterations whose costs change.
 * - Of several accelerators each has a fit of its own. Cores go by the fastest.
 * - At the end each worker has its part, by rate, of what is left.
 * - Without an accelerator there is nothing to go by: a worker has its part, by rate, of half of
 *   what is left.
 */
#include "config.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "estimator/rate_fit.h"
#include "partition/blocks/strategy.h"

enum { FIRST, POINTS, CHANGE, LEAST };

#define MAXPOINTS 16

static const struct heddle_strategy_parameter parameters[] = {
    {"first", 0, 0, 1e18, "iterations", "a worker's first block; 0: half of a block of mfsc"},
    {"points", 4, 2, MAXPOINTS, "sizes", "latest sizes that the curve is fitted to"},
    {"change", 0.01, 1e-6, 1, "of the rate",
     "an accelerator's block is large enough if twice its size gains less"},
    {"least", 0, 0, 1e18, "iterations", "smallest block later; 0: 1/32 of first"},
    {0},
};

struct logfit_worker {
	double rate; /* of its latest blocks, iterations per microsecond; 0: none is done */
	double size; /* of an accelerator's next block */
	bool stable; /* that size was large enough once */
	unsigned npoints;
	struct {
		double size, rate;
	} points[MAXPOINTS]; /* the latest ones last */
};

static int logfit_begin(struct heddle_strategy *b)
{
	b->state = calloc(b->nworkers, sizeof(struct logfit_worker));
	return b->state ? 0 : -ENOMEM;
}

static bool is_core(const struct heddle_strategy *b, unsigned worker)
{
	return b->workers[worker].given.kind == HEDDLE_KIND_CPU;
}

/* When all would be done if they shared what is left by their rates. Workers that are not known yet
 * are taken to be as the mean of the others; 0: nobody is known. */
static double end(const struct heddle_strategy *b)
{
	const struct logfit_worker *workers = b->state;
	double rates = 0;
	unsigned known = 0;

	for (unsigned w = 0; w < b->nworkers; w++)
		if (!b->workers[w].retired && workers[w].rate > 0) {
			rates += workers[w].rate;
			known++;
		}
	return known ? b->remaining * known / (rates * blocks_active(b)) : 0;
}

/* How long a core's block may take: as long as one of the fastest accelerator. 0: none has
 * answered. */
static double core_duration(const struct heddle_strategy *b)
{
	const struct logfit_worker *workers = b->state, *fastest = NULL;
	bool accelerated = false;

	for (unsigned w = 0; w < b->nworkers; w++) {
		if (b->workers[w].retired || is_core(b, w))
			continue;
		accelerated = true;
		if (workers[w].rate > (fastest ? fastest->rate : 0))
			fastest = &workers[w];
	}
	if (!accelerated)
		return end(b) / 2;
	return fastest ? fastest->size / fastest->rate : 0;
}

static size_t logfit_next(struct heddle_strategy *b, unsigned worker)
{
	const struct logfit_worker *w = (struct logfit_worker *)b->state + worker;
	double first = b->parameters[FIRST], size;

	size = is_core(b, worker) ? core_duration(b) * w->rate : w->size;
	if (!(size > 0))
		return blocks_first(b, first);
	size = ceil(fmin(size, end(b) * w->rate));
	return blocks_wish(b, fmax(size, blocks_least(b, first, b->parameters[LEAST])));
}

/* Keeps a point; one of the same size comes in its place. */
static void point_add(struct logfit_worker *w, unsigned most, double size, double rate)
{
	unsigned i = 0;

	while (i < w->npoints && w->points[i].size != size)
		i++;
	if (i < w->npoints)
		rate = (rate + w->points[i].rate) / 2;
	else if (w->npoints < most)
		w->npoints++;
	else
		i = 0;
	for (; i + 1 < w->npoints; i++)
		w->points[i] = w->points[i + 1];
	w->points[i].size = size;
	w->points[i].rate = rate;
}

/* Whether a worker can be given no larger block. */
static bool is_largest(const struct heddle_strategy_worker *given, size_t n)
{
	return given->maximum && n > given->maximum - given->alignment;
}

/* Size of an accelerator's next block after one of n iterations. */
static void size_fit(const struct heddle_strategy *b, struct logfit_worker *w, double n)
{
	double enough = 2 * n, slope, intercept;
	struct heddle_line line = {0};

	for (unsigned i = 0; i < w->npoints; i++)
		heddle_line_add(&line, log(w->points[i].size), w->points[i].rate);
	/* slope ln 2 = change (slope ln x + intercept), solved for x. */
	if (w->npoints >= b->parameters[POINTS] && !heddle_line_fit(&line, &slope, &intercept))
		enough = slope > 0 ? exp(M_LN2 / b->parameters[CHANGE] - intercept / slope) : 0;
	w->stable |= enough <= n;
	w->size = fmax(n / 2, fmin(2 * n, enough));
}

static void logfit_completed(struct heddle_strategy *b, unsigned worker, size_t n, double us)
{
	struct logfit_worker *w = (struct logfit_worker *)b->state + worker;
	double rate = n / us;

	w->rate = w->rate > 0 ? (w->rate + rate) / 2 : rate;
	/* A block that the end cut short tells nothing of sizes. */
	if (is_core(b, worker) || (n < w->size / 2 && !w->stable))
		return;
	point_add(w, b->parameters[POINTS], n, rate);
	size_fit(b, w, n);
	w->stable |= is_largest(&b->workers[worker].given, n);
}

static enum heddle_phase logfit_phase(const struct heddle_strategy *b, unsigned worker)
{
	const struct logfit_worker *w = (const struct logfit_worker *)b->state + worker;
	bool learned = is_core(b, worker) ? w->rate > 0 : w->stable;

	return learned ? HEDDLE_PHASE_COMPLETION : HEDDLE_PHASE_ADAPTIVE;
}

static void logfit_end(struct heddle_strategy *b)
{
	free(b->state);
}

const struct blocks_strategy blocks_logfit = {
    .table = {.name = "logfit",
              .source = "Vilches, Navarro, Asenjo et al., LogFit, ICCS 2015 and Int. J. Parallel "
                        "Programming 47(2), 2019; from abstracts, see doc/strategies.md",
              .doc = "accelerators' blocks grow until their rate, fitted by a logarithm, rises no "
                     "more; cores' take as long",
              .parameters = parameters},
    .begin = logfit_begin,
    .next = logfit_next,
    .completed = logfit_completed,
    .phase = logfit_phase,
    .end = logfit_end,
};
