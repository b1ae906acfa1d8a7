/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * HDSS: block sizes grow until the rate of a worker is known (adaptive phase),
 * the rest is handed out by these rates (completion phase).
 *
 * Where the paper is unclear, this is what was chosen:
 *
 * - The fitted curve rate = a ln(x) + b is left "where the slope is equal to
 *   a / MIN_CHANGE_RATE". Its slope is a / x, so read literally the point is
 *   x = MIN_CHANGE_RATE, less than an iteration. Taken instead: the size from
 *   which one more doubling gains less than MIN_CHANGE_RATE of the rate,
 *   a ln 2 < MIN_CHANGE_RATE (a ln x + b), the same measure by which a weight is
 *   called stable. A flat curve is left at once.
 * - A steep curve has that point beyond any loop. The next block is at most
 *   1024 times the last (the jump from 8192 to 8 M of Figure 12) and at most an
 *   equal part, by number of workers, of what the adaptive phase may still take
 *   (which gives the figure's 16.7 M after it).
 * - Before there are enough points for a fit, sizes double, as in Figure 12.
 * - A worker whose weight is stable while others' are not goes on with blocks of
 *   the size it has reached.
 * - A worker that has not finished a block when the adaptive phase ends has the
 *   smallest weight known until it has.
 */
#include "config.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "estimator/rate_fit.h"
#include "partition/blocks/strategy.h"

enum { PUBLISHED, INITIAL, FACTOR, POINTS, CHANGE, ADAPTIVE };

static const struct heddle_strategy_parameter parameters[] = {
    {"published", 0, 0, 1, "0 or 1", "1: the paper's values for all that is not given"},
    {"initial", 128, 0, 1e18, "iterations", "first block"},
    {"factor", 128, 1, 1e9, "iterations", "block factor: alignment of workers that state none"},
    {"points", 4, 2, 64, "blocks", "measured before the curve is fitted"},
    {"change", 0.01, 1e-6, 1, "of the rate",
     "MIN_CHANGE_RATE: smaller changes of a weight mean that it is stable"},
    {"adaptive", 0.2, 0, 1, "of the iterations", "most that the adaptive phase takes"},
    {0},
};

static const double published[] = {1, 128, 128, 4, 0.01, 0.2};

#define LARGEST_JUMP 1024

struct hdss_worker {
	struct heddle_line curve; /* rate over the logarithm of the size */
	double weight;            /* iterations per microsecond; 0: unknown */
	double size;              /* of the next block in the adaptive phase */
	bool stable;
};

struct hdss {
	bool completion;
	struct hdss_worker worker[];
};

static int hdss_begin(struct heddle_blocks *b)
{
	struct hdss *h = calloc(1, sizeof(*h) + b->nworkers * sizeof(h->worker[0]));

	if (!h)
		return -ENOMEM;
	for (unsigned w = 0; w < b->nworkers; w++) {
		struct heddle_blocks_worker *given = &b->workers[w].given;
		size_t factor = b->parameters[FACTOR];

		h->worker[w].size = b->parameters[INITIAL];
		if (!given->alignment && (!given->maximum || factor <= given->maximum))
			given->alignment = factor;
	}
	b->state = h;
	return 0;
}

/* Iterations the adaptive phase may still take. */
static double adaptive_left(const struct heddle_blocks *b)
{
	return b->parameters[ADAPTIVE] * b->total - (b->total - b->remaining);
}

static bool all_stable(const struct heddle_blocks *b)
{
	const struct hdss *h = b->state;

	for (unsigned w = 0; w < b->nworkers; w++)
		if (!b->workers[w].retired && !h->worker[w].stable)
			return false;
	return true;
}

/* Smallest known weight, for workers that have none; 1 where none is known. */
static double weight_smallest(const struct heddle_blocks *b)
{
	const struct hdss *h = b->state;
	double smallest = HUGE_VAL;

	for (unsigned w = 0; w < b->nworkers; w++)
		if (h->worker[w].weight > 0 && h->worker[w].weight < smallest)
			smallest = h->worker[w].weight;
	return isinf(smallest) ? 1 : smallest;
}

/* HDSS, Eq. (2). */
static double share_of_rest(const struct heddle_blocks *b, unsigned worker)
{
	const struct hdss *h = b->state;
	double unknown = weight_smallest(b), sum = 0, own;

	for (unsigned w = 0; w < b->nworkers; w++)
		if (!b->workers[w].retired)
			sum += h->worker[w].weight > 0 ? h->worker[w].weight : unknown;
	own = h->worker[worker].weight > 0 ? h->worker[worker].weight : unknown;
	return b->remaining * own / sum;
}

static size_t hdss_next(struct heddle_blocks *b, unsigned worker)
{
	struct hdss *h = b->state;
	double size, left = adaptive_left(b);

	if (!h->completion && (left <= 0 || all_stable(b)))
		h->completion = true;
	if (h->completion)
		size = share_of_rest(b, worker);
	else
		size = h->worker[worker].size < left ? h->worker[worker].size : left;
	return size > 1 ? size : 1;
}

/* Size of the next block after one of n iterations that left the weight
 * unstable. */
static double size_next(const struct heddle_blocks *b, const struct hdss_worker *w, double n)
{
	double a, c, size = 2 * n, limit = adaptive_left(b) / blocks_active(b);

	if (w->curve.n >= b->parameters[POINTS] && !heddle_line_fit(&w->curve, &a, &c)) {
		/* a ln 2 = change (a ln x + c), solved for x. */
		double x = a > 0 ? exp(M_LN2 / b->parameters[CHANGE] - c / a) : n;

		size = x > n * LARGEST_JUMP ? n * LARGEST_JUMP : x > 2 * n ? x : 2 * n;
		if (size > limit)
			size = limit > 2 * n ? limit : 2 * n;
	}
	return size;
}

static void hdss_completed(struct heddle_blocks *b, unsigned worker, size_t n, double us)
{
	struct hdss *h = b->state;
	struct hdss_worker *w = &h->worker[worker];
	double before = w->weight, rate = n / us;

	if (h->completion && before > 0)
		return;
	w->weight = rate;
	if (h->completion)
		return;
	heddle_line_add(&w->curve, log(n), rate);
	w->stable = before > 0 && fabs(rate - before) < b->parameters[CHANGE] * before;
	w->size = w->stable ? n : size_next(b, w, n);
}

static enum heddle_phase hdss_phase(const struct heddle_blocks *b, unsigned worker)
{
	const struct hdss *h = b->state;

	return h->completion ? HEDDLE_PHASE_COMPLETION : HEDDLE_PHASE_ADAPTIVE;
}

static double hdss_rate(const struct heddle_blocks *b, unsigned worker)
{
	return ((const struct hdss *)b->state)->worker[worker].weight;
}

static void hdss_end(struct heddle_blocks *b)
{
	free(b->state);
}

const struct blocks_strategy blocks_hdss = {
    .table = {.name = "hdss",
              .source = "Belviranli, Bhuyan and Gupta, HDSS, ACM TACO 9(4), 2013, section 3.2, "
                        "Eq. (2)",
              .doc = "heterogeneous dynamic self-scheduling: learns each worker's rate, then "
                     "shares the rest by it",
              .parameters = parameters},
    .published = published,
    .begin = hdss_begin,
    .next = hdss_next,
    .completed = hdss_completed,
    .phase = hdss_phase,
    .rate = hdss_rate,
    .end = hdss_end,
};
