/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "config.h"

#include "apps/kernels/benchmark.h"

static const char source[] =
#include "apps/kernels/cl/reduction.clh"
    ;

enum { IN, OUT };
enum { ITEMS = 256, PIECE = ITEMS * 2 * 4 };

static void prepare(struct job *job)
{
	job_random(job, "in", STARPU_R, UINT, job->size);
	job_buffer(job, "out", STARPU_W, UINT, job->size / PIECE * 4);
	job_local(job, "sums", ITEMS * 4 * sizeof(uint32_t));
	job_range(job, job->size / 8, ITEMS, 0, 0);
	job->items = job->size / PIECE;
	job->least = 16;
}

/* Modulo 2^32, as the kernel's. */
static double reference(void *arg, size_t begin, size_t end)
{
	const struct job *job = arg;
	const uint32_t *in = job_data(job, IN);
	uint32_t *out = job_expected(job, OUT);

	for (size_t i = begin * 4; i < end * 4; i++)
		out[i] = 0;
	for (size_t i = begin * PIECE; i < end * PIECE; i++)
		out[i / PIECE * 4 + i % 4] += in[i];
	return 0;
}

const struct benchmark benchmark_reduction = {
    .name = "Reduction",
    .unit = "number",
    .size = 1 << 22,
    .multiple = PIECE,
    .most = 1 << 30,
    .groups = 2048,
    .source = source,
    .kernel = "reduction",
    .prepare = prepare,
    .reference = reference,
};
