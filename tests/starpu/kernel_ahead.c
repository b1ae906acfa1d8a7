/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Launches that nobody waits for: a program that submits faster than devices compute has few of
 * them under way, and none waits for what it holds itself. kernel_ahead.sh sets
 * HEDDLE_KERNEL_AHEAD. An argument is the number of launches of the first test.
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>

#include <heddle/heddle.h>

#include "tests/unit/test.h"

enum { N = 256, AHEAD = 64 };

static unsigned launches = 2000;
static float x[N], y[N], z[N];

static const char source[] = "__kernel void add(__global const float *x, __global float *y)\n"
                             "{\n"
                             "	float s = x[get_global_id(0)];\n"
                             "	for (int k = 0; k < 3000; k++)\n"
                             "		s = s * 0.5f + 0.5f;\n"
                             "	y[get_global_id(0)] += s;\n"
                             "}\n"
                             "__kernel void set(__global const float *x, __global float *y)\n"
                             "{\n"
                             "	y[get_global_id(0)] = 2 * x[get_global_id(0)];\n"
                             "}\n";

static struct heddle_kernel kernel_of(const char *name)
{
	return (struct heddle_kernel){
	    .source = source,
	    .name = name,
	    .dimensions = 1,
	    .global = {N},
	    .local = {16},
	    .narguments = 2,
	    .arguments = {{HEDDLE_KERNEL_HOST, NULL, STARPU_R, x, sizeof(x), false, false},
	                  {HEDDLE_KERNEL_HOST, NULL, STARPU_W, z, sizeof(z), false, false}},
	};
}

/* Adds 1 to y so many times. @return the most tasks that were there at once */
static int submit(starpu_data_handle_t handle, unsigned n)
{
	struct heddle_kernel kernel = kernel_of("add");
	int most = 0;

	kernel.arguments[1] = (struct heddle_kernel_argument){
	    HEDDLE_KERNEL_HANDLE, handle, STARPU_RW, NULL, 0, false, false};
	for (unsigned i = 0; i < n; i++) {
		int tasks = starpu_task_nsubmitted();

		assert_int_equal(heddle_kernel_submit(&kernel, NULL), 0);
		most = tasks > most ? tasks : most;
	}
	return most;
}

static void check(starpu_data_handle_t handle, unsigned n)
{
	starpu_task_wait_for_all();
	starpu_data_acquire(handle, STARPU_R);
	for (int i = 0; i < N; i++)
		assert_true(y[i] == n);
	starpu_data_release(handle);
}

static starpu_data_handle_t data(void)
{
	starpu_data_handle_t handle;

	for (int i = 0; i < N; i++) {
		x[i] = 1;
		y[i] = 0;
	}
	starpu_vector_data_register(&handle, STARPU_MAIN_RAM, (uintptr_t)y, N, sizeof(y[0]));
	return handle;
}

/* A launch is a node, up to two tasks for parts, and one that begins it. */
static void few_under_way(void **state)
{
	starpu_data_handle_t handle = data();
	double start_us = starpu_timing_now();
	struct rusage usage;
	int most = submit(handle, launches);

	check(handle, launches);
	getrusage(RUSAGE_SELF, &usage);
	printf("  %u launches: at most %d tasks at once, %.2f s, %ld MiB at most\n", launches, most,
	       (starpu_timing_now() - start_us) / 1e6, usage.ru_maxrss / 1024);
	assert_in_range(most, 0, 4 * AHEAD + 4);
	starpu_data_unregister(handle);
}

/* The launches wait for data that this thread holds, and for a task that it submits later. */
static void never_for_oneself(void **state)
{
	starpu_data_handle_t handle = data();
	int most;

	starpu_data_acquire(handle, STARPU_RW);
	most = submit(handle, 5 * AHEAD);
	assert_true(most >= 4 * AHEAD);
	starpu_data_release(handle);
	check(handle, 5 * AHEAD);
	starpu_data_unregister(handle);
}

static void submit_cpu(void *buffers[], void *arg)
{
	struct heddle_kernel kernel = kernel_of("set");

	for (unsigned i = 0; i < 3 * AHEAD; i++)
		assert_int_equal(heddle_kernel_submit(&kernel, NULL), 0);
}

/* A task does not wait: the launches may need its worker. */
static void in_a_task(void **state)
{
	static struct starpu_codelet codelet = {.cpu_funcs = {submit_cpu}};
	struct starpu_task *task = starpu_task_create();

	task->cl = &codelet;
	assert_int_equal(starpu_task_submit(task), 0);
	starpu_task_wait_for_all();
	heddle_kernels_unload(); /* waits for what has no data */
	for (int i = 0; i < N; i++)
		assert_true(z[i] == 2);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(few_under_way),
	    cmocka_unit_test(never_for_oneself),
	    cmocka_unit_test(in_a_task),
	};
	int failed;

	if (argc > 1)
		launches = atoi(argv[1]);
	if (starpu_init(NULL))
		return 77;
	if (!starpu_opencl_worker_get_count() || !starpu_cpu_worker_get_count()) {
		starpu_shutdown();
		return 77;
	}
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	heddle_kernels_unload();
	starpu_shutdown();
	return failed;
}
