/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "config.h"

#include "apps/kernels/benchmark.h"

static const char source[] =
#include "apps/kernels/cl/scan.clh"
    ;

enum { IN, OUT, TOTALS };
enum { ITEMS = 128, BLOCK = 2 * ITEMS };

static void prepare(struct job *job)
{
	job_random(job, "in", STARPU_R, FLOAT, job->size);
	job_buffer(job, "out", STARPU_W, FLOAT, job->size);
	job_buffer(job, "totals", STARPU_W, FLOAT, job->size / BLOCK);
	job_local(job, "tree", BLOCK * sizeof(float));
	job_range(job, job->size / 2, ITEMS, 0, 0);
	job->items = job->size / BLOCK;
	job->least = 64;
}

static double reference(void *arg, size_t begin, size_t end)
{
	const struct job *job = arg;
	const float *in = job_data(job, IN);
	float *out = job_expected(job, OUT), *totals = job_expected(job, TOTALS);

	for (size_t block = begin; block < end; block++) {
		double sum = 0;

		for (size_t i = block * BLOCK; i < (block + 1) * BLOCK; i++) {
			out[i] = sum;
			sum += in[i];
		}
		totals[block] = sum;
	}
	return 0;
}

const struct benchmark benchmark_scan = {
    .name = "ScanLargeArrays",
    .unit = "number",
    .size = 1 << 20,
    .multiple = BLOCK,
    .most = 1 << 30,
    .groups = 4096,
    .tolerance = 1e-5,
    .source = source,
    .kernel = "scan_blocks",
    .prepare = prepare,
    .reference = reference,
};
