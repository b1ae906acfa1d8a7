/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * What tests of simulated wavefronts share: a wavefront and its bound, which is all work
 * shared by all processors or the longest chain of iterations, whichever is more.
 */
#ifndef HEDDLE_TEST_SIM_WAVEFRONT_H
#define HEDDLE_TEST_SIM_WAVEFRONT_H

#include <stdlib.h>
#include <starpu.h>
#include <heddle/heddle.h>

#include "partition/wavefront/tiles.h"
#include "estimator/platform_starpu.h"
#include "tests/unit/test.h"

#include "tests/sim/simulated.h"

static struct starpu_codelet codelet = {
    .name = "simulated",
    .cpu_funcs = {never},
    .cuda_funcs = {never},
    .cuda_flags = {STARPU_CUDA_ASYNC},
};

/* Time of a wavefront with a state from row to row, a byte in and a byte out. */
static struct heddle_wavefront_stats run(struct heddle_wavefront *wave)
{
	struct heddle_wavefront_stats stats;
	/* Nobody ever touches the arrays. */
	void *in = malloc(wave->rows * wave->columns), *out = malloc(wave->rows * wave->columns);
	void *state = malloc(wave->columns * 4);

	wave->codelet = &codelet;
	wave->narrays = 3;
	wave->arrays[0] = (struct heddle_wave_array){.mode = STARPU_R, .extent = HEDDLE_FIELD};
	wave->arrays[1] = (struct heddle_wave_array){.mode = STARPU_W, .extent = HEDDLE_FIELD};
	wave->arrays[2] = (struct heddle_wave_array){.mode = STARPU_RW, .extent = HEDDLE_COLUMNS};
	starpu_matrix_data_register(&wave->arrays[0].handle, STARPU_MAIN_RAM, (uintptr_t)in,
	                            wave->columns, wave->columns, wave->rows, 1);
	starpu_matrix_data_register(&wave->arrays[1].handle, STARPU_MAIN_RAM, (uintptr_t)out,
	                            wave->columns, wave->columns, wave->rows, 1);
	starpu_vector_data_register(&wave->arrays[2].handle, STARPU_MAIN_RAM, (uintptr_t)state,
	                            wave->columns, 4);
	assert_int_equal(heddle_wavefront_run(wave, &stats), 0);
	for (int i = 0; i < 3; i++)
		starpu_data_unregister(wave->arrays[i].handle);
	free(in);
	free(out);
	free(state);
	return stats;
}

static double bound(const struct heddle_wavefront *wave)
{
	const struct heddle_platform *platform = heddle_platform_current();
	size_t n = wave->rows * wave->columns;
	double work = heddle_platform_ideal_us(platform, n, 1, ~0u);
	/* A chain goes down a column at a time, and to the right with every row that is skewed. */
	double chain = (wave->columns +
	                wave->rows * (1.0 + wave_vectors_skew(wave->vectors, wave->nvectors))) *
	               heddle_platform_block_us(platform, 0, 1000, n, 0) / 1000;

	return work > chain ? work : chain;
}

/* Runs one and returns the part of its time that the bound is. */
static inline double efficiency(struct heddle_wavefront wave, const char *name)
{
	struct heddle_wavefront_stats stats = run(&wave);
	size_t iterations = 0;

	for (unsigned w = 0; w < stats.nworkers; w++)
		iterations += stats.workers[w].iterations;
	assert_int_equal(iterations, wave.rows * wave.columns);
	print_message("%s: h %zu, k %u, %zu tiles, %zu messages: %.0f us, %.3f of the bound, "
	              "predicted %.0f\n",
	              name, stats.tile_columns, stats.bands_per_worker, stats.tiles, stats.messages,
	              stats.us, bound(&wave) / stats.us, stats.predicted_us);
	return bound(&wave) / stats.us;
}

static int simulate(const struct CMUnitTest *tests, size_t n)
{
	struct starpu_conf conf;
	int status;

	starpu_conf_init(&conf);
	conf.sched_policy_name = "hdss";
	if (starpu_init(&conf))
		return 77;
	status = _cmocka_run_group_tests("simulated", tests, n, NULL, NULL);
	starpu_shutdown();
	return status;
}

#endif
