/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Chunk self-scheduling: every block has the same size.
 */
#include "config.h"

#include "partition/blocks/strategy.h"

enum { CHUNK };

static const struct heddle_strategy_parameter parameters[] = {
    {"chunk", 0, 0, 1e18, "iterations", "size of every block; 0: sixteen blocks a worker"},
    {0},
};

static size_t css_next(struct heddle_blocks *b, unsigned worker)
{
	size_t chunk = b->parameters[CHUNK];

	return chunk ? chunk : blocks_ceil(b->total, 16 * (size_t)b->nworkers);
}

const struct blocks_strategy blocks_css = {
    .table = {.name = "css",
              .source = "Kruskal and Weiss, Allocating Independent Subtasks on Parallel "
                        "Processors, IEEE TSE 11(10), 1985",
              .doc = "chunk self-scheduling: blocks of one size",
              .parameters = parameters},
    .next = css_next,
};
