/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * HDSS: single iterations that cost as much as a large part of the run. A block that took far
 * longer than those around it may owe that to one of its iterations. Nobody knows which one, and a
 * profile spreads its cost over the block. A slow worker that gets it in a later run may end long
 * after all others. So slow workers leave such a block's iterations to one that would end the dear
 * iteration sooner. The same holds for an iteration that is known to be dear, as all around it may
 * be.
 */
#include "config.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "partition/blocks/hdss.h"

/* A lump took so many times as long as the blocks around it, more where blocks are noisy, ... */
#define LUMP_RATIO 2
#define LUMP_NOISES 3
/* ... and the rest would take the slowest worker this part of the run. */
#define LUMP_PART 0.05
/* An iteration is long if it takes its worker this part of the run. */
#define LONG_PART 0.05
/* It is left to one that would end it in this part of the time. */
#define SOON 0.5
/* It may cost more than those around it: so many times the noise of blocks, or this part if that is
 * less. */
#define LONG_NOISES 3
#define LONG_MORE 0.5
/* Workers above this part of all do what the others leave. */
#define MOST_RATES 0.5
/* A lump of an earlier run stays while the blocks there take at least this part of it. */
#define LUMP_STAYS 0.5
/* Blocks on either side that tell what iterations around it cost. */
#define AROUND 4

/* What an iteration of a block costs, in work; below 0: the block tells nothing. */
static double block_cost(const struct blocks_memory *memory, const struct costs_block *block)
{
	const struct costs_worker *worker;
	double us;

	if (block->worker >= memory->nworkers || !block->n || block->us <= 0 || block->once)
		return -1;
	worker = &memory->workers[block->worker].time;
	us = block->us - (block->follows ? worker->follow.us : worker->start.us);
	return worker->pace > 0 ? hdss_larger(0, us) / worker->pace / block->n : -1;
}

/* The middle cost of the blocks around one, and its own. */
static double cost_around(const struct blocks_memory *memory, const struct costs_run *run,
                          unsigned block)
{
	double costs[2 * AROUND + 1];
	unsigned first = block < AROUND ? 0 : block - AROUND, count = 0;

	for (unsigned i = first; i < run->count && i <= block + AROUND; i++) {
		double cost = block_cost(memory, &run->blocks[i]);
		unsigned at = count;

		if (cost < 0)
			continue;
		for (; at && costs[at - 1] > cost; at--)
			costs[at] = costs[at - 1];
		costs[at] = cost;
		count++;
	}
	return costs[count / 2];
}

/* Keeps the dearest ones. */
static void lump_add(struct blocks_lumps *lumps, struct blocks_lump lump)
{
	unsigned least = 0;

	if (lumps->count < BLOCKS_LUMPS) {
		lumps->all[lumps->count++] = lump;
		return;
	}
	for (unsigned i = 1; i < BLOCKS_LUMPS; i++)
		if (lumps->all[i].work < lumps->all[least].work)
			least = i;
	if (lumps->all[least].work < lump.work)
		lumps->all[least] = lump;
}

static int by_start(const void *a, const void *b)
{
	size_t x = ((const struct blocks_lump *)a)->start,
	       y = ((const struct blocks_lump *)b)->start;

	return (x > y) - (x < y);
}

/* What an iteration of each worker's blocks costs on average. */
struct mean {
	double work, n;
};

/* A worker whose pace is wrong makes all its blocks look dear. */
static void lumps_find(const struct hdss *h, const struct blocks_memory *memory,
                       const struct mean *means, struct blocks_lumps *lumps)
{
	const struct costs_run *run = &h->run_blocks;
	double ratio = hdss_larger(LUMP_RATIO, exp(LUMP_NOISES * memory->noise)), slowest = 0;

	for (unsigned w = 0; w < memory->nworkers; w++)
		slowest = hdss_larger(slowest, memory->workers[w].time.pace);
	for (unsigned i = 0; i < run->count; i++) {
		const struct costs_block *block = &run->blocks[i];
		double cost = block_cost(memory, block), usual, more;
		const struct costs_worker *time;
		const struct mean *mean;

		if (cost * block->n * slowest < LUMP_PART * h->now)
			continue;
		mean = &means[block->worker];
		time = &memory->workers[block->worker].time;
		if (mean->n <= block->n)
			continue;
		usual = hdss_larger(cost_around(memory, run, i),
		                    (mean->work - cost * block->n) / (mean->n - block->n));
		more = (cost - usual) * block->n;
		/* What a block took beside its iterations is known to some part. */
		if (cost > ratio * usual && more * slowest >= LUMP_PART * h->now &&
		    more * time->pace >= time->start.us)
			lump_add(lumps, (struct blocks_lump){block->start, block->n, more});
	}
}

/* Leaves of a lump what another one has, too.
 * @return whether they have anything in common */
static bool lump_cut(struct blocks_lump *lump, const struct blocks_lump *other)
{
	size_t end = lump->start + lump->n, other_end = other->start + other->n;

	if (other->start >= end || lump->start >= other_end)
		return false;
	lump->start = lump->start > other->start ? lump->start : other->start;
	lump->n = (end < other_end ? end : other_end) - lump->start;
	return true;
}

/* What a block took in which a lump of an earlier run lies, the dearest one: the iteration that is
 * dear alone is in one of them. Where one of them tells nothing, it may be there. */
static double work_at(const struct hdss *h, const struct blocks_memory *memory,
                      const struct blocks_lump *lump)
{
	const struct costs_run *run = &h->run_blocks;
	double work = 0;

	for (unsigned i = 0; i < run->count; i++) {
		const struct costs_block *block = &run->blocks[i];
		double cost = block_cost(memory, block);

		if (block->start < lump->start + lump->n && lump->start < block->start + block->n)
			work = hdss_larger(work, cost < 0 ? lump->work : cost * block->n);
	}
	return work;
}

/* In larger blocks lumps do not show: those of earlier runs stay. Where they show again both places
 * are right, so what is in both is. */
static void lumps_keep(const struct hdss *h, const struct blocks_memory *memory,
                       struct blocks_lumps *lumps)
{
	for (unsigned i = 0; i < memory->lumps.count; i++) {
		struct blocks_lump lump = memory->lumps.all[i];

		if (work_at(h, memory, &lump) < LUMP_STAYS * lump.work)
			continue;
		for (unsigned k = lumps->count; k-- > 0;)
			if (lump_cut(&lump, &lumps->all[k]))
				lumps->all[k] = lumps->all[--lumps->count];
		lump_add(lumps, lump);
	}
}

int blocks_hdss_lumps_learn(const struct heddle_strategy *b, struct blocks_memory *memory)
{
	const struct hdss *h = b->state;
	const struct costs_run *run = &h->run_blocks;
	struct mean *means = calloc(b->nworkers, sizeof(*means));
	struct blocks_lumps lumps = {0};

	if (!means)
		return -ENOMEM;
	for (unsigned i = 0; i < run->count; i++) {
		double cost = block_cost(memory, &run->blocks[i]);

		if (cost < 0)
			continue;
		means[run->blocks[i].worker].work += cost * run->blocks[i].n;
		means[run->blocks[i].worker].n += run->blocks[i].n;
	}
	lumps_find(h, memory, means, &lumps);
	free(means);
	lumps_keep(h, memory, &lumps);
	qsort(lumps.all, lumps.count, sizeof(lumps.all[0]), by_start);
	memory->lumps = lumps;
	return 0;
}

static double done_at(const struct heddle_strategy *b, unsigned worker,
                      const struct blocks_lump *lump)
{
	const struct hdss_estimate *e = &((const struct hdss *)b->state)->estimates[worker];

	return e->ready + e->start + lump->work * e->pace;
}

static bool in_time(const struct heddle_strategy *b, unsigned worker,
                    const struct blocks_lump *lump)
{
	return done_at(b, worker, lump) <= ((const struct hdss *)b->state)->end;
}

/* Whether the worker would end the lump after all others, and another one would in this part of the
 * time. That one will ask if it has work under way, or has not asked yet. It would get all of the
 * lump. */
static bool is_left(const struct heddle_strategy *b, unsigned worker,
                    const struct blocks_lump *lump, double part)
{
	const struct hdss *h = b->state;
	double done = done_at(b, worker, lump);

	if (h->estimates[worker].pace <= 0 || in_time(b, worker, lump))
		return false;
	for (unsigned w = 0; w < b->nworkers; w++) {
		const struct hdss_estimate *other = &h->estimates[w];

		if (w != worker && !other->retired && !other->guessed && other->pace > 0 &&
		    (b->workers[w].under_way || !h->worker[w].asked) &&
		    done_at(b, w, lump) < h->now + part * (done - h->now) &&
		    blocks_hdss_own_limit(b, w, lump->n) >= lump->n)
			return true;
	}
	return false;
}

/* Whether a lump is dealt out in pieces. All of it may be dear. Then several workers end it sooner
 * than one. If one iteration is dear alone, it takes any of them as long as all of the lump would.
 * That is so only among workers that are alike, as cores are: a slow one must not get it. */
static bool is_dealt(const struct heddle_strategy *b, unsigned worker,
                     const struct blocks_lump *lump)
{
	if (b->ranks || in_time(b, worker, lump))
		return false;
	for (unsigned w = 0; w < b->nworkers; w++)
		if (!b->workers[w].retired && !hdss_is_core(b, w))
			return false;
	return true;
}

double blocks_hdss_lumps_limit(struct heddle_strategy *b, unsigned worker, double n)
{
	struct hdss *h = b->state;
	size_t next = h->run_blocks.next;

	if (h->run_blocks.returned)
		return n;
	for (unsigned i = 0; i < h->lumps.count; i++) {
		const struct blocks_lump *lump = &h->lumps.all[i];
		bool deals;

		if (lump->start + lump->n <= next)
			continue;
		if (lump->start >= next + n)
			break;
		deals = is_dealt(b, worker, lump);
		if (!deals && is_left(b, worker, lump, 1))
			return lump->start > next ? lump->start - next : 0;
		/* What is left of it would be as dangerous as all of it. */
		if (lump->start + lump->n > next + n && !deals)
			n = lump->start + lump->n - next;
	}
	return n;
}

/* How much more than those around it the next iteration may cost. Where costs are even it is no
 * dearer, and where workers that do it soon are a small part of all, they cannot do what the others
 * leave. */
static double may_cost_more(const struct heddle_strategy *b, unsigned worker)
{
	const struct hdss *h = b->state;
	double rates = 0;

	if (h->even)
		return 0;
	for (unsigned w = 0; w < b->nworkers; w++) {
		const struct hdss_estimate *other = &h->estimates[w];

		if (!other->retired && other->pace > 0 &&
		    other->pace < SOON * h->estimates[worker].pace)
			rates += other->rate;
	}
	return rates > MOST_RATES * h->rates ? hdss_smaller(LONG_NOISES * h->noise, LONG_MORE) : 0;
}

bool blocks_hdss_lumps_next(const struct heddle_strategy *b, unsigned worker)
{
	const struct hdss *h = b->state;
	struct blocks_lump one = {.start = h->run_blocks.next, .n = 1};

	if (h->run_blocks.returned || !b->remaining)
		return false;
	one.work = costs_work(&h->costs, one.start, 1);
	if (one.work * (1 + LONG_MORE) * h->estimates[worker].pace < LONG_PART * h->run)
		return false;
	one.work *= 1 + may_cost_more(b, worker);
	return one.work * h->estimates[worker].pace >= LONG_PART * h->run &&
	       is_left(b, worker, &one, SOON);
}
