/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "config.h"

#include "apps/kernels/benchmark.h"

static const char source[] =
#include "apps/kernels/cl/transpose.clh"
    ;

enum { IN, OUT };
enum { TILE = 32, ROWS = 8 };

static void prepare(struct job *job)
{
	size_t n = job->size;

	job_random(job, "in", STARPU_R, FLOAT, n * n);
	job_buffer(job, "out", STARPU_W, FLOAT, n * n);
	job_int(job, "n", n);
	job_range(job, n, TILE, n / TILE * ROWS, ROWS);
	job->items = n;
	job->least = 64;
}

static double reference(void *arg, size_t begin, size_t end)
{
	const struct job *job = arg;
	const float *in = job_data(job, IN);
	float *out = job_expected(job, OUT);
	size_t n = job->size;

	for (size_t i = begin; i < end; i++)
		for (size_t j = 0; j < n; j++)
			out[i * n + j] = in[j * n + i];
	return 0;
}

const struct benchmark benchmark_matrix_transpose = {
    .name = "MatrixTranspose",
    .unit = "row",
    .size = 1024,
    .multiple = TILE,
    .most = 32768,
    .square = true,
    .groups = 1024,
    .source = source,
    .kernel = "matrix_transpose",
    .prepare = prepare,
    .reference = reference,
};
