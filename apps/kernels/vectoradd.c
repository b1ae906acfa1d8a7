/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "config.h"

#include "apps/kernels/benchmark.h"

static const char source[] =
#include "apps/kernels/cl/vectoradd.clh"
    ;

enum { A, B, C };
enum { ITEMS = 256 };

static void prepare(struct job *job)
{
	size_t n = job->size;

	job_random(job, "a", STARPU_R, FLOAT, n);
	job_random(job, "b", STARPU_R, FLOAT, n);
	job_buffer(job, "c", STARPU_W, FLOAT, n);
	job_int(job, "n", n);
	job_range(job, (n + ITEMS - 1) / ITEMS * ITEMS, ITEMS, 0, 0);
	job->items = n;
	job->least = 16384;
}

static double reference(void *arg, size_t begin, size_t end)
{
	const struct job *job = arg;
	const float *a = job_data(job, A), *b = job_data(job, B);
	float *c = job_expected(job, C);

	for (size_t i = begin; i < end; i++)
		c[i] = a[i] + b[i];
	return 0;
}

const struct benchmark benchmark_vector_add = {
    .name = "VectorAdd",
    .unit = "number",
    .size = 1 << 22,
    .multiple = 1,
    .most = 1 << 30,
    .groups = 16384,
    .source = source,
    .kernel = "vector_add",
    .prepare = prepare,
    .reference = reference,
};
