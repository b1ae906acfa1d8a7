/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "config.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "partition/blocks/costs.h"

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
/* Blocks side by side are believed to cost alike up to about this difference of logarithms; more
 * is likely to be an edge between cheap and dear iterations. First it is wide, as paces are
 * not known yet. */
static const double believed[] = {10, 10, 10, 10, 10, 10, 3, 1, 0.5, 0.3, 0.2, 0.15, 0.15, 0.15};
#define ROUNDS (sizeof(believed) / sizeof(believed[0]))
/* What a kind says of a worker's pace, in pairs of blocks. */
#define KIND_PAIRS 0.5
/* Blocks on either side that noise is smoothed over. */
#define SMOOTH 8
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

/* A block that counts. */
struct sample {
	size_t start, n;
	unsigned worker;
	double part;  /* of its time that goes to iterations */
	double cost;  /* logarithm of its time for a unit of the work assumed so far */
	double us;    /* that its iterations took */
	double ratio; /* of its cost to the one assumed so far */
};

struct fit {
	struct sample *samples;
	unsigned count;
	struct costs_worker *workers;
	double *pace; /* logarithms, by worker */
	double *sum, *weight;
	double *room; /* for a number of each block */
	unsigned nworkers;
	double us; /* of a block, on average */
	double noise;
};

static unsigned samples_take(struct fit *fit, const struct costs *costs,
                             const struct costs_run *run)
{
	unsigned count = 0;

	for (unsigned i = 0; i < run->count; i++) {
		const struct costs_block *block = &run->blocks[i];
		struct sample *s = &fit->samples[count];
		double us, work;

		if (block->worker == NONE || !block->n || block->us <= 0)
			continue;
		us = block->us - fit->workers[block->worker].start;
		work = costs_work(costs, block->start, block->n);
		if (us < LEAST_PART * block->us || work <= 0)
			continue;
		*s = (struct sample){
		    block->start, block->n, block->worker, us / block->us, log(us / work), us, 1};
		count++;
	}
	fit->count = count;
	fit->us = 0;
	for (unsigned i = 0; i < count; i++)
		fit->us += fit->samples[i].us / count;
	return count;
}

/* First guess: mean times. */
static void paces_begin(struct fit *fit)
{
	for (unsigned w = 0; w < fit->nworkers; w++)
		fit->sum[w] = fit->weight[w] = 0;
	for (unsigned i = 0; i < fit->count; i++) {
		fit->sum[fit->samples[i].worker] += fit->samples[i].cost;
		fit->weight[fit->samples[i].worker]++;
	}
	for (unsigned w = 0; w < fit->nworkers; w++)
		fit->pace[w] = fit->weight[w] > 0 ? fit->sum[w] / fit->weight[w] : NAN;
}

/* Means over the workers of each kind; of those without blocks they are the pace. */
static void kinds_add(struct fit *fit, double pairs)
{
	double sum[MAXKINDS] = {0}, n[MAXKINDS] = {0};

	for (unsigned w = 0; w < fit->nworkers; w++)
		if (!isnan(fit->pace[w])) {
			sum[fit->workers[w].kind] += fit->pace[w];
			n[fit->workers[w].kind]++;
		}
	for (unsigned w = 0; w < fit->nworkers; w++) {
		int kind = fit->workers[w].kind;

		if (!n[kind])
			continue;
		fit->sum[w] += pairs * sum[kind] / n[kind];
		fit->weight[w] += pairs;
	}
}

/* One round: each worker's pace becomes what the blocks beside its own say. */
static void paces_improve(struct fit *fit, double width)
{
	for (unsigned w = 0; w < fit->nworkers; w++)
		fit->sum[w] = fit->weight[w] = 0;
	for (unsigned i = 1; i < fit->count; i++) {
		const struct sample *a = &fit->samples[i - 1], *b = &fit->samples[i];
		double between = a->cost - b->cost, off, weight;

		if (a->worker == b->worker)
			continue;
		off = (between - fit->pace[a->worker] + fit->pace[b->worker]) / width;
		weight =
		    a->part * b->part * fmin(1, fmin(a->us, b->us) / fit->us) / (1 + off * off);
		fit->sum[a->worker] += weight * (fit->pace[b->worker] + between);
		fit->sum[b->worker] += weight * (fit->pace[a->worker] - between);
		fit->weight[a->worker] += weight;
		fit->weight[b->worker] += weight;
	}
	kinds_add(fit, KIND_PAIRS);
	/* Half the way: two groups that only touch each other would swing. */
	for (unsigned w = 0; w < fit->nworkers; w++) {
		if (fit->weight[w] <= 0)
			continue;
		double found = fit->sum[w] / fit->weight[w];

		fit->pace[w] = isnan(fit->pace[w]) ? found : (fit->pace[w] + found) / 2;
	}
}

static int order(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* The middle difference of blocks side by side, as the deviation of one. */
static double noise_find(const struct fit *fit, double *room)
{
	unsigned pairs = 0;

	for (unsigned i = 1; i < fit->count; i++) {
		const struct sample *a = &fit->samples[i - 1], *b = &fit->samples[i];

		room[pairs++] =
		    fabs(a->cost - fit->pace[a->worker] - b->cost + fit->pace[b->worker]);
	}
	qsort(room, pairs, sizeof(*room), order);
	return pairs ? room[pairs / 2] / 0.95 : 0; /* the middle of |N(0, 2)| */
}

/* Means over blocks near by that differ by no more than noise does. Edges stay. */
static void ratios_smooth(struct fit *fit, const double *off)
{
	double width = fmax(3 * fit->noise, 0.02);

	for (unsigned i = 0; i < fit->count; i++) {
		unsigned from = i < SMOOTH ? 0 : i - SMOOTH;
		unsigned to = i + SMOOTH < fit->count ? i + SMOOTH : fit->count - 1;
		double sum = 0, weight = 0;

		for (unsigned j = from; j <= to; j++) {
			double d = (off[j] - off[i]) / width, w;

			w = fit->samples[j].part / (1 + d * d * d * d);
			sum += w * off[j];
			weight += w;
		}
		fit->samples[i].ratio = exp(sum / weight);
	}
}

/* Iterations whose costs are the old ones times a ratio, to the parts they cover. */
static void part_add(const struct costs *costs, double start, double n, double ratio, double weight,
                     double *sum, double *weights)
{
	double scale = (double)COSTS_PARTS / costs->n, from = start * scale,
	       to = (start + n) * scale;

	for (int p = (int)from; p < COSTS_PARTS && p < to; p++) {
		double covered = fmin(to, p + 1) - fmax(from, p);

		sum[p] += covered * weight * ratio;
		weights[p] += covered * weight;
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
	double least = exp(EDGE + 3 * fit->noise);

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

/* Costs so far times what was found. */
static void costs_update(struct costs *costs, const double *ratio, double part)
{
	double sum = 0, last = costs->before[0], scale;

	costs->before[0] = 0;
	for (int p = 0; p < COSTS_PARTS; p++) {
		double cost = (costs->before[p + 1] - last) * pow(ratio[p], part);

		last = costs->before[p + 1];
		sum += cost;
		costs->before[p + 1] = sum;
	}
	scale = costs->n / sum;
	for (int p = 0; p <= COSTS_PARTS; p++)
		costs->before[p] *= scale;
}

static int fit_init(struct fit *fit, const struct costs_run *run, struct costs_worker *workers,
                    unsigned nworkers)
{
	*fit = (struct fit){.samples = malloc((run->count + 1) * sizeof(*fit->samples)),
	                    .pace = malloc(3 * nworkers * sizeof(*fit->pace)),
	                    .room = malloc((run->count + 1) * sizeof(*fit->room)),
	                    .workers = workers,
	                    .nworkers = nworkers};
	if (!fit->samples || !fit->pace || !fit->room)
		return -ENOMEM;
	fit->sum = fit->pace + nworkers;
	fit->weight = fit->sum + nworkers;
	return 0;
}

static void fit_fini(struct fit *fit)
{
	free(fit->samples);
	free(fit->pace);
	free(fit->room);
}

static bool counts(const struct costs_block *block)
{
	return block->worker != NONE && block->n && block->us > 0;
}

/* The paces that fit the new costs. */
static void paces_end(struct fit *fit, const struct costs *costs, const struct costs_run *run)
{
	for (unsigned w = 0; w < fit->nworkers; w++)
		fit->sum[w] = fit->weight[w] = 0;
	for (unsigned i = 0; i < run->count; i++) {
		const struct costs_block *block = &run->blocks[i];

		if (!counts(block) ||
		    block->us * (1 - LEAST_PART) < fit->workers[block->worker].start)
			continue;
		fit->sum[block->worker] += block->us - fit->workers[block->worker].start;
		fit->weight[block->worker] += costs_work(costs, block->start, block->n);
	}
	for (unsigned w = 0; w < fit->nworkers; w++)
		fit->workers[w].pace = fit->weight[w] > 0 ? fit->sum[w] / fit->weight[w] : 0;
}

/* Starts are what blocks take beside their iterations. Short blocks tell most of them. What
 * earlier runs told counts less each time. */
static void starts_end(struct fit *fit, const struct costs *costs, const struct costs_run *run,
                       bool last)
{
	double off[MAXKINDS] = {0}, sure[MAXKINDS] = {0};

	for (unsigned i = 0; i < run->count; i++) {
		const struct costs_block *block = &run->blocks[i];
		const struct costs_worker *worker;
		double told, unlike, weight;

		if (!counts(block) || fit->workers[block->worker].pace <= 0)
			continue;
		worker = &fit->workers[block->worker];
		told = worker->start + worker->pace * costs_work(costs, block->start, block->n);
		unlike = (block->us - told) / told / UNLIKE;
		weight = 1 / (told * told * (1 + unlike * unlike));
		off[worker->kind] += weight * (block->us - told);
		sure[worker->kind] += weight;
	}
	for (unsigned w = 0; w < fit->nworkers; w++) {
		struct costs_worker *worker = &fit->workers[w];
		double found = sure[worker->kind];

		if (found > 0)
			worker->start += off[worker->kind] / (found + FORGET * worker->sure);
		worker->start = fmax(0, worker->start);
		if (last)
			worker->sure = FORGET * worker->sure + found;
	}
}

/* Costs that follow from the paces. */
static void costs_find(struct fit *fit, struct costs *costs, unsigned known)
{
	double ratio[COSTS_PARTS] = {0}, weight[COSTS_PARTS] = {0};

	fit->noise = noise_find(fit, fit->room);
	for (unsigned i = 0; i < fit->count; i++)
		fit->room[i] = fit->samples[i].cost - fit->pace[fit->samples[i].worker];
	ratios_smooth(fit, fit->room);
	samples_add(fit, costs, ratio, weight);
	gaps_fill(ratio, weight);
	costs_update(costs, ratio, 1.0 / (1 + (known < MOST_RUNS ? known : MOST_RUNS)));
}

int costs_learn(struct costs *costs, unsigned known, const struct costs_run *run,
                struct costs_worker *workers, unsigned nworkers, double *noise)
{
	struct fit fit;
	int error;

	if (run->lost)
		return -ENOENT;
	error = fit_init(&fit, run, workers, nworkers);
	if (!error && samples_take(&fit, costs, run) < 2)
		error = -ENOENT;
	if (!error) {
		paces_begin(&fit);
		for (size_t i = 0; i < ROUNDS; i++)
			paces_improve(&fit, believed[i]);
		costs_find(&fit, costs, known);
		for (int i = 0; i < LINES; i++) {
			paces_end(&fit, costs, run);
			starts_end(&fit, costs, run, i + 1 == LINES);
		}
		*noise = fit.noise;
	}
	fit_fini(&fit);
	return error;
}
