/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Loops that run again: what a strategy has learned of a loop is where it begins with the next
 * loop of the same name, length, workers and strategy. A run that is over stays as it is until
 * then, so that loops that run once cost nothing. Parts of larger loops have other iterations each
 * time, and are not known, but for those with which a rank begins each run.
 */
#include "config.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "loop_private.h"
#include "partition/blocks/memory.h"
#include "support/message.h"

/* Loops that are known. The one not used for longest gives way. */
#define MOST 64

static struct known {
	char *name, *strategy;
	size_t first, n, total;
	unsigned nworkers;
	int *workers;                 /* StarPU's ids */
	struct heddle_strategy *over; /* the latest run; NULL: there is none, or it is learned */
	struct blocks_memory *memory; /* of the runs before */
	unsigned long used;
} table[MOST];
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static unsigned long uses;

static bool is_part(const struct heddle_loop_request *loop)
{
	return loop->loop.n < loop->loop.total;
}

/* Whether nothing is known of a loop, and nothing will be. */
static bool is_forgotten(const struct heddle_loop_request *loop)
{
	return is_part(loop) && !loop->part.repeats;
}

static bool known_is(const struct known *known, const struct heddle_loop_request *loop)
{
	if (!known->name || known->n != loop->loop.n || known->total != loop->loop.total ||
	    (is_part(loop) && known->first != loop->loop.first) ||
	    known->nworkers != loop->nworkers || strcmp(known->name, loop->name) ||
	    strcmp(known->strategy, loop->strategy))
		return false;
	for (unsigned l = 0; l < loop->nworkers; l++)
		if (known->workers[l] != loop->workers[l].stats.id)
			return false;
	return true;
}

static void known_free(struct known *known)
{
	heddle_strategy_destroy(known->over);
	free(known->memory);
	free(known->name);
	free(known->strategy);
	free(known->workers);
	*known = (struct known){0};
}

/* Mutex held: the loop's entry; NULL: there is none. */
static struct known *known_find(const struct heddle_loop_request *loop)
{
	for (unsigned i = 0; i < MOST; i++)
		if (known_is(&table[i], loop)) {
			table[i].used = ++uses;
			return &table[i];
		}
	return NULL;
}

/* Mutex held: an entry for the loop, perhaps instead of another's; NULL: no memory. */
static struct known *known_make(const struct heddle_loop_request *loop)
{
	struct known *known = known_find(loop);

	if (known)
		return known;
	known = &table[0];
	for (unsigned i = 1; i < MOST; i++)
		if (table[i].used < known->used)
			known = &table[i];
	known_free(known);
	known->name = strdup(loop->name);
	known->strategy = strdup(loop->strategy);
	known->workers = malloc(loop->nworkers * sizeof(*known->workers));
	if (!known->name || !known->strategy || !known->workers) {
		known_free(known);
		return NULL;
	}
	known->first = loop->loop.first;
	known->n = loop->loop.n;
	known->total = loop->loop.total;
	known->nworkers = loop->nworkers;
	for (unsigned l = 0; l < loop->nworkers; l++)
		known->workers[l] = loop->workers[l].stats.id;
	known->used = ++uses;
	return known;
}

/* Mutex held: takes what is known out of the table. */
static void known_take(const struct heddle_loop_request *loop, struct heddle_strategy **over,
                       struct blocks_memory **memory)
{
	struct known *known = known_find(loop);

	if (!known)
		return;
	*over = known->over;
	*memory = known->memory;
	known->over = NULL;
	known->memory = NULL;
}

/* Mutex held: puts it back, unless another loop was faster. */
static struct blocks_memory *known_put(const struct heddle_loop_request *loop,
                                       struct blocks_memory *memory)
{
	struct known *known = known_find(loop);

	if (!known || known->memory)
		return memory;
	known->memory = memory;
	return NULL;
}

/* What choosing takes is measured: it bounds what is done the next time. */
static void memory_use(struct heddle_loop_request *loop, const struct blocks_memory *memory)
{
	const struct blocks_chosen *chosen = blocks_auto_chosen(loop->blocks);
	double us = starpu_timing_now();

	blocks_memory_use(loop->blocks, memory);
	if (!chosen)
		return;
	us = starpu_timing_now() - us;
	/* The clock of a loop by modelled time stands still meanwhile. */
	blocks_auto_took(loop->blocks, loop->modelled ? 0 : us);
	if (!(chosen->us > 0))
		heddle_explain("loop %s: auto takes %s: nothing was replayed", loop->name,
		               chosen->spec);
	else
		heddle_explain("loop %s: auto takes %s, for which replays promise %.0f us, %.0f us "
		               "for hdss; choosing took %.0f us, for %zu blocks",
		               loop->name, chosen->spec, chosen->us, chosen->hdss_us, us,
		               chosen->replayed);
}

void loop_memory_use(struct heddle_loop_request *loop)
{
	struct heddle_strategy *over = NULL;
	struct blocks_memory *memory = NULL;

	if (is_forgotten(loop))
		return;
	pthread_mutex_lock(&mutex);
	known_take(loop, &over, &memory);
	pthread_mutex_unlock(&mutex);
	/* A run that told nothing leaves what was known. */
	if (over)
		(void)blocks_memory_learn(over, &memory);
	heddle_strategy_destroy(over);
	if (!memory)
		return;
	heddle_explain("loop %s: begins with the costs of %u earlier runs", loop->name,
	               memory->runs);
	memory_use(loop, memory);
	pthread_mutex_lock(&mutex);
	memory = known_put(loop, memory);
	pthread_mutex_unlock(&mutex);
	free(memory);
}

void loop_memory_keep(struct heddle_loop_request *loop)
{
	struct heddle_strategy *before = loop->blocks;
	struct known *known;

	for (unsigned l = 0; l < loop->nworkers; l++)
		if (loop->workers[l].retired)
			return;
	if (is_forgotten(loop) || !blocks_memory_kept(loop->blocks))
		return;
	pthread_mutex_lock(&mutex);
	known = known_make(loop);
	if (known) {
		before = known->over;
		/* Others may ask how far the loop is. */
		loop_lock(loop);
		known->over = loop->blocks;
		loop->blocks = NULL;
		loop_unlock(loop);
	}
	pthread_mutex_unlock(&mutex);
	if (known)
		heddle_strategy_destroy(before);
}
