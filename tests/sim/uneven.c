/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Two accelerators of one name that StarPU's models know not to be equally fast, under heddle: a
 * chain runs on the one that is faster with its type, whichever that is.
 */
#include "config.h"

#include <starpu.h>

#include "tests/sim/simulated.h"
#include "tests/unit/test.h"

SIMULATED("1cpu+gpu1+gpu1@10000:10")

#define NTASKS 10
#define CPU_US 100000
#define FAST_US 10000
#define SLOW_US 15000

static unsigned runs[2];

static double cost(const struct starpu_perfmodel_arch *arch, int slow)
{
	if (arch->devices[0].type == STARPU_CPU_WORKER)
		return CPU_US;
	return arch->devices[0].devid == slow ? SLOW_US : FAST_US;
}

static double first_cost(struct starpu_task *task, struct starpu_perfmodel_arch *arch,
                         unsigned nimpl)
{
	return cost(arch, 0);
}

static double second_cost(struct starpu_task *task, struct starpu_perfmodel_arch *arch,
                          unsigned nimpl)
{
	return cost(arch, 1);
}

SIMULATED_CODELET(first_is_slow, first_cost);
SIMULATED_CODELET(second_is_slow, second_cost);

static void has_ended(void *arg)
{
	if (starpu_worker_get_type(starpu_worker_get_id()) == STARPU_CUDA_WORKER)
		runs[starpu_worker_get_devid(starpu_worker_get_id())]++;
}

static void chain_check(struct starpu_codelet *cl, unsigned slow)
{
	static unsigned char data[4096]; /* nobody reads it */
	starpu_data_handle_t handle;

	runs[0] = runs[1] = 0;
	starpu_vector_data_register(&handle, STARPU_MAIN_RAM, (uintptr_t)data, sizeof(data), 1);
	for (int i = 0; i < NTASKS; i++)
		assert_int_equal(
		    starpu_task_insert(cl, STARPU_RW, handle, STARPU_CALLBACK, has_ended, 0), 0);
	starpu_task_wait_for_all();
	starpu_data_unregister(handle);
	print_message("%s: %u and %u of %d tasks\n", cl->name, runs[0], runs[1], NTASKS);
	assert_int_equal(runs[slow], 0);
	assert_int_equal(runs[!slow], NTASKS);
}

static void test_uneven(void **state)
{
	struct starpu_conf conf;

	starpu_conf_init(&conf);
	conf.sched_policy_name = "heddle";
	assert_int_equal(starpu_init(&conf), 0);
	chain_check(&first_is_slow, 0);
	chain_check(&second_is_slow, 1);
	starpu_shutdown();
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_uneven)};

	return simulated_over(cmocka_run_group_tests(tests, NULL, NULL));
}
