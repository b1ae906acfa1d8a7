/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "config.h"

#include <errno.h>
#include <stdlib.h>

#include <heddle/strategy.h>

#include "claims.h"
#include "partition/blocks/memory.h"

/* Iterations of one home that nobody has: begin to end - 1. */
struct home {
	size_t begin, end;
};

struct mpi_claims {
	struct heddle_strategy *strategy;
	bool overlaps;      /* a rank may have two ranges */
	size_t left;        /* iterations that are not computed */
	unsigned nhomes;    /* 1: where iterations run makes no difference */
	struct home *homes; /* home r is rank r's */
	size_t *under_way;  /* of each rank: iterations that it has */
};

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
	claims->nhomes = problem->homes ? problem->nranks : 1;
	claims->homes = calloc(claims->nhomes, sizeof(*claims->homes));
	claims->under_way = calloc(problem->nranks, sizeof(*claims->under_way));
	if (claims->homes && claims->under_way)
		status = strategy_make(problem, claims);
	if (status) {
		mpi_claims_destroy(claims);
		return status;
	}
	claims->homes[0].end = problem->n;
	for (unsigned r = 0; problem->homes && r < problem->nranks; r++)
		claims->homes[r] = (struct home){problem->homes[r], problem->homes[r + 1]};
	*into = claims;
	return 0;
}

void mpi_claims_destroy(struct mpi_claims *claims)
{
	if (!claims)
		return;
	heddle_strategy_destroy(claims->strategy);
	free(claims->homes);
	free(claims->under_way);
	free(claims);
}

static size_t home_left(const struct home *home)
{
	return home->end - home->begin;
}

/* A rank's own home while it lasts, then the fullest one. */
static unsigned home_choose(const struct mpi_claims *claims, unsigned rank)
{
	unsigned fullest = 0;

	if (claims->nhomes > 1 && home_left(&claims->homes[rank]))
		return rank;
	for (unsigned h = 1; h < claims->nhomes; h++)
		if (home_left(&claims->homes[h]) > home_left(&claims->homes[fullest]))
			fullest = h;
	return fullest;
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
	unsigned home;
	size_t n;

	if (!has_room(claims, rank) || !(n = heddle_strategy_next(claims->strategy, rank)))
		return false;
	home = home_choose(claims, rank);
	*range = home_take(&claims->homes[home], n, claims->nhomes > 1 && home != rank);
	heddle_strategy_return(claims->strategy, rank, n - range->n);
	claims->under_way[rank] += range->n;
	return true;
}

void mpi_claims_completed(struct mpi_claims *claims, unsigned rank, size_t n, double us)
{
	heddle_strategy_completed(claims->strategy, rank, n, us);
	claims->under_way[rank] -= n;
	claims->left -= n;
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
