/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Arrays of which every rank of a test has its part.
 */
#ifndef TESTS_MPI_ARRAYS_H
#define TESTS_MPI_ARRAYS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <heddle/mpi.h>

#include "tests/mpi/ranks.h"

static void wrong(const char *what, unsigned long at)
{
	if (failures++ < 10)
		printf("FAIL: rank %d: %s at %lu\n", rank, what, at);
}

struct array {
	size_t units, per; /* units of the whole array; what an iteration has of them */
	size_t nx, ld;     /* elements of a unit, and from one to the next in memory */
	bool matrix;
	enum starpu_data_access_mode mode;
	struct heddle_mpi_place place;
	size_t *first;         /* of its part, for each rank and one more */
	uint32_t *part, *want; /* this rank's part; the whole array at the end */
	starpu_data_handle_t handle;
};

static size_t part_units(const struct array *array)
{
	return array->first[rank + 1] - array->first[rank];
}

/* Random lengths of parts, some of them empty. */
static void blocks_cut(struct array *array, unsigned *seed)
{
	array->first[0] = 0;
	for (int r = 1; r < nranks; r++) {
		size_t least = array->first[r - 1], left = array->units - least;

		array->first[r] =
		    rand_r(seed) % 4 ? least + (left ? rand_r(seed) % (left + 1) : 0) : least;
	}
	array->first[nranks] = array->units;
}

static void layout_choose(struct array *array, bool whole, unsigned *seed)
{
	array->first = calloc(nranks + 1, sizeof(*array->first));
	array->place.layout = rand_r(seed) % (whole ? 2 : 3);
	array->place.rank = array->place.layout == HEDDLE_MPI_ON_RANK ? rand_r(seed) % nranks : 0;
	if (array->place.layout == HEDDLE_MPI_BLOCKS) {
		blocks_cut(array, seed);
		return;
	}
	for (int r = 0; r < nranks; r++)
		array->first[r + 1] = array->first[r] + (r == array->place.rank ? array->units : 0);
	if (array->place.layout == HEDDLE_MPI_EVERYWHERE && rank) {
		array->first[rank] = 0;
		array->first[rank + 1] = array->units;
	}
}

/* @param initial what an element of the array of that number is at first */
static void array_make(struct array *array, int number,
                       uint32_t (*initial)(int number, size_t element))
{
	size_t units = part_units(array), begin = array->first[rank];

	array->part = calloc(units * array->ld + 1, sizeof(uint32_t));
	array->want = calloc(array->units * array->nx + 1, sizeof(uint32_t));
	for (size_t e = 0; e < array->units * array->nx; e++)
		array->want[e] = initial(number, e);
	for (size_t u = 0; u < units; u++)
		memcpy(array->part + u * array->ld, array->want + (begin + u) * array->nx,
		       array->nx * sizeof(uint32_t));
	if (!units && array->place.layout != HEDDLE_MPI_EVERYWHERE &&
	    (array->place.layout == HEDDLE_MPI_BLOCKS || array->place.rank != rank))
		return;
	if (array->matrix)
		starpu_matrix_data_register(&array->handle, STARPU_MAIN_RAM, (uintptr_t)array->part,
		                            array->ld, array->nx, units, sizeof(uint32_t));
	else
		starpu_vector_data_register(&array->handle, STARPU_MAIN_RAM, (uintptr_t)array->part,
		                            units, sizeof(uint32_t));
}

/* The extra columns of fields are nobody's, and stay as they were. */
static void array_check(const struct array *array, const char *name)
{
	size_t units = part_units(array), begin = array->first[rank];

	for (size_t u = 0; u < units; u++)
		for (size_t x = 0; x < array->nx; x++)
			if (array->part[u * array->ld + x] !=
			    array->want[(begin + u) * array->nx + x])
				wrong(name, begin + u);
}

#endif
