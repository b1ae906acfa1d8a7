/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Loops and estimates in modelled time, with kernels that say how long devices would
 * have taken: so much longer than they really take that the machine does not matter.
 */
#include "config.h"

#include <math.h>
#include <stdlib.h>
#include <starpu.h>

#include <heddle/heddle.h>

#include "support/clock_starpu.h"
#include "tests/unit/test.h"

enum { N = 20000 };
#define PACE_US 1e4 /* an iteration on the first worker; the second is three times as slow */

static unsigned char done[N];
static int first;

static double pace(void)
{
	return starpu_worker_get_id() == first ? PACE_US : 3 * PACE_US;
}

static void simulate(void *buffers[], void *arg)
{
	const struct heddle_block *block = arg;
	unsigned char *out = (unsigned char *)STARPU_VECTOR_GET_PTR(buffers[0]);

	for (size_t i = 0; i < block->n; i++)
		out[i]++;
	heddle_clock_simulated(0, block->n * pace());
}

static struct starpu_codelet codelet = {.cpu_funcs = {simulate}, .name = "clock_loop"};

static int set_up(void **state)
{
	int workers[2];

	if (starpu_init(NULL) || starpu_cpu_worker_get_count() < 2)
		exit(77);
	starpu_worker_get_ids_by_type(STARPU_CPU_WORKER, workers, 2);
	first = workers[0];
	return 0;
}

static int tear_down(void **state)
{
	starpu_shutdown();
	return 0;
}

static void run(const char *strategy, struct heddle_loop_stats *stats)
{
	struct heddle_loop loop = {
	    .codelet = &codelet, .n = N, .naccesses = 1, .strategy = strategy};
	int workers[2];

	for (int i = 0; i < N; i++)
		done[i] = 0;
	starpu_worker_get_ids_by_type(STARPU_CPU_WORKER, workers, 2);
	loop.workers = workers;
	loop.nworkers = 2;
	loop.accesses[0].mode = STARPU_RW;
	starpu_vector_data_register(&loop.accesses[0].handle, STARPU_MAIN_RAM, (uintptr_t)done, N,
	                            1);
	assert_int_equal(heddle_loop_run(&loop, stats), 0);
	starpu_data_unregister(loop.accesses[0].handle);
	for (int i = 0; i < N; i++)
		assert_int_equal(done[i], 1);
}

/* Strategies that follow the workers end both together with three quarters and one. */
static void test_shares(void **state)
{
	static const char *const strategies[] = {"hdss", "css:chunk=50", "fss", "hdss:published=1"};
	struct heddle_loop_stats *stats = malloc(sizeof(*stats));
	double ideal_us = N / (1 / PACE_US + 1 / (3 * PACE_US));

	assert_non_null(stats);
	for (size_t s = 0; s < sizeof(strategies) / sizeof(*strategies); s++) {
		double share;

		run(strategies[s], stats);
		assert_int_equal(stats->clock, HEDDLE_CLOCK_MODELLED);
		share = (double)stats->workers[0].iterations / N;
		print_message("%s: share %.4f, %.4f of the ideal\n", strategies[s], share,
		              ideal_us / stats->us);
		assert_true(fabs(share - 0.75) < 0.02);
		assert_true(ideal_us / stats->us > 0.95 && ideal_us / stats->us < 1.0001);
		for (unsigned w = 0; w < 2; w++)
			assert_true(stats->workers[w].finish_us <= stats->us);
	}
	free(stats);
}

/* Equal shares: the slow worker's end is the loop's, and nobody takes from it. */
static void test_static(void **state)
{
	struct heddle_loop_stats *stats = malloc(sizeof(*stats));

	assert_non_null(stats);
	run("static", stats);
	assert_int_equal(stats->workers[0].iterations, N / 2);
	assert_true(fabs(stats->us / (N / 2 * 3 * PACE_US) - 1) < 0.02);
	assert_true(fabs(stats->workers[0].finish_us / (N / 2 * PACE_US) - 1) < 0.02);
	free(stats);
}

static void work(void *buffers[], void *arg)
{
	heddle_clock_simulated(0, 5e6);
}

static struct starpu_perfmodel model = HEDDLE_ESTIMATE_MODEL("clock_task");
static struct starpu_codelet task_codelet = {
    .cpu_funcs = {work}, .model = &model, .name = "clock_task"};

static void check_estimate(void)
{
	struct starpu_task *example = starpu_task_create();
	struct heddle_estimate estimate;

	example->cl = &task_codelet;
	example->destroy = 0;
	assert_int_equal(heddle_estimate_task(example, first, &estimate), 0);
	for (int t = 0; t < 40; t++) {
		struct starpu_task *task = starpu_task_create();

		task->cl = &task_codelet;
		assert_int_equal(starpu_task_submit(task), 0);
	}
	starpu_task_wait_for_all();
	assert_int_equal(heddle_estimate_task(example, first, &estimate), 0);
	assert_int_equal(estimate.source, HEDDLE_ESTIMATE_ONLINE);
	assert_true(estimate.us == 5e6);
	starpu_task_destroy(example);
}

/* What the estimator learns of tasks under a policy of StarPU's and ours. */
static void test_policies(void **state)
{
	static const char *const policies[] = {"dmda", "ddwrr", "odds"};

	for (size_t p = 0; p < sizeof(policies) / sizeof(*policies); p++) {
		tear_down(state);
		setenv("STARPU_SCHED", policies[p], 1);
		assert_int_equal(set_up(state), 0);
		check_estimate();
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_shares),
	    cmocka_unit_test(test_static),
	    cmocka_unit_test(test_policies),
	};

	setenv("HEDDLE_FPGA_TIME", "modelled", 1);
	setenv("HEDDLE_PROFILE", "0", 1);
	return cmocka_run_group_tests(tests, set_up, tear_down);
}
