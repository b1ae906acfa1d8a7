/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Tasks that an accelerator has claimed, and whose inputs have been asked for over a slow
 * link, are done by a core, on a simulated machine. StarPU aborts when
 * it is shut down while such a transfer is under way. Where the accelerator's memory is
 * smaller than the data it never ends by itself, and StarPU waits for it at the end of the data.
 *
 *	taken_back [SCHED [MIB]]
 */
#include "config.h"

#include <starpu.h>
#include <starpu_scheduler.h>

#include "tests/sim/simulated.h"
#include "tests/unit/test.h"

SIMULATED("1cpu+gpu1@1000:10")

#define NTASKS 60
#define TASK_US 1000.
/* As long as five tasks; StarPU takes much memory at once for what is below 4 MiB. */
#define BYTES (5 << 20)

static unsigned char input[BYTES]; /* nobody reads it */
static unsigned nended, nended_on_cpu;
static bool small; /* the accelerator's memory is */
static starpu_data_handle_t handles[NTASKS];

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

static void submit(unsigned i)
{
	struct starpu_task *task = starpu_task_create();

	starpu_vector_data_register(&handles[i], STARPU_MAIN_RAM, (uintptr_t)input, BYTES, 1);
	task->cl = &codelet;
	task->handles[0] = handles[i];
	task->callback_func = has_ended;
	assert_int_equal(starpu_task_submit(task), 0);
	/* It is gone when it is not in use any more; nobody waits for that. */
	if (!small)
		starpu_data_unregister_submit(handles[i]);
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
		submit(i);
	starpu_task_wait_for_all();
	/* First what waits for the memory that others have. */
	for (unsigned i = NTASKS; small && i-- > 0;)
		starpu_data_unregister(handles[i]);
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

	if (argc > 2) {
		small = true;
		setenv("STARPU_LIMIT_CUDA_MEM", argv[2], 1);
	}
	return simulated_over(cmocka_run_group_tests(tests, NULL, NULL));
}
