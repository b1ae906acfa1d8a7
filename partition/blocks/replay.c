/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "config.h"

#include <errno.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "partition/blocks/replay.h"
#include "support/message.h"

/* About 300 MB. A strategy may make a block of each iteration. */
#define MAXBLOCKS ((size_t)1 << 22)

struct range {
	size_t start, n;
};

/* A worker of the replay, with a queue of indices of its blocks in progress. */
struct runner {
	const struct replay_worker *worker;
	size_t queue[16];
	unsigned head, queued;
	unsigned given;    /* blocks so far */
	double first_free; /* when its first stage is free */
	double second_free;
	double last_end; /* of the block completed last */
	bool learning;   /* its latest block is of the adaptive phase, which has not ended */
	bool failed;
};

struct replay {
	const struct replay_machine *machine;
	const char *spec; /* of the strategy */
	struct heddle_strategy *strategy;
	struct runner *runners;
	struct replay_result *result;
	size_t capacity;      /* of result->blocks */
	double *requested;    /* the time at which each block was requested */
	struct range *ranges; /* unassigned iterations; the last has the largest start */
	size_t nranges, range_capacity;
	uint64_t random;
	double now;
	bool overlaps; /* workers may have several blocks in progress */
};

static uint64_t random_next(struct replay *r)
{
	/* Marsaglia's xorshift64*. */
	r->random ^= r->random >> 12;
	r->random ^= r->random << 25;
	r->random ^= r->random >> 27;
	return r->random * UINT64_C(2685821657736338717);
}

static double random_uniform(struct replay *r)
{
	return ((random_next(r) >> 11) + 0.5) / 9007199254740992.0;
}

/* Log-normal with mean 1. */
static double random_factor(struct replay *r, double deviation)
{
	double gauss, s;

	if (deviation <= 0)
		return 1;
	gauss = sqrt(-2 * log(random_uniform(r))) * cos(2 * M_PI * random_uniform(r));
	s = sqrt(log1p(deviation * deviation));
	return exp(s * gauss - s * s / 2);
}

/* The rate for a block of n iterations. Where the curve is not positive, it continues through the
 * origin. */
static double worker_rate(const struct replay_worker *w, double n)
{
	double rate;

	if (w->a == 0 && w->b == 0)
		return w->rate;
	rate = w->a * log(n) + w->b;
	if (rate < w->rate * n * 1e-6)
		rate = w->rate * n * 1e-6;
	return rate < w->rate ? rate : w->rate;
}

static double worker_best(const struct replay_worker *w, double n)
{
	double rate = n >= 1 ? worker_rate(w, n) : w->rate, longest;

	longest = w->transfer > 0.5 ? w->transfer : 1 - w->transfer;
	return w->depth > 1 ? rate / longest : rate;
}

/* The end of work that takes so many microseconds at full speed. */
static double worker_end(const struct replay_worker *w, double begin, double work)
{
	double before;

	if (w->change_us <= 0)
		return begin + work;
	before = begin < w->change_us ? w->change_us - begin : 0;
	if (work <= before)
		return begin + work;
	return begin + before + (work - before) / w->change_factor;
}

static int grow(void **array, size_t size, size_t need, size_t *capacity)
{
	size_t wanted = *capacity ? *capacity : 64;
	void *grown;

	if (need <= *capacity)
		return 0;
	while (wanted < need)
		wanted *= 2;
	grown = realloc(*array, wanted * size);
	if (!grown)
		return -ENOMEM;
	*array = grown;
	*capacity = wanted;
	return 0;
}

static int range_add(struct replay *r, size_t start, size_t n)
{
	if (grow((void **)&r->ranges, sizeof(*r->ranges), r->nranges + 1, &r->range_capacity))
		return -ENOMEM;
	r->ranges[r->nranges++] = (struct range){start, n};
	return 0;
}

/* Takes n iterations from the first range that has enough. Else it takes all of the largest range,
 * and returns the rest to the strategy. */
static size_t range_take(struct replay *r, unsigned worker, size_t *n)
{
	size_t best = 0, start;

	for (size_t i = 0; i < r->nranges; i++) {
		if (r->ranges[i].n >= *n) {
			best = i;
			break;
		}
		if (r->ranges[i].n > r->ranges[best].n)
			best = i;
	}
	if (r->ranges[best].n < *n) {
		heddle_strategy_return(r->strategy, worker, *n - r->ranges[best].n);
		*n = r->ranges[best].n;
	}
	start = r->ranges[best].start;
	r->ranges[best].start += *n;
	r->ranges[best].n -= *n;
	if (!r->ranges[best].n)
		r->ranges[best] = r->ranges[--r->nranges];
	return start;
}

static double range_work(const struct replay_machine *m, size_t start, size_t n)
{
	if (m->costs)
		return costs_work(m->costs, start, n);
	return m->work ? m->work[start + n] - m->work[start] : n;
}

/* The part of all cores that have blocks. */
static double crowd(const struct replay *r)
{
	unsigned cores = 0, busy = 0;

	for (unsigned w = 0; w < r->machine->nworkers; w++) {
		bool core = r->machine->workers[w].given.kind == HEDDLE_KIND_CPU;

		cores += core && !r->runners[w].failed;
		busy += core && r->runners[w].queued;
	}
	return cores ? (double)busy / cores : 0;
}

/* The times of both stages of a block, which the worker requests now. */
static void block_time(struct replay *r, struct runner *runner, struct replay_block *block)
{
	const struct replay_worker *w = runner->worker;
	double work = range_work(r->machine, block->start, block->size), factor, first, second;

	work /= worker_rate(w, block->size);
	factor = random_factor(r, w->noise);
	if (w->crowded > 0)
		factor /= 1 - w->crowded * crowd(r);
	if (w->spike_block == runner->given)
		factor *= w->spike_factor;
	first = (w->overhead_us + w->transfer * work) * factor;
	if (runner->given == 1)
		first += w->once_us;
	second = (1 - w->transfer) * work * factor;
	block->begin_us = r->now > runner->first_free ? r->now : runner->first_free;
	runner->first_free = worker_end(w, block->begin_us, first);
	if (runner->second_free < runner->first_free)
		runner->second_free = runner->first_free;
	runner->second_free = worker_end(w, runner->second_free, second);
	block->end_us = runner->second_free;
}

static int runner_give(struct replay *r, unsigned worker, size_t n)
{
	struct runner *runner = &r->runners[worker];
	size_t capacity = r->capacity, index = r->result->nblocks;
	struct replay_block *block;

	if (r->machine->limit && index == r->machine->limit)
		return -E2BIG;
	if (index == MAXBLOCKS)
		return heddle_refuse(-E2BIG,
		                     "%s: more than %zu blocks of %zu iterations: larger blocks "
		                     "or fewer iterations, please",
		                     r->spec, MAXBLOCKS, r->machine->n);
	if (grow((void **)&r->result->blocks, sizeof(*block), index + 1, &r->capacity) ||
	    grow((void **)&r->requested, sizeof(*r->requested), index + 1, &capacity))
		return -ENOMEM;
	block = &r->result->blocks[index];
	*block = (struct replay_block){.worker = worker,
	                               .phase = heddle_strategy_phase(r->strategy, worker)};
	block->start = range_take(r, worker, &n);
	block->size = n;
	runner->learning = block->phase == HEDDLE_PHASE_ADAPTIVE;
	runner->given++;
	block_time(r, runner, block);
	r->requested[index] = r->now;
	runner->queue[(runner->head + runner->queued++) % 16] = index;
	r->result->nblocks++;
	return 0;
}

/* How many blocks a worker may have now: as in loops one in the adaptive phase. */
static unsigned runner_depth(const struct replay *r, unsigned worker)
{
	unsigned depth = r->overlaps ? r->runners[worker].worker->depth : 1;

	return depth > 1 && heddle_strategy_phase(r->strategy, worker) == HEDDLE_PHASE_COMPLETION
	           ? depth
	           : 1;
}

/* Gives a worker blocks until its queue is full or the strategy gives none. */
static int runner_fill(struct replay *r, unsigned worker)
{
	struct runner *runner = &r->runners[worker];

	while (!runner->failed && runner->queued < runner_depth(r, worker)) {
		size_t n = heddle_strategy_next(r->strategy, worker);
		int error;

		if (!n)
			return 0;
		error = runner_give(r, worker, n);
		if (error)
			return error;
	}
	return 0;
}

/* Updates the end of learning after a block. The block may also end the learning of other workers,
 * whose blocks are still in progress. */
static void learning_note(struct replay *r, unsigned worker)
{
	for (unsigned w = 0; w < r->machine->nworkers; w++)
		if (r->runners[w].learning &&
		    (w == worker ||
		     heddle_strategy_phase(r->strategy, w) == HEDDLE_PHASE_COMPLETION)) {
			r->runners[w].learning = false;
			r->result->learning_us = r->now;
		}
}

static void runner_complete(struct replay *r, unsigned worker)
{
	struct runner *runner = &r->runners[worker];
	size_t index = runner->queue[runner->head];
	const struct replay_block *block = &r->result->blocks[index];
	double since = r->requested[index];

	if (since < runner->last_end)
		since = runner->last_end;
	runner->head = (runner->head + 1) % 16;
	runner->queued--;
	runner->last_end = block->end_us;
	if (block->end_us > r->result->makespan_us)
		r->result->makespan_us = block->end_us;
	heddle_strategy_completed(r->strategy, worker, block->size, block->end_us - since);
	learning_note(r, worker);
}

static int runner_fail(struct replay *r, unsigned worker)
{
	struct runner *runner = &r->runners[worker];

	runner->failed = true;
	for (; runner->queued; runner->queued--) {
		size_t index = runner->queue[runner->head];
		struct replay_block *block = &r->result->blocks[index];

		block->lost = true;
		block->end_us = r->now;
		if (block->begin_us > r->now)
			block->begin_us = r->now;
		if (range_add(r, block->start, block->size))
			return -ENOMEM;
		heddle_strategy_return(r->strategy, worker, block->size);
		runner->head = (runner->head + 1) % 16;
	}
	heddle_strategy_retire(r->strategy, worker);
	return 0;
}

/* Finds the next event: its worker, its time, and whether the worker fails. */
static bool event_next(const struct replay *r, unsigned *worker, double *when, bool *failure)
{
	bool found = false;

	for (unsigned w = 0; w < r->machine->nworkers; w++) {
		const struct runner *runner = &r->runners[w];
		double stop = runner->worker->stop_us, end = HUGE_VAL;

		if (runner->failed)
			continue;
		if (runner->queued)
			end = r->result->blocks[runner->queue[runner->head]].end_us;
		if (stop > 0 && stop < end &&
		    (runner->queued || heddle_strategy_remaining(r->strategy)))
			end = stop;
		if (isinf(end) || (found && end >= *when))
			continue;
		found = true;
		*worker = w;
		*when = end;
		*failure = end == stop && stop > 0;
	}
	return found;
}

static int replay_events(struct replay *r)
{
	unsigned worker = 0;
	double when = 0;
	bool failure = false;
	int error = 0;

	for (unsigned w = 0; !error && w < r->machine->nworkers; w++)
		error = runner_fill(r, w);
	while (!error && event_next(r, &worker, &when, &failure)) {
		r->now = when;
		if (failure)
			error = runner_fail(r, worker);
		else
			runner_complete(r, worker);
		/* The worker of the event comes first, then those that got no block before. */
		if (!error)
			error = runner_fill(r, worker);
		for (unsigned w = 0; !error && w < r->machine->nworkers; w++)
			error = runner_fill(r, w);
	}
	return error;
}

/* The iterations that all workers can compute in that time. */
static double machine_capacity(const struct replay_machine *m, double us)
{
	double sum = 0;

	for (unsigned w = 0; w < m->nworkers; w++) {
		const struct replay_worker *worker = &m->workers[w];
		double end = worker->stop_us > 0 && worker->stop_us < us ? worker->stop_us : us;
		double rate = worker_best(worker, m->n);

		if (worker->change_us > 0 && worker->change_us < end)
			end = worker->change_us + (end - worker->change_us) * worker->change_factor;
		sum += end * rate;
	}
	return sum;
}

static double machine_ideal(const struct replay_machine *m)
{
	double low = 0, high = 1, work = range_work(m, 0, m->n);

	if (!m->n)
		return 0;
	while (machine_capacity(m, high) < work && high < 1e30)
		high *= 2;
	if (high >= 1e30)
		return 0; /* all workers fail before */
	for (int i = 0; i < 200; i++) {
		double middle = (low + high) / 2;

		if (machine_capacity(m, middle) < work)
			low = middle;
		else
			high = middle;
	}
	return high;
}

static double finish_spread(const struct replay *r)
{
	double earliest = HUGE_VAL;

	for (unsigned w = 0; w < r->machine->nworkers; w++)
		if (!r->runners[w].failed && r->runners[w].last_end < earliest)
			earliest = r->runners[w].last_end;
	if (r->result->makespan_us <= 0 || isinf(earliest))
		return 0;
	return (r->result->makespan_us - earliest) / r->result->makespan_us;
}

static int replay_begin(struct replay *r, const char *spec)
{
	const struct replay_machine *m = r->machine;
	struct heddle_strategy_problem problem = {.n = m->n, .nworkers = m->nworkers};
	struct heddle_strategy_worker *given = calloc(m->nworkers, sizeof(*given));
	int error;

	r->runners = calloc(m->nworkers, sizeof(*r->runners));
	if (!given || !r->runners) {
		free(given);
		return -ENOMEM;
	}
	for (unsigned w = 0; w < m->nworkers; w++) {
		given[w] = m->workers[w].given;
		r->runners[w].worker = &m->workers[w];
	}
	problem.workers = given;
	error = heddle_strategy_create(spec, &problem, &r->strategy);
	r->overlaps = !error && heddle_strategy_overlaps(spec);
	if (!error && m->memory && *m->memory)
		blocks_memory_use(r->strategy, *m->memory);
	if (!error && m->known)
		blocks_memory_use(r->strategy, m->known);
	free(given);
	if (!error && m->n)
		error = range_add(r, 0, m->n);
	return error;
}

int replay_run(const char *spec, const struct replay_machine *machine, struct replay_result *result)
{
	struct replay_result made = {0};
	struct replay r = {.machine = machine, .spec = spec, .result = &made};
	int error;

	r.random = machine->seed * UINT64_C(0x9e3779b97f4a7c15) + 1;
	error = replay_begin(&r, spec);
	if (!error)
		error = replay_events(&r);
	if (!error) {
		made.ideal_us = machine->limit ? 0 : machine_ideal(machine);
		made.finish_spread = finish_spread(&r);
		made.left = heddle_strategy_remaining(r.strategy);
		if (machine->memory)
			error = blocks_memory_learn(r.strategy, machine->memory) == -ENOMEM
			            ? -ENOMEM
			            : 0;
	}
	heddle_strategy_destroy(r.strategy);
	free(r.runners);
	free(r.requested);
	free(r.ranges);
	if (error)
		replay_free(&made);
	else
		*result = made;
	return error;
}

void replay_free(struct replay_result *result)
{
	free(result->blocks);
	*result = (struct replay_result){0};
}
