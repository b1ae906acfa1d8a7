/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The estimator under StarPU's own policies: tasks are sampled, and dmda places
 * by the estimates. With an OpenCL worker (estimate_opencl.sh) there are two
 * classes of devices.
 */
#include "config.h"

#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <heddle/loop.h>
#include <heddle/policy.h>

#include "estimator/estimate_starpu.h"
#include "tests/unit/test.h"

#define NTASKS 42
#define ENOUGH 7 /* samples that a few others do not outweigh */
#define CPU_US 20000.
#define OPENCL_US 1000.

static char folder[] = "/tmp/heddle-estimate-XXXXXX";
static atomic_uint executed[STARPU_NMAXWORKERS];

static void count(void *buffers[], void *arg)
{
	atomic_fetch_add(&executed[starpu_worker_get_id()], 1);
}

/* As long as the argument says, µs. */
static void spend(void *buffers[], void *arg)
{
	double until = starpu_timing_now() + *(double *)arg;

	while (starpu_timing_now() < until)
		;
	count(buffers, arg);
}

static struct starpu_perfmodel model = HEDDLE_ESTIMATE_MODEL("placed");
static struct starpu_codelet placed = {
    .cpu_funcs = {count}, .opencl_funcs = {count}, .model = &model, .name = "placed"};
static struct starpu_perfmodel cold_model = HEDDLE_ESTIMATE_MODEL("cold");
static struct starpu_codelet cold = {
    .cpu_funcs = {spend}, .opencl_funcs = {spend}, .model = &cold_model};
static struct starpu_codelet loading = {.cpu_funcs = {count}, .opencl_funcs = {count}};
static struct starpu_codelet stating = {
    .cpu_funcs = {spend}, .opencl_funcs = {spend}, .name = "stating"};

static struct starpu_codelet looped = {
    .cpu_funcs = {count}, .opencl_funcs = {count}, .modes = {STARPU_RW}, .name = "looped"};

/* The core is left to others. */
static void wait_long(void *buffers[], void *arg)
{
	nanosleep(&(struct timespec){.tv_nsec = 200000000}, NULL);
}

/* Where a machine takes a core away and says so late, a thread's clock goes back: it is the time
 * that passes, less what a test takes. */
static atomic_bool fake;
static atomic_long taken_us;

int clock_gettime(clockid_t clock, struct timespec *time)
{
	bool faked = clock == CLOCK_THREAD_CPUTIME_ID && atomic_load(&fake);
	int error = syscall(SYS_clock_gettime, faked ? CLOCK_MONOTONIC : clock, time);
	long ns = time->tv_nsec - 1000 * atomic_load(&taken_us);

	if (!error && faked) {
		time->tv_sec -= ns < 0;
		time->tv_nsec = ns < 0 ? ns + 1000000000 : ns;
	}
	return error;
}

/* Takes 2 ms, of which so much is taken away. */
static void spend_and_lose(void *buffers[], void *arg)
{
	spend(buffers, &(double){2000});
	atomic_fetch_add(&taken_us, *(long *)arg);
}

static struct starpu_codelet losing = {.cpu_funcs = {spend_and_lose}};

static struct starpu_codelet waiting = {.cpu_funcs = {wait_long}, .name = "waiting"};

static void begin(const char *policy)
{
	struct starpu_conf conf;

	starpu_conf_init(&conf);
	conf.sched_policy_name = policy;
	assert_int_equal(starpu_init(&conf), 0);
	memset(executed, 0, sizeof(executed));
}

static struct starpu_task *task_make(struct starpu_codelet *codelet, double *arg)
{
	struct starpu_task *task = starpu_task_create();

	task->cl = codelet;
	task->cl_arg = arg;
	task->cl_arg_size = sizeof(*arg);
	return task;
}

/* Where an OpenCL worker is 20 times as fast, it gets 20 times as many. */
static void test_placement(void **state)
{
	struct starpu_task *known;
	struct heddle_estimate estimate;
	unsigned tasks[2] = {0};

	begin("dmda");
	if (!starpu_opencl_worker_get_count() || starpu_cpu_worker_get_count() != 1) {
		starpu_shutdown();
		skip();
	}
	known = task_make(&placed, NULL);
	for (unsigned w = 0; w < starpu_worker_get_count(); w++)
		for (int i = 0; i < ENOUGH; i++)
			heddle_estimate_executed(
			    known, w,
			    starpu_worker_get_type(w) == STARPU_CPU_WORKER ? CPU_US : OPENCL_US);
	for (unsigned w = 0; w < starpu_worker_get_count(); w++) {
		assert_int_equal(heddle_estimate_task(known, w, &estimate), 0);
		assert_int_equal(estimate.source, HEDDLE_ESTIMATE_ONLINE);
		assert_true(starpu_task_expected_length(
		                known, starpu_worker_get_perf_archtype(w, 0), 0) == estimate.us);
	}
	/* Placed when they are pushed, before any of them runs. */
	starpu_pause();
	for (int i = 0; i < NTASKS; i++)
		assert_int_equal(starpu_task_submit(task_make(&placed, NULL)), 0);
	starpu_resume();
	starpu_task_wait_for_all();
	for (unsigned w = 0; w < starpu_worker_get_count(); w++)
		tasks[starpu_worker_get_type(w) != STARPU_CPU_WORKER] += executed[w];
	print_message("dmda: %u on the CPU, %u on OpenCL\n", tasks[0], tasks[1]);
	assert_int_equal(tasks[0], NTASKS / 21);
	assert_int_equal(tasks[1], NTASKS - NTASKS / 21);
	known->destroy = 0;
	starpu_task_destroy(known);
	starpu_shutdown();
}

/* An accelerator's first run, which may have loaded the kernel, counts as long as there is no
 * other. */
static void test_first_run(void **state)
{
	struct starpu_task *task;
	struct heddle_estimate estimate;
	int opencl;

	begin("eager");
	opencl = starpu_worker_get_by_type(STARPU_OPENCL_WORKER, 0);
	if (opencl < 0) {
		starpu_shutdown();
		skip();
	}
	task = task_make(&loading, NULL);
	heddle_estimate_executed(task, opencl, 300 * OPENCL_US);
	assert_int_equal(heddle_estimate_task(task, opencl, &estimate), 0);
	assert_true(estimate.first && estimate.us == 300 * OPENCL_US);
	for (unsigned i = 1; i < 3; i++) {
		heddle_estimate_executed(task, opencl, (i + 1) * OPENCL_US);
		assert_int_equal(heddle_estimate_task(task, opencl, &estimate), 0);
		assert_true(!estimate.first && estimate.us == 2 * OPENCL_US);
		assert_int_equal(estimate.samples, 1 + i);
	}
	task->destroy = 0;
	starpu_task_destroy(task);
	starpu_shutdown();
}

/* Samples of each worker that ran something; the times that were really spent. */
static void assert_sampled(struct starpu_task *task, double us)
{
	struct heddle_estimate estimate;

	for (unsigned w = 0; w < starpu_worker_get_count(); w++) {
		assert_int_equal(heddle_estimate_task(task, w, &estimate), 0);
		if (!executed[w])
			continue;
		assert_int_equal(estimate.source, HEDDLE_ESTIMATE_ONLINE);
		assert_in_range(estimate.samples, 1, NTASKS);
		assert_true(estimate.us >= us);
	}
	task->destroy = 0;
	starpu_task_destroy(task);
}

/* Nothing known: all is done, and something is known afterwards. */
static void test_cold(void **state)
{
	double us = 200;

	begin("dmda");
	for (int i = 0; i < NTASKS; i++)
		assert_int_equal(starpu_task_submit(task_make(&cold, &us)), 0);
	starpu_task_wait_for_all();
	assert_sampled(task_make(&cold, &us), us);
	starpu_shutdown();
}

/* Policies that ask no model: tasks that state parameters are sampled. */
static void test_stating(void **state)
{
	static const char *const policies[] = {"eager", "lws", "dmda", "modular-heft", "prio"};

	for (size_t p = 0; p < sizeof(policies) / sizeof(*policies); p++) {
		struct heddle_param param = {"policy", 0, policies[p]};
		double us = 300;

		begin(policies[p]);
		for (int i = 0; i < NTASKS; i++) {
			struct starpu_task *task = task_make(&stating, &us);

			assert_int_equal(heddle_task_params(task, &param, 1), 0);
			assert_int_equal(starpu_task_submit(task), 0);
		}
		starpu_task_wait_for_all();
		struct starpu_task *task = task_make(&stating, &us);

		assert_int_equal(heddle_task_params(task, &param, 1), 0);
		assert_sampled(task, us);
		starpu_shutdown();
	}
}

/* Policies ask for classes before StarPU has named its workers: every device has
 * a name of its own all the same. */
static void assert_classes(void)
{
	for (unsigned w = 0; w < starpu_worker_get_count(); w++) {
		const char *name = heddle_device_class_name(heddle_device_class(w));
		const char *device = strchr(name, ' ');
		char worker[128];

		assert_non_null(device);
		assert_true(strlen(device) > 1);
		if (starpu_worker_get_type(w) != STARPU_OPENCL_WORKER)
			continue;
		starpu_worker_get_name(w, worker, sizeof(worker));
		assert_non_null(strchr(worker, '('));
		/* StarPU cuts long names off. */
		assert_memory_equal(strchr(worker, '(') + 1, device + 1, 16);
	}
}

/* One sample a task, also under policies of ours. */
static void test_once(void **state)
{
	for (const struct heddle_policy *p = heddle_policies(); p->name; p++) {
		struct heddle_param param = {"once", 0, p->name};
		struct heddle_estimate estimate = {0};
		struct starpu_task *task = NULL;
		unsigned samples = 0;
		double us = 10;

		begin(p->name);
		assert_classes();
		for (int i = 0; i <= NTASKS; i++) {
			task = task_make(&stating, &us);
			assert_int_equal(heddle_task_params(task, &param, 1), 0);
			if (i < NTASKS)
				assert_int_equal(starpu_task_submit(task), 0);
		}
		starpu_task_wait_for_all();
		for (unsigned c = 0; c < heddle_device_classes(); c++) {
			heddle_estimate(task, c, &estimate);
			samples += estimate.samples;
		}
		assert_in_range(samples, 1, NTASKS);
		task->destroy = 0;
		starpu_task_destroy(task);
		starpu_shutdown();
	}
}

static unsigned samples_of(struct starpu_task *task)
{
	struct heddle_estimate estimate = {0};
	unsigned samples = 0;

	for (unsigned c = 0; c < heddle_device_classes(); c++) {
		heddle_estimate(task, c, &estimate);
		samples += estimate.samples;
	}
	task->destroy = 0;
	starpu_task_destroy(task);
	return samples;
}

/* Policies that measure all tasks measure those that have data and state nothing. The node of a
 * loop is no task of its codelet: it lasts as long as all blocks. */
static void test_data(void **state)
{
	static const char *const policies[] = {"ddwrr", "odds", "heddle"};
	static char names[3][16];
	static float x[64];

	for (size_t p = 0; p < sizeof(policies) / sizeof(*policies); p++) {
		struct starpu_codelet codelet = {.cpu_funcs = {spend},
		                                 .opencl_funcs = {spend},
		                                 .nbuffers = 1,
		                                 .modes = {STARPU_RW},
		                                 .name = names[p]};
		struct heddle_loop loop = {
		    .codelet = &looped, .n = 64, .naccesses = 1, .accesses = {{.mode = STARPU_RW}}};
		double us = 10;
		starpu_data_handle_t handle;
		struct starpu_task *task;

		snprintf(names[p], sizeof(names[p]), "data_%s", policies[p]);
		begin(policies[p]);
		starpu_vector_data_register(&handle, STARPU_MAIN_RAM, (uintptr_t)x, 64, sizeof(*x));
		for (int i = 0; i <= NTASKS; i++) {
			task = task_make(&codelet, &us);
			task->handles[0] = handle;
			if (i < NTASKS)
				assert_int_equal(starpu_task_submit(task), 0);
		}
		starpu_task_wait_for_all();
		assert_in_range(samples_of(task), 1, NTASKS);

		loop.accesses[0].handle = handle;
		for (int i = 0; i < 3; i++)
			assert_int_equal(heddle_loop_run(&loop, NULL), 0);
		looped.nbuffers = 1;
		task = task_make(&looped, &us);
		task->handles[0] = handle;
		assert_int_equal(samples_of(task), 0);
		looped.nbuffers = 0;
		starpu_data_unregister(handle);
		starpu_shutdown();
	}
}

/* What takes long at first on an accelerator, and what takes a core a second. */
static void load_first(void *buffers[], void *arg)
{
	static atomic_bool loaded;

	nanosleep(&(struct timespec){.tv_nsec = loaded ? 500000 : 100000000}, NULL);
	loaded = true;
	count(buffers, arg);
}

static void take_a_second(void *buffers[], void *arg)
{
	nanosleep(&(struct timespec){.tv_sec = 1}, NULL);
	count(buffers, arg);
}

/* While an accelerator may only have loaded something, no core tries what would take it ten times
 * as long, by the operations that tasks state: cores look as long as that run takes, and after it.
 * Nor does a core take a task because nobody works while the accelerator wakes. */
static void test_loading(void **state)
{
	struct starpu_codelet codelet = {
	    .cpu_funcs = {take_a_second}, .opencl_funcs = {load_first}, .name = "loading"};
	unsigned on_cores = 0;

	begin("heddle");
	if (!starpu_opencl_worker_get_count() || !starpu_cpu_worker_get_count()) {
		starpu_shutdown();
		skip();
	}
	for (int i = 0; i < NTASKS; i++) {
		struct starpu_task *task = task_make(&codelet, NULL);

		task->flops = 20e9;
		assert_int_equal(starpu_task_submit(task), 0);
	}
	starpu_task_wait_for_all();
	for (unsigned w = 0; w < starpu_worker_get_count(); w++)
		on_cores += starpu_worker_get_type(w) == STARPU_CPU_WORKER ? executed[w] : 0;
	starpu_shutdown();
	print_message("loading: %u of %u tasks on cores\n", on_cores, NTASKS);
	assert_int_equal(on_cores, 0);
}

/* Tells of times that a task took on the core. */
static double us_of_three(const double *us)
{
	const struct heddle_param param = {"n", 2, NULL};
	int core = starpu_worker_get_by_type(STARPU_CPU_WORKER, 0);
	struct starpu_task *task = task_make(&waiting, NULL);
	struct heddle_estimate estimate;

	assert_int_equal(heddle_task_params(task, &param, 1), 0);
	for (int i = 0; i < 3; i++)
		heddle_estimate_executed(task, core, us[i]);
	heddle_estimate(task, heddle_device_class(core), &estimate);
	task->destroy = 0;
	starpu_task_destroy(task);
	assert_int_equal(estimate.samples, 3);
	return estimate.us;
}

/* With the time of the thread what others do on the core does not count, and the least of all times
 * counts; it stays so in this process. */
static void test_undisturbed(void **state)
{
	const struct heddle_param param = {"n", 1, NULL};
	const double three[] = {900, 500, 700};
	struct heddle_estimate estimate;

	for (int own = 0; own < 2; own++) {
		struct starpu_task *task;

		waiting.name = own ? "waiting_own" : "waiting";
		if (own)
			heddle_estimate_undisturbed();
		begin("eager");
		task = task_make(&waiting, NULL);
		assert_int_equal(heddle_task_params(task, &param, 1), 0);
		task->destroy = 0;
		task->synchronous = 1;
		assert_int_equal(starpu_task_submit(task), 0);
		heddle_estimate(
		    task, heddle_device_class(starpu_worker_get_by_type(STARPU_CPU_WORKER, 0)),
		    &estimate);
		assert_int_equal(estimate.samples, 1);
		assert_true(own ? estimate.us < 200000 : estimate.us >= 200000);
		starpu_task_destroy(task);
		assert_true(us_of_three(three) == (own ? 500 : 700));
		starpu_shutdown();
	}
}

/* The estimate after three tasks, each of which loses as much of its thread's time as said.
 * @param[out] passed_us the least that passed during a task */
static double us_of_losing(const char *name, const long *lost_us, double *passed_us)
{
	const struct heddle_param param = {"n", 1, NULL};
	struct heddle_estimate estimate;

	losing.name = name;
	*passed_us = INFINITY;
	for (int i = 0; i < 3; i++) {
		struct starpu_task *task = starpu_task_create();
		double begin_us = starpu_timing_now();

		task->cl = &losing;
		task->cl_arg = (void *)&lost_us[i];
		task->synchronous = 1;
		task->destroy = 0;
		assert_int_equal(heddle_task_params(task, &param, 1), 0);
		assert_int_equal(starpu_task_submit(task), 0);
		*passed_us = fmin(*passed_us, starpu_timing_now() - begin_us);
		heddle_estimate(
		    task, heddle_device_class(starpu_worker_get_by_type(STARPU_CPU_WORKER, 0)),
		    &estimate);
		starpu_task_destroy(task);
	}
	assert_int_equal(estimate.samples, 3);
	print_message("%s: %g us\n", name, estimate.us);
	return estimate.us;
}

/* A task whose thread's clock went back is not the shortest one. Without others the least counts. A
 * clock of ticks makes no task longer. */
static void test_clock_back(void **state)
{
	const long one[] = {0, 1500, 0}, late[] = {1500, 1500, 0}, all[] = {500, 500, 500};
	const long ticks[] = {-100000, -100000, -100000};
	double passed_us;

	heddle_estimate_undisturbed();
	begin("eager");
	atomic_store(&fake, true);
	assert_true(us_of_losing("losing_one", one, &passed_us) >= 1990);
	assert_true(us_of_losing("losing_late", late, &passed_us) >= 1990);
	assert_true(us_of_losing("losing_all", all, &passed_us) >= 1490);
	assert_true(us_of_losing("losing_ticks", ticks, &passed_us) <= passed_us);
	atomic_store(&fake, false);
	starpu_shutdown();
}

static int make_folder(void **state)
{
	setenv("HEDDLE_VERBOSE", "0", 0);
	setenv("HEDDLE_PROFILE_DIR", folder, 1);
	return !mkdtemp(folder);
}

static int remove_folder(void **state)
{
	char command[64];

	assert_int_equal(heddle_estimate_save(), 0);
	snprintf(command, sizeof(command), "rm -r %s", folder);
	return system(command);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_placement),  cmocka_unit_test(test_first_run),
	    cmocka_unit_test(test_cold),       cmocka_unit_test(test_stating),
	    cmocka_unit_test(test_once),       cmocka_unit_test(test_undisturbed),
	    cmocka_unit_test(test_clock_back), cmocka_unit_test(test_data),
	    cmocka_unit_test(test_loading),
	};

	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
