/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The kernel cache while a new kernel is analysed, which takes as long as a compiler: launches of
 * kernels that are known do not wait for it, those of the new kernel do, and it is analysed once.
 * kernel_cache.sh gives an analyser that ends when the file GATE is there.
 */
#include "config.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <heddle/heddle.h>

#include "tests/unit/test.h"

enum { N = 1 << 14, LAUNCHES = 3 };

static const char source[] = "__kernel void known(__global int *x) { x[get_global_id(0)] += 1; }\n"
                             "__kernel void fresh(__global int *x) { x[get_global_id(0)] += 2; }\n";

static bool is_there(const char *variable)
{
	return !access(getenv(variable), F_OK);
}

static void file_make(const char *variable)
{
	FILE *file = fopen(getenv(variable), "w");

	assert_non_null(file);
	fclose(file);
}

/* @return whether the results are right */
static bool launch(const char *name, int added)
{
	int *x = calloc(N, sizeof(*x));
	struct heddle_kernel kernel = {
	    .source = source,
	    .name = name,
	    .dimensions = 1,
	    .global = {N},
	    .local = {64},
	    .narguments = 1,
	    .arguments = {{.type = HEDDLE_KERNEL_HOST, .pointer = x, .bytes = N * sizeof(*x)}},
	    .split = HEDDLE_KERNEL_ALWAYS};
	bool right = x && !heddle_kernel_run(&kernel, NULL);

	for (int i = 0; i < N && right; i++)
		right = x[i] == added;
	free(x);
	return right;
}

static void *fresh_launch(void *arg)
{
	bool *right = arg;

	*right = launch("fresh", 2);
	return NULL;
}

static void known_kernels_do_not_wait(void **state)
{
	pthread_t threads[LAUNCHES];
	bool right[LAUNCHES] = {false}, known, ended;

	file_make("GATE");
	assert_true(launch("known", 1));
	assert_int_equal(remove(getenv("GATE")), 0);
	assert_int_equal(remove(getenv("BEGUN")), 0);
	assert_int_equal(remove(getenv("ENDED")), 0);
	for (int t = 0; t < LAUNCHES; t++)
		assert_int_equal(pthread_create(&threads[t], NULL, fresh_launch, &right[t]), 0);
	while (!is_there("BEGUN"))
		usleep(1000);
	known = launch("known", 1);
	ended = is_there("ENDED");
	file_make("GATE");
	for (int t = 0; t < LAUNCHES; t++)
		pthread_join(threads[t], NULL);
	for (int t = 0; t < LAUNCHES; t++)
		assert_true(right[t]);
	assert_true(known);
	assert_false(ended);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(known_kernels_do_not_wait),
	};
	int failed;

	if (starpu_init(NULL))
		return 77;
	if (!starpu_opencl_worker_get_count()) {
		starpu_shutdown();
		return 77;
	}
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	heddle_kernels_unload();
	starpu_shutdown();
	return failed;
}
