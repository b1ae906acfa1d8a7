/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Short tasks with priorities under heddle, in local queues. Their kernels are not asynchronous.
 * The input of the next one travels meanwhile all the same, also where two accelerators take tasks
 * from one queue. HEDDLE_DEPTH bounds how many tasks ask ahead.
 *
 *	ahead [DEPTH]
 */
#include "config.h"

#include <starpu.h>

#include "tests/sim/simulated.h"
#include "tests/unit/test.h"

SIMULATED("1cpu+gpu1@8000:1+gpu1@8000:1")

#define TASKS 400
#define GPU_US 30
#define CORE_US 3000
#define BYTES 160000
#define INPUT_US 20 /* at least */
#define REPETITIONS 2
#define MOST 1.3

static double cost(struct starpu_task *task, struct starpu_perfmodel_arch *arch, unsigned nimpl)
{
	(void)task;
	(void)nimpl;
	return arch->devices[0].type == STARPU_CPU_WORKER ? CORE_US : GPU_US;
}

SIMULATED_CODELET(short_task, cost);

/* Each reads and writes data of its own, which is in main memory. */
static double repetition_us(void)
{
	static unsigned char data[BYTES]; /* nobody reads it */
	starpu_data_handle_t handles[TASKS];
	double us;

	for (int i = 0; i < TASKS; i++)
		starpu_vector_data_register(&handles[i], STARPU_MAIN_RAM, (uintptr_t)data, BYTES,
		                            1);
	us = -starpu_timing_now();
	for (int i = 0; i < TASKS; i++)
		assert_int_equal(starpu_task_insert(&short_task, STARPU_RW, handles[i],
		                                    STARPU_PRIORITY, i * 7 % 20, 0),
		                 0);
	starpu_task_wait_for_all();
	us += starpu_timing_now();
	for (int i = 0; i < TASKS; i++)
		starpu_data_unregister(handles[i]);
	return us;
}

/* @param state HEDDLE_DEPTH */
static void test_ahead(void **state)
{
	struct starpu_conf conf;
	bool none = !strcmp(*state, "0");

	setenv("HEDDLE_DEPTH", *state, 1);
	starpu_conf_init(&conf);
	conf.sched_policy_name = "heddle";
	assert_int_equal(starpu_init(&conf), 0);
	for (int r = 0; r < REPETITIONS; r++) {
		double us = repetition_us();

		print_message("%d tasks of %d us on two accelerators, depth %s: %.0f us\n", TASKS,
		              GPU_US, (const char *)*state, us);
		/* Without asking ahead each one waits for its input. */
		assert_true(none ? us > (GPU_US + INPUT_US) * TASKS / 2
		                 : us < MOST * GPU_US * TASKS / 2);
	}
	starpu_shutdown();
}

/* One depth a process: transfers that are simulated by a second StarPU never end. */
int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_prestate(test_ahead, argc > 1 ? argv[1] : "2"),
	};

	return simulated_over(cmocka_run_group_tests(tests, NULL, NULL));
}
