/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Chains of short tasks on two simulated accelerators under heddle. Cores would save too little, so
 * they rest, and tasks wait in local queues. A chain writes one piece of data: it stays in the
 * memory where it began, unless an accelerator would have nothing to do. The accelerators share
 * the chains. Then come tasks that are long, and of which a core needs four times as long as an
 * accelerator: cores do their part.
 */
#include "config.h"

#include <starpu.h>

#include "tests/sim/simulated.h"
#include "tests/unit/test.h"

SIMULATED("4cpu+gpu1@12000:10+gpu1@12000:10")

#define CHAINS 24
#define LENGTH 100
#define TASKS (CHAINS * LENGTH)
#define BYTES 100000
#define CORE_US 2000
#define GPU_US 20
#define LONGER 1000
#define SLOWER 4
#define REPETITIONS 4
/* From this repetition on everything is known. */
#define LEARNED 1

static unsigned char data[CHAINS][BYTES];
static starpu_data_handle_t handles[CHAINS];
static double longer = 1;
static int last[CHAINS]; /* memory of a chain's last task; -1: none */
static unsigned in[STARPU_MAXNODES], moves;

static double cost(struct starpu_task *task, struct starpu_perfmodel_arch *arch, unsigned nimpl)
{
	(void)task;
	(void)nimpl;
	if (arch->devices[0].type == STARPU_CPU_WORKER)
		return longer > 1 ? SLOWER * GPU_US * longer : CORE_US;
	return GPU_US * longer;
}

static struct starpu_perfmodel model = {
    .type = STARPU_PER_ARCH,
    .symbol = "heddle_test_local",
    .arch_cost_function = cost,
};

static struct starpu_codelet step = {
    .cpu_funcs = {never},
    .cuda_funcs = {never},
    .model = &model,
    .nbuffers = 1,
    .modes = {STARPU_RW},
    .name = "step",
};

static void has_ended(void *arg)
{
	unsigned chain = (uintptr_t)arg;
	int node = starpu_worker_get_memory_node(starpu_worker_get_id());

	in[node]++;
	moves += last[chain] >= 0 && last[chain] != node;
	last[chain] = node;
}

/* Those of a chain have its length as size, so that long and short tasks are two types. */
static void repetition(size_t bytes)
{
	memset(in, 0, sizeof(in));
	moves = 0;
	for (unsigned c = 0; c < CHAINS; c++) {
		last[c] = -1;
		starpu_vector_data_register(&handles[c], STARPU_MAIN_RAM, (uintptr_t)data[c], bytes,
		                            1);
	}
	for (int n = LENGTH; n-- > 0;)
		for (uintptr_t c = 0; c < CHAINS; c++) {
			struct starpu_task *task = starpu_task_create();

			task->cl = &step;
			task->handles[0] = handles[c];
			task->priority = n;
			task->callback_func = has_ended;
			task->callback_arg = (void *)c;
			assert_int_equal(starpu_task_submit(task), 0);
		}
	starpu_task_wait_for_all();
	for (unsigned c = 0; c < CHAINS; c++)
		starpu_data_unregister(handles[c]);
	print_message("%u on cores, %u and %u on accelerators, %u moves\n", in[0], in[1], in[2],
	              moves);
}

static void test_local(void **state)
{
	struct starpu_conf conf;

	(void)state;
	starpu_conf_init(&conf);
	conf.sched_policy_name = "heddle";
	assert_int_equal(starpu_init(&conf), 0);
	for (unsigned r = 0; r < REPETITIONS; r++) {
		repetition(BYTES);
		assert_int_equal(in[0] + in[1] + in[2], TASKS);
		if (r < LEARNED)
			continue;
		assert_int_equal(in[0], 0);
		assert_in_range(in[1], TASKS / 2 - TASKS / 20, TASKS / 2 + TASKS / 20);
		assert_in_range(moves, 0, CHAINS);
	}
	longer = LONGER;
	repetition(BYTES / 2);
	assert_in_range(in[0], TASKS / 5, TASKS / 2);
	assert_int_equal(in[0] + in[1] + in[2], TASKS);
	starpu_shutdown();
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_local)};

	return simulated_over(cmocka_run_group_tests(tests, NULL, NULL));
}
