/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * What any policy owes StarPU and its users, for every policy in the table:
 * priorities, implementations, can_execute, sets of workers, pinned tasks, and
 * no worker idle beside work.
 */
#include "config.h"

#include <heddle/policy.h>
#include <limits.h>
#include <semaphore.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "tests/starpu/policies.h"

#define NTASKS 400

static struct record records[NTASKS];

static void records_clear(void)
{
	memset(records, 0, sizeof(records));
	records_started = 0;
}

static void test_independent_and_dependent(void **state)
{
	static struct starpu_task *tasks[NTASKS];

	records_clear();
	for (unsigned i = 0; i < NTASKS; i++) {
		tasks[i] = task_make(&anywhere, &records[i]);
		tasks[i]->destroy = 0;
		if (i % 4)
			starpu_task_declare_deps_array(tasks[i], 1, &tasks[i - 1]);
		task_submit(tasks[i]);
	}
	starpu_task_wait_for_all();
	for (unsigned i = 0; i < NTASKS; i++)
		starpu_task_destroy(tasks[i]);
	records_all_ran_once(records, NTASKS);
	for (unsigned i = 1; i < NTASKS; i++)
		assert_true(i % 4 == 0 || records[i].order > records[i - 1].order);
}

/* Order of the start of the task that a worker had started `lag` tasks before the
 * one of that order; 0 when there is none. */
static unsigned order_before(int worker, unsigned order, unsigned lag)
{
	unsigned before = 0;

	for (; lag; lag--) {
		before = 0;
		for (unsigned i = 0; i < NTASKS; i++)
			if (records[i].worker == worker && records[i].order < order &&
			    records[i].order > before)
				before = records[i].order;
		order = before;
	}
	return before;
}

/* How many tasks a worker's driver takes before it has started them. What an accelerator has
 * claimed beyond that others can take. */
static unsigned lag_of(int worker)
{
	return starpu_worker_get_type(worker) == STARPU_CPU_WORKER ? 1 : 4;
}

/* A task started before another one of higher priority that was to be had. */
static void inversion_tell(const int *priorities, unsigned first, unsigned then, unsigned until)
{
	print_message("task %u (priority %d, start %u, worker %d) came before task %u (priority "
	              "%d, start %u, worker %d), which its worker had taken after start %u\n",
	              first, priorities[first], records[first].order, records[first].worker, then,
	              priorities[then], records[then].order, records[then].worker, until);
	for (unsigned order = 0; order < NTASKS; order++)
		for (unsigned i = 0; i < NTASKS; i++)
			if (records[i].order == order && order + 20 > records[first].order &&
			    order < records[then].order + 5)
				print_message("%s%u: %d on %d", order % 8 ? "  " : "\n", order,
				              priorities[i], records[i].worker);
	print_message("\n");
}

/* Starts are recorded a little after tasks are taken, but a task was surely still
 * to be had when its worker started the one before (an accelerator takes a few
 * ahead): all that started until then must not be of lower priority. */
static void priorities_check(const int *priorities)
{
	unsigned inversions = 0;

	for (unsigned i = 0; i < NTASKS; i++) {
		unsigned until =
		    order_before(records[i].worker, records[i].order, lag_of(records[i].worker));

		for (unsigned j = 0; j < NTASKS; j++)
			if (records[j].order < until && priorities[j] < priorities[i] &&
			    !inversions++)
				inversion_tell(priorities, j, i, until);
	}
	assert_int_equal(inversions, 0);
}

static void test_priorities(void **state)
{
	static const int extremes[] = {INT_MIN, INT_MAX, 0, -1, 1};
	int priorities[NTASKS];

	records_clear();
	workers_hold();
	records_started = 0;
	for (unsigned i = 0; i < NTASKS; i++) {
		struct starpu_task *task = task_make(&anywhere, &records[i]);

		priorities[i] = i < 20 ? extremes[i % 5] : (int)(i * 7919 % 13) - 6;
		task->priority = priorities[i];
		task_submit(task);
	}
	gate_open();
	starpu_task_wait_for_all();
	records_all_ran_once(records, NTASKS);
	priorities_check(priorities);
}

/* First come, first served among equals, where order can tell. */
static void test_order_among_equals(void **state)
{
	if (starpu_worker_get_count() > 1)
		skip();
	records_clear();
	for (unsigned i = 0; i < NTASKS; i++)
		task_submit(task_make(&anywhere, &records[i]));
	starpu_task_wait_for_all();
	for (unsigned i = 0; i < NTASKS; i++)
		assert_int_equal(records[i].order, i);
}

static void body_slow(struct record *record)
{
	if (record->implementation == 1)
		usleep(15000);
}

/* Runs n tasks one after the other; returns how many took the second implementation. */
static unsigned count_second(struct starpu_codelet *codelet, void (*body)(struct record *),
                             unsigned n)
{
	unsigned second = 0;

	records_clear();
	for (unsigned i = 0; i < n; i++) {
		records[i].body = body;
		task_submit(task_make(codelet, &records[i]));
		starpu_task_wait_for_all();
		second += records[i].implementation == 1;
	}
	records_all_ran_once(records, n);
	return second;
}

/* The second implementation is slower: it is tried for its model's sake, and not for
 * ever. How often depends on the times, which a busy machine changes. */
static void test_implementations_calibrated(void **state)
{
	static struct starpu_perfmodel model;
	static char symbol[64];
	static struct starpu_codelet codelet = {
	    .cpu_funcs = {record_first, record_second},
	    .opencl_funcs = {record_first, record_second},
	    .model = &model,
	    .name = "implementations",
	};

	/* Models outlive a process: this one must be new to StarPU. */
	snprintf(symbol, sizeof(symbol), "heddle_test_%s_%u_%u_%d", setting.policy, setting.ncpus,
	         setting.nopencl, (int)getpid());
	model = (struct starpu_perfmodel){.type = STARPU_HISTORY_BASED, .symbol = symbol};
	assert_in_range(count_second(&codelet, body_slow, 80), 1, 79);
}

static double first_is_slower(struct starpu_task *task, struct starpu_perfmodel_arch *arch,
                              unsigned implementation)
{
	return implementation == 0 ? 15000 : 10;
}

/* What a model says is slower is left alone. */
static void test_implementations(void **state)
{
	static struct starpu_perfmodel model = {
	    .type = STARPU_PER_ARCH,
	    .symbol = "heddle_test_first_is_slower",
	    .arch_cost_function = first_is_slower,
	};
	static struct starpu_codelet codelet = {
	    .cpu_funcs = {record_first, record_second},
	    .opencl_funcs = {record_first, record_second},
	    .model = &model,
	    .name = "implementations",
	};

	assert_int_equal(count_second(&codelet, NULL, 20), 20);
}

static unsigned allowed_worker(const struct record *record)
{
	return (record - records) % starpu_worker_get_count();
}

static int one_worker_can(unsigned worker, struct starpu_task *task, unsigned implementation)
{
	return worker == allowed_worker(task->cl_arg);
}

static void test_can_execute(void **state)
{
	static struct starpu_codelet codelet = {
	    .cpu_funcs = {record_first},
	    .opencl_funcs = {record_first},
	    .can_execute = one_worker_can,
	    .name = "can_execute",
	};

	records_clear();
	for (unsigned i = 0; i < NTASKS; i++)
		task_submit(task_make(&codelet, &records[i]));
	starpu_task_wait_for_all();
	records_all_ran_once(records, NTASKS);
	for (unsigned i = 0; i < NTASKS; i++)
		assert_int_equal(records[i].worker, allowed_worker(&records[i]));
}

static int second_implementation_can(unsigned worker, struct starpu_task *task,
                                     unsigned implementation)
{
	return implementation == 1;
}

static void test_can_execute_one_implementation(void **state)
{
	static struct starpu_codelet codelet = {
	    .cpu_funcs = {record_first, record_second},
	    .opencl_funcs = {record_first, record_second},
	    .can_execute = second_implementation_can,
	    .name = "can_execute_one",
	};

	records_clear();
	for (unsigned i = 0; i < NTASKS; i++)
		task_submit(task_make(&codelet, &records[i]));
	starpu_task_wait_for_all();
	for (unsigned i = 0; i < NTASKS; i++)
		assert_int_equal(records[i].implementation, 1);
}

static void test_workerids(void **state)
{
	static uint32_t only[STARPU_NMAXWORKERS];
	unsigned nworkers = starpu_worker_get_count();

	records_clear();
	for (unsigned w = 0; w < nworkers; w++)
		only[w] = 1U << w;
	for (unsigned i = 0; i < NTASKS; i++) {
		struct starpu_task *task = task_make(&anywhere, &records[i]);

		if (i % 3) {
			task->workerids = &only[allowed_worker(&records[i])];
			task->workerids_len = 1;
		}
		task_submit(task);
	}
	starpu_task_wait_for_all();
	records_all_ran_once(records, NTASKS);
	for (unsigned i = 0; i < NTASKS; i++)
		if (i % 3)
			assert_int_equal(records[i].worker, allowed_worker(&records[i]));
}

static void test_pinned(void **state)
{
	records_clear();
	for (unsigned i = 0; i < NTASKS; i++) {
		struct starpu_task *task = task_make(&anywhere, &records[i]);

		if (i % 2) {
			task->execute_on_a_specific_worker = 1;
			task->workerid = allowed_worker(&records[i]);
		}
		task_submit(task);
	}
	starpu_task_wait_for_all();
	records_all_ran_once(records, NTASKS);
	for (unsigned i = 1; i < NTASKS; i += 2)
		assert_int_equal(records[i].worker, allowed_worker(&records[i]));
}

/* A worker that gives up its core stays there, while this is wanted, until it has been
 * given a task. */
static struct {
	pthread_mutex_t mutex;
	pthread_cond_t changed;
	bool wanted, submitted, late;
	int whom, worker; /* worker -1: it has not come yet */
} parley = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, .worker = -1};

/* With the mutex. @return whether the flag or the worker was set within 30 seconds */
static bool parley_await(const bool *flag)
{
	struct timespec until;
	int error = 0;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += 30;
	while (!error && !(flag ? *flag : parley.worker >= 0))
		error = pthread_cond_timedwait(&parley.changed, &parley.mutex, &until);
	return !error;
}

/* Instead of the C library's. */
int sched_yield(void)
{
	pthread_mutex_lock(&parley.mutex);
	if (parley.wanted && parley.worker < 0 && starpu_worker_get_id() == parley.whom) {
		parley.worker = parley.whom;
		pthread_cond_broadcast(&parley.changed);
		parley.late = !parley_await(&parley.submitted);
	}
	pthread_mutex_unlock(&parley.mutex);
	return syscall(SYS_sched_yield);
}

static void worker_lets_others(int worker)
{
	struct starpu_task *task = task_make(&anywhere, &records[0]);
	bool found;

	records_clear();
	pthread_mutex_lock(&parley.mutex);
	parley.whom = worker;
	parley.worker = -1;
	parley.submitted = false;
	parley.wanted = true;
	found = parley_await(NULL);
	pthread_mutex_unlock(&parley.mutex);
	assert_true(found);
	task->execute_on_a_specific_worker = 1;
	task->workerid = worker;
	task_submit(task);
	pthread_mutex_lock(&parley.mutex);
	parley.submitted = true;
	parley.wanted = false;
	pthread_cond_broadcast(&parley.changed);
	pthread_mutex_unlock(&parley.mutex);
	starpu_task_wait_for_all();
	assert_false(parley.late);
	records_all_ran_once(records, 1);
	assert_int_equal(records[0].worker, worker);
}

/* Accelerators' workers, too: the program's own thread may share any core. */
static void test_idle_workers_let_others(void **state)
{
	for (unsigned worker = 0; worker < starpu_worker_get_count(); worker++)
		worker_lets_others((int)worker);
}

/* Tasks that end only once as many of them run as there are workers: whoever keeps
 * one from a worker that is free never ends. Plenty of small ones before and
 * between make chunks large. */
static atomic_uint meeting;

static void body_meet(struct record *record)
{
	unsigned nworkers = starpu_worker_get_count();
	unsigned target = atomic_fetch_add(&meeting, 1) / nworkers * nworkers + nworkers;

	while (atomic_load(&meeting) < target)
		usleep(50);
}

/* How often the first core has slept. */
static long sleeps;

static void body_sleeps(struct record *record)
{
	struct rusage usage;

	assert_int_equal(getrusage(RUSAGE_THREAD, &usage), 0);
	sleeps = usage.ru_nvcsw;
}

static long sleeps_ask(void)
{
	struct starpu_task *task = task_make(&anywhere, &records[0]);

	records_clear();
	records[0].body = body_sleeps;
	task->execute_on_a_specific_worker = 1;
	task->workerid = starpu_worker_get_by_type(STARPU_CPU_WORKER, 0);
	task->synchronous = 1;
	task_submit(task);
	return sleeps;
}

/* Cores that poll take the time of the threads of accelerators. */
static void test_idle_cores_sleep(void **state)
{
	long slept = 0;

#ifndef STARPU_NON_BLOCKING_DRIVERS
	skip();
#endif
	if (strcmp(setting.policy, "heddle") || !setting.nopencl || !setting.ncpus)
		skip();
	for (unsigned round = 0; slept < 50 && round < 100; round++) {
		long before = sleeps_ask();

		usleep(100000);
		slept += sleeps_ask() - before;
	}
	assert_true(slept >= 50);
}

static void test_nothing_is_hoarded(void **state)
{
	unsigned nworkers = starpu_worker_get_count();

	for (unsigned round = 0; round < 20; round++) {
		records_clear();
		meeting = 0;
		for (unsigned i = 0; i < NTASKS; i++) {
			if (i % (NTASKS / 4) < nworkers)
				records[i].body = body_meet;
			task_submit(task_make(&anywhere, &records[i]));
		}
		starpu_task_wait_for_all();
		records_all_ran_once(records, NTASKS);
	}
}

/* The same while one worker is kept from its claims by a pinned task. */
static void test_claims_of_a_busy_worker_are_taken_back(void **state)
{
	for (unsigned round = 0; round < 20; round++) {
		records_clear();
		gate_shut();
		for (unsigned i = 0; i < NTASKS / 2; i++)
			task_submit(task_make(&anywhere, &records[i]));
		worker_hold(round % starpu_worker_get_count());
		for (unsigned i = NTASKS / 2; i < NTASKS; i++)
			task_submit(task_make(&anywhere, &records[i]));
		for (unsigned i = 0; i < NTASKS && starpu_worker_get_count() > 1; i++)
			while (!atomic_load(&records[i].runs))
				usleep(50);
		gate_open();
		starpu_task_wait_for_all();
		records_all_ran_once(records, NTASKS);
	}
}

static struct starpu_codelet only_cpu = {
    .cpu_funcs = {record_first},
    .name = "only_cpu",
};
static struct starpu_codelet only_opencl = {
    .opencl_funcs = {record_first},
    .name = "only_opencl",
};

static void test_kinds(void **state)
{
	if (!setting.nopencl || !setting.ncpus)
		skip();
	records_clear();
	for (unsigned i = 0; i < NTASKS; i++)
		task_submit(task_make(i % 2 ? &only_cpu : &only_opencl, &records[i]));
	starpu_task_wait_for_all();
	records_all_ran_once(records, NTASKS);
	for (unsigned i = 0; i < NTASKS; i++)
		assert_int_equal(starpu_worker_get_type(records[i].worker),
		                 i % 2 ? STARPU_CPU_WORKER : STARPU_OPENCL_WORKER);
}

#define NVALUES 16

static void add_one(void *buffers[], void *arg)
{
	int *value = (int *)STARPU_VARIABLE_GET_PTR(buffers[0]);

	++*value;
}

/* Data that a CPU writes and an accelerator's inputs are fetched from: the second
 * codelet runs where there is one and only reads. */
static void test_data(void **state)
{
	static struct starpu_codelet add = {
	    .cpu_funcs = {add_one}, .nbuffers = 1, .modes = {STARPU_RW}, .name = "add_one"};
	static struct starpu_codelet look = {.cpu_funcs = {record_first},
	                                     .opencl_funcs = {record_first},
	                                     .nbuffers = 1,
	                                     .modes = {STARPU_R},
	                                     .name = "look"};
	int values[NVALUES] = {0};
	starpu_data_handle_t handles[NVALUES];

	records_clear();
	for (unsigned v = 0; v < NVALUES; v++)
		starpu_variable_data_register(&handles[v], STARPU_MAIN_RAM, (uintptr_t)&values[v],
		                              sizeof(int));
	for (unsigned i = 0; i < NTASKS; i++) {
		struct starpu_task *task = task_make(&look, &records[i]);

		assert_int_equal(starpu_task_insert(&add, STARPU_RW, handles[i % NVALUES], 0), 0);
		task->handles[0] = handles[i % NVALUES];
		task_submit(task);
	}
	starpu_task_wait_for_all();
	for (unsigned v = 0; v < NVALUES; v++) {
		starpu_data_unregister(handles[v]);
		assert_int_equal(values[v], NTASKS / NVALUES);
	}
	records_all_ran_once(records, NTASKS);
}

/* Tasks of StarPU's own, of whose end it tells no policy. */
static void test_copies(void **state)
{
	static int values[NTASKS];
	starpu_data_handle_t handles[NTASKS];

	for (int i = 0; i < NTASKS; i++) {
		values[i] = i;
		starpu_variable_data_register(&handles[i], STARPU_MAIN_RAM, (uintptr_t)&values[i],
		                              sizeof(int));
	}
	for (unsigned i = 1; i < NTASKS; i++)
		assert_int_equal(starpu_data_cpy(handles[i], handles[0], 1, NULL, NULL), 0);
	starpu_task_wait_for_all();
	for (unsigned i = 0; i < NTASKS; i++) {
		starpu_data_unregister(handles[i]);
		assert_int_equal(values[i], 0);
	}
}

static sem_t ran;

static void wait_for_program(struct record *record)
{
	sem_wait(&ran);
}

static void callback_ran(void *count)
{
	atomic_fetch_add((atomic_uint *)count, 1);
}

/* A program's own tasks of such names end once. Were their ends counted twice, cores would take
 * tasks without looking at what accelerators have to do, which then is not done. */
static void test_names_of_copies(void **state)
{
	static struct starpu_codelet named = {.cpu_funcs = {record_first},
	                                      .opencl_funcs = {record_first},
	                                      .callback_func = callback_ran,
	                                      .name = "named"};
	atomic_uint called = 0;

	if (!setting.nopencl || !setting.ncpus)
		skip();
	records_clear();
	assert_int_equal(sem_init(&ran, 0, 0), 0);
	for (unsigned i = 0; i < NTASKS / 2; i++) {
		struct starpu_task *task = task_make(&named, &records[i]);

		task->name = i % 2 ? "data_cpy" : "redux_task_empty";
		task->callback_arg = &called;
		task_submit(task);
	}
	starpu_task_wait_for_all();
	assert_int_equal(called, NTASKS / 2);
	records[NTASKS / 2].body = wait_for_program;
	for (unsigned i = NTASKS / 2; i < NTASKS; i++)
		task_submit(task_make(i < NTASKS / 2 + 10 ? &only_opencl : &only_cpu, &records[i]));
	sem_post(&ran);
	starpu_task_wait_for_all();
	sem_destroy(&ran);
	records_all_ran_once(records, NTASKS);
}

static void body_ran(struct record *record)
{
	sem_post(&ran);
}

/* Tasks that end when the program says so, which is no worker. */
static void test_ended_by_the_program(void **state)
{
	static struct starpu_codelet unknown = {
	    .cpu_funcs = {record_first}, .opencl_funcs = {record_first}, .name = "unknown"};
	static struct starpu_task *tasks[NTASKS];

	records_clear();
	assert_int_equal(sem_init(&ran, 0, 0), 0);
	for (unsigned i = 0; i < NTASKS; i++) {
		records[i].body = body_ran;
		tasks[i] = task_make(&unknown, &records[i]);
		starpu_task_end_dep_add(tasks[i], 1);
		task_submit(tasks[i]);
	}
	for (unsigned i = 0; i < NTASKS; i++)
		sem_wait(&ran);
	for (unsigned i = 0; i < NTASKS; i++)
		starpu_task_end_dep_release(tasks[i]);
	starpu_task_wait_for_all();
	sem_destroy(&ran);
	records_all_ran_once(records, NTASKS);
}

static int run(const char *title)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_independent_and_dependent),
	    cmocka_unit_test(test_priorities),
	    cmocka_unit_test(test_order_among_equals),
	    cmocka_unit_test(test_implementations_calibrated),
	    cmocka_unit_test(test_implementations),
	    cmocka_unit_test(test_can_execute),
	    cmocka_unit_test(test_can_execute_one_implementation),
	    cmocka_unit_test(test_workerids),
	    cmocka_unit_test(test_pinned),
	    cmocka_unit_test(test_idle_workers_let_others),
	    cmocka_unit_test(test_idle_cores_sleep),
	    cmocka_unit_test(test_nothing_is_hoarded),
	    cmocka_unit_test(test_claims_of_a_busy_worker_are_taken_back),
	    cmocka_unit_test(test_kinds),
	    cmocka_unit_test(test_data),
	    cmocka_unit_test(test_copies),
	    cmocka_unit_test(test_names_of_copies),
	    cmocka_unit_test(test_ended_by_the_program),
	};

	return cmocka_run_group_tests_name(title, tests, machine_begin, machine_end);
}

/* Without arguments every policy, on a machine of one worker too. */
int main(int argc, char **argv)
{
	const char *names[64] = {NULL};
	unsigned n = 0;
	int failures = 0;

	setenv("STARPU_CALIBRATE", "1", 1);
	for (const struct heddle_policy *p = heddle_policies(); p->name; p++) {
		assert_true(n + 1 < sizeof(names) / sizeof(names[0]));
		names[n++] = p->name;
		if (argc == 1)
			failures += setting_run(p->name, 1, 0, run);
	}
	return settings_main(argc, argv, names, run) || failures;
}
