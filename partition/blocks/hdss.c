/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * HDSS: block sizes grow until the rate of a worker is known (adaptive phase),
 * the rest is handed out by these rates (completion phase).
 */
#include "config.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "partition/blocks/hdss.h"

/* Where the paper is unclear, this was chosen:
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
 * - A worker that has not finished a block when the adaptive phase ends counts as
 *   fast as the fastest known, or slower if what it has under way would be done
 *   by now.
 * - The adaptive phase ends at the first request after a fifth of the iterations has
 *   been given out. Its last blocks are not cut short to end there: sizes only grow,
 *   and the rate of a small last block is no weight.
 *
 * Each unit has one thread, which fetches a block when it has done the one before: no
 * worker has two blocks under way.
 *
 * With published=1 that is all. The other parameters switch on what goes beyond
 * it, one by one; doc/internals/strategies.md says why each is there. */

static const struct heddle_strategy_parameter parameters[] = {
    [HDSS_PUBLISHED] = {"published", 0, 0, 1, "0 or 1",
                        "1: the paper's values for all that is not given"},
    [HDSS_INITIAL] = {"initial", 0, 0, 1e18, "iterations",
                      "first block; 0: n / 32768, less with more than 32 workers, 32 "
                      "times as much on accelerators"},
    [HDSS_FACTOR] = {"factor", 0, 0, 1e9, "iterations",
                     "block factor: alignment of workers that state none; 0: up to 128, an "
                     "eighth of the first block"},
    [HDSS_POINTS] = {"points", 4, 2, 64, "blocks",
                     "measured before the logarithmic curve is fitted (jump=0)"},
    [HDSS_CHANGE] = {"change", 0.01, 1e-6, 1, "of the rate",
                     "MIN_CHANGE_RATE: smaller changes of a weight do not matter"},
    [HDSS_ADAPTIVE] = {"adaptive", 0.2, 0, 1, "of the iterations",
                       "most that the adaptive phase takes"},
    [HDSS_LEARNING] = {"learning", 0.03, 0, 1, "of the run",
                       "most time a worker spends in the adaptive phase; 1: no bound"},
    [HDSS_JUMP] = {"jump", 1, 0, 1, "0 or 1",
                   "sizes grow by measured times of blocks, not by the fitted rates"},
    [HDSS_EACH] = {"each", 1, 0, 1, "0 or 1",
                   "a worker leaves the adaptive phase as soon as its own weight is known"},
    [HDSS_KINDS] = {"kinds", 1, 0, 1, "0 or 1",
                    "workers of a kind share estimates until measured themselves"},
    [HDSS_WARM] = {"warm", 1, 0, 1, "0 or 1", "prior rates are used and verified"},
    [HDSS_ROBUST] = {"robust", 1, 0, 1, "0 or 1", "rates from several blocks, not the last alone"},
    [HDSS_FOLLOW] = {"follow", 1, 0, 1, "0 or 1",
                     "rates follow measurements in the completion phase"},
    [HDSS_AHEAD] = {"ahead", 1, 0, 1, "0 or 1",
                    "shares count what is under way, so that all end at one time"},
    [HDSS_SLICE] = {"slice", 32, 0, 4096, "parts of the run",
                    "a share is launched in slices of at least this part of the run; 0: whole"},
    [HDSS_OVERLAP] = {"overlap", 1, 0, 1, "0 or 1",
                      "an accelerator's next block arrives while one runs"},
    [HDSS_FAIR] = {"fair", 1, 0, 1, "0 or 1",
                   "no block is larger than the worker's share of what remains"},
    [HDSS_RAMP] = {"ramp", 1, 0, 1, "0 or 1",
                   "no block is larger than the worker's share of twice what was given so far"},
    [HDSS_MEMORY] = {"memory", 1, 0, 1, "0 or 1",
                     "costs and rates are kept for the loop's next run"},
    [HDSS_CREW] = {"crew", 1, 0, 1, "0 or 1",
                   "a loop that runs again is left to accelerators where cores slow them"},
    [HDSS_NPARAMETERS] = {0},
};

static const double published[HDSS_NPARAMETERS] = {
    [HDSS_PUBLISHED] = 1, [HDSS_INITIAL] = 128,  [HDSS_FACTOR] = 128, [HDSS_POINTS] = 4,
    [HDSS_CHANGE] = 0.01, [HDSS_ADAPTIVE] = 0.2, [HDSS_LEARNING] = 1,
};

/* As published: largest growth from block to block in the adaptive phase. */
#define LARGEST_JUMP 1024
/* First blocks of workers of a kind that must agree to count together. */
#define LEAST_TOGETHER 3
/* First blocks of accelerators, to those of cores. */
#define FIRST_ACCELERATOR 32
/* Of blocks given before the first came back, one to the next. */
#define QUEUED_JUMP 2
/* What two measurements of one rate may differ by. */
#define AGREEMENT 0.25
/* Part of the bound on the time of learning that is used: estimates made while
 * learning are off by some per cent, and the bound is to hold. */
#define FORESEEN_PART 0.9

/* A block that took so many starts tells a pace. */
#define SURE_STARTS 2
/* A second block that takes less than this part of the first one's time, and of that for each
 * iteration, tells that most of it came once: memory, programs, data that all blocks share. */
#define ONCE_PART 0.5
/* With known costs a block takes so many times the time to the end at most, ... */
#define CONFIRMED_RUN 2
/* ... and so many times as many iterations as its worker's latest one at least, at that one's
 * pace. */
#define CONFIRMED_JUMP 8
/* Before any run has confirmed costs, a core's first block is at most so many times as many
 * iterations as it has done at once. */
#define UNCONFIRMED_JUMP 2

/* Iterations of a worker's first block. Small enough that the slowest of very
 * unequal workers is soon done, large enough that there are few of them. */
static double initial_size(const struct heddle_strategy *b)
{
	double parts = 32768;

	if (b->parameters[HDSS_INITIAL])
		return b->parameters[HDSS_INITIAL];
	if (parts < 1024.0 * b->nworkers)
		parts = 1024.0 * b->nworkers;
	return blocks_extent(b) > parts ? blocks_extent(b) / parts : 1;
}

/* Whether first blocks of all workers of a kind may tell together what one worker
 * would have to do two blocks for. */
static bool learns_together(const struct heddle_strategy *b, enum heddle_kind kind)
{
	unsigned n = 0;

	for (unsigned w = 0; w < b->nworkers; w++)
		n += b->workers[w].given.kind == kind && !b->workers[w].retired;
	return n >= LEAST_TOGETHER && b->parameters[HDSS_KINDS] && b->parameters[HDSS_JUMP] &&
	       b->parameters[HDSS_FOLLOW];
}

/* An accelerator's first block is mostly the way there and back; of a larger one
 * something is seen of its rate, too. Cores have first blocks of two sizes in turn,
 * so that the first answers of some tell the start of a block from its pace. The more accelerators
 * there are, the slower a core may be beside all. */
static double first_size(const struct heddle_strategy *b, unsigned worker)
{
	double size = initial_size(b), few = blocks_extent(b) / (32.0 * b->nworkers);
	double larger = size * FIRST_ACCELERATOR;

	if (b->parameters[HDSS_INITIAL])
		return size;
	if (hdss_is_core(b, worker)) {
		size /= hdss_larger(1, hdss_accelerators(b));
		larger = learns_together(b, HEDDLE_KIND_CPU) && worker % 2 ? size * HDSS_BLIND_JUMP
		                                                           : size;
		size = hdss_larger(1, size);
	}
	/* Of a few long iterations a slow worker would do these until the end. */
	return hdss_larger(size, hdss_smaller(larger, few));
}

static size_t factor_size(const struct heddle_strategy *b)
{
	size_t factor = 1;

	if (b->parameters[HDSS_FACTOR])
		return b->parameters[HDSS_FACTOR];
	while (factor < 128 && factor * 16 <= initial_size(b))
		factor *= 2;
	return factor;
}

static int hdss_begin(struct heddle_strategy *b)
{
	struct hdss *h = calloc(1, sizeof(*h) + b->nworkers * sizeof(h->worker[0]));
	size_t factor = factor_size(b);

	if (!h)
		return -ENOMEM;
	h->estimates = calloc(b->nworkers, sizeof(*h->estimates));
	h->front = calloc(b->nworkers, sizeof(*h->front));
	h->room = malloc(2 * b->nworkers * sizeof(*h->room));
	if (!h->estimates || !h->front || !h->room || costs_run_init(&h->run_blocks, b->nworkers)) {
		free(h->estimates);
		free(h->front);
		free(h->room);
		free(h);
		return -ENOMEM;
	}
	for (unsigned w = 0; w < b->nworkers; w++) {
		struct heddle_strategy_worker *given = &b->workers[w].given;

		if (!given->alignment && (!given->maximum || factor <= given->maximum))
			given->alignment = factor;
	}
	h->over = 1;
	h->kept = b->parameters[HDSS_MEMORY] || b->parameters[HDSS_FOLLOW];
	b->state = h;
	return 0;
}

/* Iterations the adaptive phase may still take. */
static double adaptive_left(const struct heddle_strategy *b)
{
	return b->parameters[HDSS_ADAPTIVE] * b->total - (b->total - b->remaining);
}

static bool all_learned(const struct heddle_strategy *b)
{
	const struct hdss *h = b->state;

	for (unsigned w = 0; w < b->nworkers; w++)
		if (!b->workers[w].retired && !h->worker[w].learned)
			return false;
	return true;
}

/* As published: size of the next block after one of n iterations that left the
 * weight unstable. */
static double curve_size(const struct heddle_strategy *b, const struct hdss_worker *w, double n)
{
	double a, c, size = 2 * n, limit = adaptive_left(b) / blocks_active(b);

	if (w->curve.n >= b->parameters[HDSS_POINTS] && !heddle_line_fit(&w->curve, &a, &c)) {
		/* a ln 2 = change (a ln x + c), solved for x. */
		double x = a > 0 ? exp(M_LN2 / b->parameters[HDSS_CHANGE] - c / a) : n;

		size = x > n * LARGEST_JUMP ? n * LARGEST_JUMP : x > 2 * n ? x : 2 * n;
		if (size > limit)
			size = limit > 2 * n ? limit : 2 * n;
	}
	return size;
}

static void curve_learn(struct heddle_strategy *b, struct hdss_worker *w, double n, double rate)
{
	double before = w->rate;

	heddle_line_add(&w->curve, log(n), rate);
	w->learned = before > 0 && fabs(rate - before) < b->parameters[HDSS_CHANGE] * before;
	w->size = w->learned ? n : curve_size(b, w, n);
}

/* How far a block is from what the first blocks of its kind tell, as part of that. */
static double deviation(const struct heddle_block_time *first, struct heddle_block_point block)
{
	double told = heddle_block_time_us(first, block.n);

	return fabs(block.us - told) / told;
}

/* Whether the first blocks of several workers lie on one line. Two always do, though
 * they be of different workers. */
static bool first_agree(const struct heddle_block_time *first)
{
	double sum = 0;
	int n = 0;

	for (; n < BLOCK_TIME_POINTS && first->points[n].n > 0; n++)
		sum += deviation(first, first->points[n]);
	return first->start_known && n >= LEAST_TOGETHER && sum < AGREEMENT * n;
}

/* A worker has done its first block. Once those of its kind agree, all of the kind
 * know their weights, also those that have done none yet. */
static void learn_together(struct heddle_strategy *b, unsigned worker, double n, double us)
{
	struct hdss *h = b->state;
	enum heddle_kind kind = b->workers[worker].given.kind;

	if (h->agree[kind])
		return;
	heddle_block_time_add(&h->first[kind], n, us, b->parameters[HDSS_ROBUST], true);
	h->agree[kind] = first_agree(&h->first[kind]);
	for (unsigned w = 0; h->agree[kind] && w < b->nworkers; w++)
		if (b->workers[w].given.kind == kind)
			h->worker[w].learned = true;
}

/* Whether another worker of its kind knows its weight. */
static bool kind_learned(const struct heddle_strategy *b, unsigned worker)
{
	const struct hdss *h = b->state;

	for (unsigned w = 0; w < b->nworkers; w++)
		if (w != worker && h->worker[w].learned &&
		    b->workers[w].given.kind == b->workers[worker].given.kind)
			return true;
	return false;
}

/* Whether a block took what was estimated before it, of its worker's kind or from
 * an earlier run: then there is nothing to learn. A prior rate shows only in a block
 * whose iterations take as long as what it costs beside them. */
static bool as_estimated(const struct heddle_strategy *b, unsigned worker, double n, double us)
{
	struct hdss_estimate estimate;
	double estimated;

	if (!blocks_hdss_estimate(b, worker, &estimate))
		return false;
	estimated = estimate.start + n * estimate.pace;
	if (!kind_learned(b, worker) && n * estimate.pace < estimate.start)
		return false;
	return fabs(us - estimated) < AGREEMENT * estimated;
}

/* The size at which one more doubling gains less than MIN_CHANGE_RATE, from what
 * the blocks so far took. */
static double jump_size(const struct heddle_strategy *b, unsigned worker)
{
	const struct hdss_worker *w = &((const struct hdss *)b->state)->worker[worker];

	return w->time.start_known
	           ? w->time.start_us * 0.5 / b->parameters[HDSS_CHANGE] / w->time.pace
	           : blocks_hdss_jump(b, worker);
}

/* Largest block of which a worker that has answered can be expected to be done
 * while learning is still worth its time. */
static double time_limit(const struct heddle_strategy *b, unsigned worker)
{
	const struct hdss *h = b->state;
	const struct hdss_worker *w = &h->worker[worker];

	if (b->parameters[HDSS_LEARNING] >= 1 || h->end <= 0 || !w->time.count || b->stream)
		return HUGE_VAL;
	return heddle_block_time_fit(&w->time,
	                             FORESEEN_PART * b->parameters[HDSS_LEARNING] * h->end -
	                                 h->estimates[worker].ready);
}

/* Whether the adaptive phase is over for a worker that asks: all that learning
 * wants is known, or no longer worth its time. */
static bool worker_learned(struct heddle_strategy *b, unsigned worker)
{
	struct hdss *h = b->state;
	struct hdss_worker *w = &h->worker[worker];

	if (h->completion || w->learned || adaptive_left(b) <= 0)
		return true;
	return w->time.count && time_limit(b, worker) < 2 * w->last;
}

/* Largest first block by the prior rate: one that is estimated to take no longer
 * than learning should, or twice what it costs beside its iterations. Never larger
 * than without a prior rate, which may be wrong. */
static double prior_limit(const struct heddle_strategy *b, unsigned worker)
{
	const struct hdss *h = b->state;
	const struct heddle_strategy_worker *given = &b->workers[worker].given;
	double us = b->parameters[HDSS_LEARNING] * h->end - given->start_us;

	if (!b->parameters[HDSS_WARM] || given->rate <= 0 || h->end <= 0)
		return HUGE_VAL;
	return hdss_larger(1, hdss_larger(us, given->start_us) * given->rate);
}

/* Size of a block of the adaptive phase. Without an answer yet, sizes differ, so
 * that the first answers tell the start from the pace. */
static double adaptive_size(const struct heddle_strategy *b, unsigned worker)
{
	const struct hdss_worker *w = &((const struct hdss *)b->state)->worker[worker];
	double size = w->size > 0 ? w->size : first_size(b, worker), left = adaptive_left(b);
	double limit = time_limit(b, worker);

	if (!w->time.count)
		size = hdss_smaller(size, prior_limit(b, worker));
	if (!w->answered && b->parameters[HDSS_JUMP])
		for (unsigned i = 0; i < w->asked && i < 3; i++)
			size *= QUEUED_JUMP;
	size = size < limit ? size : limit;
	/* A rate tells a weight only where sizes grow: without a line of time over size no
	 * block is cut short. */
	return b->parameters[HDSS_JUMP] && left < size ? left : size;
}

/* Whether a worker asks before its block before is done, and its pace is known from blocks that
 * were more than a start. Then it will ask again in time, and need not have all of its rest now. */
static bool asks_ahead(const struct heddle_strategy *b, unsigned worker)
{
	const struct hdss *h = b->state;

	return h->known && !b->at_hand && b->workers[worker].blocks_under_way &&
	       h->worker[worker].largest.us >=
	           SURE_STARTS * blocks_hdss_known_start(b, worker, false);
}

/* Known costs may be wrong: what blocks took for another reason than their iterations makes the
 * others look cheap. So what a worker's latest block took limits its next one. Before it has done
 * one, its mean pace does, or that of its kind: one of several whose blocks were large would have
 * all. Costs that nobody has confirmed may be those of far cheaper iterations: one large block of
 * an accelerator tells only what all of it cost. */
static double confirmed_limit(const struct heddle_strategy *b, unsigned worker)
{
	const struct hdss *h = b->state;
	const struct hdss_worker *w = &h->worker[worker];
	double us = h->end - h->now, n = w->latest_iterations, most = HUGE_VAL;

	if (!h->known || us <= 0)
		return HUGE_VAL;
	if (!h->confirmed && hdss_is_core(b, worker) && w->most > 0)
		most = UNCONFIRMED_JUMP * w->most;
	if (!w->answered)
		return hdss_smaller(most,
		                    us / hdss_larger(h->estimates[worker].pace,
		                                     h->kind[b->workers[worker].given.kind].pace));
	return n > 0 ? hdss_larger(CONFIRMED_JUMP * n, CONFIRMED_RUN * us * n / w->latest.us)
	             : HUGE_VAL;
}

/* Whether only a worker's block under way will tell what the next one takes. Far larger ones would
 * wait behind it. */
static bool answer_is_missing(const struct heddle_strategy *b, unsigned worker)
{
	const struct hdss *h = b->state;
	const struct blocks_worker *w = &b->workers[worker];

	if (!w->under_way || h->known || b->stream || !b->parameters[HDSS_JUMP])
		return false;
	if (h->agree[w->given.kind] || w->given.rate > 0)
		return false;
	return !h->worker[worker].answered || !h->estimates[worker].sized;
}

static double size_wish(struct heddle_strategy *b, unsigned worker)
{
	struct hdss *h = b->state;
	struct hdss_worker *w = &h->worker[worker];
	double size;

	w->pipelined |= asks_ahead(b, worker);
	blocks_hdss_estimate_all(b, worker);
	if (blocks_hdss_comes_late(b, worker))
		return 0;
	if (!h->completion && (adaptive_left(b) <= 0 || all_learned(b)))
		h->completion = true;
	if (h->completion && answer_is_missing(b, worker))
		return 0;
	if (!w->learned && worker_learned(b, worker))
		w->learned = true;
	if (h->completion || (w->learned && b->parameters[HDSS_EACH])) {
		/* Nobody has answered yet: equal parts. */
		size = h->end > 0 ? blocks_hdss_share(b, worker)
		                  : (double)b->remaining / (2.0 * blocks_active(b));
		if (size == 0 && h->end > 0)
			return 0;
	} else {
		size = adaptive_size(b, worker);
	}
	size = hdss_iterations(b, blocks_hdss_crew_limit(b, worker, size));
	size = hdss_smaller(size, confirmed_limit(b, worker));
	if (h->known && size < 2 && blocks_hdss_lumps_next(b, worker))
		return 0;
	if (h->lumps.count)
		size = blocks_hdss_lumps_limit(b, worker, size);
	return blocks_hdss_own_limit(b, worker, size);
}

static size_t hdss_next(struct heddle_strategy *b, unsigned worker)
{
	double size = hdss_is_out(b, worker) ? 0 : size_wish(b, worker);

	if (size <= 0 && !hdss_is_core(b, worker))
		size = blocks_hdss_own_bet(b, worker);
	if (size <= 0)
		return 0;
	return size < 1 ? 1 : size < b->remaining ? (size_t)size : b->remaining;
}

static void hdss_gave(struct heddle_strategy *b, unsigned worker, size_t n)
{
	struct hdss *h = b->state;
	struct hdss_worker *w = &h->worker[worker];

	w->asked++;
	w->told = h->end > 0 && !h->known ? n * h->estimates[worker].pace : 0;
	w->has +=
	    h->kept ? costs_run_gave(&h->run_blocks, h->known ? &h->costs : NULL, worker, n) : n;
	h->known &= !h->run_blocks.lost;
	h->uneven &= !h->run_blocks.lost;
	if (b->workers[worker].blocks_under_way > 1) {
		w->pipelined = !b->at_hand;
	} else {
		w->cold = true;
		w->clock = hdss_larger(w->clock, h->now);
	}
	blocks_hdss_estimate_given(b, worker);
}

/* Whether an accelerator's second block tells that its first one counts no longer. */
static bool first_was_dear(const struct heddle_strategy *b, unsigned worker, double n, double us)
{
	const struct heddle_block_time *t = &((const struct hdss *)b->state)->worker[worker].time;

	return !hdss_is_core(b, worker) && b->parameters[HDSS_ROBUST] && t->count == 1 &&
	       us < ONCE_PART * t->points[0].us * hdss_smaller(1, n / t->points[0].n);
}

/* A block that began with nothing under way took its worker longer than those
 * that follow it into a pipeline: it counts only until there are such. */
static void time_add(struct heddle_strategy *b, unsigned worker, double n, double us)
{
	struct hdss_worker *w = &((struct hdss *)b->state)->worker[worker];
	bool cold = w->cold && w->pipelined;

	w->cold = false;
	if (n <= 0 || (cold && w->time.count > 1))
		return;
	if (first_was_dear(b, worker, n, us)) {
		w->time = (struct heddle_block_time){0};
		w->last = w->latest.n;
		((struct hdss *)b->state)->front[worker].pace = 0;
	}
	heddle_block_time_add(&w->time, n, us, b->parameters[HDSS_ROBUST],
	                      b->parameters[HDSS_JUMP]);
}

/* Whether a worker's start and pace are known. While rates follow what is
 * measured, that is enough: larger blocks refine them and are no experiment. */
static bool line_known(const struct heddle_strategy *b, const struct hdss_worker *w)
{
	return w->time.start_known && b->parameters[HDSS_FOLLOW];
}

static void hdss_completed(struct heddle_strategy *b, unsigned worker, size_t iterations, double us)
{
	struct hdss *h = b->state;
	struct hdss_worker *w = &h->worker[worker];
	bool first = !w->time.count, learned = w->learned, known;
	double n = h->kept ? costs_run_done(&h->run_blocks, worker, iterations, us) : iterations;

	if (h->known)
		blocks_hdss_compare(b, worker, n, us);
	else
		blocks_hdss_uneven_note(b, worker, n, us);
	blocks_hdss_own_completed(b, worker, iterations, us);
	w->has -= n;
	w->answered++;
	w->latest = (struct heddle_block_point){n, us};
	w->latest_iterations = iterations;
	h->done += n;
	if (n > w->largest.n)
		w->largest = (struct heddle_block_point){n, us};
	w->clock += us;
	if (w->clock > h->now)
		h->now = w->clock;
	blocks_hdss_crew_completed(b, worker, n, us);
	if (w->learned && w->time.count && !b->parameters[HDSS_FOLLOW])
		return;
	known = first && (kind_learned(b, worker) || b->workers[worker].given.rate > 0) &&
	        as_estimated(b, worker, n, us);
	if (first && !known)
		w->distrusted = true;
	time_add(b, worker, blocks_hdss_uneven_size(b, worker, n), us);
	if (first && learns_together(b, b->workers[worker].given.kind))
		learn_together(b, worker, n, us);
	if (learned)
		return;
	w->last = n;
	if (w->learned) /* by this block */
		return;
	if (!b->parameters[HDSS_JUMP])
		curve_learn(b, w, n, n / us);
	else
		w->size = jump_size(b, worker);
	if (b->parameters[HDSS_JUMP] && (known || w->size <= n || line_known(b, w)))
		w->learned = true;
	w->rate = n / us;
}

static void hdss_returned(struct heddle_strategy *b, unsigned worker, size_t n)
{
	struct hdss *h = b->state;
	struct hdss_worker *w = &h->worker[worker];
	double had = w->has;

	w->has -= h->kept ? costs_run_returned(&h->run_blocks, worker, n) : n;
	if (had > 0)
		w->told *= hdss_larger(0, w->has) / had;
}

/* Not before it is known what a block costs beside its iterations. */
static double hdss_expected(const struct heddle_strategy *b, unsigned worker, double *start_us)
{
	const struct hdss *h = b->state;
	const struct hdss_estimate *e = &h->estimates[worker];

	if (h->end <= 0 || !e->sized)
		return 0;
	*start_us = e->start;
	return e->start + hdss_has(b, worker) * e->pace;
}

static void hdss_retired(struct heddle_strategy *b, unsigned worker)
{
	(void)worker;
	blocks_hdss_crew_retired(b);
	blocks_hdss_own_crew(b);
}

/* Of a stream no iteration comes again. */
static void hdss_extended(struct heddle_strategy *b, size_t n)
{
	struct hdss *h = b->state;

	(void)n;
	if (!h->kept)
		return;
	h->kept = h->known = h->uneven = false;
	h->crew.parked = false;
	costs_run_fini(&h->run_blocks);
}

static enum heddle_phase hdss_phase(const struct heddle_strategy *b, unsigned worker)
{
	const struct hdss *h = b->state;
	bool completion = h->completion || (h->worker[worker].learned && b->parameters[HDSS_EACH]);

	return completion ? HEDDLE_PHASE_COMPLETION : HEDDLE_PHASE_ADAPTIVE;
}

/* In a slice, or in a block as large as one that the worker has done: slices may be thought to be
 * short for a while. */
static double hdss_rate(const struct heddle_strategy *b, unsigned worker)
{
	const struct hdss_worker *w = &((const struct hdss *)b->state)->worker[worker];
	double n = hdss_larger(blocks_hdss_slice(b, worker), w->largest.n);

	return w->time.pace > 0 ? n / heddle_block_time_us(&w->time, n) : 0;
}

static double hdss_ends(const struct heddle_strategy *b)
{
	return ((const struct hdss *)b->state)->end;
}

static bool hdss_overlaps(const double *values)
{
	return values[HDSS_OVERLAP];
}

static bool hdss_kept(const struct heddle_strategy *b)
{
	return ((const struct hdss *)b->state)->kept && b->parameters[HDSS_MEMORY];
}

static void hdss_end(struct heddle_strategy *b)
{
	struct hdss *h = b->state;

	costs_run_fini(&h->run_blocks);
	free(h->estimates);
	free(h->front);
	free(h->room);
	free(h);
}

const struct blocks_strategy blocks_hdss = {
    .table = {.name = "hdss",
              .source = "Belviranli, Bhuyan and Gupta, HDSS, ACM TACO 9(4), 2013, section 3.2, "
                        "Eq. (2); published=1 is that alone",
              .doc = "heterogeneous dynamic self-scheduling: learns each worker's rate, then "
                     "shares the rest by it",
              .parameters = parameters},
    .published = published,
    .overlaps = hdss_overlaps,
    .begin = hdss_begin,
    .next = hdss_next,
    .gave = hdss_gave,
    .completed = hdss_completed,
    .returned = hdss_returned,
    .extended = hdss_extended,
    .retired = hdss_retired,
    .phase = hdss_phase,
    .rate = hdss_rate,
    .expected = hdss_expected,
    .ends = hdss_ends,
    .end = hdss_end,
    .kept = hdss_kept,
    .remember = blocks_hdss_remember,
    .learn = blocks_hdss_learn,
};
