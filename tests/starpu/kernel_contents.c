/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Kernels whose accesses depend on integers in memory: launches look at what is there when they
 * begin, whoever has written it.
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <heddle/heddle.h>

#include "tests/unit/test.h"

enum { N = 1 << 14, LISTS = 256, LOCAL = 16, ROUNDS = 25 };

static const char source[] =
    "__kernel void lists(__global const int *first, __global const float *in, __global float "
    "*out)\n"
    "{\n"
    "	int group = get_group_id(0), step = get_local_size(0);\n"
    "	for (int i = first[group] + get_local_id(0); i < first[group + 1]; i += step)\n"
    "		out[i] = in[i] + group;\n"
    "}\n"
    "__kernel void places(__global const int *first, __global const float *in, __global float "
    "*out)\n"
    "{\n"
    "	int at = first[get_group_id(0)] + get_local_id(0);\n"
    "	if (at < first[256]) out[at] = in[at] + get_group_id(0);\n"
    "}\n"
    "__kernel void even(__global int *first, int by)\n"
    "{\n"
    "	if (get_global_id(0) < 257) first[get_global_id(0)] = get_global_id(0) * by;\n"
    "}\n"
    "__kernel void counted(__global const int *first, __global int *out)\n"
    "{\n"
    "	int i = get_global_id(0);\n"
    "	if (i < 256) out[first[i] + 256] = first[i];\n"
    "}\n"
    "__kernel void moved(__global const int *first, __global const int *in, __global int *out)\n"
    "{\n"
    "	int group = get_group_id(0), item = get_local_id(0);\n"
    "	out[group * 64 + item] = in[first[group] + item];\n"
    "}\n"
    "__kernel void twice(__global const int *first, __global const int *second,\n"
    "                    __global const float *in, __global float *out)\n"
    "{\n"
    "	int at = second[first[get_group_id(0)]] + get_local_id(0);\n"
    "	out[at] = in[at] + get_group_id(0);\n"
    "}\n"
    "__kernel void chosen(__global const int *index, __global const int *in, __global int *out)\n"
    "{\n"
    "	out[get_global_id(0)] = in[index[get_global_id(0)]];\n"
    "}\n"
    "__kernel void count(__global int *x, int from)\n"
    "{\n"
    "	x[get_global_id(0)] = from + get_global_id(0);\n"
    "}\n";

static float in[N], out[N], expected[N];
static int first[LISTS + 1];
static unsigned nshared; /* launches on two devices */

static bool analysed(void)
{
	const char *program = getenv("HEDDLE_ANALYSE");

	return program && strcmp(program, "none");
}

static struct heddle_kernel_argument host(void *pointer, size_t bytes,
                                          enum starpu_data_access_mode mode)
{
	return (struct heddle_kernel_argument){
	    .type = HEDDLE_KERNEL_HOST, .pointer = pointer, .bytes = bytes, .mode = mode};
}

static struct heddle_kernel kernel_of(const char *name)
{
	return (struct heddle_kernel){
	    .source = source,
	    .name = name,
	    .dimensions = 1,
	    .global = {LISTS * LOCAL},
	    .local = {LOCAL},
	    .narguments = 3,
	    .arguments = {host(first, sizeof(first), STARPU_R), host(in, sizeof(in), STARPU_R),
	                  host(out, sizeof(out), STARPU_RW)},
	    .split = HEDDLE_KERNEL_ALWAYS,
	    .method = "linear",
	};
}

/* Lists that follow each other, from anywhere to anywhere; some are empty. */
static void lists_make(void)
{
	int at = lrand48() % 500, most = 1 + lrand48() % (2 * (N - 1000) / LISTS);

	for (int g = 0; g <= LISTS; g++) {
		first[g] = at;
		at += lrand48() % 3 ? lrand48() % most : 0;
		if (at >= N)
			at = N - 1;
	}
}

/* Places in any order, each of another group. */
static void places_make(void)
{
	int base = lrand48() % (N - LISTS * LOCAL);

	for (int g = 0; g < LISTS; g++)
		first[g] = base + g * LOCAL;
	for (int g = LISTS - 1; g > 0; g--) {
		int other = lrand48() % (g + 1), kept = first[g];

		first[g] = first[other];
		first[other] = kept;
	}
	first[LISTS] = N - lrand48() % 3000;
}

static void expect(bool lists)
{
	for (int g = 0; g < LISTS; g++) {
		int end = lists ? first[g + 1] : first[g] + LOCAL;

		for (int i = first[g]; i < end && (lists || i < first[LISTS]); i++)
			expected[i] = in[i] + g;
	}
}

static void data_fill(void)
{
	for (int i = 0; i < N; i++) {
		in[i] = lrand48() % 1000;
		out[i] = expected[i] = -1 - i;
	}
}

static size_t bytes_sent(const struct heddle_kernel_stats *stats)
{
	size_t bytes = 0;

	for (unsigned w = 0; w < stats->nworkers; w++)
		bytes += stats->workers[w].in_bytes;
	return bytes;
}

/* Launches that are alike but for what is in memory. */
static void contents_change(void **state)
{
	struct heddle_kernel_stats stats;

	for (int round = 0; round < 2 * ROUNDS; round++) {
		bool lists = round % 2;
		struct heddle_kernel kernel = kernel_of(lists ? "lists" : "places");

		data_fill();
		lists ? lists_make() : places_make();
		expect(lists);
		kernel.method = round % 5 ? "linear" : "single";
		assert_int_equal(heddle_kernel_run(&kernel, &stats), 0);
		assert_memory_equal(out, expected, sizeof(out));
		nshared += stats.nworkers > 1;
	}
}

/* Each device gets what its own groups read. */
static void little_is_sent(void **state)
{
	const char *in_place = getenv("HEDDLE_KERNEL_IN_PLACE");
	struct heddle_kernel kernel = kernel_of("lists");
	struct heddle_kernel_stats stats;

	kernel.arguments[2].mode = STARPU_W;
	data_fill();
	for (int g = 0; g <= LISTS; g++)
		first[g] = g * (N / LISTS);
	expect(true);
	for (int round = 0; round < 4; round++) {
		assert_int_equal(heddle_kernel_run(&kernel, &stats), 0);
		assert_memory_equal(out, expected, sizeof(out));
		if (!analysed() || stats.nworkers < 2 || !in_place)
			continue;
		printf("%zu bytes sent\n", bytes_sent(&stats));
		assert_true(bytes_sent(&stats) <= sizeof(in) + sizeof(first) + 4);
	}
}

static size_t out_bytes(const struct heddle_kernel_stats *stats)
{
	size_t bytes = 0;

	for (unsigned w = 0; w < stats->nworkers; w++)
		bytes += stats->workers[w].out_bytes;
	return bytes;
}

static void even_cpu(void *buffers[], void *arg)
{
	int *x = (int *)STARPU_VECTOR_GET_PTR(buffers[0]), by;

	starpu_codelet_unpack_args(arg, &by);
	usleep(2000);
	for (int g = 0; g <= LISTS; g++)
		x[g] = g * by;
}

/* A task writes the contents after the launch was submitted. */
static void tasks_write(void **state)
{
	static struct starpu_codelet even = {
	    .cpu_funcs = {even_cpu}, .nbuffers = 1, .modes = {STARPU_W}};
	struct heddle_kernel kernel = kernel_of("lists");
	starpu_data_handle_t handles[3];

	data_fill();
	memset(first, 0, sizeof(first));
	starpu_vector_data_register(&handles[0], STARPU_MAIN_RAM, (uintptr_t)first, LISTS + 1,
	                            sizeof(*first));
	starpu_vector_data_register(&handles[1], STARPU_MAIN_RAM, (uintptr_t)in, N, sizeof(*in));
	starpu_vector_data_register(&handles[2], STARPU_MAIN_RAM, (uintptr_t)out, N, sizeof(*out));
	for (int a = 0; a < 3; a++)
		kernel.arguments[a] =
		    (struct heddle_kernel_argument){.type = HEDDLE_KERNEL_HANDLE,
		                                    .handle = handles[a],
		                                    .mode = a < 2 ? STARPU_R : STARPU_RW,
		                                    .keep = true,
		                                    .stay = true};
	for (int by = 1; by < N / LISTS; by += 7) {
		assert_int_equal(starpu_task_insert(&even, STARPU_W, handles[0], STARPU_VALUE, &by,
		                                    sizeof(by), 0),
		                 0);
		assert_int_equal(heddle_kernel_submit(&kernel, NULL), 0);
	}
	assert_int_equal(starpu_task_wait_for_all(), 0);
	for (int a = 0; a < 3; a++)
		starpu_data_unregister(handles[a]);
	for (int by = 1; by < N / LISTS; by += 7) {
		for (int g = 0; g <= LISTS; g++)
			first[g] = g * by;
		expect(true);
	}
	assert_memory_equal(out, expected, sizeof(out));
}

/* A kernel writes the contents, and they stay on its devices. */
static void kernels_write(void **state)
{
	struct heddle_kernel kernel = kernel_of("lists"), even = kernel_of("even");
	struct heddle_kernel_stats stats;
	unsigned stayed = 0;
	int by = 0;

	even.narguments = 2;
	even.arguments[0].mode = STARPU_RW;
	even.arguments[1] = (struct heddle_kernel_argument){
	    .type = HEDDLE_KERNEL_VALUE, .pointer = &by, .bytes = sizeof(by)};
	even.arguments[0].keep = even.arguments[0].stay = true;
	for (int a = 0; a < 3; a++)
		kernel.arguments[a].keep = kernel.arguments[a].stay = true;
	data_fill();
	memset(first, 0, sizeof(first));
	heddle_kernels_changed(first, sizeof(first));
	heddle_kernels_changed(in, sizeof(in));
	heddle_kernels_changed(out, sizeof(out));
	for (int round = 0; round < ROUNDS; round++) {
		by = 1 + (round * 11) % (N / LISTS - 1);
		even.method = kernel.method = round % 2 ? "linear" : "single";
		assert_int_equal(heddle_kernel_run(&even, &stats), 0);
		stayed += !out_bytes(&stats);
		assert_int_equal(heddle_kernel_run(&kernel, NULL), 0);
	}
	printf("contents stayed on a device %u times\n", stayed);
	assert_int_equal(heddle_kernels_fetch(first, sizeof(first)), 0);
	assert_int_equal(heddle_kernels_fetch(out, sizeof(out)), 0);
	for (int round = 0; round < ROUNDS; round++) {
		by = 1 + (round * 11) % (N / LISTS - 1);
		for (int g = 0; g <= LISTS; g++)
			first[g] = g * by;
		expect(true);
	}
	assert_memory_equal(out, expected, sizeof(out));
}

/* What the kernel writes by another argument is not what it was. */
static void one_array(void **state)
{
	static int both[3 * LISTS];
	struct heddle_kernel kernel = kernel_of("counted");

	for (int round = 0; round < 4; round++) {
		for (int i = 0; i < 3 * LISTS; i++)
			both[i] = i < LISTS ? (i * 7 + round) % LISTS : -1;
		kernel.narguments = 2;
		kernel.arguments[0] = host(both, sizeof(both), STARPU_R);
		kernel.arguments[1] = host(both, sizeof(both), STARPU_RW);
		assert_int_equal(heddle_kernel_run(&kernel, NULL), 0);
		for (int i = 0; i < 3 * LISTS; i++)
			assert_int_equal(both[i], i < LISTS       ? (i * 7 + round) % LISTS
			                          : i < 2 * LISTS ? i - LISTS
			                                          : -1);
	}
}

/* Enough data that one device computes in chunks, while the other one sleeps or is not there. */
enum { MANY = 1 << 19, GROUPS = MANY / 64 };
static int places[MANY], from[2 * MANY], to[MANY];

static struct heddle_kernel large_kernel(const char *name)
{
	struct heddle_kernel kernel = kernel_of(name);

	kernel.global[0] = MANY;
	kernel.local[0] = 64;
	kernel.method = NULL;
	kernel.arguments[0] = host(places, sizeof(places), STARPU_R);
	kernel.arguments[1] = host(from, sizeof(from), STARPU_R);
	kernel.arguments[2] = host(to, sizeof(to), STARPU_RW);
	return kernel;
}

/* Chunks send and fetch what the contents of their own launch say. */
static void chunks_change(void **state)
{
	struct heddle_kernel kernel = large_kernel("moved");

	kernel.arguments[0].bytes = GROUPS * sizeof(*places);
	for (int round = 0; round < 60; round++) {
		for (int i = 0; i < 2 * MANY; i++)
			from[i] = (i * 7 + round * 13) & 0xfffff;
		for (int g = 0; g < GROUPS; g++)
			places[g] = (round % 8) * (MANY / 8) + g * 64;
		assert_int_equal(heddle_kernel_run(&kernel, NULL), 0);
		for (int i = 0; i < MANY; i++)
			assert_int_equal(to[i], from[places[i / 64] + i % 64]);
	}
}

/* Nobody looks at so many integers as all groups need: they stay where they are. */
static void many_stay(void **state)
{
	bool known =
	    analysed() && getenv("HEDDLE_KERNEL_IN_PLACE") && strcmp(getenv("STARPU_SCHED"), "gss");
	struct heddle_kernel kernel = large_kernel("chosen"), count = large_kernel("count");
	struct heddle_kernel_stats stats;
	int start;

	kernel.method = count.method = "linear";
	count.narguments = 2;
	count.arguments[0].mode = STARPU_RW;
	count.arguments[1] = (struct heddle_kernel_argument){
	    .type = HEDDLE_KERNEL_VALUE, .pointer = &start, .bytes = sizeof(start)};
	count.arguments[0].keep = count.arguments[0].stay = true;
	for (int a = 0; a < 3; a++)
		kernel.arguments[a].keep = kernel.arguments[a].stay = true;
	for (int i = 0; i < 2 * MANY; i++)
		from[i] = i * 7;
	heddle_kernels_changed(places, sizeof(places));
	heddle_kernels_changed(from, sizeof(from));
	heddle_kernels_changed(to, sizeof(to));
	for (start = 0; start < 10 * 1000; start += 1000) {
		assert_int_equal(heddle_kernel_run(&count, NULL), 0);
		assert_int_equal(heddle_kernel_run(&kernel, &stats), 0);
		printf("%zu of %zu bytes returned\n", out_bytes(&stats), sizeof(places));
		/* The first launch finds out how fast devices are. */
		assert_true(!known || !start || out_bytes(&stats) < sizeof(places));
	}
	start -= 1000;
	assert_int_equal(heddle_kernels_fetch(to, sizeof(to)), 0);
	for (int i = 0; i < MANY; i++)
		assert_int_equal(to[i], from[start + i]);
	assert_int_equal(heddle_kernels_fetch(places, sizeof(places)), 0);
}

/* Contents that say where other contents are: devices alone have both. */
static void contents_of_contents(void **state)
{
	const char *in_place = getenv("HEDDLE_KERNEL_IN_PLACE");
	struct heddle_kernel kernel = kernel_of("twice"), even = kernel_of("even");
	struct heddle_kernel count = kernel_of("count");
	struct heddle_kernel_stats stats;
	int by = LOCAL, start;

	even.narguments = count.narguments = 2;
	even.arguments[0] = host(first, sizeof(first), STARPU_RW);
	even.arguments[0].keep = even.arguments[0].stay = true;
	even.arguments[1] = (struct heddle_kernel_argument){
	    .type = HEDDLE_KERNEL_VALUE, .pointer = &by, .bytes = sizeof(by)};
	count.arguments[0] = host(places, N * sizeof(*places), STARPU_RW);
	count.arguments[0].keep = count.arguments[0].stay = true;
	count.arguments[1] = even.arguments[1];
	count.arguments[1].pointer = &start;
	count.global[0] = N;
	kernel.narguments = 4;
	kernel.arguments[0] = even.arguments[0];
	kernel.arguments[1] = count.arguments[0];
	kernel.arguments[0].mode = kernel.arguments[1].mode = STARPU_R;
	kernel.arguments[2] = host(in, sizeof(in), STARPU_R);
	kernel.arguments[3] = host(out, sizeof(out), STARPU_RW);
	data_fill();
	heddle_kernels_changed(first, sizeof(first));
	heddle_kernels_changed(places, N * sizeof(*places));
	for (start = 0; start <= N - LISTS * LOCAL; start += 1000) {
		assert_int_equal(heddle_kernel_run(&even, NULL), 0);
		assert_int_equal(heddle_kernel_run(&count, NULL), 0);
		assert_int_equal(heddle_kernel_run(&kernel, &stats), 0);
		for (int i = 0; i < LISTS * LOCAL; i++)
			expected[start + i] = in[start + i] + i / LOCAL;
		assert_memory_equal(out, expected, sizeof(out));
		if (analysed() && in_place)
			assert_true(bytes_sent(&stats) < sizeof(in));
	}
	assert_int_equal(heddle_kernels_fetch(places, N * sizeof(*places)), 0);
	assert_int_equal(heddle_kernels_fetch(first, sizeof(first)), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(contents_change), cmocka_unit_test(little_is_sent),
	    cmocka_unit_test(tasks_write),     cmocka_unit_test(kernels_write),
	    cmocka_unit_test(one_array),       cmocka_unit_test(chunks_change),
	    cmocka_unit_test(many_stay),       cmocka_unit_test(contents_of_contents),
	};
	int failed, status = starpu_init(NULL);

	srand48(test_seed());
	if (status == -ENODEV || !starpu_opencl_worker_get_count())
		return 77;
	assert_int_equal(status, 0);
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	printf("%u of %d launches on two devices\n", nshared, 2 * ROUNDS);
	heddle_kernels_unload();
	starpu_shutdown();
	return failed;
}
