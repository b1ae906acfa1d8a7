/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Which rank computes which rows of a wavefront, and after how many columns ranks send what the
 * next one needs. Pure.
 */
#ifndef HEDDLE_MPI_WAVEFRONT_DEAL_H
#define HEDDLE_MPI_WAVEFRONT_DEAL_H

/* Every worker of every rank is a worker of the model of Andronikos et al. (Performance Evaluation
 * 67, 2010), with k chunks. Only where the rows of one rank meet those of another does a message
 * take c_d + h c_c. With k above 1 the rows are dealt in k rounds over the ranks, so that the first
 * one also waits for messages of the last.
 *
 * (8) counts two messages for each subchunk of the last worker, as workers of the paper compute or
 * send. Here they compute meanwhile. So only the messages count for which ranks wait at the
 * beginning, unless messages come less often than tiles end. */

#include <stddef.h>
#include <stdint.h>

#include "partition/wavefront/cost.h"
#include "partition/wavefront/model.h"

/** Messages that are under way at either end at once. */
#define MPI_WAVE_UNDER_WAY 4

/** Rounds at the most. */
#define MPI_WAVE_ROUNDS 64

/** Kinds of workers of a rank that are told apart. */
#define MPI_WAVE_KINDS 8

/** The workers of a rank. What goes between ranks: no pointers. */
struct mpi_wave_power {
	uint32_t nkinds;
	struct mpi_wave_workers {
		char name[56];
		uint32_t count;             /**< at least 1 */
		struct wave_tile_cost cost; /**< iteration 0: not known */
	} kinds[MPI_WAVE_KINDS];
	char machine[64];
};

/** Adds a worker to a rank's. Beyond MPI_WAVE_KINDS it counts as one of the last kind. */
void mpi_wave_power_add(struct mpi_wave_power *power, const char *name,
                        const struct wave_tile_cost *cost);

struct mpi_wave_problem {
	size_t rows, columns, sweeps, skew; /**< rows and columns at least 1 */
	size_t minimum;                     /**< fewest rows of a rank that has any, at least 1 */
	size_t h;                           /**< 0: to be chosen */
	unsigned k;                         /**< 0: to be chosen */
	double cd, cc; /**< of a message between ranks, and of a column of it */
	double own_us; /**< that a message takes of its ranks' workers, on the cores of which MPI
	                  runs */
	unsigned nranks;
	const struct mpi_wave_power *powers; /**< of each rank, at least one worker */
};

struct mpi_wave_plan {
	size_t h;            /**< columns between messages */
	unsigned k;          /**< rounds over the ranks */
	double predicted_us; /**< by the model; 0: costs are not known */
};

/** Workers of one machine and name are as fast as the fastest of them that others differ from by
 * less than WAVE_DRIFT: what differs in samples of a few milliseconds is mostly what else the
 * machine does.
 * @param[out] pooled as many, apart from `measured`, so that the order of ranks has no part in it
 */
void mpi_wave_powers_pool(const struct mpi_wave_power *measured, unsigned nranks,
                          struct mpi_wave_power *pooled);

/** Whether the costs of all workers are known. */
int mpi_wave_known(const struct mpi_wave_power *powers, unsigned nranks);

/** The model of a problem whose costs are known. */
void mpi_wave_model(const struct mpi_wave_problem *problem, struct wave_model *model);

/** Deals rows to ranks in proportion to their power, and chooses h and k. Over several sweeps k
 * is 1: a rank would wait for all others in each.
 * @param[out] first room for MPI_WAVE_ROUNDS * nranks + 1 entries, for k * nranks + 1 if k is
 * given: range q is rows first[q] to first[q + 1] - 1, which rank q % nranks computes. They are
 * none, or no fewer than the minimum, unless there are fewer rows at all
 * @return 0; -ENOMEM */
int mpi_wave_deal(const struct mpi_wave_problem *problem, struct mpi_wave_plan *plan,
                  size_t *first);

#endif
