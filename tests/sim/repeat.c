/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A chain of tasks that four accelerators of one class run more slowly than a core, under heddle,
 * without a model: an accelerator is given one of them a second time, since it may have loaded
 * something at first. But no other one is, which would have to load as well.
 *
 * There is no second run once two types have shown that the accelerators load nothing, until a type
 * shows that they do.
 *
 * And a chain that cores run more slowly. They have run the first one, whose tasks have as much
 * data, fast enough. Yet no core tries the last task, since it could help with none that comes
 * after it.
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

#define CODELET(NAME, COST)                                                                        \
	static struct starpu_perfmodel NAME##_model = {                                            \
	    .type = STARPU_PER_ARCH, .symbol = "heddle_test_" #NAME, .arch_cost_function = COST};  \
	static struct starpu_codelet NAME = {.cpu_funcs = {never},                                 \
	                                     .cuda_funcs = {never},                                \
	                                     .model = &NAME##_model,                               \
	                                     .nbuffers = 1,                                        \
	                                     .modes = {STARPU_RW},                                 \
	                                     .name = #NAME}

CODELET(repeat, cost);
CODELET(slow, slow_cost);
CODELET(plain, cost);
CODELET(loads, loading_cost);
CODELET(again, cost);

static void has_ended(void *arg)
{
	runs[starpu_worker_get_id()]++;
}

/* Runs a chain. @param[out] accelerators how many of them ran some @return tasks on cores */
static unsigned chain_run(struct starpu_codelet *cl, int n, double flops, unsigned *accelerators)
{
	static unsigned char data[4096]; /* nobody reads it */
	starpu_data_handle_t handle;
	unsigned on_cores = 0;

	memset(runs, 0, sizeof(runs));
	starpu_vector_data_register(&handle, STARPU_MAIN_RAM, (uintptr_t)data, sizeof(data), 1);
	for (int i = 0; i < n; i++)
		assert_int_equal(starpu_task_insert(cl, STARPU_RW, handle, STARPU_FLOPS, flops,
		                                    STARPU_PRIORITY, n - i, STARPU_CALLBACK,
		                                    has_ended, 0),
		                 0);
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

static void test_repeat(void **state)
{
	struct starpu_conf conf;
	unsigned accelerators;

	/* Not what the model knows. */
	setenv("HEDDLE_ESTIMATE", "online,neighbours", 1);
	starpu_conf_init(&conf);
	conf.sched_policy_name = "heddle";
	assert_int_equal(starpu_init(&conf), 0);
	assert_int_equal(chain_run(&repeat, NTASKS, FLOPS, &accelerators), NTASKS - 2);
	assert_int_equal(accelerators, 1);
	assert_int_equal(chain_run(&slow, NSLOW, 0, &accelerators), 0);
	assert_int_equal(accelerators, 1);
	assert_int_equal(chain_run(&plain, NTASKS, FLOPS, &accelerators), NTASKS - 1);
	assert_int_equal(chain_run(&loads, NLOADS, FLOPS, &accelerators), NBELIEVED);
	assert_int_equal(chain_run(&again, NTASKS, FLOPS, &accelerators), NTASKS - 2);
	starpu_shutdown();
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_repeat)};

	return simulated_over(cmocka_run_group_tests(tests, NULL, NULL));
}
