/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Who has been silent for too long. Ranks that have nothing to say tell each other now and then
 * that they are there: rank 0 tells all others, and they tell rank 0.
 */
#ifndef HEDDLE_MPI_WATCH_H
#define HEDDLE_MPI_WATCH_H

#include <stdbool.h>

struct mpi_watch {
	unsigned rank, nranks;
	double limit_us; /**< silence that ends the run; 0: none does */
	double told_us;  /**< when this rank last told that it is there */
	double look_us;  /**< when it last looked who is */
	double *heard;   /**< when each rank was last heard of */
};

/** @return 0; -ENOMEM */
int mpi_watch_init(struct mpi_watch *watch, unsigned rank, unsigned nranks, double limit_us);
void mpi_watch_fini(struct mpi_watch *watch);

/** Silence counts from now on. */
void mpi_watch_begin(struct mpi_watch *watch, double now_us);

/** This rank looks who is there. The time in which it stood still itself, as on a machine with much
 * other work or one that was paused, is no silence of others.
 * @return that time; 0: it did not */
double mpi_watch_look(struct mpi_watch *watch, double now_us);

static inline void mpi_watch_heard(struct mpi_watch *watch, unsigned rank, double now_us)
{
	watch->heard[rank] = now_us;
}

/** Whether it is time to tell the others that this rank is there; if so, they count as told. */
bool mpi_watch_due(struct mpi_watch *watch, double now_us);

/** The ranks that this one tells that it is there: *first to the one before *end. They are also
 * those whose silence it notices. */
void mpi_watch_others(const struct mpi_watch *watch, unsigned *first, unsigned *end);

/** A rank that has been silent for too long.
 * @return -1: none */
int mpi_watch_silent(const struct mpi_watch *watch, double now_us);

#endif
