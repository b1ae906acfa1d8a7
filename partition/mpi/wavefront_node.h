/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * What the files of a wavefront over ranks share. A front is a rank's side of it: the rows that it
 * computes, its arrays with what lies around these rows, and the messages to and from the ranks
 * above and below.
 */
#ifndef HEDDLE_MPI_WAVEFRONT_NODE_H
#define HEDDLE_MPI_WAVEFRONT_NODE_H

#include <stdbool.h>

#include <heddle/mpi.h>

#include "partition/mpi/halo_mpi.h"
#include "partition/mpi/node_private.h"
#include "partition/mpi/wavefront_agreement.h"
#include "partition/mpi/wavefront_deal.h"
#include "partition/wavefront/part.h"

struct front_array {
	struct node_array node; /* `share` is HEDDLE_WHOLE where every rank has all of it */
	enum heddle_extent extent;
	/* What this rank computes with: */
	size_t units; /* of the array */
	/* Of each of its ranges: the unit of the whole array that would be the first here if all
	 * from there on were. */
	ptrdiff_t origins[MPI_WAVE_ROUNDS];
	char *at;     /* the first one here */
	size_t pitch; /* bytes from a unit to the next */
	char *copy;   /* where it is not in place; NULL: it is */
	starpu_data_handle_t handle;
};

struct front {
	struct heddle_wavefront wave; /* its tile_columns and sweeps are set */
	const char *name;
	struct mpi_link *link;
	unsigned rank, nranks;
	struct wave_part_shape shape;
	unsigned narrays; /* that all have agreed on */
	struct front_array arrays[MPI_MAXARRAYS];
	unsigned rounds;        /* over the ranks */
	struct mpi_units *rows; /* rounds * nranks ranges: range q is of rank q % nranks */
	struct mpi_wave_plan plan;
	struct wave_range *ranges; /* this rank's */
	struct wave_part part;
	struct heddle_wavefront_request *request; /* NULL: none, or it has ended */
	struct mpi_halo *coming[NSIDES], *going[NSIDES];
	bool told;     /* that this rank's part has failed */
	bool stopped;  /* another one's has */
	bool released; /* the part may end */
	bool bye, done;
	unsigned byes; /* rank 0: of how many */
	int status, failed;
	double begin_us;
	struct heddle_mpi_wave_rank stats;
	struct heddle_wavefront_stats *own;
};

/* ---- wavefront_array_starpu.c ---- */

/* Makes what every rank has whole. */
void front_arrays_share(struct front *front);
/* Makes ready what this rank computes its rows with, those around them included.
 * @return 0; -ENOMEM */
int front_arrays_fetch(struct front *front);
/* Drops that. */
void front_arrays_drop(struct front *front);
/* What it costs until ranks have what they compute their rows with, and until results are where
 * they belong.
 * @param cd, byte what a message costs, and a byte of it
 * @return microseconds */
double front_arrays_us(const struct front *front, double cd, double byte);
/* Sends results to where they belong. */
void front_arrays_return(struct front *front);
void front_arrays_finish(struct front *front);

/* ---- wavefront_starpu.c ---- */

/* Makes room for so many rounds of ranges. */
void front_rounds_set(struct front *front, unsigned rounds);
/* Makes the part of the rows that this rank has, without neighbours. */
void front_part_init(struct front *front);

/* ---- wavefront_cost_starpu.c ---- */

/* Decides which rank computes which rows, and sets the front's rows and plan.
 * @return 0; -errno, the same on all ranks, after a message */
int front_plan(struct front *front);

#endif
