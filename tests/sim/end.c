/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The end of a stream under heddle: transfers take longer than the tasks of an accelerator,
 * which estimates do not tell. A core that has waited for as long as a task takes it
 * does not take one that the accelerator would have done long before.
 */
#include "config.h"

#include <starpu.h>

#include "tests/sim/simulated.h"
#include "tests/unit/test.h"

SIMULATED("1cpu+gpu1@1000:10")

#define NTASKS 200
#define BYTES 130000 /* a transfer of 140 us */
#define GPU_US 100
#define TRANSFER_US 140
#define CORE_US 1700

static double ends_us[2]; /* of the last tasks of the core and the accelerator */
static unsigned counts[2];

static double cost(struct starpu_task *task, struct starpu_perfmodel_arch *arch, unsigned nimpl)
{
	return arch->devices[0].type == STARPU_CPU_WORKER ? CORE_US : GPU_US;
}

SIMULATED_CODELET(streamed, cost);

static void has_ended(void *arg)
{
	bool core = starpu_worker_get_type(starpu_worker_get_id()) == STARPU_CPU_WORKER;

	ends_us[!core] = starpu_timing_now();
	counts[!core]++;
}

static void test_end(void **state)
{
	static unsigned char data[BYTES]; /* nobody reads it */
	static starpu_data_handle_t handles[NTASKS];
	struct starpu_conf conf;

	starpu_conf_init(&conf);
	conf.sched_policy_name = "heddle";
	assert_int_equal(starpu_init(&conf), 0);
	for (int i = 0; i < NTASKS; i++) {
		starpu_vector_data_register(&handles[i], STARPU_MAIN_RAM, (uintptr_t)data, BYTES,
		                            1);
		assert_int_equal(starpu_task_insert(&streamed, STARPU_RW, handles[i],
		                                    STARPU_CALLBACK, has_ended, 0),
		                 0);
	}
	starpu_task_wait_for_all();
	for (int i = 0; i < NTASKS; i++)
		starpu_data_unregister(handles[i]);
	starpu_shutdown();
	print_message("the core has done %u tasks and ends %.0f us after the accelerator\n",
	              counts[0], ends_us[0] - ends_us[1]);
	assert_true(counts[0] > 0);
	assert_true(ends_us[0] <= ends_us[1] + 2 * TRANSFER_US);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_end)};

	return simulated_over(cmocka_run_group_tests(tests, NULL, NULL));
}
