/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "config.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <time.h>

#include "partition/mpi/link_mpi.h"
#include "partition/mpi/world.h"
#include "support/message.h"
#include "support/variables.h"

static bool begun; /* a loop, a wavefront or a flow */

#ifdef HEDDLE_USE_SIMGRID
static void broadcast(void *data, size_t bytes)
{
	MPI_Bcast(data, bytes, MPI_BYTE, 0, MPI_COMM_WORLD);
}

static void reduce(void *values, size_t n, MPI_Datatype type, MPI_Op op)
{
	MPI_Allreduce(MPI_IN_PLACE, values, n, type, op, MPI_COMM_WORLD);
}
#else
/* How long a rank that waits sleeps between two looks. */
#define NAP_NS 50000L

/* Who waits for files that others read or write has so many times the patience. */
#define PATIENCE 30

/* Ranks meet between runs, too: one that does not come in time ends the program.
 * @param files whether others may still read or write */
static double meeting_limit_s(bool files)
{
	return (files ? PATIENCE : 1) * heddle_variable_number(HEDDLE_VARIABLE_NODE_TIMEOUT);
}

static struct mpi_link *meeting_open(double limit_s, const char *name)
{
	struct mpi_link *link;

	if (mpi_link_open(MPI_COMM_WORLD, limit_s, "step", name, &link)) {
		heddle_warn("a program over ranks: no memory; the run ends on all ranks");
		MPI_Abort(MPI_COMM_WORLD, 1);
	}
	return link;
}

/* MPI cannot wake a thread that sleeps, and where ranks share cores its own waits keep a worker of
 * another rank from its core. So the thread looks, and sleeps in between. */
static void meeting_end(struct mpi_link *link)
{
	const struct timespec nap = {0, NAP_NS};

	for (mpi_link_progress(link); mpi_link_under_way(link); mpi_link_progress(link))
		nanosleep(&nap, NULL);
	mpi_link_close(link);
}

static void broadcast(void *data, size_t bytes)
{
	struct mpi_link *link = meeting_open(meeting_limit_s(!begun), "between runs");

	mpi_link_broadcast(link, 0, &(struct mpi_rows){data, 1, bytes, bytes}, NULL, NULL);
	meeting_end(link);
}

static void reduce(void *values, size_t n, MPI_Datatype type, MPI_Op op)
{
	struct mpi_link *link = meeting_open(meeting_limit_s(!begun), "between runs");

	mpi_link_reduce(link, values, n, type, op);
	meeting_end(link);
}

void mpi_world_meet(void)
{
	int none = 0;

	reduce(&none, 1, MPI_INT, MPI_MIN);
}

void mpi_world_gather(const void *own, void *all, size_t bytes)
{
	struct mpi_link *link = meeting_open(meeting_limit_s(false), "that divides machines");

	mpi_link_gather(link, own, all, bytes, NULL, NULL);
	meeting_end(link);
}
#endif

static int world_begin(int *argc, char ***argv, int *rank, int *nranks)
{
	int level;

	if (MPI_Init_thread(argc, argv, MPI_THREAD_FUNNELED, &level) != MPI_SUCCESS)
		return heddle_refuse(-ENODEV, "MPI does not start here");
	MPI_Comm_rank(MPI_COMM_WORLD, rank);
	MPI_Comm_size(MPI_COMM_WORLD, nranks);
	return 0;
}

/* The others wait for rank 0 while it writes. Then all meet once more: MPI_Finalize() would wait
 * for ever for one that has ended meanwhile. */
static void world_end(void)
{
#ifndef HEDDLE_USE_SIMGRID
	int rank, written = 0;
	struct mpi_link *link;

	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	link = meeting_open(meeting_limit_s(rank), "at the end");
	mpi_link_at_end(link);
	mpi_link_spread(link, &written, sizeof(written), sizeof(written));
	meeting_end(link);
	link = meeting_open(meeting_limit_s(false), "at the end");
	mpi_link_at_end(link);
	mpi_link_reduce(link, &written, 1, MPI_INT, MPI_MIN);
	meeting_end(link);
#endif
	MPI_Finalize();
}

static int world_all(int status)
{
	reduce(&status, 1, MPI_INT, MPI_MIN);
	return status;
}

static int world_loop_run(const struct heddle_loop *loop, const struct heddle_mpi_place *places,
                          struct heddle_mpi_rank_stats *ranks, struct heddle_loop_stats *stats)
{
	begun = true;
	return heddle_mpi_loop_run(loop, MPI_COMM_WORLD, places, ranks, stats);
}

static int world_wavefront_run(const struct heddle_wavefront *wavefront,
                               const struct heddle_mpi_place *places,
                               struct heddle_mpi_wave_rank *ranks,
                               struct heddle_wavefront_stats *stats)
{
	begun = true;
	return heddle_mpi_wavefront_run(wavefront, MPI_COMM_WORLD, places, ranks, stats);
}

static int world_flow_run(struct heddle_flow *flow, struct heddle_mpi_flow_rank *ranks,
                          struct heddle_flow_stats *stats)
{
	begun = true;
	return heddle_mpi_flow_run(flow, MPI_COMM_WORLD, ranks, stats);
}

/* MPI counts with int. */
static void reduce_many(uint64_t *values, size_t n, MPI_Op op)
{
	const size_t most = (size_t)1 << 24;

	for (size_t done = 0; done < n; done += most)
		reduce(values + done, n - done < most ? n - done : most, MPI_UINT64_T, op);
}

static void world_sum(uint64_t *values, size_t n)
{
	reduce_many(values, n, MPI_SUM);
}

static void world_largest(uint64_t *values, size_t n)
{
	reduce_many(values, n, MPI_MAX);
}

#ifdef HEDDLE_USE_SIMGRID
/* StarPU asks on which simulated node it is: the first time in starpu_init(), later also on threads
 * that MPI does not know. StarPU-MPI has such a function, too. */
int starpu_mpi_world_rank(void);
int __attribute__((weak)) starpu_mpi_world_rank(void)
{
	static int rank = -1;

	if (rank < 0)
		MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	return rank;
}
#endif

const struct mpi_world heddle_mpi_world = {
    .begin = world_begin,
    .end = world_end,
    .starpu_init = heddle_mpi_starpu_init,
    .tell = broadcast,
    .all = world_all,
    .loop_run = world_loop_run,
    .wavefront_run = world_wavefront_run,
    .flow_run = world_flow_run,
    .sum = world_sum,
    .largest = world_largest,
};
