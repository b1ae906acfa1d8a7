/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "config.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "wavefront_agreement.h"

static const char *const extents[] = {"FIELD", "FIELD_HALO", "ROWS", "COLUMNS", "ALL"};
enum { FIELD, FIELD_HALO, ROWS, COLUMNS, NEXTENTS = sizeof(extents) / sizeof(*extents) };

static bool numbers_differ(uint64_t a, uint64_t b, const char *what, unsigned r, char *text,
                           size_t size)
{
	if (a == b)
		return false;
	snprintf(text, size, "%s: %ju on rank 0 and %ju on rank %u", what, (uintmax_t)a,
	         (uintmax_t)b, r);
	return true;
}

static bool vectors_differ(const struct mpi_wave_description *a,
                           const struct mpi_wave_description *b, unsigned r, char *text,
                           size_t size)
{
	for (unsigned i = 0; i < a->nvectors && i < MPI_WAVE_VECTORS; i++) {
		const int32_t *v = a->vectors[i], *w = b->vectors[i];

		if (!memcmp(v, w, sizeof(a->vectors[i])))
			continue;
		snprintf(text, size,
		         "dependence %u is (sweep %d, row %d, column %d) on rank 0 and (sweep %d, "
		         "row %d, column %d) on rank %u",
		         i, v[2], v[0], v[1], w[2], w[0], w[1], r);
		return true;
	}
	return false;
}

static bool extents_differ(const struct mpi_wave_description *a,
                           const struct mpi_wave_description *b, unsigned narrays, unsigned r,
                           char *text, size_t size)
{
	for (unsigned i = 0; i < narrays; i++) {
		uint32_t x = a->extents[i], y = b->extents[i];

		if (x == y)
			continue;
		snprintf(text, size, "the extent of array %u is %s on rank 0 and %s on rank %u",
		         i + 1, x < NEXTENTS ? extents[x] : "unknown",
		         y < NEXTENTS ? extents[y] : "unknown", r);
		return true;
	}
	return false;
}

static bool differ(const struct mpi_wave_description *all, unsigned r, unsigned narrays, char *text,
                   size_t size)
{
	const struct mpi_wave_description *a = &all[0], *b = &all[r];

	return numbers_differ(a->rows, b->rows, "rows", r, text, size) ||
	       numbers_differ(a->columns, b->columns, "columns", r, text, size) ||
	       numbers_differ(a->sweeps, b->sweeps, "sweeps", r, text, size) ||
	       numbers_differ(a->tile_columns, b->tile_columns, "columns of a tile", r, text,
	                      size) ||
	       numbers_differ(a->bands, b->bands, "bands per worker", r, text, size) ||
	       numbers_differ(a->nvectors, b->nvectors, "dependences", r, text, size) ||
	       vectors_differ(a, b, r, text, size) || extents_differ(a, b, narrays, r, text, size);
}

/* Whether the loop reaches beyond an array. */
static bool is_beyond(const struct mpi_wave_description *wave, unsigned i,
                      const struct mpi_array_agreed *array, uint64_t per, char *text, size_t size)
{
	uint32_t extent = wave->extents[i];
	bool field = extent == FIELD || extent == FIELD_HALO;
	uint64_t rows = field || extent == ROWS ? wave->rows : 0;
	uint64_t columns = field || extent == COLUMNS ? wave->columns : 0;
	uint64_t of_rows = field ? array->units : array->units / per;
	uint64_t of_columns = (field ? array->nx : array->units) / per;

	if (rows <= of_rows && columns <= of_columns)
		return false;
	snprintf(text, size, "%ju %s reach beyond array %u, which has %ju on all ranks",
	         (uintmax_t)(rows > of_rows ? rows : columns), rows > of_rows ? "rows" : "columns",
	         i + 1, (uintmax_t)(rows > of_rows ? of_rows : of_columns));
	return true;
}

int mpi_wave_check(const struct mpi_wave_description *all, unsigned nranks,
                   const struct mpi_array_agreed *arrays, const uint64_t *per_iteration,
                   unsigned narrays, char *text, size_t size)
{
	for (unsigned r = 1; r < nranks; r++)
		if (differ(all, r, narrays, text, size))
			return -EINVAL;
	for (unsigned i = 0; all[0].rows && all[0].columns && i < narrays; i++)
		if (is_beyond(&all[0], i, &arrays[i], per_iteration[i], text, size))
			return -ERANGE;
	return 0;
}
