/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A device whose memory cannot hold the data of one task: StarPU would look for room for ever.
 * StarPU takes memory of CUDA devices for small data in portions of 32 MiB, which counts as well.
 */
#include "config.h"

#include <starpu.h>

#include "tests/sim/simulated.h"
#include "tests/unit/test.h"

SIMULATED("2cpu+gpu8@8000:10")

#define NTASKS 20
#define LIMIT "40" /* MiB */
#define LARGE (10 << 20)
#define SMALL 1000

static unsigned on_core, on_gpu;

static double cost(struct starpu_task *task, struct starpu_perfmodel_arch *arch, unsigned nimpl)
{
	return arch->devices[0].type == STARPU_CPU_WORKER ? 8000 : 1000;
}

static struct starpu_perfmodel model = {.type = STARPU_PER_ARCH, .arch_cost_function = cost};
static struct starpu_codelet codelet = {
    .cpu_funcs = {never},
    .cuda_funcs = {never},
    .nbuffers = 2,
    .modes = {STARPU_R, STARPU_RW},
    .model = &model,
    .name = "pair",
};

static void has_ended(void *arg)
{
	if (starpu_worker_get_type(starpu_worker_get_id()) == STARPU_CPU_WORKER)
		on_core++;
	else
		on_gpu++;
}

static void run(size_t first, size_t second)
{
	static unsigned char data[LARGE]; /* nobody reads it */
	starpu_data_handle_t input, outputs[NTASKS];

	on_core = on_gpu = 0;
	starpu_vector_data_register(&input, STARPU_MAIN_RAM, (uintptr_t)data, first, 1);
	for (int i = 0; i < NTASKS; i++) {
		starpu_vector_data_register(&outputs[i], STARPU_MAIN_RAM, (uintptr_t)data, second,
		                            1);
		assert_int_equal(starpu_task_insert(&codelet, STARPU_R, input, STARPU_RW,
		                                    outputs[i], STARPU_CALLBACK, has_ended, 0),
		                 0);
	}
	starpu_task_wait_for_all();
	for (int i = 0; i < NTASKS; i++)
		starpu_data_unregister(outputs[i]);
	starpu_data_unregister(input);
	print_message("%zu and %zu bytes: %u tasks on cores, %u on the GPU\n", first, second,
	              on_core, on_gpu);
	assert_int_equal(on_core + on_gpu, NTASKS);
}

static void test_memory(void **state)
{
	struct starpu_conf conf;

	starpu_conf_init(&conf);
	conf.sched_policy_name = "heddle";
	assert_int_equal(starpu_init(&conf), 0);
	/* 20 MiB fit. */
	run(LARGE, LARGE);
	assert_true(on_gpu > 0);
	/* 10 and 32 MiB do not. */
	run(LARGE, SMALL);
	assert_int_equal(on_gpu, 0);
	starpu_shutdown();
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_memory)};

	setenv("STARPU_LIMIT_CUDA_MEM", LIMIT, 1);
	return simulated_over(cmocka_run_group_tests(tests, NULL, NULL));
}
