/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "config.h"

#include <math.h>

#include "apps/kernels/benchmark.h"

static const char source[] =
#include "apps/kernels/cl/blackscholes.clh"
    ;

enum { RANDOM, CALL, PUT };
enum { ITEMS = 256 };

static void prepare(struct job *job)
{
	job_random(job, "random", STARPU_R, FLOAT, job->size);
	job_buffer(job, "call", STARPU_W, FLOAT, job->size);
	job_buffer(job, "put", STARPU_W, FLOAT, job->size);
	job_range(job, job->size / 4, ITEMS, 0, 0);
	job->items = job->size;
	job->least = 4096;
}

static double normal(double x)
{
	return erfc(-x * M_SQRT1_2) / 2;
}

static double reference(void *arg, size_t begin, size_t end)
{
	const struct job *job = arg;
	const float *random = job_data(job, RANDOM);
	float *call = job_expected(job, CALL), *put = job_expected(job, PUT);

	for (size_t i = begin; i < end; i++) {
		double r = random[i], spot = 10 + 90 * r, strike = 10 + 90 * (1 - r);
		double years = 1 + 9 * r, deviation = 0.3 * sqrt(years);
		double d1 = (log(spot / strike) + (0.02 + 0.045) * years) / deviation;
		double d2 = d1 - deviation, discounted = strike * exp(-0.02 * years);

		call[i] = spot * normal(d1) - discounted * normal(d2);
		put[i] = discounted * normal(-d2) - spot * normal(-d1);
	}
	return 0;
}

const struct benchmark benchmark_black_scholes = {
    .name = "BlackScholes",
    .unit = "option",
    .size = 1 << 20,
    .multiple = 4 * ITEMS,
    .most = 1 << 30,
    .groups = 1024,
    .tolerance = 1e-4,
    .source = source,
    .kernel = "black_scholes",
    .prepare = prepare,
    .reference = reference,
};
