/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * HDSS from run to run. What a run has told of costs and workers is where the next one begins:
 * nothing is learned again, and sizes are counted in work instead of iterations.
 */
#include "config.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "partition/blocks/hdss.h"

/* Costs are no longer believed once blocks differ by so much from what they should take, on
 * average and as a logarithm, in so many blocks. */
#define WRONG 0.8
#define WRONG_BLOCKS 6
/* A run that differed by more than this tells of other costs than those before. */
#define CHANGED 0.25

void blocks_hdss_remember(struct heddle_strategy *b, const struct blocks_memory *memory)
{
	struct hdss *h = b->state;

	if (!h->kept)
		return;
	h->known = true;
	h->costs = memory->costs;
	h->noise = memory->noise;
	for (unsigned w = 0; w < b->nworkers; w++) {
		struct hdss_worker *worker = &h->worker[w];

		if (memory->workers[w].time.pace <= 0)
			continue;
		worker->time = memory->workers[w].time;
		worker->largest = memory->workers[w].largest;
		worker->last = worker->largest.n;
		worker->learned = true;
	}
}

void blocks_hdss_compare(struct heddle_strategy *b, unsigned worker, double work, double us)
{
	struct hdss *h = b->state;
	struct hdss_estimate estimate;

	if (!blocks_hdss_estimate(b, worker, &estimate))
		return;
	h->off += fabs(log(us / (estimate.start + work * estimate.pace)));
	h->compared++;
	if (h->compared >= WRONG_BLOCKS && h->off > WRONG * h->compared)
		h->known = false;
}

/* What a worker's latest blocks took, over the work that they turned out to be. */
static void worker_learn(const struct hdss *h, const struct costs *costs, unsigned worker,
                         struct blocks_memory_worker *memory)
{
	const struct costs_run *run = &h->run_blocks;
	unsigned latest[BLOCK_TIME_POINTS], count = 0;

	*memory = (struct blocks_memory_worker){0};
	for (unsigned i = run->count; i-- && count < BLOCK_TIME_POINTS;)
		if (run->blocks[i].worker == worker && run->blocks[i].us > 0)
			latest[count++] = i;
	while (count--) {
		const struct costs_block *block = &run->blocks[latest[count]];
		double work = costs_work(costs, block->start, block->n);

		heddle_block_time_add(&memory->time, work, block->us, true, true);
		if (work > memory->largest.n)
			memory->largest = (struct heddle_block_point){work, block->us};
	}
}

int blocks_hdss_learn(const struct heddle_strategy *b, struct blocks_memory *memory)
{
	const struct hdss *h = b->state;
	struct costs_worker *workers;
	int error;

	if (!h->kept)
		return -ENOENT;
	workers = calloc(b->nworkers, sizeof(*workers));
	if (!workers)
		return -ENOMEM;
	for (unsigned w = 0; w < b->nworkers; w++) {
		workers[w].kind = b->workers[w].given.kind;
		workers[w].start = b->parameters[HDSS_KINDS] ? h->kind[workers[w].kind].start
		                                             : h->worker[w].time.start_us;
	}
	memory->error = h->compared > 0 ? h->off / h->compared : -1;
	if (memory->error > CHANGED) {
		memory->runs = 0;
		costs_init(&memory->costs, b->total);
	}
	error = costs_learn(&memory->costs, memory->runs, &h->run_blocks, workers, b->nworkers,
	                    &memory->noise);
	for (unsigned w = 0; !error && w < b->nworkers; w++)
		worker_learn(h, &memory->costs, w, &memory->workers[w]);
	memory->runs++;
	free(workers);
	return error;
}
