/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A graph after a phase of independent tasks, under heddle, with nothing known, as a factorisation
 * follows the tasks that make its matrix. It is no stream because those were one: no core tries a
 * task that takes it longer than the accelerator needs for all of them. With the argument cores
 * these are tasks for cores alone, so many that cores take them without a plan; with pinned each
 * worker also gets a task past the policy, as blocks of loops are; with both such a row comes
 * before independent tasks of the accelerator.
 */
#include "config.h"

#include <string.h>
#include <starpu.h>

#include "tests/sim/simulated.h"
#include "tests/unit/test.h"

SIMULATED("6cpu+gpu1@8000:10")

#define MADE 40 /* independent tasks, before */
#define MADE_US 100000
#define ALONE_US 10000 /* those for cores alone, which come one after the other */
#define CHAINS 12
#define LENGTH 5
#define CORE_US 200000
#define GPU_US 1000

static unsigned on_cores;

static struct starpu_codelet make;

static double make_cost(struct starpu_task *task, struct starpu_perfmodel_arch *arch,
                        unsigned nimpl)
{
	return make.where == STARPU_CPU ? ALONE_US : MADE_US;
}

static double step_cost(struct starpu_task *task, struct starpu_perfmodel_arch *arch,
                        unsigned nimpl)
{
	return arch->devices[0].type == STARPU_CPU_WORKER ? CORE_US : GPU_US;
}

SIMULATED_CODELET(make, make_cost);
SIMULATED_CODELET(step, step_cost);

static void has_ended(void *arg)
{
	on_cores += starpu_worker_get_type(starpu_worker_get_id()) == STARPU_CPU_WORKER;
}

static void chains_submit(starpu_data_handle_t *handles)
{
	on_cores = 0;
	for (int i = 0; i < LENGTH * CHAINS; i++)
		assert_int_equal(starpu_task_insert(&step, STARPU_RW, handles[i % CHAINS],
		                                    STARPU_CALLBACK, has_ended, 0),
		                 0);
}

static void made_submit(starpu_data_handle_t *handles)
{
	for (int i = 0; i < MADE; i++) {
		assert_int_equal(starpu_task_insert(&make, STARPU_RW, handles[i], 0), 0);
		if (make.where == STARPU_CPU)
			starpu_sleep(10e-6F);
	}
	starpu_task_wait_for_all();
}

static void phases_submit(starpu_data_handle_t *handles)
{
	made_submit(handles);
	chains_submit(handles);
}

static void pinned_submit(starpu_data_handle_t *handles)
{
	made_submit(handles);
	for (unsigned w = 0; w < starpu_worker_get_count(); w++)
		assert_int_equal(starpu_task_insert(&make, STARPU_RW, handles[w],
		                                    STARPU_EXECUTE_ON_WORKER, w, 0),
		                 0);
	starpu_task_wait_for_all();
	chains_submit(handles);
}

static void both_submit(starpu_data_handle_t *handles)
{
	make.where = STARPU_CPU;
	made_submit(handles);
	make.where = STARPU_CUDA;
	made_submit(handles);
	chains_submit(handles);
}

static void phases_run(void (*submit)(starpu_data_handle_t *handles))
{
	double us = simulated_us(MADE, submit);

	print_message("%.0f us, %u tasks on cores\n", us, on_cores);
}

static void test_phases(void **state)
{
	phases_run(phases_submit);
	assert_int_equal(on_cores, 0);
}

static void test_cores_alone(void **state)
{
	make.where = STARPU_CPU;
	phases_run(phases_submit);
	assert_in_range(on_cores, 0, 1);
}

static void test_pinned(void **state)
{
	phases_run(pinned_submit);
	assert_int_equal(on_cores, 0);
}

static void test_both(void **state)
{
	phases_run(both_submit);
	assert_in_range(on_cores, 0, 1);
}

/* Each on a machine of its own. */
static const struct phase {
	const char *argument;
	struct CMUnitTest test[1];
} phases[] = {{"", {cmocka_unit_test(test_phases)}},
              {"cores", {cmocka_unit_test(test_cores_alone)}},
              {"pinned", {cmocka_unit_test(test_pinned)}},
              {"both", {cmocka_unit_test(test_both)}}};
#define NPHASES (sizeof(phases) / sizeof(phases[0]))

int main(int argc, char **argv)
{
	size_t i = 0;
	int failed;

	setenv("HEDDLE_ESTIMATE", "online,neighbours", 1);
	while (argc > 1 && i + 1 < NPHASES && strcmp(phases[i].argument, argv[1]))
		i++;
	failed = cmocka_run_group_tests_name(phases[i].argument, phases[i].test, NULL, NULL);
	return failed || i + 1 == NPHASES ? simulated_over(failed)
	                                  : simulated_again(phases[i + 1].argument);
}
