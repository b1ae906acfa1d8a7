/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "config.h"

#include <stdlib.h>

#include "apps/kernels/benchmark.h"

static const char source[] =
#include "apps/kernels/cl/matrixmul.clh"
    ;

enum { A, B, C };
enum { TILE = 32, ITEMS = 16 };

static void prepare(struct job *job)
{
	size_t n = job->size;

	job_random(job, "a", STARPU_R, FLOAT, n * n);
	job_random(job, "b", STARPU_R, FLOAT, n * n);
	job_buffer(job, "c", STARPU_W, FLOAT, n * n);
	job_int(job, "n", n);
	job_range(job, n * ITEMS / TILE, ITEMS, n * ITEMS / TILE, ITEMS);
	job->items = n;
	job->least = 8;
}

/* Rows of the product; a column of sums stays in the cache. */
static double reference(void *arg, size_t begin, size_t end)
{
	const struct job *job = arg;
	const float *a = job_data(job, A), *b = job_data(job, B);
	float *c = job_expected(job, C);
	size_t n = job->size;
	enum { COLUMNS = 512 };
	double sums[COLUMNS];

	for (size_t i = begin; i < end; i++)
		for (size_t left = 0; left < n; left += COLUMNS) {
			size_t columns = n - left < COLUMNS ? n - left : COLUMNS;

			for (size_t j = 0; j < columns; j++)
				sums[j] = 0;
			for (size_t k = 0; k < n; k++)
				for (size_t j = 0; j < columns; j++)
					sums[j] += (double)a[i * n + k] * b[k * n + left + j];
			for (size_t j = 0; j < columns; j++)
				c[i * n + left + j] = sums[j];
		}
	return 0;
}

const struct benchmark benchmark_matrix_multiplication = {
    .name = "MatrixMultiplication",
    .unit = "row",
    .size = 1024,
    .multiple = TILE,
    .most = 32768,
    .square = true,
    .groups = 1024,
    .tolerance = 1e-5,
    .source = source,
    .kernel = "matrix_multiply",
    .prepare = prepare,
    .reference = reference,
};
