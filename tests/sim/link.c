/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Rounds of equal tasks under heddle, beside an accelerator that is fast behind a slow link. Before
 * the data of one task have come, the cores have done all of a short round, so the accelerator
 * takes none. It helps with a long one, from which its results are back in time.
 */
#include "config.h"

#include <starpu.h>

#include "tests/sim/simulated.h"
#include "tests/unit/test.h"

SIMULATED("4cpu+gpu1@1000:0")

#define ROUNDS 3
#define MOST 400
#define BYTES 1000000 /* a transfer of 1000 us */
#define CORES 4
#define CORE_US 400 /* and StarPU 1 for each task */
#define GPU_US 10

static unsigned on_gpu;

static double cost(struct starpu_task *task, struct starpu_perfmodel_arch *arch, unsigned nimpl)
{
	return arch->devices[0].type == STARPU_CPU_WORKER ? CORE_US : GPU_US;
}

SIMULATED_CODELET(linked, cost);

static void has_ended(void *arg)
{
	on_gpu += starpu_worker_get_type(starpu_worker_get_id()) != STARPU_CPU_WORKER;
}

/* Until all results are in main memory. */
static double round_us(starpu_data_handle_t *handles, int n)
{
	double us = -starpu_timing_now();

	for (int i = 0; i < n; i++)
		assert_int_equal(starpu_task_insert(&linked, STARPU_RW, handles[i], STARPU_CALLBACK,
		                                    has_ended, 0),
		                 0);
	for (int i = 0; i < n; i++) {
		assert_int_equal(starpu_data_acquire(handles[i], STARPU_R), 0);
		starpu_data_release(handles[i]);
	}
	return us + starpu_timing_now();
}

static void rounds_check(int n, bool helps)
{
	static unsigned char data[BYTES]; /* nobody reads it */
	starpu_data_handle_t handles[MOST];
	struct starpu_conf conf;

	starpu_conf_init(&conf);
	conf.sched_policy_name = "heddle";
	assert_int_equal(starpu_init(&conf), 0);
	for (int i = 0; i < n; i++)
		starpu_vector_data_register(&handles[i], STARPU_MAIN_RAM, (uintptr_t)data, BYTES,
		                            1);
	on_gpu = 0;
	for (int r = 0; r < ROUNDS; r++) {
		double us = round_us(handles, n);

		print_message("%d tasks: %.0f us; %u of all on the accelerator\n", n, us, on_gpu);
		if (helps)
			assert_true(us < 1.02 * n / CORES * CORE_US);
		else
			assert_float_equal(us, n / CORES * (CORE_US + 1), 1e-3);
	}
	assert_int_equal(on_gpu > 0, helps);
	for (int i = 0; i < n; i++)
		starpu_data_unregister(handles[i]);
	starpu_shutdown();
}

static void test_short_rounds(void **state)
{
	rounds_check(4 * CORES, false);
}

static void test_long_rounds(void **state)
{
	rounds_check(MOST, true);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_short_rounds),
	    cmocka_unit_test(test_long_rounds),
	};

	return simulated_over(cmocka_run_group_tests(tests, NULL, NULL));
}
