/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Loops whose accelerator is late: an OpenCL device on which a block waits for an event that only
 * this program completes. Run by late.sh.
 */
#include "config.h"

#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <starpu.h>
#include <starpu_opencl.h>

#include <heddle/heddle.h>

#include "tests/unit/test.h"

enum { N = 2000, BINS = 16, WIDTH = 3, LD = 5 };

static int x[N], y[N], bins[BINS], rows[N * LD];
static uint32_t starts[N + 1];

static struct starpu_codelet work;

/* ---- the device ---- */

static struct starpu_opencl_program program;
static const char source[] =
    "__kernel void work(ulong n, __global const int *x, ulong xo, __global int *y, ulong yo,\n"
    "  __global int *bins, ulong bo, __global int *rows, ulong ro, ulong ld)\n"
    "{ size_t i = get_global_id(0); if (i >= n) return;\n"
    "  y[yo / 4 + i] = 2 * x[xo / 4 + i];\n"
    "  atomic_inc(&bins[bo / 4 + (x[xo / 4 + i] & 15)]);\n"
    "  for (int k = 0; k < 3; k++) rows[ro / 4 + i * ld + k] += x[xo / 4 + i]; }\n";

/* What the device does with its blocks. Guarded by the mutex. */
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static struct {
	int passes;      /* blocks that are not held */
	int passed;      /* what those return */
	bool held;       /* one is */
	size_t start, n; /* that one */
	int status;      /* what it returns */
	unsigned again;  /* blocks within it that cores begin before its event */
	int fails;       /* cores that fail to compute one */
	bool last;       /* the core with the last of it fails, long after the device */
	bool completed;  /* the event is */
	bool hasty;      /* cores do not wait for long until it is */
	int waited;      /* ms that they have, all together */
	cl_event event;  /* that a block waits for; NULL: none does */
} device;

static void event_complete(void)
{
	pthread_mutex_lock(&mutex);
	if (device.event && !device.completed)
		assert_int_equal(clSetUserEventStatus(device.event, CL_COMPLETE), CL_SUCCESS);
	device.completed = true;
	pthread_mutex_unlock(&mutex);
}

static void pause_ms(long ms)
{
	struct timespec pause = {.tv_nsec = ms * 1000000};

	nanosleep(&pause, NULL);
}

static bool event_completed(void)
{
	bool completed;

	pthread_mutex_lock(&mutex);
	completed = device.completed;
	pthread_mutex_unlock(&mutex);
	return completed;
}

static bool device_holds(const struct heddle_block *block)
{
	bool holds;

	pthread_mutex_lock(&mutex);
	holds = device.event && !device.held && !device.passes--;
	if (holds) {
		device.held = true;
		device.start = block->start;
		device.n = block->n;
	}
	pthread_mutex_unlock(&mutex);
	return holds;
}

static void work_launch(cl_kernel kernel, cl_command_queue queue, void *buffers[], size_t n,
                        bool held)
{
	cl_ulong count = n, ld = STARPU_MATRIX_GET_LD(buffers[3]);
	size_t local = 64, size = (n + local - 1) / local * local;
	unsigned argument = 0;

	clSetKernelArg(kernel, argument++, sizeof(count), &count);
	for (int b = 0; b < 4; b++) {
		cl_mem memory = (cl_mem)(b == 3 ? STARPU_MATRIX_GET_DEV_HANDLE(buffers[b])
		                                : STARPU_VECTOR_GET_DEV_HANDLE(buffers[b]));
		cl_ulong offset = b == 3 ? STARPU_MATRIX_GET_OFFSET(buffers[b])
		                         : STARPU_VECTOR_GET_OFFSET(buffers[b]);

		clSetKernelArg(kernel, argument++, sizeof(memory), &memory);
		clSetKernelArg(kernel, argument++, sizeof(offset), &offset);
	}
	clSetKernelArg(kernel, argument++, sizeof(ld), &ld);
	assert_int_equal(clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &size, &local, held,
	                                        held ? &device.event : NULL, NULL),
	                 CL_SUCCESS);
}

static void work_opencl(void *buffers[], void *arg)
{
	struct heddle_block *block = arg;
	bool held = device_holds(block);
	cl_kernel kernel;
	cl_command_queue queue;

	assert_int_equal(starpu_opencl_load_kernel(&kernel, &queue, &program, "work",
	                                           starpu_worker_get_devid(starpu_worker_get_id())),
	                 CL_SUCCESS);
	work_launch(kernel, queue, buffers, block->n, held);
	block->status = held ? device.status : device.passed;
	if (!work.opencl_flags[0])
		clFinish(queue);
	starpu_opencl_release_kernel(kernel);
}

/* ---- the cores ---- */

/* Cores begin when the device has what it is to have. Within the block that it is late with, they
 * may complete the event, or fail. */
#define PATIENCE 300 /* ms */
static bool core_begins(const struct heddle_block *block)
{
	bool fails = false, complete = false, last = false;
	int waited = 0;

	pthread_mutex_lock(&mutex);
	/* A device whose block before has failed may have been given no other one. */
	while (device.event && !device.held && !(device.passed && waited++ == PATIENCE) &&
	       !(device.hasty && device.waited++ >= PATIENCE)) {
		pthread_mutex_unlock(&mutex);
		pause_ms(1);
		pthread_mutex_lock(&mutex);
	}
	if (device.held && block->start >= device.start && block->start < device.start + device.n) {
		last = device.last && block->start + block->n == device.start + device.n;
		device.last = device.last && !last;
		complete = last || (device.again && !--device.again);
		fails = last || (device.fails && device.fails--);
	}
	pthread_mutex_unlock(&mutex);
	if (complete)
		event_complete();
	if (last)
		pause_ms(60);
	return !fails;
}

static void work_cpu(void *buffers[], void *arg)
{
	struct heddle_block *block = arg;
	const int *in = (const int *)STARPU_VECTOR_GET_PTR(buffers[0]);
	int *out = (int *)STARPU_VECTOR_GET_PTR(buffers[1]);
	int *sums = (int *)STARPU_VECTOR_GET_PTR(buffers[2]);
	int *matrix = (int *)STARPU_MATRIX_GET_PTR(buffers[3]);

	for (size_t i = 0; i < block->n; i++) {
		out[i] = 2 * in[i];
		sums[in[i] & (BINS - 1)]++;
		for (int k = 0; k < WIDTH; k++)
			matrix[i * STARPU_MATRIX_GET_LD(buffers[3]) + k] += in[i];
	}
	if (!core_begins(block))
		block->status = -EIO;
}

static void bins_add(void *into, const void *from, size_t bytes, void *arg)
{
	for (size_t b = 0; b < bytes / sizeof(int); b++)
		((int *)into)[b] += ((const int *)from)[b];
}

/* ---- loops ---- */

static struct starpu_codelet work = {.cpu_funcs = {work_cpu},
                                     .opencl_funcs = {work_opencl},
                                     .opencl_flags = {STARPU_OPENCL_ASYNC},
                                     .name = "late"};
static starpu_data_handle_t hx, hy, hbins, hrows;

static void fill(int first)
{
	for (int i = 0; i < N; i++) {
		x[i] = first + i % 1000;
		y[i] = -1;
		starts[i] = i;
		for (int k = 0; k < LD; k++)
			rows[i * LD + k] = i + k;
	}
	starts[N] = N;
	memset(bins, 0, sizeof(bins));
}

static void check(void)
{
	int counts[BINS] = {0};

	for (int i = 0; i < N; i++) {
		int added = 0;

		counts[x[i] & (BINS - 1)]++;
		if (y[i] != 2 * x[i])
			fail_msg("element %d is %d, not %d", i, y[i], 2 * x[i]);
		for (int k = 0; k < LD; k++)
			added += rows[i * LD + k] - i - k;
		if (added != WIDTH * x[i])
			fail_msg("row %d has %d more, not %d", i, added, WIDTH * x[i]);
	}
	assert_memory_equal(bins, counts, sizeof(bins));
}

static struct heddle_loop loop_of(const char *strategy)
{
	return (struct heddle_loop){
	    .codelet = &work,
	    .n = N,
	    .naccesses = 4,
	    .accesses =
	        {{.handle = hx, .mode = STARPU_R},
	         {.handle = hy,
	          .mode = STARPU_W,
	          .share = HEDDLE_INDEXED,
	          .index_array = starts,
	          .index_bytes = sizeof(*starts)},
	         {.handle = hbins, .mode = STARPU_RW, .share = HEDDLE_REDUCE, .combine = bins_add},
	         {.handle = hrows, .mode = STARPU_RW}},
	    .strategy = strategy,
	    .late = 1,
	};
}

static void run(const char *strategy, struct heddle_loop_stats *stats)
{
	struct heddle_loop loop = loop_of(strategy);
	size_t iterations = 0;

	assert_int_equal(heddle_loop_run(&loop, stats), 0);
	check();
	for (unsigned w = 0; w < stats->nworkers; w++)
		iterations += stats->workers[w].iterations;
	assert_int_equal(iterations, N);
}

/* The device passes some blocks and is late with the next one. */
static void device_set(int passes)
{
	cl_context context;
	cl_int error;

	/* On a busy machine any of its blocks may be late. */
	starpu_task_wait_for_all();
	starpu_opencl_get_context(0, &context);
	memset(&device, 0, sizeof(device));
	device.passes = passes;
	device.event = clCreateUserEvent(context, &error);
	assert_int_equal(error, CL_SUCCESS);
}

/* The late block comes home. */
static void device_free(void)
{
	event_complete();
	starpu_task_wait_for_all();
	clReleaseEvent(device.event);
	device.event = NULL;
}

/* With its memory of slower runs, hdss may have the device wait for a core, which here waits for
 * the device. */
static const char *const strategies[] = {"css:chunk=50", "hdss:memory=0", "fss",
                                         "hdss:published=1"};

/* The loop ends while the device still waits. Later the device changes nothing. */
static void late_block(const char *strategy, int passes)
{
	unsigned cores = starpu_cpu_worker_get_count();
	struct heddle_loop_stats stats;

	fill(1);
	device_set(passes);
	run(strategy, &stats);
	assert_false(event_completed());
	assert_in_range(stats.late, 1, 2);
	assert_int_equal(stats.nworkers, cores + 1);
	/* Another loop leaves the device out. */
	fill(7);
	run(strategy, &stats);
	assert_int_equal(stats.nworkers, cores);
	assert_int_equal(stats.late, 0);
	assert_false(event_completed());
	device_free();
	check();
	fill(3);
	run(strategy, &stats);
	assert_int_equal(stats.nworkers, cores + 1);
}

static void test_late_block(void **state)
{
	for (size_t s = 0; s < sizeof(strategies) / sizeof(*strategies); s++)
		late_block(strategies[s], 0);
	late_block("css:chunk=50", 3);
}

/* What hdss remembers of slow runs may have the device wait for a core. */
static void test_remembered(void **state)
{
	unsigned lates = 0;

	for (int round = 0; round < 6; round++) {
		struct heddle_loop_stats stats;

		fill(round);
		device_set(round % 3);
		device.hasty = true;
		run("hdss", &stats);
		assert_false(event_completed());
		lates += stats.late;
		device_free();
		check();
	}
	assert_true(lates > 0);
}

/* StarPU's heteroprio places a loop's tasks on all workers, also on one that is late. */
static void test_stock_policy(void **state)
{
	struct heddle_loop_stats stats;
	struct heddle_loop_request *request;
	struct heddle_loop loop = loop_of(NULL);

	fill(1);
	device_set(0);
	run("hdss:memory=0", &stats);
	fill(6);
	assert_int_equal(heddle_loop_submit(&loop, &request), 0);
	device_free();
	assert_int_equal(heddle_loop_wait(request, &stats), 0);
	check();
}

/* Either attempt may be the first to end, and either may fail. */
static void test_who_is_first(void **state)
{
	unsigned seed = test_seed(), lates = 0;
	int rounds = getenv("HEDDLE_TEST_SHORT") ? 20 : 100;

	for (int round = 0; round < rounds; round++) {
		struct heddle_loop_stats stats;

		fill(round);
		device_set(rand_r(&seed) % 3);
		device.again = 1 + rand_r(&seed) % 12;
		device.status = rand_r(&seed) % 4 ? 0 : -EIO;
		/* One core at least computes what is left. */
		device.fails = rand_r(&seed) % starpu_cpu_worker_get_count();
		run("css:chunk=400", &stats);
		lates += stats.late;
		device_free();
		check();
	}
	assert_true(lates > 0);
}

/* The other core has nothing to do when the last piece comes back. */
static void test_last_fails(void **state)
{
	struct heddle_loop_stats stats;

	fill(4);
	device_set(0);
	device.status = -EIO;
	device.last = true;
	run("css:chunk=400", &stats);
	assert_false(device.last);
	device_free();
	check();
}

/* Neither the device nor a core computes a block. */
static void test_all_fail(void **state)
{
	struct heddle_loop_stats stats;
	struct heddle_loop loop = loop_of("css:chunk=400");
	const char *message;

	fill(8);
	device_set(0);
	device.status = -EIO;
	device.again = 1;
	device.fails = starpu_cpu_worker_get_count();
	assert_int_equal(heddle_loop_run(&loop, &stats), -EIO);
	message = heddle_message_take();
	assert_non_null(message);
	assert_non_null(strstr(message, "iterations"));
	device_free();
}

/* The device's first block fails, and the second one is late. */
static void test_fails_and_is_late(void **state)
{
	struct heddle_loop_stats stats;

	fill(5);
	device_set(1);
	device.passed = -EIO;
	run("css:chunk=50", &stats);
	assert_false(event_completed());
	device_free();
	check();
}

static void *complete_later(void *arg)
{
	pause_ms(200);
	event_complete();
	return NULL;
}

/* The loop ends after the late block, which it has not had computed again. */
static void waited_for(void)
{
	struct heddle_loop_stats stats;
	pthread_t thread;

	fill(2);
	device_set(0);
	pthread_create(&thread, NULL, complete_later, NULL);
	run("css:chunk=50", &stats);
	assert_true(event_completed());
	assert_int_equal(stats.late, 0);
	pthread_join(thread, NULL);
	device_free();
}

static void test_waited_for(void **state)
{
	setenv("HEDDLE_LATE", "0", 1);
	waited_for();
	setenv("HEDDLE_LATE", "10", 1);
	/* Its kernel keeps the thread that sends home what blocks before have written. */
	work.opencl_flags[0] = 0;
	waited_for();
	work.opencl_flags[0] = STARPU_OPENCL_ASYNC;
}

static void arrays_register(void)
{
	starpu_vector_data_register(&hx, STARPU_MAIN_RAM, (uintptr_t)x, N, sizeof(*x));
	starpu_vector_data_register(&hy, STARPU_MAIN_RAM, (uintptr_t)y, N, sizeof(*y));
	starpu_vector_data_register(&hbins, STARPU_MAIN_RAM, (uintptr_t)bins, BINS, sizeof(*bins));
	starpu_matrix_data_register(&hrows, STARPU_MAIN_RAM, (uintptr_t)rows, LD, WIDTH, N,
	                            sizeof(*rows));
}

static void arrays_unregister(void)
{
	starpu_data_unregister(hx);
	starpu_data_unregister(hy);
	starpu_data_unregister(hbins);
	starpu_data_unregister(hrows);
}

static int run_all(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_late_block),        cmocka_unit_test(test_remembered),
	    cmocka_unit_test(test_stock_policy),      cmocka_unit_test(test_who_is_first),
	    cmocka_unit_test(test_last_fails),        cmocka_unit_test(test_all_fail),
	    cmocka_unit_test(test_fails_and_is_late), cmocka_unit_test(test_waited_for),
	};
	int failed;

	if (starpu_init(NULL))
		return 77;
	if (!starpu_opencl_worker_get_count() || starpu_cpu_worker_get_count() < 2 ||
	    starpu_opencl_load_opencl_from_string(source, &program, NULL)) {
		starpu_shutdown();
		return 77;
	}
	arrays_register();
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	arrays_unregister();
	starpu_shutdown();
	return failed;
}

int main(void)
{
	/* late.sh names a policy only for this. */
	if (getenv("STARPU_SCHED"))
		cmocka_set_test_filter("test_stock_policy");
	return test_under_policies(run_all);
}
