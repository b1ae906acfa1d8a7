/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Strategies that give every worker its share once: static, axel, qilin. They
 * differ in the weights. A quota is what is left of a worker's share; what no
 * quota covers (returned, added, or left by a worker that retired) is shared
 * anew.
 */
#include "config.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "estimator/rate_fit.h"
#include "partition/blocks/strategy.h"

struct share {
	double weight; /* the worker's part, relative to the others' */
	double start;  /* time it takes before its first iteration, microseconds */
	size_t quota;
	struct heddle_line line;  /* qilin: time over block size */
	unsigned given, measured; /* qilin: training blocks */
};

struct shares {
	bool training; /* qilin */
	struct share worker[];
};

static int shares_begin(struct heddle_strategy *b)
{
	struct shares *s = calloc(1, sizeof(*s) + b->nworkers * sizeof(s->worker[0]));

	if (!s)
		return -ENOMEM;
	for (unsigned w = 0; w < b->nworkers; w++)
		s->worker[w].weight = 1;
	b->state = s;
	return 0;
}

/* When all would be done if n iterations were shared by weight among the active
 * workers, each after its start; a worker that starts later than that gets
 * nothing. */
static double shares_finish(const struct heddle_strategy *b, double n)
{
	const struct shares *s = b->state;
	double finish = HUGE_VAL, before;

	do {
		double sum = n, weights = 0;

		before = finish;
		for (unsigned w = 0; w < b->nworkers; w++) {
			const struct share *share = &s->worker[w];

			if (b->workers[w].retired || share->start >= before)
				continue;
			sum += share->weight * share->start;
			weights += share->weight;
		}
		finish = sum / weights;
	} while (finish < before);
	return finish;
}

/* Adds n iterations to the quotas. The rounded prefix sums make them add up. */
static void shares_split(struct heddle_strategy *b, size_t n)
{
	struct shares *s = b->state;
	double finish = shares_finish(b, n), prefix = 0;
	size_t assigned = 0;
	struct share *last = NULL;

	for (unsigned w = 0; w < b->nworkers; w++) {
		struct share *share = &s->worker[w];
		size_t a = b->workers[w].given.alignment, edge;

		if (b->workers[w].retired || share->start >= finish)
			continue;
		prefix += share->weight * (finish - share->start);
		edge = prefix < n ? (size_t)(prefix / a + 0.5) * a : n;
		if (edge > n)
			edge = n;
		if (edge > assigned) {
			share->quota += edge - assigned;
			assigned = edge;
		}
		last = share;
	}
	if (last)
		last->quota += n - assigned;
}

static size_t shares_next(struct heddle_strategy *b, unsigned worker)
{
	struct shares *s = b->state;
	size_t covered = 0;

	for (unsigned w = 0; w < b->nworkers; w++)
		if (!b->workers[w].retired)
			covered += s->worker[w].quota;
	if (covered < b->remaining)
		shares_split(b, b->remaining - covered);
	return s->worker[worker].quota;
}

static void shares_gave(struct heddle_strategy *b, unsigned worker, size_t n)
{
	struct share *share = &((struct shares *)b->state)->worker[worker];

	share->quota -= n < share->quota ? n : share->quota;
}

static void shares_end(struct heddle_strategy *b)
{
	free(b->state);
}

static const struct heddle_strategy_parameter no_parameters[] = {{0}};

const struct blocks_strategy blocks_static = {
    .table = {.name = "static",
              .source = "the usual equal split, as OpenMP's schedule(static)",
              .doc = "one equal block a worker",
              .parameters = no_parameters},
    .begin = shares_begin,
    .next = shares_next,
    .gave = shares_gave,
    .end = shares_end,
};

/* In the order of the kinds. */
static const struct heddle_strategy_parameter axel_parameters[] = {
    [HEDDLE_KIND_CPU] = {"cpu", 1, 1e-6, 1e6, "relative speed",
                         "of a CPU core without a rate of its own"},
    [HEDDLE_KIND_CUDA] =
        {"cuda", 56, 1e-6, 1e6, "relative speed",
         "of a CUDA device: peak single precision of the paper's C2050 over that of one core of "
         "its Opteron 6200"},
    [HEDDLE_KIND_OPENCL] = {"opencl", 56, 1e-6, 1e6, "relative speed",
                            "of an OpenCL device, taken to be such a GPU"},
    [HEDDLE_KIND_FPGA] =
        {"fpga", 8, 1e-6, 1e6, "relative speed",
         "of an FPGA: one result a cycle at an eighth of a core's clock over 64 cycles a result"},
    [HEDDLE_KIND_HIP] = {"hip", 56, 1e-6, 1e6, "relative speed",
                         "of a HIP device, taken to be such a GPU"},
    {0},
};

/* Theoretical speeds: the caller's, else the parameter of the kind, scaled to
 * those of the caller where it gave some. */
/* Loops do not run on kinds without a parameter. */
static double axel_speed(const struct heddle_strategy *b, unsigned worker)
{
	enum heddle_kind kind = b->workers[worker].given.kind;

	return kind <= HEDDLE_KIND_HIP ? b->parameters[kind] : 1;
}

static int axel_begin(struct heddle_strategy *b)
{
	double rates = 0, speeds = 0;
	struct shares *s;
	int error = shares_begin(b);

	if (error)
		return error;
	s = b->state;
	for (unsigned w = 0; w < b->nworkers; w++)
		if (b->workers[w].given.rate > 0) {
			rates += b->workers[w].given.rate;
			speeds += axel_speed(b, w);
		}
	for (unsigned w = 0; w < b->nworkers; w++) {
		const struct heddle_strategy_worker *given = &b->workers[w].given;
		double scale = speeds > 0 ? rates / speeds : 1;

		s->worker[w].weight = given->rate > 0 ? given->rate : axel_speed(b, w) * scale;
	}
	return 0;
}

const struct blocks_strategy blocks_axel = {
    .table = {.name = "axel",
              .source = "Tsoi and Luk, Axel, FPGA 2010, as in HDSS, ACM TACO 9(4), 2013, section "
                        "4.3",
              .doc = "one block a worker, by theoretical speeds: prior rates, or relative speeds "
                     "by kind",
              .parameters = axel_parameters},
    .begin = axel_begin,
    .next = shares_next,
    .gave = shares_gave,
    .end = shares_end,
};

enum { TRAINING, POINTS };

static const struct heddle_strategy_parameter qilin_parameters[] = {
    {"training", 0.002, 0, 1, "of the iterations", "what all workers together train on"},
    {"points", 4, 2, 64, "blocks", "training blocks of each worker, of sizes 1 : 2 : 3 ..."},
    {0},
};

static int qilin_begin(struct heddle_strategy *b)
{
	int error = shares_begin(b);

	if (!error)
		((struct shares *)b->state)->training = true;
	return error;
}

/* The line of time over size that a worker's training gave: slope and start. A
 * line that falls says nothing, then the mean rate stands. */
static void qilin_weigh(struct heddle_strategy *b, unsigned worker)
{
	struct share *share = &((struct shares *)b->state)->worker[worker];
	double slope, start;

	share->weight = blocks_mean_rate(b, worker);
	share->start = 0;
	if (share->weight <= 0)
		share->weight = 1e-12; /* nothing it began came back */
	if (heddle_line_fit(&share->line, &slope, &start) || slope <= 0)
		return;
	share->weight = 1 / slope;
	share->start = start > 0 ? start : 0;
}

/* Training ends when every active worker has been measured at all points, or
 * there is nothing left to train on. */
static bool qilin_trained(const struct heddle_strategy *b)
{
	const struct shares *s = b->state;

	for (unsigned w = 0; w < b->nworkers; w++)
		if (!b->workers[w].retired && s->worker[w].measured < b->parameters[POINTS])
			return false;
	return true;
}

static size_t qilin_next(struct heddle_strategy *b, unsigned worker)
{
	struct shares *s = b->state;
	struct share *share = &s->worker[worker];
	double points = b->parameters[POINTS];

	if (s->training && qilin_trained(b)) {
		s->training = false;
		for (unsigned w = 0; w < b->nworkers; w++)
			qilin_weigh(b, w);
	}
	if (!s->training)
		return shares_next(b, worker);
	if (share->given < points) {
		double unit =
		    b->parameters[TRAINING] * b->total / b->nworkers / (points * (points + 1) / 2);

		return (size_t)(unit * (share->given + 1)) + 1;
	}
	return 0;
}

static void qilin_gave(struct heddle_strategy *b, unsigned worker, size_t n)
{
	struct shares *s = b->state;

	if (s->training)
		s->worker[worker].given++;
	else
		shares_gave(b, worker, n);
}

static void qilin_completed(struct heddle_strategy *b, unsigned worker, size_t n, double us)
{
	struct share *share = &((struct shares *)b->state)->worker[worker];

	share->measured++;
	heddle_line_add(&share->line, n, us);
}

static void qilin_returned(struct heddle_strategy *b, unsigned worker, size_t n)
{
	struct share *share = &((struct shares *)b->state)->worker[worker];

	/* A point that was never measured is not waited for. */
	if (((struct shares *)b->state)->training)
		share->measured++;
}

static enum heddle_phase qilin_phase(const struct heddle_strategy *b, unsigned worker)
{
	return ((const struct shares *)b->state)->training ? HEDDLE_PHASE_ADAPTIVE
	                                                   : HEDDLE_PHASE_COMPLETION;
}

const struct blocks_strategy blocks_qilin = {
    .table = {.name = "qilin",
              .source = "Luk, Hong and Kim, Qilin, MICRO 2009, as in HDSS, ACM TACO 9(4), 2013, "
                        "section 4.3; training is part of the run and counted, there it was not",
              .doc = "lines of time over size from small training blocks, then one block a "
                     "worker",
              .parameters = qilin_parameters},
    .begin = qilin_begin,
    .next = qilin_next,
    .gave = qilin_gave,
    .completed = qilin_completed,
    .returned = qilin_returned,
    .phase = qilin_phase,
    .end = shares_end,
};
