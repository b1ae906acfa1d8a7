/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The books of a strategy at work, the same for every strategy.
 */
#include "config.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "partition/blocks/strategy.h"

/* Times below this cannot be measured: they come from clocks that stood still. */
#define SMALLEST_US 1e-3
/* Prior rates and times above this are no measurements, and their squares might be infinite. */
#define MOST 1e18

const char *heddle_phase_name(enum heddle_phase phase)
{
	return phase == HEDDLE_PHASE_ADAPTIVE ? "adaptive" : "completion";
}

static int worker_check(const struct heddle_strategy_worker *w, unsigned id)
{
	if ((int)w->kind < 0 || w->kind >= HEDDLE_NKINDS)
		return heddle_refuse(-EINVAL, "worker %u: %d is not a kind", id, (int)w->kind);
	if (!(w->rate >= 0 && w->rate <= MOST))
		return heddle_refuse(-EINVAL, "worker %u: rate %g is not a rate", id, w->rate);
	if (!(w->start_us >= 0 && w->start_us <= MOST))
		return heddle_refuse(-EINVAL, "worker %u: start_us %g is not a time", id,
		                     w->start_us);
	if (w->maximum && w->minimum > w->maximum)
		return heddle_refuse(-EINVAL, "worker %u: minimum %zu exceeds maximum %zu", id,
		                     w->minimum, w->maximum);
	if (w->maximum && w->alignment > w->maximum)
		return heddle_refuse(-EINVAL, "worker %u: alignment %zu exceeds maximum %zu", id,
		                     w->alignment, w->maximum);
	return 0;
}

static int problem_check(const struct heddle_strategy_problem *problem)
{
	if (!problem->nworkers)
		return heddle_refuse(-EINVAL, "a problem needs at least one worker");
	for (unsigned w = 0; problem->workers && w < problem->nworkers; w++) {
		int error = worker_check(&problem->workers[w], w);

		if (error)
			return error;
	}
	return 0;
}

int heddle_strategy_create(const char *spec, const struct heddle_strategy_problem *problem,
                           struct heddle_strategy **blocks)
{
	const struct blocks_strategy *strategy;
	double parameters[BLOCKS_MAXPARAMETERS];
	struct heddle_strategy *b;
	int error = blocks_spec_parse(spec, &strategy, parameters);

	if (!error)
		error = problem_check(problem);
	if (error)
		return error;
	b = calloc(1, sizeof(*b) + problem->nworkers * sizeof(b->workers[0]));
	if (!b)
		return -ENOMEM;
	b->strategy = strategy;
	memcpy(b->parameters, parameters, sizeof(parameters));
	b->total = b->remaining = problem->n;
	b->nworkers = problem->nworkers;
	b->events = 1;
	for (unsigned w = 0; problem->workers && w < b->nworkers; w++)
		b->workers[w].given = problem->workers[w];
	error = strategy->begin ? strategy->begin(b) : 0;
	if (error) {
		free(b);
		return error;
	}
	for (unsigned w = 0; w < b->nworkers; w++) {
		struct heddle_strategy_worker *given = &b->workers[w].given;

		given->minimum += !given->minimum;
		given->alignment += !given->alignment;
	}
	*blocks = b;
	return 0;
}

/* The size nearest to a wish that a worker can be given: a multiple of its
 * alignment within its bounds, or the last of the range. */
static size_t size_fit(const struct heddle_strategy *b, const struct heddle_strategy_worker *w,
                       size_t wish)
{
	size_t a = w->alignment, most = (size_t)-1 / a * a;
	size_t low = w->minimum < most ? blocks_ceil(w->minimum, a) * a : most;
	size_t high = w->maximum ? w->maximum / a * a : most;
	size_t n;

	/* Alignment bends where the bounds leave no multiple of it. */
	if (low > high)
		low = high = w->maximum;
	if (wish > b->remaining)
		wish = b->remaining;
	n = wish / a * a;
	if (wish - n >= a - a / 2)
		n = n < most ? n + a : most;
	n = n < low ? low : n > high ? high : n;
	return n < b->remaining ? n : b->remaining;
}

/* Whether every worker left was refused and none has anything under way: a
 * strategy that let this stand would never end. */
static bool all_stand_still(const struct heddle_strategy *b)
{
	for (unsigned w = 0; w < b->nworkers; w++)
		if (!b->workers[w].retired &&
		    (b->workers[w].under_way || b->workers[w].refused != b->events))
			return false;
	return true;
}

/* Earlier refusals no longer count. They are not cleared one by one: a worker's data stays in
 * the cache of the core that asks for it. */
static void event(struct heddle_strategy *b)
{
	b->events++;
}

size_t heddle_strategy_next(struct heddle_strategy *b, unsigned worker)
{
	struct blocks_worker *w = &b->workers[worker];
	size_t wish, n;

	if (!b->remaining || w->retired)
		return 0;
	wish = b->strategy->next(b, worker);
	if (!wish) {
		w->refused = b->events;
		if (!all_stand_still(b))
			return 0;
		wish = 1;
	}
	n = size_fit(b, &w->given, wish);
	b->remaining -= n;
	w->under_way += n;
	w->blocks_under_way++;
	event(b);
	if (b->strategy->gave)
		b->strategy->gave(b, worker, n);
	return n;
}

/* Takes iterations that a worker answered for off its books. */
static size_t under_way_take(struct blocks_worker *w, size_t n, unsigned blocks)
{
	if (n > w->under_way)
		n = w->under_way;
	w->under_way -= n;
	if (blocks > w->blocks_under_way)
		blocks = w->blocks_under_way;
	w->blocks_under_way -= blocks;
	if (!w->under_way)
		w->blocks_under_way = 0;
	else if (!w->blocks_under_way)
		w->blocks_under_way = 1;
	return n;
}

void heddle_strategy_completed(struct heddle_strategy *b, unsigned worker, size_t n, double us)
{
	struct blocks_worker *w = &b->workers[worker];

	n = under_way_take(w, n, 1);
	if (!n)
		return;
	if (!(us >= SMALLEST_US))
		us = SMALLEST_US;
	us = fmin(us, MOST);
	w->done += n;
	w->busy_us += us;
	event(b);
	if (b->strategy->completed)
		b->strategy->completed(b, worker, n, us);
}

void heddle_strategy_return(struct heddle_strategy *b, unsigned worker, size_t n)
{
	n = under_way_take(&b->workers[worker], n, 0);
	if (!n)
		return;
	b->remaining += n;
	event(b);
	if (b->strategy->returned)
		b->strategy->returned(b, worker, n);
}

void heddle_strategy_extend(struct heddle_strategy *b, size_t n)
{
	if (!n)
		return;
	b->total += n;
	b->remaining += n;
	b->stream = true;
	event(b);
	if (b->strategy->extended)
		b->strategy->extended(b, n);
}

void blocks_bound(struct heddle_strategy *b, unsigned worker, size_t maximum)
{
	struct heddle_strategy_worker *given = &b->workers[worker].given;
	size_t a = given->alignment, least = a * blocks_ceil(given->minimum, a);

	given->maximum = maximum && maximum < least ? least : maximum;
}

void blocks_shorten(struct heddle_strategy *b, size_t n)
{
	if (n > b->remaining)
		n = b->remaining;
	b->total -= n;
	b->given_up += n;
	b->remaining -= n;
	event(b);
	if (b->strategy->shortened)
		b->strategy->shortened(b, n);
}

void heddle_strategy_retire(struct heddle_strategy *b, unsigned worker)
{
	if (b->workers[worker].retired)
		return;
	b->workers[worker].retired = true;
	event(b);
	if (b->strategy->retired)
		b->strategy->retired(b, worker);
}

size_t heddle_strategy_remaining(const struct heddle_strategy *b)
{
	return b->remaining;
}

enum heddle_phase heddle_strategy_phase(const struct heddle_strategy *b, unsigned worker)
{
	return b->strategy->phase ? b->strategy->phase(b, worker) : HEDDLE_PHASE_COMPLETION;
}

double heddle_strategy_rate(const struct heddle_strategy *b, unsigned worker)
{
	return b->strategy->rate ? b->strategy->rate(b, worker) : blocks_mean_rate(b, worker);
}

void heddle_strategy_destroy(struct heddle_strategy *b)
{
	if (!b)
		return;
	if (b->strategy->end)
		b->strategy->end(b);
	free(b);
}

bool blocks_memory_kept(const struct heddle_strategy *b)
{
	return b->strategy->kept && b->total && b->strategy->kept(b);
}

void blocks_memory_use(struct heddle_strategy *b, const struct blocks_memory *memory)
{
	if (blocks_memory_kept(b) && memory->costs.n == b->total && memory->nworkers == b->nworkers)
		b->strategy->remember(b, memory);
}

int blocks_memory_learn(const struct heddle_strategy *b, struct blocks_memory **memory)
{
	size_t bytes = sizeof(**memory) + b->nworkers * sizeof((*memory)->workers[0]);
	size_t n = b->total + b->given_up;
	bool fits = *memory && (*memory)->costs.n == n && (*memory)->nworkers == b->nworkers;
	struct blocks_memory *learned;
	int error;

	if (!blocks_memory_kept(b))
		return -ENOENT;
	learned = calloc(1, bytes);
	if (!learned)
		return -ENOMEM;
	if (fits) {
		memcpy(learned, *memory, bytes);
	} else {
		learned->nworkers = b->nworkers;
		costs_init(&learned->costs, n);
	}
	error = b->strategy->learn(b, learned);
	if (error) {
		free(learned);
		return error;
	}
	free(*memory);
	*memory = learned;
	return 0;
}
