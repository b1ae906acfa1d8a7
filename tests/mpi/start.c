/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Ranks divide this machine, and rank 1 hangs when it should say where it may run.
 */
#include "config.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <hwloc.h>
#include <mpi.h>
#include <starpu.h>
#include <heddle/mpi.h>

static const char *what;
static int rank = -1;

/* Libraries ask this function, which comes first, and not their own. */
int hwloc_get_cpubind(hwloc_topology_t topology, hwloc_bitmap_t set, int flags)
{
	/* MPI's start may ask, too. */
	if (rank == 1 && !strcmp(what, "hang"))
		raise(SIGSTOP);
	hwloc_bitmap_copy(set, hwloc_topology_get_allowed_cpuset(topology));
	return 0;
}

int main(int argc, char **argv)
{
	int level, status;

	what = argc > 1 ? argv[1] : "";
	MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &level);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	status = heddle_mpi_starpu_init(NULL);
	printf("rank %d: %s: %d, %u workers\n", rank, what, status, starpu_worker_get_count());
	if (!status)
		starpu_shutdown();
	MPI_Finalize();
	return status ? 1 : 0;
}
