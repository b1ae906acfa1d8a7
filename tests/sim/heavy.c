/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Chains of quick tasks under heddle, with nothing known. Among those of the first chain there are
 * some that compute far more, for as much data. The accelerator has shown so: no core tries one
 * because its quick ones take so little time for each byte.
 */
#include "config.h"

#include <starpu.h>

#include "tests/sim/simulated.h"
#include "tests/unit/test.h"

SIMULATED("8cpu+gpu1@8000:10")

#define CHAINS 20
#define LENGTH 40
#define EVERY 8 /* task of the first chain is a heavy one */
#define CORE_US 100
#define GPU_US 50
#define HEAVY_CORE_US 240000
#define HEAVY_GPU_US 6000

static unsigned on_cores; /* heavy ones */

static double quick_cost(struct starpu_task *task, struct starpu_perfmodel_arch *arch,
                         unsigned nimpl)
{
	return arch->devices[0].type == STARPU_CPU_WORKER ? CORE_US : GPU_US;
}

static double heavy_cost(struct starpu_task *task, struct starpu_perfmodel_arch *arch,
                         unsigned nimpl)
{
	return arch->devices[0].type == STARPU_CPU_WORKER ? HEAVY_CORE_US : HEAVY_GPU_US;
}

SIMULATED_CODELET(quick, quick_cost);
SIMULATED_CODELET(heavy, heavy_cost);

static void has_ended(void *arg)
{
	on_cores += starpu_worker_get_type(starpu_worker_get_id()) == STARPU_CPU_WORKER;
}

static void chains_submit(starpu_data_handle_t *handles)
{
	for (int i = 0; i < LENGTH * CHAINS; i++) {
		bool is_heavy = i % CHAINS == 0 && i / CHAINS % EVERY == EVERY - 1;

		assert_int_equal(starpu_task_insert(is_heavy ? &heavy : &quick, STARPU_RW,
		                                    handles[i % CHAINS], STARPU_CALLBACK,
		                                    is_heavy ? has_ended : NULL, 0),
		                 0);
	}
}

static void test_heavy(void **state)
{
	double us = simulated_us(CHAINS, chains_submit);

	(void)state;
	print_message("%.0f us, %u heavy tasks on cores\n", us, on_cores);
	assert_int_equal(on_cores, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_heavy)};

	setenv("HEDDLE_ESTIMATE", "online,neighbours", 1);
	return simulated_over(cmocka_run_group_tests(tests, NULL, NULL));
}
