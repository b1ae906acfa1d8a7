/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Which iterations a rank gets next. A block strategy (heddle/strategy.h), to which a rank is a
 * worker, says how many; this hands out which: first those whose data the rank has, then from the
 * end of what the rank that is longest busy with its own would come to last. Such a range is no
 * longer than that data, computation and results take no more time than the owner would need: where
 * an iteration is dearer to send than to compute, ranks stay at home.
 */
#ifndef HEDDLE_MPI_CLAIMS_H
#define HEDDLE_MPI_CLAIMS_H

#include <stdbool.h>
#include <stddef.h>

struct blocks_memory;
struct heddle_block_time;
struct mpi_claims;

/** Iterations start to start + n - 1. */
struct mpi_range {
	size_t start, n;
	unsigned home; /**< the rank that has their data; as many as there are ranks: none has */
};

/** What is to be shared. */
struct mpi_claims_problem {
	const char *strategy; /**< specification */
	size_t n;             /**< iterations */
	unsigned nranks;      /**< 1 or more */
	size_t alignment;     /**< ranges are multiples of this where they can be; 0: 1 */
	/** Rank r has the data of iterations homes[r] to homes[r + 1] - 1: nranks + 1 entries from
	 * 0 to n. NULL: where iterations run makes no difference. */
	const size_t *homes;
	/** A rank has all that iterations at home read; without `homes`, that any read. Then
	 * nothing is gained by many short ranges. */
	bool at_hand;
	size_t bytes; /**< that are sent for an iteration away from home, there and back */
	/** What it takes to send iterations, of earlier runs; learns more. NULL: it is not kept. */
	struct heddle_block_time *moved;
	const struct blocks_memory *memory; /**< of earlier runs; NULL: there is none */
};

/** @return 0; -ENOMEM; -EINVAL after a message about the strategy */
int mpi_claims_create(const struct mpi_claims_problem *problem, struct mpi_claims **claims);
void mpi_claims_destroy(struct mpi_claims *claims);

/** Gives a rank its next range. A rank has a second one beside the one that it computes, so that
 * data arrives meanwhile, once its rate is known and where the strategy allows it.
 * @return false: none now. It may get one after a later call of mpi_claims_completed() */
bool mpi_claims_next(struct mpi_claims *claims, unsigned rank, struct mpi_range *range);

/** A rank has computed a range.
 * @param us microseconds for it; where ranges overlap, since the one before. At home without waits
 * for data: a rank that others keep waiting is not slow */
void mpi_claims_completed(struct mpi_claims *claims, unsigned rank, const struct mpi_range *range,
                          double us);

/** The data of n iterations has come from their home, and their results have gone there.
 * @param us microseconds that both took */
void mpi_claims_moved(struct mpi_claims *claims, size_t n, double us);

/** Whether all iterations are computed. */
bool mpi_claims_over(const struct mpi_claims *claims);

/** Adds what a run has told of the ranks that is over; see blocks_memory_learn(). */
int mpi_claims_learn(const struct mpi_claims *claims, struct blocks_memory **memory);

/** Iterations a microsecond; 0: not known. */
double mpi_claims_rate(const struct mpi_claims *claims, unsigned rank);

#endif
