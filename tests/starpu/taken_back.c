/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Tasks that an accelerator has claimed, and asked for the inputs of, are done by the core
 * while the accelerator is busy: their data can be ended afterwards. StarPU 1.4 aborts there
 * when it has counted something that nobody takes off; where the accelerator's memory is full
 * (taken_back.sh) StarPU waits for ever for what has no room. Nothing is left in main memory, where
 * StarPU would pin 32 MB for a byte. Under every policy.
 */
#include "config.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

#include <heddle/policy.h>
#include <starpu.h>

#include "tests/unit/test.h"

#define NTASKS 24
#define NFIRST 9 /* that fill the accelerator's memory */
/* StarPU takes much memory at once for what is smaller. */
#define BYTES (5 << 20)
#define CPU_US 1000
#define OPENCL_US 30000

static atomic_uint on_core, on_opencl;
static starpu_data_handle_t handles[NTASKS];

static void run_cpu(void *buffers[], void *arg)
{
	usleep(CPU_US);
	atomic_fetch_add(&on_core, 1);
}

static void run_opencl(void *buffers[], void *arg)
{
	usleep(OPENCL_US);
	atomic_fetch_add(&on_opencl, 1);
}

/* @param worker -1: whoever the policy gives it to */
static void submit(struct starpu_codelet *codelet, unsigned i, int worker)
{
	struct starpu_task *task = starpu_task_create();

	task->cl = codelet;
	task->handles[0] = handles[i];
	task->execute_on_a_specific_worker = worker >= 0;
	task->workerid = worker >= 0 ? worker : 0;
	assert_int_equal(starpu_task_submit(task), 0);
}

static void check_policy(const char *policy, char *data)
{
	/* Nothing is known of it under another policy. */
	struct starpu_codelet codelet = {.cpu_funcs = {run_cpu},
	                                 .opencl_funcs = {run_opencl},
	                                 .nbuffers = 1,
	                                 .modes = {STARPU_R},
	                                 .name = policy};
	struct starpu_conf conf;
	starpu_ssize_t room;
	int opencl;

	starpu_conf_init(&conf);
	conf.sched_policy_name = policy;
	assert_int_equal(starpu_init(&conf), 0);
	room = starpu_memory_get_available(STARPU_MAIN_RAM);
	opencl = starpu_worker_get_by_type(STARPU_OPENCL_WORKER, 0);
	if (opencl < 0 || starpu_worker_get_count() != 2) {
		starpu_shutdown();
		skip();
	}
	on_core = on_opencl = 0;
	for (unsigned i = 0; i < NTASKS; i++)
		starpu_vector_data_register(&handles[i], STARPU_MAIN_RAM,
		                            (uintptr_t)(data + i * (size_t)BYTES), BYTES, 1);
	for (unsigned i = 0; i < NFIRST; i++)
		submit(&codelet, i, opencl);
	starpu_task_wait_for_all();
	for (unsigned i = NFIRST; i < NTASKS; i++)
		submit(&codelet, i, -1);
	starpu_task_wait_for_all();
	/* First what waits for the memory that others have. */
	for (unsigned i = NTASKS; i-- > 0;)
		starpu_data_unregister(handles[i]);
	print_message("%-12s %u of %u tasks on the core\n", policy, on_core, NTASKS - NFIRST);
	assert_int_equal(on_core + on_opencl, NTASKS);
	assert_int_equal(starpu_memory_get_available(STARPU_MAIN_RAM), room);
	starpu_shutdown();
}

static void test_taken_back(void **state)
{
	char *data = calloc(NTASKS, BYTES);

	assert_non_null(data);
	setenv("HEDDLE_PREFETCH", "8", 1);
	setenv("HEDDLE_DEPTH", "8", 1);
	for (const struct heddle_policy *p = heddle_policies(); p->name; p++)
		check_policy(p->name, data);
	free(data);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_taken_back)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
