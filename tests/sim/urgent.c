/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * An accelerator whose memory is full, under heddle: what has its data there comes first, but not
 * for ever. Many tasks work on tiles that stay there. Beside them runs a chain of higher priority:
 * each of its tasks on the accelerator reads a tile that must be sent, and the next one waits for a
 * core. The core's time, and that of sending, passes while the accelerator does the others.
 */
#include "config.h"

#include <stdio.h>

#include <starpu.h>

#include "tests/sim/simulated.h"
#include "tests/unit/test.h"

#define MBPS 50000
SIMULATED("2cpu+gpu1@50000:5")

#define LIMIT "100" /* MiB; StarPU takes 96 */
#define STAYING 80  /* tiles */
#define COMING 200
#define BYTES (1 << 20)
#define OTHERS 4000
#define STEPS 400 /* of the chain */
#define GPU_US 10
#define CORE_US 1500
#define ALONE_US 50
#define SEND_US (BYTES / MBPS + 5)
#define REPETITIONS 2

static double cost(struct starpu_task *task, struct starpu_perfmodel_arch *arch, unsigned nimpl)
{
	return arch->devices[0].type == STARPU_CPU_WORKER ? CORE_US : GPU_US;
}

static double alone_cost(struct starpu_task *task, struct starpu_perfmodel_arch *arch,
                         unsigned nimpl)
{
	return ALONE_US;
}

SIMULATED_CODELET(other, cost);
SIMULATED_CODELET(urgent, cost);
SIMULATED_CODELET(alone, alone_cost);

static starpu_data_handle_t staying[STAYING], coming[COMING], chain;

static void submit(void)
{
	for (unsigned i = 0; i < OTHERS; i++) {
		assert_int_equal(starpu_task_insert(&other, STARPU_RW, staying[i % STAYING], 0), 0);
		if (i >= STEPS)
			continue;
		assert_int_equal(starpu_task_insert(&urgent, STARPU_R, coming[i % COMING],
		                                    STARPU_RW, chain, STARPU_PRIORITY, 1, 0),
		                 0);
		assert_int_equal(
		    starpu_task_insert(&alone, STARPU_RW, chain, STARPU_PRIORITY, 1, 0), 0);
	}
}

static void tile_register(starpu_data_handle_t *handle, size_t bytes)
{
	static char data; /* nobody reads it */

	starpu_vector_data_register(handle, STARPU_MAIN_RAM, (uintptr_t)&data, bytes, 1);
}

/* @return us */
static double run(void)
{
	double us;

	for (unsigned i = 0; i < STAYING; i++)
		tile_register(&staying[i], BYTES);
	for (unsigned i = 0; i < COMING; i++)
		tile_register(&coming[i], BYTES);
	tile_register(&chain, 8);
	us = -starpu_timing_now();
	submit();
	starpu_task_wait_for_all();
	us += starpu_timing_now();
	for (unsigned i = 0; i < STAYING; i++)
		starpu_data_unregister(staying[i]);
	for (unsigned i = 0; i < COMING; i++)
		starpu_data_unregister(coming[i]);
	starpu_data_unregister(chain);
	print_message("%.2f ms\n", us / 1000);
	return us;
}

static void test_urgent(void **state)
{
	struct starpu_conf conf;
	double us[REPETITIONS];

	starpu_conf_init(&conf);
	conf.sched_policy_name = "heddle";
	assert_int_equal(starpu_init(&conf), 0);
	urgent.nbuffers = 2;
	urgent.modes[0] = STARPU_R;
	urgent.modes[1] = STARPU_RW;
	alone.where = STARPU_CPU;
	other.cuda_flags[0] = urgent.cuda_flags[0] = STARPU_CUDA_ASYNC;
	for (unsigned r = 0; r < REPETITIONS; r++)
		us[r] = run();
	starpu_shutdown();
	/* As if the chain came after all others. */
	for (unsigned r = 0; r < REPETITIONS; r++)
		assert_true(us[r] < OTHERS * GPU_US + STEPS * (SEND_US + GPU_US + ALONE_US));
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_urgent)};

	setenv("STARPU_LIMIT_CUDA_MEM", LIMIT, 1);
	return simulated_over(cmocka_run_group_tests(tests, NULL, NULL));
}
