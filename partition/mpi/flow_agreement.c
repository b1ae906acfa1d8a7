/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "config.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "flow_agreement.h"

/* The first thing in which a filter differs; NULL: none. */
static const char *filter_differs(const struct mpi_flow_filter *a, const struct mpi_flow_filter *b)
{
	if (strcmp(a->name, b->name))
		return "its name differs";
	for (unsigned p = 0; p < MPI_FLOW_PORTS; p++)
		if (a->in[p] != b->in[p] || a->out[p] != b->out[p])
			return "the streams of its ports differ";
	return NULL;
}

static const char *stream_differs(const struct mpi_flow_stream *a, const struct mpi_flow_stream *b)
{
	if (strcmp(a->name, b->name))
		return "its name differs";
	for (unsigned p = 0; p < MPI_FLOW_PARTS; p++)
		if (a->elemsize[p] != b->elemsize[p] || a->nx[p] != b->nx[p] ||
		    a->ny[p] != b->ny[p])
			return "the shapes of its parts differ";
	if (a->data != b->data)
		return "whether it has data differs";
	if (a->home != b->home)
		return "whether it says where its data lies differs";
	return a->first != b->first || a->n != b->n ? "its labels of the start differ" : NULL;
}

/* Compares rank r with rank 0. @return whether they differ */
static bool differ(const struct mpi_flow_description *all, unsigned r, char *text, size_t size)
{
	const struct mpi_flow_description *a = &all[0], *b = &all[r];
	const char *what;

	if (strcmp(a->policy, b->policy)) {
		snprintf(text, size, "the policy (STARPU_SCHED) is %s on rank 0 and %s on rank %u",
		         a->policy, b->policy, r);
		return true;
	}
	if (a->nfilters != b->nfilters || a->nstreams != b->nstreams) {
		snprintf(text, size,
		         "it has %u filters and %u streams on rank 0, and %u and %u on rank %u",
		         a->nfilters, a->nstreams, b->nfilters, b->nstreams, r);
		return true;
	}
	for (unsigned f = 0; f < a->nfilters; f++)
		if ((what = filter_differs(&a->filters[f], &b->filters[f]))) {
			snprintf(text, size, "filter %s: %s between ranks 0 and %u",
			         a->filters[f].name, what, r);
			return true;
		}
	for (unsigned s = 0; s < a->nstreams; s++)
		if ((what = stream_differs(&a->streams[s], &b->streams[s]))) {
			snprintf(text, size, "stream %s: %s between ranks 0 and %u",
			         a->streams[s].name, what, r);
			return true;
		}
	return false;
}

int mpi_flow_check(const struct mpi_flow_description *all, unsigned nranks, char *text, size_t size)
{
	for (unsigned r = 1; r < nranks; r++)
		if (differ(all, r, text, size))
			return -EINVAL;
	for (unsigned f = 0; f < all[0].nfilters; f++) {
		unsigned r = 0;

		while (r < nranks && !all[r].filters[f].here)
			r++;
		if (r == nranks) {
			snprintf(text, size, "filter %s runs on no rank", all[0].filters[f].name);
			return -EINVAL;
		}
	}
	return 0;
}

uint64_t mpi_flow_reads(const struct mpi_flow_description *flow)
{
	uint64_t reads = 0;

	for (unsigned f = 0; f < flow->nfilters; f++)
		for (unsigned p = 0; p < MPI_FLOW_PORTS; p++)
			if (flow->filters[f].here && flow->filters[f].in[p] != UINT32_MAX)
				reads |= UINT64_C(1) << flow->filters[f].in[p];
	return reads;
}

bool mpi_flow_accelerated(const struct mpi_flow_description *all, unsigned nranks)
{
	for (unsigned r = 0; r < nranks; r++)
		for (unsigned f = 0; f < all[r].nfilters; f++)
			if (all[r].filters[f].accelerated)
				return true;
	return false;
}
