/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "config.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <heddle/strategy.h>

#include "claims.h"
#include "estimator/block_time.h"
#include "partition/blocks/memory.h"
#include "partition/blocks/strategy.h"

/* Before it is known what it takes to send iterations, a rank helps with so many bytes. */
#define FIRST_HELP 65536
/* Help is worth while if it saves the owner this part of what it has left. */
#define WORTH_WHILE 0.05

/* Iterations of one home that nobody has: begin to end - 1. */
struct home {
	size_t begin, end;
};

struct mpi_claims {
	struct heddle_strategy *strategy;
	bool overlaps;                   /* a rank may have two ranges */
	bool at_hand;                    /* at home there is all that iterations read */
	size_t alignment;                /* 1 or more */
	size_t bytes;                    /* sent for an iteration away from home */
	size_t left;                     /* iterations that are not computed */
	unsigned nranks, nhomes;         /* 1: where iterations run makes no difference */
	struct home *homes;              /* home r is rank r's */
	unsigned *open, nopen;           /* those where something is left, in order */
	size_t *under_way;               /* of each rank: iterations that it has */
	size_t running;                  /* of all */
	struct heddle_block_time *times; /* of each rank: of its ranges */
	/* What data and results of ranges away from home take; the caller's if it keeps that. */
	struct heddle_block_time *moved, own_moved;
};

static size_t home_left(const struct home *home)
{
	return home->end - home->begin;
}

static int strategy_make(const struct mpi_claims_problem *given, struct mpi_claims *claims)
{
	struct heddle_strategy_problem problem = {.n = given->n, .nworkers = given->nranks};
	struct heddle_strategy_worker *workers = calloc(given->nranks, sizeof(*workers));
	int status = heddle_strategy_overlaps(given->strategy);

	if (!workers)
		return -ENOMEM;
	for (unsigned r = 0; r < given->nranks; r++)
		workers[r].alignment = given->alignment;
	problem.workers = workers;
	if (status >= 0) {
		claims->overlaps = status;
		status = heddle_strategy_create(given->strategy, &problem, &claims->strategy);
	}
	free(workers);
	if (status >= 0) {
		claims->strategy->ranks = true;
		claims->strategy->scattered = claims->nhomes > 1;
	}
	if (status >= 0 && given->memory)
		blocks_memory_use(claims->strategy, given->memory);
	return status;
}

int mpi_claims_create(const struct mpi_claims_problem *problem, struct mpi_claims **into)
{
	struct mpi_claims *claims = calloc(1, sizeof(*claims));
	int status = -ENOMEM;

	if (!claims)
		return -ENOMEM;
	claims->left = problem->n;
	claims->bytes = problem->bytes;
	claims->moved = problem->moved ? problem->moved : &claims->own_moved;
	claims->at_hand = problem->at_hand;
	claims->alignment = problem->alignment ? problem->alignment : 1;
	claims->nranks = problem->nranks;
	claims->nhomes = problem->homes ? problem->nranks : 1;
	claims->homes = calloc(claims->nhomes, sizeof(*claims->homes));
	claims->open = calloc(claims->nhomes, sizeof(*claims->open));
	claims->under_way = calloc(problem->nranks, sizeof(*claims->under_way));
	claims->times = calloc(problem->nranks, sizeof(*claims->times));
	if (claims->homes && claims->open && claims->under_way && claims->times)
		status = strategy_make(problem, claims);
	if (status) {
		mpi_claims_destroy(claims);
		return status;
	}
	claims->homes[0].end = problem->n;
	for (unsigned r = 0; problem->homes && r < problem->nranks; r++)
		claims->homes[r] = (struct home){problem->homes[r], problem->homes[r + 1]};
	for (unsigned h = 0; h < claims->nhomes; h++)
		if (home_left(&claims->homes[h]))
			claims->open[claims->nopen++] = h;
	*into = claims;
	return 0;
}

void mpi_claims_destroy(struct mpi_claims *claims)
{
	if (!claims)
		return;
	heddle_strategy_destroy(claims->strategy);
	free(claims->homes);
	free(claims->open);
	free(claims->under_way);
	free(claims->times);
	free(claims);
}

/* Microseconds for an iteration on a rank. One of which nothing is known is as fast as the other.
 */
static double pace_of(const struct mpi_claims *claims, unsigned rank, unsigned other)
{
	if (claims->times[rank].pace > 0)
		return claims->times[rank].pace;
	return claims->times[other].pace > 0 ? claims->times[other].pace : 1;
}

/* How long the owner of a home will need for what is left there. */
static double home_us(const struct mpi_claims *claims, unsigned home, unsigned rank)
{
	return home_left(&claims->homes[home]) * pace_of(claims, home, rank);
}

/* A rank's own home while it lasts, then the one that lasts longest. Ranks that wait ask each time
 * that something changes, so this is most of what claims take where there are many. */
static unsigned home_choose(const struct mpi_claims *claims, unsigned rank)
{
	unsigned longest = 0;
	double most = 0;

	if (claims->nhomes > 1 && home_left(&claims->homes[rank]))
		return rank;
	for (unsigned i = 0; i < claims->nopen; i++) {
		double us = home_us(claims, claims->open[i], rank);

		if (us <= most)
			continue;
		most = us;
		longest = claims->open[i];
	}
	return longest;
}

/* Nothing is left there any more. */
static void home_close(struct mpi_claims *claims, unsigned home)
{
	unsigned i = 0;

	while (claims->open[i] != home)
		i++;
	claims->nopen--;
	memmove(&claims->open[i], &claims->open[i + 1],
	        (claims->nopen - i) * sizeof(*claims->open));
}

/* With how many iterations of another home a rank may help. Their data comes while the rank
 * computes what it has, and the owner goes on: all end at one time then. Of what the owner has,
 * half is done. */
static double help_most(const struct mpi_claims *claims, unsigned rank, unsigned home)
{
	double pace = pace_of(claims, rank, home), owner = pace_of(claims, home, rank);
	double own_us = claims->under_way[rank] * pace;
	double end_us = home_us(claims, home, rank) + claims->under_way[home] * owner / 2;
	double computed, moved;

	if (!claims->running)
		return home_left(&claims->homes[home]);
	if (!claims->moved->count && claims->bytes)
		return FIRST_HELP / claims->bytes + claims->alignment;
	computed = (end_us - own_us) / (pace + owner);
	moved = (end_us - claims->moved->start_us) / (claims->moved->pace + pace + owner);
	return computed < moved ? computed : moved;
}

/* How many iterations of a home the rank may have, a multiple of the alignment. Where its help
 * would not be worth while, and what the owner has left becomes less, the others need not count on
 * it. */
static size_t home_allows(struct mpi_claims *claims, unsigned rank, unsigned home)
{
	size_t left = home_left(&claims->homes[home]), n;
	double most;

	if (claims->nhomes == 1 || home == rank || !left)
		return left;
	most = help_most(claims, rank, home);
	if (claims->moved->count && most < WORTH_WHILE * left)
		heddle_strategy_retire(claims->strategy, rank);
	n = most <= 0 ? 0 : most < left ? most : left;
	return n == left ? n : n / claims->alignment * claims->alignment;
}

/* The owner goes from the front to the end; who helps takes what comes last, so that the owner's
 * own ranges stay long. */
static struct mpi_range home_take(struct home *home, size_t n, bool from_the_end)
{
	struct mpi_range range;

	range.n = n < home_left(home) ? n : home_left(home);
	if (from_the_end) {
		home->end -= range.n;
		range.start = home->end;
	} else {
		range.start = home->begin;
		home->begin += range.n;
	}
	return range;
}

static bool has_room(const struct mpi_claims *claims, unsigned rank)
{
	return !claims->under_way[rank] ||
	       (claims->overlaps &&
	        heddle_strategy_phase(claims->strategy, rank) == HEDDLE_PHASE_COMPLETION);
}

bool mpi_claims_next(struct mpi_claims *claims, unsigned rank, struct mpi_range *range)
{
	unsigned home = home_choose(claims, rank);
	size_t n, most = home_allows(claims, rank, home);

	claims->strategy->at_hand = claims->at_hand && (claims->nhomes == 1 || home == rank);
	if (!has_room(claims, rank) || !most || !(n = heddle_strategy_next(claims->strategy, rank)))
		return false;
	*range = home_take(&claims->homes[home], n < most ? n : most,
	                   claims->nhomes > 1 && home != rank);
	if (!home_left(&claims->homes[home]))
		home_close(claims, home);
	range->home = claims->nhomes > 1 ? home : claims->nranks;
	heddle_strategy_return(claims->strategy, rank, n - range->n);
	claims->under_way[rank] += range->n;
	claims->running += range->n;
	return true;
}

void mpi_claims_completed(struct mpi_claims *claims, unsigned rank, const struct mpi_range *range,
                          double us)
{
	struct heddle_block_time *time = &claims->times[rank];
	bool away = claims->nhomes > 1 && range->home != rank;

	/* A rank that waited for the data of others is not slow: `moved` has what that took. */
	heddle_strategy_completed(claims->strategy, rank, range->n,
	                          away && time->pace > 0 ? heddle_block_time_us(time, range->n)
	                                                 : us);
	if (range->home == rank)
		heddle_block_time_add(time, range->n, us, true, true);
	claims->under_way[rank] -= range->n;
	claims->running -= range->n;
	claims->left -= range->n;
}

void mpi_claims_moved(struct mpi_claims *claims, size_t n, double us)
{
	heddle_block_time_add(claims->moved, n, us, true, true);
}

bool mpi_claims_over(const struct mpi_claims *claims)
{
	return !claims->left;
}

int mpi_claims_learn(const struct mpi_claims *claims, struct blocks_memory **memory)
{
	return blocks_memory_learn(claims->strategy, memory);
}

double mpi_claims_rate(const struct mpi_claims *claims, unsigned rank)
{
	return heddle_strategy_rate(claims->strategy, rank);
}
