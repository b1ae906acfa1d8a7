/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A task graph under heddle, with nothing known: cores end a task before the accelerator has ended
 * its first one. They go on, although nobody can say yet how much they help.
 */
#include "config.h"

#include <starpu.h>

#include "tests/sim/simulated.h"
#include "tests/unit/test.h"

SIMULATED("8cpu+gpu1@8000:10")

#define CORES 8
#define CHAINS 20
#define LENGTH 4
#define CORE_US 10000
#define GPU_US 10500

static double cost(struct starpu_task *task, struct starpu_perfmodel_arch *arch, unsigned nimpl)
{
	(void)task;
	(void)nimpl;
	return arch->devices[0].type == STARPU_CPU_WORKER ? CORE_US : GPU_US;
}

static struct starpu_perfmodel model = {
    .type = STARPU_PER_ARCH, .symbol = "heddle_first", .arch_cost_function = cost};
static struct starpu_codelet codelet = {
    .cpu_funcs = {never},
    .cuda_funcs = {never},
    .nbuffers = 1,
    .modes = {STARPU_RW},
    .model = &model,
    .name = "link",
};

static void chains_submit(starpu_data_handle_t *handles)
{
	for (int i = 0; i < LENGTH * CHAINS; i++)
		assert_int_equal(starpu_task_insert(&codelet, STARPU_RW, handles[i % CHAINS],
		                                    STARPU_PRIORITY, LENGTH - i / CHAINS, 0),
		                 0);
}

static void test_first(void **state)
{
	double us = simulated_us(CHAINS, chains_submit),
	       alone_us = LENGTH * CHAINS * (double)GPU_US;

	(void)state;
	print_message("%d tasks: %.0f us, %.0f on the accelerator alone\n", LENGTH * CHAINS, us,
	              alone_us);
	assert_true(us < 1.25 * alone_us / (CORES + 1));
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_first)};

	setenv("HEDDLE_ESTIMATE", "online,neighbours", 1);
	return simulated_over(cmocka_run_group_tests(tests, NULL, NULL));
}
