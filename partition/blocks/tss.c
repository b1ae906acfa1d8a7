/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Trapezoid self-scheduling: sizes fall linearly from the first to the last.
 */
#include "config.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "partition/blocks/strategy.h"

enum { FIRST, LAST, RAMP };

static const struct heddle_strategy_parameter parameters[] = {
    {"first", 0, 0, 1e18, "iterations", "size of the first block; 0: n / (2 workers)"},
    {"last", 1, 1, 1e18, "iterations", "size of the last block"},
    {"ramp", 0, 0, 1, "",
     "blocks are no longer than the last one and this part of what is given; 0: they are"},
    {0},
};

struct tss {
	double size; /* of the next block */
	double last;
	double step; /* what each block is smaller than the one before */
};

/* With C = 2n / (first + last) blocks the sizes first, first - step, ..., last
 * add up to n. */
static void tss_plan(struct heddle_strategy *b)
{
	struct tss *t = b->state;
	double n = b->remaining, blocks;

	if (!blocks_active(b)) /* nobody will ask */
		return;
	t->last = b->parameters[LAST];
	t->size = b->parameters[FIRST];
	if (t->size == 0)
		t->size = n / (2.0 * blocks_active(b));
	if (t->size < t->last)
		t->size = t->last;
	blocks = ceil(2 * n / floor(t->size + t->last)); /* 2n may be more than 64 bits hold */
	t->step = blocks > 1 ? (t->size - t->last) / (blocks - 1) : 0;
}

static int tss_begin(struct heddle_strategy *b)
{
	b->state = malloc(sizeof(struct tss));
	if (!b->state)
		return -ENOMEM;
	tss_plan(b);
	return 0;
}

static size_t tss_next(struct heddle_strategy *b, unsigned worker)
{
	const struct tss *t = b->state;
	double ramp = b->parameters[RAMP];
	double most = t->last + ramp * (b->total - b->remaining);

	return ramp > 0 && most < t->size ? most : t->size;
}

/* A block that bounds made larger or smaller than planned is more or less than
 * one step. */
static void tss_gave(struct heddle_strategy *b, unsigned worker, size_t n)
{
	struct tss *t = b->state;

	t->size -= t->step * n / t->size;
	if (t->size < t->last)
		t->size = t->last;
}

static void tss_returned(struct heddle_strategy *b, unsigned worker, size_t n)
{
	tss_plan(b);
}

static void tss_extended(struct heddle_strategy *b, size_t n)
{
	tss_plan(b);
}

/* As many blocks as before, all of them shorter. */
static void tss_shortened(struct heddle_strategy *b, size_t n)
{
	struct tss *t = b->state;
	double part = b->remaining / ((double)b->remaining + n);

	t->size *= part;
	t->last *= part;
	t->step *= part;
	if (t->last < 1)
		t->last = 1;
	if (t->size < t->last)
		t->size = t->last;
}

static void tss_retired(struct heddle_strategy *b, unsigned worker)
{
	tss_plan(b);
}

static void tss_end(struct heddle_strategy *b)
{
	free(b->state);
}

const struct blocks_strategy blocks_tss = {
    .table = {.name = "tss",
              .source = "Tzen and Ni, Trapezoid Self-Scheduling, IEEE TPDS 4(1), 1993",
              .doc = "trapezoid self-scheduling: sizes fall linearly",
              .parameters = parameters},
    .begin = tss_begin,
    .next = tss_next,
    .gave = tss_gave,
    .returned = tss_returned,
    .extended = tss_extended,
    .shortened = tss_shortened,
    .retired = tss_retired,
    .end = tss_end,
};
