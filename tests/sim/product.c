/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A product of matrices by blocks on a simulated machine of cores and accelerators, under heddle.
 * Each block of the result takes a row of blocks of one matrix and a column of the other. Alone a
 * task transfers for half as long as it runs. But an accelerator needs each row and column once,
 * so that all transfers together hide behind the tasks, and cores, 60 times as slow, are no help.
 * Where tasks are short, all waits for transfers, and it counts how few rows and columns each
 * accelerator takes.
 */
#include "config.h"

#include <starpu.h>

#include "tests/sim/simulated.h"
#include "tests/unit/test.h"

SIMULATED("8cpu+gpu60+gpu60+gpu60+gpu60@10000:10")

#define BLOCKS 12
#define BYTES 2500000 /* 250 us */
#define CPU_US 60000
#define GPU_US 1000
/* What the accelerators need if they wait for nothing, and what is allowed for the first inputs
 * and an unequal end. */
#define IDEAL_US (BLOCKS * BLOCKS * GPU_US / 4)
#define ALLOWED_US (IDEAL_US + 12 * GPU_US)

/* With more data and short tasks: a quarter of the blocks needs half of the rows and half of the
 * columns. With whole columns, or rows, it is a quarter more. */
#define MORE_BYTES 25000000 /* 2.5 ms */
#define SHORT_US 200
#define LEAST_US (BLOCKS * (MORE_BYTES / 10000))
#define MOST_US (LEAST_US * 1.25)

static unsigned on_cores;

static double cost(struct starpu_task *task, struct starpu_perfmodel_arch *arch, unsigned nimpl)
{
	return arch->devices[0].type == STARPU_CPU_WORKER ? CPU_US : GPU_US;
}

static double short_cost(struct starpu_task *task, struct starpu_perfmodel_arch *arch,
                         unsigned nimpl)
{
	return arch->devices[0].type == STARPU_CPU_WORKER ? CPU_US : SHORT_US;
}

static struct starpu_perfmodel model = {
    .type = STARPU_PER_ARCH,
    .symbol = "heddle_test_product",
    .arch_cost_function = cost,
};

static struct starpu_codelet codelet = {
    .cpu_funcs = {never},
    .cuda_funcs = {never},
    .model = &model,
    .nbuffers = 3,
    .modes = {STARPU_R, STARPU_R, STARPU_W},
    .name = "product",
};

static struct starpu_perfmodel short_model = {
    .type = STARPU_PER_ARCH,
    .symbol = "heddle_test_short_product",
    .arch_cost_function = short_cost,
};

static struct starpu_codelet short_codelet = {
    .cpu_funcs = {never},
    .cuda_funcs = {never},
    .cuda_flags = {STARPU_CUDA_ASYNC},
    .model = &short_model,
    .nbuffers = 3,
    .modes = {STARPU_R, STARPU_R, STARPU_W},
    .name = "short product",
};

static void has_ended(void *arg)
{
	on_cores += starpu_worker_get_type(starpu_worker_get_id()) == STARPU_CPU_WORKER;
}

static void register_all(starpu_data_handle_t *handles, size_t n, size_t bytes)
{
	static unsigned char data[MORE_BYTES]; /* nobody reads it */

	for (size_t i = 0; i < n; i++)
		starpu_vector_data_register(&handles[i], STARPU_MAIN_RAM, (uintptr_t)data, bytes,
		                            1);
}

/* @param bytes of a row or column
 * @return how long a product takes, us */
static double product_us(struct starpu_codelet *product, size_t bytes)
{
	static starpu_data_handle_t rows[BLOCKS], columns[BLOCKS], blocks[BLOCKS * BLOCKS];
	double us;

	on_cores = 0;
	register_all(rows, BLOCKS, bytes);
	register_all(columns, BLOCKS, bytes);
	register_all(blocks, BLOCKS * BLOCKS, 4);
	us = -starpu_timing_now();
	for (int i = 0; i < BLOCKS * BLOCKS; i++)
		assert_int_equal(starpu_task_insert(product, STARPU_R, rows[i / BLOCKS], STARPU_R,
		                                    columns[i % BLOCKS], STARPU_W, blocks[i],
		                                    STARPU_CALLBACK, has_ended, 0),
		                 0);
	starpu_task_wait_for_all();
	us += starpu_timing_now();
	for (int i = 0; i < BLOCKS; i++) {
		starpu_data_unregister(rows[i]);
		starpu_data_unregister(columns[i]);
	}
	for (int i = 0; i < BLOCKS * BLOCKS; i++)
		starpu_data_unregister(blocks[i]);
	return us;
}

static void test_product(void **state)
{
	struct starpu_conf conf;
	double us;

	starpu_conf_init(&conf);
	conf.sched_policy_name = "heddle";
	assert_int_equal(starpu_init(&conf), 0);
	us = product_us(&codelet, BYTES);
	print_message("%.1f ms, %d at best; %u tasks on cores\n", us / 1000, IDEAL_US / 1000,
	              on_cores);
	assert_int_equal(on_cores, 0);
	assert_in_range(us, IDEAL_US, ALLOWED_US);
	us = product_us(&short_codelet, MORE_BYTES);
	print_message("short tasks: %.1f ms, %d at best; %u tasks on cores\n", us / 1000,
	              LEAST_US / 1000, on_cores);
	starpu_shutdown();
	assert_int_equal(on_cores, 0);
	assert_in_range(us, LEAST_US, MOST_US);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_product)};

	return simulated_over(cmocka_run_group_tests(tests, NULL, NULL));
}
