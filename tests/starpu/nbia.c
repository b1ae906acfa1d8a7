/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * NBIA's pipeline: the same results whether tiles are in memory or read on the way,
 * and comparisons that see a wrong one.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>
#include <starpu.h>

#include "codelets/programs.h"
#include "apps/nbia/pipeline.h"
#include "tests/unit/test.h"

#define COLUMNS 6
#define ROWS 5
#define TILES (COLUMNS * ROWS)
#define SIDE 64

static unsigned seed;
static const bool all_kinds[HEDDLE_NKINDS];

static struct pipeline_options options_of(double recalc, double confidence, size_t memory)
{
	return (struct pipeline_options){.resolutions = {16, 32, SIDE},
	                                 .levels = 3,
	                                 .recalc = recalc,
	                                 .confidence = confidence,
	                                 .memory = memory,
	                                 .readers = 2,
	                                 .seed = seed,
	                                 .kinds = all_kinds};
}

static struct pipeline *run(const struct slide *slide, const struct pipeline_options *options)
{
	static struct heddle_loop_stats stats;
	struct pipeline *pipeline;

	assert_int_equal(pipeline_make(slide, options, &pipeline), 0);
	assert_int_equal(pipeline_columns(pipeline) * pipeline_rows(pipeline), TILES);
	assert_true(pipeline_differences(pipeline, 0, TILES) == TILES);
	for (int repeat = 0; repeat < 2; repeat++) {
		pipeline_forget(pipeline);
		assert_int_equal(pipeline_run(pipeline, &stats), 0);
		assert_true(pipeline_differences(pipeline, 0, TILES) == 0);
		assert_true(stats.blocks >= TILES);
	}
	return pipeline;
}

static void test_results(void **state)
{
	struct slide slide;
	struct pipeline *loaded, *streamed;
	struct pipeline_options options = options_of(-1, 0.9999, 1 << 30);
	struct pipeline_result *results;

	/* The last row and column of tiles are not whole. */
	slide_generate(COLUMNS * SIDE - 30, ROWS * SIDE - 1, seed, &slide);
	loaded = run(&slide, &options);
	options.memory = 6 * 3 * SIDE * SIDE;
	streamed = run(&slide, &options);
	assert_true(pipeline_is_loaded(loaded) && !pipeline_is_loaded(streamed));
	assert_memory_equal(pipeline_results(loaded), pipeline_results(streamed),
	                    TILES * sizeof(*results));
	results = (struct pipeline_result *)pipeline_results(loaded);
	results[7].label = (results[7].label + 1) % TISSUES;
	results[9].level++;
	assert_true(pipeline_differences(loaded, 0, TILES) == 2);
	assert_true(pipeline_differences(loaded, 8, TILES) == 1);
	pipeline_free(loaded);
	pipeline_free(streamed);
	slide_close(&slide);
}

static size_t tasks_at(const struct pipeline *pipeline, unsigned level)
{
	size_t tasks = 0;

	for (int kind = 0; kind < HEDDLE_NKINDS; kind++)
		tasks += pipeline_tasks(pipeline, level, kind);
	return tasks;
}

/* Tasks of each level by chance, and that nothing is lost when all go all the way. */
static void test_lots(void **state)
{
	static const double shares[] = {0, 0.4, 1};
	struct slide slide;

	slide_generate(COLUMNS * SIDE, ROWS * SIDE, seed, &slide);
	for (int s = 0; s < 3; s++) {
		struct pipeline_options options = options_of(shares[s], 0, 1 << 30);
		struct pipeline *loaded = run(&slide, &options), *streamed;
		size_t before = TILES;

		/* With few that go on they may all fit even so. */
		options.memory = 6 * 3 * SIDE * SIDE;
		streamed = run(&slide, &options);
		for (unsigned level = 0; level < 3; level++) {
			size_t tasks = tasks_at(loaded, level);

			assert_int_equal(tasks_at(streamed, level), tasks);
			assert_true(tasks <= before);
			if (level && shares[s] != 0.4)
				assert_int_equal(tasks, shares[s] * TILES);
			before = tasks;
		}
		assert_memory_equal(pipeline_results(loaded), pipeline_results(streamed),
		                    TILES * sizeof(struct pipeline_result));
		pipeline_free(loaded);
		pipeline_free(streamed);
	}
	slide_close(&slide);
}

static void test_too_little_memory(void **state)
{
	struct pipeline_options options = options_of(-1, 0.9, 6 * 3 * SIDE * SIDE - 1);
	struct pipeline *pipeline;
	struct slide slide;

	slide_generate(100, 100, seed, &slide);
	assert_true(pipeline_make(&slide, &options, &pipeline) < 0);
	slide_close(&slide);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_results),
	    cmocka_unit_test(test_lots),
	    cmocka_unit_test(test_too_little_memory),
	};
	int failed;

	seed = test_seed();
	if (starpu_init(NULL) || !starpu_cpu_worker_get_count())
		return 77;
	failed = codelets_load("nbia") ? 1 : cmocka_run_group_tests(tests, NULL, NULL);
	codelets_unload();
	starpu_shutdown();
	return failed;
}
