/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Messages of one size that go one way between two ranks, many times: persistent requests, of which
 * a few are under way at a time. A message counts as sent once the other rank receives it, so that
 * no rank gets more than it has room for.
 */
#ifndef HEDDLE_MPI_HALO_H
#define HEDDLE_MPI_HALO_H

#include <stdbool.h>
#include <stddef.h>

#include "partition/mpi/link_mpi.h"
#include "partition/mpi/wavefront_deal.h"

struct mpi_halo;

/** @param peer rank that they go to, or come from
 * @param total messages there will be at the most
 * @return NULL: no memory */
struct mpi_halo *mpi_halo_open(struct mpi_link *link, unsigned peer, bool sends, size_t bytes,
                               size_t total);

/** Room for the next message to be sent, or the next message that has come; NULL: none yet. */
void *mpi_halo_buffer(struct mpi_halo *halo);

/** Sends that message, or gives its room back. */
void mpi_halo_next(struct mpi_halo *halo);

/** Messages so far. */
size_t mpi_halo_count(const struct mpi_halo *halo);

/** Whether nothing that was sent is under way any more. */
bool mpi_halo_is_idle(struct mpi_halo *halo);

/** Nothing is under way, and nothing more comes. */
void mpi_halo_close(struct mpi_halo *halo);

#endif
