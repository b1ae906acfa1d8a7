/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * What the ranks on one machine have of it: each its own cores, and its own devices.
 */
#ifndef HEDDLE_MPI_PLACE_H
#define HEDDLE_MPI_PLACE_H

#include <hwloc.h>

/** The processors of a rank. Launchers bind ranks, and some bind each to one core unless told
 * otherwise: where all are bound to no more than half of the machine they share all of it. Else
 * ranks that are bound to the same processors share these, and a rank that is bound to others keeps
 * them. Where there are more ranks than cores, several have the same core.
 * @param bound processors of each rank
 * @param[out] own those of `rank`
 * @return 0; -ENOMEM */
int mpi_place_cores(hwloc_topology_t topology, const hwloc_const_cpuset_t *bound, unsigned rank,
                    unsigned nranks, hwloc_cpuset_t own);

/** Which of n things a rank has: *first to before the result. */
unsigned mpi_place_share(unsigned n, unsigned rank, unsigned nranks, unsigned *first);

/** How many of all devices a variable of StarPU's names. NULL, and a number below 0: all. */
unsigned mpi_place_said(const char *number, unsigned all);

/** How many cores have no worker, for the thread that calls MPI: an accelerator would wait for its
 * answers where it shares a core. Where there are few cores, none. */
unsigned mpi_place_free(unsigned cores, unsigned accelerators);

#endif
