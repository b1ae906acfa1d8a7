/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Whether all ranks have the same flow, but for where filters run. Pure.
 */
#ifndef HEDDLE_MPI_FLOW_AGREEMENT_H
#define HEDDLE_MPI_FLOW_AGREEMENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { MPI_FLOW_MAX = 64, MPI_FLOW_PORTS = 8, MPI_FLOW_PARTS = 4 };

struct mpi_flow_filter {
	char name[32];        /* cut */
	uint32_t here;        /* whether the rank runs it … */
	uint32_t accelerated; /* … on accelerators, too */
	/* Streams that its ports read and write; UINT32_MAX: none. */
	uint32_t in[MPI_FLOW_PORTS], out[MPI_FLOW_PORTS];
};

struct mpi_flow_stream {
	char name[32];
	uint64_t elemsize[MPI_FLOW_PARTS], nx[MPI_FLOW_PARTS], ny[MPI_FLOW_PARTS];
	uint64_t first, n;
	uint32_t data, home; /* whether it has these */
};

/** What a rank says of its flow. */
struct mpi_flow_description {
	char policy[32]; /* its name, cut */
	uint32_t nfilters, nstreams;
	struct mpi_flow_filter filters[MPI_FLOW_MAX];
	struct mpi_flow_stream streams[MPI_FLOW_MAX];
};

/** The first difference between two ranks' flows, or the first filter that runs nowhere, as text.
 * @return 0: there is none; -EINVAL */
int mpi_flow_check(const struct mpi_flow_description *all, unsigned nranks, char *text,
                   size_t size);

/** Streams that the filters of a rank read: bits. */
uint64_t mpi_flow_reads(const struct mpi_flow_description *flow);

/** Whether a filter runs on an accelerator of any rank. */
bool mpi_flow_accelerated(const struct mpi_flow_description *all, unsigned nranks);

#endif
