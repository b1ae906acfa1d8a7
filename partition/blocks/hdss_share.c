/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * HDSS's completion phase: who gets how much of what remains.
 *
 * As published a worker gets its whole share R w / W, Eq. (2). The extension `ahead` counts
 * when each worker will be ready, so that all end at one time. The extension `slice` gives
 * a share in pieces that become smaller towards the end.
 */
#include "config.h"

#include <math.h>
#include <string.h>

#include "partition/blocks/hdss.h"

/* A worker's blocks are never longer than this part of the run, however much
 * they cost beside their iterations: nothing overlaps with the first block of a
 * pipeline while it comes, nor with the last while it goes. */
#define LONGEST_SLICE 0.23
#define LONGEST_PIPELINED 0.0625
/* What earlier runs told and the latest confirmed may be believed for longer, less where blocks
 * are noisy. */
#define LONGEST_CONFIRMED 0.9
#define NOISE_MARGIN 5
/* A core's block costs at least so much beside its iterations, microseconds: blocks of nearly one
 * size do not tell it from their pace. */
#define DECISION_US 2
/* Where starts are long, it is believed for all of the run if a start takes so many times what
 * blocks differ by. */
#define SURE_MARGIN 2
/* Nor are the last ones made shorter than this part of the run, or than so many
 * times their cost beside the iterations. */
#define SHORTEST_SLICE 0.005
#define SHORTEST_STARTS 10
/* While nobody knows what the last iterations cost, the last blocks may take this part of so many
 * starts, and less the smaller the worker's part of all is, for which one more start costs little,
 * or in a pipeline, which hides starts. They take all of them where a start is so much of the run
 * ... */
#define LEAST_OF_STARTS 0.5
#define LEAST_OF_SMALL 0.2
#define STARTS_OF_SHARE 2.5
#define DEAR_START 0.01
/* ... or a worker is more than this part of all. */
#define MOST_SHARE 0.9
/* So few iterations are left for each worker that it does whole ones. */
#define FEW_ITERATIONS 4
/* Where one takes a worker this part of the run, it does whole ones. Where more than so many are
 * left for each worker, parts of one do not matter. */
#define LONG_ITERATION 0.05
#define MANY_ITERATIONS 256
/* Where workers that are so many times as fast do nearly all, another one gets such a one only if
 * so much more of its time is left, less where blocks are hardly noisy. */
#define LONG_MARGIN 0.25
#define MUCH_FASTER 64
/* Work that the estimated end may be off by. */
#define POUR_EXACT 0.01
/* A worker above this part of all is not left out of the rest before it is known that the others
 * can do it in time. */
#define LARGE_PART (1 / 16.0)
/* Where starts are long: a slice of a pipeline is at most this part of the run. */
#define LONGEST_LONG_START 0.125
/* A block is worth its start if its iterations take so much of it. */
#define WORTH_PART 0.25
/* Of a block before, at least this part of the estimated start was start ... */
#define SURE_START 0.5
/* ... and at that pace the next one takes this part of the time to the end, less in a pipeline. */
#define SAFE_PART 0.7
#define SAFE_PIPELINED 0.4
/* A block after one that was mostly start, this part of the run at least, takes this part of it,
 * and of what is left, divided by all accelerators. */
#define BLIND_START 0.01
#define BLIND_PART 0.5
#define BLIND_REST 0.1
/* Blocks of a pipeline take so many starts: the next one's is hidden. */
#define HIDING 2
/* A block larger than any its worker has done is not trusted to fit its slice:
 * would its size alone make its time, it stays below this part of the run. */
#define LONGEST_UNSEEN 0.125
/* Unless it is at most so many times as large. */
#define TRUSTED_GROWTH 4
/* An accelerator's first block takes at least so long, microseconds, whatever its size:
 * the way there and back, and all that happens there for the first time. */
#define FIRST_ANSWER_US 100
/* All of what remains goes to one worker if that delays no end by more. */
#define CRUMB 0.0005
/* Blocks are not cut to a worker's share of the rest below so many times what they cost
 * beside their iterations, or this part of the run. */
#define WORTH_STARTS 4
#define WORTH_RUN 0.001
/* At the beginning a block is the worker's share of so many times what was given so far, and not
 * below so many times its start. */
#define RAMP 2
#define RAMP_STARTS 32
/* While an accelerator has not answered, a core's block takes so many times the time that passed,
 * or so many starts: the run may be far shorter than it seems. */
#define UNANSWERED_PART 1
#define UNANSWERED_STARTS 8
/* With costs of an earlier run that no other run has confirmed. */
#define KNOWN_STARTS 8
/* Blocks under way that take so many times as long as expected, on average, tell that
 * iterations cost more now. */
#define OVERRUN 1.5
/* Where iterations are uneven a block may take so many times as long as estimated, ... */
#define TRUSTED_OVERRUN 2
/* ... and this part of the run should its iterations cost what those before did on average: the
 * others can do that much in its place. */
#define ABSORBED_PART 0.1
/* All estimates are made anew after so many events for each worker, with many workers less often:
 * each event is a smaller part of what is known. And after this part of a loop: where iterations
 * have become dear nobody answers for long. */
#define REFRESH (1 / 16.0)
#define REFRESH_MANY (1 / 4.0)
#define MANY 64
#define REFRESH_RUN 0.03

/* Starts that are so many times the mean are left out of it, in so many rounds. */
#define FAR_ABOVE 1.5
#define LIKELY_ROUNDS 3

/* An accelerator's growth: its first block is mostly start. */
#define BLIND_JUMP_ACCELERATOR 4

/* A line through two blocks, one of them dear or late, may have any start, up to many times the
 * true one, which is short on a core. The likely one is the mean of those not far above it. Starts
 * of ranks are long, and some are found to be 0: without the longest ones blocks become so short
 * that nobody can answer all ranks. */
static double start_likely(const struct heddle_strategy *b, int kind, double mean)
{
	const struct hdss *h = b->state;
	double sum = 0, n = 0;

	for (unsigned w = 0; w < b->nworkers; w++) {
		const struct heddle_block_time *t = &h->worker[w].time;

		if ((int)b->workers[w].given.kind != kind || !t->start_known ||
		    t->start_us > FAR_ABOVE * mean)
			continue;
		sum += t->start_us;
		n++;
	}
	return n > 0 ? sum / n : mean;
}

/* Means over the workers of each kind. Before one of them has done blocks of two
 * sizes, their first blocks together may tell what a block costs. */
static void kinds_estimate(const struct heddle_strategy *b)
{
	struct hdss *h = b->state;
	struct {
		double start, pace;
		unsigned starts, paces;
	} sums[HEDDLE_NKINDS] = {0};

	for (unsigned w = 0; w < b->nworkers; w++) {
		const struct heddle_block_time *t = &h->worker[w].time;
		enum heddle_kind kind = b->workers[w].given.kind;

		sums[kind].pace += t->pace;
		sums[kind].paces += t->pace > 0;
		sums[kind].start += t->start_us; /* 0 where it is not known */
		sums[kind].starts += t->start_known;
	}
	for (int k = 0; k < HEDDLE_NKINDS; k++) {
		bool cores;

		h->kind[k].start = sums[k].start / (sums[k].starts + !sums[k].starts);
		h->kind[k].pace = sums[k].pace / (sums[k].paces + !sums[k].paces);
		h->kind[k].sized = sums[k].starts > 0;
		cores = k == HEDDLE_KIND_CPU && !b->ranks && sums[k].starts >= 3;
		for (int i = 0; cores && i < LIKELY_ROUNDS; i++)
			h->kind[k].start = start_likely(b, k, h->kind[k].start);
		if (!sums[k].starts && h->agree[k]) {
			h->kind[k].start = h->first[k].start_us;
			h->kind[k].sized = true;
		}
		if (h->known && h->starts[k].known) {
			h->kind[k].start = h->starts[k].start.us;
			h->kind[k].sized = true;
		}
	}
}

/* Once for each worker in a refresh: no call for each. */
static inline __attribute__((always_inline)) bool
estimate_find(const struct heddle_strategy *b, unsigned worker, struct hdss_estimate *estimate)
{
	const struct hdss *h = b->state;
	const struct hdss_worker *own = &h->worker[worker];
	const struct heddle_strategy_worker *given = &b->workers[worker].given;

	estimate->start = estimate->pace = 0;
	estimate->retired = hdss_is_out(b, worker);
	estimate->sized = own->time.start_known;
	if (b->parameters[HDSS_KINDS]) {
		estimate->start = h->kind[given->kind].start;
		estimate->pace = h->kind[given->kind].pace;
		estimate->sized = h->kind[given->kind].sized;
	}
	if (!estimate->sized && !own->distrusted && given->rate > 0 && b->parameters[HDSS_WARM])
		estimate->start = given->start_us;
	if (h->known && h->starts[given->kind].known)
		estimate->start = blocks_hdss_known_start(b, worker, own->pipelined);
	if (own->time.pace > 0) {
		/* What a block costs beside its iterations is a matter of the kind,
		 * and hard to tell from the few blocks of one worker. */
		if (!b->parameters[HDSS_KINDS])
			estimate->start = own->time.start_us;
		estimate->pace = heddle_block_time_pace(&own->time, estimate->start);
		if (h->known)
			estimate->pace = blocks_hdss_known_pace(b, worker, estimate->pace);
	} else if (estimate->pace <= 0 && b->parameters[HDSS_WARM] && given->rate > 0) {
		estimate->pace = 1 / given->rate;
	}
	/* An accelerator's only block may be nearly all start, which is no longer where iterations
	 * are dearer. */
	if (h->uneven && h->front[worker].pace > 0 &&
	    (own->time.count != 1 || hdss_is_core(b, worker) ||
	     h->front[worker].pace < estimate->pace))
		estimate->pace = h->front[worker].pace;
	return estimate->pace > 0;
}

bool blocks_hdss_measured(const struct heddle_strategy *b, unsigned worker,
                          struct hdss_estimate *estimate)
{
	return estimate_find(b, worker, estimate);
}

bool blocks_hdss_estimate(const struct heddle_strategy *b, unsigned worker,
                          struct hdss_estimate *estimate)
{
	const struct hdss *h = b->state;

	if (!estimate_find(b, worker, estimate))
		return false;
	if (hdss_is_core(b, worker))
		estimate->pace = hdss_larger(estimate->pace, h->core_pace);
	return true;
}

/* When a worker will have done what it has. One that is late is expected to stay
 * so for half as long again. The first block of a pipeline costs more than those behind it. */
static inline double ready_at(const struct heddle_strategy *b, unsigned worker)
{
	const struct hdss *h = b->state;
	const struct blocks_worker *w = &b->workers[worker];
	const struct hdss_estimate *estimate = &h->estimates[worker];
	double ready, cold = 0;

	if (h->known && h->worker[worker].pipelined && (!w->under_way || h->worker[worker].cold))
		cold = blocks_hdss_known_start(b, worker, false) - estimate->start;
	if (!w->under_way)
		return h->now + cold;
	ready = h->worker[worker].clock + w->blocks_under_way * estimate->start +
	        hdss_has(b, worker) * estimate->pace + cold;
	return ready > h->now ? ready : h->now + (h->now - ready) / 2;
}

/* Whether a block costs so much beside its iterations that blocks must be few. Of cores only in
 * later runs: what comes once with a first block looks like a long start, and too large a block
 * ends long after all others. Where cores' starts are long indeed, a first run has more blocks than
 * it should. */
static bool starts_long(const struct heddle_strategy *b, unsigned worker)
{
	const struct hdss *h = b->state;

	if (hdss_is_core(b, worker) && !h->known && !b->ranks)
		return false;
	return h->estimates[worker].start >= HDSS_LONG_START * h->run;
}

/* Blocks in a pipeline are at least so long, to hide what the next one costs to start. */
static double hidden_us(const struct heddle_strategy *b, unsigned worker)
{
	const struct hdss *h = b->state;

	return h->known && h->worker[worker].pipelined
	           ? HIDING * blocks_hdss_known_start(b, worker, false)
	           : 0;
}

/* Whether a worker may have all of its rest as one block, in a run as those before: a second one
 * costs more than it evens out. */
static bool one_is_best(const struct heddle_strategy *b, double start)
{
	const struct hdss *h = b->state;

	return start >= HDSS_LONG_START * h->run && start > SURE_MARGIN * h->noise * h->run;
}

/* Longest duration of a worker's slices: so long that making them twice as long
 * would gain less than MIN_CHANGE_RATE, at least one of `slice` parts of the run. */
static double slice_us(const struct heddle_strategy *b, unsigned worker, double start,
                       bool long_start)
{
	const struct hdss *h = b->state;
	bool pipelined = h->worker[worker].pipelined;
	double longest = h->run * (pipelined ? LONGEST_PIPELINED : LONGEST_SLICE);
	double us = h->run / b->parameters[HDSS_SLICE], hidden = hidden_us(b, worker);
	/* rate(2n) / rate(n) - 1 = (start / 2) / (start / 2 + n pace) */
	double starts = 0.5 / b->parameters[HDSS_CHANGE] + 0.5;

	if (b->stream)
		return longest; /* it comes cut already */
	if (long_start)
		longest = hdss_larger(longest,
		                      hdss_smaller(SHORTEST_STARTS * start,
		                                   h->run * (pipelined ? LONGEST_LONG_START : 1)));
	longest = hdss_larger(longest, hidden);
	if (h->confirmed && !pipelined)
		longest = hdss_larger(longest,
		                      h->run * (one_is_best(b, start)
		                                    ? 1
		                                    : LONGEST_CONFIRMED - NOISE_MARGIN * h->noise));
	if (h->confirmed && hdss_is_core(b, worker))
		us = hdss_larger(us, hdss_smaller(starts * DECISION_US, LONGEST_SLICE * h->run));
	us = hdss_larger(hdss_larger(us, starts * start), hidden);
	return hdss_smaller(us, longest);
}

/* A worker of which nothing is known is taken for the fastest one known, or
 * slower if what it has under way would be done by now. */
static void guess(struct heddle_strategy *b, unsigned worker, double fastest)
{
	struct hdss *h = b->state;
	struct hdss_estimate *estimate = &h->estimates[worker];
	double pace = fastest;

	if (b->workers[worker].under_way) {
		double least = (h->now - h->worker[worker].clock) / hdss_has(b, worker);

		if (least > pace)
			pace = least;
	}
	estimate->pace = pace;
	estimate->start = 0;
}

bool blocks_hdss_comes_late(const struct heddle_strategy *b, unsigned worker)
{
	const struct hdss *h = b->state;
	const struct hdss_estimate *estimate = &h->estimates[worker];

	return b->parameters[HDSS_AHEAD] && !b->stream && h->end > 0 && estimate->guessed &&
	       b->workers[worker].given.kind != HEDDLE_KIND_CPU &&
	       estimate->ready + FIRST_ANSWER_US > h->end;
}

/* Iterations that all workers can do until `end`, and how fast that grows with it. Of long ones a
 * worker does whole ones.
 * @param one work of an iteration; 0: so many are left that parts of one do not matter
 * @param[out] whole whether a worker's iterations are long */
static double all_capacity(const struct heddle_strategy *b, double end, double one, double *rate,
                           bool *whole)
{
	const struct hdss *h = b->state;
	double sum = 0, rates = 0;

	*whole = false;
	for (unsigned w = 0; w < b->nworkers; w++) {
		const struct hdss_estimate *estimate = &h->estimates[w];
		double us = end - estimate->ready, n, more;

		if (estimate->retired || us <= estimate->start)
			continue;
		if (us >= estimate->slice && estimate->slice > estimate->start) {
			n = us * estimate->rate;
			more = estimate->rate;
		} else {
			n = (us - estimate->start) / estimate->pace;
			more = 1 / estimate->pace;
		}
		if (one * estimate->pace > LONG_ITERATION * h->run) {
			n = floor(n / one) * one;
			more = 0;
			*whole = true;
		}
		sum += n;
		rates += more;
	}
	*rate = rates;
	return sum;
}

/* The time by which all that remains can be done: Newton's method between
 * bounds, on a function that never falls. */
static double pour(const struct heddle_strategy *b, double left, double low, double high)
{
	const struct hdss *h = b->state;
	double end = h->end > low && h->end < high ? h->end : (low + high) / 2;
	double one = b->remaining < MANY_ITERATIONS * b->nworkers ? left / b->remaining : 0;

	for (int i = 0; i < 40; i++) {
		bool whole;
		double rate, sum = all_capacity(b, end, one, &rate, &whole), next;
		/* Rounding must not lose a whole iteration. Where all are whole, more than what is
		 * left would be another one. */
		double wish = left + (!whole ? 0 : rate > 0 ? POUR_EXACT : -POUR_EXACT);

		if (high - low < 1e-9 * high)
			return whole && rate <= 0 ? high : end;
		if (fabs(sum - wish) < POUR_EXACT && (!whole || rate > 0))
			break;
		if (sum < wish)
			low = end;
		else
			high = end;
		next = rate > 0 ? end + (wish - sum) / rate : low;
		end = next > low && next < high ? next : (low + high) / 2;
	}
	return end;
}

/* The slices of the worker before: most workers of a kind have the same. */
struct slice {
	enum heddle_kind kind;
	bool pipelined, long_start;
	double start; /* negative: there was none */
	double us;
	double part; /* of its time that goes to iterations */
};

static void slice_find(const struct heddle_strategy *b, unsigned worker, bool long_start,
                       struct slice *slice)
{
	const struct hdss *h = b->state;
	double start = h->estimates[worker].start, us = 0;

	if (b->parameters[HDSS_SLICE])
		us = slice_us(b, worker, start, long_start);
	us = hdss_larger(us, 2 * start);
	*slice = (struct slice){
	    b->workers[worker].given.kind, h->worker[worker].pipelined, long_start, start, us,
	    us > 0 ? (us - start) / us : 1};
}

static inline void slice_set(const struct heddle_strategy *b, unsigned worker, struct slice *slice)
{
	const struct hdss *h = b->state;
	struct hdss_estimate *estimate = &h->estimates[worker];
	bool long_start = starts_long(b, worker);

	if (estimate->start != slice->start || b->workers[worker].given.kind != slice->kind ||
	    h->worker[worker].pipelined != slice->pipelined || long_start != slice->long_start)
		slice_find(b, worker, long_start, slice);
	estimate->slice = slice->us;
	estimate->rate = 1 / estimate->pace * slice->part;
}

/* Blocks of many workers that take longer than expected tell of iterations that cost
 * more before one of them is done. Those that were expected to take so long when they were
 * given do not: it is other iterations that have become cheap. Nor does the one that is the most
 * overdue, beside others: its worker may not run at all. */
static void overrun_count(const struct heddle_strategy *b)
{
	struct hdss *h = b->state;
	double sum = 0, n = 0, most = 1;

	for (unsigned w = 0; w < b->nworkers; w++) {
		const struct blocks_worker *books = &b->workers[w];
		const struct hdss_estimate *e = &h->estimates[w];
		double took, told, over;

		if (e->retired || e->guessed || !books->under_way)
			continue;
		took = h->now - h->worker[w].clock - books->blocks_under_way * e->start;
		told = hdss_larger(hdss_has(b, w) * e->pace, h->worker[w].told);
		over = took > told ? took / told : 1;
		most = hdss_larger(most, over);
		sum += over;
		n++;
	}
	if (n > 1) {
		sum -= most;
		n--;
	}
	h->over = n > 0 && sum > OVERRUN * n ? sum / n : 1;
	for (unsigned w = 0; h->over > 1 && w < b->nworkers; w++)
		h->estimates[w].pace *= h->over;
}

/* Estimates the time by which all is done, for slices of a run of the length known so far.
 * @param ready whether it is still to be found when workers will be so */
static void end_find(struct heddle_strategy *b, bool ready)
{
	struct hdss *h = b->state;
	struct slice slice = {.start = -1};
	double low = HUGE_VAL, high = HUGE_VAL, left = hdss_left(b), rates = 0;

	for (unsigned w = 0; w < b->nworkers; w++) {
		struct hdss_estimate *estimate = &h->estimates[w];
		double alone;

		if (ready)
			estimate->ready = ready_at(b, w);
		slice_set(b, w, &slice);
		if (estimate->retired)
			continue;
		rates += estimate->rate;
		/* Twice: slices have starts too. */
		alone = estimate->ready + 2 * (estimate->start + left * estimate->pace) +
		        estimate->slice;
		low = hdss_smaller(estimate->ready, low);
		high = hdss_smaller(alone, high);
	}
	h->rates = rates;
	h->end = pour(b, left, low, high);
	h->run = b->stream ? h->end - h->now : h->end;
}

static bool is_unanswered(const struct heddle_strategy *b, unsigned worker)
{
	const struct blocks_worker *w = &b->workers[worker];

	return !hdss_is_core(b, worker) && !w->retired && w->under_way && w->given.rate <= 0 &&
	       !((const struct hdss *)b->state)->worker[worker].answered;
}

/* Finds estimates anew. A core that got iterations of no cost seems to do any number of others in
 * no time, and would get most of them: so cores are compared. Where blocks take what is expected,
 * cores are as unlike each other as they seem.
 * @return the least pace; infinite: nothing is known of anybody */
static double estimates_find(struct heddle_strategy *b)
{
	struct hdss *h = b->state;
	double fastest = HUGE_VAL;
	long n = 0;

	h->core_pace = 0;
	for (unsigned w = 0; w < b->nworkers; w++) {
		struct hdss_estimate *e = &h->estimates[w];

		h->unanswered |= is_unanswered(b, w);
		if (estimate_find(b, w, e) && hdss_is_core(b, w) && !e->retired &&
		    h->worker[w].time.count)
			h->room[n++] = e->pace;
	}
	if (b->parameters[HDSS_KINDS] && !b->ranks && !(h->known ? h->even : blocks_hdss_even(b)))
		h->core_pace = blocks_hdss_core_pace(b, n);
	for (unsigned w = 0; w < b->nworkers; w++) {
		struct hdss_estimate *e = &h->estimates[w];

		if (e->pace <= 0)
			continue;
		if (hdss_is_core(b, w))
			e->pace = hdss_larger(e->pace, h->core_pace);
		fastest = hdss_smaller(fastest, e->pace);
	}
	return fastest;
}

static void all_refresh(struct heddle_strategy *b)
{
	struct hdss *h = b->state;
	double fastest, before;

	kinds_estimate(b);
	blocks_hdss_uneven_refresh(b);
	h->unanswered = false;
	fastest = estimates_find(b);
	if (isinf(fastest))
		return; /* nothing is known of anybody */
	h->fastest = fastest;
	for (unsigned w = 0; w < b->nworkers; w++) {
		struct hdss_estimate *estimate = &h->estimates[w];

		estimate->guessed = estimate->pace == 0;
		if (estimate->guessed)
			guess(b, w, h->fastest);
	}
	if (b->parameters[HDSS_FAIR])
		overrun_count(b);
	/* Slices are parts of the run, whose length depends on them a little. */
	for (int i = 0; i < 4; i++) {
		before = h->run;
		end_find(b, !i);
		if (fabs(h->run - before) < 0.02 * before)
			break;
	}
}

/* What is known of others changes little from event to event. */
static void one_refresh(struct heddle_strategy *b, unsigned worker)
{
	struct hdss *h = b->state;
	struct hdss_estimate *estimate = &h->estimates[worker];
	double before = estimate->rate;

	blocks_hdss_estimate(b, worker, estimate);
	estimate->guessed = estimate->pace == 0;
	if (estimate->guessed)
		guess(b, worker, h->fastest);
	estimate->pace *= h->over;
	estimate->ready = ready_at(b, worker);
	slice_set(b, worker, &(struct slice){.start = -1});
	h->rates += estimate->rate - before;
}

void blocks_hdss_estimate_all(struct heddle_strategy *b, unsigned worker)
{
	struct hdss *h = b->state;
	double part = b->nworkers > MANY ? REFRESH_MANY : REFRESH;
	unsigned long stale = b->parameters[HDSS_FAIR] ? part * b->nworkers : 0;
	bool soon = b->stream || h->now - h->refreshed_us < REFRESH_RUN * h->run;

	if (h->end > 0 && h->refreshed && b->events - h->refreshed < stale && soon) {
		one_refresh(b, worker);
		return;
	}
	all_refresh(b);
	h->refreshed = b->events;
	h->refreshed_us = h->now;
}

void blocks_hdss_estimate_given(const struct heddle_strategy *b, unsigned worker)
{
	const struct hdss *h = b->state;

	if (h->end > 0)
		h->estimates[worker].ready = ready_at(b, worker);
}

double blocks_hdss_slice(const struct heddle_strategy *b, unsigned worker)
{
	const struct hdss *h = b->state;
	const struct hdss_estimate *estimate = &h->estimates[worker];

	if (h->end <= 0)
		return 0;
	if (!b->parameters[HDSS_SLICE])
		return hdss_left(b);
	return (estimate->slice - estimate->start) / estimate->pace;
}

/* HDSS, Eq. (2). */
static double share_by_weight(const struct heddle_strategy *b, unsigned worker)
{
	const struct hdss *h = b->state;

	return hdss_left(b) * h->estimates[worker].rate / h->rates;
}

/* How long the last blocks are at the least. Short ones leave dear iterations to others, as far
 * as these are a part of the machine. */
static double shortest_us(const struct heddle_strategy *b, unsigned worker)
{
	const struct hdss *h = b->state;
	const struct hdss_estimate *estimate = &h->estimates[worker];
	double part = estimate->start / (DEAR_START * h->run);
	bool pipelined = h->worker[worker].pipelined;

	if (h->known || estimate->rate > MOST_SHARE * h->rates)
		part = 1;
	else if (pipelined)
		part *= part;
	part = hdss_larger(
	    hdss_smaller(pipelined ? LEAST_OF_SMALL : LEAST_OF_STARTS,
	                 hdss_larger(LEAST_OF_SMALL, STARTS_OF_SHARE * estimate->rate / h->rates)),
	    hdss_smaller(part, 1));
	return hdss_larger(SHORTEST_SLICE * h->run, part * SHORTEST_STARTS * estimate->start);
}

/* Time the worker's next block should take, of the `us` that are its own. Far
 * from the end a slice, then half of what it has, as factoring does, until
 * smaller pieces would cost more than they even out. */
static double piece(const struct heddle_strategy *b, unsigned worker, double us)
{
	const struct hdss *h = b->state;
	const struct hdss_estimate *estimate = &h->estimates[worker];
	double shortest = shortest_us(b, worker), half = us / 2;

	if (!b->parameters[HDSS_SLICE])
		return us;
	if (h->confirmed && !h->worker[worker].pipelined)
		half = one_is_best(b, estimate->start)
		           ? us
		           : us * hdss_larger(0.5, 1 - NOISE_MARGIN * h->noise);
	shortest = hdss_larger(shortest, hidden_us(b, worker));
	if (shortest > estimate->slice)
		shortest = estimate->slice;
	if (half < shortest)
		half = us < 1.5 * shortest ? us : shortest;
	return half < estimate->slice ? half : estimate->slice;
}

/* Largest block that is done when the others are, however little of the time of the largest one
 * so far was its start. */
static double safe_size(const struct heddle_strategy *b, unsigned worker)
{
	const struct hdss *h = b->state;
	const struct hdss_worker *w = &h->worker[worker];
	const struct hdss_estimate *estimate = &h->estimates[worker];
	double part = starts_long(b, worker) ? w->pipelined ? SAFE_PIPELINED : SAFE_PART : 0;
	double start = part && estimate->sized
	                   ? SURE_START * hdss_smaller(estimate->start, w->time.shortest)
	                   : 0;
	double us = hdss_larger(LONGEST_UNSEEN * h->run, part * (h->end - estimate->ready));

	return (us - start) * w->largest.n / (w->largest.us - start);
}

static double unseen_limit(const struct heddle_strategy *b, unsigned worker)
{
	const struct hdss *h = b->state;
	const struct hdss_worker *w = &h->worker[worker];
	enum heddle_kind kind = b->workers[worker].given.kind;

	if (!b->parameters[HDSS_SLICE])
		return HUGE_VAL;
	/* It may be unlike the others of its kind. */
	if (!w->largest.n)
		return h->agree[kind] ? TRUSTED_GROWTH * h->first[kind].points[0].n : HUGE_VAL;
	/* All of the time of its largest block may have gone to iterations. */
	if (h->known && h->starts[kind].start.sure <= 0 && starts_long(b, worker))
		return (h->end - h->estimates[worker].ready) * w->largest.n / w->largest.us;
	return hdss_larger(TRUSTED_GROWTH * w->largest.n, safe_size(b, worker));
}

/* Whether a worker may take all that remains as one more slice: the others stop
 * so little before the end that crumbs for them would cost more. */
static bool takes_all(const struct heddle_strategy *b, unsigned worker)
{
	const struct hdss *h = b->state;
	const struct hdss_estimate *estimate = &h->estimates[worker];
	double us = estimate->start + hdss_left(b) * estimate->pace;

	if (estimate->ready + us > h->end + CRUMB * h->run)
		return false;
	if (b->parameters[HDSS_SLICE] && us > estimate->slice)
		return false;
	for (unsigned w = 0; w < b->nworkers; w++)
		if (w != worker && !hdss_is_out(b, w) &&
		    h->estimates[w].ready + h->estimates[w].start < h->end - CRUMB * h->run)
			return false;
	return true;
}

/* Smallest block whose time can be told. A worker that did one block only may
 * have spent all its time on starting it: a smaller one would take as long. */
static double known_size(const struct heddle_strategy *b, unsigned worker)
{
	const struct hdss *h = b->state;

	return h->estimates[worker].sized ? 0 : h->worker[worker].last;
}

double blocks_hdss_jump(const struct heddle_strategy *b, unsigned worker)
{
	const struct hdss *h = b->state;

	return h->worker[worker].last *
	       (hdss_is_core(b, worker) ? HDSS_BLIND_JUMP : BLIND_JUMP_ACCELERATOR);
}

/* Of the next iteration. */
static double next_work(const struct heddle_strategy *b)
{
	const struct hdss *h = b->state;

	return h->known && !h->run_blocks.returned ? costs_work(&h->costs, h->run_blocks.next, 1)
	                                           : hdss_left(b) / b->remaining;
}

/* Of known costs a dear iteration is many units. */
static double least_work(const struct heddle_strategy *b)
{
	return ((const struct hdss *)b->state)->known ? 1e-9 : 1;
}

/* Whether an accelerator's only block took a part of the run: a larger one may take hardly longer,
 * and more launches of that length are too many. */
static bool mostly_start(const struct heddle_strategy *b, unsigned worker)
{
	const struct hdss *h = b->state;
	const struct hdss_estimate *estimate = &h->estimates[worker];
	const struct hdss_worker *w = &h->worker[worker];

	return !hdss_is_core(b, worker) && !h->known && w->answered == 1 && !estimate->sized &&
	       w->latest.us >= BLIND_START * h->run;
}

/* Iterations for the worker's next block, of the `us` that are its own. */
static double share_size(const struct heddle_strategy *b, unsigned worker, double us)
{
	const struct hdss *h = b->state;
	const struct hdss_estimate *estimate = &h->estimates[worker];
	double block_us = piece(b, worker, us);
	double n = blocks_hdss_own_work(b, worker, block_us,
	                                (block_us - estimate->start) / estimate->pace);
	double limit = unseen_limit(b, worker);

	if (!estimate->sized) {
		/* Up to the size that tells more, all that can be done in time. */
		double most = (us - estimate->start) / estimate->pace;

		limit = hdss_larger(limit, blocks_hdss_jump(b, worker));
		n = hdss_larger(n, blocks_hdss_jump(b, worker));
		if (mostly_start(b, worker)) {
			double rest = BLIND_REST * hdss_left(b) / hdss_accelerators(b);

			n = hdss_larger(n, hdss_smaller(BLIND_PART * most, rest));
			limit = hdss_larger(limit, n);
		}
		n = hdss_smaller(most, n);
	}
	return hdss_larger(least_work(b), hdss_smaller(n, limit));
}

/* Smallest block worth a worker's while: half of its time goes to iterations. */
static double worthwhile_size(const struct heddle_strategy *b, unsigned worker)
{
	const struct hdss *h = b->state;
	const struct hdss_estimate *estimate = &h->estimates[worker];

	return hdss_larger(hdss_larger(b->workers[worker].given.minimum, known_size(b, worker)),
	                   (starts_long(b, worker) ? WORTH_PART : 1) * estimate->start /
	                       estimate->pace);
}

/* When a worker would be done with n iterations, which take no less than the
 * smallest block whose time is known. */
static double done_at(const struct heddle_strategy *b, unsigned worker, double n)
{
	const struct hdss *h = b->state;
	const struct hdss_estimate *estimate = &h->estimates[worker];

	return estimate->ready + estimate->start +
	       hdss_larger(n, known_size(b, worker)) * estimate->pace;
}

/* When a worker could be done with a block worth its while. It will ask if it has work under way,
 * or has not asked yet. Nobody waits for one of which nothing is known. */
static double next_done_at(const struct heddle_strategy *b, unsigned worker, double left)
{
	const struct hdss *h = b->state;

	if (hdss_is_out(b, worker) || h->estimates[worker].guessed ||
	    (!b->workers[worker].under_way && h->worker[worker].asked))
		return HUGE_VAL;
	return done_at(b, worker, hdss_smaller(worthwhile_size(b, worker), left));
}

/* When the soonest of the others could be done with a block worth its while. Only whether that
 * is before `least` matters then: the one that was the soonest before tells it mostly. */
static double others_done_at(const struct heddle_strategy *b, unsigned worker, double least)
{
	struct hdss *h = b->state;
	double left = hdss_left(b), soonest = HUGE_VAL;

	if (h->soonest != worker)
		soonest = next_done_at(b, h->soonest, left);
	if (soonest < least)
		return soonest;
	for (unsigned w = 0; w < b->nworkers; w++) {
		double at = w == worker ? HUGE_VAL : next_done_at(b, w, left);

		if (at < soonest)
			h->soonest = w;
		soonest = hdss_smaller(soonest, at);
	}
	return soonest;
}

/* Whether the others can have done all that is left by then. Where few iterations are left, each
 * worker does whole ones. Otherwise it matters only to a large part of the machine: many small
 * workers refuse nothing that others could not do soon. */
static bool others_do_all(const struct heddle_strategy *b, unsigned worker, double until)
{
	struct hdss *h = b->state;
	bool few = b->remaining <= (size_t)FEW_ITERATIONS * b->nworkers;
	bool idle = !b->workers[worker].under_way && h->worker[worker].asked;
	double left = hdss_left(b), one = left / b->remaining, n = few ? one / 2 : 0;

	if (!few && h->estimates[worker].rate < LARGE_PART * h->rates)
		return true;
	/* Many idle workers ask at once. Nobody counts on them, so one has the answer of all. */
	if (idle && h->absorbed.event == b->events && until >= h->absorbed.until)
		return true;
	for (unsigned w = 0; w < b->nworkers && n < left; w++) {
		const struct hdss_estimate *estimate = &h->estimates[w];
		double most;

		if (w == worker || next_done_at(b, w, few ? one : left) > until)
			continue;
		most = (until - estimate->ready - estimate->start) / estimate->pace;
		n += few ? floor(most / one) * one : most;
	}
	if (n >= left && idle) {
		h->absorbed.event = b->events;
		h->absorbed.until = until;
	}
	return n >= left;
}

/* The worker's part of the rest is a crumb. It gets what it can do until the
 * soonest of the others would be done with a block worth its while. If its own would be done
 * later, it gets nothing, or a block worth its while if the others have not done all by then. The
 * soonest of all never gets nothing, so the rest ends in few blocks. */
static double crumb(const struct heddle_strategy *b, unsigned worker)
{
	const struct hdss_estimate *estimate = &((const struct hdss *)b->state)->estimates[worker];
	double left = hdss_left(b), least = hdss_smaller(worthwhile_size(b, worker), left);
	double done = done_at(b, worker, least), until = others_done_at(b, worker, done);

	if (until < done)
		return others_do_all(b, worker, done) ? 0 : hdss_larger(least_work(b), least);
	return hdss_larger(
	    least_work(b),
	    hdss_smaller(left, (until - estimate->ready - estimate->start) / estimate->pace));
}

/* A worker's part of n iterations, or what is done in some time. */
static double part(const struct heddle_strategy *b, unsigned worker, double n, double us)
{
	const struct hdss_estimate *estimate = &((const struct hdss *)b->state)->estimates[worker];

	return hdss_larger(n * share_by_weight(b, worker) / hdss_left(b), us / estimate->pace);
}

/* Whether a worker's next iteration takes so long that it may end after all others, and workers
 * that are so much faster do nearly all, that one too in no time. */
static bool hardly_helps(const struct heddle_strategy *b, unsigned worker)
{
	const struct hdss *h = b->state;
	const struct hdss_estimate *estimate = &h->estimates[worker];
	double us = estimate->start + next_work(b) * estimate->pace, fast = 0;
	bool uneven = h->uneven && us > ABSORBED_PART * h->run, busy = false;
	double margin =
	    h->confirmed ? hdss_smaller(LONG_MARGIN, NOISE_MARGIN * h->noise) : LONG_MARGIN;

	if (us < LONG_ITERATION * h->run ||
	    (!uneven && estimate->ready + (1 + margin) * us <= h->end))
		return false;
	for (unsigned w = 0; w < b->nworkers; w++) {
		const struct hdss_estimate *other = &h->estimates[w];

		busy |= w != worker && b->workers[w].under_way;
		if (!other->retired && !other->guessed &&
		    other->pace * MUCH_FASTER < estimate->pace)
			fast += other->rate;
	}
	return busy && fast > (1 - LARGE_PART) * h->rates;
}

static double share_wish(struct heddle_strategy *b, unsigned worker)
{
	const struct hdss *h = b->state;
	const struct hdss_estimate *estimate = &h->estimates[worker];
	double us, most;

	if (!b->parameters[HDSS_AHEAD])
		return share_size(b, worker,
		                  estimate->start + share_by_weight(b, worker) * estimate->pace);
	most = hdss_larger(least_work(b), unseen_limit(b, worker));
	if (takes_all(b, worker))
		return hdss_smaller(most, hdss_left(b));
	if (hardly_helps(b, worker))
		return 0;
	us = h->end - estimate->ready;
	if (estimate->start + worthwhile_size(b, worker) * estimate->pace > us)
		return hdss_smaller(most, crumb(b, worker));
	return share_size(b, worker, us);
}

/* Where iterations are uneven, cheap ones may end anywhere. What blocks of others tell of a
 * worker's pace is not trusted far beyond what its own latest one took. */
static double uneven_limit(const struct heddle_strategy *b, unsigned worker, double us)
{
	const struct hdss *h = b->state;
	const struct hdss_estimate *estimate = &h->estimates[worker];
	const struct heddle_block_point *latest = &h->worker[worker].latest;
	double absorbed = hdss_larger(ABSORBED_PART * h->run * blocks_mean_rate(b, worker),
	                              WORTH_STARTS * estimate->start / estimate->pace);

	if (latest->n <= 0)
		return HUGE_VAL;
	/* What an accelerator's blocks cost beside their iterations is not known yet while they are
	 * small. Of the first one it may be nearly all. */
	if (!hdss_is_core(b, worker))
		absorbed = hdss_larger(
		    absorbed, hdss_larger(ABSORBED_PART * h->run * latest->n / latest->us,
		                          h->worker[worker].answered == 1 ? latest->n : 0));
	return hdss_smaller(absorbed, TRUSTED_OVERRUN * us * latest->n / latest->us);
}

/* Nobody knows what iterations cost that were not reached yet. So no block is larger than its
 * worker's part, by weight, of what remains, and of twice what was given so far: the last ones
 * may cost far more than predicted, and the first ones may have. */
double blocks_hdss_share(struct heddle_strategy *b, unsigned worker)
{
	const struct hdss *h = b->state;
	double n = share_wish(b, worker), start = h->estimates[worker].start, rest = hdss_left(b);

	if (n <= 0 || b->stream || !b->parameters[HDSS_JUMP])
		return n;
	if (b->parameters[HDSS_FAIR] && !(h->confirmed && one_is_best(b, start))) {
		/* Others may be busy to the end with what they have. */
		if (h->over <= 1)
			rest = b->total - h->done;
		n = hdss_smaller(n, part(b, worker, h->over > 1 ? rest / 2 : rest,
		                         hdss_larger(WORTH_STARTS * start, WORTH_RUN * h->run)));
	}
	if (b->parameters[HDSS_RAMP] && !h->confirmed && !mostly_start(b, worker))
		n = hdss_smaller(
		    n, hdss_larger(h->known ? 0 : blocks_hdss_jump(b, worker),
		                   part(b, worker, RAMP * (b->total - hdss_left(b)),
		                        (h->known ? KNOWN_STARTS : RAMP_STARTS) * start)));
	if (h->uneven)
		n = hdss_smaller(n, uneven_limit(b, worker, start + n * h->estimates[worker].pace));
	if (h->unanswered && !h->known && hdss_is_core(b, worker))
		n = hdss_smaller(n,
		                 hdss_larger(UNANSWERED_PART * h->now, UNANSWERED_STARTS * start) /
		                     h->estimates[worker].pace);
	return hdss_larger(n, least_work(b));
}
