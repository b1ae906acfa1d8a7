/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Four cores of two memories, under heddle, which plans there. A worker that was woken for a task,
 * and has to do another one first, leaves it to one that is idle.
 */
#include "config.h"

#include <unistd.h>

#include "tests/starpu/policies.h"

#define NWORKERS 4
#define STARTS 100 /* it was left to nobody in one of 25 */
#define ROUNDS 20
#define PATIENCE 40000 /* looks; 2 s and more */

/* The workers of the second memory are busy. The first worker is given a task, and at once there is
 * one for all: who is woken for it is left to chance. */
static void test_woken_for_another(void **state)
{
	static struct record all;

	for (unsigned round = 0; round < ROUNDS; round++) {
		unsigned looks = 0;

		memset(&all, 0, sizeof(all));
		gate_shut();
		worker_hold(2);
		worker_hold(3);
		gate_await(2);
		worker_hold(0);
		task_submit(task_make(&anywhere, &all));
		while (!atomic_load(&all.runs) && looks++ < PATIENCE)
			usleep(50);
		gate_open();
		starpu_task_wait_for_all();
		if (looks > PATIENCE)
			fail_msg("round %u: a worker was idle, and a task waited", round);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_woken_for_another)};
	int failures = 0;

	setenv("STARPU_USE_NUMA", "1", 1);
	setenv("STARPU_WORKERS_NOBIND", "1", 1);
	setenv("HWLOC_SYNTHETIC", "numanode:2 core:2 pu:1", 1);
	setenv("HWLOC_THISSYSTEM", "0", 1);
	for (unsigned i = 0; i < STARTS && !failures; i++) {
		if (!machine_start("heddle", NWORKERS, 0))
			return 77;
		failures = starpu_memory_nodes_get_count() < 2
		               ? 77
		               : cmocka_run_group_tests(tests, NULL, NULL);
		starpu_shutdown();
	}
	return failures;
}
