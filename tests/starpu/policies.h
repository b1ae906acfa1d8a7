/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * What the tests of policies share: the machines they run on, and codelets whose
 * tasks record when and where they started.
 */
#ifndef HEDDLE_TESTS_STARPU_POLICIES_H
#define HEDDLE_TESTS_STARPU_POLICIES_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
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

/** A gate that holds tasks up until it is opened. */
struct gate {
	starpu_pthread_mutex_t mutex;
	starpu_pthread_cond_t opened;
	bool open;
	unsigned waiting;
};

static inline void gate_init(struct gate *gate)
{
	STARPU_PTHREAD_MUTEX_INIT(&gate->mutex, NULL);
	STARPU_PTHREAD_COND_INIT(&gate->opened, NULL);
	gate->open = false;
	gate->waiting = 0;
}

/** Waits at the gate. */
static inline void gate_pass(struct gate *gate)
{
	STARPU_PTHREAD_MUTEX_LOCK(&gate->mutex);
	gate->waiting++;
	STARPU_PTHREAD_COND_BROADCAST(&gate->opened);
	while (!gate->open)
		STARPU_PTHREAD_COND_WAIT(&gate->opened, &gate->mutex);
	STARPU_PTHREAD_MUTEX_UNLOCK(&gate->mutex);
}

/** Waits until n wait at the gate. */
static inline void gate_await(struct gate *gate, unsigned n)
{
	STARPU_PTHREAD_MUTEX_LOCK(&gate->mutex);
	while (gate->waiting < n)
		STARPU_PTHREAD_COND_WAIT(&gate->opened, &gate->mutex);
	STARPU_PTHREAD_MUTEX_UNLOCK(&gate->mutex);
}

static inline void gate_open(struct gate *gate)
{
	STARPU_PTHREAD_MUTEX_LOCK(&gate->mutex);
	gate->open = true;
	STARPU_PTHREAD_COND_BROADCAST(&gate->opened);
	STARPU_PTHREAD_MUTEX_UNLOCK(&gate->mutex);
}

#endif
