/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Whether all ranks have the same wavefront. Pure.
 */
#ifndef HEDDLE_MPI_WAVEFRONT_AGREEMENT_H
#define HEDDLE_MPI_WAVEFRONT_AGREEMENT_H

#include <stddef.h>
#include <stdint.h>

#include "partition/mpi/agreement.h"

enum { MPI_WAVE_VECTORS = 16 };

/** What a rank says of its wavefront, beside what agreement.h has. */
struct mpi_wave_description {
	uint64_t rows, columns, sweeps, tile_columns, bands;
	uint32_t nvectors;
	int32_t vectors[MPI_WAVE_VECTORS][3]; /**< row, column, sweep */
	uint32_t extents[MPI_MAXARRAYS];      /**< as enum heddle_extent */
};

/** The first difference between two ranks' wavefronts, as text, or the first array that is too
 * small.
 * @param arrays narrays of them, per_iteration of each at least 1
 * @return 0: there is none; -EINVAL; -ERANGE */
int mpi_wave_check(const struct mpi_wave_description *all, unsigned nranks,
                   const struct mpi_array_agreed *arrays, const uint64_t *per_iteration,
                   unsigned narrays, char *text, size_t size);

#endif
