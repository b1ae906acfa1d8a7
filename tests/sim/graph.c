/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A task graph of which nothing is known, on a simulated machine of cores and an
 * accelerator that runs all of it much faster: that of a tiled Cholesky factorisation, with
 * few tasks ready at a time and one chain that everything waits for. The first run of a
 * codelet on the accelerator may take longer, as where kernels are loaded.
 *
 * And many chains, of which cores could do some tasks. Under heddle they do, unless tasks are so
 * short that they would save less time than it takes to choose.
 *
 * And random graphs of tasks whose lengths change from graph to graph: under heddle cores rest and
 * come back, and all tasks end.
 *
 * Where tasks state their operations, cores try at most one of this graph: others would take longer
 * than all that is left.
 *
 * Where cores are half as fast as the accelerator with what everything waits for, and far slower
 * with the rest, the first run takes little longer than later ones: what a core tried counts at
 * once.
 *
 *	graph [SCHED [FIRST_US]]
 *	graph flops
 *	graph near
 *	graph chains SHORTER
 *	graph random SEED
 */
#include "config.h"

#include <math.h>
#include <starpu.h>

#include "tests/sim/simulated.h"
#include "tests/unit/test.h"

SIMULATED("4cpu+gpu1@12000:10")

#define TILES 12
#define BYTES (256 * 256 * 4)
#define REPETITIONS 5
#define NTASKS (TILES * (TILES + 1) * (TILES + 2) / 6)
/* In this repetition, and how many tasks at the most are still done by cores. */
#define LEARNED 2
#define LEFT (NTASKS / 10)

/* As many chains as tiles, of so many tasks. Cores save 2 us for each that is 100 times shorter. */
#define CHAIN 10
#define NCHAINS (TILES * (TILES + 1) / 2)

/* Of a core, operations in 1 us. */
#define CPU_FLOPS 25e3

enum kernel { POTRF, TRSM, SYRK, GEMM, NKERNELS };

static double cpu_us[] = {40000, 60000, 60000, 90000}, gpu_us[] = {1500, 200, 150, 150};
static double first_us, shorter = 1, took_us[REPETITIONS];
static size_t bytes = BYTES;
static bool noisy, states_flops;
static bool loaded[NKERNELS];
static unsigned on_cores[NKERNELS];

static double cost(struct starpu_task *task, struct starpu_perfmodel_arch *arch, unsigned nimpl)
{
	enum kernel kernel = (uintptr_t)task->callback_arg;

	double part = noisy ? 0.2 + drand48() : 1;

	if (arch->devices[0].type == STARPU_CPU_WORKER)
		return (noisy && kernel == POTRF ? gpu_us[kernel] / 2 : cpu_us[kernel]) * part /
		       shorter;
	return gpu_us[kernel] * part / shorter + (loaded[kernel] ? 0 : first_us);
}

static struct starpu_perfmodel model = {
    .type = STARPU_PER_ARCH,
    .symbol = "heddle_test_graph",
    .arch_cost_function = cost,
};

#define KERNEL(text, n, ...)                                                                       \
	{                                                                                          \
		.cpu_funcs = {never}, .cuda_funcs = {never}, .model = &model, .nbuffers = n,       \
		.modes = {__VA_ARGS__}, .name = text,                                              \
	}
static struct starpu_codelet codelets[] = {
    [POTRF] = KERNEL("potrf", 1, STARPU_RW),
    [TRSM] = KERNEL("trsm", 2, STARPU_R, STARPU_RW),
    [SYRK] = KERNEL("syrk", 2, STARPU_R, STARPU_RW),
    [GEMM] = KERNEL("gemm", 3, STARPU_R, STARPU_R, STARPU_RW),
};

static unsigned char matrix[BYTES]; /* nobody reads it */
static starpu_data_handle_t tiles[TILES][TILES];

static void has_ended(void *arg)
{
	enum kernel kernel = (uintptr_t)arg;

	if (starpu_worker_get_type(starpu_worker_get_id()) == STARPU_CPU_WORKER)
		on_cores[kernel]++;
	else
		loaded[kernel] = true;
}

static void submit(enum kernel kernel, int priority, starpu_data_handle_t a, starpu_data_handle_t b,
                   starpu_data_handle_t c)
{
	starpu_data_handle_t handles[] = {a, b, c};
	struct starpu_task *task = starpu_task_create();

	task->cl = &codelets[kernel];
	task->priority = priority;
	task->callback_func = has_ended;
	task->callback_arg = (void *)(uintptr_t)kernel;
	task->flops = states_flops ? cpu_us[kernel] * CPU_FLOPS : 0;
	memcpy(task->handles, handles, task->cl->nbuffers * sizeof(*handles));
	assert_int_equal(starpu_task_submit(task), 0);
}

/* Priorities by the distance to the end. */
static void submit_graph(void)
{
	for (int k = 0; k < TILES; k++) {
		int priority = 2 * TILES - 2 * k;

		submit(POTRF, priority, tiles[k][k], NULL, NULL);
		for (int i = k + 1; i < TILES; i++)
			submit(TRSM, priority - i, tiles[k][k], tiles[i][k], NULL);
		for (int j = k + 1; j < TILES; j++) {
			submit(SYRK, priority - j, tiles[j][k], tiles[j][j], NULL);
			for (int i = j + 1; i < TILES; i++)
				submit(GEMM, priority - i - j, tiles[i][k], tiles[j][k],
				       tiles[i][j]);
		}
	}
}

static void submit_chains(void)
{
	for (int n = CHAIN; n-- > 0;)
		for (int i = 0; i < TILES; i++)
			for (int j = 0; j <= i; j++)
				submit(POTRF, n, tiles[i][j], NULL, NULL);
}

/* Each task waits for the last ones of one to three tiles. */
static void submit_random(void)
{
	/* From lengths at which cores take part to lengths at which they rest. */
	shorter = pow(10, 3 * drand48());
	for (int n = 0; n < NTASKS; n++) {
		starpu_data_handle_t of[3];
		int priority = lrand48() % 2 ? lrand48() % 20 : 0;

		for (int t = 0; t < 3;) {
			int i = lrand48() % TILES, j = lrand48() % (i + 1);

			of[t] = tiles[i][j];
			t += !t || (of[t] != of[t - 1] && (t < 2 || of[2] != of[0]));
		}
		submit(lrand48() % NKERNELS, priority, of[0], of[1], of[2]);
	}
}

/* @return tasks that cores did */
static unsigned repetition(void (*submit_all)(void), double *us)
{
	double begin_us;
	unsigned sum = 0;

	memset(on_cores, 0, sizeof(on_cores));
	for (int i = 0; i < TILES; i++)
		for (int j = 0; j <= i; j++)
			starpu_vector_data_register(&tiles[i][j], STARPU_MAIN_RAM,
			                            (uintptr_t)matrix, bytes, 1);
	begin_us = starpu_timing_now();
	submit_all();
	starpu_task_wait_for_all();
	*us = starpu_timing_now() - begin_us;
	print_message("%8.1f ms, on cores:", *us / 1000);
	for (int i = 0; i < TILES; i++)
		for (int j = 0; j <= i; j++)
			starpu_data_unregister(tiles[i][j]);
	for (enum kernel k = 0; k < NKERNELS; k++) {
		print_message(" %u %s", on_cores[k], codelets[k].name);
		sum += on_cores[k];
	}
	print_message("\n");
	return sum;
}

static void repetitions(const char *policy, void (*submit_all)(void), unsigned left[REPETITIONS])
{
	struct starpu_conf conf;

	/* Not what the model knows. */
	setenv("HEDDLE_ESTIMATE", "online,neighbours", 1);
	starpu_conf_init(&conf);
	conf.sched_policy_name = policy;
	assert_int_equal(starpu_init(&conf), 0);
	for (unsigned r = 0; r < REPETITIONS; r++)
		left[r] = repetition(submit_all, &took_us[r]);
	starpu_shutdown();
}

static void test_graph(void **state)
{
	unsigned left[REPETITIONS];

	repetitions(*state, submit_graph, left);
	for (unsigned r = LEARNED; r < REPETITIONS; r++)
		assert_in_range(left[r], 0, LEFT);
	/* Where the accelerator is not held up, cores try each kernel once at the most. */
	if (!strcmp(*state, "heddle") && first_us <= 0)
		assert_in_range(left[0], 0, NKERNELS);
}

static void test_flops(void **state)
{
	unsigned left[REPETITIONS];

	(void)state;
	repetitions("heddle", submit_graph, left);
	assert_in_range(left[0], 0, 1);
	for (unsigned r = 1; r < REPETITIONS; r++)
		assert_int_equal(left[r], 0);
}

static void test_near(void **state)
{
	static const double cores_us[] = {75000, 43000, 84000, 84000};
	static const double gpus_us[] = {44000, 6300, 2800, 2800};
	unsigned left[REPETITIONS];

	(void)state;
	memcpy(cpu_us, cores_us, sizeof(cpu_us));
	memcpy(gpu_us, gpus_us, sizeof(gpu_us));
	repetitions("heddle", submit_graph, left);
	assert_true(took_us[0] < 1.1 * took_us[REPETITIONS - 1]);
}

static void test_chains(void **state)
{
	unsigned left[REPETITIONS];

	(void)state;
	repetitions("heddle", submit_chains, left);
	for (unsigned r = LEARNED; r < REPETITIONS; r++)
		if (shorter > 1)
			assert_in_range(left[r], 0, NCHAINS * CHAIN / 50);
		else
			assert_in_range(left[r], NCHAINS * CHAIN / 20, NCHAINS * CHAIN);
}

static void test_random(void **state)
{
	unsigned left[REPETITIONS];

	(void)state;
	repetitions("heddle", submit_random, left);
}

/* One policy a process: the estimator does not forget. */
int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_prestate(test_graph, argc > 1 ? argv[1] : "odds")};

	const struct CMUnitTest of_flops[] = {cmocka_unit_test(test_flops)};
	const struct CMUnitTest of_near[] = {cmocka_unit_test(test_near)};
	const struct CMUnitTest of_chains[] = {cmocka_unit_test(test_chains)};
	const struct CMUnitTest of_random[] = {cmocka_unit_test(test_random)};

	if (argc > 1 && !strcmp(argv[1], "flops")) {
		states_flops = true;
		return simulated_over(cmocka_run_group_tests(of_flops, NULL, NULL));
	}
	if (argc > 1 && !strcmp(argv[1], "near")) {
		states_flops = true;
		return simulated_over(cmocka_run_group_tests(of_near, NULL, NULL));
	}
	if (argc > 2 && !strcmp(argv[1], "chains")) {
		shorter = atof(argv[2]);
		bytes = 4;
		return simulated_over(cmocka_run_group_tests(of_chains, NULL, NULL));
	}
	if (argc > 2 && !strcmp(argv[1], "random")) {
		srand48(atol(argv[2]));
		noisy = true;
		return simulated_over(cmocka_run_group_tests(of_random, NULL, NULL));
	}
	first_us = argc > 2 ? atof(argv[2]) : 0;
	return simulated_over(cmocka_run_group_tests(tests, NULL, NULL));
}
