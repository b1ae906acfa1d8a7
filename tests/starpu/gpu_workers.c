/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The policy heddle gives each GPU several workers, a loop uses one of them. Skipped where there is
 * no CUDA device.
 */
#include "config.h"

#include <stdlib.h>
#include <starpu.h>

#include <heddle/heddle.h>

#include "tests/unit/test.h"

#define N 1000000

/* How many workers each GPU has under a policy. */
static int workers_each(const char *policy)
{
	int n;

	setenv("STARPU_SCHED", policy, 1);
	if (starpu_init(NULL))
		return -1;
	n = starpu_cuda_worker_get_count();
	starpu_shutdown();
	return n;
}

static void test_number(void **state)
{
	int gpus = workers_each("ddwrr");

	unsetenv("HEDDLE_CUDA_WORKERS");
	assert_true(workers_each("heddle") > gpus);
	assert_null(getenv("STARPU_NWORKER_PER_CUDA"));
	assert_null(getenv("STARPU_CUDA_THREAD_PER_WORKER"));
	setenv("HEDDLE_CUDA_WORKERS", "2", 1);
	assert_int_equal(workers_each("heddle"), 2 * gpus);
	assert_int_equal(workers_each("ddwrr"), gpus);
	setenv("HEDDLE_CUDA_WORKERS", "1", 1);
	assert_int_equal(workers_each("heddle"), gpus);
	unsetenv("HEDDLE_CUDA_WORKERS");
}

/* Where nobody has named the policy each GPU has one. */
static void test_default(void **state)
{
	int gpus = workers_each("ddwrr");
	struct starpu_conf conf;

	assert_int_equal(workers_each(""), gpus);
	unsetenv("STARPU_SCHED");
	assert_int_equal(starpu_conf_init(&conf), 0);
	assert_int_equal(starpu_init(&conf), 0);
	assert_int_equal(starpu_cuda_worker_get_count(), gpus);
	starpu_shutdown();
	conf.sched_policy_name = "heddle";
	assert_int_equal(starpu_init(&conf), 0);
	assert_true((int)starpu_cuda_worker_get_count() > gpus);
	starpu_shutdown();
}

/* What the user has set stays. */
static void test_user(void **state)
{
	int gpus = workers_each("ddwrr");

	setenv("STARPU_NWORKER_PER_CUDA", "3", 1);
	assert_int_equal(workers_each("heddle"), 3 * gpus);
	assert_string_equal(getenv("STARPU_NWORKER_PER_CUDA"), "3");
	unsetenv("STARPU_NWORKER_PER_CUDA");
}

static void ones_cpu(void *buffers[], void *arg)
{
	const struct heddle_block *block = arg;
	int *values = (int *)STARPU_VECTOR_GET_PTR(buffers[0]);

	for (size_t i = 0; i < block->n; i++)
		values[i] = 1;
}

static void ones_cuda(void *buffers[], void *arg)
{
	const struct heddle_block *block = arg;
	static const int one = 1;
	int *values = (int *)STARPU_VECTOR_GET_PTR(buffers[0]);

	for (size_t i = 0; i < block->n; i += i ? i : 1)
		if (!i)
			cudaMemcpyAsync(values, &one, sizeof(one), cudaMemcpyHostToDevice,
			                starpu_cuda_get_local_stream());
		else
			cudaMemcpyAsync(values + i, values,
			                (block->n - i < i ? block->n - i : i) * sizeof(*values),
			                cudaMemcpyDeviceToDevice, starpu_cuda_get_local_stream());
	cudaStreamSynchronize(starpu_cuda_get_local_stream());
}

static void test_loop(void **state)
{
	static struct starpu_codelet codelet = {
	    .cpu_funcs = {ones_cpu}, .cuda_funcs = {ones_cuda}, .name = "ones"};
	static struct heddle_loop_stats stats;
	static int values[N];
	int devices = workers_each("ddwrr"), seen = 0;
	struct heddle_loop loop = {.codelet = &codelet, .n = N, .naccesses = 1};

	setenv("STARPU_SCHED", "heddle", 1);
	assert_int_equal(starpu_init(NULL), 0);
	starpu_vector_data_register(&loop.accesses[0].handle, STARPU_MAIN_RAM, (uintptr_t)values, N,
	                            sizeof(*values));
	loop.accesses[0].mode = STARPU_W;
	assert_int_equal(heddle_loop_run(&loop, &stats), 0);
	starpu_data_unregister(loop.accesses[0].handle);
	starpu_shutdown();
	for (unsigned w = 0; w < stats.nworkers; w++)
		seen += stats.workers[w].kind == HEDDLE_KIND_CUDA;
	assert_int_equal(seen, devices);
	for (size_t i = 0; i < N; i++)
		assert_int_equal(values[i], 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_number),
	    cmocka_unit_test(test_default),
	    cmocka_unit_test(test_user),
	    cmocka_unit_test(test_loop),
	};

	if (workers_each("ddwrr") <= 0)
		return 77;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
