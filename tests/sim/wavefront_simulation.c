/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Small wavefronts on simulated cores: what is predicted against what StarPU does, and the
 * time with the h that is chosen against that of every other one.
 */
#include "config.h"

#include <math.h>

#include "tests/sim/wavefront.h"

SIMULATED("3cpu")

/* The best of a sweep with the k that was chosen. */
static double sweep(struct heddle_wavefront wave, unsigned k, size_t *best)
{
	double least = INFINITY;

	wave.bands_per_worker = k;
	for (wave.tile_columns = wave.columns; wave.tile_columns >= 8;
	     wave.tile_columns = wave.tile_columns * 0.85) {
		double us = run(&wave).us;

		if (us >= least)
			continue;
		least = us;
		*best = wave.tile_columns;
	}
	return least;
}

static void check(const struct heddle_wavefront *wave, const char *name)
{
	struct heddle_wavefront chosen = *wave;
	struct heddle_wavefront_stats stats = run(&chosen);
	size_t best = 0;
	double least = sweep(*wave, stats.bands_per_worker, &best);

	print_message("%s: h %zu, k %u: %.0f us, predicted %.0f; best h %zu: %.0f us (%.4f)\n",
	              name, stats.tile_columns, stats.bands_per_worker, stats.us,
	              stats.predicted_us, best, least, stats.us / least);
	assert_true(fabs(stats.predicted_us / stats.us - 1) < 0.03);
	assert_true(stats.us < 1.03 * least);
}

static void test_rectangles(void **state)
{
	struct heddle_wavefront wave = {.nvectors = 2, .vectors = {{.row = 1}, {.column = 1}}};

	for (wave.rows = 700; wave.rows <= 1500; wave.rows += 400) {
		wave.columns = wave.rows + 100;
		check(&wave, "rectangles");
	}
}

static void test_parallelograms(void **state)
{
	struct heddle_wavefront wave = {.nvectors = 2,
	                                .vectors = {{.row = 1, .column = -1}, {.column = 1}}};

	for (wave.rows = 700; wave.rows <= 1500; wave.rows += 400) {
		wave.columns = wave.rows + 100;
		check(&wave, "parallelograms");
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_rectangles),
	    cmocka_unit_test(test_parallelograms),
	};

	return simulated_over(simulate(tests, 2));
}
