/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Which rank has which units (elements of a vector, rows of a matrix) of an array.
 */
#ifndef HEDDLE_MPI_LAYOUT_H
#define HEDDLE_MPI_LAYOUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** Rank r has units first[r] to first[r + 1] - 1. */
struct mpi_layout {
	unsigned nranks;
	const size_t *first; /**< nranks + 1 entries that do not decrease; the first is 0 */
};

/** Units in the order of the array, from `first` on. */
struct mpi_units {
	size_t first, count;
};

/** The units of a rank. */
static inline struct mpi_units mpi_layout_of(const struct mpi_layout *layout, unsigned rank)
{
	return (struct mpi_units){layout->first[rank],
	                          layout->first[rank + 1] - layout->first[rank]};
}

static inline size_t mpi_layout_total(const struct mpi_layout *layout)
{
	return layout->first[layout->nranks];
}

/** Ranks in a row that have as many units each: of equal parts there are two such runs at the most,
 * however many ranks. */
struct mpi_layout_run {
	uint64_t ranks, units;
};

/** The runs of a layout. @param[out] runs room for nranks of them
 * @return how many */
unsigned mpi_layout_runs(const struct mpi_layout *layout, struct mpi_layout_run *runs);

/** The layout that has such runs. @param[out] first an entry more than their ranks */
void mpi_layout_first(const struct mpi_layout_run *runs, unsigned n, size_t *first);

/** Whether `outer` has all of `inner`; an empty one is in every other. */
bool mpi_units_within(struct mpi_units inner, struct mpi_units outer);

/** The leading part of some units that one rank has, and no more than `most` of it.
 * @param units within the array; becomes what is left
 * @param[out] rank that has them
 * @return a part of no units: none was left */
struct mpi_units mpi_layout_cut(const struct mpi_layout *layout, struct mpi_units *units,
                                size_t most, unsigned *rank);

/** What each rank receives and sends. */
struct mpi_moved {
	double in, out;
};

/** Counts that units go from those who have them to a rank that wants them.
 * @param bytes of a unit
 * @param moved nranks entries, added to */
void mpi_layout_move(const struct mpi_layout *layout, unsigned rank, struct mpi_units units,
                     double bytes, struct mpi_moved *moved);

#endif
