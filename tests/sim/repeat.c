/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A chain of tasks that four accelerators of one class run more slowly than a core, under heddle,
 * without a model: an accelerator is given one of them a second time, since it may have loaded
 * something at first. But no other one is, which would have to load as well.
 *
 * There is no second run once two types have shown that the accelerators load nothing, until a type
 * shows that they do. Cores do not try a type sooner for that.
 *
 * And a chain that cores run more slowly. They have run the first one, whose tasks have as much
 * data, fast enough. Yet no core tries the last task, since it could help with none that comes
 * after it.
 *
 * Nor does one in a second process that knows the accelerators' times, and where the first task of
 * all seemed to be the last of its type.
 */
#include "config.h"

#include <starpu.h>

#include "tests/sim/simulated.h"
#include "tests/unit/test.h"

SIMULATED("4cpu+gpu1+gpu1+gpu1+gpu1@10000:10")

#define NTASKS 10
#define CPU_US 20000
#define GPU_US 60000
#define SLOW_US 200000   /* on a core, of the second chain */
#define NSLOW 3          /* two on accelerators before the last one */
#define LOADING_US 50000 /* the first run of a type that loads something, */
#define LOADED_US 1000   /* and later ones */
#define NLOADS 60        /* tasks of it */
#define NBELIEVED 10     /* on cores, while nobody believes that it does: 4 times as long */
#define NKNOWN 2         /* tasks of a first process, on accelerators */
#define EVERY 4          /* task of a chain with two types is of the first one */
#define NMIXED 9         /* tasks of it, the last one of the first type, too */
#define NOTHERS 4        /* of those of the other type, on cores */
#define SUBMIT_S 1e-5    /* a program takes to submit a task, in a chain of two types */
#define FLOPS 3e8        /* of a task; a core is expected to do this in 15 ms */

static unsigned runs[STARPU_NMAXWORKERS];

static double cost(struct starpu_task *task, struct starpu_perfmodel_arch *arch, unsigned nimpl)
{
	return arch->devices[0].type == STARPU_CPU_WORKER ? CPU_US : GPU_US;
}

static double slow_cost(struct starpu_task *task, struct starpu_perfmodel_arch *arch,
                        unsigned nimpl)
{
	return arch->devices[0].type == STARPU_CPU_WORKER ? SLOW_US : GPU_US;
}

static double loading_cost(struct starpu_task *task, struct starpu_perfmodel_arch *arch,
                           unsigned nimpl)
{
	if (arch->devices[0].type == STARPU_CPU_WORKER)
		return CPU_US;
	return task->priority == NLOADS ? LOADING_US : LOADED_US;
}

SIMULATED_CODELET(repeat, cost);
SIMULATED_CODELET(slow, slow_cost);
SIMULATED_CODELET(ends, slow_cost);
SIMULATED_CODELET(others, cost);
SIMULATED_CODELET(plain, cost);
SIMULATED_CODELET(later, slow_cost);
SIMULATED_CODELET(loads, loading_cost);
SIMULATED_CODELET(again, cost);

static void has_ended(void *arg)
{
	runs[starpu_worker_get_id()]++;
}

/* Runs a chain, one task in EVERY of the first codelet. @param[out] accelerators how many of them
 * ran some @return tasks on cores */
static unsigned chain_run(struct starpu_codelet *cl, struct starpu_codelet *between, int n,
                          double flops, unsigned *accelerators)
{
	static unsigned char data[4096]; /* nobody reads it */
	starpu_data_handle_t handle;
	unsigned on_cores = 0;

	memset(runs, 0, sizeof(runs));
	starpu_vector_data_register(&handle, STARPU_MAIN_RAM, (uintptr_t)data, sizeof(data), 1);
	for (int i = 0; i < n; i++) {
		bool other = i % EVERY;

		assert_int_equal(
		    starpu_task_insert(other ? between : cl, STARPU_RW, handle, STARPU_FLOPS,
		                       other || between == cl ? flops : 0., STARPU_PRIORITY, n - i,
		                       STARPU_CALLBACK, has_ended, 0),
		    0);
		if (between != cl)
			starpu_sleep(SUBMIT_S);
	}
	starpu_task_wait_for_all();
	starpu_data_unregister(handle);
	*accelerators = 0;
	for (unsigned w = 0; w < starpu_worker_get_count(); w++)
		if (starpu_worker_get_type(w) == STARPU_CPU_WORKER)
			on_cores += runs[w];
		else
			*accelerators += runs[w] > 0;
	print_message("%s: %u of %d tasks on cores, %u accelerators\n", cl->name, on_cores, n,
	              *accelerators);
	return on_cores;
}

static void begin(void)
{
	struct starpu_conf conf;

	starpu_conf_init(&conf);
	conf.sched_policy_name = "heddle";
	assert_int_equal(starpu_init(&conf), 0);
}

static void test_first_process(void **state)
{
	unsigned accelerators;

	begin();
	assert_int_equal(chain_run(&ends, &ends, NKNOWN, 0, &accelerators), 0);
	starpu_shutdown();
}

static void test_second_process(void **state)
{
	unsigned accelerators;

	begin();
	assert_int_equal(chain_run(&ends, &others, NMIXED, FLOPS, &accelerators), NOTHERS);
	starpu_shutdown();
}

static void test_processes(void **state)
{
	const char *self = *state;
	char command[8192];

	snprintf(command, sizeof(command),
	         "HEDDLE_PROFILE_DIR=$(mktemp -d) && HEDDLE_ESTIMATE=online,profile,neighbours && "
	         "export HEDDLE_PROFILE_DIR HEDDLE_ESTIMATE HEDDLE_PROFILE=1 || exit 1\n"
	         "'%s' first && '%s' second\nstatus=$?\nrm -rf \"$HEDDLE_PROFILE_DIR\"\n"
	         "exit $status",
	         self, self);
	assert_int_equal(system(command), 0);
}

static void test_repeat(void **state)
{
	unsigned accelerators;

	/* Not what the model knows. */
	setenv("HEDDLE_ESTIMATE", "online,neighbours", 1);
	begin();
	assert_int_equal(chain_run(&repeat, &repeat, NTASKS, FLOPS, &accelerators), NTASKS - 2);
	assert_int_equal(accelerators, 1);
	assert_int_equal(chain_run(&slow, &slow, NSLOW, 0, &accelerators), 0);
	assert_int_equal(accelerators, 1);
	assert_int_equal(chain_run(&plain, &plain, NTASKS, FLOPS, &accelerators), NTASKS - 1);
	assert_int_equal(chain_run(&later, &later, NSLOW, 0, &accelerators), 0);
	assert_int_equal(chain_run(&loads, &loads, NLOADS, FLOPS, &accelerators), NBELIEVED);
	assert_int_equal(chain_run(&again, &again, NTASKS, FLOPS, &accelerators), NTASKS - 2);
	starpu_shutdown();
}

int main(int argc, char *argv[])
{
	const struct CMUnitTest first[] = {cmocka_unit_test(test_first_process)};
	const struct CMUnitTest second[] = {cmocka_unit_test(test_second_process)};
	const struct CMUnitTest all[] = {
	    cmocka_unit_test_prestate(test_processes, argv[0]),
	    cmocka_unit_test(test_repeat),
	};

	if (argc == 1)
		return simulated_over(cmocka_run_group_tests(all, NULL, NULL));
	return simulated_over(!strcmp(argv[1], "first")
	                          ? cmocka_run_group_tests(first, NULL, NULL)
	                          : cmocka_run_group_tests(second, NULL, NULL));
}
