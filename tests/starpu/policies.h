/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * What the tests of policies share: the machines they run on, codelets whose tasks
 * record when and where they started, and tasks that hold workers up.
 */
#ifndef HEDDLE_TESTS_STARPU_POLICIES_H
#define HEDDLE_TESTS_STARPU_POLICIES_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <starpu.h>
#include <starpu_scheduler.h>

#include "tests/unit/test.h"

/** Starts StarPU on ncpus CPU workers and nopencl OpenCL workers (a CPU seen as an
 * OpenCL device will do) under a policy.
 * @return whether all those workers exist */
static inline bool machine_start(const char *policy, unsigned ncpus, unsigned nopencl)
{
	struct starpu_conf conf;
	char number[16];

	/* The environment wins over the configuration. */
	snprintf(number, sizeof(number), "%u", ncpus);
	setenv("STARPU_NCPU", number, 1);
	snprintf(number, sizeof(number), "%u", nopencl);
	setenv("STARPU_NOPENCL", number, 1);
	setenv("STARPU_OPENCL_ON_CPUS", "1", 1);
	unsetenv("STARPU_SCHED");
	assert_int_equal(starpu_conf_init(&conf), 0);
	conf.sched_policy_name = policy;
	if (starpu_init(&conf))
		return false;
	if (starpu_cpu_worker_get_count() == ncpus && starpu_opencl_worker_get_count() == nopencl) {
		assert_string_equal(starpu_sched_ctx_get_sched_policy(0)->policy_name, policy);
		return true;
	}
	starpu_shutdown();
	return false;
}

/** A task's record. */
struct record {
	atomic_uint runs;
	unsigned order; /**< of its start among all */
	int worker;
	unsigned implementation;
	/** What it does between start and end; NULL: nothing. */
	void (*body)(struct record *record);
};

static atomic_uint records_started;

static inline void record_start(struct record *record, unsigned implementation)
{
	record->order = atomic_fetch_add(&records_started, 1);
	record->worker = starpu_worker_get_id();
	record->implementation = implementation;
	if (record->body)
		record->body(record);
	atomic_fetch_add(&record->runs, 1);
}

static inline void record_first(void *buffers[], void *arg)
{
	record_start(arg, 0);
}

static inline void record_second(void *buffers[], void *arg)
{
	record_start(arg, 1);
}

__attribute__((unused)) static struct starpu_codelet anywhere = {
    .cpu_funcs = {record_first},
    .opencl_funcs = {record_first},
    .name = "anywhere",
};
/** A task of a codelet that will leave its record. */
static inline struct starpu_task *task_make(struct starpu_codelet *codelet, struct record *record)
{
	struct starpu_task *task = starpu_task_create();

	assert_non_null(task);
	task->cl = codelet;
	task->cl_arg = record;
	task->cl_arg_size = sizeof(*record);
	return task;
}

static inline void task_submit(struct starpu_task *task)
{
	assert_int_equal(starpu_task_submit(task), 0);
}

static inline void records_all_ran_once(const struct record *records, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		assert_int_equal(records[i].runs, 1);
}

/** A gate that holds tasks up until it is opened; one does for all tests. */
static struct gate {
	starpu_pthread_mutex_t mutex;
	starpu_pthread_cond_t changed;
	bool open;
	unsigned waiting;
} gate = {STARPU_PTHREAD_MUTEX_INITIALIZER, STARPU_PTHREAD_COND_INITIALIZER, true, 0};

static inline void gate_shut(void)
{
	STARPU_PTHREAD_MUTEX_LOCK(&gate.mutex);
	gate.open = false;
	STARPU_PTHREAD_MUTEX_UNLOCK(&gate.mutex);
}

/** Waits until n wait at the gate. */
static inline void gate_await(unsigned n)
{
	STARPU_PTHREAD_MUTEX_LOCK(&gate.mutex);
	while (gate.waiting < n)
		STARPU_PTHREAD_COND_WAIT(&gate.changed, &gate.mutex);
	STARPU_PTHREAD_MUTEX_UNLOCK(&gate.mutex);
}

/** Opens the gate and waits until nobody waits there any more. */
static inline void gate_open(void)
{
	STARPU_PTHREAD_MUTEX_LOCK(&gate.mutex);
	gate.open = true;
	STARPU_PTHREAD_COND_BROADCAST(&gate.changed);
	while (gate.waiting)
		STARPU_PTHREAD_COND_WAIT(&gate.changed, &gate.mutex);
	STARPU_PTHREAD_MUTEX_UNLOCK(&gate.mutex);
}

/** What a task does that waits at the gate. */
static inline void body_gate(struct record *record)
{
	STARPU_PTHREAD_MUTEX_LOCK(&gate.mutex);
	gate.waiting++;
	STARPU_PTHREAD_COND_BROADCAST(&gate.changed);
	while (!gate.open)
		STARPU_PTHREAD_COND_WAIT(&gate.changed, &gate.mutex);
	gate.waiting--;
	STARPU_PTHREAD_COND_BROADCAST(&gate.changed);
	STARPU_PTHREAD_MUTEX_UNLOCK(&gate.mutex);
}

/** Submits a task, to the initial context, that keeps one worker at the gate. */
static inline void worker_hold(unsigned worker)
{
	static struct record holders[STARPU_NMAXWORKERS];
	struct starpu_task *task = task_make(&anywhere, &holders[worker]);

	holders[worker].body = body_gate;
	task->execute_on_a_specific_worker = 1;
	task->workerid = worker;
	assert_int_equal(starpu_task_submit_to_ctx(task, 0), 0);
}

/** Keeps all workers busy until the gate is opened; returns when they are. */
static inline void workers_hold(void)
{
	gate_shut();
	for (unsigned w = 0; w < starpu_worker_get_count(); w++)
		worker_hold(w);
	gate_await(starpu_worker_get_count());
}

/** A policy on a machine of so many workers. */
struct setting {
	const char *policy;
	unsigned ncpus, nopencl;
};

/** The one at hand. */
static struct setting setting;

static inline int machine_begin(void **state)
{
	return machine_start(setting.policy, setting.ncpus, setting.nopencl) ? 0 : -1;
}

static inline int machine_end(void **state)
{
	starpu_shutdown();
	return 0;
}

/** Runs tests under a policy on a machine, if there is one such.
 * @param run gets a title; returns the number of failures */
static inline int setting_run(const char *policy, unsigned ncpus, unsigned nopencl,
                              int (*run)(const char *title))
{
	char title[64];

	setting = (struct setting){policy, ncpus, nopencl};
	if (!machine_start(policy, ncpus, nopencl)) {
		print_message("no machine with %u CPU and %u OpenCL workers\n", ncpus, nopencl);
		return 0;
	}
	starpu_shutdown();
	snprintf(title, sizeof(title), "%s on %u CPU and %u OpenCL workers", policy, ncpus,
	         nopencl);
	print_message("%s\n", title);
	return run(title);
}

/** The main function of such a test: runs it under what the command line names, POLICY
 * NCPUS NOPENCL, or else under each of the policies (NULL ends them) on two CPU
 * workers and on one of each kind. */
static inline int settings_main(int argc, char **argv, const char *const *policies,
                                int (*run)(const char *title))
{
	int failures = 0;

	if (argc == 4)
		return setting_run(argv[1], atoi(argv[2]), atoi(argv[3]), run) != 0;
	for (; *policies; policies++) {
		failures += setting_run(*policies, 2, 0, run);
		failures += setting_run(*policies, 1, 1, run);
	}
	return failures != 0;
}

#endif
