/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A sum over all workers: StarPU adds what each has by tasks of its own. It tells policies that
 * these begin, but not that they end.
 */
#include "config.h"

#include <starpu.h>

#include "tests/sim/simulated.h"
#include "tests/unit/test.h"

SIMULATED("3cpu+gpu10@10000:10")

#define NTASKS 40
#define NSUMS 8
#define CORE_US 1000

static double cost(struct starpu_task *task, struct starpu_perfmodel_arch *arch, unsigned nimpl)
{
	return arch->devices[0].type == STARPU_CUDA_WORKER ? CORE_US / 10 : CORE_US;
}

SIMULATED_CODELET(begin, cost);
SIMULATED_CODELET(add, cost);
SIMULATED_CODELET(sum, cost);

/* StarPU calls it when it fetches a worker's part. */
static void nothing(void *buffers[], void *arg)
{
}

static void submit(starpu_data_handle_t *handles)
{
	begin.modes[0] = STARPU_W;
	begin.cpu_funcs[0] = nothing;
	begin.cuda_funcs[0] = nothing;
	sum.modes[0] = STARPU_REDUX;
	add.nbuffers = 2;
	add.modes[1] = STARPU_R;
	starpu_data_set_reduction_methods(handles[0], &add, &begin);
	for (unsigned s = 0; s < NSUMS; s++) {
		for (unsigned i = 0; i < NTASKS; i++)
			assert_int_equal(starpu_task_insert(&sum, STARPU_REDUX, handles[0], 0), 0);
		assert_int_equal(starpu_data_acquire(handles[0], STARPU_R), 0);
		starpu_data_release(handles[0]);
	}
}

/* Three cores alone would need longer for the tasks. A worker that nobody hears of would hold all
 * up for ever. */
static void test_reduction(void **state)
{
	double us;

	setenv("HEDDLE_ESTIMATE", "online,neighbours", 1);
	us = simulated_us(1, submit);
	print_message("%d sums in %.3f ms\n", NSUMS, us / 1000);
	assert_true(us < NSUMS * NTASKS / 3 * CORE_US);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_reduction)};

	return simulated_over(cmocka_run_group_tests(tests, NULL, NULL));
}
