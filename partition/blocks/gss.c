/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Guided self-scheduling: a block is the share of one worker in what remains.
 */
#include "config.h"

#include "partition/blocks/strategy.h"

enum { LEAST };

static const struct heddle_strategy_parameter parameters[] = {
    {"least", 1, 1, 1e18, "iterations", "smallest block, the k of GSS(k)"},
    {0},
};

/* HDSS, Eq. (1). */
static size_t gss_next(struct heddle_strategy *b, unsigned worker)
{
	size_t n = blocks_ceil(b->remaining, blocks_active(b));
	size_t least = b->parameters[LEAST];

	return n > least ? n : least;
}

const struct blocks_strategy blocks_gss = {
    .table = {.name = "gss",
              .source = "Polychronopoulos and Kuck, Guided Self-Scheduling, IEEE TC 36(12), "
                        "1987; Belviranli et al., HDSS, ACM TACO 9(4), 2013, Eq. (1)",
              .doc = "guided self-scheduling: blocks of remaining / workers",
              .parameters = parameters},
    .next = gss_next,
};
