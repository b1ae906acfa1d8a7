/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Data of the program's in a flow over ranks. It lies on one rank, the home of its label. Another
 * rank where a filter gets the label borrows it: it has a copy in memory of its own while it
 * processes the buffer. What is written goes back, and is at home before the buffer has ended. So
 * for StarPU the home runs a task that takes its time.
 */
#ifndef HEDDLE_MPI_LOANS_STARPU_H
#define HEDDLE_MPI_LOANS_STARPU_H

#include <stdbool.h>

#include "partition/mpi/demand.h"
#include "partition/mpi/link_mpi.h"
#include "partition/stream/flow_private.h"

struct loans;

/** @return NULL: no memory */
struct loans *loans_create(struct heddle_flow *flow, struct mpi_link *link,
                           struct mpi_demand *demand);
void loans_destroy(struct loans *loans);

/** An event needs data of other ranks; it needs it no longer. The flow's mutex is held. */
void loans_borrow(struct loans *loans, struct flow_event *event);
void loans_give_back(struct loans *loans, struct flow_event *event);

/** Another rank asks for data. The flow's mutex is held. */
void loans_lend(struct loans *loans, unsigned to, const struct mpi_message *message);

/** Sends and receives what there is. @return whether something changed */
bool loans_step(struct loans *loans);

/** Bytes that have come, and that have gone. */
void loans_bytes(const struct loans *loans, size_t *received, size_t *sent);

#endif
