/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "config.h"

#include <starpu.h>

#ifdef HEDDLE_HAVE_FUT
/* Else its events are empty. */
#define CONFIG_FUT
#include <fxt/fxt.h>
#include <fxt/fut.h>
#endif

#include "partition/mpi/link_mpi.h"
#include "partition/mpi/run_starpu.h"
#include "support/log.h"

/* StarPU-MPI's event of a barrier: rank, number of ranks, a number of the program. From the first
 * one, starpu_fxt_tool knows the rank of a trace, and how the clocks of traces differ. */
#define TRACE_BARRIER 0x5203

/* Each rank has a trace of its own. */
static void trace_begin(int rank, int nranks)
{
#ifdef HEDDLE_HAVE_FUT
	static bool begun;

	if (begun || !starpu_fxt_is_enabled())
		return;
	begun = true;
	starpu_profiling_set_id(rank);
	FUT_DO_ALWAYS_PROBE4(TRACE_BARRIER, rank, nranks, nranks, 0);
#endif
}

void mpi_run_begin(const struct mpi_link *link)
{
	int rank, nranks;

	if (mpi_link_ranks(link) == 1)
		return;
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &nranks);
	heddle_log_run_begin(rank, starpu_timing_now());
	trace_begin(rank, nranks);
}
