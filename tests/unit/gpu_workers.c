/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * How many workers a GPU gets.
 */
#include "config.h"

#include "sched_policies/gpu_workers.h"
#include "tests/unit/test.h"

static void test_many_cores(void **state)
{
	struct gpu_machine machine = {.gpus = 1, .cores = 16, .most = 100};
	struct gpu_workers chosen = heddle_gpu_workers(&machine, 0);

	assert_int_equal(chosen.each, 4);
	assert_true(chosen.threads);
	machine.cores = 15;
	chosen = heddle_gpu_workers(&machine, 0);
	assert_int_equal(chosen.each, 4);
	assert_false(chosen.threads);
	/* Every GPU has its threads. */
	machine = (struct gpu_machine){.gpus = 4, .cores = 63, .most = 100};
	assert_false(heddle_gpu_workers(&machine, 0).threads);
	machine.cores = 64;
	assert_true(heddle_gpu_workers(&machine, 0).threads);
	assert_true(heddle_gpu_workers(&machine, 2).threads);
	assert_int_equal(heddle_gpu_workers(&machine, 2).each, 2);
}

/* Threads take no core that a CPU worker was asked for. */
static void test_asked_cpu_workers(void **state)
{
	struct gpu_machine machine = {.gpus = 1, .cores = 16, .cpu_workers = 12, .most = 100};

	assert_true(heddle_gpu_workers(&machine, 0).threads);
	machine.cpu_workers = 13;
	assert_false(heddle_gpu_workers(&machine, 0).threads);
	assert_int_equal(heddle_gpu_workers(&machine, 0).each, 4);
	machine.cores = 4;
	machine.cpu_workers = 1;
	assert_false(heddle_gpu_workers(&machine, 0).threads);
	assert_true(heddle_gpu_workers(&machine, 3).threads);
}

/* StarPU's table of workers may be nearly full. */
static void test_room(void **state)
{
	struct gpu_machine machine = {.gpus = 8, .cores = 128, .most = 31};

	assert_int_equal(heddle_gpu_workers(&machine, 0).each, 3);
	machine.most = 7;
	assert_int_equal(heddle_gpu_workers(&machine, 0).each, 1);
	assert_false(heddle_gpu_workers(&machine, 0).threads);
	machine.most = 0;
	assert_int_equal(heddle_gpu_workers(&machine, 16).each, 1);
}

/* One worker needs no thread beside the GPU's. */
static void test_one(void **state)
{
	struct gpu_machine machine = {.gpus = 2, .cores = 64, .most = 100};
	struct gpu_workers chosen = heddle_gpu_workers(&machine, 1);

	assert_int_equal(chosen.each, 1);
	assert_false(chosen.threads);
	machine.gpus = 0;
	assert_int_equal(heddle_gpu_workers(&machine, 0).each, 4);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_many_cores),
	    cmocka_unit_test(test_asked_cpu_workers),
	    cmocka_unit_test(test_room),
	    cmocka_unit_test(test_one),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
