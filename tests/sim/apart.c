/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A stream of tasks on two accelerators and cores, under heddle, without a model. The first task of
 * each accelerator takes as long as a hundred others, because it loads something. Each task has
 * data of its own, so there is nothing to plan: cores do not wait for the accelerators meanwhile.
 */
#include "config.h"

#include <starpu.h>

#include "tests/sim/simulated.h"
#include "tests/unit/test.h"

SIMULATED("4cpu+gpu1+gpu1@10000:10")

#define NTASKS 200
#define CPU_US 1000
#define GPU_US 300
#define LOADING_US 30000

static unsigned on_cores;

static double cost(struct starpu_task *task, struct starpu_perfmodel_arch *arch, unsigned nimpl)
{
	static struct starpu_task *first[2];
	int id = arch->devices[0].devid;

	if (arch->devices[0].type == STARPU_CPU_WORKER)
		return CPU_US;
	if (!first[id])
		first[id] = task;
	return first[id] == task ? LOADING_US : GPU_US;
}

static struct starpu_perfmodel model = {
    .type = STARPU_PER_ARCH,
    .symbol = "heddle_test_apart",
    .arch_cost_function = cost,
};

static struct starpu_codelet codelet = {
    .cpu_funcs = {never},
    .cuda_funcs = {never},
    .model = &model,
    .nbuffers = 1,
    .modes = {STARPU_RW},
    .name = "apart",
};

static void has_ended(void *arg)
{
	on_cores += starpu_worker_get_type(starpu_worker_get_id()) == STARPU_CPU_WORKER;
}

static void test_apart(void **state)
{
	static unsigned char data[4096]; /* nobody reads it */
	static starpu_data_handle_t handles[NTASKS];
	struct starpu_conf conf;
	double us;

	/* Not what the model knows. */
	setenv("HEDDLE_ESTIMATE", "online,neighbours", 1);
	starpu_conf_init(&conf);
	conf.sched_policy_name = "heddle";
	assert_int_equal(starpu_init(&conf), 0);
	us = -starpu_timing_now();
	for (int i = 0; i < NTASKS; i++) {
		starpu_vector_data_register(&handles[i], STARPU_MAIN_RAM, (uintptr_t)data,
		                            sizeof(data), 1);
		assert_int_equal(starpu_task_insert(&codelet, STARPU_RW, handles[i],
		                                    STARPU_CALLBACK, has_ended, 0),
		                 0);
	}
	starpu_task_wait_for_all();
	us += starpu_timing_now();
	for (int i = 0; i < NTASKS; i++)
		starpu_data_unregister(handles[i]);
	starpu_shutdown();
	print_message("%.1f ms; %u of %d tasks on cores\n", us / 1000, on_cores, NTASKS);
	assert_in_range(us, LOADING_US, LOADING_US + LOADING_US / 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_apart)};

	return simulated_over(cmocka_run_group_tests(tests, NULL, NULL));
}
