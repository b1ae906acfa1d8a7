/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Loops on native workers, CPU and OpenCL: every way to share an array, the place
 * in the task graph, bad use, kernels that fail, devices that are full.
 */
#include "config.h"

#include <errno.h>
#include <limits.h>
#include <fcntl.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <starpu.h>
#ifdef HEDDLE_USE_OPENCL
#include <starpu_opencl.h>
#endif

#include <heddle/heddle.h>

#include "partition/loop/part.h"
#include "tests/unit/test.h"

/* Of many: a call for each would be most of the work. */
#define assert_same(a, b)                                                                          \
	do {                                                                                       \
		if ((a) != (b))                                                                    \
			assert_int_equal(a, b);                                                    \
	} while (0)

static size_t first_strategy; /* of those below; HEDDLE_TEST_SHORT: not all of them */

enum { N = 100003, HALO = 3, WIDTH = 37, LD = 41, BINS = 16 };

#ifdef HEDDLE_USE_OPENCL
static struct starpu_opencl_program program;
static const char source[] =
    "__kernel void twice(ulong n, __global const int *x, ulong xo, __global int *y, ulong yo)\n"
    "{ size_t i = get_global_id(0); if (i < n) y[yo / 4 + i] = 2 * x[xo / 4 + i]; }\n"
    "__kernel void blur(ulong n, ulong before, ulong count, ulong halo,\n"
    "  __global const int *x, ulong xo, __global int *y, ulong yo)\n"
    "{ size_t i = get_global_id(0); if (i >= n) return; int s = 0;\n"
    "  for (long d = -(long)halo; d <= (long)halo; d++) { long j = i + before + d;\n"
    "    if (j >= 0 && j < (long)count) s += x[xo / 4 + j]; }\n"
    "  y[yo / 4 + i] = s; }\n"
    "__kernel void rows(ulong nx, ulong ld, ulong ny, __global int *m, ulong mo)\n"
    "{ size_t k = get_global_id(0); if (k < nx * ny) m[mo / 4 + k / nx * ld + k % nx] += 1; }\n"
    "__kernel void count(ulong n, __global const int *x, ulong xo, __global int *h, ulong ho)\n"
    "{ size_t i = get_global_id(0); if (i < n) atomic_inc(&h[ho / 4 + (x[xo / 4 + i] & 15)]); }\n"
    "__kernel void pick(ulong n, ulong m, __global const int *t, ulong to,\n"
    "  __global const int *x, ulong xo, __global int *y, ulong yo)\n"
    "{ size_t i = get_global_id(0); if (i < n) y[yo / 4 + i] = t[to / 4 + x[xo / 4 + i] % (int)m]; "
    "}\n"
    "__kernel void sum(ulong n, ulong count, __global const int *x, ulong xo,\n"
    "  __global int *y, ulong yo)\n"
    "{ size_t i = get_global_id(0); int s = 0; if (i >= n) return;\n"
    "  for (size_t j = 0; j < count; j++) s += x[xo / 4 + j]; y[yo / 4 + i] = s; }\n";

static void launch(const char *name, size_t global, unsigned nscalars, const cl_ulong *scalars,
                   unsigned nbuffers, void *buffers[])
{
	cl_kernel kernel;
	cl_command_queue queue;
	unsigned argument = 0;
	/* PoCL compiles a kernel anew for every size of work-groups. */
	size_t local = 64, size = global / local * local + local;

	assert_int_equal(starpu_opencl_load_kernel(&kernel, &queue, &program, name,
	                                           starpu_worker_get_devid(starpu_worker_get_id())),
	                 CL_SUCCESS);
	for (unsigned s = 0; s < nscalars; s++)
		clSetKernelArg(kernel, argument++, sizeof(cl_ulong), &scalars[s]);
	for (unsigned b = 0; b < nbuffers; b++) {
		struct starpu_vector_interface *vector = buffers[b];
		int matrix = vector->id == STARPU_MATRIX_INTERFACE_ID;
		cl_mem memory = (cl_mem)(matrix ? STARPU_MATRIX_GET_DEV_HANDLE(buffers[b])
		                                : vector->dev_handle);
		cl_ulong offset = matrix ? STARPU_MATRIX_GET_OFFSET(buffers[b]) : vector->offset;

		clSetKernelArg(kernel, argument++, sizeof(memory), &memory);
		clSetKernelArg(kernel, argument++, sizeof(offset), &offset);
	}
	assert_int_equal(
	    clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &size, &local, 0, NULL, NULL),
	    CL_SUCCESS);
	clFinish(queue);
	starpu_opencl_release_kernel(kernel);
}
#define OPENCL(function) .opencl_funcs = {function},
#else
#define OPENCL(function)
#endif

#define VECTOR(i) ((int *)STARPU_VECTOR_GET_PTR(buffers[i]))
#define COUNT(i) ((size_t)STARPU_VECTOR_GET_NX(buffers[i]))

/* ---- kernels ---- */

static void twice_cpu(void *buffers[], void *arg)
{
	const struct heddle_block *block = arg;

	assert_int_equal(COUNT(0), block->n);
	for (size_t i = 0; i < block->n; i++)
		VECTOR(1)[i] = 2 * VECTOR(0)[i];
}

static void blur_cpu(void *buffers[], void *arg)
{
	const struct heddle_block *block = arg;
	long before = heddle_block_before(block, 1, HALO), count = COUNT(0);

	for (long i = 0; i < (long)block->n; i++) {
		int sum = 0;

		for (long d = -HALO; d <= HALO; d++)
			if (i + before + d >= 0 && i + before + d < count)
				sum += VECTOR(0)[i + before + d];
		VECTOR(1)[i] = sum;
	}
}

static void rows_cpu(void *buffers[], void *arg)
{
	int *m = (int *)STARPU_MATRIX_GET_PTR(buffers[0]);

	for (size_t y = 0; y < STARPU_MATRIX_GET_NY(buffers[0]); y++)
		for (size_t x = 0; x < STARPU_MATRIX_GET_NX(buffers[0]); x++)
			m[y * STARPU_MATRIX_GET_LD(buffers[0]) + x]++;
}

static void count_cpu(void *buffers[], void *arg)
{
	const struct heddle_block *block = arg;

	for (size_t i = 0; i < block->n; i++)
		VECTOR(1)[VECTOR(0)[i] & (BINS - 1)]++;
}

static void pick_cpu(void *buffers[], void *arg)
{
	const struct heddle_block *block = arg;

	for (size_t i = 0; i < block->n; i++)
		VECTOR(2)[i] = VECTOR(0)[VECTOR(1)[i] % (int)COUNT(0)];
}

/* Adds up all it is given. */
static void sum_all_cpu(void *buffers[], void *arg)
{
	const struct heddle_block *block = arg;
	int sum = 0;

	for (size_t j = 0; j < COUNT(0); j++)
		sum += VECTOR(0)[j];
	for (size_t i = 0; i < block->n; i++)
		VECTOR(1)[i] = sum;
}

enum { PER = 5 }; /* elements of an iteration */

/* The element two iterations back, or the first there is. */
static void reach_cpu(void *buffers[], void *arg)
{
	const struct heddle_block *block = arg;
	size_t before = heddle_block_before(block, PER, 2 * PER);

	for (size_t i = 0; i < block->n; i++) {
		size_t own = before + i * PER;

		VECTOR(1)[i] = VECTOR(0)[own > 2 * PER ? own - 2 * PER : 0];
	}
}

static void add_bins(void *into, const void *from, size_t bytes, void *arg)
{
	for (size_t i = 0; i < bytes / sizeof(int); i++)
		((int *)into)[i] += ((const int *)from)[i];
}

#ifdef HEDDLE_USE_OPENCL
static void sum_all_opencl(void *buffers[], void *arg)
{
	launch("sum", COUNT(1), 2, (cl_ulong[]){COUNT(1), COUNT(0)}, 2, buffers);
}

static void twice_opencl(void *buffers[], void *arg)
{
	launch("twice", COUNT(0), 1, (cl_ulong[]){COUNT(0)}, 2, buffers);
}

static void blur_opencl(void *buffers[], void *arg)
{
	const struct heddle_block *block = arg;

	launch("blur", block->n, 4,
	       (cl_ulong[]){block->n, heddle_block_before(block, 1, HALO), COUNT(0), HALO}, 2,
	       buffers);
}

static void rows_opencl(void *buffers[], void *arg)
{
	size_t nx = STARPU_MATRIX_GET_NX(buffers[0]), ny = STARPU_MATRIX_GET_NY(buffers[0]);

	launch("rows", nx * ny, 3, (cl_ulong[]){nx, STARPU_MATRIX_GET_LD(buffers[0]), ny}, 1,
	       buffers);
}

static void count_opencl(void *buffers[], void *arg)
{
	launch("count", COUNT(0), 1, (cl_ulong[]){COUNT(0)}, 2, buffers);
}

static void pick_opencl(void *buffers[], void *arg)
{
	launch("pick", COUNT(1), 2, (cl_ulong[]){COUNT(1), COUNT(0)}, 3, buffers);
}
#endif

static struct starpu_codelet twice = {.cpu_funcs = {twice_cpu},
                                      OPENCL(twice_opencl).name = "twice"};
static struct starpu_codelet blur = {.cpu_funcs = {blur_cpu}, OPENCL(blur_opencl).name = "blur"};
static struct starpu_codelet rows = {.cpu_funcs = {rows_cpu}, OPENCL(rows_opencl).name = "rows"};
static struct starpu_codelet count = {.cpu_funcs = {count_cpu},
                                      OPENCL(count_opencl).name = "count"};
static struct starpu_codelet pick = {.cpu_funcs = {pick_cpu}, OPENCL(pick_opencl).name = "pick"};
static struct starpu_codelet sum_all = {.cpu_funcs = {sum_all_cpu},
                                        OPENCL(sum_all_opencl).name = "sum_all"};
static struct starpu_codelet reach = {.cpu_funcs = {reach_cpu}, .name = "reach"};

/* ---- data ---- */

static int x[N], y[N], z[N];

static starpu_data_handle_t vector(int *data, size_t n)
{
	starpu_data_handle_t handle;

	starpu_vector_data_register(&handle, STARPU_MAIN_RAM, (uintptr_t)data, n, sizeof(*data));
	return handle;
}

static void fill(void)
{
	for (int i = 0; i < N; i++) {
		x[i] = (i * 7919) % 10007;
		y[i] = z[i] = -1;
	}
}

static struct heddle_loop twice_loop(starpu_data_handle_t in, starpu_data_handle_t out, size_t n,
                                     const char *strategy)
{
	return (struct heddle_loop){
	    .codelet = &twice,
	    .n = n,
	    .naccesses = 2,
	    .accesses = {{.handle = in, .mode = STARPU_R}, {.handle = out, .mode = STARPU_W}},
	    .strategy = strategy,
	};
}

static int opencl_worker(void)
{
	int id = -1;

	starpu_worker_get_ids_by_type(STARPU_OPENCL_WORKER, &id, 1);
	return id;
}

static const char *const strategies[] = {
    "css:chunk=29", "gss",  "linear", "exponential", "css:chunk=1000", "static",
    "hdss",         "awfe", "af",     "plbhec",      "logfit",         NULL};
enum { FIRST_IF_SHORT = 4 };

/* ---- what works ---- */

static void test_slices(void **state)
{
	static const size_t sizes[] = {N, 1, 2, 127, 0, 4096};

	for (size_t s = 0; s < sizeof(sizes) / sizeof(*sizes); s++)
		for (size_t t = first_strategy; t < sizeof(strategies) / sizeof(*strategies); t++) {
			starpu_data_handle_t in = vector(x, N), out = vector(y, N);
			struct heddle_loop loop = twice_loop(in, out, sizes[s], strategies[t]);
			struct heddle_loop_stats stats;
			size_t iterations = 0;

			fill();
			assert_int_equal(heddle_loop_run(&loop, &stats), 0);
			starpu_data_unregister(in);
			starpu_data_unregister(out);
			for (size_t i = 0; i < N; i++)
				assert_same(y[i], i < sizes[s] ? 2 * x[i] : -1);
			for (unsigned w = 0; w < stats.nworkers; w++)
				iterations += stats.workers[w].iterations;
			assert_int_equal(iterations, sizes[s]);
			assert_string_equal(stats.strategy, strategies[t]
			                                        ? strategies[t]
			                                        : test_default_strategy());
		}
}

static void pairs_cpu(void *buffers[], void *arg)
{
	const struct heddle_block *block = arg;

	assert_int_equal(COUNT(0), 2 * block->n);
	assert_int_equal(COUNT(1), block->n);
	for (size_t i = 0; i < block->n; i++)
		VECTOR(1)[i] = VECTOR(0)[2 * i] + VECTOR(0)[2 * i + 1];
}

/* The time of learning is that of the adaptive blocks. */
static void test_learning_is_told(void **state)
{
	static const struct {
		const char *strategy;
		bool learns;
	} cases[] = {{"hdss", true}, {"hdss:published=1", true}, {"gss", false}};

	for (size_t c = 0; c < sizeof(cases) / sizeof(*cases); c++) {
		starpu_data_handle_t in = vector(x, N), out = vector(y, N);
		struct heddle_loop loop = twice_loop(in, out, N, cases[c].strategy);
		struct heddle_loop_stats stats;

		loop.name = "learns"; /* no earlier loop is known by this name */
		fill();
		assert_int_equal(heddle_loop_run(&loop, &stats), 0);
		starpu_data_unregister(in);
		starpu_data_unregister(out);
		assert_int_equal(stats.learning_us > 0, cases[c].learns);
		assert_true(stats.learning_us <= stats.us);
	}
}

/* How long a loop of one worker learns. */
static double learning(const char *name, const char *strategy, size_t n)
{
	starpu_data_handle_t in = vector(x, N), out = vector(y, N);
	struct heddle_loop loop = twice_loop(in, out, n, strategy);
	struct heddle_loop_stats stats;
	int worker;

	assert_true(starpu_worker_get_ids_by_type(STARPU_CPU_WORKER, &worker, 1) != 0);
	loop.name = name;
	loop.workers = &worker;
	loop.nworkers = 1;
	fill();
	assert_int_equal(heddle_loop_run(&loop, &stats), 0);
	starpu_data_unregister(in);
	starpu_data_unregister(out);
	for (size_t i = 0; i < n; i++)
		assert_same(y[i], 2 * x[i]);
	return stats.learning_us;
}

/* Two runs are those of hdss. The statistics say what later ones take. */
static void test_auto_is_told(void **state)
{
	for (unsigned rep = 0; rep < 8; rep++) {
		starpu_data_handle_t in = vector(x, N), out = vector(y, N);
		struct heddle_loop loop = twice_loop(in, out, N, "auto");
		struct heddle_loop_stats stats;

		fill();
		loop.name = "chosen";
		assert_int_equal(heddle_loop_run(&loop, &stats), 0);
		starpu_data_unregister(in);
		starpu_data_unregister(out);
		for (size_t i = 0; i < N; i++)
			assert_same(y[i], 2 * x[i]);
		print_message("%s, %.0f us\n", stats.strategy, stats.us);
		if (rep < 2)
			assert_string_equal(stats.strategy, "auto (hdss)");
		assert_int_equal(strncmp(stats.strategy, "auto (", 6), 0);
		assert_int_equal(stats.strategy[strlen(stats.strategy) - 1], ')');
	}
}

/* What a loop has learned it need not learn again. Another loop must. */
static void test_runs_again(void **state)
{
	char name[32];

	assert_true(learning("again", "hdss", N) > 0);
	for (int i = 0; i < 3; i++)
		assert_true(learning("again", "hdss", N) == 0);
	assert_true(learning("another", "hdss", N) > 0);
	assert_true(learning("again", "hdss", N - 1) > 0);
	assert_true(learning("again", "hdss:memory=0", N) > 0);
	assert_true(learning("again", "hdss:memory=0", N) > 0);
	/* Many others make it forgotten. */
	for (int i = 0; i < 64; i++) {
		snprintf(name, sizeof(name), "other %d", i);
		learning(name, "hdss", N);
	}
	assert_true(learning("again", "hdss", N) > 0);
	assert_true(learning("other 63", "hdss", N) == 0);
}

/* Runs the iterations from `first` to the N-th as a part of a loop of N. */
static void part_run(size_t first, bool repeats)
{
	starpu_data_handle_t in = vector(x + first, N - first), out = vector(y + first, N - first);
	struct heddle_loop loop = twice_loop(in, out, N - first, "hdss");
	struct heddle_loop_request *request;

	loop.name = "part";
	loop.first = first;
	loop.total = N;
	assert_int_equal(loop_part_submit(&loop, &(struct loop_part){repeats, 0, 0}, &request), 0);
	assert_int_equal(heddle_loop_wait(request, NULL), 0);
	starpu_data_unregister(in);
	starpu_data_unregister(out);
}

/* What is learned of parts that do not come again takes no room from loops that do. */
static void test_parts_come_once(void **state)
{
	assert_true(learning("kept", "hdss", N) > 0);
	for (int i = 1; i <= 64; i++)
		part_run(i, false);
	assert_true(learning("kept", "hdss", N) == 0);
	for (int i = 1; i <= 64; i++)
		part_run(i, true);
	assert_true(learning("kept", "hdss", N) > 0);
}

static void set_flag(void *flag)
{
	atomic_store((atomic_bool *)flag, true);
}

/* Who asks how far a part is may do so while it ends. */
static void test_progress_until_the_end(void **state)
{
	starpu_data_handle_t in = vector(x, N), out = vector(y, N);
	int runs = first_strategy ? 2 : 100;

	fill();
	for (int i = 0; i < runs; i++) {
		struct heddle_loop loop = twice_loop(in, out, 4096, "hdss");
		struct heddle_loop_request *request;
		struct loop_progress progress;
		atomic_bool done = false;

		loop.name = "progress";
		assert_int_equal(
		    loop_part_submit(&loop, &(struct loop_part){false, 0, 0}, &request), 0);
		assert_int_equal(
		    starpu_data_acquire_on_node_cb(out, STARPU_MAIN_RAM, STARPU_R, set_flag, &done),
		    0);
		while (!atomic_load(&done)) {
			if (loop_part_progress(request, &progress))
				assert_true(progress.left <= 4096);
			sched_yield();
		}
		starpu_data_release_on_node(out, STARPU_MAIN_RAM);
		for (int j = 0; j < 100; j++)
			loop_part_progress(request, &progress);
		assert_int_equal(heddle_loop_wait(request, NULL), 0);
	}
	starpu_data_unregister(in);
	starpu_data_unregister(out);
}

/* The specification is the loop's own as soon as it is submitted. */
static void test_strategy_is_copied(void **state)
{
	char strategy[] = "css:chunk=1000";
	starpu_data_handle_t in = vector(x, N), out = vector(y, N);
	struct heddle_loop loop = twice_loop(in, out, N, strategy);
	struct heddle_loop_request *request;
	struct heddle_loop_stats stats;

	assert_int_equal(heddle_loop_submit(&loop, &request), 0);
	memset(strategy, 'x', sizeof(strategy) - 1);
	assert_int_equal(heddle_loop_wait(request, &stats), 0);
	assert_string_equal(stats.strategy, "css:chunk=1000");
	starpu_data_unregister(in);
	starpu_data_unregister(out);
}

static atomic_size_t covered, edges;

static void cover_cpu(void *buffers[], void *arg)
{
	const struct heddle_block *block = arg;

	atomic_fetch_add(&covered, block->n);
	atomic_fetch_xor(&edges, block->start ^ (block->start + block->n));
}

/* More iterations than 32 bits can count, up to all that 64 can, of a loop without data. */
static void test_huge_loops(void **state)
{
	static struct starpu_codelet cover = {.cpu_funcs = {cover_cpu}, .name = "cover"};
	static const size_t sizes[] = {5000000000, ((size_t)1 << 40) + 3, (size_t)-1};
	static const char *const some[] = {
	    "gss",  "hdss", "fss",  "tss", "exponential", "static", "qilin", "axel",
	    "mfsc", "awfd", "awfe", "af",  "plbhec",      "logfit", "auto",  NULL};

	for (size_t s = 0; s < sizeof(sizes) / sizeof(*sizes); s++)
		for (size_t t = 0; t < sizeof(some) / sizeof(*some); t++) {
			struct heddle_loop loop = {
			    .codelet = &cover, .n = sizes[s], .strategy = some[t]};
			struct heddle_loop_stats stats;
			size_t iterations = 0;

			covered = edges = 0;
			assert_int_equal(heddle_loop_run(&loop, &stats), 0);
			assert_int_equal(covered, sizes[s]);
			assert_int_equal(edges, sizes[s]); /* inner ones cancel out */
			for (unsigned w = 0; w < stats.nworkers; w++)
				iterations += stats.workers[w].iterations;
			assert_int_equal(iterations, sizes[s]);
		}
}

static size_t least_part, most_part;

static void measuring_cpu(void *buffers[], void *arg)
{
	static starpu_pthread_mutex_t mutex = STARPU_PTHREAD_MUTEX_INITIALIZER;
	const struct heddle_block *block = arg;

	starpu_pthread_mutex_lock(&mutex);
	least_part = block->n < least_part ? block->n : least_part;
	most_part = block->n > most_part ? block->n : most_part;
	starpu_pthread_mutex_unlock(&mutex);
	twice_cpu(buffers, arg);
}

/* Under a policy of StarPU's own, or if asked for: equal tasks, which differ by one iteration at
 * the most. Others leave the number to their strategy. */
static void parts_are_equal(const char *strategy)
{
	static struct starpu_codelet measuring = {.cpu_funcs = {measuring_cpu}, .name = "parts"};
	static const unsigned parts[] = {1, 2, 7, 64, 1000, 1003, 2000};
	enum { LENGTH = 1003 };
	bool equal = strategy || !strcmp(test_default_strategy(), "stock");

	for (size_t p = 0; p < sizeof(parts) / sizeof(*parts); p++) {
		starpu_data_handle_t in = vector(x, LENGTH), out = vector(y, LENGTH);
		struct heddle_loop loop = twice_loop(in, out, LENGTH, strategy);
		struct heddle_loop_stats stats;

		fill();
		least_part = LENGTH;
		most_part = 0;
		loop.codelet = &measuring;
		loop.parts = parts[p];
		assert_int_equal(heddle_loop_run(&loop, &stats), 0);
		starpu_data_unregister(in);
		starpu_data_unregister(out);
		assert_true(!equal || stats.blocks == (parts[p] < LENGTH ? parts[p] : LENGTH));
		assert_true(least_part >= 1 && (!equal || most_part <= least_part + 1));
		for (int i = 0; i < LENGTH; i++)
			assert_same(y[i], 2 * x[i]);
	}
}

static void test_parts_are_equal(void **state)
{
	parts_are_equal(NULL);
	parts_are_equal("tasks");
}

static void test_per_iteration(void **state)
{
	static struct starpu_codelet pairs = {.cpu_funcs = {pairs_cpu}, .name = "pairs"};
	starpu_data_handle_t in = vector(x, N), out = vector(y, N);
	struct heddle_loop loop = twice_loop(in, out, N / 2, "css:chunk=77");

	fill();
	loop.codelet = &pairs;
	loop.accesses[0].per_iteration = 2;
	assert_int_equal(heddle_loop_run(&loop, NULL), 0);
	starpu_data_unregister(in);
	starpu_data_unregister(out);
	for (int i = 0; i < N; i++)
		assert_same(y[i], i < N / 2 ? x[2 * i] + x[2 * i + 1] : -1);
}

static void test_halo(void **state)
{
	for (size_t t = first_strategy; t < sizeof(strategies) / sizeof(*strategies); t++) {
		starpu_data_handle_t in = vector(x, N), out = vector(y, N);
		struct heddle_loop loop = {
		    .codelet = &blur,
		    .n = N,
		    .naccesses = 2,
		    .accesses =
		        {{.handle = in, .mode = STARPU_R, .share = HEDDLE_HALO, .halo = HALO},
		         {.handle = out, .mode = STARPU_W}},
		    .strategy = strategies[t],
		};

		fill();
		assert_int_equal(heddle_loop_run(&loop, NULL), 0);
		starpu_data_unregister(in);
		starpu_data_unregister(out);
		for (int i = 0; i < N; i++) {
			int sum = 0;

			for (int j = i - HALO; j <= i + HALO; j++)
				sum += j >= 0 && j < N ? x[j] : 0;
			assert_same(y[i], sum);
		}
	}
}

/* Parts of a loop, each with handles of its own: blocks have the numbers of the whole. */
static void test_parts_of_a_loop(void **state)
{
	static const size_t cuts[] = {0, 2, 3, 50000, N - 1, N};
	size_t ncuts = sizeof(cuts) / sizeof(*cuts);

	fill();
	for (size_t c = 0; c + 1 < ncuts; c++) {
		size_t first = cuts[c], n = cuts[c + 1] - first;
		size_t begin = first > HALO ? first - HALO : 0;
		size_t end = first + n + HALO < N ? first + n + HALO : N;
		starpu_data_handle_t in = vector(x + begin, end - begin),
		                     out = vector(y + first, n);
		struct heddle_loop loop = {
		    .codelet = &blur,
		    .n = n,
		    .first = first,
		    .total = N,
		    .naccesses = 2,
		    .accesses =
		        {{.handle = in, .mode = STARPU_R, .share = HEDDLE_HALO, .halo = HALO},
		         {.handle = out, .mode = STARPU_W}},
		    .strategy = "hdss",
		};

		assert_int_equal(heddle_loop_run(&loop, NULL), 0);
		starpu_data_unregister(in);
		starpu_data_unregister(out);
	}
	for (int i = 0; i < N; i++) {
		int sum = 0;

		for (int j = i - HALO; j <= i + HALO; j++)
			sum += j >= 0 && j < N ? x[j] : 0;
		assert_same(y[i], sum);
	}
}

/* A halo of all there is: clipped, not overflown. */
static void test_endless_halo(void **state)
{
	enum { FEW = 500 };
	static const size_t halos[] = {FEW, SIZE_MAX / 4 + 1, SIZE_MAX / 2, SIZE_MAX / 2 + 1,
	                               SIZE_MAX};
	int device = opencl_worker();

	for (size_t h = 0; h < sizeof(halos) / sizeof(*halos); h++) {
		starpu_data_handle_t in = vector(x, FEW), out = vector(y, FEW);
		struct heddle_loop loop = twice_loop(in, out, FEW, "css:chunk=100");

		fill();
		loop.codelet = &sum_all;
		loop.accesses[0].share = HEDDLE_HALO;
		loop.accesses[0].halo = halos[h];
		assert_int_equal(heddle_loop_run(&loop, NULL), 0);
		if (device >= 0) {
			loop.workers = &device;
			loop.nworkers = 1;
			assert_int_equal(heddle_loop_run(&loop, NULL), 0);
		}
		starpu_data_unregister(in);
		starpu_data_unregister(out);
		for (int i = 0; i < FEW; i++) {
			int sum = 0;

			for (int j = 0; j < FEW; j++)
				sum += x[j];
			assert_same(y[i], sum);
		}
	}
}

/* Several elements an iteration, with a halo: how much of it lies before. */
static void test_halo_per_iteration(void **state)
{
	starpu_data_handle_t in = vector(x, N), out = vector(y, N);
	struct heddle_loop loop = twice_loop(in, out, N / PER, "css:chunk=1");

	fill();
	loop.codelet = &reach;
	loop.n = 1000;
	loop.accesses[0] = (struct heddle_access){.handle = in,
	                                          .mode = STARPU_R,
	                                          .share = HEDDLE_HALO,
	                                          .halo = 2 * PER,
	                                          .per_iteration = PER};
	assert_int_equal(heddle_loop_run(&loop, NULL), 0);
	starpu_data_unregister(in);
	starpu_data_unregister(out);
	for (int i = 0; i < 1000; i++)
		assert_same(y[i], i < 2 ? x[0] : x[(i - 2) * PER]);
}

static void test_matrix_rows(void **state)
{
	static int m[977 * LD];

	for (size_t t = first_strategy; t < sizeof(strategies) / sizeof(*strategies); t++) {
		starpu_data_handle_t matrix;
		struct heddle_loop loop = {
		    .codelet = &rows, .n = 977, .naccesses = 1, .strategy = strategies[t]};

		memset(m, 0, sizeof(m));
		starpu_matrix_data_register(&matrix, STARPU_MAIN_RAM, (uintptr_t)m, LD, WIDTH, 977,
		                            sizeof(*m));
		loop.accesses[0] = (struct heddle_access){.handle = matrix, .mode = STARPU_RW};
		for (int repeat = 0; repeat < 3; repeat++)
			assert_int_equal(heddle_loop_run(&loop, NULL), 0);
		starpu_data_unregister(matrix);
		for (int i = 0; i < 977 * LD; i++)
			assert_same(m[i], i % LD < WIDTH ? 3 : 0);
	}
}

/* Columns of one matrix in main memory, side by side: a loop reads some and writes the
 * others. */
static void test_columns_side_by_side(void **state)
{
	enum { LEFT = 20, RIGHT = LD - LEFT, ROWS = 977 };
	static int m[ROWS * LD];

	for (size_t t = first_strategy; t < sizeof(strategies) / sizeof(*strategies); t++) {
		starpu_data_handle_t left, right;
		struct heddle_loop loop = {
		    .codelet = &rows, .n = ROWS, .naccesses = 2, .strategy = strategies[t]};

		memset(m, 0, sizeof(m));
		starpu_matrix_data_register(&left, STARPU_MAIN_RAM, (uintptr_t)m, LD, LEFT, ROWS,
		                            sizeof(*m));
		starpu_matrix_data_register(&right, STARPU_MAIN_RAM, (uintptr_t)(m + LEFT), LD,
		                            RIGHT, ROWS, sizeof(*m));
		loop.accesses[0] = (struct heddle_access){.handle = left, .mode = STARPU_RW};
		loop.accesses[1] = (struct heddle_access){.handle = right, .mode = STARPU_R};
		assert_int_equal(heddle_loop_run(&loop, NULL), 0);
		loop.accesses[0].handle = right;
		loop.accesses[1].handle = left;
		for (int repeat = 0; repeat < 2; repeat++)
			assert_int_equal(heddle_loop_run(&loop, NULL), 0);
		starpu_data_unregister(left);
		starpu_data_unregister(right);
		for (int i = 0; i < ROWS * LD; i++)
			assert_same(m[i], i % LD < LEFT ? 1 : 2);
	}
}

static void test_reduction(void **state)
{
	for (size_t t = first_strategy; t < sizeof(strategies) / sizeof(*strategies); t++) {
		int bins[BINS] = {1000}, wanted[BINS] = {1000};
		starpu_data_handle_t in = vector(x, N), out = vector(bins, BINS);
		struct heddle_loop loop = {
		    .codelet = &count,
		    .n = N,
		    .naccesses = 2,
		    .accesses = {{.handle = in, .mode = STARPU_R},
		                 {.handle = out,
		                  .mode = STARPU_RW,
		                  .share = HEDDLE_REDUCE,
		                  .combine = add_bins}},
		    .strategy = strategies[t],
		};

		fill();
		assert_int_equal(heddle_loop_run(&loop, NULL), 0);
		starpu_data_unregister(in);
		starpu_data_unregister(out);
		for (int i = 0; i < N; i++)
			wanted[x[i] & (BINS - 1)]++;
		assert_memory_equal(bins, wanted, sizeof(bins));
	}
}

static void test_whole(void **state)
{
	int table[101];

	for (int i = 0; i < 101; i++)
		table[i] = i * i;
	for (size_t t = first_strategy; t < sizeof(strategies) / sizeof(*strategies); t++) {
		starpu_data_handle_t all = vector(table, 101), in = vector(x, N),
		                     out = vector(y, N);
		struct heddle_loop loop = {
		    .codelet = &pick,
		    .n = N,
		    .naccesses = 3,
		    .accesses = {{.handle = all, .mode = STARPU_R, .share = HEDDLE_WHOLE},
		                 {.handle = in, .mode = STARPU_R},
		                 {.handle = out, .mode = STARPU_W}},
		    .strategy = strategies[t],
		};

		fill();
		assert_int_equal(heddle_loop_run(&loop, NULL), 0);
		starpu_data_unregister(all);
		starpu_data_unregister(in);
		starpu_data_unregister(out);
		for (int i = 0; i < N; i++)
			assert_same(y[i], table[x[i] % 101]);
	}
}

/* ---- one node of the task graph ---- */

static void increment_cpu(void *buffers[], void *arg)
{
	for (size_t i = 0; i < COUNT(0); i++)
		VECTOR(0)[i]++;
}

static struct starpu_codelet increment = {
    .cpu_funcs = {increment_cpu}, .nbuffers = 1, .modes = {STARPU_RW}, .name = "increment"};

static void increment_submit(starpu_data_handle_t handle)
{
	struct starpu_task *task = starpu_task_create();

	task->cl = &increment;
	task->handles[0] = handle;
	assert_int_equal(starpu_task_submit(task), 0);
}

static void test_task_graph(void **state)
{
	starpu_data_handle_t in = vector(x, N), middle = vector(y, N), out = vector(z, N);
	struct heddle_loop first = twice_loop(in, middle, N, "css:chunk=5000");
	struct heddle_loop second = twice_loop(middle, out, N, "gss");
	struct heddle_loop_request *request;

	fill();
	increment_submit(in);                                       /* x + 1 */
	assert_int_equal(heddle_loop_submit(&first, NULL), 0);      /* y = 2 (x + 1) */
	increment_submit(middle);                                   /* y + 1 */
	assert_int_equal(heddle_loop_submit(&second, &request), 0); /* z = 2 (2 (x + 1) + 1) */
	increment_submit(in);                                       /* after the first loop */
	assert_int_equal(heddle_loop_wait(request, NULL), 0);
	starpu_task_wait_for_all();
	starpu_data_unregister(in);
	starpu_data_unregister(middle);
	starpu_data_unregister(out);
	for (int i = 0; i < N; i++) {
		int original = (i * 7919) % 10007;

		assert_same(x[i], original + 2);
		assert_same(z[i], 2 * (2 * (original + 1) + 1));
	}
}

static void test_many_loops_at_once(void **state)
{
	enum { LOOPS = 12 };
	static int data[LOOPS][N / 10];
	struct heddle_loop_request *requests[LOOPS];
	starpu_data_handle_t in, out[LOOPS];

	fill();
	in = vector(x, N / 10);
	for (int l = 0; l < LOOPS; l++) {
		struct heddle_loop loop;

		out[l] = vector(data[l], N / 10);
		loop = twice_loop(in, out[l], N / 10, l % 2 ? "hdss" : "css:chunk=321");
		assert_int_equal(heddle_loop_submit(&loop, &requests[l]), 0);
	}
	for (int l = LOOPS; l--;)
		assert_int_equal(heddle_loop_wait(requests[l], NULL), 0);
	starpu_data_unregister(in);
	for (int l = 0; l < LOOPS; l++) {
		starpu_data_unregister(out[l]);
		for (int i = 0; i < N / 10; i++)
			assert_same(data[l][i], 2 * x[i]);
	}
}

/* Two loops that end at once, each on a worker of its own, write their blocks to one
 * file, each line whole. The file is a pipe, which nobody reads before it is full and both
 * loops have done their iterations, so that they meet there. */
static struct {
	int pipe;
	size_t lines, torn, iterations;
	atomic_size_t computed;
} logged;

static void compute_cpu(void *buffers[], void *arg)
{
	const struct heddle_block *block = arg;

	atomic_fetch_add(&logged.computed, block->n);
}

static void *log_read(void *arg)
{
	FILE *log = fdopen(logged.pipe, "r");
	char line[256], kind[8], end;
	size_t size;
	int bytes = 0;

	while (bytes < 60000 || logged.computed < 2 * N) {
		ioctl(logged.pipe, FIONREAD, &bytes);
		usleep(1000);
	}
	for (size_t l = 0; l < logged.lines && fgets(line, sizeof(line), log); l++) {
		if (sscanf(line, "compute,%*d,%7[a-z],completion,%*u,%zu,%*f,%*f%c", kind, &size,
		           &end) == 3 &&
		    end == '\n')
			logged.iterations += size;
		else
			logged.torn++;
	}
	fclose(log);
	return NULL;
}

static void test_log_of_loops_at_once(void **state)
{
	static struct starpu_codelet compute = {.cpu_funcs = {compute_cpu}, .name = "compute"};
	char path[] = "/tmp/heddle-blocks-XXXXXX";
	struct heddle_loop_request *requests[2];
	int workers[2];
	pthread_t thread;

	if (starpu_worker_get_ids_by_type(STARPU_CPU_WORKER, workers, 2) == 1)
		skip();
	close(mkstemp(path));
	unlink(path);
	assert_int_equal(mkfifo(path, 0600), 0);
	logged.pipe = open(path, O_RDWR);
	logged.lines = 2 * ((N + 19) / 20);
	logged.torn = logged.iterations = logged.computed = 0;
	assert_int_equal(pthread_create(&thread, NULL, log_read, NULL), 0);
	setenv("HEDDLE_BLOCK_LOG", path, 1);
	for (int l = 0; l < 2; l++) {
		struct heddle_loop loop = {.codelet = &compute,
		                           .n = N,
		                           .strategy = "css:chunk=20",
		                           .workers = &workers[l],
		                           .nworkers = 1};

		assert_int_equal(heddle_loop_submit(&loop, &requests[l]), 0);
	}
	for (int l = 0; l < 2; l++)
		assert_int_equal(heddle_loop_wait(requests[l], NULL), 0);
	unsetenv("HEDDLE_BLOCK_LOG");
	pthread_join(thread, NULL);
	unlink(path);
	assert_int_equal(logged.torn, 0);
	assert_int_equal(logged.iterations, 2 * N);
}

/* One call takes far longer than any other: the block ends with it, and its rest is given out
 * again. In each run a call follows the slow one in its block unless that is cut, or the slow call
 * was the block's last, one in eight. */
static struct {
	atomic_bool slow;
	size_t end; /* of that call's iterations */
} overdue;

#define CHEAP_US 100
#define DEAR_US 3000000

static void overdue_cpu(void *buffers[], void *arg)
{
	const struct heddle_block *block = arg;
	int *out = (int *)STARPU_VECTOR_GET_PTR(buffers[0]);

	assert_int_equal(STARPU_VECTOR_GET_NX(buffers[0]), block->n);
	for (size_t i = 0; i < block->n; i++)
		out[i]++;
	usleep(CHEAP_US * block->n);
	if (block->start + block->n <= block->total / 8 * 7 || atomic_exchange(&overdue.slow, true))
		return;
	overdue.end = block->start + block->n;
	usleep(DEAR_US);
}

/* Whether a block in a log ends at an iteration. */
static bool log_has_end(const char *path, size_t end)
{
	FILE *log = fopen(path, "r");
	char line[256];
	size_t start, n;
	bool has = false;

	assert_non_null(log);
	while (fgets(line, sizeof(line), log))
		if (sscanf(line, "%*[^,],%*d,%*[^,],%*[^,],%zu,%zu", &start, &n) == 2)
			has = has || start + n == end;
	fclose(log);
	return has;
}

static void test_overdue_block_is_cut(void **state)
{
	enum { LENGTH = 2000, RUNS = 2 };
	static struct starpu_codelet codelet = {
	    .cpu_funcs = {overdue_cpu}, .nbuffers = 1, .modes = {STARPU_RW}, .name = "overdue"};

	for (int run = 0; run < RUNS; run++) {
		char path[] = "/tmp/heddle-blocks-XXXXXX";
		static int values[LENGTH];
		starpu_data_handle_t out;
		struct heddle_loop loop = {
		    .codelet = &codelet, .n = LENGTH, .naccesses = 1, .strategy = "hdss:memory=0"};

		memset(values, 0, sizeof(values));
		starpu_vector_data_register(&out, STARPU_MAIN_RAM, (uintptr_t)values, LENGTH,
		                            sizeof(values[0]));
		loop.accesses[0] = (struct heddle_access){.handle = out, .mode = STARPU_RW};
		overdue.slow = false;
		close(mkstemp(path));
		setenv("HEDDLE_BLOCK_LOG", path, 1);
		assert_int_equal(heddle_loop_run(&loop, NULL), 0);
		unsetenv("HEDDLE_BLOCK_LOG");
		starpu_data_unregister(out);
		for (int i = 0; i < LENGTH; i++)
			assert_int_equal(values[i], 1);
		assert_true(overdue.slow);
		assert_true(log_has_end(path, overdue.end));
		unlink(path);
	}
}

/* ---- bad use ---- */

/* The last refusal's message. */
static void assert_reason(const char *part)
{
	const char *message = heddle_message_take();

	assert_non_null(message);
	assert_non_null(strstr(message, part));
}

static void nothing_combined(void *into, const void *from, size_t bytes, void *arg)
{
	(void)into, (void)from, (void)bytes, (void)arg;
}

static void test_bad_use(void **state)
{
	starpu_data_handle_t in = vector(x, N), out = vector(y, N), half = vector(x, N / 2);
	struct heddle_loop good = twice_loop(in, out, N, "gss"), bad;
	static struct starpu_codelet nothing = {.name = "nothing"};
	struct starpu_codelet three;

	fill();
	bad = good, bad.codelet = NULL;
	assert_int_equal(heddle_loop_run(&bad, NULL), -EINVAL);
	bad = good, bad.codelet = &nothing;
	assert_int_equal(heddle_loop_run(&bad, NULL), -ENODEV);
	bad = good, bad.n = N + 1;
	assert_int_equal(heddle_loop_run(&bad, NULL), -ERANGE);
	bad = good, bad.n = SIZE_MAX;
	assert_int_equal(heddle_loop_run(&bad, NULL), -ERANGE);
	bad = good, bad.first = 1, bad.total = N;
	assert_int_equal(heddle_loop_run(&bad, NULL), -ERANGE);
	bad = good, bad.first = SIZE_MAX;
	assert_int_equal(heddle_loop_run(&bad, NULL), -ERANGE);
	bad = good, bad.accesses[0].per_iteration = 2;
	assert_int_equal(heddle_loop_run(&bad, NULL), -ERANGE);
	assert_reason(" array 1, "); /* the first one */
	bad = good, bad.accesses[1].handle = in;
	assert_int_equal(heddle_loop_run(&bad, NULL), -EINVAL);
	bad = good, bad.accesses[1].handle = half, bad.n = N / 2;
	assert_int_equal(heddle_loop_run(&bad, NULL), -EINVAL);
	bad = good, bad.accesses[1].share = HEDDLE_HALO;
	assert_int_equal(heddle_loop_run(&bad, NULL), -EINVAL);
	bad = good, bad.accesses[1].share = HEDDLE_REDUCE;
	assert_int_equal(heddle_loop_run(&bad, NULL), -EINVAL);
	bad = good, bad.accesses[0].halo = 1;
	assert_int_equal(heddle_loop_run(&bad, NULL), -EINVAL);
	assert_reason("array 1 has a halo, and its share is not HEDDLE_HALO");
	bad = good, bad.accesses[0].index = half;
	assert_int_equal(heddle_loop_run(&bad, NULL), -EINVAL);
	bad = good, bad.accesses[1].combine = nothing_combined;
	assert_int_equal(heddle_loop_run(&bad, NULL), -EINVAL);
	bad = good, bad.accesses[0].handle = NULL;
	assert_int_equal(heddle_loop_run(&bad, NULL), -EINVAL);
	bad = good, bad.sched_ctx = 50; /* more than StarPU can have */
	assert_int_equal(heddle_loop_run(&bad, NULL), -EINVAL);
	bad = good, bad.sched_ctx = 1; /* that nobody has created */
	assert_int_equal(heddle_loop_run(&bad, NULL), -EINVAL);
	bad = good, bad.sched_ctx = UINT_MAX, bad.strategy = NULL;
	assert_int_equal(heddle_loop_run(&bad, NULL), -EINVAL);
	bad = good, bad.strategy = "no-such-strategy";
	assert_int_equal(heddle_loop_run(&bad, NULL), -EINVAL);
	bad = good, bad.strategy = "css:chunk=banana";
	assert_int_equal(heddle_loop_run(&bad, NULL), -EINVAL);
	bad = good, bad.nworkers = 3; /* of no list */
	assert_int_equal(heddle_loop_run(&bad, NULL), -EINVAL);
	bad = good, bad.workers = (int[]){99}, bad.nworkers = 1; /* that StarPU does not have */
	assert_int_equal(heddle_loop_run(&bad, NULL), -EINVAL);
	assert_reason("workers[0] is 99; StarPU has the workers 0 to ");
	bad = good, bad.workers = (int[]){0, -1}, bad.nworkers = 2;
	assert_int_equal(heddle_loop_run(&bad, NULL), -EINVAL);
	bad = good, bad.workers = (int[]){0, 0}, bad.nworkers = 2;
	assert_int_equal(heddle_loop_run(&bad, NULL), -EINVAL);
	bad = good, bad.workers = (int[]){0};
	assert_int_equal(heddle_loop_run(&bad, NULL), -EINVAL);
	three = *good.codelet, three.nbuffers = 3; /* of two accesses */
	bad = good, bad.codelet = &three;
	assert_int_equal(heddle_loop_run(&bad, NULL), -EINVAL);
	setenv("HEDDLE_DEPTH", "deep", 1);
	assert_int_equal(heddle_loop_run(&good, NULL), -EINVAL);
	unsetenv("HEDDLE_DEPTH");
	for (int i = 0; i < N; i++)
		assert_same(y[i], -1);
	assert_int_equal(heddle_loop_run(&good, NULL), 0);
	starpu_data_unregister(in);
	starpu_data_unregister(out);
	starpu_data_unregister(half);
	assert_int_equal(y[N - 1], 2 * x[N - 1]);
}

/* ---- what workers cannot do ---- */

static bool only_cpu(unsigned worker, struct starpu_task *task, unsigned implementation)
{
	return starpu_worker_get_type(worker) == STARPU_CPU_WORKER;
}

static int can_execute_only_cpu(unsigned worker, struct starpu_task *task, unsigned implementation)
{
	const struct heddle_block *block = task->cl_arg;

	assert_true(block->n > 0 && block->start + block->n <= block->total);
	return only_cpu(worker, task, implementation);
}

static int can_execute_nothing(unsigned worker, struct starpu_task *task, unsigned implementation)
{
	return 0;
}

/* The second implementation of two. */
static int can_execute_second(unsigned worker, struct starpu_task *task, unsigned implementation)
{
	return implementation == 1;
}

/* Workers that can do blocks at the beginning only. */
static int can_execute_beginning(unsigned worker, struct starpu_task *task, unsigned implementation)
{
	const struct heddle_block *block = task->cl_arg;

	return only_cpu(worker, task, implementation) || block->n == block->total ||
	       block->start < N / 2;
}

static void wrong_kernel(void *buffers[], void *arg)
{
	((struct heddle_block *)arg)->status = -EDOM;
}

/* Runs `twice` with a can_execute. */
static int run_picky(int (*can_execute)(unsigned, struct starpu_task *, unsigned),
                     const char *strategy, bool second, struct heddle_loop_stats *stats)
{
	struct starpu_codelet picky = twice;
	starpu_data_handle_t in = vector(x, N), out = vector(y, N);
	struct heddle_loop loop = twice_loop(in, out, N, strategy);
	int status;

	if (second) {
		picky.cpu_funcs[1] = picky.cpu_funcs[0];
		picky.opencl_funcs[1] = picky.opencl_funcs[0];
		picky.cpu_funcs[0] = wrong_kernel;
		picky.opencl_funcs[0] = picky.opencl_funcs[0] ? wrong_kernel : NULL;
	}
	fill();
	picky.can_execute = can_execute;
	loop.codelet = &picky;
	status = heddle_loop_run(&loop, stats);
	starpu_task_wait_for_all();
	starpu_data_unregister(in);
	starpu_data_unregister(out);
	for (int i = 0; !status && i < N; i++)
		assert_same(y[i], 2 * x[i]);
	return status;
}

static void test_can_execute(void **state)
{
	struct heddle_loop_stats stats;

	for (size_t t = first_strategy; t < sizeof(strategies) / sizeof(*strategies); t++) {
		assert_int_equal(run_picky(can_execute_only_cpu, strategies[t], false, &stats), 0);
		assert_int_equal(stats.nworkers, starpu_cpu_worker_get_count());
		assert_int_equal(run_picky(can_execute_nothing, strategies[t], false, NULL),
		                 -ENODEV);
		assert_int_equal(run_picky(can_execute_second, strategies[t], true, NULL), 0);
	}
}

/* StarPU refuses tasks of a worker it had taken before: others do its blocks. */
static void test_refused_blocks(void **state)
{
	struct heddle_loop_stats stats;

	for (size_t t = first_strategy; strategies[t]; t++) {
		assert_int_equal(run_picky(can_execute_beginning, strategies[t], false, &stats), 0);
		/* An accelerator has two blocks at a time, and two threads may submit them at once.
		 */
		assert_true(stats.retried <= 2 * starpu_opencl_worker_get_count());
	}
}

static int can_execute_none_later(unsigned worker, struct starpu_task *task,
                                  unsigned implementation)
{
	const struct heddle_block *block = task->cl_arg;

	return block->n == block->total || block->start < N / 2;
}

/* Of the CPU workers only the first can do blocks at the end. */
static int can_execute_first_cpu_later(unsigned worker, struct starpu_task *task,
                                       unsigned implementation)
{
	const struct heddle_block *block = task->cl_arg;

	return starpu_worker_get_type(worker) == STARPU_CPU_WORKER &&
	       (block->n == block->total || block->start < N / 2 ||
	        worker == (unsigned)starpu_worker_get_by_type(STARPU_CPU_WORKER, 0));
}

/* Refused by all: the loop ends with the error. */
static void test_refused_by_all(void **state)
{
	struct heddle_loop_stats stats;

	assert_int_equal(run_picky(can_execute_none_later, "css:chunk=1000", false, &stats),
	                 -ENODEV);
	assert_int_equal(stats.retried, stats.nworkers - 1);
	assert_int_equal(run_picky(NULL, "css:chunk=1000", false, &stats), 0);
}

/* ---- blocks that share a task ---- */

static unsigned executed_tasks(void)
{
	unsigned sum = 0;

	for (unsigned w = 0; w < starpu_worker_get_count(); w++) {
		struct starpu_profiling_worker_info info;

		starpu_profiling_worker_get_info(w, &info);
		sum += info.executed_tasks;
	}
	return sum;
}

/* Tasks that the blocks of a loop, N / 100 of them, take on CPU workers. */
static unsigned tasks_of_loop(const char *task_us,
                              int (*can_execute)(unsigned, struct starpu_task *, unsigned))
{
	struct starpu_codelet codelet = twice;
	starpu_data_handle_t in = vector(x, N), out = vector(y, N);
	struct heddle_loop loop = twice_loop(in, out, N, "css:chunk=100");
	struct heddle_loop_stats stats;
	unsigned tasks;

	fill();
	codelet.where = STARPU_CPU;
	codelet.can_execute = can_execute;
	loop.codelet = &codelet;
	setenv("HEDDLE_TASK", task_us, 1);
	starpu_profiling_status_set(STARPU_PROFILING_ENABLE);
	executed_tasks(); /* what went before; asking begins anew */
	assert_int_equal(heddle_loop_run(&loop, &stats), 0);
	starpu_task_wait_for_all();
	tasks = executed_tasks();
	starpu_profiling_status_set(STARPU_PROFILING_DISABLE);
	unsetenv("HEDDLE_TASK");
	assert_int_equal(stats.blocks, (N + 99) / 100);
	starpu_data_unregister(in);
	starpu_data_unregister(out);
	for (int i = 0; i < N; i++)
		assert_same(y[i], 2 * x[i]);
	return tasks - 1; /* the loop's own */
}

static void test_shared_tasks(void **state)
{
	assert_int_equal(tasks_of_loop("0", NULL), (N + 99) / 100);
	assert_in_range(tasks_of_loop("1e9", NULL), 1, starpu_cpu_worker_get_count());
	/* Asked before each block, it need not have a task for each. */
	assert_in_range(tasks_of_loop("1e9", can_execute_only_cpu), 1,
	                starpu_cpu_worker_get_count());
}

/* Refused within a task: the worker gets no more, and no iteration is lost or done twice. */
static void test_refused_within_task(void **state)
{
	struct heddle_loop_stats stats;

	setenv("HEDDLE_TASK", "1e9", 1);
	assert_int_equal(run_picky(can_execute_none_later, "css:chunk=100", false, &stats),
	                 -ENODEV);
	assert_int_equal(stats.retried, stats.nworkers - 1);
	assert_int_equal(run_picky(can_execute_first_cpu_later, "css:chunk=100", false, &stats), 0);
	assert_true(stats.retried < starpu_cpu_worker_get_count());
	for (unsigned w = 0; w < stats.nworkers; w++)
		if (stats.workers[w].id != starpu_worker_get_by_type(STARPU_CPU_WORKER, 0))
			assert_true(stats.workers[w].iterations <= N / 2 + 100);
	unsetenv("HEDDLE_TASK");
}

/* ---- failures ---- */

static int failures; /* how many blocks are still to fail; < 0: all */

/* Whether the block that asks is to fail. */
static bool to_fail(void)
{
	int left = __atomic_load_n(&failures, __ATOMIC_SEQ_CST);

	while (left > 0)
		if (__atomic_compare_exchange_n(&failures, &left, left - 1, false, __ATOMIC_SEQ_CST,
		                                __ATOMIC_SEQ_CST))
			return true;
	return left < 0;
}

static void failing_cpu(void *buffers[], void *arg)
{
	struct heddle_block *block = arg;

	if (block->start > N / 3 && to_fail()) {
		block->status = -EIO;
		return;
	}
	twice_cpu(buffers, arg);
}

/* Fails when its work is done. */
static void failing_in_place_cpu(void *buffers[], void *arg)
{
	struct heddle_block *block = arg;
	int *values = (int *)STARPU_VECTOR_GET_PTR(buffers[0]);

	for (size_t i = 0; i < block->n; i++)
		values[i]++;
	if (to_fail())
		block->status = -EIO;
}

static struct starpu_codelet failing = {.cpu_funcs = {failing_cpu},
                                        OPENCL(twice_opencl).name = "failing"};

static void test_kernel_fails_once(void **state)
{
	starpu_data_handle_t in = vector(x, N), out = vector(y, N);
	struct heddle_loop loop = twice_loop(in, out, N, "css:chunk=2000");
	struct heddle_loop_stats stats;

	if (starpu_worker_get_count() < 2)
		skip();
	fill();
	failures = 1;
	loop.codelet = &failing;
	assert_int_equal(heddle_loop_run(&loop, &stats), 0);
	starpu_data_unregister(in);
	starpu_data_unregister(out);
	assert_int_equal(stats.retried, 1);
	for (int i = 0; i < N; i++)
		assert_same(y[i], 2 * x[i]);
}

/* What a CPU worker reads and writes in place may have been half done when its kernel
 * failed: nobody does it a second time. */
static void test_kernel_fails_in_place(void **state)
{
	static struct starpu_codelet once = {.cpu_funcs = {failing_in_place_cpu},
	                                     .name = "in place"};
	starpu_data_handle_t handle = vector(x, N);
	struct heddle_loop loop = {
	    .codelet = &once,
	    .n = N,
	    .naccesses = 1,
	    .accesses = {{.handle = handle, .mode = STARPU_RW}},
	    .strategy = "css:chunk=2000",
	};

	if (starpu_cpu_worker_get_count() < 2)
		skip();
	fill();
	failures = 1;
	assert_int_equal(heddle_loop_run(&loop, NULL), -EIO);
	starpu_data_unregister(handle);
	assert_int_equal(failures, 0);
	for (int i = 0; i < N; i++)
		assert_true(x[i] == (i * 7919) % 10007 || x[i] == (i * 7919) % 10007 + 1);
}

static void test_kernel_always_fails(void **state)
{
	static struct starpu_codelet hopeless = {.cpu_funcs = {failing_cpu}, .name = "hopeless"};
	starpu_data_handle_t in = vector(x, N), out = vector(y, N);
	struct heddle_loop loop = twice_loop(in, out, N, "css:chunk=2000");

	fill();
	failures = -1;
	loop.codelet = &hopeless;
	assert_int_equal(heddle_loop_run(&loop, NULL), -EIO);
	failures = 0;
	assert_int_equal(heddle_loop_run(&loop, NULL), 0);
	starpu_data_unregister(in);
	starpu_data_unregister(out);
	for (int i = 0; i < N; i++)
		assert_same(y[i], 2 * x[i]);
}

/* ---- plain functions ---- */

static int blur_plain(size_t start, size_t n, void *const arrays[], const void *arg)
{
	const int *in = arrays[0];
	int *out = arrays[1], *table = arrays[2], *counts = arrays[3];
	const size_t *total = arg;

	for (size_t i = 0; i < n; i++) {
		out[i] = 0;
		for (long j = -HALO; j <= HALO; j++)
			if ((long)(start + i) + j >= 0 && start + i + j < *total)
				out[i] += in[(long)i + j];
		for (int c = 0; c < 3; c++)
			table[i * 5 + c]++;
		counts[in[i] & (BINS - 1)]++;
	}
	return 0;
}

static int failing_plain(size_t start, size_t n, void *const arrays[], const void *arg)
{
	return -EIO;
}

static void replaced_cpu(void *buffers[], void *arg)
{
	fail();
}

/* Every way to share an array; in a loop of its own, and as the CPU version of a codelet. */
static void test_plain_function(void **state)
{
	enum { ROWS = 2000 };
	static int table[ROWS * 5], counts[BINS], expected[BINS];
	static const size_t total = ROWS;
	static struct starpu_codelet replaced = {
	    .cpu_funcs = {replaced_cpu, replaced_cpu}, .where = STARPU_OPENCL, .name = "replaced"};

	for (size_t t = first_strategy; t < sizeof(strategies) / sizeof(*strategies); t++) {
		starpu_data_handle_t in = vector(x, ROWS), out = vector(y, ROWS), matrix, bins;
		struct heddle_loop loop = {.name = "plain",
		                           .function = blur_plain,
		                           .codelet = t % 2 ? &replaced : NULL,
		                           .n = ROWS,
		                           .arg = &total,
		                           .naccesses = 4,
		                           .strategy = strategies[t]};

		fill();
		memset(table, 0, sizeof(table));
		memset(counts, 0, sizeof(counts));
		memset(expected, 0, sizeof(expected));
		starpu_matrix_data_register(&matrix, STARPU_MAIN_RAM, (uintptr_t)table, 5, 3, ROWS,
		                            sizeof(*table));
		bins = vector(counts, BINS);
		loop.accesses[0] = (struct heddle_access){
		    .handle = in, .mode = STARPU_R, .share = HEDDLE_HALO, .halo = HALO};
		loop.accesses[1] = (struct heddle_access){.handle = out, .mode = STARPU_W};
		loop.accesses[2] = (struct heddle_access){.handle = matrix, .mode = STARPU_RW};
		loop.accesses[3] = (struct heddle_access){
		    .handle = bins, .mode = STARPU_RW, .share = HEDDLE_REDUCE, .combine = add_bins};
		assert_int_equal(heddle_loop_run(&loop, NULL), 0);
		starpu_data_unregister(in);
		starpu_data_unregister(out);
		starpu_data_unregister(matrix);
		starpu_data_unregister(bins);
		for (int i = 0; i < ROWS; i++) {
			int sum = 0;

			for (int j = i - HALO; j <= i + HALO; j++)
				sum += j >= 0 && j < ROWS ? x[j] : 0;
			assert_same(y[i], sum);
			for (int c = 0; c < 5; c++)
				assert_same(table[i * 5 + c], c < 3);
			expected[x[i] & (BINS - 1)]++;
		}
		assert_memory_equal(counts, expected, sizeof(counts));
	}
}

/* What fails on a worker is told to the thread that waits, once. */
static void test_message(void **state)
{
	starpu_data_handle_t out = vector(y, N);
	struct heddle_loop loop = {.name = "hopeless",
	                           .function = failing_plain,
	                           .n = N,
	                           .naccesses = 1,
	                           .accesses = {{.handle = out, .mode = STARPU_W}},
	                           .strategy = "css:chunk=2000"};

	heddle_message_take();
	assert_int_equal(heddle_loop_run(&loop, NULL), -EIO);
	assert_non_null(strstr(heddle_message_take(), "loop hopeless: the kernel failed on CPU"));
	assert_null(heddle_message_take());
	loop.accesses[0].mode = 77;
	assert_int_equal(heddle_loop_run(&loop, NULL), -EINVAL);
	assert_non_null(strstr(heddle_message_take(), "loop hopeless"));
	loop.function = NULL;
	assert_int_equal(heddle_loop_run(&loop, NULL), -EINVAL);
	assert_string_equal(heddle_message_take(), "a loop without a codelet or a function");
	starpu_data_unregister(out);
}

static void test_abi(void **state)
{
	const struct heddle_abi *abi = heddle_abi_get();

	assert_int_equal(abi->abi_bytes, sizeof(*abi));
	assert_int_equal(abi->maxhandles, STARPU_NMAXBUFS);
	assert_int_equal(abi->maxworkers, STARPU_NMAXWORKERS);
	assert_int_equal(abi->loop_bytes, sizeof(struct heddle_loop));
	assert_int_equal(abi->kernel_stats_bytes, sizeof(struct heddle_kernel_stats));
}

static void test_no_room_on_device(void **state)
{
	/* In this program's environment the device holds 1 MiB: main() sets it. */
	enum { BIG = 1 << 20 };
	int *in_data = malloc(BIG * sizeof(int)), *out_data = malloc(BIG * sizeof(int));
	starpu_data_handle_t in, out;
	struct heddle_loop loop;

	for (int i = 0; i < BIG; i++)
		in_data[i] = i;
	in = vector(in_data, BIG);
	out = vector(out_data, BIG);
	loop = twice_loop(in, out, BIG, "static");
	assert_int_equal(heddle_loop_run(&loop, NULL), 0);
	starpu_data_unregister(in);
	starpu_data_unregister(out);
	for (int i = 0; i < BIG; i++)
		assert_same(out_data[i], 2 * i);
	free(in_data);
	free(out_data);
}

/* A loop of `rows` rows of `bytes` each. */
static int run_rows(size_t rows_count, size_t bytes, const struct heddle_loop *with,
                    struct heddle_loop_stats *stats)
{
	int *data = calloc(rows_count, bytes);
	struct heddle_loop loop = *with;
	starpu_data_handle_t matrix;
	int status;

	starpu_matrix_data_register(&matrix, STARPU_MAIN_RAM, (uintptr_t)data, bytes / 4, bytes / 4,
	                            rows_count, 4);
	if (!loop.codelet)
		loop.codelet = &rows;
	loop.n = rows_count;
	loop.naccesses = 1;
	loop.accesses[0] = (struct heddle_access){.handle = matrix, .mode = STARPU_RW};
	status = heddle_loop_run(&loop, stats);
	starpu_data_unregister(matrix);
	for (size_t i = 0; !status && i < rows_count * (bytes / 4); i++)
		assert_same(data[i], 1);
	free(data);
	return status;
}

/* Iterations too large for the device leave it out; with no other, the loop is
 * refused. One that just fits is done alone. */
static void test_iteration_too_large(void **state)
{
	struct heddle_loop_stats stats;
	int device = opencl_worker();

	for (size_t t = first_strategy; t < sizeof(strategies) / sizeof(*strategies); t++) {
		struct heddle_loop all = {.strategy = strategies[t]};
		struct heddle_loop only = {
		    .strategy = strategies[t], .workers = &device, .nworkers = 1};

		assert_int_equal(run_rows(7, 2 << 20, &all, &stats), 0);
		assert_int_equal(stats.nworkers, starpu_cpu_worker_get_count());
		if (device < 0)
			continue;
		assert_int_equal(run_rows(7, 2 << 20, &only, NULL), -ENOMEM);
		assert_int_equal(run_rows(7, 600 << 10, &only, &stats), 0);
		assert_int_equal(stats.blocks, 7);
	}
}

/* An array that all blocks read is held once by a device, not once a block. */
static void test_whole_counted_once(void **state)
{
	enum { LARGE = 75 << 10 }; /* 300 KiB of the device's 1 MiB */
	static int table[LARGE];
	starpu_data_handle_t all = vector(table, LARGE), in = vector(x, N), out = vector(y, N);
	int device = opencl_worker();
	struct heddle_loop loop = {
	    .codelet = &pick,
	    .n = N,
	    .naccesses = 3,
	    .accesses = {{.handle = all, .mode = STARPU_R, .share = HEDDLE_WHOLE},
	                 {.handle = in, .mode = STARPU_R},
	                 {.handle = out, .mode = STARPU_W}},
	    .strategy = "static",
	    .workers = &device,
	    .nworkers = 1,
	};
	struct heddle_loop_stats stats = {0};

	fill();
	for (int i = 0; i < LARGE; i++)
		table[i] = 3 * i;
	if (device >= 0)
		assert_int_equal(heddle_loop_run(&loop, &stats), 0);
	starpu_data_unregister(all);
	starpu_data_unregister(in);
	starpu_data_unregister(out);
	for (int i = 0; device >= 0 && i < N; i++)
		assert_same(y[i], 3 * (x[i] % LARGE));
	assert_true(stats.blocks < 20);
}

#ifdef HEDDLE_USE_OPENCL
/* A kernel that wants memory of its own: 64 MiB an iteration, which is soon more
 * than the device gives. */
static void hungry_opencl(void *buffers[], void *arg)
{
	struct heddle_block *block = arg;
	cl_context context;
	cl_mem scratch;
	cl_int error;

	starpu_opencl_get_context(starpu_worker_get_devid(starpu_worker_get_id()), &context);
	scratch = clCreateBuffer(context, CL_MEM_READ_WRITE, block->n << 26, NULL, &error);
	if (error != CL_SUCCESS) {
		block->status = -ENOMEM;
		return;
	}
	rows_opencl(buffers, arg);
	clReleaseMemObject(scratch);
}

/* One for which no size fits. */
static void insatiable_opencl(void *buffers[], void *arg)
{
	((struct heddle_block *)arg)->status = -ENOMEM;
}
#endif

/* Blocks for which a kernel finds no memory are cut until it does, also where it
 * writes what it reads; the last resort is another worker. */
static void test_kernel_out_of_memory(void **state)
{
#ifdef HEDDLE_USE_OPENCL
	struct starpu_codelet hungry = {.opencl_funcs = {hungry_opencl}, .name = "hungry"};
	struct starpu_codelet insatiable = {
	    .cpu_funcs = {rows_cpu}, .opencl_funcs = {insatiable_opencl}, .name = "insatiable"};
	struct heddle_loop_stats stats;

	if (opencl_worker() < 0)
		skip();
	for (size_t t = first_strategy; strategies[t]; t++) {
		struct heddle_loop loop = {.strategy = strategies[t], .codelet = &hungry};

		assert_int_equal(run_rows(2000, 64, &loop, &stats), 0);
		if (!strcmp(strategies[t], "static"))
			assert_true(stats.retried > 0);
		loop.codelet = &insatiable;
		assert_int_equal(run_rows(2000, 64, &loop, &stats), 0);
		assert_true(stats.retried > 0);
		loop.workers = (int[]){opencl_worker()};
		loop.nworkers = 1;
		assert_int_equal(run_rows(2000, 64, &loop, &stats), -ENOMEM);
	}
#else
	skip();
#endif
}

/* Loops at once that fill the device four times over. */
static void test_loops_fill_device(void **state)
{
	enum { LOOPS = 4, LARGE = 1 << 19 };
	static int data[2][LOOPS][LARGE];
	struct heddle_loop_request *requests[LOOPS];
	starpu_data_handle_t in[LOOPS], out[LOOPS];
	int device = opencl_worker();

	for (int l = 0; l < LOOPS; l++) {
		struct heddle_loop loop;

		for (int i = 0; i < LARGE; i++)
			data[0][l][i] = l + i;
		in[l] = vector(data[0][l], LARGE);
		out[l] = vector(data[1][l], LARGE);
		loop = twice_loop(in[l], out[l], LARGE, l % 2 ? "static" : "css:chunk=60000");
		if (device >= 0) {
			loop.workers = &device;
			loop.nworkers = 1;
		}
		assert_int_equal(heddle_loop_submit(&loop, &requests[l]), 0);
	}
	for (int l = 0; l < LOOPS; l++) {
		assert_int_equal(heddle_loop_wait(requests[l], NULL), 0);
		starpu_data_unregister(in[l]);
		starpu_data_unregister(out[l]);
		for (int i = 0; i < LARGE; i++)
			assert_same(data[1][l][i], 2 * (l + i));
	}
}

/* OpenCL devices allocate no buffer above a size of theirs, and StarPU ends the
 * program that asks for one. main() makes PoCL's 256 MiB of 1 GiB. */
static void test_array_above_largest_buffer(void **state)
{
	enum { LARGE = 75 << 20 };
	int *table = calloc(LARGE, sizeof(*table)), device = opencl_worker();
	starpu_data_handle_t all = vector(table, LARGE), in = vector(x, N), out = vector(y, N);
	struct heddle_loop loop = {
	    .codelet = &pick,
	    .n = N,
	    .naccesses = 3,
	    .accesses = {{.handle = all, .mode = STARPU_R, .share = HEDDLE_WHOLE},
	                 {.handle = in, .mode = STARPU_R},
	                 {.handle = out, .mode = STARPU_W}},
	    .strategy = "css:chunk=10000",
	};
	struct heddle_loop_stats stats;

	fill();
	assert_int_equal(heddle_loop_run(&loop, &stats), 0);
	assert_int_equal(stats.nworkers, starpu_cpu_worker_get_count());
	loop.workers = &device;
	loop.nworkers = 1;
	if (device >= 0)
		assert_int_equal(heddle_loop_run(&loop, NULL), -ENOMEM);
	starpu_data_unregister(all);
	starpu_data_unregister(in);
	starpu_data_unregister(out);
	for (int i = 0; i < N; i++)
		assert_same(y[i], 0);
	free(table);
}

static int setup(void **state)
{
	setenv("STARPU_LIMIT_OPENCL_MEM", "1", 0);
	setenv("HEDDLE_VERBOSE", "0", 0);
	if (starpu_init(NULL))
		return -1;
#ifdef HEDDLE_USE_OPENCL
	if (starpu_opencl_worker_get_count() &&
	    starpu_opencl_load_opencl_from_string(source, &program, NULL))
		return -1;
#endif
	return 0;
}

static int setup_large(void **state)
{
	setenv("STARPU_LIMIT_OPENCL_MEM", "900", 1);
	return setup(state);
}

static int teardown(void **state)
{
	starpu_shutdown();
	return 0;
}

static int run_all(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_slices),
	    cmocka_unit_test(test_learning_is_told),
	    cmocka_unit_test(test_auto_is_told),
	    cmocka_unit_test(test_runs_again),
	    cmocka_unit_test(test_parts_come_once),
	    cmocka_unit_test(test_progress_until_the_end),
	    cmocka_unit_test(test_strategy_is_copied),
	    cmocka_unit_test(test_huge_loops),
	    cmocka_unit_test(test_parts_are_equal),
	    cmocka_unit_test(test_per_iteration),
	    cmocka_unit_test(test_halo),
	    cmocka_unit_test(test_parts_of_a_loop),
	    cmocka_unit_test(test_endless_halo),
	    cmocka_unit_test(test_halo_per_iteration),
	    cmocka_unit_test(test_matrix_rows),
	    cmocka_unit_test(test_columns_side_by_side),
	    cmocka_unit_test(test_reduction),
	    cmocka_unit_test(test_whole),
	    cmocka_unit_test(test_task_graph),
	    cmocka_unit_test(test_many_loops_at_once),
	    cmocka_unit_test(test_log_of_loops_at_once),
	    cmocka_unit_test(test_overdue_block_is_cut),
	    cmocka_unit_test(test_bad_use),
	    cmocka_unit_test(test_can_execute),
	    cmocka_unit_test(test_refused_blocks),
	    cmocka_unit_test(test_refused_by_all),
	    cmocka_unit_test(test_shared_tasks),
	    cmocka_unit_test(test_refused_within_task),
	    cmocka_unit_test(test_kernel_fails_once),
	    cmocka_unit_test(test_kernel_fails_in_place),
	    cmocka_unit_test(test_kernel_always_fails),
	    cmocka_unit_test(test_plain_function),
	    cmocka_unit_test(test_message),
	    cmocka_unit_test(test_abi),
	    cmocka_unit_test(test_no_room_on_device),
	    cmocka_unit_test(test_iteration_too_large),
	    cmocka_unit_test(test_whole_counted_once),
	    cmocka_unit_test(test_kernel_out_of_memory),
	    cmocka_unit_test(test_loops_fill_device),
	};

	const struct CMUnitTest large[] = {
	    cmocka_unit_test(test_array_above_largest_buffer),
	};

	return cmocka_run_group_tests(tests, setup, teardown) +
	       cmocka_run_group_tests(large, setup_large, teardown);
}

int main(int argc, char **argv)
{
	if (getenv("HEDDLE_TEST_SHORT"))
		first_strategy = FIRST_IF_SHORT;
	unsetenv("HEDDLE_TEST_SHORT"); /* no variable of Heddle's */
	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	/* Before OpenCL is first asked. */
	setenv("POCL_MEMORY_LIMIT", "1", 1);
	return test_under_policies(run_all);
}
