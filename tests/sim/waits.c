/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A Cholesky factorisation under heddle, on eight accelerators whose tasks take 8 us and each
 * transfer 1 ms. The tasks are short, but they wait for their inputs: it counts who does which, so
 * there is a plan. Without one each accelerator has most tiles come, and it takes 33183 us.
 */
#include "config.h"

#include <starpu.h>

#include "tests/sim/simulated.h"
#include "tests/unit/test.h"

SIMULATED("4cpu+8gpu1@1000:0")

#define TILES 5
#define BYTES 1000000 /* a transfer of 1000 us */
#define CORE_US 200000
#define GPU_US 8
#define TOOK 24150.0

static double cost(struct starpu_task *task, struct starpu_perfmodel_arch *arch, unsigned nimpl)
{
	return arch->devices[0].type == STARPU_CPU_WORKER ? CORE_US : GPU_US;
}

static struct starpu_perfmodel model = {
    .type = STARPU_PER_ARCH, .symbol = "heddle_test_waits", .arch_cost_function = cost};
static struct starpu_codelet codelet = {.cpu_funcs = {never},
                                        .cuda_funcs = {never},
                                        .model = &model,
                                        .nbuffers = STARPU_VARIABLE_NBUFFERS,
                                        .name = "waits"};

/* The last of the tiles is written. */
static void insert(int n, const starpu_data_handle_t *handles)
{
	struct starpu_data_descr tiles[3];

	for (int i = 0; i < n; i++) {
		tiles[i].handle = handles[i];
		tiles[i].mode = i == n - 1 ? STARPU_RW : STARPU_R;
	}
	assert_int_equal(starpu_task_insert(&codelet, STARPU_DATA_MODE_ARRAY, tiles, n, 0), 0);
}

static void cholesky(starpu_data_handle_t a[TILES][TILES])
{
	for (int k = 0; k < TILES; k++) {
		insert(1, (starpu_data_handle_t[]){a[k][k]});
		for (int i = k + 1; i < TILES; i++)
			insert(2, (starpu_data_handle_t[]){a[k][k], a[i][k]});
		for (int i = k + 1; i < TILES; i++) {
			insert(2, (starpu_data_handle_t[]){a[i][k], a[i][i]});
			for (int j = k + 1; j < i; j++)
				insert(3, (starpu_data_handle_t[]){a[i][k], a[j][k], a[i][j]});
		}
	}
}

static void test_waits(void **state)
{
	static unsigned char data[BYTES]; /* nobody reads it */
	starpu_data_handle_t handles[TILES][TILES], *all = &handles[0][0];
	struct starpu_conf conf;
	double us;

	starpu_conf_init(&conf);
	conf.sched_policy_name = "heddle";
	assert_int_equal(starpu_init(&conf), 0);
	for (int i = 0; i < TILES * TILES; i++)
		starpu_vector_data_register(&all[i], STARPU_MAIN_RAM, (uintptr_t)data, BYTES, 1);
	us = -starpu_timing_now();
	cholesky(handles);
	starpu_task_wait_for_all();
	us += starpu_timing_now();
	print_message("%.1f us\n", us);
	assert_float_equal(us, TOOK, 1);
	for (int i = 0; i < TILES * TILES; i++)
		starpu_data_unregister(all[i]);
	starpu_shutdown();
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_waits)};

	return simulated_over(cmocka_run_group_tests(tests, NULL, NULL));
}
