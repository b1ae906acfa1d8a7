/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "config.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>

#include "partition/mpi/place.h"

/* Of so many cores one is worth less than what accelerators wait otherwise. */
#define CORES_LEAST 4

/* All that a rank is bound to, and its number among those that have the same. */
struct sharing {
	hwloc_const_cpuset_t set;
	unsigned rank, nranks;
};

static struct sharing sharing_find(hwloc_const_cpuset_t machine, const hwloc_const_cpuset_t *bound,
                                   unsigned rank, unsigned nranks, hwloc_cpuset_t all)
{
	struct sharing found = {machine, rank, nranks};

	hwloc_bitmap_zero(all);
	for (unsigned r = 0; r < nranks; r++)
		hwloc_bitmap_or(all, all, bound[r]);
	if (2 * hwloc_bitmap_weight(all) <= hwloc_bitmap_weight(machine))
		return found;
	found = (struct sharing){bound[rank], 0, 0};
	for (unsigned r = 0; r < nranks; r++) {
		bool same = hwloc_bitmap_isequal(bound[r], bound[rank]);

		found.nranks += same;
		found.rank += same && r < rank;
	}
	return found;
}

/* The part of a rank, of neighbouring cores. */
static int part_find(hwloc_topology_t topology, unsigned rank, unsigned nranks, hwloc_cpuset_t own)
{
	hwloc_obj_t root = hwloc_get_root_obj(topology);
	hwloc_cpuset_t *parts = calloc(nranks, sizeof(*parts));
	int status = parts ? hwloc_distrib(topology, &root, 1, parts, nranks, INT_MAX, 0) : -1;

	if (!status)
		hwloc_bitmap_copy(own, parts[rank]);
	for (unsigned r = 0; r < nranks && !status; r++)
		hwloc_bitmap_free(parts[r]);
	free(parts);
	return status ? -ENOMEM : 0;
}

int mpi_place_cores(hwloc_topology_t topology, const hwloc_const_cpuset_t *bound, unsigned rank,
                    unsigned nranks, hwloc_cpuset_t own)
{
	struct sharing shared =
	    sharing_find(hwloc_topology_get_allowed_cpuset(topology), bound, rank, nranks, own);
	hwloc_topology_t part;
	int status;

	if (hwloc_topology_dup(&part, topology))
		return -ENOMEM;
	status = hwloc_topology_restrict(part, shared.set, 0) ? -ENOMEM : 0;
	if (!status)
		status = part_find(part, shared.rank, shared.nranks, own);
	hwloc_topology_destroy(part);
	return status;
}

unsigned mpi_place_share(unsigned n, unsigned rank, unsigned nranks, unsigned *first)
{
	*first = (size_t)n * rank / nranks;
	return (size_t)n * (rank + 1) / nranks;
}

unsigned mpi_place_said(const char *number, unsigned all)
{
	int n = number ? atoi(number) : -1;

	return n < 0 ? all : (unsigned)n;
}

unsigned mpi_place_free(unsigned cores, unsigned accelerators)
{
	return accelerators && cores >= CORES_LEAST + accelerators;
}
