/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Kernels in ranges of work-groups on an OpenCL device: is what the analysis says about
 * windows true, and does everything add up to what one launch computes?
 *
 * For random splits each range gets buffers that hold poison but for the windows that
 * the analysis says it reads (and those that it may leave partly unwritten). Afterwards
 * no byte outside of the windows that it writes may have changed, and the merged results
 * must be those of a full launch of the kernel as it was written, bit by bit.
 */
#include "config.h"

#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "partition/kernel/access/analysis.h"
#include "partition/kernel/access/windows.h"
#include "test.h"

static char why[KERNEL_WHY];

enum { MAXARGUMENTS = 6, POISON = 0x9d, ROUNDS = 3 };

/* B: buffer of floats, U: of small unsigned integers, O: of multiples of 64 in order, S: of sizes
 * up to 64, c: of bytes; `n` elements. i: an integer of value n; f: a float; l: local memory of n
 * bytes. */
struct argument {
	char kind;
	long n;
};

struct example {
	const char *kernel;
	unsigned dimensions;
	size_t global[3], local[3];
	struct argument arguments[MAXARGUMENTS];
	const char *classes; /* of each buffer, reads and writes (+: all is written); NULL: as they
	                        come */
};

static const struct example examples[] = {
    {"vector_add",
     1,
     {1024},
     {16},
     {{'B', 1024}, {'B', 1024}, {'B', 1024}, {'i', 1024}},
     "CONTIGUOUS/- CONTIGUOUS/- -/CONTIGUOUS+"},
    {"vector_add", 1, {1024}, {16}, {{'B', 1000}, {'B', 1000}, {'B', 1000}, {'i', 1000}}, NULL},
    {"saxpy",
     1,
     {512},
     {8},
     {{'B', 512}, {'B', 600}, {'f', 0}},
     "CONTIGUOUS/CONTIGUOUS+ CONTIGUOUS/-"},
    {"black_scholes",
     2,
     {64, 32},
     {16, 1},
     {{'B', 2048}, {'B', 2048}, {'B', 2048}, {'B', 2048}, {'f', 0}, {'f', 0}},
     "-/CONTIGUOUS+ -/CONTIGUOUS+ CONTIGUOUS/- CONTIGUOUS/-"},
    {"matmul",
     2,
     {64, 64},
     {8, 8},
     {{'B', 4096}, {'B', 4096}, {'B', 4096}, {'i', 64}},
     "SLAB/- RECT/- -/SLAB+"},
    {"transpose",
     2,
     {64, 32},
     {8, 8},
     {{'B', 2048}, {'B', 2048}, {'i', 64}, {'i', 32}},
     "-/RECT+ SLAB/-"},
    {"histogram",
     1,
     {512},
     {32},
     {{'c', 8192}, {'U', 4096}, {'i', 16}},
     "CONTIGUOUS/- -/CONTIGUOUS+"},
    {"reduction",
     1,
     {1024},
     {32},
     {{'B', 8192}, {'B', 32}, {'l', 128}},
     "CONTIGUOUS/- -/CONTIGUOUS+"},
    {"scan", 1, {512}, {32}, {{'B', 1024}, {'B', 1024}, {'l', 256}}, "-/CONTIGUOUS+ CONTIGUOUS/-"},
    {"quasi_random",
     1,
     {16 * 64},
     {64},
     {{'B', 16 * 1000}, {'U', 16 * 32}, {'i', 1000}},
     "-/CONTIGUOUS+ CONTIGUOUS/-"},
    {"binomial",
     1,
     {16 * 32},
     {32},
     {{'B', 64}, {'B', 64}, {'i', 31}, {'l', 512}},
     "CONTIGUOUS/- -/CONTIGUOUS+"},
    {"substitute",
     2,
     {32, 32},
     {4, 4},
     {{'c', 1024}, {'c', 1024}, {'c', 16}, {'c', 256}, {'i', 32}},
     "CONTIGUOUS/- -/CONTIGUOUS+ BROADCAST/- BROADCAST/-"},
    {"stencil", 1, {1024}, {32}, {{'B', 1024}, {'B', 1024}, {'i', 1024}}, "HALO/- -/CONTIGUOUS+"},
    {"clamped",
     2,
     {32, 48},
     {8, 4},
     {{'B', 1536}, {'B', 1536}, {'i', 32}, {'i', 48}},
     "HALO/- -/SLAB+"},
    {"cube", 3, {16, 8, 8}, {4, 2, 2}, {{'B', 1024}, {'B', 1024}}, NULL},
    {"gather",
     1,
     {512},
     {16},
     {{'B', 512}, {'U', 512}, {'B', 512}},
     "BROADCAST/- CONTIGUOUS/- -/CONTIGUOUS+"},
    {"scatter", 1, {512}, {16}, {{'B', 512}, {'U', 1}, {'i', 512}}, NULL},
    {"backwards", 1, {256}, {16}, {{'c', 256 * 6}, {'c', 256 * 8}, {'i', 256}}, NULL},
    {"vectors", 1, {256}, {16}, {{'B', 1024}, {'B', 1024}}, "CONTIGUOUS/- -/CONTIGUOUS+"},
    {"move", 1, {256}, {16}, {{'B', 768}, {'f', 0}}, "CONTIGUOUS/CONTIGUOUS"},
    {"rows",
     1,
     {128},
     {8},
     {{'B', 128 * 20}, {'B', 128}, {'i', 17}, {'i', 20}},
     "CONTIGUOUS/- -/CONTIGUOUS+"},
    {"permute", 1, {512}, {16}, {{'B', 509}, {'B', 512}, {'i', 509}, {'i', 7}}, NULL},
    {"returns",
     1,
     {1024},
     {16},
     {{'B', 999}, {'B', 999}, {'i', 999}},
     "CONTIGUOUS/- -/CONTIGUOUS+"},
    {"returns", 1, {1024}, {16}, {{'B', 20}, {'B', 1024}, {'i', 20}}, NULL},
    {"returns", 1, {1024}, {16}, {{'B', 20}, {'B', 1024}, {'i', 0}}, "-/- -/-"},
    {"window2d",
     2,
     {64, 40},
     {8, 4},
     {{'B', 60 * 37}, {'B', 60 * 37}, {'i', 60}, {'i', 37}},
     "SLAB/- -/SLAB+"},
    {"transpose_guarded",
     2,
     {64, 32},
     {8, 8},
     {{'B', 2048}, {'B', 2048}, {'i', 64}, {'i', 32}},
     "-/RECT+ SLAB/-"},
    {"transpose_guarded",
     2,
     {64, 32},
     {8, 8},
     {{'B', 61 * 29}, {'B', 61 * 29}, {'i', 61}, {'i', 29}},
     "-/RECT+ SLAB/-"},
    {"inner",
     1,
     {1024},
     {32},
     {{'B', 1000}, {'B', 1000}, {'i', 1000}, {'i', 7}},
     "HALO/- -/CONTIGUOUS"},
    {"some_items",
     1,
     {512},
     {16},
     {{'B', 512}, {'B', 320}, {'B', 64}, {'i', 10}, {'i', 9}},
     "RECT/- -/RECT -/RECT"},
    {"unsigned_guard",
     1,
     {512},
     {16},
     {{'B', 400}, {'B', 400}, {'i', 50}, {'i', 400}},
     "CONTIGUOUS/- -/CONTIGUOUS+"},
    {"by_data",
     1,
     {512},
     {16},
     {{'B', 512}, {'U', 512}, {'B', 512}},
     "CONTIGUOUS/- CONTIGUOUS/- CONTIGUOUS/CONTIGUOUS"},
    {"halves", 1, {256}, {16}, {{'B', 512}, {'B', 16}, {'i', 3}}, NULL},
    {"cooperate",
     1,
     {256},
     {16},
     {{'B', 16 * 75}, {'B', 16 * 75}, {'i', 75}, {'i', 20}},
     "HALO/- HALO/HALO"},
    {"cooperate",
     1,
     {256},
     {16},
     {{'B', 16 * 7}, {'B', 16 * 7}, {'i', 7}, {'i', 2}},
     "CONTIGUOUS/- CONTIGUOUS/CONTIGUOUS"},
    {"rounds",
     1,
     {256},
     {16},
     {{'B', 16 * 75}, {'B', 16 * 75}, {'B', 16 * 75}, {'B', 16 * 91}, {'i', 75}},
     "CONTIGUOUS/- -/CONTIGUOUS+ -/CONTIGUOUS -/CONTIGUOUS"},
    {"rounds",
     1,
     {256},
     {16},
     {{'B', 16 * 64}, {'B', 16 * 64}, {'B', 16 * 64}, {'B', 16 * 80}, {'i', 64}},
     "CONTIGUOUS/- -/CONTIGUOUS+ -/CONTIGUOUS -/CONTIGUOUS"},
    {"rounds",
     1,
     {256},
     {16},
     {{'B', 16 * 7}, {'B', 16 * 7}, {'B', 16 * 7}, {'B', 16 * 23}, {'i', 7}},
     NULL},
    {"broken_rounds",
     1,
     {256},
     {16},
     {{'B', 16 * 75}, {'B', 16 * 75}, {'B', 16 * 75}, {'i', 75}},
     NULL},
    {"rounds2d", 2, {64, 4}, {16, 4}, {{'B', 4 * 40 * 10}, {'i', 40}, {'i', 10}}, NULL},
    {"one_item",
     1,
     {256},
     {16},
     {{'B', 256}, {'B', 160}, {'B', 160}, {'B', 160}, {'B', 160}, {'i', 10}},
     "CONTIGUOUS/- -/RECT+ -/RECT -/RECT -/CONTIGUOUS+"},
    {"one_item",
     1,
     {256},
     {16},
     {{'B', 256}, {'B', 640}, {'B', 640}, {'B', 640}, {'B', 640}, {'i', 40}},
     "CONTIGUOUS/- -/RECT+ -/RECT -/RECT -/CONTIGUOUS"},
    {"one_stops", 1, {256}, {16}, {{'B', 256}, {'B', 160}, {'B', 160}, {'i', 10}}, NULL},
    {"half_items", 1, {256}, {16}, {{'B', 2560}, {'i', 10}}, "-/RECT"},
    {"last_of_loop", 1, {128}, {8}, {{'B', 64}, {'B', 256}, {'i', 64}}, NULL},
    {"window3",
     1,
     {512},
     {16},
     {{'B', 2100}, {'B', 500}, {'i', 500}},
     "CONTIGUOUS/- -/CONTIGUOUS+"},
    {"from_the_end",
     1,
     {256},
     {16},
     {{'B', 256}, {'B', 512}, {'i', 256}},
     "BROADCAST/- -/CONTIGUOUS+"},
    {"group_copies",
     1,
     {512},
     {16},
     {{'B', 512}, {'B', 512}, {'l', 64}},
     "CONTIGUOUS/- -/CONTIGUOUS+"},
    {"shifted", 1, {256}, {16}, {{'B', 600}, {'B', 300}, {'i', 290}}, NULL},
    {"shifted2d", 2, {64, 32}, {8, 4}, {{'B', 80 * 40}, {'B', 2048}, {'i', 80}}, NULL},
    {"shifted3d", 3, {16, 8, 8}, {4, 2, 2}, {{'B', 2048}, {'B', 1024}}, NULL},
    {"half_numbers", 1, {256}, {16}, {{'c', 2048}, {'c', 1024}}, "CONTIGUOUS/- -/CONTIGUOUS+"},
    {"set_later",
     1,
     {256},
     {32},
     {{'B', 256}, {'B', 512}, {'B', 256}},
     "CONTIGUOUS/- -/CONTIGUOUS+ -/CONTIGUOUS+"},
    {"products_of_24",
     2,
     {64, 32},
     {16, 4},
     {{'B', 2048}, {'B', 2048}, {'i', 60}, {'i', 31}},
     "SLAB/- -/SLAB+"},
    /* A width beyond 24 bits: what a device makes of it is not known. */
    {"products_of_24",
     2,
     {64, 32},
     {16, 4},
     {{'B', 2048}, {'B', 2048}, {'i', 1 << 24}, {'i', 1}},
     "WHOLE/- -/WHOLE"},
    {"long_bounds",
     2,
     {8, 40},
     {8, 2},
     {{'B', 4800}, {'B', 4800}, {'i', 8}},
     "CONTIGUOUS/- -/CONTIGUOUS"},
    {"far_elements", 1, {256}, {16}, {{'B', 768}}, "-/RECT+"},
    {"widths", 1, {1024}, {8}, {{'B', 65536}, {'B', 1024}, {'i', 200}, {'i', -56}}, NULL},
    {"elements_of_vectors",
     1,
     {512},
     {16},
     {{'B', 512}, {'B', 1024}, {'B', 512}},
     "RECT/RECT CONTIGUOUS/RECT+ CONTIGUOUS/-"},
    {"moved",
     1,
     {64},
     {8},
     {{'B', 64 * 5 * 4}, {'B', 64 * 5 * 2}, {'U', 64 * 5}, {'i', 5}},
     "CONTIGUOUS/CONTIGUOUS CONTIGUOUS/CONTIGUOUS CONTIGUOUS/-"},
    {"four_loops", 1, {32}, {4}, {{'B', 32 * 108}}, "-/CONTIGUOUS+"},
    {"six_loops", 1, {32}, {4}, {{'B', 32 * 216}}, "-/CONTIGUOUS+"},
    {"first_three",
     1,
     {256},
     {16},
     {{'B', 1024}, {'B', 1024}, {'B', 1024}, {'B', 1024}},
     "CONTIGUOUS/CONTIGUOUS+ CONTIGUOUS/CONTIGUOUS+ CONTIGUOUS/RECT RECT/RECT+"},
    {"one_of_two",
     1,
     {64},
     {4},
     {{'B', 64}, {'B', 64}, {'B', 64}, {'i', 32}},
     "-/RECT -/RECT CONTIGUOUS/-"},
    {"cleared",
     1,
     {256},
     {16},
     {{'B', 256 * 7}, {'B', 256 * 7}, {'B', 256 * 7}, {'i', 7}},
     "-/CONTIGUOUS+ -/CONTIGUOUS+ CONTIGUOUS/-"},
    {"quads",
     2,
     {32, 16},
     {8, 4},
     {{'B', 64 * 32 + 1}, {'B', 64}, {'i', 64}, {'i', 32}},
     "-/HALO RECT/-"},
    {"planes",
     2,
     {32, 16},
     {8, 4},
     {{'B', 32 * 16 * 3}, {'B', 3}, {'i', 32}, {'i', 16}, {'i', 3}},
     "-/RECT+ BROADCAST/-"},
    {"images_of_a_batch",
     2,
     {64, 16},
     {16, 1},
     {{'S', 16}, {'O', 16}, {'B', 1024}, {'B', 1024}},
     NULL},
    {"segments",
     1,
     {16 * 8},
     {8},
     {{'O', 17}, {'B', 1024}, {'B', 1024}},
     "HALO/- CONTIGUOUS/- -/CONTIGUOUS+"},
    {"kept",
     1,
     {128},
     {8},
     {{'B', 128 * 7}, {'B', 128 * 7}, {'B', 128 * 14}, {'i', 7}},
     "CONTIGUOUS/- -/CONTIGUOUS -/CONTIGUOUS"},
    {"wraps", 1, {240}, {8}, {{'B', 256}, {'B', 65536}, {'i', 200}}, NULL},
};

/* Global offsets with which examples are run once more. */
static const struct {
	const char *kernel;
	size_t offset[3];
} shifts[] = {{"shifted", {37, 0, 0}},
              {"shifted", {100000, 0, 0}},
              {"shifted2d", {9, 6, 0}},
              {"shifted3d", {0, 0, 3}}};

#define NEXAMPLES (sizeof(examples) / sizeof(examples[0]))

static cl_context context;
static cl_command_queue queue;
static cl_device_id device;
static char *source;
static bool known, copies_run;

/* A kernel's arguments in host memory: as given, as a full launch leaves them, and as
 * the merged ranges do. */
struct memory {
	size_t bytes[MAXARGUMENTS];
	unsigned char *given[MAXARGUMENTS], *full[MAXARGUMENTS], *merged[MAXARGUMENTS];
};

static bool is_buffer(const struct argument *argument)
{
	return argument->kind && strchr("BUOSc", argument->kind);
}

static void fill(const struct argument *argument, unsigned char *to)
{
	for (long i = 0; i < argument->n; i++)
		if (argument->kind == 'B')
			((float *)to)[i] = drand48();
		else if (argument->kind == 'U')
			((unsigned *)to)[i] = lrand48() % 100000;
		else if (argument->kind == 'O' || argument->kind == 'S')
			((unsigned *)to)[i] = argument->kind == 'O' ? i * 64 : lrand48() % 65;
		else
			to[i] = lrand48();
}

static void memory_make(const struct example *example, struct memory *memory)
{
	*memory = (struct memory){0};
	for (int a = 0; a < MAXARGUMENTS; a++) {
		const struct argument *argument = &example->arguments[a];

		if (!is_buffer(argument))
			continue;
		memory->bytes[a] = argument->n * (argument->kind == 'c' ? 1 : 4);
		memory->given[a] = malloc(memory->bytes[a]);
		memory->full[a] = malloc(memory->bytes[a]);
		memory->merged[a] = malloc(memory->bytes[a]);
		fill(argument, memory->given[a]);
		memcpy(memory->full[a], memory->given[a], memory->bytes[a]);
		memcpy(memory->merged[a], memory->given[a], memory->bytes[a]);
	}
}

static void memory_free(struct memory *memory)
{
	for (int a = 0; a < MAXARGUMENTS; a++) {
		free(memory->given[a]);
		free(memory->full[a]);
		free(memory->merged[a]);
	}
}

static cl_program program_build(const char *prologue, const char *of)
{
	const char *texts[] = {prologue, of};
	cl_int error;
	cl_program program = clCreateProgramWithSource(context, 2, texts, NULL, &error);

	assert_int_equal(error, CL_SUCCESS);
	error = clBuildProgram(program, 1, &device,
	                       "-cl-std=CL1.2 -cl-fp32-correctly-rounded-divide-sqrt", NULL, NULL);
	if (error) {
		static char log[20000];

		clGetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_LOG, sizeof(log), log,
		                      NULL);
		fail_msg("%s", log);
	}
	return program;
}

static unsigned arguments_count(const struct example *example)
{
	unsigned n = 0;

	while (n < MAXARGUMENTS && example->arguments[n].kind)
		n++;
	return n;
}

/* Launches a kernel on buffers with the given contents, which are replaced.
 * @param exits the range, of a kernel with an early exit; NULL: it has none */
static void launch(cl_program program, const struct example *example, const size_t *bytes,
                   unsigned char *const *contents, const struct ndrange_launch *launches,
                   unsigned nlaunches, const cl_ulong *exits)
{
	cl_int error;
	cl_kernel kernel = clCreateKernel(program, example->kernel, &error);
	cl_mem buffers[MAXARGUMENTS] = {0};
	float half = 0.5f;

	assert_int_equal(error, CL_SUCCESS);
	for (int a = 0; a < MAXARGUMENTS; a++) {
		const struct argument *argument = &example->arguments[a];
		int number = argument->n;

		if (is_buffer(argument)) {
			buffers[a] = clCreateBuffer(context, CL_MEM_COPY_HOST_PTR, bytes[a],
			                            contents[a], &error);
			assert_int_equal(error, CL_SUCCESS);
			error = clSetKernelArg(kernel, a, sizeof(cl_mem), &buffers[a]);
		} else if (argument->kind) {
			error = argument->kind == 'l' ? clSetKernelArg(kernel, a, number, NULL)
			        : argument->kind == 'i'
			            ? clSetKernelArg(kernel, a, sizeof(int), &number)
			            : clSetKernelArg(kernel, a, sizeof(float), &half);
		}
		assert_int_equal(error, CL_SUCCESS);
	}
	for (unsigned i = 0, n = arguments_count(example); exits && i < 2; i++)
		assert_int_equal(clSetKernelArg(kernel, n + i, sizeof(*exits), &exits[i]),
		                 CL_SUCCESS);
	for (unsigned i = 0; i < nlaunches; i++)
		assert_int_equal(clEnqueueNDRangeKernel(queue, kernel, launches[i].dimensions,
		                                        launches[i].offset, launches[i].global,
		                                        launches[i].local, 0, NULL, NULL),
		                 CL_SUCCESS);
	for (int a = 0; a < MAXARGUMENTS; a++)
		if (buffers[a]) {
			assert_int_equal(clEnqueueReadBuffer(queue, buffers[a], CL_TRUE, 0,
			                                     bytes[a], contents[a], 0, NULL, NULL),
			                 CL_SUCCESS);
			clReleaseMemObject(buffers[a]);
		}
	clReleaseKernel(kernel);
}

static void description_make(const struct example *example, struct index_kernel *kernel)
{
	enum index_kind kinds[MAXARGUMENTS];
	unsigned n = 0;

	if (known) {
		assert_int_equal(kernel_analyse(source, example->kernel, "", NULL, kernel, why), 0);
		return;
	}
	assert_int_equal(kernel_analyse(source, example->kernel, "", NULL, kernel, why), -ENOENT);
	for (; n < MAXARGUMENTS && example->arguments[n].kind; n++)
		kinds[n] = is_buffer(&example->arguments[n])   ? INDEX_BUFFER
		           : example->arguments[n].kind == 'i' ? INDEX_INTEGER
		                                               : INDEX_OTHER;
	assert_int_equal(index_unknown(n, kinds, kernel), 0);
}

/* The rows of a window, and nothing else. */
static void window_copy(unsigned char *to, const unsigned char *from,
                        const struct index_window *window)
{
	size_t width = window->pitch ? window->width : window->end - window->first;

	for (size_t row = 0; row < index_window_rows(window); row++) {
		size_t at = window->first + row * window->pitch;

		memcpy(to + at, from + at, width);
	}
}

/* Brings home what a device wrote, in a copy as the run time fetches it. */
static void window_merge(struct memory *memory, int a, const unsigned char *contents,
                         const struct index_window *write)
{
	struct kernel_layout layout = kernel_layout(write);
	unsigned char *copy = malloc(layout.bytes + 1), *before = malloc(layout.bytes + 1);

	kernel_merge_pack(copy, contents, &layout);
	kernel_merge_pack(before, memory->given[a], &layout);
	kernel_merge_rows(memory->merged[a], write->dense ? NULL : before, copy, &layout);
	free(copy);
	free(before);
}

/* One range: poisoned buffers, the launch, the detection of stray writes, the merge.
 * Returns the bytes that had to be sent. */
static size_t range_run(cl_program program, const struct example *example,
                        const struct index_kernel *kernel, const struct index_launch *at,
                        enum ndrange_way way, size_t from, size_t n, struct memory *memory)
{
	struct ndrange_launch launches[NDRANGE_MAXBOXES];
	unsigned nlaunches = ndrange_launches(at->range, way, from, n, launches);
	unsigned char *contents[MAXARGUMENTS] = {0}, *before[MAXARGUMENTS] = {0};
	struct index_use uses[MAXARGUMENTS];
	size_t sent = 0;

	assert_int_equal(index_uses(kernel, at, from, n, uses), 0);
	for (int a = 0; a < MAXARGUMENTS; a++) {
		if (!memory->bytes[a])
			continue;
		contents[a] = malloc(memory->bytes[a]);
		before[a] = malloc(memory->bytes[a]);
		memset(contents[a], POISON, memory->bytes[a]);
		window_copy(contents[a], memory->given[a], &uses[a].read);
		sent += uses[a].read.pitch ? index_window_rows(&uses[a].read) * uses[a].read.width
		                           : uses[a].read.end - uses[a].read.first;
		if (!uses[a].write.dense)
			window_copy(contents[a], memory->given[a], &uses[a].write);
		memcpy(before[a], contents[a], memory->bytes[a]);
	}
	launch(program, example, memory->bytes, contents, launches, nlaunches,
	       way == NDRANGE_EXIT ? (cl_ulong[]){from, from + n - 1} : NULL);
	for (int a = 0; a < MAXARGUMENTS; a++) {
		if (!memory->bytes[a])
			continue;
		window_merge(memory, a, contents[a], &uses[a].write);
		/* Nothing outside of the window, nor between its rows, has changed. */
		window_copy(before[a], contents[a], &uses[a].write);
		assert_memory_equal(contents[a], before[a], memory->bytes[a]);
		free(contents[a]);
		free(before[a]);
	}
	return sent;
}

/* All ranges of one random split. */
static size_t split_run(cl_program program, const struct example *example,
                        const struct index_kernel *kernel, const struct index_launch *at,
                        enum ndrange_way way, struct memory *memory)
{
	size_t groups = ndrange_groups(at->range), from = 0, sent = 0;

	for (int a = 0; a < MAXARGUMENTS; a++)
		if (memory->bytes[a])
			memcpy(memory->merged[a], memory->given[a], memory->bytes[a]);
	while (from < groups) {
		size_t n = 1 + lrand48() % (groups - from);

		sent += range_run(program, example, kernel, at, way, from, n, memory);
		from += n;
	}
	for (int a = 0; a < MAXARGUMENTS; a++)
		if (memory->bytes[a])
			assert_memory_equal(memory->merged[a], memory->full[a], memory->bytes[a]);
	return sent;
}

static void classes_check(const struct example *example, const struct index_kernel *kernel,
                          const struct index_launch *at)
{
	struct index_use uses[MAXARGUMENTS];
	char text[400] = "";

	assert_int_equal(index_uses(kernel, at, 0, ndrange_groups(at->range), uses), 0);
	for (int a = 0; a < MAXARGUMENTS; a++) {
		enum index_class read, write;

		if (!is_buffer(&example->arguments[a]))
			continue;
		assert_int_equal(index_classes(kernel, at, a, &read, &write), 0);
		snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s%s/%s%s",
		         *text ? " " : "", read ? index_class_name(read) : "-",
		         write ? index_class_name(write) : "-", uses[a].write.dense ? "+" : "");
	}
	printf("  %-14s %s\n", example->kernel, text);
	if (known && example->classes)
		assert_string_equal(text, example->classes);
}

static bool has_copies(const struct example *example)
{
	return !strcmp(example->kernel, "group_copies");
}

/* PoCL 3.1 crashes in copies behind an early exit. */
static bool is_exit_refused(const struct example *example)
{
	return has_copies(example);
}

/* A launch of all of a kernel. */
static struct ndrange_launch launch_of_all(const struct example *example, const size_t *offset)
{
	struct ndrange_launch all = {example->dimensions, {0}, {1, 1, 1}, {1, 1, 1}};

	for (unsigned d = 0; d < example->dimensions; d++) {
		all.offset[d] = offset[d];
		all.global[d] = example->global[d];
		all.local[d] = example->local[d];
	}
	return all;
}

static void example_run(const struct example *example, const size_t *offset, cl_program plain,
                        cl_program flat, cl_program exits)
{
	struct ndrange range;
	struct memory memory;
	struct index_kernel kernel;
	struct ndrange_launch all = launch_of_all(example, offset);
	int64_t integers[MAXARGUMENTS];
	struct index_launch at = {&range, integers, memory.bytes, NULL,
	                          (const unsigned char *const *)memory.given};
	char *prologue;
	cl_program boxes, shifted = NULL;

	assert_int_equal(ndrange_make(example->dimensions, example->global, example->local, &range),
	                 0);
	assert_int_equal(ndrange_shift(&range, offset), 0);
	for (int a = 0; a < MAXARGUMENTS; a++)
		integers[a] = example->arguments[a].n;
	memory_make(example, &memory);
	description_make(example, &kernel);
	assert_null(kernel.refusal);
	classes_check(example, &kernel, &at);
	if (has_copies(example) && !copies_run) {
		index_free(&kernel);
		memory_free(&memory);
		return;
	}
	launch(plain, example, memory.bytes, memory.full, &all, 1, NULL);
	if (!ndrange_offset_free(&range, NDRANGE_FLAT)) {
		prologue = ndrange_prologue(&range, NDRANGE_FLAT);
		flat = shifted = program_build(prologue, source);
		free(prologue);
	}
	for (int round = 0; round < ROUNDS; round++)
		split_run(flat, example, &kernel, &at, NDRANGE_FLAT, &memory);
	if (shifted)
		clReleaseProgram(shifted);
	if (!is_exit_refused(example))
		split_run(exits, example, &kernel, &at, NDRANGE_EXIT, &memory);
	if (example->dimensions > 1) {
		prologue = ndrange_prologue(&range, NDRANGE_BOXES);
		boxes = program_build(prologue, source);
		split_run(boxes, example, &kernel, &at, NDRANGE_BOXES, &memory);
		clReleaseProgram(boxes);
		free(prologue);
	}
	index_free(&kernel);
	memory_free(&memory);
}

/* Whether an example before this one has the same kernel. */
static bool exit_made(size_t example)
{
	for (size_t i = 0; i < example; i++)
		if (!strcmp(examples[i].kernel, examples[example].kernel))
			return true;
	return false;
}

/* All kernels with an early exit. */
static cl_program exits_build(void)
{
	char *text = strdup(source), *prologue = ndrange_prologue(NULL, NDRANGE_EXIT);
	char *copies = strstr(text, "__kernel void group_copies");
	cl_program program;

	assert_null(ndrange_exit_source(text, "group_copies"));
	memmove(copies, strstr(copies, "\n}\n"), strlen(strstr(copies, "\n}\n")) + 1);
	memcpy(copies, "\n \n", 3);
	for (size_t i = 0; i < NEXAMPLES; i++) {
		char *next;

		if (is_exit_refused(&examples[i]) || exit_made(i))
			continue;
		next = ndrange_exit_source(text, examples[i].kernel);
		assert_non_null(next);
		free(text);
		text = next;
	}
	program = program_build(prologue, text);
	free(text);
	free(prologue);
	return program;
}

/* get_work_dim() is compiled in: a program for each number of dimensions. */
static void windows_hold(void **state)
{
	cl_program plain = program_build("\n", source), exits = exits_build(), flat[4] = {0};

	for (size_t i = 0; i < NEXAMPLES; i++) {
		struct ndrange range = {.dimensions = examples[i].dimensions};

		/* The kernel that asks for dimensions was launched with three of them. */
		if (!flat[range.dimensions]) {
			char *prologue = ndrange_prologue(&range, NDRANGE_FLAT);

			flat[range.dimensions] = program_build(prologue, source);
			free(prologue);
		}
		example_run(&examples[i], (size_t[]){0, 0, 0}, plain, flat[range.dimensions],
		            exits);
		for (size_t s = 0; s < sizeof(shifts) / sizeof(shifts[0]); s++)
			if (!strcmp(shifts[s].kernel, examples[i].kernel))
				example_run(&examples[i], shifts[s].offset, plain,
				            flat[range.dimensions], exits);
	}
	for (int d = 1; d < 4; d++)
		clReleaseProgram(flat[d]);
	clReleaseProgram(exits);
	clReleaseProgram(plain);
}

static void refused_expect(const char *of, const char *name, const char *options,
                           const char *expected)
{
	struct index_kernel kernel;

	assert_int_equal(kernel_analyse(of, name, options, NULL, &kernel, why), 0);
	if (!kernel.refusal || !strstr(kernel.refusal, expected))
		fail_msg("%s: %s", of, kernel.refusal ? kernel.refusal : "not refused");
	index_free(&kernel);
}

static void refusals(void **state)
{
	static const struct {
		const char *kernel, *why;
	} refused[] = {{"counter", "atomic"},
	               {"speaker", "prints"},
	               {"blender", "interpolates"},
	               {"stretcher", "normalized"},
	               {"liner", "opaque argument"}};

	for (size_t i = 0; known && i < sizeof(refused) / sizeof(refused[0]); i++)
		refused_expect(source, refused[i].kernel, NULL, refused[i].why);
}

/* Ranges of these would do something else than the whole, or nobody knows that they would not. */
static void unknown_calls(void **state)
{
	static const struct {
		const char *before, *body, *options, *why;
	} refused[] = {
	    {"", "x[get_global_id(0)] = get_global_linear_id();", "-cl-std=CL3.0",
	     "get_global_linear_id()"},
	    {"#define get_global_id(d) ((int)get_global_id(d))\n", "x[get_global_id(0)] = 1;", "",
	     "get_global_id()"},
	    {"#undef get_num_groups\n", "x[get_global_id(0)] = get_num_groups(0);", "",
	     "get_num_groups()"},
	    {"int serial(void);\n", "x[get_global_id(0)] = serial();", "", "serial()"},
	    {"", "INC(x);", "-DINC=atomic_inc", "atomic"},
	    {"", "*(volatile __global int *)x = 1;", "", "volatile"},
	    {"global int y;\n", "x[get_global_id(0)] = y++;", "-cl-std=CL2.0", "variables"},
	    {"", "((__global ulong *)x)[get_global_id(0)] = (ulong)(x + get_global_id(0));", "",
	     "stores a pointer"},
	    {"", "((__global ulong *)x)[get_global_id(0)] = (ulong)x >> 4 | 1;", "",
	     "stores a pointer"},
	    {"", "x[get_global_id(0)] = *(__global int *)((__global ulong *)x)[1];", "",
	     "pointer of a number"},
	    {"", "*(__global int *)(size_t)(get_global_id(0) + x[0]) = 1;", "",
	     "pointer of a number"},
	    {"", "*((__global int *)0 + x[0]) = 1;", "", "pointer of a number"},
	    {"", "*(get_local_id(0) >> 4 < 50 ? x + 1 : (__global int *)0 + x[0]) = 1;", "",
	     "pointer of a number"},
	    {"", "x[get_global_id(0)] = **((__global int *__global *)x + 1);", "",
	     "reads a pointer"},
	};

	for (size_t i = 0; known && i < sizeof(refused) / sizeof(refused[0]); i++) {
		char text[300];

		snprintf(text, sizeof(text), "%s__kernel void k(__global int *x) { %s }",
		         refused[i].before, refused[i].body);
		refused_expect(text, "k", refused[i].options, refused[i].why);
	}
}

/* Whether a program compiles for a version of OpenCL C. */
static bool is_built(const char *prologue, const char *text, const char *options)
{
	cl_int error;
	cl_program program =
	    clCreateProgramWithSource(context, 2, (const char *[]){prologue, text}, NULL, &error);

	assert_int_equal(error, CL_SUCCESS);
	error = clBuildProgram(program, 1, &device, options, NULL, NULL);
	clReleaseProgram(program);
	return error == CL_SUCCESS;
}

/* A source compiles with each prologue for each version for which it compiles without one. */
static void versions(void **state)
{
	static const char text[] = "__kernel void k(__global int *x)\n"
	                           "{ x[get_global_id(0)] = get_global_size(1); }\n";
	static const char *const options[] = {"",
	                                      "-Werror -cl-std=CL1.0",
	                                      "-Werror -cl-std=CL1.1",
	                                      "-Werror -cl-std=CL1.2",
	                                      "-Werror -cl-std=CL2.0",
	                                      "-Werror -cl-std=CL3.0"};
	const struct ndrange range = {2, {8, 8, 1}, {4, 4, 1}, {0, 0, 0}};
	char *exits = ndrange_exit_source(text, "k");

	for (size_t o = 0; o < sizeof(options) / sizeof(options[0]); o++) {
		if (!is_built("", text, options[o]))
			continue;
		for (int way = NDRANGE_FLAT; way < NDRANGE_WHOLE; way++) {
			char *prologue = ndrange_prologue(&range, way);

			if (!is_built(prologue, way == NDRANGE_EXIT ? exits : text, options[o]))
				fail_msg("way %d, options %s", way, options[o]);
			free(prologue);
		}
	}
	free(exits);
}

/* Of values that lead to each other in two ways each there are few, of ways many. */
static void long_chains(void **state)
{
	static const char round[] = "v = ((v << 5) | (v >> 27)) ^ v * K; ",
	                  step[] = "q = v & 1 ? q + 1 : q + v; ";
	enum { N = 300 };
	char *text = calloc(1, 500 + N * (sizeof(round) + sizeof(step)));
	struct index_kernel kernel;

	strcpy(text, "__kernel void k(__global int *x, uint K, uint n)\n"
	             "{ uint v = get_global_id(0); __global int *q = x; ");
	for (int i = 0; i < N; i++)
		strcat(text, round);
	strcat(text, "for (uint i = 0; i < (v & 7); i++) x[(v & 255) + i] = 1;\n");
	for (int i = 0; i < N; i++)
		strcat(text, step);
	strcat(text, "*q = 1; }");
	setenv("HEDDLE_ANALYSE_LIMIT", "120", 1);
	if (known) {
		assert_int_equal(kernel_analyse(text, "k", NULL, NULL, &kernel, why), 0);
		assert_null(kernel.refusal);
		index_free(&kernel);
	}
	unsetenv("HEDDLE_ANALYSE_LIMIT");
	free(text);
}

/* Functions that no kernel calls are not inlined: here that would be 2^40 of them. */
static void uncalled(void **state)
{
	enum { N = 40, LINE = 100 };
	char *text = calloc(N + 3, LINE), *at = text;
	struct index_kernel kernel;

	at += sprintf(at, "int f0(int x) { return x * x + 1; }\n");
	for (int i = 1; i <= N; i++)
		at += sprintf(at, "int f%d(int x) { return f%d(f%d(x + %d) * 3) ^ x; }\n", i, i - 1,
		              i - 1, i);
	strcpy(at, "__kernel void k(__global int *x) { x[get_global_id(0)] = f2(1); }\n");
	setenv("HEDDLE_ANALYSE_LIMIT", "120", 1);
	if (known) {
		assert_int_equal(kernel_analyse(text, "k", NULL, NULL, &kernel, why), 0);
		assert_null(kernel.refusal);
		index_free(&kernel);
	}
	unsetenv("HEDDLE_ANALYSE_LIMIT");
	free(text);
}

static void source_read(const char *top)
{
	char path[4096];
	FILE *file;
	size_t n;

	snprintf(path, sizeof(path), "%s/tests/unit/kernel_ranges.cl", top);
	file = fopen(path, "r");
	source = calloc(1, 100000);
	n = file ? fread(source, 1, 99999, file) : 0;
	if (!n)
		exit(99);
	fclose(file);
}

static bool device_find(void)
{
	cl_platform_id platforms[8];
	cl_uint n = 0;
	cl_int error;

	if (clGetPlatformIDs(8, platforms, &n))
		return false;
	for (cl_uint p = 0; p < n; p++)
		if (!clGetDeviceIDs(platforms[p], CL_DEVICE_TYPE_ALL, 1, &device, NULL)) {
			context = clCreateContext(NULL, 1, &device, NULL, NULL, &error);
			queue = context ? clCreateCommandQueue(context, device, 0, &error) : NULL;
			return queue;
		}
	return false;
}

/* PoCL 6 ends a process that launches copies as CL1.2 has them: the program that it makes lacks a
 * function. Whether this device has them is tried in another process, with OpenCL alone. */
static bool copies_try(void)
{
	pid_t child = fork();
	int status = -1;

	if (!child) {
		for (size_t i = 0; i < NEXAMPLES && device_find(); i++)
			if (has_copies(&examples[i])) {
				struct ndrange_launch all =
				    launch_of_all(&examples[i], (size_t[]){0, 0, 0});
				struct memory memory;

				memory_make(&examples[i], &memory);
				launch(program_build("\n", source), &examples[i], memory.bytes,
				       memory.full, &all, 1, NULL);
			}
		_exit(0);
	}
	return child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) &&
	       !WEXITSTATUS(status);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(windows_hold),  cmocka_unit_test(refusals),
	    cmocka_unit_test(unknown_calls), cmocka_unit_test(versions),
	    cmocka_unit_test(long_chains),   cmocka_unit_test(uncalled),
	};
	unsigned seed = test_seed();

	if (argc != 3)
		return 2;
	known = strcmp(argv[2], "unknown");
	source_read(argv[1]);
	copies_run = copies_try();
	if (!copies_run)
		puts("left out: group_copies, which ends a program of OpenCL alone on this device");
	if (!device_find()) {
		fputs("no OpenCL device\n", stderr);
		return 77;
	}
	print_message("descriptions: %s\n", argv[2]);
	srand48(seed);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
