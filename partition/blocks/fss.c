/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Factoring: batches of equal blocks, each batch a fixed part of what remains.
 */
#include "config.h"

#include <errno.h>
#include <stdlib.h>

#include "partition/blocks/strategy.h"

enum { PART };

static const struct heddle_strategy_parameter parameters[] = {
    {"part", 2, 1, 64, "", "each batch is 1/part of what remains"},
    {0},
};

struct fss {
	size_t size;   /* of the blocks of this batch */
	unsigned left; /* how many of them are still to be given */
};

static int fss_begin(struct heddle_strategy *b)
{
	b->state = calloc(1, sizeof(struct fss));
	return b->state ? 0 : -ENOMEM;
}

static size_t fss_next(struct heddle_strategy *b, unsigned worker)
{
	struct fss *f = b->state;

	if (!f->left) {
		double blocks = b->parameters[PART] * blocks_active(b);
		double size = (b->remaining + blocks - 1) / blocks;

		f->left = blocks_active(b);
		/* A number above all that size_t holds rounds up to 2^64. */
		f->size = size < b->remaining ? (size_t)size : b->remaining;
	}
	return f->size;
}

static void fss_gave(struct heddle_strategy *b, unsigned worker, size_t n)
{
	struct fss *f = b->state;

	f->left--;
}

/* A batch is planned for what remained when it began. */
static void fss_extended(struct heddle_strategy *b, size_t n)
{
	struct fss *f = b->state;

	f->left = 0;
}

static void fss_end(struct heddle_strategy *b)
{
	free(b->state);
}

const struct blocks_strategy blocks_fss = {
    .table = {.name = "fss",
              .source = "Hummel, Schonberg and Flynn, Factoring, CACM 35(8), 1992",
              .doc = "factoring: batches of one equal block a worker, each batch half of what "
                     "remains",
              .parameters = parameters},
    .begin = fss_begin,
    .next = fss_next,
    .gave = fss_gave,
    .extended = fss_extended,
    .end = fss_end,
};
