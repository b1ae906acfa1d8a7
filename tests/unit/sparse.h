/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Random sparse matrices for the tests of spmv.
 */
#ifndef TESTS_UNIT_SPARSE_H
#define TESTS_UNIT_SPARSE_H

#include <stdlib.h>

#include "codelets/spmv/spmv.h"
#include "tests/unit/test.h"

/* Rows of a sparse matrix of single or double precision, some of them empty or long. */
struct sparse {
	size_t n;
	bool wide;
	uint32_t *starts;
	int32_t *columns;
	void *values, *x, *y;
};
enum { SPARSE_COLUMNS = 1000 };

static void *random_numbers(size_t n, bool wide)
{
	double *numbers = calloc(n + 1, sizeof(*numbers));

	assert_non_null(numbers);
	for (size_t i = 0; i < n; i++) {
		double number = 2.0 * rand() / RAND_MAX - 1;

		if (wide)
			numbers[i] = number;
		else
			((float *)numbers)[i] = number;
	}
	return numbers;
}

static struct sparse sparse_make(size_t n, bool wide)
{
	struct sparse sparse = {.n = n, .wide = wide, .starts = calloc(n + 1, 4)};
	size_t count;

	assert_non_null(sparse.starts);
	/* The first of a block's rows is not the first of all. */
	sparse.starts[0] = 12345;
	for (size_t i = 0; i < n; i++) {
		unsigned length = rand() % 3 ? rand() % 20 : 0;

		if (rand() % 40 == 0)
			length = rand() % 6000;
		sparse.starts[i + 1] = sparse.starts[i] + length;
	}
	count = sparse.starts[n] - sparse.starts[0];
	sparse.columns = calloc(count + 1, sizeof(*sparse.columns));
	assert_non_null(sparse.columns);
	for (size_t e = 0; e < count; e++)
		sparse.columns[e] = rand() % SPARSE_COLUMNS;
	sparse.values = random_numbers(count, wide);
	sparse.x = random_numbers(SPARSE_COLUMNS, wide);
	sparse.y = random_numbers(n, wide);
	return sparse;
}

static struct spmv_rows sparse_rows(const struct sparse *sparse)
{
	return (struct spmv_rows){.n = sparse->n,
	                          .wide = sparse->wide,
	                          .starts = sparse->starts,
	                          .columns = sparse->columns,
	                          .values = sparse->values,
	                          .x = sparse->x,
	                          .y = sparse->y};
}

static void sparse_free(struct sparse *sparse)
{
	free(sparse->starts);
	free(sparse->columns);
	free(sparse->values);
	free(sparse->x);
	free(sparse->y);
}

#endif
