/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Under SimGrid a block takes as long as the platform says, to a microsecond or two:
 * tasks with the platform's model, pinned to workers, and their makespan.
 */
#include "config.h"

#include <stdlib.h>
#include <starpu.h>
#include <heddle/loop.h>

#include "estimator/platform_starpu.h"
#include "tests/sim/simulated.h"
#include "tests/unit/test.h"

SIMULATED("3cpu=2+gpu10+fpga5%0.5/0.5")

static struct starpu_codelet codelet = {
    .cpu_funcs = {never},
    .cuda_funcs = {never},
    .model = &heddle_platform_model,
    .nbuffers = 0,
};

/* Simulated time that blocks of these sizes take, all on one worker. */
static double makespan_us(int worker, const size_t *sizes, unsigned count, size_t total)
{
	struct heddle_block blocks[8];
	double begin = starpu_timing_now();

	for (unsigned b = 0; b < count; b++) {
		struct starpu_task *task = starpu_task_create();

		blocks[b] = (struct heddle_block){.n = sizes[b], .total = total};
		task->cl = &codelet;
		task->cl_arg = &blocks[b];
		task->execute_on_a_specific_worker = 1;
		task->workerid = worker;
		assert_int_equal(starpu_task_submit(task), 0);
	}
	starpu_task_wait_for_all();
	return starpu_timing_now() - begin;
}

/* StarPU's workers spend a microsecond of simulated time on looking for work
 * before and after each task, which no setting turns off. */
static void assert_us(double measured, double expected, unsigned tasks)
{
	if (measured < expected || measured > expected + 2 * tasks + 0.01)
		fail_msg("%g us instead of %g", measured, expected);
}

static void test_workers(void **state)
{
	assert_int_equal(starpu_cpu_worker_get_count(), 3);
	assert_int_equal(starpu_cuda_worker_get_count(), 2);
}

static void test_kinds(void **state)
{
	assert_int_equal(heddle_worker_kind(starpu_worker_get_by_type(STARPU_CPU_WORKER, 0)),
	                 HEDDLE_KIND_CPU);
	assert_int_equal(heddle_worker_kind(starpu_worker_get_by_type(STARPU_CUDA_WORKER, 0)),
	                 HEDDLE_KIND_CUDA);
	assert_int_equal(heddle_worker_kind(starpu_worker_get_by_type(STARPU_CUDA_WORKER, 1)),
	                 HEDDLE_KIND_FPGA);
}

static void test_durations(void **state)
{
	const size_t sizes[] = {10000, 500, 70};
	int cpu = starpu_worker_get_by_type(STARPU_CPU_WORKER, 1);
	int gpu = starpu_worker_get_by_type(STARPU_CUDA_WORKER, 0);

	assert_us(makespan_us(cpu, sizes, 3, 1000000), 10570 / 2.0, 3);
	assert_us(makespan_us(gpu, sizes, 3, 1000000), 10570 / 20.0, 3);
}

static void test_slowdown_by_simulated_time(void **state)
{
	const size_t size = 100000, none = 10;
	int fpga = starpu_worker_get_by_type(STARPU_CUDA_WORKER, 1);
	double first;

	/* Whole machine: 36 iterations/µs. A loop of 3.6 M iterations would take
	 * 100 ms undisturbed, so the FPGA is slow 50 ms after the first block. */
	first = makespan_us(fpga, &size, 1, 3600000);
	assert_us(first, 10000, 1);
	starpu_sleep(0.06);
	assert_us(makespan_us(fpga, &size, 1, 3600000), 20000, 1);
	assert_us(makespan_us(fpga, &none, 1, 3600000), 2, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_workers),
	    cmocka_unit_test(test_kinds),
	    cmocka_unit_test(test_durations),
	    cmocka_unit_test(test_slowdown_by_simulated_time),
	};
	int failed;

	if (starpu_init(NULL))
		return 77;
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	starpu_shutdown();
	return simulated_over(failed);
}
