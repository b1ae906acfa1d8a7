/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Tasks that an accelerator has claimed, and whose inputs have been asked for over a slow
 * link, are done by a core, on a simulated machine. StarPU aborts when
 * it is shut down while such a transfer is under way.
 *
 *	taken_back [SCHED]
 */
#include "config.h"

#include <starpu.h>
#include <starpu_scheduler.h>

#include "tests/sim/simulated.h"
#include "tests/unit/test.h"

SIMULATED("1cpu+gpu1@10:10")

#define NTASKS 60
#define TASK_US 1000.
#define BYTES (1 << 20) /* a tenth of a second */

static unsigned char input[BYTES]; /* nobody reads it */
static unsigned nended, nended_on_cpu;

static void never(void *buffers[], void *arg)
{
	abort(); /* kernels do not run under SimGrid */
}

static double cost(struct starpu_task *task, struct starpu_perfmodel_arch *arch, unsigned nimpl)
{
	return TASK_US;
}

static struct starpu_perfmodel model = {
    .type = STARPU_PER_ARCH,
    .symbol = "heddle_test_taken_back",
    .arch_cost_function = cost,
};

static struct starpu_codelet codelet = {
    .cpu_funcs = {never},
    .cuda_funcs = {never},
    .model = &model,
    .nbuffers = 1,
    .modes = {STARPU_R},
    .name = "taken_back",
};

static void has_ended(void *arg)
{
	nended++;
	nended_on_cpu += starpu_worker_get_type(starpu_worker_get_id()) == STARPU_CPU_WORKER;
}

static void submit(void)
{
	struct starpu_task *task = starpu_task_create();
	starpu_data_handle_t handle;

	starpu_vector_data_register(&handle, STARPU_MAIN_RAM, (uintptr_t)input, BYTES, 1);
	task->cl = &codelet;
	task->handles[0] = handle;
	task->callback_func = has_ended;
	assert_int_equal(starpu_task_submit(task), 0);
	/* It is gone when it is not in use any more; nobody waits for that. */
	starpu_data_unregister_submit(handle);
}

static void test_shutdown(void **state)
{
	struct starpu_conf conf;

	/* Many are asked for ahead. */
	setenv("HEDDLE_PREFETCH", "40", 1);
	setenv("HEDDLE_DEPTH", "40", 1);
	starpu_conf_init(&conf);
	conf.sched_policy_name = *state;
	assert_int_equal(starpu_init(&conf), 0);
	for (unsigned i = 0; i < NTASKS; i++)
		submit();
	starpu_task_wait_for_all();
	print_message("%s: %u of %u tasks on the core\n", conf.sched_policy_name, nended_on_cpu,
	              nended);
	starpu_shutdown();
	assert_int_equal(nended, NTASKS);
	assert_true(nended_on_cpu > NTASKS / 2);
}

/* One policy a process: transfers that are simulated by a second StarPU never end. */
int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_prestate(test_shutdown, argc > 1 ? argv[1] : "odds")};

	return simulated_over(cmocka_run_group_tests(tests, NULL, NULL));
}
