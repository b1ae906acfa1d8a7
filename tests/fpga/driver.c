/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The driver through OpenCL's loader: what misuse answers, how far memory goes, how
 * long transfers take at least, fills, rectangles and maps, and a kernel from beginning to
 * end.
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/test.h"
#include "fpga/icd/icd.h"

enum { BINS = 256, N = 1003 };

static cl_platform_id platform;
static cl_device_id device;
static cl_context context;
static cl_command_queue queue;
static cl_program program;
static cl_kernel kernel;
static cl_mem bytes, counters;
static cl_int error;

static unsigned char *design_read(size_t *size)
{
	const char *builddir = getenv("top_builddir");
	unsigned char *all = malloc(1 << 24);
	char path[4096];
	FILE *file;

	snprintf(path, sizeof(path), "%s/bin/fpga/histogram.fpga", builddir ? builddir : ".");
	file = fopen(path, "rb");
	if (!file)
		exit(77);
	*size = fread(all, 1, 1 << 24, file);
	fclose(file);
	return all;
}

static int set_up(void **state)
{
	cl_platform_id platforms[16];
	cl_uint n = 0;
	size_t size;
	unsigned char *binary = design_read(&size);

	assert_int_equal(clGetPlatformIDs(16, platforms, &n), CL_SUCCESS);
	for (cl_uint p = 0; p < n; p++) {
		char vendor[64] = "";

		clGetPlatformInfo(platforms[p], CL_PLATFORM_VENDOR, sizeof(vendor), vendor, NULL);
		if (!strcmp(vendor, "Heddle"))
			platform = platforms[p];
	}
	assert_non_null(platform);
	assert_int_equal(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ACCELERATOR, 1, &device, &n), 0);
	context = clCreateContext(NULL, 1, &device, NULL, NULL, &error);
	assert_int_equal(error, CL_SUCCESS);
	queue = clCreateCommandQueue(context, device, CL_QUEUE_PROFILING_ENABLE, &error);
	assert_int_equal(error, CL_SUCCESS);
	program = clCreateProgramWithBinary(context, 1, &device, &size,
	                                    (const unsigned char **)&binary, NULL, &error);
	assert_int_equal(error, CL_SUCCESS);
	assert_null(clCreateKernel(program, "histogram", &error));
	assert_int_equal(error, CL_INVALID_PROGRAM_EXECUTABLE);
	assert_int_equal(clBuildProgram(program, 1, &device, NULL, NULL, NULL), CL_SUCCESS);
	kernel = clCreateKernel(program, "histogram", &error);
	assert_int_equal(error, CL_SUCCESS);
	bytes = clCreateBuffer(context, CL_MEM_READ_ONLY, N, NULL, &error);
	assert_int_equal(error, CL_SUCCESS);
	counters = clCreateBuffer(context, CL_MEM_READ_WRITE, BINS * 8, NULL, &error);
	assert_int_equal(error, CL_SUCCESS);
	free(binary);
	return 0;
}

static int tear_down(void **state)
{
	assert_int_equal(clReleaseMemObject(bytes), CL_SUCCESS);
	assert_int_equal(clReleaseMemObject(counters), CL_SUCCESS);
	assert_int_equal(clReleaseKernel(kernel), CL_SUCCESS);
	assert_int_equal(clReleaseProgram(program), CL_SUCCESS);
	assert_int_equal(clReleaseCommandQueue(queue), CL_SUCCESS);
	assert_int_equal(clReleaseContext(context), CL_SUCCESS);
	return 0;
}

/* Every wrong object is a living one of another type. */
#define WRONG(type) ((type)device)
#define NO_OBJECT(call, expected)                                                                  \
	do {                                                                                       \
		error = CL_SUCCESS;                                                                \
		assert_null(call);                                                                 \
		assert_int_equal(error, expected);                                                 \
	} while (0)

static void test_misuse_of_objects(void **state)
{
	cl_event event = NULL;
	size_t one = 1;
	char room[64];

	assert_int_equal(clGetDeviceInfo((cl_device_id)context, CL_DEVICE_NAME, 64, room, NULL),
	                 CL_INVALID_DEVICE);
	assert_int_equal(clGetDeviceInfo(device, CL_DEVICE_NAME, 1, room, NULL), CL_INVALID_VALUE);
	assert_int_equal(clGetDeviceInfo(device, 0x7777, 64, room, NULL), CL_INVALID_VALUE);
	assert_int_equal(clGetDeviceIDs(platform, CL_DEVICE_TYPE_GPU, 1, &device, NULL),
	                 CL_DEVICE_NOT_FOUND);
	assert_int_equal(clGetDeviceIDs(platform, 1 << 20, 1, &device, NULL),
	                 CL_INVALID_DEVICE_TYPE);
	NO_OBJECT(clCreateContext(NULL, 0, &device, NULL, NULL, &error), CL_INVALID_VALUE);
	NO_OBJECT(clCreateCommandQueue(WRONG(cl_context), device, 0, &error), CL_INVALID_CONTEXT);
	NO_OBJECT(
	    clCreateCommandQueue(context, device, CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE, &error),
	    CL_INVALID_QUEUE_PROPERTIES);
	NO_OBJECT(clCreateProgramWithSource(context, 1, (const char *[]){""}, NULL, &error),
	          CL_INVALID_OPERATION);
	NO_OBJECT(clCreateProgramWithBinary(context, 1, &device, &(size_t){100},
	                                    (const unsigned char *[]){(unsigned char[100]){1}},
	                                    NULL, &error),
	          CL_INVALID_BINARY);
	NO_OBJECT(clCreateKernel(program, "other", &error), CL_INVALID_KERNEL_NAME);
	NO_OBJECT(clCreateKernel(WRONG(cl_program), "histogram", &error), CL_INVALID_PROGRAM);
	assert_int_equal(clReleaseMemObject(WRONG(cl_mem)), CL_INVALID_MEM_OBJECT);
	assert_int_equal(clRetainEvent(WRONG(cl_event)), CL_INVALID_EVENT);
	assert_int_equal(clReleaseKernel(WRONG(cl_kernel)), CL_INVALID_KERNEL);
	assert_int_equal(clFinish(WRONG(cl_command_queue)), CL_INVALID_COMMAND_QUEUE);
	assert_int_equal(
	    clEnqueueReadBuffer(queue, WRONG(cl_mem), CL_TRUE, 0, 1, room, 0, NULL, NULL),
	    CL_INVALID_MEM_OBJECT);
	assert_int_equal(clEnqueueReadBuffer(queue, bytes, CL_TRUE, 0, 1, room, 1, NULL, NULL),
	                 CL_INVALID_EVENT_WAIT_LIST);
	assert_int_equal(clEnqueueReadBuffer(queue, bytes, CL_TRUE, N, 1, room, 0, NULL, NULL),
	                 CL_INVALID_VALUE);
	assert_int_equal(
	    clEnqueueReadBuffer(queue, bytes, CL_TRUE, SIZE_MAX, 2, room, 0, NULL, NULL),
	    CL_INVALID_VALUE);
	assert_int_equal(clEnqueueWriteBuffer(queue, bytes, CL_TRUE, 0, 1, NULL, 0, NULL, NULL),
	                 CL_INVALID_VALUE);
	assert_int_equal(clEnqueueCopyBuffer(queue, bytes, bytes, 0, 5, 10, 0, NULL, NULL),
	                 CL_MEM_COPY_OVERLAP);
	assert_int_equal(
	    clEnqueueNDRangeKernel(queue, WRONG(cl_kernel), 1, NULL, &one, NULL, 0, NULL, &event),
	    CL_INVALID_KERNEL);
	assert_null(event);
}

static void test_dead_object(void **state)
{
	cl_mem memory = clCreateBuffer(context, 0, 16, NULL, &error);

	assert_int_equal(clReleaseMemObject(memory), CL_SUCCESS);
	assert_int_equal(clReleaseMemObject(memory), CL_INVALID_MEM_OBJECT);
}

static void test_memory(void **state)
{
	cl_ulong limit;
	cl_mem first;

	clGetDeviceInfo(device, CL_DEVICE_GLOBAL_MEM_SIZE, sizeof(limit), &limit, NULL);
	NO_OBJECT(clCreateBuffer(context, 0, 0, NULL, &error), CL_INVALID_BUFFER_SIZE);
	NO_OBJECT(clCreateBuffer(context, 0, limit + 1, NULL, &error), CL_INVALID_BUFFER_SIZE);
	NO_OBJECT(clCreateBuffer(context, CL_MEM_COPY_HOST_PTR, 1, NULL, &error),
	          CL_INVALID_HOST_PTR);
	NO_OBJECT(clCreateBuffer(context, CL_MEM_READ_ONLY | CL_MEM_WRITE_ONLY, 1, NULL, &error),
	          CL_INVALID_VALUE);
	first = clCreateBuffer(context, 0, limit - 8192, NULL, &error);
	assert_non_null(first);
	NO_OBJECT(clCreateBuffer(context, 0, 8192, NULL, &error), CL_MEM_OBJECT_ALLOCATION_FAILURE);
	clReleaseMemObject(first);
	first = clCreateBuffer(context, 0, 8192, NULL, &error);
	assert_non_null(first);
	clReleaseMemObject(first);
}

static void set_arguments(cl_ulong n, cl_ulong offset)
{
	cl_ulong zero = 0;

	assert_int_equal(clSetKernelArg(kernel, 0, sizeof(n), &n), CL_SUCCESS);
	assert_int_equal(clSetKernelArg(kernel, 1, sizeof(bytes), &bytes), CL_SUCCESS);
	assert_int_equal(clSetKernelArg(kernel, 2, sizeof(offset), &offset), CL_SUCCESS);
	assert_int_equal(clSetKernelArg(kernel, 3, sizeof(counters), &counters), CL_SUCCESS);
	assert_int_equal(clSetKernelArg(kernel, 4, sizeof(zero), &zero), CL_SUCCESS);
}

static void test_arguments(void **state)
{
	cl_kernel other = clCreateKernel(program, "histogram", &error);
	cl_mem wrong = WRONG(cl_mem);
	size_t one = 1, two = 2;
	cl_ulong n = 1;

	assert_int_equal(clEnqueueTask(queue, other, 0, NULL, NULL), CL_INVALID_KERNEL_ARGS);
	clReleaseKernel(other);
	assert_int_equal(clSetKernelArg(kernel, 5, sizeof(n), &n), CL_INVALID_ARG_INDEX);
	assert_int_equal(clSetKernelArg(kernel, 0, 4, &n), CL_INVALID_ARG_SIZE);
	assert_int_equal(clSetKernelArg(kernel, 0, sizeof(n), NULL), CL_INVALID_ARG_VALUE);
	assert_int_equal(clSetKernelArg(kernel, 1, sizeof(wrong), &wrong), CL_INVALID_MEM_OBJECT);
	/* Beyond the end of the buffer, also by an overflow. */
	set_arguments(N + 1, 0);
	assert_int_equal(clEnqueueTask(queue, kernel, 0, NULL, NULL), CL_INVALID_KERNEL_ARGS);
	set_arguments(N, 1);
	assert_int_equal(clEnqueueTask(queue, kernel, 0, NULL, NULL), CL_INVALID_KERNEL_ARGS);
	set_arguments(UINT64_MAX, UINT64_MAX);
	assert_int_equal(clEnqueueTask(queue, kernel, 0, NULL, NULL), CL_INVALID_KERNEL_ARGS);
	set_arguments(1, 0);
	assert_int_equal(clEnqueueNDRangeKernel(queue, kernel, 4, NULL, &one, NULL, 0, NULL, NULL),
	                 CL_INVALID_WORK_DIMENSION);
	assert_int_equal(clEnqueueNDRangeKernel(queue, kernel, 1, NULL, NULL, NULL, 0, NULL, NULL),
	                 CL_INVALID_GLOBAL_WORK_SIZE);
	assert_int_equal(clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &two, NULL, 0, NULL, NULL),
	                 CL_INVALID_GLOBAL_WORK_SIZE);
	assert_int_equal(clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &one, &two, 0, NULL, NULL),
	                 CL_INVALID_WORK_GROUP_SIZE);
	assert_int_equal(clEnqueueNDRangeKernel(queue, kernel, 1, &one, &one, NULL, 0, NULL, NULL),
	                 CL_INVALID_GLOBAL_OFFSET);
}

static cl_ulong when(cl_event event, cl_profiling_info what)
{
	cl_ulong time = 0;

	assert_int_equal(clGetEventProfilingInfo(event, what, sizeof(time), &time, NULL), 0);
	return time;
}

/* A run in the order of an in-order queue, with an offset. */
static void test_run(void **state)
{
	enum { FIRST = 3 };
	unsigned char in[N];
	uint64_t out[BINS] = {0}, right[BINS] = {0};
	cl_event written, run;
	cl_ulong clocks = 0;

	for (int i = 0; i < N; i++) {
		in[i] = i * 7 % 251;
		right[in[i]] += i >= FIRST;
	}
	set_arguments(N - FIRST, FIRST);
	assert_int_equal(clEnqueueWriteBuffer(queue, bytes, CL_FALSE, 0, N, in, 0, NULL, NULL), 0);
	assert_int_equal(
	    clEnqueueWriteBuffer(queue, counters, CL_FALSE, 0, sizeof(out), out, 0, NULL, &written),
	    0);
	assert_int_equal(clEnqueueTask(queue, kernel, 1, &written, &run), 0);
	assert_int_equal(
	    clEnqueueReadBuffer(queue, counters, CL_TRUE, 0, sizeof(out), out, 1, &run, NULL), 0);
	assert_memory_equal(out, right, sizeof(out));
	assert_int_equal(clGetEventInfo(run, CL_EVENT_CLOCKS_HEDDLE, 8, &clocks, NULL), 0);
	assert_in_range(clocks, (N - FIRST) / 16 + BINS, (N - FIRST) / 16 + 2 * BINS + 20);
	assert_true(when(run, CL_PROFILING_COMMAND_QUEUED) <=
	            when(run, CL_PROFILING_COMMAND_SUBMIT));
	assert_true(when(run, CL_PROFILING_COMMAND_SUBMIT) <=
	            when(run, CL_PROFILING_COMMAND_START));
	assert_true(when(run, CL_PROFILING_COMMAND_START) < when(run, CL_PROFILING_COMMAND_END));
	assert_true(when(written, CL_PROFILING_COMMAND_END) <=
	            when(run, CL_PROFILING_COMMAND_START));
	/* 5 us and 12000 MB/s unless the environment says otherwise. */
	assert_true(when(written, CL_PROFILING_COMMAND_END) -
	                when(written, CL_PROFILING_COMMAND_START) >=
	            5000);
	clReleaseEvent(written);
	clReleaseEvent(run);
}

/* What the driver tells of a kernel and of the device's time. */
static void test_modelled(void **state)
{
	cl_ulong clocks = 0, modelled = 0, taken = 0, before = 0, after = 0;
	cl_event run;

	set_arguments(N, 0);
	assert_int_equal(clGetDeviceInfo(device, CL_DEVICE_MODELLED_HEDDLE, 8, &before, NULL), 0);
	assert_int_equal(clEnqueueTask(queue, kernel, 0, NULL, &run), 0);
	assert_int_equal(clWaitForEvents(1, &run), 0);
	assert_int_equal(clGetEventInfo(run, CL_EVENT_CLOCKS_HEDDLE, 8, &clocks, NULL), 0);
	assert_int_equal(clGetEventInfo(run, CL_EVENT_MODELLED_HEDDLE, 8, &modelled, NULL), 0);
	assert_int_equal(clGetEventInfo(run, CL_EVENT_TAKEN_HEDDLE, 8, &taken, NULL), 0);
	assert_int_equal(clGetDeviceInfo(device, CL_DEVICE_MODELLED_HEDDLE, 8, &after, NULL), 0);
	assert_int_equal(modelled, clocks * 4); /* 250 MHz */
	assert_int_equal(after - before, modelled);
	assert_int_equal(taken, when(run, CL_PROFILING_COMMAND_END) -
	                            when(run, CL_PROFILING_COMMAND_START));
	clReleaseEvent(run);
}

static void test_fill(void **state)
{
	unsigned char out[N];
	unsigned pattern = 0x04030201;

	assert_int_equal(clEnqueueFillBuffer(queue, bytes, "x", 1, 0, N, 0, NULL, NULL), 0);
	assert_int_equal(clEnqueueFillBuffer(queue, bytes, &pattern, 4, 8, 12, 0, NULL, NULL), 0);
	assert_int_equal(clEnqueueReadBuffer(queue, bytes, CL_TRUE, 0, N, out, 0, NULL, NULL), 0);
	for (int i = 0; i < N; i++)
		assert_int_equal(out[i], i >= 8 && i < 20 ? i % 4 + 1 : 'x');
#define FILL(pattern, pattern_size, offset, size)                                                  \
	clEnqueueFillBuffer(queue, bytes, pattern, pattern_size, offset, size, 0, NULL, NULL)
	assert_int_equal(FILL(NULL, 4, 0, 4), CL_INVALID_VALUE);
	assert_int_equal(FILL(&pattern, 0, 0, 4), CL_INVALID_VALUE);
	assert_int_equal(FILL(&pattern, 3, 0, 3), CL_INVALID_VALUE);
	assert_int_equal(FILL(out, 256, 0, 256), CL_INVALID_VALUE);
	assert_int_equal(FILL(&pattern, 4, 2, 4), CL_INVALID_VALUE);
	assert_int_equal(FILL(&pattern, 4, 0, 6), CL_INVALID_VALUE);
	assert_int_equal(FILL(&pattern, 4, 1000, 4), CL_INVALID_VALUE);
	assert_int_equal(
	    clEnqueueFillBuffer(queue, WRONG(cl_mem), &pattern, 4, 0, 4, 0, NULL, NULL),
	    CL_INVALID_MEM_OBJECT);
}

enum { ROW = 10, SLICE = 50 }; /* of the buffers, 4 slices of 5 rows */

/* Boxes of 3 x 2 x 2 between places that differ, and back. */
static void test_rectangles(void **state)
{
	const size_t at[3] = {2, 1, 1}, to[3] = {5, 2, 2}, size[3] = {3, 2, 2};
	const size_t none[3] = {0, 0, 0};
	unsigned char in[200], out[200], box[12];
	cl_mem other = clCreateBuffer(context, 0, 200, NULL, &error);

	for (int i = 0; i < 200; i++)
		in[i] = i;
	assert_int_equal(clEnqueueFillBuffer(queue, other, "", 1, 0, 200, 0, NULL, NULL), 0);
	/* From the host's place `at` to the buffer's `to`. */
	assert_int_equal(clEnqueueWriteBufferRect(queue, other, CL_FALSE, to, at, size, ROW, SLICE,
	                                          ROW, SLICE, in, 0, NULL, NULL),
	                 0);
	/* Tight on the host: pitches of 0. */
	assert_int_equal(clEnqueueReadBufferRect(queue, other, CL_TRUE, to, none, size, ROW, SLICE,
	                                         0, 0, box, 0, NULL, NULL),
	                 0);
	for (int i = 0; i < 12; i++)
		assert_int_equal(box[i],
		                 in[2 + i % 3 + (1 + i / 3 % 2) * ROW + (1 + i / 6) * SLICE]);
	/* Within the buffer, to where it was on the host. */
	assert_int_equal(clEnqueueCopyBufferRect(queue, other, other, to, at, size, ROW, SLICE, ROW,
	                                         SLICE, 0, NULL, NULL),
	                 0);
	assert_int_equal(clEnqueueReadBuffer(queue, other, CL_TRUE, 0, 200, out, 0, NULL, NULL), 0);
	for (int i = 0; i < 200; i++) {
		int x = i % ROW, y = i / ROW % 5, z = i / SLICE;
		bool here = x >= 2 && x < 5 && y >= 1 && y < 3 && z >= 1 && z < 3;
		bool there = x >= 5 && x < 8 && y >= 2 && y < 4 && z >= 2;

		assert_int_equal(out[i], here ? in[i] : there ? in[i - 3 - ROW - SLICE] : 0);
	}
	clReleaseMemObject(other);
}

#define RECTANGLE(memory, at, size, row, slice, host)                                              \
	clEnqueueReadBufferRect(queue, memory, CL_TRUE, at, (size_t[3]){0}, size, row, slice, 0,   \
	                        0, host, 0, NULL, NULL)
#define MOVE(from, to, size, row, to_row)                                                          \
	clEnqueueCopyBufferRect(queue, bytes, bytes, from, to, size, row, SLICE, to_row, SLICE, 0, \
	                        NULL, NULL)

static void test_misuse_of_rectangles(void **state)
{
	const size_t zero[3] = {0, 0, 0}, size[3] = {3, 2, 2}, flat[3] = {3, 0, 2};
	const size_t late[3] = {N, 0, 0}, far[3] = {0, 0, SIZE_MAX}, huge[3] = {1, SIZE_MAX, 2};
	unsigned char room[64];

	assert_int_equal(RECTANGLE(WRONG(cl_mem), zero, size, 0, 0, room), CL_INVALID_MEM_OBJECT);
	assert_int_equal(RECTANGLE(NULL, zero, size, 0, 0, room), CL_INVALID_MEM_OBJECT);
	assert_int_equal(RECTANGLE(bytes, zero, size, 0, 0, NULL), CL_INVALID_VALUE);
	assert_int_equal(RECTANGLE(bytes, NULL, size, 0, 0, room), CL_INVALID_VALUE);
	assert_int_equal(RECTANGLE(bytes, zero, flat, 0, 0, room), CL_INVALID_VALUE);
	assert_int_equal(RECTANGLE(bytes, late, size, 0, 0, room), CL_INVALID_VALUE);
	assert_int_equal(RECTANGLE(bytes, far, size, ROW, SLICE, room), CL_INVALID_VALUE);
	assert_int_equal(RECTANGLE(bytes, zero, huge, ROW, 0, room), CL_INVALID_VALUE);
	assert_int_equal(RECTANGLE(bytes, zero, size, 2, 0, room), CL_INVALID_VALUE);
	assert_int_equal(RECTANGLE(bytes, zero, size, ROW, ROW, room), CL_INVALID_VALUE);
	assert_int_equal(RECTANGLE(bytes, zero, size, ROW, 25, room), CL_INVALID_VALUE);
	assert_int_equal(MOVE(zero, zero, size, ROW, ROW), CL_MEM_COPY_OVERLAP);
	assert_int_equal(MOVE(zero, ((size_t[3]){2, 1, 1}), size, ROW, ROW), CL_MEM_COPY_OVERLAP);
	assert_int_equal(MOVE(((size_t[3]){2, 1, 1}), zero, size, ROW, ROW), CL_MEM_COPY_OVERLAP);
	/* Beyond a row's end its bytes are the next row's. */
	assert_int_equal(MOVE(zero, ((size_t[3]){8, 0, 0}), size, ROW, ROW), CL_MEM_COPY_OVERLAP);
	assert_int_equal(MOVE(zero, ((size_t[3]){3, 0, 0}), size, ROW, ROW), CL_SUCCESS);
	assert_int_equal(MOVE(zero, ((size_t[3]){0, 2, 0}), size, ROW, ROW), CL_SUCCESS);
	assert_int_equal(MOVE(zero, ((size_t[3]){0, 0, 3}), size, ROW, 25), CL_INVALID_VALUE);
	assert_int_equal(clFinish(queue), CL_SUCCESS);
}

static cl_uint map_count(cl_mem memory)
{
	cl_uint n = 99;

	assert_int_equal(clGetMemObjectInfo(memory, CL_MEM_MAP_COUNT, sizeof(n), &n, NULL), 0);
	return n;
}

static void test_map(void **state)
{
	cl_mem other = clCreateBuffer(context, 0, 64, NULL, &error);
	unsigned char out[64], *first, *second;
	cl_command_type type;
	cl_event event;

	assert_int_equal(clEnqueueFillBuffer(queue, other, "a", 1, 0, 64, 0, NULL, NULL), 0);
	first = clEnqueueMapBuffer(queue, other, CL_TRUE, CL_MAP_READ | CL_MAP_WRITE, 8, 16, 0,
	                           NULL, NULL, &error);
	assert_int_equal(error, CL_SUCCESS);
	second = clEnqueueMapBuffer(queue, other, CL_FALSE, CL_MAP_WRITE_INVALIDATE_REGION, 32, 8,
	                            0, NULL, &event, &error);
	assert_int_equal(error, CL_SUCCESS);
	assert_int_equal(clWaitForEvents(1, &event), CL_SUCCESS);
	clGetEventInfo(event, CL_EVENT_COMMAND_TYPE, sizeof(type), &type, NULL);
	assert_int_equal(type, CL_COMMAND_MAP_BUFFER);
	clReleaseEvent(event);
	assert_int_equal(map_count(other), 2);
	assert_int_equal(first[0], 'a');
	memset(first, 'b', 16);
	memset(second, 'c', 8);
	assert_int_equal(clEnqueueUnmapMemObject(queue, other, first + 1, 0, NULL, NULL),
	                 CL_INVALID_VALUE);
	assert_int_equal(clEnqueueUnmapMemObject(queue, other, second, 0, NULL, NULL), CL_SUCCESS);
	assert_int_equal(clEnqueueUnmapMemObject(queue, other, first, 0, NULL, NULL), CL_SUCCESS);
	assert_int_equal(clEnqueueUnmapMemObject(queue, other, first, 0, NULL, NULL),
	                 CL_INVALID_VALUE);
	assert_int_equal(map_count(other), 0);
	assert_int_equal(clEnqueueReadBuffer(queue, other, CL_TRUE, 0, 64, out, 0, NULL, NULL), 0);
	for (int i = 0; i < 64; i++)
		assert_int_equal(out[i], i >= 8 && i < 24 ? 'b' : i >= 32 && i < 40 ? 'c' : 'a');
	clReleaseMemObject(other);
}

#define MAP(memory, flags, offset, size)                                                           \
	clEnqueueMapBuffer(queue, memory, CL_TRUE, flags, offset, size, 0, NULL, NULL, &error)

static void test_misuse_of_maps(void **state)
{
	cl_mem written = clCreateBuffer(context, CL_MEM_HOST_WRITE_ONLY, 16, NULL, &error);
	cl_mem hidden = clCreateBuffer(context, CL_MEM_HOST_NO_ACCESS, 16, NULL, &error);
	unsigned char memory[16] = "of the host";
	cl_mem ours = clCreateBuffer(context, CL_MEM_USE_HOST_PTR, 16, memory, &error);

	NO_OBJECT(MAP(WRONG(cl_mem), CL_MAP_READ, 0, 1), CL_INVALID_MEM_OBJECT);
	NO_OBJECT(clEnqueueMapBuffer(WRONG(cl_command_queue), bytes, CL_TRUE, CL_MAP_READ, 0, 1, 0,
	                             NULL, NULL, &error),
	          CL_INVALID_COMMAND_QUEUE);
	NO_OBJECT(MAP(bytes, CL_MAP_READ, 0, 0), CL_INVALID_VALUE);
	NO_OBJECT(MAP(bytes, CL_MAP_READ, 1, N), CL_INVALID_VALUE);
	NO_OBJECT(MAP(bytes, 1 << 10, 0, 1), CL_INVALID_VALUE);
	NO_OBJECT(MAP(bytes, CL_MAP_READ | CL_MAP_WRITE_INVALIDATE_REGION, 0, 1), CL_INVALID_VALUE);
	NO_OBJECT(MAP(written, CL_MAP_READ, 0, 1), CL_INVALID_OPERATION);
	NO_OBJECT(MAP(hidden, CL_MAP_WRITE, 0, 1), CL_INVALID_OPERATION);
	assert_int_equal(map_count(bytes), 0);
	assert_int_equal(clEnqueueUnmapMemObject(queue, bytes, NULL, 0, NULL, NULL),
	                 CL_INVALID_VALUE);
	assert_int_equal(clEnqueueUnmapMemObject(queue, WRONG(cl_mem), memory, 0, NULL, NULL),
	                 CL_INVALID_MEM_OBJECT);
	/* Of the host's own memory that memory is seen. */
	assert_ptr_equal(MAP(ours, CL_MAP_READ, 3, 4), memory + 3);
	assert_int_equal(clEnqueueUnmapMemObject(queue, ours, memory + 3, 0, NULL, NULL), 0);
	clReleaseMemObject(written);
	clReleaseMemObject(hidden);
	clReleaseMemObject(ours);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_misuse_of_objects),
	    cmocka_unit_test(test_dead_object),
	    cmocka_unit_test(test_memory),
	    cmocka_unit_test(test_arguments),
	    cmocka_unit_test(test_run),
	    cmocka_unit_test(test_modelled),
	    cmocka_unit_test(test_fill),
	    cmocka_unit_test(test_rectangles),
	    cmocka_unit_test(test_misuse_of_rectangles),
	    cmocka_unit_test(test_map),
	    cmocka_unit_test(test_misuse_of_maps),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
