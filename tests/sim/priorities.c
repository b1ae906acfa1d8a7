/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Priorities while an accelerator that has claimed tasks is held up, under every policy, on
 * a simulated machine: a core that takes what the accelerator claimed takes what is of
 * higher priority first, also when beliefs or the time have changed since. What only
 * one of them may run; and when the core is tried that has not run such tasks before.
 */
#include "config.h"

#include <heddle/policy.h>
#include <starpu.h>
#include <starpu_scheduler.h>
#include <string.h>

#include "tests/sim/simulated.h"
#include "tests/unit/test.h"

SIMULATED("1cpu+gpu1")

#define NTASKS 256
/* What tasks of the codelet take until something is said to the contrary. */
#define CPU_US 10000.
#define GPU_US 100.
/* Of a task that holds the accelerator up. */
#define LONG_US 1000000.

/* All tasks are of one family: nothing that the estimator sees tells them apart. */
struct task {
	double cpu_us, gpu_us;
	int priority;
};
static struct task tasks[NTASKS];
static unsigned ntasks;
static const struct task *ended[NTASKS]; /* on the core, in this order */
static unsigned nended;
static unsigned cpu, gpu; /* workers */

static double cost(struct starpu_task *task, struct starpu_perfmodel_arch *arch, unsigned nimpl)
{
	const struct task *mine = task->cl_arg;

	return arch->devices[0].type == STARPU_CPU_WORKER ? mine->cpu_us : mine->gpu_us;
}

static struct starpu_perfmodel model = {
    .type = STARPU_PER_ARCH,
    .symbol = "heddle_test_priorities",
    .arch_cost_function = cost,
};

static struct starpu_codelet codelet = {
    .cpu_funcs = {never},
    .cuda_funcs = {never},
    .model = &model,
    .name = "family",
};

/* Of which nothing is known: the estimator knows codelets by their names, and does not
 * forget when StarPU is shut down. */
static struct starpu_codelet unknown[] = {
    {.cpu_funcs = {never}, .cuda_funcs = {never}, .model = &model, .name = "claims, ddwrr"},
    {.cpu_funcs = {never}, .cuda_funcs = {never}, .model = &model, .name = "claims, odds"},
    {.cpu_funcs = {never}, .cuda_funcs = {never}, .model = &model, .name = "few, ddwrr"},
    {.cpu_funcs = {never}, .cuda_funcs = {never}, .model = &model, .name = "few, odds"},
    {.cpu_funcs = {never}, .cuda_funcs = {never}, .model = &model, .name = "many, ddwrr"},
    {.cpu_funcs = {never}, .cuda_funcs = {never}, .model = &model, .name = "many, odds"},
};
static struct starpu_codelet *used = &codelet;

static int cpu_only(unsigned worker, struct starpu_task *task, unsigned implementation)
{
	return starpu_worker_get_type(worker) == STARPU_CPU_WORKER;
}

/* The same family: the name is. */
static struct starpu_codelet for_cpus = {
    .cpu_funcs = {never},
    .cuda_funcs = {never},
    .can_execute = cpu_only,
    .model = &model,
    .name = "family",
};

static void has_ended(void *task)
{
	if ((unsigned)starpu_worker_get_id() == cpu)
		ended[nended++] = task;
}

/* A task of the family; the caller may restrict it before it submits it. */
static struct starpu_task *task_of(int priority, double cpu_us, double gpu_us)
{
	struct starpu_task *task = starpu_task_create();

	assert_true(ntasks < NTASKS);
	tasks[ntasks] = (struct task){cpu_us, gpu_us, priority};
	task->cl = used;
	task->priority = priority;
	task->callback_func = has_ended;
	task->callback_arg = task->cl_arg = &tasks[ntasks++];
	return task;
}

static void submit(struct starpu_task *task)
{
	assert_int_equal(starpu_task_submit(task), 0);
}

static void submit_many(unsigned n, int priority, double cpu_us, double gpu_us)
{
	while (n--)
		submit(task_of(priority, cpu_us, gpu_us));
}

/* Tasks that the policy gives to one worker. */
static void submit_for(unsigned worker, unsigned n, int priority, double us)
{
	static uint32_t set[STARPU_NMAXWORKERS];

	set[worker] = 1U << worker;
	while (n--) {
		struct starpu_task *task = task_of(priority, us, us);

		task->workerids = &set[worker];
		task->workerids_len = 1;
		submit(task);
	}
}

/* Keeps a worker busy with what its policy does not know. */
static void hold(unsigned worker, double us)
{
	struct starpu_task *task = task_of(0, us, us);

	task->execute_on_a_specific_worker = 1;
	task->workerid = worker;
	task->callback_func = NULL;
	submit(task);
}

static void machine_begin(const char *policy)
{
	struct starpu_conf conf;

	/* What is taken is started: tasks ahead are claims. */
	setenv("STARPU_CUDA_PIPELINE", "0", 1);
	/* Not what the model knows. */
	setenv("HEDDLE_ESTIMATE", "online", 1);
	starpu_conf_init(&conf);
	conf.sched_policy_name = policy;
	assert_int_equal(starpu_init(&conf), 0);
	assert_int_equal(starpu_worker_get_count(), 2);
	cpu = starpu_worker_get_by_type(STARPU_CPU_WORKER, 0);
	gpu = starpu_worker_get_by_type(STARPU_CUDA_WORKER, 0);
	ntasks = nended = 0;
}

/* The core is believed to be much slower. */
static void teach(void)
{
	submit_for(cpu, 8, 0, CPU_US);
	submit_for(gpu, 8, 0, GPU_US);
	starpu_task_wait_for_all();
	ntasks = nended = 0;
}

static void machine_end(const char *policy)
{
	starpu_task_wait_for_all();
	starpu_shutdown();
	print_message("%-12s", policy);
	for (unsigned i = 0; i < nended; i++)
		print_message(" %d", ended[i]->priority);
	print_message("\n");
}

static unsigned ended_of(int priority)
{
	unsigned n = 0;

	for (unsigned i = 0; i < nended; i++)
		n += ended[i]->priority == priority;
	return n;
}

static void check_order(void)
{
	for (unsigned i = 1; i < nended; i++)
		assert_true(ended[i]->priority <= ended[i - 1]->priority);
}

/* The core learns that it is the faster one when tasks have been claimed already. */
static void test_beliefs_change(void **state)
{
	for (const struct heddle_policy *p = heddle_policies(); p->name; p++) {
		machine_begin(p->name);
		teach();
		hold(gpu, 1000);
		hold(cpu, 5000);
		submit_many(6, 5, 50, LONG_US);
		submit_many(10, 0, 50, 50);
		submit_for(cpu, 12, 10, 50);
		machine_end(p->name);
		check_order();
		assert_int_equal(ended_of(10), 12);
		assert_int_equal(ended_of(5), 5);
	}
}

/* The core has left all to the accelerator, which claims some and is then held up. Under heddle
 * it leaves them until the accelerator is later than the core would have been. */
static void test_patience_ends(void **state)
{
	for (const struct heddle_policy *p = heddle_policies(); p->name; p++) {
		if (!strcmp(p->name, "heddle"))
			continue;
		machine_begin(p->name);
		teach();
		hold(cpu, 1000);
		hold(gpu, 5000);
		submit_many(2, 5, CPU_US, LONG_US);
		submit_many(4, 0, CPU_US, GPU_US);
		/* After the core has waited for CPU_US, and before the claims are so old. */
		starpu_sleep(0.013);
		submit_many(1, 0, CPU_US, GPU_US);
		machine_end(p->name);
		check_order();
		assert_true(ended_of(5) >= 1);
	}
}

/* What others would do faster, and may not. */
static void test_others_may_not(void **state)
{
	for (const struct heddle_policy *p = heddle_policies(); p->name; p++) {
		double us;

		machine_begin(p->name);
		teach();
		us = starpu_timing_now();
		submit_for(cpu, 4, 0, CPU_US);
		for (unsigned i = 0; i < 4; i++) {
			struct starpu_task *task = task_of(1, CPU_US, GPU_US);

			task->cl = &for_cpus;
			submit(task);
		}
		starpu_task_wait_for_all();
		us = starpu_timing_now() - us;
		machine_end(p->name);
		assert_int_equal(ended_of(0), 4);
		assert_int_equal(ended_of(1), 4);
		assert_true(us < 8.2 * CPU_US); /* nobody waited */
	}
}

/* The same for tasks that name their workers, from the first one on. */
static void test_others_are_not_named(void **state)
{
	for (const struct heddle_policy *p = heddle_policies(); p->name; p++) {
		double us;

		machine_begin(p->name);
		teach();
		us = starpu_timing_now();
		submit_for(cpu, 4, 0, CPU_US);
		starpu_task_wait_for_all();
		us = starpu_timing_now() - us;
		machine_end(p->name);
		assert_int_equal(ended_of(0), 4);
		assert_true(us < 4.1 * CPU_US);
	}
}

/* The core, which has not run the family yet, gets one task of it where the accelerator has
 * work for as long as that might take, and none where it would only delay the end. */
static void test_slow_worker_is_tried(void **state)
{
	static const char *const choosing[] = {"ddwrr", "odds"};
	/* All claimed at once; and PROBE_FACTOR, 64, lies between the others. */
	static const unsigned numbers[] = {3, 40, 150};

	for (unsigned u = 0; u < sizeof(unknown) / sizeof(*unknown); u++) {
		unsigned n = numbers[u / 2];
		double us;

		machine_begin(choosing[u % 2]);
		used = &unknown[u];
		submit_for(gpu, 8, 0, GPU_US);
		starpu_task_wait_for_all();
		nended = 0;
		us = starpu_timing_now();
		submit_many(n, 0, CPU_US, GPU_US);
		starpu_task_wait_for_all();
		us = starpu_timing_now() - us;
		machine_end(choosing[u % 2]);
		used = &codelet;
		assert_int_equal(nended, n > 64);
		assert_true(us < 1.1 * n * GPU_US);
	}
}

/* A worker claims as many tasks as the policy's strategy says, of all that are ready: while the
 * accelerator is at its first one, the core begins behind those that were claimed. */
static void test_chunks_are_claimed(void **state)
{
	static const char *const dividing[] = {"gss", "tss", "fss", "static"};
	enum { READY = 64 };

	for (unsigned p = 0; p < sizeof(dividing) / sizeof(*dividing); p++) {
		const struct task *first;

		machine_begin(dividing[p]);
		hold(gpu, 1000);
		hold(cpu, 5000);
		first = &tasks[ntasks];
		submit_many(READY, 0, 50, LONG_US);
		machine_end(dividing[p]);
		assert_true(nended > 0);
		/* A fourth of them at the least, a half at the most. */
		assert_in_range(ended[0] - first, READY / 4, READY / 2);
	}
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_beliefs_change),
	    cmocka_unit_test(test_patience_ends),
	    cmocka_unit_test(test_others_may_not),
	    cmocka_unit_test(test_others_are_not_named),
	    cmocka_unit_test(test_slow_worker_is_tried),
	    cmocka_unit_test(test_chunks_are_claimed),
	};

	return simulated_over(cmocka_run_group_tests(tests, NULL, NULL));
}
