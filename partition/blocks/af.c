/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Adaptive factoring: the size of a block follows from the mean and the variance of the time of an
 * iteration on each worker. The paper measures iterations. A strategy hears of blocks: if the
 * times of iterations are independent with variance v, the mean of n of them has variance v / n,
 * so each block's deviation counts n times.
 */
#include "config.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "partition/blocks/strategy.h"

enum { FIRST, LEAST };

static const struct heddle_strategy_parameter parameters[] = {
    {"first", 0, 0, 1e18, "iterations",
     "a worker's blocks until two are done; 0: half of a block of mfsc"},
    {"least", 0, 0, 1e18, "iterations", "smallest block after these; 0: 1/32 of first"},
    {0},
};

struct af_worker {
	double blocks, n;     /* that are done, and their iterations */
	double mean, squares; /* time of an iteration; sum of n x squared deviation */
};

static int af_begin(struct heddle_strategy *b)
{
	b->state = calloc(b->nworkers, sizeof(struct af_worker));
	return b->state ? 0 : -ENOMEM;
}

/* Two blocks are the least that have a variance. */
static bool known(const struct heddle_strategy *b, unsigned worker)
{
	const struct af_worker *workers = b->state;

	return workers[worker].blocks >= 2;
}

static size_t af_next(struct heddle_strategy *b, unsigned worker)
{
	const struct af_worker *workers = b->state;
	double speed = 0, d = 0, n = 0, all, size;

	if (!known(b, worker))
		return blocks_first(b, b->parameters[FIRST]);
	for (unsigned w = 0; w < b->nworkers; w++)
		if (!b->workers[w].retired && known(b, w)) {
			speed += 1 / workers[w].mean;
			d += workers[w].squares / (workers[w].blocks - 1) / workers[w].mean;
			n++;
		}
	/* Workers that are not known yet are taken to be as the mean of the others. */
	d *= blocks_active(b) / n;
	all = b->remaining / (speed * blocks_active(b) / n);
	/* (d + 2 all - sqrt(d^2 + 4 d all)) / (2 mean), without differences of like numbers */
	size = 2 * all * all / (d + 2 * all + sqrt(d * (d + 4 * all))) / workers[worker].mean;
	return blocks_wish(
	    b, fmax(ceil(size), blocks_least(b, b->parameters[FIRST], b->parameters[LEAST])));
}

static void af_completed(struct heddle_strategy *b, unsigned worker, size_t n, double us)
{
	struct af_worker *w = (struct af_worker *)b->state + worker;
	double off = us / n - w->mean;

	w->blocks++;
	w->n += n;
	w->mean += off * n / w->n;
	w->squares += n * off * (us / n - w->mean);
}

static enum heddle_phase af_phase(const struct heddle_strategy *b, unsigned worker)
{
	return known(b, worker) ? HEDDLE_PHASE_COMPLETION : HEDDLE_PHASE_ADAPTIVE;
}

static void af_end(struct heddle_strategy *b)
{
	free(b->state);
}

const struct blocks_strategy blocks_af = {
    .table = {.name = "af",
              .source = "Banicescu and Liu, Adaptive Factoring: A Dynamic Scheduling Method Tuned "
                        "to the Rate of Weight Changes, HPC 2000",
              .doc = "adaptive factoring: sizes by the mean and variance of iterations' times",
              .parameters = parameters},
    .begin = af_begin,
    .next = af_next,
    .completed = af_completed,
    .phase = af_phase,
    .end = af_end,
};
