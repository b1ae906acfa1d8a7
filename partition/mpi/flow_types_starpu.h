/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The types of the buffers of a flow over ranks, by what the estimator knows of the tasks that they
 * would be, and what the devices of this rank need for them.
 */
#ifndef HEDDLE_MPI_FLOW_TYPES_STARPU_H
#define HEDDLE_MPI_FLOW_TYPES_STARPU_H

#include "partition/mpi/demand.h"
#include "partition/stream/flow_private.h"

struct flow_types {
	struct heddle_flow *flow;
	struct mpi_demand *demand;
	unsigned long keys[QUEUES_TYPES]; /* of the estimator; 0: no buffer was here */
	double looked_us;
};

/** Whether the policy of this rank is one that selects buffers by gain. */
bool flow_types_select(void);

/** A queues_type. */
unsigned flow_types_of(void *types, unsigned stream, uint64_t label, uint32_t buffer);

/** Tells other ranks what was measured here. The flow's mutex is held. */
void flow_types_tell(struct flow_types *types);

#endif
