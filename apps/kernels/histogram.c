/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "config.h"

#include <string.h>

#include "apps/kernels/benchmark.h"

static const char source[] =
#include "apps/kernels/cl/histogram.clh"
    ;

enum { IN, PARTIAL };
enum { ITEMS = 64, EACH = 512, PIECE = ITEMS * EACH, BINS = 256 };

static void prepare(struct job *job)
{
	job_random(job, "in", STARPU_R, UCHAR, job->size);
	job_buffer(job, "partial", STARPU_W, UINT, job->size / PIECE * BINS);
	job_int(job, "each", EACH);
	job_local(job, "counts", ITEMS * BINS * sizeof(uint16_t));
	job_range(job, job->size / EACH, ITEMS, 0, 0);
	job->items = job->size / PIECE;
}

static double reference(void *arg, size_t begin, size_t end)
{
	const struct job *job = arg;
	const uint8_t *in = job_data(job, IN);
	uint32_t *partial = job_expected(job, PARTIAL);

	memset(partial + begin * BINS, 0, (end - begin) * BINS * sizeof(*partial));
	for (size_t i = begin * PIECE; i < end * PIECE; i++)
		partial[i / PIECE * BINS + in[i]]++;
	return 0;
}

const struct benchmark benchmark_histogram = {
    .name = "Histogram",
    .unit = "byte",
    .size = 1 << 24,
    .multiple = PIECE,
    .most = 1 << 30,
    .groups = 512,
    .source = source,
    .kernel = "histogram",
    .prepare = prepare,
    .reference = reference,
};
