/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A tiled Cholesky factorisation in short tasks, under heddle, with nothing known. The accelerator
 * is slow with diagonal tiles, and all else waits for these. A core factors one in half the time.
 * So the accelerator leaves them to cores, also when it looks for a task between two plans, and
 * also when tasks do not state their operations.
 */
#include "config.h"

#include <starpu.h>

#include "tests/sim/simulated.h"
#include "tests/unit/test.h"

SIMULATED("12cpu+gpu1@60000:1")

#define TILES 40
#define SIDE 640
#define LOADING_US 100000 /* of the first solve on the accelerator */

enum kind { FACTOR, SOLVE, UPDATE, KINDS };

static const double gpu_us[KINDS] = {20000, 53, 46};
static double core_us[KINDS] = {10000, 8000, 28000};
static const double flops[KINDS] = {SIDE * SIDE * (SIDE / 3.), (double)SIDE *SIDE *SIDE,
                                    2. * SIDE *SIDE *SIDE};
static starpu_data_handle_t handles[TILES][TILES];
static unsigned on_cores[KINDS];
static bool loaded, silent;

static double cost(struct starpu_task *task, struct starpu_perfmodel_arch *arch, unsigned nimpl)
{
	enum kind kind = (enum kind)(uintptr_t)task->callback_arg;

	(void)nimpl;
	if (arch->devices[0].type == STARPU_CPU_WORKER)
		return core_us[kind];
	if (kind == SOLVE && !loaded)
		return LOADING_US;
	return gpu_us[kind];
}

static struct starpu_perfmodel models[KINDS] = {
    {.type = STARPU_PER_ARCH, .symbol = "heddle_head_factor", .arch_cost_function = cost},
    {.type = STARPU_PER_ARCH, .symbol = "heddle_head_solve", .arch_cost_function = cost},
    {.type = STARPU_PER_ARCH, .symbol = "heddle_head_update", .arch_cost_function = cost}};

static struct starpu_codelet codelets[KINDS] = {{.cpu_funcs = {never},
                                                 .cuda_funcs = {never},
                                                 .model = &models[FACTOR],
                                                 .nbuffers = 1,
                                                 .modes = {STARPU_RW},
                                                 .name = "factor"},
                                                {.cpu_funcs = {never},
                                                 .cuda_funcs = {never},
                                                 .model = &models[SOLVE],
                                                 .nbuffers = 2,
                                                 .modes = {STARPU_R, STARPU_RW},
                                                 .name = "solve"},
                                                {.cpu_funcs = {never},
                                                 .cuda_funcs = {never},
                                                 .model = &models[UPDATE],
                                                 .nbuffers = 3,
                                                 .modes = {STARPU_R, STARPU_R, STARPU_RW},
                                                 .name = "update"}};

static void has_ended(void *arg)
{
	bool core = starpu_worker_get_type(starpu_worker_get_id()) == STARPU_CPU_WORKER;

	loaded |= !core && (uintptr_t)arg == SOLVE;
	on_cores[(uintptr_t)arg] += core;
}

/* The last one of the pieces is written. */
static void submit(enum kind kind, int priority, starpu_data_handle_t a, starpu_data_handle_t b,
                   starpu_data_handle_t c)
{
	starpu_data_handle_t pieces[] = {a, b, c};
	struct starpu_task *task = starpu_task_create();
	unsigned n = 0;

	task->cl = &codelets[kind];
	for (unsigned p = 0; p < 3; p++)
		if (pieces[p])
			task->handles[n++] = pieces[p];
	task->priority = priority;
	task->flops = silent ? 0 : flops[kind];
	task->callback_func = has_ended;
	task->callback_arg = (void *)kind;
	assert_int_equal(starpu_task_submit(task), 0);
}

static void repetition(void)
{
	double us = -starpu_timing_now();

	memset(on_cores, 0, sizeof(on_cores));
	for (int k = 0; k < TILES; k++) {
		submit(FACTOR, 3 * (TILES - k), NULL, NULL, handles[k][k]);
		for (int i = k + 1; i < TILES; i++)
			submit(SOLVE, 3 * TILES - 2 * k - i, NULL, handles[k][k], handles[i][k]);
		for (int i = k + 1; i < TILES; i++)
			for (int j = k + 1; j <= i; j++)
				submit(UPDATE, 3 * TILES - k - i - j, handles[i][k], handles[j][k],
				       handles[i][j]);
	}
	starpu_task_wait_for_all();
	us += starpu_timing_now();
	print_message("%.1f ms; on cores: %u factored, %u solved, %u updated\n", us / 1000,
	              on_cores[FACTOR], on_cores[SOLVE], on_cores[UPDATE]);
}

static void test_head(void **state)
{
	static float tile[SIDE * SIDE];
	struct starpu_conf conf;

	(void)state;
	/* Not what the models know. */
	setenv("HEDDLE_ESTIMATE", "online,neighbours", 1);
	starpu_conf_init(&conf);
	conf.sched_policy_name = "heddle";
	assert_int_equal(starpu_init(&conf), 0);
	for (unsigned i = 0; i < TILES; i++)
		for (unsigned j = 0; j <= i; j++)
			starpu_matrix_data_register(&handles[i][j], STARPU_MAIN_RAM,
			                            (uintptr_t)tile, SIDE, SIDE, SIDE,
			                            sizeof(float));
	/* At first it has two: its first run may have loaded something. */
	for (unsigned r = 0; r < 3; r++) {
		repetition();
		assert_in_range(on_cores[FACTOR], TILES - (r ? 1 : 3), TILES);
	}
	for (unsigned i = 0; i < TILES; i++)
		for (unsigned j = 0; j <= i; j++)
			starpu_data_unregister(handles[i][j]);
	starpu_shutdown();
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_head)};
	int failed;

	silent = argc > 1 && !strcmp(argv[1], "silent");
	/* Cores find enough to do to be busy when a diagonal tile is ready. */
	if (silent)
		core_us[UPDATE] = 9000;
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	return failed || silent ? simulated_over(failed) : simulated_again("silent");
}
