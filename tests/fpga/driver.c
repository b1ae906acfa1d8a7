/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The driver through OpenCL's loader: what misuse answers, how far memory goes, how
 * long transfers take at least, and a kernel from beginning to end.
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

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_misuse_of_objects),
	    cmocka_unit_test(test_dead_object),
	    cmocka_unit_test(test_memory),
	    cmocka_unit_test(test_arguments),
	    cmocka_unit_test(test_run),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
