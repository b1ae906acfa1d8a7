/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * What logs and traces of several ranks need to be put together: who writes them, and a time that
 * all know.
 */
#ifndef HEDDLE_MPI_RUN_STARPU_H
#define HEDDLE_MPI_RUN_STARPU_H

struct mpi_link;

/** A run over ranks begins now, on all of them. One of a single rank is as one without MPI. */
void mpi_run_begin(const struct mpi_link *link);

#endif
