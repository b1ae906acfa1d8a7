/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Ordinary tasks under every policy on a simulated machine, where times are exact:
 * no worker idles beside ready tasks, so all end within one task of each other.
 */
#include "config.h"

#include <heddle/policy.h>
#include <starpu.h>
#include <starpu_scheduler.h>

#include "tests/sim/simulated.h"
#include "tests/unit/test.h"

SIMULATED("4cpu+gpu8")

#define NTASKS 1000
#define CPU_US 1000.
#define GPU_US 125.

static double cost(struct starpu_task *task, struct starpu_perfmodel_arch *arch, unsigned nimpl)
{
	return arch->devices[0].type == STARPU_CPU_WORKER ? CPU_US : GPU_US;
}

static struct starpu_perfmodel model = {
    .type = STARPU_PER_ARCH,
    .symbol = "heddle_test_policies",
    .arch_cost_function = cost,
};

static struct starpu_codelet codelet = {
    .cpu_funcs = {never},
    .cuda_funcs = {never},
    .model = &model,
    .name = "simulated",
};

static double makespan(const char *policy)
{
	struct starpu_conf conf;
	double start;

	starpu_conf_init(&conf);
	conf.sched_policy_name = policy;
	assert_int_equal(starpu_init(&conf), 0);
	assert_string_equal(starpu_sched_ctx_get_sched_policy(0)->policy_name, policy);
	assert_int_equal(starpu_cpu_worker_get_count(), 4);
	assert_int_equal(starpu_cuda_worker_get_count(), 1);
	start = starpu_timing_now();
	for (unsigned i = 0; i < NTASKS; i++) {
		struct starpu_task *task = starpu_task_create();

		task->cl = &codelet;
		assert_int_equal(starpu_task_submit(task), 0);
	}
	starpu_task_wait_for_all();
	start = starpu_timing_now() - start;
	starpu_shutdown();
	return start;
}

/* At most one task of the slowest worker beyond the ideal, and 2 % for what StarPU
 * adds to every task. */
static void test_no_idleness(void **state)
{
	double ideal = NTASKS / (4 / CPU_US + 1 / GPU_US);

	print_message("eager        %.0f us\n", makespan("eager"));
	for (const struct heddle_policy *p = heddle_policies(); p->name; p++) {
		double us = makespan(p->name);

		print_message("%-12s %.0f us, ideal %.0f us\n", p->name, us, ideal);
		assert_true(us >= ideal - 1e-6);
		assert_true(us <= 1.02 * ideal + CPU_US);
	}
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_no_idleness)};

	return simulated_over(cmocka_run_group_tests(tests, NULL, NULL));
}
