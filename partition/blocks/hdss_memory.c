/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * HDSS from run to run. What a run has told of costs and workers is where the next one begins:
 * nothing is learned again, and sizes are counted in work instead of iterations.
 */
#include "config.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "partition/blocks/hdss.h"

/* Where a start is so much of the run one block is better than several that overlap. */
#define LONG_START_PIPELINED 0.15
/* How much a block says of its worker, and the most that it may differ for that. */
#define SHIFT_GAIN 0.3
#define SHIFT_MOST 0.7
/* The same for its place. */
#define LEVEL_GAIN 0.125
#define LEVEL_MOST 1.5
#define USUAL_NOISE 0.1
/* A run whose times differed by more than this part tells of other costs than those before. */
#define CHANGED 0.15
/* Cores are alike, more or less: none is taken to be so many times as fast as one that is slower
 * than this part of all. */
#define FASTEST_CORE 4
#define SLOWER_THAN 0.75
/* What is left for iterations of a block's time at the least. */
#define LEAST_REST 0.1
/* Costs foretell worse than equal ones if blocks lie this part as far apart with these, or less. */
#define SURELY 0.9
/* A start that was told, however little: only one that is assumed is not sure. */
#define LEAST_SURE 1e-30

/* Blocks of the worker are taken to take so long until it has done some in this run. */
static void time_set(struct hdss_worker *worker, double start, double pace)
{
	worker->time = (struct heddle_block_time){0};
	for (double part = 0.5; part <= 1; part += 0.5) {
		double n = worker->largest.n * part;

		heddle_block_time_add(&worker->time, n, start + n * pace, true, true);
	}
}

static void worker_remember(struct hdss_worker *worker, const struct blocks_memory_worker *memory,
                            double run)
{
	worker->pace = memory->time.pace;
	worker->largest = memory->largest;
	worker->most = memory->most;
	worker->last = memory->largest.n;
	worker->learned = true;
	/* It will ask ahead again. */
	worker->pipelined = memory->pipelined && memory->time.start.us < LONG_START_PIPELINED * run;
	time_set(worker, memory->time.start.us, memory->time.pace);
}

void blocks_hdss_remember(struct heddle_strategy *b, const struct blocks_memory *memory)
{
	struct hdss *h = b->state;

	for (unsigned w = 0; w < b->nworkers; w++)
		if (memory->workers[w].time.kind != (int)b->workers[w].given.kind)
			return;
	h->known = true;
	h->costs = memory->costs;
	h->even = costs_even(&h->costs);
	h->lumps = memory->lumps;
	h->noise = memory->noise;
	h->confirmed = memory->error < CHANGED + memory->noise / 2;
	for (unsigned w = 0; w < b->nworkers; w++) {
		const struct blocks_memory_worker *worker = &memory->workers[w];

		h->starts[worker->time.kind].known = true;
		h->starts[worker->time.kind].start = worker->time.start;
		h->starts[worker->time.kind].follow = worker->time.follow;
		if (worker->time.pace > 0 && worker->largest.n > 0)
			worker_remember(&h->worker[w], worker, memory->crew.all_us);
	}
	blocks_hdss_own_begin(b, memory);
	blocks_hdss_crew_begin(b, memory);
}

double blocks_hdss_known_start(const struct heddle_strategy *b, unsigned worker, bool follows)
{
	const struct hdss *h = b->state;
	enum heddle_kind kind = b->workers[worker].given.kind;

	/* Without a block that followed another one nothing is known of what is hidden. */
	follows &= h->starts[kind].follow.sure > 0;
	return follows ? h->starts[kind].follow.us : h->starts[kind].start.us;
}

double blocks_hdss_known_pace(const struct heddle_strategy *b, unsigned worker, double pace)
{
	const struct hdss *h = b->state;
	const struct hdss_worker *w = &h->worker[worker];

	if (w->pace <= 0)
		return pace;
	/* Iterations that cost more than expected may go on. Those that cost less may not. */
	return blocks_hdss_own_pace(b, worker, w->pace * exp(w->shift + hdss_larger(0, h->level)));
}

/* A block took longer or shorter than expected. What other workers saw, too, is a matter of the
 * place, the rest one of the worker. */
static void shift(struct heddle_strategy *b, struct hdss_worker *w, double off)
{
	struct hdss *h = b->state;
	double calm = hdss_smaller(1, USUAL_NOISE / h->noise),
	       own = hdss_larger(-SHIFT_MOST, off) - h->level;

	w->shift += calm * SHIFT_GAIN * hdss_larger(-SHIFT_MOST, hdss_smaller(SHIFT_MOST, own));
	h->level += calm * hdss_larger(LEVEL_GAIN, 2.0 / (b->nworkers + 2)) *
	            hdss_larger(-LEVEL_MOST, hdss_smaller(LEVEL_MOST, own));
}

void blocks_hdss_compare(struct heddle_strategy *b, unsigned worker, double work, double us)
{
	struct hdss *h = b->state;
	struct hdss_worker *w = &h->worker[worker];
	double told;

	if (w->pace <= 0)
		return;
	told = blocks_hdss_known_start(b, worker, !w->cold) + work * w->pace * exp(w->shift);
	h->off += hdss_larger(0, us - told);
	h->compared += us;
	shift(b, w, log(us / told));
}

/* Workers that did nothing keep what they had. */
static void largest_learn(const struct hdss *h, struct blocks_memory *memory)
{
	const struct costs_run *run = &h->run_blocks;

	for (unsigned i = 0; i < run->count; i++) {
		const struct costs_block *block = &run->blocks[i];
		double work = costs_work(&memory->costs, block->start, block->n);
		struct heddle_block_point *largest;

		if (block->worker >= memory->nworkers || block->us <= 0 || block->once)
			continue;
		largest = &memory->workers[block->worker].largest;
		memory->workers[block->worker].most =
		    hdss_larger(memory->workers[block->worker].most, block->n);
		if (work > largest->n)
			*largest = (struct heddle_block_point){work, block->us};
	}
}

/* What part of the time of the work could not be expected if all iterations cost the same: a loop
 * of equal ones is confirmed by its first run. One block of an accelerator may be most of the work,
 * and little of the workers' time. */
static double unequal(const struct hdss *h, const struct blocks_memory *memory)
{
	const struct costs_run *run = &h->run_blocks;
	double off = 0, sum = 0;

	for (unsigned i = 0; i < run->count; i++) {
		const struct costs_block *block = &run->blocks[i];
		const struct costs_worker *worker;
		double more, work;

		if (block->worker >= memory->nworkers || block->us <= 0 || block->once)
			continue;
		worker = &memory->workers[block->worker].time;
		more = block->us - block->n * worker->pace -
		       (block->follows ? worker->follow.us : worker->start.us);
		work = costs_work(&memory->costs, block->start, block->n);
		off += work * hdss_larger(0, more / block->us);
		sum += work;
	}
	return sum > 0 ? off / sum : 1;
}

/* What blocks of the kind told of their start by the end of the run.
 * @return whether they did */
static bool start_told(const struct heddle_strategy *b, int kind, double *start)
{
	const struct hdss *h = b->state;
	double sum = 0, n = 0;

	*start = h->agree[kind] ? h->first[kind].start_us : h->kind[kind].start;
	if (h->agree[kind] || h->kind[kind].sized)
		return true;
	/* Estimates are older than the last blocks. */
	for (unsigned w = 0; w < b->nworkers; w++) {
		const struct heddle_block_time *time = &h->worker[w].time;

		if ((int)b->workers[w].given.kind != kind || !time->start_known)
			continue;
		sum += time->start_us;
		n++;
	}
	if (n > 0)
		*start = sum / n;
	return n > 0;
}

/* No more than the shortest block took leaves for it. Where it is no long part of the run, uneven
 * iterations may look like it. Where nothing told it, it is all that a core would not have taken
 * for the block. */
static struct costs_start first_start(const struct hdss *h, const struct heddle_strategy *b,
                                      int kind)
{
	const struct costs_run *run = &h->run_blocks;
	double start;
	bool told = start_told(b, kind, &start);
	double part = start >= HDSS_LONG_START * h->run ? 1 : 0.5;
	double core = kind != HEDDLE_KIND_CPU ? h->kind[HEDDLE_KIND_CPU].pace : 0;
	double assumed = HUGE_VAL;

	for (unsigned i = 0; i < run->count; i++) {
		const struct costs_block *block = &run->blocks[i];

		if (block->us <= 0 || block->worker >= b->nworkers ||
		    (int)b->workers[block->worker].given.kind != kind)
			continue;
		start = hdss_smaller(start, block->us * part);
		assumed = hdss_smaller(assumed, block->us - block->n * core);
	}
	if (!told && core > 0 && assumed < HUGE_VAL)
		return (struct costs_start){hdss_larger(0, assumed), 0};
	return (struct costs_start){start, LEAST_SURE};
}

/* A block of another size than the worker's largest one in earlier runs tells a start that was only
 * assumed. */
static void start_tell(const struct heddle_strategy *b, const struct blocks_memory *memory,
                       int kind, struct costs_start *start)
{
	const struct costs_run *run = &((const struct hdss *)b->state)->run_blocks;

	for (unsigned i = 0; i < run->count && start->sure <= 0; i++) {
		const struct costs_block *block = &run->blocks[i];
		const struct heddle_block_point *before;
		double us;

		if (block->us <= 0 || block->worker >= b->nworkers || block->follows ||
		    (int)b->workers[block->worker].given.kind != kind)
			continue;
		before = &memory->workers[block->worker].largest;
		if (before->n <= 0 || block->work < COSTS_OTHER_SIZE * before->n)
			continue;
		us = (before->us * block->work - block->us * before->n) / (block->work - before->n);
		start->us = hdss_larger(0, hdss_smaller(us, hdss_smaller(before->us, block->us)));
		start->sure = LEAST_SURE;
	}
}

/* What the run believed of starts when it was over. */
static void starts_learn(const struct heddle_strategy *b, const struct blocks_memory *memory,
                         struct costs_worker *workers)
{
	const struct hdss *h = b->state;
	struct costs_start start[HEDDLE_NKINDS], follow[HEDDLE_NKINDS];

	for (int k = 0; k < HEDDLE_NKINDS; k++) {
		start[k] = h->starts[k].known ? h->starts[k].start : first_start(h, b, k);
		start_tell(b, memory, k, &start[k]);
		/* Not known: nothing of it is hidden. */
		follow[k] = h->starts[k].follow.sure > 0 ? h->starts[k].follow
		                                         : (struct costs_start){start[k].us, 0};
	}
	for (unsigned w = 0; w < b->nworkers; w++) {
		int kind = b->workers[w].given.kind;

		workers[w].kind = kind;
		workers[w].start = start[kind];
		workers[w].follow = follow[kind];
	}
}

double blocks_hdss_core_pace(const struct heddle_strategy *b, long n)
{
	double *paces = ((const struct hdss *)b->state)->room, *weights = paces + b->nworkers;
	double least = HUGE_VAL, most = 0;

	for (long i = 0; i < n; i++) {
		weights[i] = 1;
		least = hdss_smaller(least, paces[i]);
		most = hdss_larger(most, paces[i]);
	}
	if (n < 2 || most <= FASTEST_CORE * least)
		return 0;
	/* Of three the middle one, of two the faster one. */
	return costs_quantile(paces, weights, n, SLOWER_THAN * (n - 1) / n) / FASTEST_CORE;
}

static void cores_bound(const struct heddle_strategy *b, const struct costs *costs,
                        struct costs_worker *workers)
{
	const struct hdss *h = b->state;
	double least;
	long n = 0;

	if (!b->parameters[HDSS_KINDS] || b->ranks || (costs_even(costs) && blocks_hdss_even(b)))
		return;
	for (unsigned w = 0; w < b->nworkers; w++)
		if (hdss_is_core(b, w) && workers[w].pace > 0)
			h->room[n++] = workers[w].pace;
	least = blocks_hdss_core_pace(b, n);
	for (unsigned w = 0; w < b->nworkers; w++)
		if (hdss_is_core(b, w) && workers[w].pace > 0)
			workers[w].pace = hdss_larger(workers[w].pace, least);
}

/* What part of the time of blocks was not expected. */
static double unexpected(const struct hdss *h)
{
	return h->compared > 0 ? h->off / h->compared : 0;
}

bool blocks_hdss_changed(const struct heddle_strategy *b)
{
	const struct hdss *h = b->state;

	return unexpected(h) > CHANGED + h->noise / 2;
}

/* A block's time beside its start, as a logarithm, for each iteration or unit of work. */
struct told {
	double equal, known, us;
};

static bool tells(const struct blocks_memory *memory, const struct costs_block *block)
{
	return block->worker < memory->nworkers && block->n && block->us > 0 && !block->once &&
	       costs_work(&memory->costs, block->start, block->n) > 0;
}

/* The blocks of a run, those of each worker together.
 * @param[out] ends where each worker's end */
static void told_collect(const struct hdss *h, const struct blocks_memory *memory,
                         struct told *told, size_t *ends)
{
	const struct costs_run *run = &h->run_blocks;
	size_t sum = 0;

	for (unsigned i = 0; i < run->count; i++)
		if (tells(memory, &run->blocks[i]))
			ends[run->blocks[i].worker]++;
	for (unsigned w = 0; w < memory->nworkers; w++) {
		size_t n = ends[w];

		ends[w] = sum;
		sum += n;
	}
	for (unsigned i = 0; i < run->count; i++) {
		const struct costs_block *block = &run->blocks[i];
		const struct costs_worker *time;
		double us;

		if (!tells(memory, block))
			continue;
		time = &memory->workers[block->worker].time;
		us = block->us - (block->follows ? time->follow.us : time->start.us);
		us = hdss_larger(us, LEAST_REST * block->us);
		told[ends[block->worker]++] = (struct told){
		    log(us / block->n),
		    log(us / costs_work(&memory->costs, block->start, block->n)), block->us};
	}
}

/* How far values lie from the middle one. Both arrays come into another order. */
static double scatter(double *values, double *weights, long n)
{
	double middle, sum = 0;

	if (n < 2)
		return 0;
	middle = costs_quantile(values, weights, n, 0.5);
	for (long i = 0; i < n; i++)
		sum += weights[i] * fabs(values[i] - middle);
	return sum;
}

/* How far the blocks of all workers lie from the middle one of each, by what is known and by equal
 * costs. Long blocks count more. How fast a worker was is another matter.
 * @param room two numbers for each block */
static void scatters_sum(const struct told *told, const size_t *ends, unsigned nworkers,
                         double *room, double *known, double *equal)
{
	size_t begin = 0;

	*known = *equal = 0;
	for (unsigned w = 0; w < nworkers; w++) {
		size_t n = ends[w] - begin;

		for (int k = 0; k < 2; k++) {
			for (size_t i = 0; i < n; i++) {
				room[i] = k ? told[begin + i].known : told[begin + i].equal;
				room[n + i] = told[begin + i].us;
			}
			*(k ? known : equal) += scatter(room, room + n, (long)n);
		}
		begin = ends[w];
	}
}

/* Whether equal costs would have foretold the times of a run's blocks surely better than those of
 * earlier runs.
 * @return 0, 1; -ENOMEM */
static int costs_are_noise(const struct heddle_strategy *b, const struct blocks_memory *memory)
{
	const struct hdss *h = b->state;
	size_t count = h->run_blocks.count, *ends;
	struct told *told;
	double *room, known, equal;
	int noise = -ENOMEM;

	if (costs_even(&memory->costs) || !count)
		return 0;
	ends = calloc(memory->nworkers, sizeof(*ends));
	told = malloc(count * sizeof(*told));
	room = malloc(2 * count * sizeof(*room));
	if (ends && told && room) {
		told_collect(h, memory, told, ends);
		scatters_sum(told, ends, memory->nworkers, room, &known, &equal);
		noise = equal < SURELY * known;
	}
	free(room);
	free(told);
	free(ends);
	return noise;
}

int blocks_hdss_learn(const struct heddle_strategy *b, struct blocks_memory *memory)
{
	const struct hdss *h = b->state;
	struct costs_worker *workers;
	int error, noise;

	if (!blocks_hdss_crew_learn(b, &memory->crew))
		return 0;
	workers = calloc(b->nworkers, sizeof(*workers));
	if (!workers)
		return -ENOMEM;
	starts_learn(b, memory, workers);
	memory->error = unexpected(h);
	if (blocks_hdss_changed(b))
		memory->runs = 0;
	noise = memory->runs ? costs_are_noise(b, memory) : 1;
	if (noise > 0)
		costs_init(&memory->costs, memory->costs.n);
	error = noise < 0 ? noise
	                  : costs_learn(&memory->costs, memory->runs, &h->run_blocks, workers,
	                                b->nworkers, &memory->noise);
	if (!error)
		cores_bound(b, &memory->costs, workers);
	for (unsigned w = 0; !error && w < b->nworkers; w++) {
		if (workers[w].pace <= 0)
			workers[w].pace = memory->workers[w].time.pace;
		memory->workers[w].time = workers[w];
		/* Ranks tell it with each range: data may be there. */
		memory->workers[w].pipelined |= h->worker[w].pipelined && !b->ranks;
	}
	if (!error)
		largest_learn(h, memory);
	if (!error)
		error = blocks_hdss_own_learn(b, memory);
	if (!error && !memory->runs)
		memory->error = unequal(h, memory);
	/* It is not known where the blocks were: what they took tells of their workers alone. */
	if (b->scattered)
		costs_init(&memory->costs, memory->costs.n);
	else if (!error)
		error = blocks_hdss_lumps_learn(b, memory);
	memory->runs++;
	free(workers);
	return error;
}
