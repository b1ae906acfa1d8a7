/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * One of four accelerators works on a chain of long tasks, under heddle. All the rest could be done
 * long before the chain ends. Yet a core takes a task that it is slow with: it ends it before the
 * chain ends, and accelerators have other tasks.
 */
#include "config.h"

#include <starpu.h>

#include "tests/sim/simulated.h"
#include "tests/unit/test.h"

SIMULATED("4cpu+gpu1+gpu1+gpu1+gpu1@10000:10")

#define NCHAIN 4
#define CHAIN_US 100000
#define NOTHERS 12
#define GPU_US 50000
#define CORE_US 300000  /* more than all four need for all tasks */
#define SLOW_US 9000000 /* on a core */

static bool on_core;

static double cost(const struct starpu_perfmodel_arch *arch, double core_us, double gpu_us)
{
	return arch->devices[0].type == STARPU_CPU_WORKER ? core_us : gpu_us;
}

static double chain_cost(struct starpu_task *task, struct starpu_perfmodel_arch *arch,
                         unsigned nimpl)
{
	return cost(arch, SLOW_US, CHAIN_US);
}

static double other_cost(struct starpu_task *task, struct starpu_perfmodel_arch *arch,
                         unsigned nimpl)
{
	return cost(arch, SLOW_US, GPU_US);
}

static double spare_cost(struct starpu_task *task, struct starpu_perfmodel_arch *arch,
                         unsigned nimpl)
{
	return cost(arch, CORE_US, GPU_US);
}

SIMULATED_CODELET(chain, chain_cost);
SIMULATED_CODELET(other, other_cost);
SIMULATED_CODELET(spare, spare_cost);

static void has_ended(void *arg)
{
	on_core = starpu_worker_get_type(starpu_worker_get_id()) == STARPU_CPU_WORKER;
}

static void test_path(void **state)
{
	static unsigned char data[NOTHERS + 2][4096]; /* nobody reads it */
	starpu_data_handle_t handles[NOTHERS + 2];
	struct starpu_conf conf;

	starpu_conf_init(&conf);
	conf.sched_policy_name = "heddle";
	assert_int_equal(starpu_init(&conf), 0);
	for (int i = 0; i < NOTHERS + 2; i++)
		starpu_vector_data_register(&handles[i], STARPU_MAIN_RAM, (uintptr_t)data[i],
		                            sizeof(data[i]), 1);
	for (int i = 0; i < NCHAIN; i++)
		assert_int_equal(
		    starpu_task_insert(&chain, STARPU_RW, handles[NOTHERS], STARPU_PRIORITY, 2, 0),
		    0);
	starpu_sleep(CHAIN_US * 1e-7);
	assert_int_equal(starpu_task_insert(&spare, STARPU_RW, handles[NOTHERS + 1],
	                                    STARPU_PRIORITY, 1, STARPU_CALLBACK, has_ended, 0),
	                 0);
	for (int i = 0; i < NOTHERS; i++)
		assert_int_equal(starpu_task_insert(&other, STARPU_RW, handles[i], 0), 0);
	starpu_task_wait_for_all();
	for (int i = 0; i < NOTHERS + 2; i++)
		starpu_data_unregister(handles[i]);
	starpu_shutdown();
	assert_true(on_core);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_path)};

	return simulated_over(cmocka_run_group_tests(tests, NULL, NULL));
}
