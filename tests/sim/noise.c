/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Two task types of the same speed-up, whose times vary: their order is not that of chance, but
 * that of the program, which hands in first what other tasks wait for.
 */
#include "config.h"

#include <heddle/estimate.h>
#include <starpu.h>

#include "tests/sim/simulated.h"
#include "tests/unit/test.h"

SIMULATED("2cpu+gpu8")

#define NTASKS 200
#define NRUNS 12
#define CPU_US 8000.
#define GPU_US 1000.
#define NEXT_US 2500.

static double varied[2][NTASKS]; /* by a factor each, of both types */

static double cost(struct starpu_task *task, struct starpu_perfmodel_arch *arch, unsigned nimpl)
{
	double factor = *(double *)task->cl_arg;

	return factor * (arch->devices[0].type == STARPU_CPU_WORKER ? CPU_US : GPU_US);
}

static double next_cost(struct starpu_task *task, struct starpu_perfmodel_arch *arch,
                        unsigned nimpl)
{
	return NEXT_US;
}

static struct starpu_perfmodel model = {
    .type = STARPU_PER_ARCH, .symbol = "heddle_test_noise", .arch_cost_function = cost};
static struct starpu_perfmodel next_model = {
    .type = STARPU_PER_ARCH, .symbol = "heddle_test_next", .arch_cost_function = next_cost};
static struct starpu_codelet codelet = {
    .cpu_funcs = {never}, .cuda_funcs = {never}, .model = &model, .name = "varied"};
static struct starpu_codelet next_codelet = {
    .cpu_funcs = {never}, .model = &next_model, .name = "next"};

static void task_submit(unsigned run, unsigned type, unsigned number)
{
	/* Types of their own in each run: nothing is known of them. */
	const struct heddle_param param = {"type", 2 * run + type + 1, NULL};
	struct starpu_task *task = starpu_task_create(), *next = NULL;

	task->cl = &codelet;
	task->cl_arg = &varied[type][number];
	task->cl_arg_size = sizeof(varied[type][number]);
	assert_int_equal(heddle_task_params(task, &param, 1), 0);
	if (!type) {
		next = starpu_task_create();
		next->cl = &next_codelet;
		starpu_task_declare_deps_array(next, 1, &task);
		assert_int_equal(starpu_task_submit(next), 0);
	}
	assert_int_equal(starpu_task_submit(task), 0);
}

/* The time of all tasks, which vary by so large a part up and down. */
static double makespan(unsigned run, double part)
{
	double start = starpu_timing_now();

	srand(run);
	for (unsigned type = 0; type < 2; type++)
		for (unsigned i = 0; i < NTASKS; i++)
			varied[type][i] = 1 + part * (2 * (rand() / (double)RAND_MAX) - 1);
	for (unsigned type = 0; type < 2; type++)
		for (unsigned i = 0; i < NTASKS; i++)
			task_submit(run, type, i);
	starpu_task_wait_for_all();
	return starpu_timing_now() - start;
}

/* @param most how many times as long as without noise */
static void order_holds(const char *policy, double most)
{
	struct starpu_conf conf;
	double exact, worst = 0, sum = 0;

	starpu_conf_init(&conf);
	conf.sched_policy_name = policy;
	assert_int_equal(starpu_init(&conf), 0);
	exact = makespan(0, 0);
	for (unsigned run = 1; run <= NRUNS; run++) {
		double us = makespan(run, 0.3);

		worst = us > worst ? us : worst;
		sum += us;
	}
	print_message("%s: exact %.0f us, mean %.0f us, worst %.0f us\n", policy, exact,
	              sum / NRUNS, worst);
	starpu_shutdown();
	assert_true(worst <= most * exact);
}

static void test_ddwrr(void **state)
{
	order_holds("ddwrr", 1.03);
}

static void test_odds(void **state)
{
	order_holds("odds", 1.03);
}

/* Its plans expect times, not gains. */
static void test_heddle(void **state)
{
	order_holds("heddle", 1.1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_ddwrr),
	    cmocka_unit_test(test_odds),
	    cmocka_unit_test(test_heddle),
	};

	setenv("HEDDLE_PROFILE", "0", 1);
	setenv("HEDDLE_ESTIMATE", "online,neighbours", 1);
	return simulated_over(cmocka_run_group_tests(tests, NULL, NULL));
}
