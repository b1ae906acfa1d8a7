/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "config.h"

#include <math.h>

#include "apps/kernels/benchmark.h"

static const char source[] =
#include "apps/kernels/cl/binomial.clh"
    ;

enum { RANDOM, VALUE };
enum { STEPS = 255, LEAVES = STEPS + 1 };

static void prepare(struct job *job)
{
	job_random(job, "random", STARPU_R, FLOAT, job->size * 4);
	job_buffer(job, "value", STARPU_W, FLOAT, job->size * 4);
	job_int(job, "steps", STEPS);
	job_local(job, "here", LEAVES * 4 * sizeof(float));
	job_local(job, "there", LEAVES * 4 * sizeof(float));
	job_range(job, job->size * LEAVES, LEAVES, 0, 0);
	job->items = job->size * 4;
	job->least = 16;
}

static double price(double r)
{
	double spot = 5 + 25 * r, strike = 1 + 29 * (1 - r), years = 0.25 + 9.75 * r;
	double dt = years / STEPS, move = 0.3 * sqrt(dt), growth = exp(0.02 * dt);
	double up = exp(move), p = (growth - 1 / up) / (up - 1 / up);
	double p_up = p / growth, p_down = (1 - p) / growth, lattice[LEAVES];

	for (int i = 0; i < LEAVES; i++)
		lattice[i] = fmax(spot * exp(move * (2 * i - STEPS)) - strike, 0);
	for (int left = STEPS; left > 0; left--)
		for (int i = 0; i < left; i++)
			lattice[i] = p_up * lattice[i + 1] + p_down * lattice[i];
	return lattice[0];
}

static double reference(void *arg, size_t begin, size_t end)
{
	const struct job *job = arg;
	const float *random = job_data(job, RANDOM);
	float *value = job_expected(job, VALUE);

	for (size_t i = begin; i < end; i++)
		value[i] = price(random[i]);
	return 0;
}

const struct benchmark benchmark_binomial = {
    .name = "BinomialOption",
    .unit = "four options",
    .size = 16384,
    .multiple = 1,
    .most = 1 << 22,
    .groups = 16384,
    .tolerance = 2e-4,
    .source = source,
    .kernel = "binomial_option",
    .prepare = prepare,
    .reference = reference,
};
