/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "config.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "partition/blocks/costs.h"

#include <heddle/kind.h>

#define NONE ((unsigned)-1)
/* Of longer runs nothing is kept: 12 MB. */
#define MOST_BLOCKS (1U << 18)

/* ---- work by place ---- */

void costs_init(struct costs *costs, size_t n)
{
	costs->n = n;
	for (int p = 0; p <= COSTS_PARTS; p++)
		costs->before[p] = (double)n * p / COSTS_PARTS;
}

static double work_before(const struct costs *costs, double place)
{
	double x = place / costs->n * COSTS_PARTS;
	int part = x < COSTS_PARTS ? (int)x : COSTS_PARTS - 1;

	return costs->before[part] + (x - part) * (costs->before[part + 1] - costs->before[part]);
}

double costs_work(const struct costs *costs, size_t start, size_t n)
{
	if (!n || start + n > costs->n)
		return n;
	return work_before(costs, start + n) - work_before(costs, start);
}

double costs_size(const struct costs *costs, size_t start, double work)
{
	double until = work_before(costs, start) + work, x;
	int low = 0, high = COSTS_PARTS;

	if (until >= costs->before[COSTS_PARTS])
		return costs->n - start;
	while (high - low > 1) {
		int middle = (low + high) / 2;

		if (costs->before[middle] <= until)
			low = middle;
		else
			high = middle;
	}
	x = low + (until - costs->before[low]) / (costs->before[low + 1] - costs->before[low]);
	return fmax(0, x / COSTS_PARTS * costs->n - start);
}

/* ---- the blocks of a run ---- */

int costs_run_init(struct costs_run *run, unsigned nworkers)
{
	*run = (struct costs_run){.head = malloc(nworkers * sizeof(*run->head)),
	                          .tail = malloc(nworkers * sizeof(*run->tail))};
	if (!run->head || !run->tail) {
		costs_run_fini(run);
		return -ENOMEM;
	}
	for (unsigned w = 0; w < nworkers; w++)
		run->head[w] = run->tail[w] = NONE;
	return 0;
}

void costs_run_fini(struct costs_run *run)
{
	free(run->blocks);
	free(run->head);
	free(run->tail);
	*run = (struct costs_run){0};
}

static struct costs_block *block_new(struct costs_run *run)
{
	if (run->count == run->capacity) {
		unsigned capacity = run->capacity ? 2 * run->capacity : 256;
		struct costs_block *grown = capacity <= MOST_BLOCKS
		                                ? realloc(run->blocks, capacity * sizeof(*grown))
		                                : NULL;

		if (!grown) {
			run->lost = true;
			return NULL;
		}
		run->blocks = grown;
		run->capacity = capacity;
	}
	return &run->blocks[run->count++];
}

double costs_run_gave(struct costs_run *run, const struct costs *costs, unsigned worker, size_t n)
{
	struct costs_block *block = run->lost ? NULL : block_new(run);
	bool again = run->returned > 0;
	size_t start = run->next;

	if (again)
		run->returned -= n < run->returned ? n : run->returned;
	else
		run->next += n;
	if (!block)
		return n;
	*block = (struct costs_block){.start = start,
	                              .n = n,
	                              .work = costs && !again ? costs_work(costs, start, n) : n,
	                              .worker = again ? NONE : worker,
	                              .follows = run->head[worker] != NONE,
	                              .first = run->tail[worker] == NONE,
	                              .next = NONE};
	if (run->head[worker] == NONE)
		run->head[worker] = run->count - 1;
	else
		run->blocks[run->tail[worker]].next = run->count - 1;
	run->tail[worker] = run->count - 1;
	return block->work;
}

double costs_run_done(struct costs_run *run, unsigned worker, size_t n, double us)
{
	struct costs_block *block;

	if (run->head[worker] == NONE)
		return n;
	block = &run->blocks[run->head[worker]];
	run->head[worker] = block->next;
	if (block->n == n)
		block->us = us;
	return block->work;
}

/* The worker's latest block under way is no longer one. */
static void tail_remove(struct costs_run *run, unsigned worker)
{
	unsigned b = run->head[worker], last = run->tail[worker];

	if (b == last) {
		run->head[worker] = NONE;
		return;
	}
	while (run->blocks[b].next != last)
		b = run->blocks[b].next;
	run->blocks[b].next = NONE;
	run->tail[worker] = b;
}

double costs_run_returned(struct costs_run *run, unsigned worker, size_t n)
{
	double work = 0;

	while (n && run->head[worker] != NONE) {
		struct costs_block *block = &run->blocks[run->tail[worker]];
		size_t part = n < block->n ? n : block->n;
		double w = block->work * part / block->n;

		/* The end of what was given so far is given again as if for the first time. */
		if (block->worker == worker && block->start + block->n == run->next)
			run->next -= part;
		else
			run->returned += part;
		block->n -= part;
		block->work -= w;
		work += w;
		n -= part;
		if (!block->n)
			tail_remove(run, worker);
	}
	run->returned += n;
	return work + n;
}

/* ---- learning ---- */

/* A block counts where at least this part of its time goes to iterations. */
#define LEAST_PART 0.3
/* In a short block at least this part of its time is taken to go to them. */
#define SHORTEST_PART 0.05
/* Blocks side by side are believed to cost alike up to about this difference of logarithms; more
 * is likely to be an edge between cheap and dear iterations. First it is wide, as paces are
 * not known yet. */
static const double believed[] = {10, 10, 10, 10, 10, 10, 3, 1, 0.5, 0.3, 0.2, 0.15, 0.15, 0.15};
#define ROUNDS (sizeof(believed) / sizeof(believed[0]))
/* The first ones, after which noise is known. */
#define ROUNDS_WIDE 7
/* The last ones, where paces are known that were true a few blocks before. */
#define ROUNDS_MORE 3
/* What a kind says of a worker's pace, or what was believed of it, in pairs of blocks. */
#define KIND_PAIRS 0.5
/* Workers of a kind whose paces differ by less, as logarithms, are alike. */
#define ALIKE 0.3
/* Blocks on either side that noise is smoothed over. */
#define SMOOTH 8
/* Blocks that cost the same seldom differ by more than so many times the noise. */
#define NOISES 3
/* Parts of a loop cost the same if they differ from their mean by this part of it, on average. */
#define EVEN 0.15
/* Costs that differ by more than this, as a logarithm, and more than by noise have an edge
 * between them. */
#define EDGE 0.3
#define UNSURE 0.15
/* Costs of earlier runs count at most so many times as much as the latest. */
#define MOST_RUNS 3
#define MAXKINDS 16
/* What is known of starts counts so much after one more run. */
#define FORGET 0.7
/* Paces and starts are found in turn. */
#define LINES 3
/* Blocks that differ by more than about this part of their time say little of starts. */
#define UNLIKE 0.3
/* Those that differ by more than this, and more than by noise, say little of paces. */
#define LIKE 0.1
/* What was found of a pace counts so much, in blocks, where starts are looked for. */
#define PACE_SURE 0.01
/* A block hides the start of the next one if it takes so many times as long. */
#define HIDING 2
/* Blocks tell a start if at least this part of them does whatever the paces of their workers. */
#define TOLD 0.02
/* What was believed of starts counts at least so much as this part of the new blocks. */
#define LEAST_SURE 0.001
/* How sure something is that is hardly told. */
#define LEAST_TOLD 1e-30
/* A first block that took so many times as long as its iterations say had something to do that
 * comes once. */
#define ONCE 2
/* A block was hidden behind the one before it if its iterations took less than this part of that
 * one's, and of all of the worker's. */
#define HIDDEN 0.25
/* Starts that are so much more of a worker's time than its own blocks tell come from costs that are
 * wrong. */
#define DOUBTFUL 0.2

/* A block that counts. */
struct sample {
	size_t start, n;
	unsigned worker;
	double part;  /* of its time that goes to iterations */
	double cost;  /* logarithm of its time for a unit of the work assumed so far */
	double us;    /* that its iterations took */
	double ratio; /* of its cost to the one assumed so far */
};

/* Two samples side by side, of different workers. */
struct pair {
	unsigned a, b;  /* their workers */
	double between; /* difference of their costs */
	double weight;  /* how much that tells of the workers */
};

struct fit {
	struct sample *samples;
	unsigned count;
	struct pair *pairs;
	unsigned npairs;
	struct costs_worker *workers;
	double *pace;     /* logarithms, by worker */
	double *believed; /* the same as believed before; NULL: nothing was */
	double *sum, *weight;
	double *work, *bound; /* of the largest block, and what it says of the pace */
	double *room;         /* for a number of each block */
	double *share;        /* the same */
	double *told;         /* work of each block of the run, by the costs that were found */
	unsigned nworkers;
	double us; /* of a block, on average */
	double noise;
};

static bool is_done(const struct costs_block *block)
{
	return block->worker != NONE && block->n && block->us > 0;
}

static bool counts(const struct costs_block *block)
{
	return is_done(block) && !block->once && !block->hidden;
}

/* Behind a block under way a short one takes as long as its start, which tells nothing more. */
static bool tells(const struct costs_worker *worker, const struct costs_block *block)
{
	return !block->follows || block->us >= HIDING * worker->start.us;
}

static double start_of(const struct costs_worker *worker, const struct costs_block *block)
{
	return block->follows ? worker->follow.us : worker->start.us;
}

/* How much two samples side by side tell: a short one tells of its start. */
static double pair_weight(const struct fit *fit, const struct sample *a, const struct sample *b)
{
	return a->part * b->part * fmin(1, fmin(a->us, b->us) / fit->us);
}

static void pairs_weigh(struct fit *fit)
{
	fit->npairs = 0;
	for (unsigned i = 1; i < fit->count; i++) {
		const struct sample *a = &fit->samples[i - 1], *b = &fit->samples[i];

		if (a->worker != b->worker)
			fit->pairs[fit->npairs++] = (struct pair){
			    a->worker, b->worker, a->cost - b->cost, pair_weight(fit, a, b)};
	}
}

/* The shortest time in which an accelerator of each kind began and did a block: its start is no
 * longer. */
static void shortest_find(const struct fit *fit, const struct costs_run *run, double *us)
{
	for (int k = 0; k < MAXKINDS; k++)
		us[k] = 0;
	for (unsigned i = 0; i < run->count; i++) {
		const struct costs_block *block = &run->blocks[i];
		int kind;

		if (!counts(block) || block->follows)
			continue;
		kind = fit->workers[block->worker].kind;
		if (kind != HEDDLE_KIND_CPU && (us[kind] == 0 || block->us < us[kind]))
			us[kind] = block->us;
	}
}

/* Without costs each iteration is taken for a unit of work, and short blocks count, too.
 * @param shortest NULL, or times by kind: a block tells what its iterations cost if it takes twice
 * as long, whatever the start is */
static unsigned samples_take(struct fit *fit, const struct costs *costs,
                             const struct costs_run *run, unsigned first, const double *shortest)
{
	double least = costs ? LEAST_PART : 0;
	unsigned count = 0;

	for (unsigned i = first; i < run->count; i++) {
		const struct costs_block *block = &run->blocks[i];
		struct sample *s = &fit->samples[count];
		double us, work;

		if (!counts(block) ||
		    (shortest && block->us < 2 * shortest[fit->workers[block->worker].kind]))
			continue;
		us = block->us - start_of(&fit->workers[block->worker], block);
		work = costs ? costs_work(costs, block->start, block->n) : block->n;
		if (work <= 0 || us < least * block->us ||
		    !tells(&fit->workers[block->worker], block))
			continue;
		us = fmax(us, SHORTEST_PART * block->us);
		*s = (struct sample){
		    block->start, block->n, block->worker, us / block->us, log(us / work), us, 1};
		count++;
	}
	fit->count = count;
	fit->us = 0;
	for (unsigned i = 0; i < count; i++)
		fit->us += fit->samples[i].us / count;
	pairs_weigh(fit);
	return count;
}

/* First guess: what is believed, else mean times. */
static void paces_begin(struct fit *fit)
{
	for (unsigned w = 0; w < fit->nworkers; w++)
		fit->sum[w] = fit->weight[w] = 0;
	for (unsigned i = 0; i < fit->count; i++) {
		fit->sum[fit->samples[i].worker] += fit->samples[i].cost;
		fit->weight[fit->samples[i].worker]++;
	}
	for (unsigned w = 0; w < fit->nworkers; w++)
		if (fit->believed && fit->workers[w].pace > 0)
			fit->pace[w] = fit->believed[w] = log(fit->workers[w].pace);
		else
			fit->pace[w] = fit->weight[w] > 0 ? fit->sum[w] / fit->weight[w] : NAN;
}

/* Means over the workers of each kind; of those without blocks they are the pace. They count the
 * less the more workers of the kind differ, and the less the more a worker's blocks tell something
 * else: few pairs would be drawn away from what they tell, and then count as if an edge was between
 * them. */
static void kinds_add(struct fit *fit, double pairs)
{
	double sum[MAXKINDS] = {0}, squares[MAXKINDS] = {0}, n[MAXKINDS] = {0};

	for (unsigned w = 0; w < fit->nworkers; w++)
		if (!isnan(fit->pace[w])) {
			sum[fit->workers[w].kind] += fit->pace[w];
			squares[fit->workers[w].kind] += fit->pace[w] * fit->pace[w];
			n[fit->workers[w].kind]++;
		}
	for (unsigned w = 0; w < fit->nworkers; w++) {
		int kind = fit->workers[w].kind;
		double mean, spread, weight, off;

		if (!n[kind])
			continue;
		mean = sum[kind] / n[kind];
		spread = fmax(0, squares[kind] / n[kind] - mean * mean) / (ALIKE * ALIKE);
		off = isnan(fit->pace[w])
		          ? 0
		          : (fit->pace[w] - mean) / fmax(ALIKE, NOISES * fit->noise);
		weight = pairs / (1 + spread) / (1 + off * off);
		fit->sum[w] += weight * mean;
		fit->weight[w] += weight;
	}
}

/* What was believed of a worker counts unless blocks beside its own tell something else. */
static void beliefs_add(struct fit *fit, double width)
{
	for (unsigned w = 0; w < fit->nworkers; w++) {
		double off, weight;

		if (fit->workers[w].pace <= 0)
			continue;
		off = (fit->believed[w] - fit->pace[w]) / width;
		weight = KIND_PAIRS / (1 + off * off);
		fit->sum[w] += weight * fit->believed[w];
		fit->weight[w] += weight;
	}
}

/* One round: each worker's pace becomes what the blocks beside its own say. */
static void paces_improve(struct fit *fit, double width)
{
	for (unsigned w = 0; w < fit->nworkers; w++)
		fit->sum[w] = fit->weight[w] = 0;
	for (unsigned i = 0; i < fit->npairs; i++) {
		const struct pair *p = &fit->pairs[i];
		double pace_a = fit->pace[p->a], pace_b = fit->pace[p->b];
		double off = (p->between - pace_a + pace_b) / width;
		double weight = p->weight / (1 + off * off);

		fit->sum[p->a] += weight * (pace_b + p->between);
		fit->sum[p->b] += weight * (pace_a - p->between);
		fit->weight[p->a] += weight;
		fit->weight[p->b] += weight;
	}
	if (fit->believed)
		beliefs_add(fit, width);
	else
		kinds_add(fit, KIND_PAIRS);
	/* Half the way: two groups that only touch each other would swing. */
	for (unsigned w = 0; w < fit->nworkers; w++) {
		if (fit->weight[w] <= 0)
			continue;
		double found = fit->sum[w] / fit->weight[w];

		fit->pace[w] = isnan(fit->pace[w]) ? found : (fit->pace[w] + found) / 2;
	}
}

bool costs_even(const struct costs *costs)
{
	double mean = costs->n / (double)COSTS_PARTS, off = 0;

	for (int p = 0; p < COSTS_PARTS; p++)
		off += fabs(costs->before[p + 1] - costs->before[p] - mean);
	return off <= EVEN * costs->n;
}

/* Brings the smaller values before the others, each with its weight. Nothing branches on values,
 * which are random.
 * @param[out] weight of the smaller ones
 * @return how many are smaller, or equal with `equal` */
static long smaller_first(double *values, double *weights, long count, double pivot, bool equal,
                          double *weight)
{
	double sum = 0;
	long end = 0;

	for (long i = 0; i < count; i++) {
		double value = values[i], w = weights[i];
		bool smaller = (value < pivot) | ((value == pivot) & equal);

		values[i] = values[end];
		weights[i] = weights[end];
		values[end] = value;
		weights[end] = w;
		sum += smaller * w;
		end += smaller;
	}
	*weight = sum;
	return end;
}

double costs_quantile(double *values, double *weights, long count, double part)
{
	double rest = 0, weight;

	for (long i = 0; i < count; i++)
		rest += part * weights[i];
	for (;;) {
		double pivot = values[count / 2];
		long n = smaller_first(values, weights, count, pivot, false, &weight);

		if (n && rest < weight) {
			count = n;
			continue;
		}
		values += n;
		weights += n;
		count -= n;
		rest -= weight;
		n = smaller_first(values, weights, count, pivot, true, &weight);
		if (rest < weight || n == count || !n) /* what is no number equals nothing */
			return pivot;
		values += n;
		weights += n;
		count -= n;
		rest -= weight;
	}
}

/* The middle difference of blocks side by side, as the deviation of one. */
static double noise_find(const struct fit *fit, double *room)
{
	unsigned pairs = 0;

	for (unsigned i = 1; i < fit->count; i++) {
		const struct sample *a = &fit->samples[i - 1], *b = &fit->samples[i];

		fit->share[pairs] = pair_weight(fit, a, b);
		room[pairs++] =
		    fabs(a->cost - fit->pace[a->worker] - b->cost + fit->pace[b->worker]);
	}
	return pairs ? costs_quantile(room, fit->share, pairs, 0.5) / 0.95
	             : 0; /* the middle of |N(0, 2)| */
}

/* Mean over blocks near one that differ from a value by no more than noise does. */
static double level_near(const struct fit *fit, unsigned i, double value)
{
	unsigned from = i < SMOOTH ? 0 : i - SMOOTH;
	unsigned to = i + SMOOTH < fit->count ? i + SMOOTH : fit->count - 1;
	double width = fmax(NOISES * fit->noise, 0.02), sum = 0, weight = 0;

	for (unsigned j = from; j <= to; j++) {
		double d = (fit->room[j] - value) / width, w;

		w = fit->samples[j].part / (1 + d * d * d * d);
		sum += w * fit->room[j];
		weight += w;
	}
	return sum / weight;
}

/* Edges stay. */
static void ratios_smooth(struct fit *fit)
{
	for (unsigned i = 0; i < fit->count; i++)
		fit->samples[i].ratio = exp(level_near(fit, i, fit->room[i]));
}

/* Iterations whose costs are the old ones times a ratio, to the parts they cover. */
static void part_add(const struct costs *costs, double start, double n, double ratio, double weight,
                     double *sum, double *weights)
{
	double scale = (double)COSTS_PARTS / costs->n, from = start * scale,
	       to = (start + n) * scale;

	for (int p = (int)from; p < COSTS_PARTS && p < to; p++) {
		double first = p > from ? p : from, last = p + 1 < to ? p + 1 : to;

		sum[p] += (last - first) * weight * ratio;
		weights[p] += (last - first) * weight;
	}
}

/* The place of an edge is known to some part of the block. It is the dear part that must not
 * turn out longer. */
static double unsure_add(double first, bool dear_last)
{
	return dear_last ? fmax(0, first - UNSURE) : fmin(1, first + UNSURE);
}

/* A block between a cheap one and a dear one is likely to have an edge inside, where its time
 * says. */
static void samples_add(const struct fit *fit, const struct costs *costs, double *sum,
                        double *weights)
{
	double least = exp(EDGE + NOISES * fit->noise);

	for (unsigned i = 0; i < fit->count; i++) {
		const struct sample *s = &fit->samples[i];
		double before = i ? s[-1].ratio : s->ratio, n = s->n;
		double after = i + 1 < fit->count ? s[1].ratio : s->ratio, first = 1;

		if (fmax(before, after) > least * fmin(before, after) &&
		    (s->ratio - before) * (after - s->ratio) > 0)
			first = unsure_add((s->ratio - after) / (before - after), before < after);
		else
			before = s->ratio;
		part_add(costs, s->start, n * first, before, s->part, sum, weights);
		if (first < 1)
			part_add(costs, s->start + n * first, n * (1 - first), after, s->part, sum,
			         weights);
	}
}

/* Parts without a block are as their neighbours. */
static void gaps_fill(double *ratio, const double *weight)
{
	int before = -1;

	for (int p = 0; p < COSTS_PARTS; p++) {
		int after = p;

		if (weight[p] > 0) {
			ratio[p] /= weight[p];
			before = p;
			continue;
		}
		if (before < 0) {
			while (after < COSTS_PARTS && weight[after] <= 0)
				after++;
			ratio[p] = after < COSTS_PARTS ? ratio[after] / weight[after] : 1;
		} else {
			ratio[p] = ratio[before];
		}
	}
}

/* Costs so far times what was found. Parts that one block covered have the same ratio: a power
 * takes as long as all else here. */
static void costs_update(struct costs *costs, const double *ratio, double part)
{
	double sum = 0, last = costs->before[0], before = 1, power = 1, scale;

	costs->before[0] = 0;
	for (int p = 0; p < COSTS_PARTS; p++) {
		double cost;

		if (ratio[p] != before) {
			before = ratio[p];
			power = part == 1 ? before : pow(before, part);
		}
		cost = (costs->before[p + 1] - last) * power;
		last = costs->before[p + 1];
		sum += cost;
		costs->before[p + 1] = sum;
	}
	scale = costs->n / sum;
	for (int p = 0; p <= COSTS_PARTS; p++)
		costs->before[p] *= scale;
}

/* For so many blocks. */
static int fit_init(struct fit *fit, unsigned blocks, struct costs_worker *workers,
                    unsigned nworkers)
{
	*fit = (struct fit){.samples = malloc((blocks + 1) * sizeof(*fit->samples)),
	                    .pairs = malloc((blocks + 1) * sizeof(*fit->pairs)),
	                    .pace = malloc(6 * nworkers * sizeof(*fit->pace)),
	                    .room = malloc(3 * (blocks + 1) * sizeof(*fit->room)),
	                    .workers = workers,
	                    .nworkers = nworkers};
	if (!fit->samples || !fit->pairs || !fit->pace || !fit->room)
		return -ENOMEM;
	fit->share = fit->room + blocks + 1;
	fit->told = fit->share + blocks + 1;
	fit->sum = fit->pace + nworkers;
	fit->weight = fit->sum + nworkers;
	fit->work = fit->weight + nworkers;
	fit->bound = fit->work + nworkers;
	return 0;
}

static void fit_fini(struct fit *fit)
{
	free(fit->samples);
	free(fit->pairs);
	free(fit->pace);
	free(fit->room);
}

/* How much a block counts for its worker's pace: little where its time lies far from what the pace
 * so far tells. Beside an edge its work is known only as well as parts of the loop are short, and
 * there a dear block may take more time than all others together. */
static double pace_weight(const struct fit *fit, unsigned worker, double us, double work)
{
	double told = fit->workers[worker].pace * work, width = fmax(LIKE, NOISES * fit->noise);
	double unlike = log(us / told) / width;

	return told > 0 ? 1 / (1 + unlike * unlike) : 1;
}

/* What blocks side by side told of the paces, in units of the new costs. */
static void paces_guess(struct fit *fit, const struct costs *costs)
{
	double level;

	for (unsigned i = 0; i < fit->count; i++) {
		const struct sample *s = &fit->samples[i];

		fit->room[i] =
		    log(s->us / costs_work(costs, s->start, s->n)) - fit->pace[s->worker];
		fit->share[i] = 1;
	}
	level = costs_quantile(fit->room, fit->share, fit->count, 0.5);
	for (unsigned w = 0; w < fit->nworkers; w++)
		fit->workers[w].pace = isnan(fit->pace[w]) ? 0 : exp(fit->pace[w] + level);
}

/* The paces that fit the new costs. Of a worker whose largest block was mostly start it is known
 * that it is not slower than that: the rest was less than what tells something. But not where
 * blocks that tell it did more work together: beside an edge the work of one is not known. */
static void paces_end(struct fit *fit, const struct costs_run *run)
{
	for (unsigned w = 0; w < fit->nworkers; w++)
		fit->sum[w] = fit->weight[w] = fit->work[w] = fit->bound[w] = 0;
	for (unsigned i = 0; i < run->count; i++) {
		const struct costs_block *block = &run->blocks[i];
		unsigned w = block->worker;
		double us, work;
		bool counted, told;

		if (!counts(block))
			continue;
		us = block->us - start_of(&fit->workers[w], block);
		work = fit->told[i];
		told = tells(&fit->workers[w], block);
		counted = us >= LEAST_PART * block->us && told;
		if (work > fit->work[w]) {
			fit->work[w] = work;
			fit->bound[w] =
			    counted ? HUGE_VAL
			            : (told ? fmin(LEAST_PART * block->us,
			                           fmax(0, us) + NOISES * fit->noise * block->us)
			                    : block->us) /
			                  work;
		}
		if (counted) {
			double weight = pace_weight(fit, w, us, work);

			fit->sum[w] += weight * us;
			fit->weight[w] += weight * work;
		}
	}
	for (unsigned w = 0; w < fit->nworkers; w++) {
		double pace = fit->weight[w] > 0 ? fit->sum[w] / fit->weight[w] : HUGE_VAL;

		if (fit->weight[w] < fit->work[w])
			pace = fmin(pace, fit->bound[w]);
		fit->workers[w].pace = fit->work[w] > 0 ? pace : 0;
	}
}

/* Sums over blocks, each with its weight: of a worker, or of a kind. Starts are told apart as in
 * struct costs_worker. */
struct line_sums {
	double xx, xy;       /* work by work, work by time */
	double x[2];         /* work, by start */
	double one[2], y[2]; /* blocks and time, by start */
};

static void line_add(struct line_sums *sums, bool follows, double work, double us, double weight)
{
	sums->xx += weight * work * work;
	sums->xy += weight * work * us;
	sums->x[follows] += weight * work;
	sums->one[follows] += weight;
	sums->y[follows] += weight * us;
}

/* Blocks whose times lie far from what is believed count little. */
static void lines_sum(const struct fit *fit, const struct costs_run *run, struct line_sums *sums)
{
	for (unsigned w = 0; w < fit->nworkers; w++) {
		double pace = fit->workers[w].pace;

		sums[w] = (struct line_sums){0};
		/* A bound is no measurement. */
		if (pace > 0 && fit->weight[w] > 0) {
			sums[w].xx = PACE_SURE / (pace * pace);
			sums[w].xy = PACE_SURE / pace;
		}
	}
	for (unsigned i = 0; i < run->count; i++) {
		const struct costs_block *block = &run->blocks[i];
		const struct costs_worker *worker;
		double told, unlike, work;

		if (!counts(block))
			continue;
		worker = &fit->workers[block->worker];
		work = fit->told[i];
		told = start_of(worker, block) + worker->pace * work;
		if (worker->pace <= 0 || told <= 0 || !tells(worker, block))
			continue;
		unlike = (block->us - told) / told / UNLIKE;
		line_add(&sums[block->worker], block->follows, work, block->us,
		         1 / (told * told * (1 + unlike * unlike)));
	}
}

/* The two starts of a kind: least squares, in which each worker has the pace that suits them. What
 * earlier runs told counts less each time. Blocks of one size tell nothing of a start: it stays. */
static void kind_starts(const struct fit *fit, const struct line_sums *sums,
                        const struct costs_worker *before, struct costs_start *starts)
{
	double a[2][2] = {{0}}, y[2] = {0}, det;
	bool untold;

	for (unsigned w = 0; w < fit->nworkers; w++) {
		const struct line_sums *s = &sums[w];

		if (fit->workers[w].kind != before->kind || s->xx <= 0)
			continue;
		for (int i = 0; i < 2; i++) {
			starts[i].sure += s->one[i];
			y[i] += s->y[i] - s->x[i] * s->xy / s->xx;
			for (int j = 0; j < 2; j++)
				a[i][j] += (i == j) * s->one[i] - s->x[i] * s->x[j] / s->xx;
		}
	}
	untold = a[0][0] < TOLD * starts[0].sure;
	for (int i = 0; i < 2; i++) {
		const struct costs_start *old = i ? &before->follow : &before->start;
		double least = !i && untold ? 1 : LEAST_SURE;
		double sure = FORGET * old->sure + least * (starts[i].sure + 1e-12);

		a[i][i] += sure;
		y[i] += sure * old->us;
		starts[i].sure += FORGET * old->sure;
	}
	det = a[0][0] * a[1][1] - a[0][1] * a[1][0];
	starts[0].us = (y[0] * a[1][1] - y[1] * a[0][1]) / det;
	starts[1].us = (y[1] * a[0][0] - y[0] * a[1][0]) / det;
	if (untold && before->start.sure <= 0)
		starts[0].sure = 0;
}

/* No block took less than its start. */
static void kind_bound(const struct costs_run *run, const struct costs_worker *workers, int kind,
                       struct costs_start *starts)
{
	for (unsigned i = 0; i < run->count; i++) {
		const struct costs_block *block = &run->blocks[i];

		if (counts(block) && workers[block->worker].kind == kind &&
		    tells(&workers[block->worker], block))
			starts[block->follows].us = fmin(starts[block->follows].us, block->us);
	}
	starts[0].us = fmax(0, starts[0].us);
	starts[1].us = fmax(0, fmin(starts[1].us, starts[0].us));
}

static int starts_end(struct fit *fit, const struct costs_run *run, bool last)
{
	struct line_sums *sums = malloc(fit->nworkers * sizeof(*sums));
	bool found[MAXKINDS] = {0};
	struct costs_start starts[MAXKINDS][2] = {{{0}}};

	if (!sums)
		return -ENOMEM;
	lines_sum(fit, run, sums);
	for (unsigned w = 0; w < fit->nworkers; w++) {
		int kind = fit->workers[w].kind;

		if (!found[kind]) {
			kind_starts(fit, sums, &fit->workers[w], starts[kind]);
			kind_bound(run, fit->workers, kind, starts[kind]);
			found[kind] = true;
		}
		fit->workers[w].start.us = starts[kind][0].us;
		fit->workers[w].follow.us = starts[kind][1].us;
		if (last) {
			fit->workers[w].start.sure = starts[kind][0].sure;
			fit->workers[w].follow.sure = starts[kind][1].sure;
		}
	}
	free(sums);
	return 0;
}

/* Starts and paces, in turn.
 * @param last whether it is then known how sure the starts are */
static int lines_find(struct fit *fit, const struct costs *costs, const struct costs_run *run,
                      bool last)
{
	int error = 0;

	paces_guess(fit, costs);
	for (unsigned i = 0; i < run->count; i++)
		fit->told[i] = costs_work(costs, run->blocks[i].start, run->blocks[i].n);
	for (int i = 0; i < LINES && !error; i++) {
		paces_end(fit, run);
		error = starts_end(fit, run, last && i + 1 == LINES);
	}
	paces_end(fit, run);
	return error;
}

/* Where no long block told what is left of a start in a pipeline, short ones tell that it is no
 * longer than what their iterations leave. */
static void follows_guess(const struct fit *fit, const struct costs_run *run)
{
	double rest[MAXKINDS] = {0};
	unsigned n[MAXKINDS] = {0};

	for (unsigned i = 0; i < run->count; i++) {
		const struct costs_block *block = &run->blocks[i];
		const struct costs_worker *worker;

		if (!counts(block) || !block->follows)
			continue;
		worker = &fit->workers[block->worker];
		rest[worker->kind] += fmax(0, block->us - worker->pace * fit->told[i]);
		n[worker->kind]++;
	}
	for (unsigned w = 0; w < fit->nworkers; w++) {
		struct costs_worker *worker = &fit->workers[w];

		if (worker->follow.sure > 0 || !n[worker->kind])
			continue;
		worker->follow.us = fmin(worker->start.us, rest[worker->kind] / n[worker->kind]);
		worker->follow.sure = LEAST_TOLD;
	}
}

/* The logarithms of what blocks cost, without their workers' paces. */
static void levels_find(struct fit *fit)
{
	fit->noise = noise_find(fit, fit->room);
	for (unsigned i = 0; i < fit->count; i++)
		fit->room[i] = fit->samples[i].cost - fit->pace[fit->samples[i].worker];
}

/* Costs that follow from the paces. */
static void costs_find(struct fit *fit, struct costs *costs, unsigned known)
{
	double ratio[COSTS_PARTS] = {0}, weight[COSTS_PARTS] = {0};

	levels_find(fit);
	ratios_smooth(fit);
	samples_add(fit, costs, ratio, weight);
	gaps_fill(ratio, weight);
	costs_update(costs, ratio, 1.0 / (1 + (known < MOST_RUNS ? known : MOST_RUNS)));
}

/* What blocks side by side tell of the paces, and these of the costs. */
static int costs_fit(struct fit *fit, struct costs *costs, unsigned known,
                     const struct costs_run *run, const double *shortest)
{
	if (samples_take(fit, costs, run, 0, shortest) < 2)
		return -ENOENT;
	paces_begin(fit);
	fit->noise = HUGE_VAL;
	for (size_t i = 0; i < ROUNDS; i++) {
		if (i == ROUNDS_WIDE)
			fit->noise = noise_find(fit, fit->room);
		paces_improve(fit, i < ROUNDS_WIDE ? believed[i]
		                                   : fmax(believed[i], NOISES * fit->noise));
	}
	costs_find(fit, costs, known);
	return 0;
}

/* A first block that is mostly start looks like dear iterations while the start is not known, and
 * nobody else computed these. So starts come first, from what the blocks around it cost. */
static int starts_first(struct fit *fit, const struct costs *equal, const struct costs_run *run)
{
	struct costs costs = *equal;
	double shortest[MAXKINDS];
	int error;

	shortest_find(fit, run, shortest);
	error = costs_fit(fit, &costs, 0, run, shortest);
	return error ? 0 : lines_find(fit, &costs, run, false);
}

/* An accelerator's blocks that found it without work, and the time of all of its blocks. */
struct own_blocks {
	const struct costs_block *smallest, *largest;
	double us, count;
};

/* The start that the blocks tell if all their iterations cost the same. */
static double own_start(const struct own_blocks *own)
{
	const struct costs_block *s = own->smallest, *l = own->largest;
	double us = (s->us * l->n - l->us * s->n) / (l->n - s->n);

	return fmax(0, fmin(us, fmin(s->us, l->us)));
}

/* Whether what an accelerator's blocks took is said to be start, although larger ones took longer
 * in proportion: one long block beside its own, which only its worker saw, made other iterations
 * look cheap. Costs that leave nothing of the blocks to iterations tell no pace. */
static int starts_doubt(const struct fit *fit, const struct costs_run *run, bool *doubtful)
{
	struct own_blocks *all = calloc(fit->nworkers, sizeof(*all));

	if (!all)
		return -ENOMEM;
	*doubtful = false;
	for (unsigned i = 0; i < run->count; i++) {
		const struct costs_block *block = &run->blocks[i];
		struct own_blocks *own;

		if (!counts(block))
			continue;
		own = &all[block->worker];
		own->us += block->us;
		if (block->follows)
			continue;
		own->count++;
		if (!own->smallest || block->n < own->smallest->n)
			own->smallest = block;
		if (!own->largest || block->n > own->largest->n)
			own->largest = block;
	}
	for (unsigned w = 0; w < fit->nworkers && !*doubtful; w++) {
		const struct own_blocks *own = &all[w];

		if (fit->workers[w].kind == HEDDLE_KIND_CPU || !own->count ||
		    own->largest->n < COSTS_OTHER_SIZE * own->smallest->n)
			continue;
		*doubtful =
		    own->count * (fit->workers[w].start.us - own_start(own)) > DOUBTFUL * own->us;
	}
	free(all);
	return 0;
}

/* What workers take if all iterations cost the same. What earlier runs told of them stays. */
static int equal_fit(struct fit *fit, struct costs *costs, const struct costs_run *run,
                     const struct costs_worker *before)
{
	costs_init(costs, costs->n);
	memcpy(fit->workers, before, fit->nworkers * sizeof(*before));
	(void)samples_take(fit, costs, run, 0, NULL);
	paces_begin(fit);
	fit->noise = noise_find(fit, fit->room);
	return lines_find(fit, costs, run, true);
}

static int learn(struct costs *costs, unsigned known, const struct costs_run *run,
                 struct costs_worker *workers, unsigned nworkers, double *noise)
{
	struct costs_worker *before = malloc(nworkers * sizeof(*before));
	struct fit fit;
	int error = fit_init(&fit, run->count, workers, nworkers);

	if (before)
		memcpy(before, workers, nworkers * sizeof(*before));
	else
		error = -ENOMEM;
	if (!error && !known)
		error = starts_first(&fit, costs, run);
	if (!error)
		error = costs_fit(&fit, costs, known, run, NULL);
	if (!error) {
		bool doubtful = false;

		error = lines_find(&fit, costs, run, true);
		if (!error)
			error = starts_doubt(&fit, run, &doubtful);
		if (!error && doubtful)
			error = equal_fit(&fit, costs, run, before);
		follows_guess(&fit, run);
		*noise = fit.noise;
	}
	fit_fini(&fit);
	free(before);
	return error;
}

/* ---- what comes once in a run ---- */

static bool is_first(const struct costs_run *run, const struct costs_worker *workers, unsigned i)
{
	const struct costs_block *block = &run->blocks[i];

	return is_done(block) && block->first && workers[block->worker].kind != HEDDLE_KIND_CPU;
}

/* Whether a first block took far longer than its worker's other ones tell.
 * @return how many are taken to have done so */
static unsigned once_suspect(const struct costs_run *run, const struct costs_worker *workers,
                             unsigned nworkers)
{
	struct {
		double us, work, shortest;
	} *others = calloc(nworkers, sizeof(*others));
	unsigned count = 0;

	for (unsigned i = 0; others && i < run->count; i++) {
		struct costs_block *block = &run->blocks[i];
		unsigned w = block->worker;

		block->once = false;
		if (!is_done(block) || is_first(run, workers, i))
			continue;
		if (!others[w].work || block->us < others[w].shortest)
			others[w].shortest = block->us;
		others[w].us += block->us;
		others[w].work += block->work;
	}
	for (unsigned i = 0; others && i < run->count; i++) {
		struct costs_block *block = &run->blocks[i];
		unsigned w = block->worker;

		if (!is_first(run, workers, i) || !others[w].work)
			continue;
		block->once = block->us > ONCE * (others[w].shortest +
		                                  others[w].us / others[w].work * block->work);
		count += block->once;
	}
	free(others);
	return count;
}

/* The blocks around it tell what its iterations cost.
 * @return how many of them took so long for that */
static unsigned once_doubt(const struct costs *costs, const struct costs_run *run,
                           const struct costs_worker *workers)
{
	unsigned count = 0;

	for (unsigned i = 0; i < run->count; i++) {
		struct costs_block *block = &run->blocks[i];
		const struct costs_worker *worker;

		if (!block->once)
			continue;
		worker = &workers[block->worker];
		block->once =
		    worker->pace > 0 &&
		    block->us > ONCE * (worker->start.us +
		                        worker->pace * costs_work(costs, block->start, block->n));
		count += !block->once;
	}
	return count;
}

static void once_forget(const struct costs_run *run)
{
	for (unsigned i = 0; i < run->count; i++)
		run->blocks[i].once = false;
}

/* ---- blocks behind one that was held up ---- */

/* Memory that is touched for the first time holds up a transfer, and meanwhile the next block's
 * data arrive. Then that block seems to cost next to nothing. */
static void hidden_find(const struct costs_run *run, unsigned nworkers)
{
	struct {
		double us, n, before_us; /* of all blocks; of an iteration of the latest one */
	} *workers = calloc(nworkers, sizeof(*workers));

	for (unsigned i = 0; workers && i < run->count; i++)
		if (is_done(&run->blocks[i])) {
			workers[run->blocks[i].worker].us += run->blocks[i].us;
			workers[run->blocks[i].worker].n += run->blocks[i].n;
		}
	for (unsigned i = 0; workers && i < run->count; i++) {
		struct costs_block *block = &run->blocks[i];
		unsigned w = block->worker;
		double us;

		if (!is_done(block))
			continue;
		us = block->us / block->n;
		block->hidden = block->follows && us < HIDDEN * fmin(workers[w].before_us,
		                                                     workers[w].us / workers[w].n);
		workers[w].before_us = us;
	}
	free(workers);
}

int costs_learn(struct costs *costs, unsigned known, const struct costs_run *run,
                struct costs_worker *workers, unsigned nworkers, double *noise)
{
	struct costs found = *costs;
	struct costs_worker *fitted;
	int error;

	if (run->lost)
		return -ENOENT;
	if (!known)
		hidden_find(run, nworkers);
	if (once_suspect(run, workers, nworkers)) {
		fitted = malloc(nworkers * sizeof(*fitted));
		if (!fitted)
			return -ENOMEM;
		memcpy(fitted, workers, nworkers * sizeof(*fitted));
		error = learn(&found, known, run, fitted, nworkers, noise);
		if (!error && !once_doubt(&found, run, fitted)) {
			*costs = found;
			memcpy(workers, fitted, nworkers * sizeof(*fitted));
			free(fitted);
			return 0;
		}
		free(fitted);
		if (error)
			once_forget(run);
	}
	return learn(costs, known, run, workers, nworkers, noise);
}

static double middle(double a, double b, double c)
{
	return fmax(fmin(a, b), fmin(fmax(a, b), c));
}

/* One of the latest blocks may lie on an edge. */
static double front_level(const struct fit *fit)
{
	unsigned last = fit->count - 1;
	const double *level = fit->room;

	if (last < 2)
		return level[last];
	return level_near(fit, last, middle(level[last], level[last - 1], level[last - 2]));
}

int costs_front(const struct costs_run *run, unsigned blocks, struct costs_worker *workers,
                unsigned nworkers, double *noise)
{
	unsigned first = run->count > blocks ? run->count - blocks : 0;
	struct fit fit;
	int error = fit_init(&fit, run->count - first, workers, nworkers);

	if (!error)
		fit.believed = fit.bound + nworkers;
	if (!error && samples_take(&fit, NULL, run, first, NULL) < 2)
		error = -ENOENT;
	if (!error) {
		double level;

		paces_begin(&fit);
		for (size_t i = *noise > 0 ? ROUNDS - ROUNDS_MORE : 0; i < ROUNDS; i++)
			paces_improve(&fit, fmax(believed[i], NOISES * *noise));
		levels_find(&fit);
		level = front_level(&fit);
		for (unsigned w = 0; w < nworkers; w++)
			if (!isnan(fit.pace[w]))
				workers[w].pace = exp(fit.pace[w] + level);
		*noise = fit.noise;
	}
	fit_fini(&fit);
	return error;
}
