/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Work stealing between ranks. Each rank begins with all iterations whose data it has, as one
 * range, without asking. A rank that will soon have done its own asks for more, and this says from
 * whom it gets how many: from the end of what the rank that will be busy longest has left, so many
 * that all would end at one time. That rank is asked first: only it knows what its workers have not
 * begun. So ranks that are alike have one range each, and nobody waits for answers.
 *
 * Pure: the caller has the clock and the messages.
 */
#ifndef HEDDLE_MPI_STEALS_H
#define HEDDLE_MPI_STEALS_H

#include <stdbool.h>
#include <stddef.h>

#include "partition/mpi/claims.h"

struct mpi_steals;

struct mpi_steals_problem {
	size_t n;         /**< iterations */
	unsigned nranks;  /**< 1 or more */
	size_t alignment; /**< what is stolen is a multiple of this; 0: 1 */
	/** As in mpi_claims_problem. NULL: equal parts, and where iterations run makes no
	 * difference. */
	const size_t *homes;
	size_t bytes; /**< that are sent for an iteration away from home, there and back */
	/** What it takes to send iterations, of earlier runs; learns more. NULL: it is not kept. */
	struct heddle_block_time *moved;
	/** The same of what a stolen range takes beside its iterations: a pace for each range. */
	struct heddle_block_time *ranges;
	/** The same of what passes until a rank has what another one was asked for. */
	struct heddle_block_time *answers;
	/** The same of each rank's pace at home, 0: not known. */
	double *paces;
};

/** Iterations that a rank shall give up. */
struct mpi_steal {
	unsigned thief, victim;
	size_t n;
	size_t of; /**< so many are thought to be left there: of fewer, it gives up fewer */
};

/** How far a rank is. */
struct mpi_progress {
	size_t left; /**< iterations of its range that are not computed */
	double pace; /**< microseconds for one, all workers together; 0: not known */
};

/** The range that a rank begins with; of no iterations: it has no home. */
struct mpi_range mpi_steals_home(const struct mpi_steals_problem *problem, unsigned rank);

/** @return NULL: no memory */
struct mpi_steals *mpi_steals_create(const struct mpi_steals_problem *problem);
void mpi_steals_destroy(struct mpi_steals *steals);

/** All ranks that have a home begin now. */
void mpi_steals_begin(struct mpi_steals *steals, double now_us);

/** A rank asks for a range, as it has none or is nearly done. */
void mpi_steals_ask(struct mpi_steals *steals, unsigned rank, double now_us);

/** Who shall give up what now, for whom. The answer is told by mpi_steals_given().
 * @return false: nobody, now. It may be other after any other call, and later */
bool mpi_steals_next(struct mpi_steals *steals, double now_us, struct mpi_steal *steal);

/** Who shall ask before it is nearly done, as links are slow: each one once until it asks.
 * @return false: nobody, now */
bool mpi_steals_early(struct mpi_steals *steals, double now_us, unsigned *rank);

/** Whether a rank was told to give some up, and has not answered each time. */
bool mpi_steals_asked(const struct mpi_steals *steals, unsigned rank);

/** A rank has n iterations that the one that was asked for it has given up. */
void mpi_steals_given(struct mpi_steals *steals, unsigned thief, size_t n, double now_us);

/** The rank that was asked for this one has nothing to give up. */
void mpi_steals_kept(struct mpi_steals *steals, unsigned thief);

/** A rank tells how far it is with its range each time that no more than this part of what it told
 * last is left. */
#define MPI_STEALS_TOLD 0.75
void mpi_steals_progress(struct mpi_steals *steals, unsigned rank, struct mpi_progress progress,
                         double now_us);

/** A rank has computed a range of n iterations, in `us` microseconds. */
void mpi_steals_completed(struct mpi_steals *steals, unsigned rank, size_t n, double us,
                          double now_us);

/** It has computed n iterations at the edge of its home, beside the others. */
void mpi_steals_completed_edge(struct mpi_steals *steals, size_t n);

/** See mpi_claims_moved(). */
void mpi_steals_moved(struct mpi_steals *steals, size_t n, double us);

/** Whether all iterations are computed. */
bool mpi_steals_over(const struct mpi_steals *steals);

#endif
