/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Chunk self-scheduling: every block has the same size, or every block of
 * a kind of worker: then it is the reference tuned by hand that learning is compared with.
 * Modified fixed-size chunking: a size with which there are as many blocks as under factoring.
 */
#include "config.h"

#include <math.h>

#include "partition/blocks/strategy.h"

enum { CHUNK, OF_KIND };

static const struct heddle_strategy_parameter parameters[] = {
    {"chunk", 0, 0, 1e18, "iterations", "size of every block; 0: sixteen blocks a worker"},
    /* In the order of enum heddle_kind. */
    {"cpu", 0, 0, 1e18, "iterations", "size of a core's blocks, where it differs; 0: chunk"},
    {"cuda", 0, 0, 1e18, "iterations", "size of a CUDA device's blocks; 0: chunk"},
    {"opencl", 0, 0, 1e18, "iterations", "size of an OpenCL device's blocks; 0: chunk"},
    {"fpga", 0, 0, 1e18, "iterations", "size of an FPGA's blocks; 0: chunk"},
    {"hip", 0, 0, 1e18, "iterations", "size of a HIP device's blocks; 0: chunk"},
    {0},
};

static size_t css_next(struct heddle_strategy *b, unsigned worker)
{
	enum heddle_kind kind = b->workers[worker].given.kind;
	/* Loops do not run on kinds without a parameter. */
	size_t chunk = kind <= HEDDLE_KIND_HIP ? b->parameters[OF_KIND + kind] : 0;

	if (!chunk)
		chunk = b->parameters[CHUNK];
	return chunk ? chunk : blocks_ceil(blocks_extent(b), 16 * (size_t)b->nworkers);
}

const struct blocks_strategy blocks_css = {
    .table = {.name = "css",
              .source = "Kruskal and Weiss, Allocating Independent Subtasks on Parallel "
                        "Processors, IEEE TSE 11(10), 1985",
              .doc = "chunk self-scheduling: blocks of one size",
              .parameters = parameters},
    .next = css_next,
};

/* With n / P iterations a worker, halving makes log2(n / P) batches of P blocks. */
size_t blocks_mfsc_size(const struct heddle_strategy *b)
{
	double share = blocks_extent(b) / (double)b->nworkers;

	return blocks_wish(b, ceil(share / fmax(1, log2(share))));
}

static size_t mfsc_next(struct heddle_strategy *b, unsigned worker)
{
	return blocks_mfsc_size(b);
}

static const struct heddle_strategy_parameter no_parameters[] = {{0}};

const struct blocks_strategy blocks_mfsc = {
    .table = {.name = "mfsc",
              .source = "mFSC of DLS4LB, the library of Carino and Banicescu, after Kruskal and "
                        "Weiss, IEEE TSE 11(10), 1985",
              .doc = "modified fixed-size chunking: blocks of one size, as many as under fss",
              .parameters = no_parameters},
    .next = mfsc_next,
};
