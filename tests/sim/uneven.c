/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Two accelerators of one name that StarPU's models know not to be equally fast, under heddle: a
 * chain runs on the one that is faster with its type, whichever that is. So it does without models
 * in a second process, by what the first one measured.
 */
#include "config.h"

#include <starpu.h>

#include "tests/sim/simulated.h"
#include "tests/unit/test.h"

SIMULATED("1cpu+gpu1+gpu1@10000:10")

#define NTASKS 10
#define NMEASURED 12 /* independent tasks of each type in a first process */
#define CPU_US 100000
#define FAST_US 10000
#define SLOW_US 15000
#define RATHER_SLOW_US 10800

static unsigned runs[2];
static bool models; /* tell the times */

static double cost(const struct starpu_perfmodel_arch *arch, int slow, double slow_us)
{
	if (arch->devices[0].type == STARPU_CPU_WORKER)
		return CPU_US;
	return arch->devices[0].devid == slow ? slow_us : FAST_US;
}

static double first_cost(struct starpu_task *task, struct starpu_perfmodel_arch *arch,
                         unsigned nimpl)
{
	return cost(arch, 0, SLOW_US);
}

static double second_cost(struct starpu_task *task, struct starpu_perfmodel_arch *arch,
                          unsigned nimpl)
{
	return cost(arch, 1, SLOW_US);
}

static double first_rather_cost(struct starpu_task *task, struct starpu_perfmodel_arch *arch,
                                unsigned nimpl)
{
	return cost(arch, 0, RATHER_SLOW_US);
}

static double second_rather_cost(struct starpu_task *task, struct starpu_perfmodel_arch *arch,
                                 unsigned nimpl)
{
	return cost(arch, 1, RATHER_SLOW_US);
}

SIMULATED_CODELET(first_is_slow, first_cost);
SIMULATED_CODELET(second_is_slow, second_cost);
SIMULATED_CODELET(first_is_rather_slow, first_rather_cost);
SIMULATED_CODELET(second_is_rather_slow, second_rather_cost);

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

static void begin(void)
{
	struct starpu_conf conf;

	starpu_conf_init(&conf);
	conf.sched_policy_name = "heddle";
	assert_int_equal(starpu_init(&conf), 0);
}

static void test_uneven(void **state)
{
	begin();
	chain_check(&first_is_slow, 0);
	chain_check(&second_is_slow, 1);
	/* 4 % to either side of the mean. */
	if (models) {
		chain_check(&first_is_rather_slow, 0);
		chain_check(&second_is_rather_slow, 1);
	}
	starpu_shutdown();
}

/* Both accelerators run some of them. */
static void measure(struct starpu_codelet *cl)
{
	static unsigned char data[NMEASURED][4096]; /* nobody reads it */
	starpu_data_handle_t handles[NMEASURED];

	runs[0] = runs[1] = 0;
	for (int i = 0; i < NMEASURED; i++) {
		starpu_vector_data_register(&handles[i], STARPU_MAIN_RAM, (uintptr_t)data[i],
		                            sizeof(data[i]), 1);
		assert_int_equal(
		    starpu_task_insert(cl, STARPU_RW, handles[i], STARPU_CALLBACK, has_ended, 0),
		    0);
	}
	starpu_task_wait_for_all();
	for (int i = 0; i < NMEASURED; i++)
		starpu_data_unregister(handles[i]);
	assert_true(runs[0] > 1 && runs[1] > 1);
}

static void test_first_process(void **state)
{
	begin();
	measure(&first_is_slow);
	measure(&second_is_slow);
	starpu_shutdown();
}

static void test_processes(void **state)
{
	const char *self = *state;
	char command[8192];

	snprintf(command, sizeof(command),
	         "HEDDLE_PROFILE_DIR=$(mktemp -d) && HEDDLE_ESTIMATE=online,profile && "
	         "export HEDDLE_PROFILE_DIR HEDDLE_ESTIMATE HEDDLE_PROFILE=1 || exit 1\n"
	         "'%s' first && '%s' second\nstatus=$?\nrm -rf \"$HEDDLE_PROFILE_DIR\"\n"
	         "exit $status",
	         self, self);
	assert_int_equal(system(command), 0);
}

int main(int argc, char *argv[])
{
	const struct CMUnitTest first[] = {cmocka_unit_test(test_first_process)};
	const struct CMUnitTest second[] = {cmocka_unit_test(test_uneven)};
	const struct CMUnitTest all[] = {
	    cmocka_unit_test(test_uneven),
	    cmocka_unit_test_prestate(test_processes, argv[0]),
	};

	models = argc == 1;
	if (models)
		return simulated_over(cmocka_run_group_tests(all, NULL, NULL));
	return simulated_over(!strcmp(argv[1], "first")
	                          ? cmocka_run_group_tests(first, NULL, NULL)
	                          : cmocka_run_group_tests(second, NULL, NULL));
}
