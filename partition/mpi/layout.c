/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "config.h"

#include "layout.h"

unsigned mpi_layout_runs(const struct mpi_layout *layout, struct mpi_layout_run *runs)
{
	unsigned n = 0;

	for (unsigned r = 0; r < layout->nranks; r++) {
		size_t units = mpi_layout_of(layout, r).count;

		if (!n || runs[n - 1].units != units)
			runs[n++] = (struct mpi_layout_run){0, units};
		runs[n - 1].ranks++;
	}
	return n;
}

void mpi_layout_first(const struct mpi_layout_run *runs, unsigned n, size_t *first)
{
	*first = 0;
	for (unsigned i = 0; i < n; i++)
		for (uint64_t r = 0; r < runs[i].ranks; r++, first++)
			first[1] = first[0] + runs[i].units;
}

bool mpi_units_within(struct mpi_units inner, struct mpi_units outer)
{
	return !inner.count || (inner.first >= outer.first &&
	                        inner.first + inner.count <= outer.first + outer.count);
}

/* The rank that has a unit: the last one that begins at or before it. */
static unsigned owner(const struct mpi_layout *layout, size_t unit)
{
	unsigned least = 0, most = layout->nranks;

	while (most - least > 1) {
		unsigned middle = least + (most - least) / 2;

		if (layout->first[middle] <= unit)
			least = middle;
		else
			most = middle;
	}
	return least;
}

struct mpi_units mpi_layout_cut(const struct mpi_layout *layout, struct mpi_units *units,
                                size_t most, unsigned *rank)
{
	struct mpi_units part = *units;
	size_t end;

	if (!part.count)
		return part;
	*rank = owner(layout, part.first);
	end = layout->first[*rank + 1];
	if (part.count > end - part.first)
		part.count = end - part.first;
	if (part.count > most)
		part.count = most;
	units->first += part.count;
	units->count -= part.count;
	return part;
}

void mpi_layout_move(const struct mpi_layout *layout, unsigned rank, struct mpi_units units,
                     double bytes, struct mpi_moved *moved)
{
	unsigned from;
	size_t n;

	while ((n = mpi_layout_cut(layout, &units, units.count, &from).count)) {
		if (from == rank)
			continue;
		moved[rank].in += n * bytes;
		moved[from].out += n * bytes;
	}
}
