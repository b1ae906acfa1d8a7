/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Incremental self-scheduling: each worker's blocks grow from request to
 * request, by a constant step (linear) or factor (exponential), so that fast
 * workers, which ask more often, reach large blocks sooner.
 */
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "partition/blocks/strategy.h"

enum { INITIAL, GROWTH };

static const struct heddle_strategy_parameter linear_parameters[] = {
    {"initial", 0, 0, 1e18, "iterations",
     "a worker's first block; 0: n / 200000, about the 1024 of the paper's Figure 12"},
    {"step", 0, 0, 1e18, "iterations", "added at every request; 0: the initial size"},
    {0},
};

static const struct heddle_strategy_parameter exponential_parameters[] = {
    {"initial", 0, 0, 1e18, "iterations",
     "a worker's first block; 0: n / 200000, about the 1024 of the paper's Figure 12"},
    {"factor", 2, 1, 1e6, "", "multiplies the size at every request"},
    {0},
};

static double initial_size(const struct heddle_strategy *b)
{
	double initial = b->parameters[INITIAL];

	return initial ? initial : blocks_ceil(blocks_extent(b), 200000);
}

/* The state is the size of each worker's next block; 0 before its first. */
static int incremental_begin(struct heddle_strategy *b)
{
	b->state = calloc(b->nworkers, sizeof(double));
	return b->state ? 0 : -ENOMEM;
}

static size_t incremental_next(struct heddle_strategy *b, unsigned worker)
{
	double *size = b->state;

	if (size[worker] == 0)
		size[worker] = initial_size(b);
	/* Beyond what remains the exact size does not matter, yet it must fit a
	 * size_t. */
	return size[worker] < b->remaining ? (size_t)size[worker] : b->remaining;
}

static void linear_gave(struct heddle_strategy *b, unsigned worker, size_t n)
{
	double *size = b->state, step = b->parameters[GROWTH];

	size[worker] += step ? step : initial_size(b);
}

static void exponential_gave(struct heddle_strategy *b, unsigned worker, size_t n)
{
	double *size = b->state;

	if (size[worker] < 1e18)
		size[worker] *= b->parameters[GROWTH];
}

/* A stream that ran dry begins anew. */
static void incremental_extended(struct heddle_strategy *b, size_t n)
{
	if (b->remaining == n)
		memset(b->state, 0, b->nworkers * sizeof(double));
}

static void incremental_end(struct heddle_strategy *b)
{
	free(b->state);
}

const struct blocks_strategy blocks_linear = {
    .table = {.name = "linear",
              .source = "Tse et al., Dynamic Scheduling Monte-Carlo Framework, FPT 2010, as in "
                        "HDSS, ACM TACO 9(4), 2013, section 4.3",
              .doc = "linear incremental: each worker's blocks grow by a constant",
              .parameters = linear_parameters},
    .begin = incremental_begin,
    .next = incremental_next,
    .gave = linear_gave,
    .extended = incremental_extended,
    .end = incremental_end,
};

const struct blocks_strategy blocks_exponential = {
    .table = {.name = "exponential",
              .source = "Tse et al., Dynamic Scheduling Monte-Carlo Framework, FPT 2010, as in "
                        "HDSS, ACM TACO 9(4), 2013, section 4.3",
              .doc = "exponential incremental: each worker's blocks grow by a factor",
              .parameters = exponential_parameters},
    .begin = incremental_begin,
    .next = incremental_next,
    .gave = exponential_gave,
    .extended = incremental_extended,
    .end = incremental_end,
};
