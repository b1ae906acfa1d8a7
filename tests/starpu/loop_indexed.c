/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Loops whose iterations use as much of an array as an index says, on CPU and OpenCL workers:
 * every mode, empty and large parts, full devices, wrong indices.
 */
#include "config.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <starpu.h>
#ifdef HEDDLE_USE_OPENCL
#include <starpu_opencl.h>
#endif

#include <heddle/heddle.h>

#include "tests/unit/test.h"

/* Of many: a call for each would be most of the work. */
#define assert_same(a, b)                                                                          \
	do {                                                                                       \
		if ((a) != (b))                                                                    \
			assert_int_equal(a, b);                                                    \
	} while (0)

#define VECTOR(i) ((int *)STARPU_VECTOR_GET_PTR(buffers[i]))
#define COUNT(i) ((size_t)STARPU_VECTOR_GET_NX(buffers[i]))

/* A list for each iteration: what it reads, adds 1 to, writes, and its sum. */
enum { INDEX, IN, INOUT, OUT, SUM, NACCESSES };

static void lists_cpu(void *buffers[], void *arg)
{
	const struct heddle_block *block = arg;
	const int *index = VECTOR(INDEX) + heddle_block_before(block, 1, 1);

	assert_same(COUNT(INDEX), block->n + 1 + heddle_block_before(block, 1, 1));
	for (int a = IN; a <= OUT; a++)
		assert_same(COUNT(a), (size_t)(index[block->n] - index[0]));
	for (size_t i = 0; i < block->n; i++) {
		int sum = 0;

		for (int e = index[i] - index[0]; e < index[i + 1] - index[0]; e++) {
			sum += VECTOR(IN)[e];
			VECTOR(INOUT)[e]++;
			VECTOR(OUT)[e] = 2 * VECTOR(IN)[e];
		}
		VECTOR(SUM)[i] = sum;
	}
}

static void count_cpu(void *buffers[], void *arg)
{
	*VECTOR(1) += COUNT(0);
}

static void add(void *into, const void *from, size_t bytes, void *arg)
{
	*(int *)into += *(const int *)from;
}

#ifdef HEDDLE_USE_OPENCL
static struct starpu_opencl_program program;
static const char source[] =
    "__kernel void lists(ulong n, ulong before, __global const int *index, ulong xo,\n"
    "  __global const int *in, ulong io, __global int *inout, ulong ao,\n"
    "  __global int *out, ulong oo, __global int *sum, ulong so)\n"
    "{ size_t i = get_global_id(0); int s = 0; if (i >= n) return;\n"
    "  index += xo / 4 + before; in += io / 4; inout += ao / 4; out += oo / 4;\n"
    "  for (int e = index[i] - index[0]; e < index[i + 1] - index[0]; e++) {\n"
    "    s += in[e]; inout[e]++; out[e] = 2 * in[e]; }\n"
    "  sum[so / 4 + i] = s; }\n";

static void lists_opencl(void *buffers[], void *arg)
{
	struct heddle_block *block = arg;
	cl_ulong n = block->n, before = heddle_block_before(block, 1, 1);
	size_t local = 64, size = n / local * local + local;
	cl_command_queue queue;
	cl_kernel kernel;

	assert_int_equal(COUNT(IN), COUNT(OUT));
	assert_int_equal(starpu_opencl_load_kernel(&kernel, &queue, &program, "lists",
	                                           starpu_worker_get_devid(starpu_worker_get_id())),
	                 CL_SUCCESS);
	clSetKernelArg(kernel, 0, sizeof(n), &n);
	clSetKernelArg(kernel, 1, sizeof(before), &before);
	for (unsigned b = 0; b < NACCESSES; b++) {
		cl_mem memory = (cl_mem)STARPU_VECTOR_GET_DEV_HANDLE(buffers[b]);
		cl_ulong offset = STARPU_VECTOR_GET_OFFSET(buffers[b]);

		clSetKernelArg(kernel, 2 + 2 * b, sizeof(memory), &memory);
		clSetKernelArg(kernel, 3 + 2 * b, sizeof(offset), &offset);
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

static struct starpu_codelet lists = {.cpu_funcs = {lists_cpu},
                                      OPENCL(lists_opencl).name = "lists"};

/* ---- data ---- */

enum { MOST = 20000 };

/* Lists in arrays that are longer than they are by a few elements at either end. */
static struct {
	size_t n, units;
	uint32_t index[MOST + 1];
	uint64_t wide[MOST + 1];
	int *in, *inout, *out, sum[MOST];
	starpu_data_handle_t wide_handle, handles[NACCESSES];
} data;

/* Lengths that differ, many of them 0, and at some places a hundred of them. */
static size_t unequal(size_t i)
{
	return i % 1000 < 300 ? 0 : i * 7919 % 17 + (i % 777 == 0 ? 5000 : 0);
}

static void make_lists(size_t n, size_t (*length)(size_t i))
{
	data.n = n;
	data.index[0] = data.wide[0] = 5;
	for (size_t i = 0; i < n; i++)
		data.wide[i + 1] = data.index[i + 1] = data.index[i] + length(i);
	data.units = data.index[n] + 7;
	data.in = malloc(data.units * sizeof(int));
	data.inout = malloc(data.units * sizeof(int));
	data.out = malloc(data.units * sizeof(int));
}

static void free_lists(void)
{
	free(data.in);
	free(data.inout);
	free(data.out);
}

static starpu_data_handle_t vector(void *values, size_t n, size_t bytes)
{
	starpu_data_handle_t handle;

	starpu_vector_data_register(&handle, STARPU_MAIN_RAM, (uintptr_t)values, n, bytes);
	return handle;
}

static void register_lists(void)
{
	for (size_t e = 0; e < data.units; e++) {
		data.in[e] = e * 7919 % 10007;
		data.inout[e] = e;
		data.out[e] = -1;
	}
	for (size_t i = 0; i < data.n; i++)
		data.sum[i] = -1;
	data.handles[INDEX] = vector(data.index, data.n + 1, 4);
	data.handles[IN] = vector(data.in, data.units, sizeof(int));
	data.handles[INOUT] = vector(data.inout, data.units, sizeof(int));
	data.handles[OUT] = vector(data.out, data.units, sizeof(int));
	data.handles[SUM] = vector(data.sum, data.n, sizeof(int));
	data.wide_handle = vector(data.wide, data.n + 1, 8);
}

static void unregister_lists(void)
{
	for (int a = 0; a < NACCESSES; a++)
		starpu_data_unregister(data.handles[a]);
	starpu_data_unregister(data.wide_handle);
}

/* One array is cut by the handle that kernels read, one by another handle, one by an array. */
static struct heddle_loop lists_loop(const char *strategy)
{
	return (struct heddle_loop){
	    .codelet = &lists,
	    .n = data.n,
	    .naccesses = NACCESSES,
	    .accesses =
	        {{.handle = data.handles[INDEX], .mode = STARPU_R, .share = HEDDLE_HALO, .halo = 1},
	         {.handle = data.handles[IN],
	          .mode = STARPU_R,
	          .share = HEDDLE_INDEXED,
	          .index = data.handles[INDEX]},
	         {.handle = data.handles[INOUT],
	          .mode = STARPU_RW,
	          .share = HEDDLE_INDEXED,
	          .index = data.wide_handle},
	         {.handle = data.handles[OUT],
	          .mode = STARPU_W,
	          .share = HEDDLE_INDEXED,
	          .index_array = data.wide,
	          .index_bytes = sizeof(*data.wide)},
	         {.handle = data.handles[SUM], .mode = STARPU_W}},
	    .strategy = strategy,
	};
}

static void check_lists(size_t n)
{
	for (size_t e = 0; e < data.units; e++) {
		bool used = e >= data.index[0] && e < data.index[n];

		assert_same(data.in[e], (int)(e * 7919 % 10007));
		assert_same(data.inout[e], (int)e + used);
		assert_same(data.out[e], used ? 2 * data.in[e] : -1);
	}
	for (size_t i = 0; i < data.n; i++) {
		int sum = 0;

		for (size_t e = data.index[i]; e < data.index[i + 1]; e++)
			sum += data.in[e];
		assert_same(data.sum[i], i < n ? sum : -1);
	}
}

static int device(void)
{
	int id = -1;

	starpu_worker_get_ids_by_type(STARPU_OPENCL_WORKER, &id, 1);
	return id;
}

static const char *const strategies[] = {
    "css:chunk=29", "css:chunk=1000", "gss", "static", "hdss", "fss", NULL};
static const size_t nstrategies = sizeof(strategies) / sizeof(*strategies);

/* ---- tests ---- */

static void test_lists(void **state)
{
	static const size_t sizes[] = {MOST, 1, 300, 301, 0, 4096};

	make_lists(MOST, unequal);
	for (size_t t = 0; t < nstrategies; t++)
		for (size_t s = 0; s < sizeof(sizes) / sizeof(*sizes); s++) {
			struct heddle_loop loop;

			register_lists();
			loop = lists_loop(strategies[t]);
			loop.n = sizes[s];
			assert_int_equal(heddle_loop_run(&loop, NULL), 0);
			unregister_lists();
			check_lists(sizes[s]);
		}
	free_lists();
}

/* On the device alone, where all parts of a block may be empty. */
static void test_lists_on_device(void **state)
{
	int id = device();

	if (id < 0)
		skip();
	make_lists(MOST / 4, unequal);
	for (size_t t = 0; t < nstrategies; t++) {
		struct heddle_loop loop;

		if (!strategies[t])
			continue;
		register_lists();
		loop = lists_loop(strategies[t]);
		loop.workers = &id;
		loop.nworkers = 1;
		assert_int_equal(heddle_loop_run(&loop, NULL), 0);
		unregister_lists();
		check_lists(data.n);
	}
	free_lists();
}

static size_t none(size_t i)
{
	return 0;
}

static void test_empty_lists(void **state)
{
	make_lists(1000, none);
	for (size_t t = 0; t < nstrategies; t++) {
		struct heddle_loop loop;

		register_lists();
		loop = lists_loop(strategies[t]);
		assert_int_equal(heddle_loop_run(&loop, NULL), 0);
		unregister_lists();
		check_lists(data.n);
	}
	free_lists();
}

/* Some lists are hundreds of times as long as others: blocks of as many iterations as would fit
 * on average do not. The device has 1 MiB, a list takes 96 KiB. */
static size_t steep(size_t i)
{
	return i % 100 < 10 ? 8 << 10 : 1;
}

static void test_full_device(void **state)
{
	int id = device();

	make_lists(400, steep);
	for (size_t t = 0; t < nstrategies; t++) {
		struct heddle_loop loop;

		register_lists();
		loop = lists_loop(strategies[t]);
		if (id >= 0) {
			loop.workers = &id;
			loop.nworkers = 1;
		}
		assert_int_equal(heddle_loop_run(&loop, NULL), 0);
		unregister_lists();
		check_lists(data.n);
	}
	free_lists();
}

/* One list that no device holds is for CPU workers. */
static size_t one_is_huge(size_t i)
{
	return i == 100 ? 300 << 10 : 2;
}

static void test_list_too_large(void **state)
{
	int id = device();

	make_lists(2000, one_is_huge);
	for (size_t t = 0; t < nstrategies; t++) {
		struct heddle_loop loop;
		struct heddle_loop_stats stats;
		bool stock = !strategies[t] && !strcmp(test_default_strategy(), "stock");
		int status;

		register_lists();
		loop = lists_loop(strategies[t]);
		status = heddle_loop_run(&loop, &stats);
		/* A policy of StarPU's own may have given it to the device. */
		assert_int_equal(status, id >= 0 && stock ? -ENOMEM : 0);
		if (id >= 0 && !stock) {
			loop.workers = &id;
			loop.nworkers = 1;
			assert_int_equal(heddle_loop_run(&loop, NULL), -ENOMEM);
		}
		unregister_lists();
		if (id < 0)
			check_lists(data.n);
	}
	free_lists();
}

static void test_reduction(void **state)
{
	static struct starpu_codelet count = {.cpu_funcs = {count_cpu}, .name = "count"};

	make_lists(MOST, unequal);
	for (size_t t = 0; t < nstrategies; t++) {
		int sum = 1000;
		starpu_data_handle_t handle = vector(&sum, 1, sizeof(sum));
		struct heddle_loop loop;

		register_lists();
		loop = lists_loop(strategies[t]);
		loop.codelet = &count;
		loop.naccesses = 2;
		loop.accesses[0] = loop.accesses[IN];
		loop.accesses[1] = (struct heddle_access){
		    .handle = handle, .mode = STARPU_RW, .share = HEDDLE_REDUCE, .combine = add};
		assert_int_equal(heddle_loop_run(&loop, NULL), 0);
		starpu_data_unregister(handle);
		unregister_lists();
		assert_int_equal(sum, 1000 + (int)(data.index[MOST] - data.index[0]));
	}
	free_lists();
}

static void rows_cpu(void *buffers[], void *arg)
{
	const struct heddle_block *block = arg;
	int *m = (int *)STARPU_MATRIX_GET_PTR(buffers[0]);

	assert_same(STARPU_MATRIX_GET_NY(buffers[0]), 2 * block->n);
	for (size_t y = 0; y < STARPU_MATRIX_GET_NY(buffers[0]); y++)
		for (size_t x = 0; x < STARPU_MATRIX_GET_NX(buffers[0]); x++)
			m[y * STARPU_MATRIX_GET_LD(buffers[0]) + x] += block->start * 2 + y;
}

/* Rows of a matrix, too, and the index of another part of it. */
static void test_matrix_rows(void **state)
{
	enum { ROWS = 100, WIDTH = 7, LD = 9 };
	static struct starpu_codelet rows = {.cpu_funcs = {rows_cpu}, .name = "rows"};
	static int m[ROWS * LD];
	uint32_t index[ROWS / 2 + 1];
	starpu_data_handle_t matrix;
	struct heddle_loop loop = {
	    .codelet = &rows, .n = ROWS / 2, .naccesses = 1, .strategy = "css:chunk=3"};

	for (int i = 0; i <= ROWS / 2; i++)
		index[i] = 2 * i;
	memset(m, 0, sizeof(m));
	starpu_matrix_data_register(&matrix, STARPU_MAIN_RAM, (uintptr_t)m, LD, WIDTH, ROWS,
	                            sizeof(*m));
	loop.accesses[0] = (struct heddle_access){.handle = matrix,
	                                          .mode = STARPU_RW,
	                                          .share = HEDDLE_INDEXED,
	                                          .index_array = index,
	                                          .index_bytes = sizeof(*index)};
	assert_int_equal(heddle_loop_run(&loop, NULL), 0);
	starpu_data_unregister(matrix);
	for (int i = 0; i < ROWS * LD; i++)
		assert_same(m[i], i % LD < WIDTH ? i / LD : 0);
}

/* ---- the index is data of the task graph ---- */

static void fill_index_cpu(void *buffers[], void *arg)
{
	memcpy((void *)STARPU_VECTOR_GET_PTR(buffers[0]), data.index, (data.n + 1) * 4);
}

static void test_index_of_a_task(void **state)
{
	static struct starpu_codelet fill = {.cpu_funcs = {fill_index_cpu},
	                                     .nbuffers = 1,
	                                     .modes = {STARPU_W},
	                                     .name = "fill index"};
	struct heddle_loop loop;
	starpu_data_handle_t later;
	uint32_t *entries;

	make_lists(MOST, unequal);
	for (size_t t = 0; t < nstrategies; t++) {
		entries = calloc(data.n + 1, 4);
		register_lists();
		later = vector(entries, data.n + 1, 4);
		loop = lists_loop(strategies[t]);
		loop.accesses[IN].index = later;
		assert_int_equal(starpu_task_insert(&fill, STARPU_W, later, 0), 0);
		assert_int_equal(heddle_loop_run(&loop, NULL), 0);
		unregister_lists();
		starpu_data_unregister(later);
		free(entries);
		check_lists(data.n);
	}
	free_lists();
}

/* ---- bad use ---- */

static void test_wrong_entries(void **state)
{
	static const struct {
		size_t entry;
		uint64_t value;
	} wrong[] = {{0, -1}, {0, 1 << 30}, {1, 4}, {MOST / 2, 0}, {MOST, 1 << 30}, {MOST, 6}};

	make_lists(MOST, unequal);
	for (size_t t = 0; t < nstrategies; t++)
		for (size_t w = 0; w < sizeof(wrong) / sizeof(*wrong); w++) {
			uint64_t right = data.wide[wrong[w].entry];
			struct heddle_loop loop;

			register_lists();
			loop = lists_loop(strategies[t]);
			data.wide[wrong[w].entry] = wrong[w].value;
			assert_int_equal(heddle_loop_run(&loop, NULL), -EINVAL);
			data.wide[wrong[w].entry] = right;
			unregister_lists();
		}
	free_lists();
}

static void refused(int status, const struct heddle_access *access)
{
	struct heddle_loop loop = lists_loop("gss");

	loop.accesses[OUT] = *access;
	assert_int_equal(heddle_loop_run(&loop, NULL), status);
}

/* As many handles as a task may have, and one of an index. */
static void test_too_many_handles(void **state)
{
	static int values[HEDDLE_LOOP_MAXHANDLES][100];
	static struct starpu_codelet count = {.cpu_funcs = {count_cpu}, .name = "count"};
	struct heddle_loop loop = {
	    .codelet = &count, .n = 1, .naccesses = HEDDLE_LOOP_MAXHANDLES, .strategy = "gss"};
	uint32_t entries[] = {0, 100};
	starpu_data_handle_t index = vector(entries, 2, 4);

	for (int a = 0; a < HEDDLE_LOOP_MAXHANDLES; a++)
		loop.accesses[a] = (struct heddle_access){.handle = vector(values[a], 100, 4),
		                                          .mode = STARPU_RW,
		                                          .share = HEDDLE_INDEXED,
		                                          .index_array = entries,
		                                          .index_bytes = 4};
	assert_int_equal(heddle_loop_run(&loop, NULL), 0);
	assert_int_equal(values[1][0], 100);
	loop.accesses[3].index_array = NULL;
	loop.accesses[3].index = index;
	assert_int_equal(heddle_loop_run(&loop, NULL), -EINVAL);
	for (int a = 0; a < HEDDLE_LOOP_MAXHANDLES; a++)
		starpu_data_unregister(loop.accesses[a].handle);
	starpu_data_unregister(index);
}

static void test_bad_use(void **state)
{
	struct heddle_access right, access;
	struct heddle_loop loop;
	starpu_data_handle_t inner;

	make_lists(1000, unequal);
	register_lists();
	right = lists_loop(NULL).accesses[OUT];
	inner = vector(data.out + 2, 1001, sizeof(int));

	access = right;
	access.index_array = NULL;
	refused(-EINVAL, &access);
	access.index = data.handles[IN];
	refused(-EINVAL, &access); /* its entries fall */
	access = right;
	access.index = data.wide_handle;
	refused(-EINVAL, &access); /* both */
	access = right;
	access.index_bytes = 0;
	refused(-EINVAL, &access);
	access.index_bytes = 2;
	refused(-EINVAL, &access);
	access = right;
	access.per_iteration = 2;
	refused(-EINVAL, &access);
	access = right;
	access.index_array = NULL;
	access.index = data.handles[SUM]; /* written by the loop, and an entry short */
	refused(-ERANGE, &access);
	access.index = data.handles[OUT];
	refused(-EINVAL, &access);
	access.index = inner; /* overlaps the array itself */
	refused(-EINVAL, &access);
	access = right;
	access.index_array = data.out + 10;
	access.index_bytes = 4;
	refused(-EINVAL, &access);

	loop = lists_loop("gss");
	loop.n = 1001; /* SUM and the halo's end there, too */
	loop.accesses[0] = loop.accesses[IN];
	loop.naccesses = 1;
	assert_int_equal(heddle_loop_run(&loop, NULL), -ERANGE);
	starpu_data_unregister(inner);
	unregister_lists();
	free_lists();
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

static int teardown(void **state)
{
	starpu_shutdown();
	return 0;
}

static int run_all(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_lists),
	    cmocka_unit_test(test_lists_on_device),
	    cmocka_unit_test(test_empty_lists),
	    cmocka_unit_test(test_full_device),
	    cmocka_unit_test(test_list_too_large),
	    cmocka_unit_test(test_reduction),
	    cmocka_unit_test(test_matrix_rows),
	    cmocka_unit_test(test_index_of_a_task),
	    cmocka_unit_test(test_wrong_entries),
	    cmocka_unit_test(test_bad_use),
	    cmocka_unit_test(test_too_many_handles),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}

int main(int argc, char **argv)
{
	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	/* Before OpenCL is first asked. */
	setenv("POCL_MEMORY_LIMIT", "1", 1);
	return test_under_policies(run_all);
}
