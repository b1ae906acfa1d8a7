/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "config.h"

#include "apps/kernels/benchmark.h"
#include "apps/kernels/sobol.h"

static const char source[] =
#include "apps/kernels/cl/quasirandom.clh"
    ;

enum { OUT, DIRECTIONS };
enum { DIMENSIONS = 64, ITEMS = 256 };

static void prepare(struct job *job)
{
	uint32_t *directions;

	job_buffer(job, "out", STARPU_W, FLOAT, DIMENSIONS * job->size);
	directions = job_buffer(job, "directions", STARPU_R, UINT, DIMENSIONS * SOBOL_BITS);
	job_int(job, "vectors", job->size);
	job_range(job, DIMENSIONS * ITEMS, ITEMS, 0, 0);
	job->items = DIMENSIONS;
	if (directions)
		sobol_directions(DIMENSIONS, job->seed, directions);
}

/* By the bits that are set, one after the other. */
static double reference(void *arg, size_t begin, size_t end)
{
	const struct job *job = arg;
	const uint32_t *directions = job_data(job, DIRECTIONS);
	float *out = job_expected(job, OUT);

	for (size_t d = begin; d < end; d++)
		for (size_t i = 0; i < job->size; i++) {
			uint32_t bits = 0;

			for (uint32_t rest = i; rest; rest &= rest - 1)
				bits ^= directions[d * SOBOL_BITS + __builtin_ctz(rest)];
			out[d * job->size + i] = bits * 0x1p-32f;
		}
	return 0;
}

const struct benchmark benchmark_quasi_random = {
    .name = "QuasiRandomSequence",
    .unit = "vector",
    .size = 131072,
    .multiple = 1,
    .most = 1 << 24,
    .groups = DIMENSIONS,
    .source = source,
    .kernel = "quasi_random",
    .prepare = prepare,
    .reference = reference,
};
