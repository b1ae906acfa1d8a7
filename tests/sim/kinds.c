/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Tasks of one codelet, with data of the same size, that differ by an argument alone: some take ten
 * times as long on the GPU, others on a core. StarPU's model knows it, and so does heddle.
 */
#include "config.h"

#include <starpu.h>

#include "tests/sim/simulated.h"
#include "tests/unit/test.h"

SIMULATED("1cpu+gpu1@10000:10")

#define NTASKS 40
#define QUICK_US 1000
#define SLOW_US 10000

static unsigned wrong;

static double cost(struct starpu_task *task, struct starpu_perfmodel_arch *arch, unsigned nimpl)
{
	int for_gpu = *(int *)task->cl_arg;

	return for_gpu == (arch->devices[0].type == STARPU_CUDA_WORKER) ? QUICK_US : SLOW_US;
}

SIMULATED_CODELET(kinds, cost);

static void has_ended(void *arg)
{
	int on_gpu = starpu_worker_get_type(starpu_worker_get_id()) == STARPU_CUDA_WORKER;

	wrong += on_gpu != *(int *)arg;
}

static void test_kinds(void **state)
{
	static unsigned char data[NTASKS][4096]; /* nobody reads it */
	static int args[NTASKS];
	starpu_data_handle_t handles[NTASKS];
	struct starpu_conf conf;

	starpu_conf_init(&conf);
	conf.sched_policy_name = "heddle";
	assert_int_equal(starpu_init(&conf), 0);
	for (int i = 0; i < NTASKS; i++) {
		args[i] = i % 2;
		starpu_vector_data_register(&handles[i], STARPU_MAIN_RAM, (uintptr_t)data[i],
		                            sizeof(data[i]), 1);
		assert_int_equal(starpu_task_insert(&kinds, STARPU_RW, handles[i],
		                                    STARPU_CL_ARGS_NFREE, &args[i], sizeof(int),
		                                    STARPU_CALLBACK_WITH_ARG_NFREE, has_ended,
		                                    &args[i], 0),
		                 0);
	}
	starpu_task_wait_for_all();
	print_message("%u of %d tasks ran where they take ten times as long\n", wrong, NTASKS);
	assert_int_equal(wrong, 0);
	for (int i = 0; i < NTASKS; i++)
		starpu_data_unregister(handles[i]);
	starpu_shutdown();
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_kinds)};

	return simulated_over(cmocka_run_group_tests(tests, NULL, NULL));
}
