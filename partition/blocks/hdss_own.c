/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * HDSS: what a worker's own blocks say of it, as if all iterations cost the same. What earlier runs
 * told of costs may be wrong: a block that another program interrupted, or that was mostly start,
 * looks like dear iterations, and a slow accelerator beside it looks fast. So no block is given to
 * an accelerator that ends far after the others could do all that is left, by what the blocks of
 * each took. Nor is a core's block larger than what its blocks did in that time.
 */
#include "config.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "partition/blocks/hdss.h"

/* Iterations may cost differently: a block may take so many times as long as the others would take
 * for all that is left. But not while it is not known how much of the time of the worker's blocks
 * was start. */
#define FAR_AFTER 4
/* Nor are iterations believed to cost an accelerator less than this part of what its best block
 * tells. */
#define CHEAPEST (1 / 8.0)
/* The best pace of earlier runs may be so many times as long now, after each run. */
#define FORGOTTEN 2
/* What is left for iterations of a block's time at the least. */
#define LEAST_PART 0.001
/* Blocks that took so many times as long as the mean, for each iteration, are left out of it, in so
 * many rounds. But no more than this part of all iterations: more are dear ones, which were not
 * interrupted, and without them a worker would seem to do any number in no time. */
#define FAR_ABOVE 1.5
#define ROUNDS 3
#define MOST_LEFT_OUT 0.25
/* An accelerator's only block may have taken long since something came once with it. So it gets one
 * more, which would get none for its start: this part of that, or two iterations after one. It may
 * take as long again: no longer than a run and this part of all runs so far. */
#define BET_PART 0.5
#define BET_RUNS 0.3

/* Of the blocks of a worker. */
struct sums {
	double all; /* iterations */
	double n, us;
	double pace; /* mean of the round before */
	double work;
	double work_us; /* the same as pace, for a unit of work */
	double least;   /* pace of a block */
	const struct costs_block *smallest, *largest;
};

static bool counts(const struct heddle_strategy *b, const struct costs_block *block)
{
	return block->worker < b->nworkers && block->n && block->us > 0 && !block->once;
}

static void block_add(struct sums *s, const struct costs_block *block, double work)
{
	s->all += block->n;
	if (!s->largest || block->us < s->least * block->n)
		s->least = block->us / block->n;
	if (!s->smallest || block->n < s->smallest->n)
		s->smallest = block;
	if (!s->largest || block->n > s->largest->n)
		s->largest = block;
	if (s->pace > 0 && block->us > FAR_ABOVE * s->pace * block->n)
		return;
	s->n += block->n;
	s->work += work;
	s->us += block->us;
}

/* A line through two blocks. Of one size alone it is not known what was start. */
static struct blocks_own line(struct heddle_block_point a, struct heddle_block_point b,
                              double least)
{
	bool sized = b.n >= COSTS_OTHER_SIZE * a.n;
	double pace = sized ? (b.us - a.us) / (b.n - a.n) : least;

	return (struct blocks_own){.pace =
	                               hdss_larger(LEAST_PART * least, hdss_smaller(pace, least)),
	                           .sized = sized,
	                           .largest = b};
}

/* Where blocks of a run have one size, the runs before may tell more. Nor is what they told
 * forgotten at once: all blocks of a run may be where iterations are dear. */
static struct blocks_own accelerator_own(const struct blocks_own *before, const struct sums *s)
{
	struct heddle_block_point a = {s->smallest->n, s->smallest->us};
	struct heddle_block_point b = {s->largest->n, s->largest->us};
	struct blocks_own own = line(a, b, s->least);

	if (before->pace <= 0)
		return own;
	if (!own.sized && !before->sized)
		return before->largest.n < b.n ? line(before->largest, b, s->least)
		                               : line(a, before->largest, s->least);
	if (!own.sized)
		own.pace = before->pace;
	else if (before->sized)
		own.pace = hdss_smaller(own.pace, FORGOTTEN * before->pace);
	own.sized = true;
	return own;
}

/* A round begins. Too much was left out in the one before: its mean stays. */
static void round_begin(struct sums *s)
{
	if (s->n > 0 && s->n >= (1 - MOST_LEFT_OUT) * s->all) {
		s->pace = s->us / s->n;
		s->work_us = s->work > 0 ? s->us / s->work : 0;
	}
	s->all = s->n = s->us = s->work = 0;
}

int blocks_hdss_own_learn(const struct heddle_strategy *b, struct blocks_memory *memory)
{
	const struct hdss *h = b->state;
	const struct costs_run *run = &h->run_blocks;
	struct sums *sums = calloc(b->nworkers, sizeof(*sums));

	if (!sums)
		return -ENOMEM;
	for (int round = 0; round < ROUNDS; round++) {
		for (unsigned w = 0; w < b->nworkers; w++)
			round_begin(&sums[w]);
		for (unsigned i = 0; i < run->count; i++)
			if (counts(b, &run->blocks[i]))
				block_add(&sums[run->blocks[i].worker], &run->blocks[i],
				          costs_work(&memory->costs, run->blocks[i].start,
				                     run->blocks[i].n));
	}
	for (unsigned w = 0; w < b->nworkers; w++) {
		struct sums *s = &sums[w];

		round_begin(s);
		if (!s->largest)
			continue;
		memory->workers[w].own = hdss_is_core(b, w) ? (struct blocks_own){0}
		                                            : accelerator_own(&h->worker[w].own, s);
		memory->workers[w].own.rate = 1 / s->pace;
		memory->workers[w].own.work_us = s->work_us;
	}
	free(sums);
	return 0;
}

void blocks_hdss_own_begin(struct heddle_strategy *b, const struct blocks_memory *memory)
{
	struct hdss *h = b->state;

	for (unsigned w = 0; w < b->nworkers; w++)
		h->worker[w].own = memory->workers[w].own;
	h->own.bet = memory->crew.all_us * (1 + BET_RUNS * memory->crew.runs);
	blocks_hdss_own_crew(b);
}

double blocks_hdss_own_bet(const struct heddle_strategy *b, unsigned worker)
{
	const struct hdss *h = b->state;
	const struct hdss_worker *w = &h->worker[worker];
	const struct heddle_block_point *before = &w->own.largest;
	enum heddle_kind kind = b->workers[worker].given.kind;

	if (!h->known || w->asked || w->own.sized || before->n <= 0 || before->us > h->own.bet ||
	    h->starts[kind].start.sure > 0)
		return 0;
	return before->n * (before->n > 1 ? BET_PART : 1 / BET_PART);
}

void blocks_hdss_own_crew(struct heddle_strategy *b)
{
	struct hdss *h = b->state;

	h->own.sum = h->own.fastest = h->own.second = 0;
	for (unsigned w = 0; w < b->nworkers; w++) {
		double rate = hdss_is_out(b, w) ? 0 : h->worker[w].own.rate;

		h->own.sum += rate;
		h->own.second = hdss_larger(h->own.second, hdss_smaller(rate, h->own.fastest));
		h->own.fastest = hdss_larger(h->own.fastest, rate);
	}
}

double blocks_hdss_own_work(const struct heddle_strategy *b, unsigned worker, double us, double n)
{
	const struct hdss *h = b->state;
	double work_us = h->worker[worker].own.work_us;

	if (!h->known || work_us <= 0 || !hdss_is_core(b, worker) || b->ranks)
		return n;
	return hdss_smaller(n, us / work_us);
}

/* The time in which the others that take part could do all that is left: not less than the fastest
 * of them needs for one iteration. 0: nothing is known of them. */
static double others_us(const struct heddle_strategy *b, const struct blocks_own *own)
{
	const struct hdss *h = b->state;
	double others = h->own.sum - own->rate;
	double fastest = own->rate < h->own.fastest ? h->own.fastest : h->own.second;

	return fastest > 0 && others > 0 ? hdss_larger(b->remaining / others, 1 / fastest) : 0;
}

/* Where iterations are cheaper now, what earlier runs told bounds no longer. */
void blocks_hdss_own_completed(struct heddle_strategy *b, unsigned worker, double n, double us)
{
	struct hdss *h = b->state;
	struct blocks_own *own = &h->worker[worker].own;
	enum heddle_kind kind = b->workers[worker].given.kind;

	own->pace = hdss_smaller(own->pace, us / n);
	/* Nor is a start that was only assumed longer than a block. */
	if (h->starts[kind].start.sure <= 0) {
		struct costs_start *start = &h->starts[kind].start,
		                   *follow = &h->starts[kind].follow;

		start->us = hdss_smaller(start->us, us);
		follow->us = hdss_smaller(follow->us, us);
	}
}

double blocks_hdss_own_pace(const struct heddle_strategy *b, unsigned worker, double pace)
{
	const struct blocks_own *own = &((const struct hdss *)b->state)->worker[worker].own;
	double left;

	if (!own->sized)
		return pace;
	left = hdss_left(b);
	return left > 0 ? hdss_larger(pace, CHEAPEST * own->pace * b->remaining / left) : pace;
}

double blocks_hdss_own_limit(const struct heddle_strategy *b, unsigned worker, double n)
{
	const struct hdss *h = b->state;
	const struct blocks_own *own = &h->worker[worker].own;
	double most;

	if (!h->known || own->pace <= 0 || (most = others_us(b, own)) <= 0)
		return n;
	if (own->sized) {
		most *= FAR_AFTER / own->pace;
		return most < 1 ? 0 : hdss_smaller(n, most);
	}
	/* Another size tells the start. */
	most /= own->pace;
	if (most < COSTS_OTHER_SIZE * own->largest.n)
		most = hdss_smaller(most, own->largest.n / 2);
	return hdss_smaller(n, hdss_larger(1, most));
}
