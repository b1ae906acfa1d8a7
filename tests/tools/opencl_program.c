/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * An OpenCL program that knows nothing of Heddle, for tests/tools/opencl.sh: it uses all that a
 * program may, and checks what it gets. With an argument it does the test of that name alone.
 */
#define CL_TARGET_OPENCL_VERSION 120
#ifndef CL_USE_DEPRECATED_OPENCL_1_1_APIS /* StarPU 1.4's flags say so, too */
#define CL_USE_DEPRECATED_OPENCL_1_1_APIS
#endif
#include <CL/cl.h>

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { N = 1 << 16, GROUP = 64, THREADS = 4, ROUNDS = 20 };

static cl_device_id device;
static cl_context context;
static cl_command_queue queue;
static cl_program program;
static int failures;

static const char source[] =
    "#pragma OPENCL EXTENSION cl_khr_global_int32_base_atomics : enable\n"
    "kernel void add(global const int *a, global const int *b, global int *c, int n)\n"
    "{ int i = get_global_id(0); if (i < n) c[i] = a[i] + b[i]; }\n"
    "kernel void scale(global int *a, int by) { a[get_global_id(0)] *= by; }\n"
    "kernel void marked(global int *a, global const int *mark, long no, local long *room, int "
    "all)\n"
    "{ int i = get_global_id(0); room[0] = no; barrier(CLK_LOCAL_MEM_FENCE);\n"
    "  a[i] += (all ? 1 : mark[i]) + room[0]; }\n"
    "kernel void stencil(global const int *a, global int *b, int n)\n"
    "{ int i = get_global_id(0);\n"
    "  b[i] = a[i] + (i > 0 ? a[i - 1] : 0) + (i < n - 1 ? a[i + 1] : 0); }\n"
    "kernel void shift(global const int *a, global int *b, int by, int n)\n"
    "{ int i = get_global_id(0); if (i + by < n) b[i] = a[i + by] + 1; }\n"
    "kernel void twin(global const int *a, global int *b)\n"
    "{ int i = get_global_id(0); b[i] = a[i]; }\n"
    "kernel void count(global const int *a, global int *sum)\n"
    "{ atomic_add(sum, a[get_global_id(0)]); }\n"
    "kernel void scatter(global const int *to, global int *b)\n"
    "{ b[to[get_global_id(0)]] = get_global_id(0); }\n"
    "kernel void sums(global const int *a, global int *out, local int *room)\n"
    "{ int l = get_local_id(0); room[l] = a[get_global_id(0)];\n"
    "  barrier(CLK_LOCAL_MEM_FENCE);\n"
    "  for (int k = get_local_size(0) / 2; k; k /= 2) {\n"
    "    if (l < k) room[l] += room[l + k];\n"
    "    barrier(CLK_LOCAL_MEM_FENCE); }\n"
    "  if (!l) out[get_group_id(0)] = room[0]; }\n"
    "kernel void transpose(global const int *a, global int *b, int w)\n"
    "{ int x = get_global_id(0), y = get_global_id(1);\n"
    "  b[x * get_global_size(1) + y] = a[y * w + x]; }\n"
    "kernel void say(global int *a) { if (!get_global_id(0)) printf(\"kernel says %d\\n\", a[0]); "
    "}\n"
    "kernel void slow(global int *a, int n)\n"
    "{ int i = get_global_id(0), v = a[i];\n"
    "  for (int k = 0; k < n; k++) v = v * 5 + k;\n"
    "  a[i] = v; }\n"
    "kernel __attribute__((reqd_work_group_size(32, 1, 1))) void strict(global int *a)\n"
    "{ a[get_global_id(0)] = get_local_size(0); }\n";

#define CHECK(what)                                                                                \
	do {                                                                                       \
		if (!(what)) {                                                                     \
			printf("FAIL: line %d: %s\n", __LINE__, #what);                            \
			__atomic_add_fetch(&failures, 1, __ATOMIC_RELAXED);                        \
		}                                                                                  \
	} while (0)
#define OK(call) CHECK((call) == CL_SUCCESS)

static cl_mem buffer(cl_mem_flags flags, size_t n, void *from)
{
	cl_int error;
	cl_mem memory = clCreateBuffer(context, flags, n * sizeof(int), from, &error);

	CHECK(!error);
	return memory;
}

static cl_kernel kernel(const char *name)
{
	cl_int error;
	cl_kernel made = clCreateKernel(program, name, &error);

	CHECK(!error);
	return made;
}

static void fill(int *a, int seed)
{
	for (int i = 0; i < N; i++)
		a[i] = (unsigned)(i * 7919 + seed) % 1000;
}

static void launch(cl_command_queue to, cl_kernel k, size_t n, size_t local)
{
	OK(clEnqueueNDRangeKernel(to, k, 1, NULL, &n, local ? &local : NULL, 0, NULL, NULL));
}

static void read_back(cl_mem memory, size_t n, int *to)
{
	OK(clEnqueueReadBuffer(queue, memory, CL_TRUE, 0, n * sizeof(int), to, 0, NULL, NULL));
}

static void set(cl_kernel k, cl_uint a, size_t bytes, const void *value)
{
	OK(clSetKernelArg(k, a, bytes, value));
}

static void test_queries(void)
{
	char text[256];
	cl_uint n;
	size_t bytes;
	cl_context found;
	cl_device_id other;

	OK(clGetDeviceInfo(device, CL_DEVICE_NAME, sizeof(text), text, &bytes));
	CHECK(strlen(text) + 1 == bytes);
	CHECK(clGetDeviceInfo(device, CL_DEVICE_NAME, 1, text, NULL) == CL_INVALID_VALUE);
	CHECK(clGetDeviceInfo(device, 0x1, sizeof(text), text, NULL) == CL_INVALID_VALUE);
	OK(clGetContextInfo(context, CL_CONTEXT_NUM_DEVICES, sizeof(n), &n, NULL));
	CHECK(n == 1);
	OK(clGetContextInfo(context, CL_CONTEXT_DEVICES, sizeof(other), &other, NULL));
	CHECK(other == device);
	OK(clGetCommandQueueInfo(queue, CL_QUEUE_CONTEXT, sizeof(found), &found, NULL));
	CHECK(found == context);
	OK(clGetProgramInfo(program, CL_PROGRAM_CONTEXT, sizeof(found), &found, NULL));
	CHECK(found == context);
	OK(clGetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_LOG, 0, NULL, &bytes));
	CHECK(clRetainMemObject(NULL) == CL_INVALID_MEM_OBJECT);
	CHECK(clFinish(NULL) == CL_INVALID_COMMAND_QUEUE);
	CHECK(clReleaseEvent(NULL) == CL_INVALID_EVENT);
}

/* What the layer's device says, beside home. A program that makes one group for each unit is to
 * give each of home's as many. One that hears of the host's memory does not ask for what kernels
 * wrote. */
static void home_check(cl_device_id home)
{
	cl_uint units = 0, home_units = 1;
	cl_bool unified = CL_FALSE;
	cl_device_type type = 0;

	OK(clGetDeviceInfo(device, CL_DEVICE_MAX_COMPUTE_UNITS, sizeof(units), &units, NULL));
	OK(clGetDeviceInfo(home, CL_DEVICE_MAX_COMPUTE_UNITS, sizeof(units), &home_units, NULL));
	OK(clGetDeviceInfo(device, CL_DEVICE_HOST_UNIFIED_MEMORY, sizeof(unified), &unified, NULL));
	OK(clGetDeviceInfo(device, CL_DEVICE_TYPE, sizeof(type), &type, NULL));
	printf("%u units, and home has %u\n", units, home_units);
	CHECK(units && home_units && units % home_units == 0);
	CHECK(unified == (type == CL_DEVICE_TYPE_CPU));
}

/* Home is the device that the layer's driver names, if the program sees it. */
static void test_home(void)
{
	char driver[512] = "", name[128] = "";
	cl_platform_id platforms[8];
	cl_device_id found[8];
	cl_uint nplatforms = 0, n = 0;

	OK(clGetDeviceInfo(device, CL_DRIVER_VERSION, sizeof(driver), driver, NULL));
	OK(clGetPlatformIDs(8, platforms, &nplatforms));
	for (cl_uint p = 0; p < nplatforms && p < 8; p++) {
		if (clGetDeviceIDs(platforms[p], CL_DEVICE_TYPE_ALL, 8, found, &n))
			continue;
		for (cl_uint d = 0; d < n && d < 8; d++) {
			OK(clGetDeviceInfo(found[d], CL_DEVICE_NAME, sizeof(name), name, NULL));
			if (strstr(driver, name))
				home_check(found[d]);
		}
	}
}

/* Whoever asks for a GPU, a CPU, any device or the usual one gets the one device. */
static void test_types(void)
{
	static const cl_device_type types[] = {CL_DEVICE_TYPE_GPU, CL_DEVICE_TYPE_CPU,
	                                       CL_DEVICE_TYPE_ALL, CL_DEVICE_TYPE_DEFAULT,
	                                       CL_DEVICE_TYPE_GPU | CL_DEVICE_TYPE_ACCELERATOR};
	cl_platform_id platform;
	char name[256];
	cl_int error;

	OK(clGetDeviceInfo(device, CL_DEVICE_PLATFORM, sizeof(platform), &platform, NULL));
	OK(clGetDeviceInfo(device, CL_DEVICE_NAME, sizeof(name), name, NULL));
	if (!strstr(name, "Heddle"))
		return;
	for (size_t t = 0; t < sizeof(types) / sizeof(*types); t++) {
		cl_context_properties properties[] = {CL_CONTEXT_PLATFORM,
		                                      (cl_context_properties)platform, 0};
		cl_device_id found = NULL;
		cl_uint n = 0;
		cl_context made;

		OK(clGetDeviceIDs(platform, types[t], 1, &found, &n));
		CHECK(n == 1 && found == device);
		made = clCreateContextFromType(properties, types[t], NULL, NULL, &error);
		CHECK(made && !error);
		if (made)
			OK(clReleaseContext(made));
	}
	CHECK(clGetDeviceIDs(platform, 0, 1, &device, NULL) == CL_INVALID_DEVICE_TYPE);
}

/* A context that must not be made. */
static void context_refused(const cl_context_properties *properties, cl_uint n,
                            const cl_device_id *ids, cl_int expected)
{
	cl_int error = CL_SUCCESS;

	CHECK(!clCreateContext(properties, n, ids, NULL, NULL, &error) && error == expected);
}

static void test_contexts(void)
{
	cl_platform_id of;
	cl_device_id nobody = NULL;
	cl_int error;

	OK(clGetDeviceInfo(device, CL_DEVICE_PLATFORM, sizeof(of), &of, NULL));
	const cl_context_properties named = (cl_context_properties)of;
	const cl_context_properties right[] = {CL_CONTEXT_PLATFORM, named, 0};
	const cl_context_properties none[] = {CL_CONTEXT_PLATFORM, 0, 0};
	const cl_context_properties twice[] = {CL_CONTEXT_PLATFORM, named, CL_CONTEXT_PLATFORM,
	                                       named, 0};
	const cl_context_properties synced_twice[] = {CL_CONTEXT_PLATFORM,
	                                              named,
	                                              CL_CONTEXT_INTEROP_USER_SYNC,
	                                              0,
	                                              CL_CONTEXT_INTEROP_USER_SYNC,
	                                              0,
	                                              0};

	context_refused(none, 1, &device, CL_INVALID_PLATFORM);
	context_refused(twice, 1, &device, CL_INVALID_PROPERTY);
	context_refused(synced_twice, 1, &device, CL_INVALID_PROPERTY);
	context_refused(right, 0, &device, CL_INVALID_VALUE);
	context_refused(right, 1, NULL, CL_INVALID_VALUE);
	context_refused(right, 1, &nobody, CL_INVALID_DEVICE);
	CHECK(!clCreateContextFromType(twice, CL_DEVICE_TYPE_ALL, NULL, NULL, &error) &&
	      error == CL_INVALID_PROPERTY);
}

static void test_errors(void)
{
	cl_kernel k = kernel("scale"), strict = kernel("strict");
	cl_mem a = buffer(CL_MEM_READ_WRITE, N, NULL);
	size_t n = N, local = 48;
	cl_int error, by = 2;
	cl_program wrong;
	const char *text = "kernel void k(global int *a) { a[0] = nothing; }";

	CHECK(clEnqueueNDRangeKernel(queue, k, 1, NULL, &n, NULL, 0, NULL, NULL) ==
	      CL_INVALID_KERNEL_ARGS);
	set(k, 0, sizeof(a), &a);
	set(k, 1, sizeof(by), &by);
	CHECK(clSetKernelArg(k, 2, sizeof(by), &by) == CL_INVALID_ARG_INDEX);
	CHECK(clEnqueueNDRangeKernel(queue, k, 4, NULL, &n, NULL, 0, NULL, NULL) ==
	      CL_INVALID_WORK_DIMENSION);
	CHECK(clEnqueueNDRangeKernel(queue, k, 1, NULL, &n, &local, 0, NULL, NULL) ==
	      CL_INVALID_WORK_GROUP_SIZE);
	set(strict, 0, sizeof(a), &a);
	local = 64;
	CHECK(clEnqueueNDRangeKernel(queue, strict, 1, NULL, &n, &local, 0, NULL, NULL) ==
	      CL_INVALID_WORK_GROUP_SIZE);
	CHECK(clEnqueueReadBuffer(queue, a, CL_TRUE, 0, N * sizeof(int) + 1, &n, 0, NULL, NULL) ==
	      CL_INVALID_VALUE);
	CHECK(!clCreateBuffer(context, 0, 0, NULL, &error) && error == CL_INVALID_BUFFER_SIZE);
	CHECK(!clCreateKernel(program, "nobody", &error) && error == CL_INVALID_KERNEL_NAME);
	wrong = clCreateProgramWithSource(context, 1, &text, NULL, &error);
	CHECK(!error);
	CHECK(clBuildProgram(wrong, 1, &device, NULL, NULL, NULL) == CL_BUILD_PROGRAM_FAILURE);
	clReleaseProgram(wrong);
	clReleaseKernel(k);
	clReleaseKernel(strict);
	clReleaseMemObject(a);
}

/* Runs a test with a queue that tells times. */
static void with_times(void (*test)(void))
{
	cl_command_queue plain = queue;
	cl_int error;

	queue = clCreateCommandQueue(context, device, CL_QUEUE_PROFILING_ENABLE, &error);
	CHECK(!error);
	test();
	clReleaseCommandQueue(queue);
	queue = plain;
}

/* Kernels after each other, with events and their times. */
static void test_chain_timed(void)
{
	static int a[N], b[N], c[N];
	cl_kernel add = kernel("add"), scale = kernel("scale"), stencil = kernel("stencil");
	cl_mem ma, mb = buffer(CL_MEM_READ_WRITE, N, NULL), mc = buffer(CL_MEM_READ_WRITE, N, NULL);
	cl_int n = N, by = 3;
	size_t global = N, local = GROUP;
	cl_ulong times[4];
	cl_event events[2];
	cl_command_type type;

	fill(a, 1);
	fill(b, 2);
	ma = buffer(CL_MEM_READ_ONLY | CL_MEM_COPY_HOST_PTR, N, a);
	OK(clEnqueueWriteBuffer(queue, mb, CL_FALSE, 0, sizeof(b), b, 0, NULL, &events[0]));
	set(add, 0, sizeof(ma), &ma);
	set(add, 1, sizeof(mb), &mb);
	set(add, 2, sizeof(mc), &mc);
	set(add, 3, sizeof(n), &n);
	set(scale, 0, sizeof(mc), &mc);
	set(scale, 1, sizeof(by), &by);
	set(stencil, 0, sizeof(mc), &mc);
	set(stencil, 1, sizeof(mb), &mb);
	set(stencil, 2, sizeof(n), &n);
	OK(clEnqueueNDRangeKernel(queue, add, 1, NULL, &global, &local, 1, events, &events[1]));
	by = 5; /* what was enqueued keeps 3 */
	launch(queue, scale, N, 0);
	set(scale, 1, sizeof(by), &by);
	launch(queue, stencil, N, GROUP);
	launch(queue, scale, N, GROUP);
	OK(clFlush(queue));
	read_back(mb, N, c);
	for (int i = 0; i < N; i++) {
		int want = 0;

		for (int k = i - 1; k <= i + 1; k++)
			want += k < 0 || k >= N ? 0 : 3 * (a[k] + b[k]);
		if (c[i] != want) {
			printf("FAIL: stencil at %d: %d, not %d\n", i, c[i], want);
			failures++;
			break;
		}
	}
	read_back(mc, N, c);
	for (int i = 0; i < N; i++)
		if (c[i] != 15 * (a[i] + b[i])) {
			printf("FAIL: scale at %d\n", i);
			failures++;
			break;
		}
	for (int t = 0; t < 4; t++)
		OK(clGetEventProfilingInfo(events[1], CL_PROFILING_COMMAND_QUEUED + t,
		                           sizeof(times[t]), &times[t], NULL));
	CHECK(times[0] <= times[1] && times[1] <= times[2] && times[2] <= times[3]);
	OK(clGetEventInfo(events[1], CL_EVENT_COMMAND_TYPE, sizeof(type), &type, NULL));
	CHECK(type == CL_COMMAND_NDRANGE_KERNEL);
	for (int e = 0; e < 2; e++)
		clReleaseEvent(events[e]);
	clReleaseKernel(add);
	clReleaseKernel(scale);
	clReleaseKernel(stencil);
	clReleaseMemObject(ma);
	clReleaseMemObject(mb);
	clReleaseMemObject(mc);
}

static void test_chain(void)
{
	with_times(test_chain_timed);
}

/* Kernels that are not split between ones that are, on the same buffers. */
static void test_mixed(void)
{
	static int a[N], b[N];
	cl_kernel scale = kernel("scale"), count = kernel("count"), scatter = kernel("scatter");
	cl_mem ma, mb = buffer(0, N, NULL), sum = buffer(0, 1, NULL);
	int total = 0, got = 0, zero = 0;
	cl_int by = 2;

	for (int i = 0; i < N; i++)
		a[i] = i ^ 1;
	ma = buffer(CL_MEM_COPY_HOST_PTR, N, a);
	set(scale, 0, sizeof(ma), &ma);
	set(scale, 1, sizeof(by), &by);
	set(count, 0, sizeof(ma), &ma);
	set(count, 1, sizeof(sum), &sum);
	OK(clEnqueueFillBuffer(queue, sum, &zero, sizeof(zero), 0, sizeof(zero), 0, NULL, NULL));
	launch(queue, count, N, GROUP);
	launch(queue, scale, N, GROUP);
	launch(queue, count, N, GROUP);
	by = 1;
	set(scale, 1, sizeof(by), &by);
	launch(queue, scale, N, GROUP);
	read_back(sum, 1, &got);
	for (int i = 0; i < N; i++)
		total += 3 * a[i];
	CHECK(got == total);
	OK(clEnqueueWriteBuffer(queue, ma, CL_FALSE, 0, sizeof(a), a, 0, NULL, NULL));
	set(scatter, 0, sizeof(ma), &ma);
	set(scatter, 1, sizeof(mb), &mb);
	launch(queue, scatter, N, GROUP);
	by = 7;
	set(scale, 0, sizeof(mb), &mb);
	set(scale, 1, sizeof(by), &by);
	launch(queue, scale, N, GROUP);
	read_back(mb, N, b);
	for (int i = 0; i < N; i++)
		if (b[i] != 7 * (i ^ 1)) {
			printf("FAIL: scatter at %d\n", i);
			failures++;
			break;
		}
	clReleaseKernel(scale);
	clReleaseKernel(count);
	clReleaseKernel(scatter);
	clReleaseMemObject(ma);
	clReleaseMemObject(mb);
	clReleaseMemObject(sum);
}

static void scale_set(cl_kernel scale, cl_mem *memory, int by)
{
	set(scale, 0, sizeof(*memory), memory);
	set(scale, 1, sizeof(by), &by);
}

static void scaled_check(cl_mem memory, const int *before, int by)
{
	static int after[N];
	int wrong = 0;

	read_back(memory, N, after);
	for (int i = 0; i < N; i++)
		wrong += after[i] != before[i] * by;
	CHECK(!wrong);
}

/* Launches have the arguments of when they were enqueued, whichever are set again. */
static void test_arguments(void)
{
	static int a[N];
	cl_kernel scale = kernel("scale");
	cl_event gate = clCreateUserEvent(context, NULL);
	cl_mem ma, mb, none = NULL;
	const size_t n = N, local = GROUP;

	fill(a, 3);
	ma = buffer(CL_MEM_COPY_HOST_PTR, N, a);
	mb = buffer(CL_MEM_COPY_HOST_PTR, N, a);
	scale_set(scale, &ma, 2);
	OK(clEnqueueNDRangeKernel(queue, scale, 1, NULL, &n, &local, 1, &gate, NULL));
	scale_set(scale, &ma, 2);
	launch(queue, scale, N, GROUP);
	scale_set(scale, &ma, 3);
	launch(queue, scale, N, GROUP);
	CHECK(clSetKernelArg(scale, 1, 1, a) == CL_INVALID_ARG_SIZE);
	CHECK(clSetKernelArg(scale, 2, sizeof(none), &none) == CL_INVALID_ARG_INDEX);
	launch(queue, scale, N, GROUP);
	scale_set(scale, &mb, 3);
	launch(queue, scale, N, GROUP);
	scale_set(scale, &ma, 5);
	scale_set(scale, &ma, 3);
	launch(queue, scale, N, GROUP);
	OK(clSetUserEventStatus(gate, CL_COMPLETE));
	scaled_check(ma, a, 2 * 2 * 3 * 3 * 3);
	scaled_check(mb, a, 3);
	clReleaseMemObject(mb);
	/* The handle may be that of the one before. */
	mb = buffer(CL_MEM_COPY_HOST_PTR, N, a);
	scale_set(scale, &mb, 7);
	launch(queue, scale, N, GROUP);
	scaled_check(mb, a, 7);
	clReleaseEvent(gate);
	clReleaseKernel(scale);
	clReleaseMemObject(ma);
	clReleaseMemObject(mb);
}

static void test_groups(void)
{
	static int a[N], b[N];
	cl_kernel sums = kernel("sums"), transpose = kernel("transpose"), strict = kernel("strict");
	cl_mem ma, mb = buffer(0, N, NULL);
	size_t global[2] = {512, 128}, local[2] = {16, 8}, offset[1] = {GROUP};
	cl_int w = 512, by = 10;
	cl_kernel scale = kernel("scale");
	size_t less = N - GROUP, group = GROUP;

	fill(a, 5);
	ma = buffer(CL_MEM_COPY_HOST_PTR, N, a);
	set(sums, 0, sizeof(ma), &ma);
	set(sums, 1, sizeof(mb), &mb);
	set(sums, 2, GROUP * sizeof(int), NULL);
	launch(queue, sums, N, GROUP);
	read_back(mb, N / GROUP, b);
	for (int g = 0; g < N / GROUP; g++) {
		int want = 0;

		for (int i = 0; i < GROUP; i++)
			want += a[g * GROUP + i];
		if (b[g] != want) {
			printf("FAIL: sums at %d\n", g);
			failures++;
			break;
		}
	}
	set(transpose, 0, sizeof(ma), &ma);
	set(transpose, 1, sizeof(mb), &mb);
	set(transpose, 2, sizeof(w), &w);
	OK(clEnqueueNDRangeKernel(queue, transpose, 2, NULL, global, local, 0, NULL, NULL));
	read_back(mb, N, b);
	for (int i = 0; i < N; i++)
		if (b[i % 512 * 128 + i / 512] != a[i]) {
			printf("FAIL: transpose at %d\n", i);
			failures++;
			break;
		}
	set(scale, 0, sizeof(ma), &ma);
	set(scale, 1, sizeof(by), &by);
	OK(clEnqueueNDRangeKernel(queue, scale, 1, offset, &less, &group, 0, NULL, NULL));
	read_back(ma, N, b);
	for (int i = 0; i < N; i++)
		if (b[i] != (i < GROUP ? 1 : 10) * a[i]) {
			printf("FAIL: offset at %d\n", i);
			failures++;
			break;
		}
	set(strict, 0, sizeof(mb), &mb);
	launch(queue, strict, N, 32);
	read_back(mb, N, b);
	CHECK(b[0] == 32 && b[N - 1] == 32);
	clReleaseKernel(sums);
	clReleaseKernel(transpose);
	clReleaseKernel(strict);
	clReleaseKernel(scale);
	clReleaseMemObject(ma);
	clReleaseMemObject(mb);
}

/* Buffers and parts of them as several arguments of one launch. */
static void test_twice(void)
{
	static int a[N], b[N];
	cl_kernel add = kernel("add"), stencil = kernel("stencil"), shift = kernel("shift");
	cl_buffer_region regions[] = {{0, N / 2 * sizeof(int)},
	                              {N / 2 * sizeof(int), N / 2 * sizeof(int)},
	                              {N / 4 * sizeof(int), N / 2 * sizeof(int)}};
	cl_mem whole, parts[3];
	cl_int error, n = N, half = N / 2;

	fill(a, 12);
	whole = buffer(CL_MEM_COPY_HOST_PTR, N, a);
	for (int p = 0; p < 3; p++) {
		parts[p] =
		    clCreateSubBuffer(whole, 0, CL_BUFFER_CREATE_TYPE_REGION, &regions[p], &error);
		CHECK(!error);
	}
	for (int i = 0; i < 3; i++)
		set(add, i, sizeof(whole), &whole);
	set(add, 3, sizeof(n), &n);
	launch(queue, add, N, GROUP); /* whole *= 2 */
	set(add, 0, sizeof(parts[0]), &parts[0]);
	set(add, 1, sizeof(parts[1]), &parts[1]);
	set(add, 2, sizeof(parts[0]), &parts[0]);
	launch(queue, add, N / 2, GROUP); /* the first half += the second one */
	read_back(whole, N, b);
	for (int i = 0; i < N; i++)
		if (b[i] != 2 * (a[i] + (i < half ? a[i + half] : 0))) {
			printf("FAIL: twice at %d\n", i);
			failures++;
			break;
		}
	/* What is read overlaps, and nothing of it is written. */
	set(add, 0, sizeof(parts[1]), &parts[1]);
	set(add, 1, sizeof(parts[2]), &parts[2]);
	launch(queue, add, N / 4, GROUP);
	read_back(whole, N, a);
	for (int i = 0; i < N / 4; i++)
		if (a[i] != b[i + N / 2] + b[i + N / 4]) {
			printf("FAIL: parts that overlap at %d\n", i);
			failures++;
			break;
		}
	/* A race, which is not split. */
	set(stencil, 0, sizeof(whole), &whole);
	set(stencil, 1, sizeof(whole), &whole);
	set(stencil, 2, sizeof(n), &n);
	launch(queue, stencil, N, GROUP);
	OK(clFinish(queue));
	/* Each launch is asked anew whether it is one. */
	set(shift, 0, sizeof(whole), &whole);
	set(shift, 1, sizeof(whole), &whole);
	set(shift, 3, sizeof(n), &n);
	for (int i = 0; i < 4; i++) {
		cl_int by = i % 2 ? 0 : GROUP;

		set(shift, 2, sizeof(by), &by);
		OK(clEnqueueWriteBuffer(queue, whole, CL_TRUE, 0, sizeof(a), a, 0, NULL, NULL));
		launch(queue, shift, N, GROUP);
		read_back(whole, N, b);
		for (int e = 0; e < N && !by; e++)
			if (b[e] != a[e] + 1) {
				printf("FAIL: shift at %d\n", e);
				failures++;
				break;
			}
	}
	for (int p = 0; p < 3; p++)
		clReleaseMemObject(parts[p]);
	clReleaseMemObject(whole);
	clReleaseKernel(add);
	clReleaseKernel(stencil);
	clReleaseKernel(shift);
}

/* A read of an int behind a buffer, where the allocation's last bytes are. */
static void test_outside(void)
{
	static int a[N], b[N];
	cl_kernel twin = kernel("twin");
	cl_mem ma, mb = buffer(0, N, NULL);

	fill(a, 14);
	ma = buffer(CL_MEM_COPY_HOST_PTR, N - 1, a);
	set(twin, 0, sizeof(ma), &ma);
	set(twin, 1, sizeof(mb), &mb);
	launch(queue, twin, N - GROUP, GROUP);
	launch(queue, twin, N, GROUP);
	read_back(mb, N, b);
	CHECK(!memcmp(a, b, (N - 1) * sizeof(int)));
	clReleaseKernel(twin);
	clReleaseMemObject(ma);
	clReleaseMemObject(mb);
}

/* Host memory that is used, mapped, copied, filled and cut into parts. */
static void test_memory(void)
{
	static int a[N], b[N];
	int *own = aligned_alloc(4096, N * sizeof(int)), *at, seven = 7;
	cl_kernel scale = kernel("scale");
	cl_buffer_region region = {N / 2 * sizeof(int), N / 2 * sizeof(int)};
	cl_mem used, copy = buffer(0, N, NULL), part;
	cl_int error, by = 2;
	cl_uint maps;
	size_t from[3] = {16, 2, 0}, to[3] = {0, 0, 0}, size[3] = {32, 8, 1};

	fill(own, 3);
	memcpy(a, own, sizeof(a));
	used = buffer(CL_MEM_USE_HOST_PTR, N, own);
	set(scale, 0, sizeof(used), &used);
	set(scale, 1, sizeof(by), &by);
	launch(queue, scale, N, GROUP);
	at = clEnqueueMapBuffer(queue, used, CL_TRUE, CL_MAP_READ | CL_MAP_WRITE, 0,
	                        N * sizeof(int), 0, NULL, NULL, &error);
	CHECK(!error && at == own);
	OK(clGetMemObjectInfo(used, CL_MEM_MAP_COUNT, sizeof(maps), &maps, NULL));
	CHECK(maps == 1);
	for (int i = 0; i < N; i++)
		if (at[i] != 2 * a[i]) {
			printf("FAIL: map at %d\n", i);
			failures++;
			break;
		}
	at[5] = 1000;
	OK(clEnqueueUnmapMemObject(queue, used, at, 0, NULL, NULL));
	CHECK(clEnqueueUnmapMemObject(queue, used, at, 0, NULL, NULL) == CL_INVALID_VALUE);
	launch(queue, scale, N, GROUP);
	OK(clEnqueueCopyBuffer(queue, used, copy, 0, 0, N * sizeof(int), 0, NULL, NULL));
	OK(clEnqueueFillBuffer(queue, copy, &seven, sizeof(seven), 0, 16 * sizeof(int), 0, NULL,
	                       NULL));
	/* One of no bytes is none, up to the buffer's end. */
	OK(clEnqueueFillBuffer(queue, copy, &seven, sizeof(seven), N * sizeof(int), 0, 0, NULL,
	                       NULL));
	CHECK(clEnqueueFillBuffer(queue, copy, &seven, sizeof(seven), (N + 1) * sizeof(int), 0, 0,
	                          NULL, NULL) == CL_INVALID_VALUE);
	read_back(copy, N, b);
	CHECK(b[0] == 7 && b[15] == 7 && b[16] == 4 * a[16] && b[N - 1] == 4 * a[N - 1]);
	read_back(used, N, b);
	CHECK(b[5] == 2000);
	part = clCreateSubBuffer(copy, 0, CL_BUFFER_CREATE_TYPE_REGION, &region, &error);
	CHECK(!error);
	set(scale, 0, sizeof(part), &part);
	launch(queue, scale, N / 2, GROUP);
	read_back(copy, N, b);
	CHECK(b[N / 2 - 1] == 4 * a[N / 2 - 1] && b[N / 2] == 8 * a[N / 2]);
	set(scale, 0, sizeof(copy), &copy);
	launch(queue, scale, N, GROUP);
	read_back(part, N / 2, b);
	CHECK(b[0] == 16 * a[N / 2] && b[N / 2 - 1] == 16 * a[N - 1]);
	OK(clEnqueueReadBufferRect(queue, copy, CL_TRUE, from, to, size, 256, 0, 32, 0, b, 0, NULL,
	                           NULL));
	CHECK(b[0] == 8 * a[2 * 64 + 4] && b[8] == 8 * a[3 * 64 + 4]);
	at = clEnqueueMapBuffer(queue, part, CL_FALSE, CL_MAP_WRITE_INVALIDATE_REGION, 64, 64, 0,
	                        NULL, NULL, &error);
	CHECK(!error);
	OK(clFinish(queue));
	for (int i = 0; i < 16; i++)
		at[i] = i;
	OK(clEnqueueUnmapMemObject(queue, part, at, 0, NULL, NULL));
	launch(queue, scale, N, GROUP);
	read_back(copy, N, b);
	CHECK(b[N / 2 + 16 + 9] == 18 && b[N / 2 + 32] == 32 * a[N / 2 + 32]);
	clReleaseMemObject(part);
	clReleaseMemObject(copy);
	clReleaseMemObject(used);
	clReleaseKernel(scale);
	free(own);
}

static pthread_mutex_t called_mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t called = PTHREAD_COND_INITIALIZER;
static int calls;

static void CL_CALLBACK call(cl_event event, cl_int status, void *data)
{
	pthread_mutex_lock(&called_mutex);
	calls += status == *(cl_int *)data;
	pthread_cond_signal(&called);
	pthread_mutex_unlock(&called_mutex);
}

/* User's events hold commands back; callbacks come; what fails passes it on. */
static void test_events(void)
{
	cl_kernel scale = kernel("scale");
	int one = 1, got = 0;
	cl_mem a = buffer(CL_MEM_COPY_HOST_PTR, 1, &one);
	cl_int error, by = 2, complete = CL_COMPLETE, bad = -5, status;
	cl_event go = clCreateUserEvent(context, &error), done, read;
	size_t n = 1;

	CHECK(!error);
	set(scale, 0, sizeof(a), &a);
	set(scale, 1, sizeof(by), &by);
	OK(clEnqueueNDRangeKernel(queue, scale, 1, NULL, &n, NULL, 1, &go, &done));
	OK(clEnqueueReadBuffer(queue, a, CL_FALSE, 0, sizeof(got), &got, 0, NULL, &read));
	OK(clSetEventCallback(done, CL_COMPLETE, call, &complete));
	usleep(20000);
	OK(clGetEventInfo(done, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof(status), &status, NULL));
	CHECK(status > CL_COMPLETE && !got);
	OK(clSetUserEventStatus(go, CL_COMPLETE));
	CHECK(clSetUserEventStatus(go, CL_COMPLETE) == CL_INVALID_OPERATION);
	OK(clWaitForEvents(1, &read));
	CHECK(got == 2);
	pthread_mutex_lock(&called_mutex);
	while (calls < 1)
		pthread_cond_wait(&called, &called_mutex);
	pthread_mutex_unlock(&called_mutex);
	clReleaseEvent(go);
	clReleaseEvent(done);
	clReleaseEvent(read);

	go = clCreateUserEvent(context, &error);
	OK(clEnqueueNDRangeKernel(queue, scale, 1, NULL, &n, NULL, 1, &go, &done));
	OK(clSetEventCallback(done, CL_COMPLETE, call, &bad));
	OK(clSetUserEventStatus(go, bad));
	CHECK(clWaitForEvents(1, &done) == CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST);
	OK(clGetEventInfo(done, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof(status), &status, NULL));
	CHECK(status < 0);
	read_back(a, 1, &got);
	CHECK(got == 2);
	clReleaseEvent(go);
	clReleaseEvent(done);
	clReleaseKernel(scale);
	clReleaseMemObject(a);
}

/* What was flushed begins when it may, though nobody waits for it. */
static void test_flushed(void)
{
	cl_kernel scale = kernel("scale");
	cl_mem a = buffer(CL_MEM_READ_WRITE, N, NULL);
	cl_int error, by = 2, status = CL_QUEUED;
	cl_event go = clCreateUserEvent(context, &error), done;
	size_t n = N;

	CHECK(!error);
	set(scale, 0, sizeof(a), &a);
	set(scale, 1, sizeof(by), &by);
	OK(clEnqueueNDRangeKernel(queue, scale, 1, NULL, &n, NULL, 1, &go, &done));
	OK(clFlush(queue));
	OK(clSetUserEventStatus(go, CL_COMPLETE));
	for (int i = 0; i < 10000 && status > CL_COMPLETE; i++) {
		OK(clGetEventInfo(done, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof(status), &status,
		                  NULL));
		usleep(1000);
	}
	CHECK(status == CL_COMPLETE);
	clReleaseEvent(go);
	clReleaseEvent(done);
	clReleaseKernel(scale);
	clReleaseMemObject(a);
}

/* A queue out of order does what events and barriers say. */
static void test_out_of_order(void)
{
	cl_int error, by[2] = {2, 3};
	cl_command_queue free_queue =
	    clCreateCommandQueue(context, device, CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE, &error);
	static int a[N], b[N];
	cl_kernel scale = kernel("scale"), add = kernel("add");
	cl_mem m[3];
	cl_event go, scaled[2], marker;
	cl_int n = N;
	size_t global = N;

	CHECK(!error);
	go = clCreateUserEvent(context, &error);
	fill(a, 9);
	for (int i = 0; i < 3; i++)
		m[i] = buffer(CL_MEM_COPY_HOST_PTR, N, a);
	for (int i = 0; i < 2; i++) {
		set(scale, 0, sizeof(m[i]), &m[i]);
		set(scale, 1, sizeof(by[i]), &by[i]);
		OK(clEnqueueNDRangeKernel(free_queue, scale, 1, NULL, &global, NULL, !i,
		                          i ? NULL : &go, &scaled[i]));
	}
	OK(clWaitForEvents(1, &scaled[1])); /* the first one waits still */
	for (int i = 0; i < 3; i++)
		set(add, i, sizeof(m[i]), &m[i]);
	set(add, 3, sizeof(n), &n);
	OK(clEnqueueBarrierWithWaitList(free_queue, 0, NULL, NULL));
	OK(clEnqueueNDRangeKernel(free_queue, add, 1, NULL, &global, NULL, 0, NULL, NULL));
	OK(clEnqueueMarkerWithWaitList(free_queue, 0, NULL, &marker));
	OK(clSetUserEventStatus(go, CL_COMPLETE));
	OK(clWaitForEvents(1, &marker));
	OK(clEnqueueReadBuffer(free_queue, m[2], CL_TRUE, 0, sizeof(b), b, 0, NULL, NULL));
	for (int i = 0; i < N; i++)
		if (b[i] != 5 * a[i]) {
			printf("FAIL: out of order at %d\n", i);
			failures++;
			break;
		}
	OK(clFinish(free_queue));
	clReleaseEvent(go);
	clReleaseEvent(marker);
	for (int i = 0; i < 2; i++)
		clReleaseEvent(scaled[i]);
	for (int i = 0; i < 3; i++)
		clReleaseMemObject(m[i]);
	clReleaseKernel(scale);
	clReleaseKernel(add);
	clReleaseCommandQueue(free_queue);
}

static void *thread_run(void *number)
{
	cl_int error, by = 3;
	cl_command_queue mine = clCreateCommandQueue(context, device, 0, &error);
	cl_kernel scale = kernel("scale"), stencil = kernel("stencil");
	int *a = malloc(N * sizeof(int)), *b = malloc(N * sizeof(int));
	cl_int n = N;

	CHECK(!error);
	for (int round = 0; round < ROUNDS; round++) {
		cl_mem ma, mb = buffer(0, N, NULL);

		fill(a, round + *(int *)number);
		ma = buffer(CL_MEM_COPY_HOST_PTR, N, a);
		set(scale, 0, sizeof(ma), &ma);
		set(scale, 1, sizeof(by), &by);
		set(stencil, 0, sizeof(ma), &ma);
		set(stencil, 1, sizeof(mb), &mb);
		set(stencil, 2, sizeof(n), &n);
		launch(mine, scale, N, GROUP);
		launch(mine, stencil, N, GROUP);
		OK(clEnqueueReadBuffer(mine, mb, CL_TRUE, 0, N * sizeof(int), b, 0, NULL, NULL));
		for (int i = 1; i < N - 1; i++)
			if (b[i] != 3 * (a[i - 1] + a[i] + a[i + 1])) {
				printf("FAIL: thread %d at %d\n", *(int *)number, i);
				__atomic_add_fetch(&failures, 1, __ATOMIC_RELAXED);
				break;
			}
		clReleaseMemObject(ma);
		clReleaseMemObject(mb);
	}
	free(a);
	free(b);
	clReleaseKernel(scale);
	clReleaseKernel(stencil);
	clReleaseCommandQueue(mine);
	return NULL;
}

static void test_threads(void)
{
	pthread_t threads[THREADS];
	int numbers[THREADS];

	for (int t = 0; t < THREADS; t++) {
		numbers[t] = 100 * t;
		pthread_create(&threads[t], NULL, thread_run, &numbers[t]);
	}
	for (int t = 0; t < THREADS; t++)
		pthread_join(threads[t], NULL);
}

static void test_printf(void)
{
	cl_kernel say = kernel("say");
	int value = 42;
	cl_mem a = buffer(CL_MEM_COPY_HOST_PTR, 1, &value);

	set(say, 0, sizeof(a), &a);
	launch(queue, say, GROUP, GROUP);
	OK(clFinish(queue));
	clReleaseKernel(say);
	clReleaseMemObject(a);
}

/* A program from a binary gives the same. */
static void test_binary(void)
{
	size_t bytes;
	unsigned char *binary;
	cl_int error, state, by = 6;
	cl_program again, built = program;
	cl_kernel scale;
	static int a[N], b[N];
	cl_mem ma;
	const cl_device_id twice[] = {device, device};

	OK(clGetProgramInfo(program, CL_PROGRAM_BINARY_SIZES, sizeof(bytes), &bytes, NULL));
	binary = malloc(bytes);
	OK(clGetProgramInfo(program, CL_PROGRAM_BINARIES, sizeof(binary), &binary, NULL));
	again = clCreateProgramWithBinary(context, 1, &device, &bytes,
	                                  (const unsigned char **)&binary, &state, &error);
	CHECK(!error && !state);
	CHECK(!clCreateProgramWithBinary(context, 2, twice, (size_t[]){bytes, bytes},
	                                 (const unsigned char *[]){binary, binary}, NULL, &error));
	CHECK(error == CL_INVALID_DEVICE);
	OK(clBuildProgram(again, 1, &device, NULL, NULL, NULL));
	program = again;
	scale = kernel("scale");
	program = built;
	fill(a, 8);
	ma = buffer(CL_MEM_COPY_HOST_PTR, N, a);
	set(scale, 0, sizeof(ma), &ma);
	set(scale, 1, sizeof(by), &by);
	launch(queue, scale, N, GROUP);
	read_back(ma, N, b);
	CHECK(b[0] == 6 * a[0] && b[N - 1] == 6 * a[N - 1]);
	clReleaseKernel(scale);
	clReleaseProgram(again);
	clReleaseMemObject(ma);
	free(binary);
}

/* Launches until the kernel was split: a second, at least. */
static void test_long(void)
{
	enum { TURNS = 3000, FEW = 20, LAUNCHES = 1000 };
	static int a[N], b[N];
	cl_kernel slow = kernel("slow");
	cl_int n = TURNS;
	time_t begin = time(NULL);
	int launches = 0;
	cl_mem ma;

	fill(a, 6);
	ma = buffer(CL_MEM_COPY_HOST_PTR, N, a);
	set(slow, 0, sizeof(ma), &ma);
	set(slow, 1, sizeof(n), &n);
	for (; launches < FEW || (launches < LAUNCHES && time(NULL) - begin < 4); launches++) {
		launch(queue, slow, N, GROUP);
		OK(clFinish(queue));
	}
	read_back(ma, N, b);
	for (int i = 0; i < N; i += 1000) {
		unsigned v = a[i];

		for (int l = 0; l < launches; l++)
			for (int k = 0; k < n; k++)
				v = v * 5 + k;
		if (b[i] != (int)v) {
			printf("FAIL: slow at %d\n", i);
			failures++;
			break;
		}
	}
	clReleaseKernel(slow);
	clReleaseMemObject(ma);
}

/* Commands that home has are waited for by another queue, by callbacks and by looking. */
static void test_passed_by(bool timed)
{
	enum { LAUNCHES = 500 };
	static int a[N], b[N];
	cl_kernel scale = kernel("scale");
	cl_int error, by = 3, status = CL_QUEUED;
	cl_command_queue other = clCreateCommandQueue(context, device, 0, &error);
	cl_event first, last, copied;
	cl_ulong ended, started;
	unsigned power = 1;
	int before = calls, complete = CL_COMPLETE;
	size_t global = N;
	cl_mem ma, mb = buffer(CL_MEM_READ_WRITE, N, NULL);

	CHECK(!error);
	fill(a, 11);
	ma = buffer(CL_MEM_COPY_HOST_PTR, N, a);
	set(scale, 0, sizeof(ma), &ma);
	set(scale, 1, sizeof(by), &by);
	OK(clEnqueueNDRangeKernel(queue, scale, 1, NULL, &global, NULL, 0, NULL, &first));
	for (int l = 1; l < LAUNCHES - 1; l++)
		launch(queue, scale, N, GROUP);
	OK(clEnqueueNDRangeKernel(queue, scale, 1, NULL, &global, NULL, 0, NULL, &last));
	OK(clSetEventCallback(last, CL_COMPLETE, call, &complete));
	OK(clEnqueueCopyBuffer(other, ma, mb, 0, 0, sizeof(a), 1, &last, &copied));
	OK(clFlush(other));
	while (!clGetEventInfo(copied, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof(status), &status,
	                       NULL) &&
	       status > CL_COMPLETE)
		usleep(1000);
	CHECK(status == CL_COMPLETE);
	OK(clEnqueueReadBuffer(other, mb, CL_TRUE, 0, sizeof(b), b, 0, NULL, NULL));
	for (int l = 0; l < LAUNCHES; l++)
		power *= by;
	for (int i = 0; i < N; i++)
		if (b[i] != (int)(power * a[i])) {
			printf("FAIL: passed at %d\n", i);
			failures++;
			break;
		}
	pthread_mutex_lock(&called_mutex);
	while (calls == before)
		pthread_cond_wait(&called, &called_mutex);
	pthread_mutex_unlock(&called_mutex);
	if (timed) {
		OK(clGetEventProfilingInfo(first, CL_PROFILING_COMMAND_END, sizeof(ended), &ended,
		                           NULL));
		OK(clGetEventProfilingInfo(last, CL_PROFILING_COMMAND_START, sizeof(started),
		                           &started, NULL));
		CHECK(ended <= started);
	}
	clReleaseEvent(first);
	clReleaseEvent(last);
	clReleaseEvent(copied);
	clReleaseMemObject(ma);
	clReleaseMemObject(mb);
	clReleaseKernel(scale);
	clReleaseCommandQueue(other);
}

static void passed_timed(void)
{
	test_passed_by(true);
}

static void test_passed(void)
{
	test_passed_by(false);
	with_times(passed_timed);
}

/* Launches that nobody asks for, whose kernels and buffers the program lets go of at once. */
static void test_unwatched(void)
{
	enum { TIMES = 5, LAUNCHES = 100 };
	static int a[N], b[N];
	cl_int by = 3;
	unsigned power = 1;

	fill(a, 12);
	for (int r = 0; r < TIMES; r++) {
		cl_kernel scale = kernel("scale");
		cl_mem ma = buffer(CL_MEM_COPY_HOST_PTR, N, a);

		set(scale, 0, sizeof(ma), &ma);
		set(scale, 1, sizeof(by), &by);
		power = 1;
		for (int l = 0; l < LAUNCHES + r; l++) {
			launch(queue, scale, N, GROUP);
			power *= by;
		}
		clReleaseKernel(scale);
		if (r % 2)
			OK(clFinish(queue));
		read_back(ma, N, b);
		clReleaseMemObject(ma);
		for (int i = 0; i < N; i++)
			if (b[i] != (int)(power * a[i])) {
				printf("FAIL: unwatched at %d\n", i);
				failures++;
				break;
			}
	}
}

/* Short launches, some waited for together and some each. tests/tools/opencl.sh counts home's
 * events. */
static void test_short(void)
{
	enum { LAUNCHES = 1000 };
	static int a[GROUP], b[GROUP];
	cl_kernel scale = kernel("scale");
	cl_int by = 3;
	unsigned power = 1;
	cl_mem ma;

	for (int i = 0; i < GROUP; i++)
		a[i] = i + 1;
	ma = buffer(CL_MEM_COPY_HOST_PTR, GROUP, a);
	set(scale, 0, sizeof(ma), &ma);
	set(scale, 1, sizeof(by), &by);
	for (int l = 0; l < 2 * LAUNCHES; l++) {
		launch(queue, scale, GROUP, GROUP);
		power *= by;
		if (l >= LAUNCHES)
			OK(clFinish(queue));
	}
	read_back(ma, GROUP, b);
	CHECK(b[0] == (int)(power * a[0]) && b[GROUP - 1] == (int)(power * a[GROUP - 1]));
	clReleaseKernel(scale);
	clReleaseMemObject(ma);
}

/* Launches that have an event each, some waited for, by a queue that tells no times: commands of
 * other kinds and of another queue are between them. tests/tools/opencl.sh counts home's events. */
static void test_each(void)
{
	enum { LAUNCHES = 2000 };
	static int a[GROUP], b[GROUP], c[GROUP];
	cl_kernel scale = kernel("scale");
	cl_mem ma, mb = buffer(CL_MEM_READ_WRITE, GROUP, NULL);
	cl_event event, copied;
	size_t n = GROUP;
	cl_int error, by = 3;
	cl_command_queue other = clCreateCommandQueue(context, device, 0, &error);
	unsigned power = 1;

	CHECK(!error);
	for (int i = 0; i < GROUP; i++)
		a[i] = i + 1;
	ma = buffer(CL_MEM_COPY_HOST_PTR, GROUP, a);
	set(scale, 0, sizeof(ma), &ma);
	set(scale, 1, sizeof(by), &by);
	for (int l = 0; l < LAUNCHES; l++) {
		OK(clEnqueueNDRangeKernel(queue, scale, 1, NULL, &n, NULL, 0, NULL, &event));
		power *= by;
		if (l % 2)
			OK(clWaitForEvents(1, &event));
		if (l % 100 == 0) {
			OK(clEnqueueCopyBuffer(other, ma, mb, 0, 0, sizeof(b), 1, &event, &copied));
			OK(clEnqueueReadBuffer(queue, mb, CL_TRUE, 0, sizeof(b), b, 1, &copied,
			                       NULL));
			CHECK(b[1] == (int)(power * a[1]));
			clReleaseEvent(copied);
		}
		clReleaseEvent(event);
	}
	read_back(ma, GROUP, c);
	CHECK(c[0] == (int)(power * a[0]) && c[GROUP - 1] == (int)(power * a[GROUP - 1]));
	clReleaseKernel(scale);
	clReleaseMemObject(ma);
	clReleaseMemObject(mb);
	clReleaseCommandQueue(other);
}

/* What the device does though it may say that it cannot, and what it refuses: the program learns it
 * of the call, unless the launch waits for the program itself. */
static void test_limits(void)
{
	static int a[N], b[N];
	cl_kernel scale = kernel("scale");
	cl_int error, by = 3;
	size_t n = N, group = GROUP, huge = N;
	cl_mem ma;
	cl_event event = NULL, begun = clCreateUserEvent(context, &error);
	int *mapped;

	CHECK(!error);
	fill(a, 14);
	ma = buffer(CL_MEM_COPY_HOST_PTR, N, a);
	set(scale, 0, sizeof(ma), &ma);
	set(scale, 1, sizeof(by), &by);
	launch(queue, scale, N, GROUP);
	CHECK(clEnqueueNDRangeKernel(queue, scale, 1, NULL, &n, &huge, 0, NULL, &event));
	/* Its data is at the host. */
	mapped = clEnqueueMapBuffer(queue, ma, CL_TRUE, CL_MAP_READ | CL_MAP_WRITE, 0, sizeof(a), 0,
	                            NULL, NULL, &error);
	CHECK(!error);
	mapped[1] *= by;
	OK(clEnqueueUnmapMemObject(queue, ma, mapped, 0, NULL, NULL));
	CHECK(clEnqueueNDRangeKernel(queue, scale, 1, NULL, &n, &huge, 0, NULL, NULL));
	OK(clEnqueueNDRangeKernel(queue, scale, 1, NULL, &n, &group, 1, &begun, &event));
	launch(queue, scale, N, GROUP);
	OK(clSetUserEventStatus(begun, CL_COMPLETE));
	OK(clWaitForEvents(1, &event));
	read_back(ma, N, b);
	CHECK(b[0] == 27 * a[0] && b[1] == 81 * a[1] && b[N - 1] == 27 * a[N - 1]);
	CHECK(!clCreateBuffer(context, 0, (size_t)1 << 60, NULL, &error) && error);
	clReleaseEvent(event);
	clReleaseEvent(begun);
	clReleaseMemObject(ma);
	clReleaseKernel(scale);
}

/* A buffer of 1 MiB for each launch, which the program lets go of at once. tests/tools/opencl.sh
 * counts home's events: by them the layer learns when it can let go, too. */
static void test_large(void)
{
	enum { LAUNCHES = 100, INTS = 1 << 18 };
	static int a[INTS], b[GROUP];
	cl_kernel scale = kernel("scale");
	cl_int by = 3;

	set(scale, 1, sizeof(by), &by);
	for (int l = 0; l < LAUNCHES; l++) {
		cl_mem ma;

		a[0] = l;
		ma = buffer(CL_MEM_COPY_HOST_PTR, INTS, a);
		set(scale, 0, sizeof(ma), &ma);
		launch(queue, scale, GROUP, GROUP);
		if (l == LAUNCHES - 1)
			read_back(ma, GROUP, b);
		clReleaseMemObject(ma);
	}
	CHECK(b[0] == 3 * (LAUNCHES - 1));
	clReleaseKernel(scale);
}

/* Launches with a large buffer, which a wrapper around it retains and releases each time, as it
 * does with a part of it.
 * tests/tools/opencl.sh counts home's events: nothing is let go of. */
static void test_retained(void)
{
	enum { LAUNCHES = 500, INTS = 1 << 18 };
	static int b[GROUP];
	cl_mem ma = buffer(CL_MEM_READ_WRITE, INTS, NULL);
	cl_kernel scale = kernel("scale");
	const cl_buffer_region all = {0, INTS * sizeof(int)};
	cl_int by = -1, seven = 7, error;

	OK(clEnqueueFillBuffer(queue, ma, &seven, sizeof(seven), 0, INTS * sizeof(seven), 0, NULL,
	                       NULL));
	set(scale, 1, sizeof(by), &by);
	for (int l = 0; l < LAUNCHES; l++) {
		cl_mem part = clCreateSubBuffer(ma, 0, CL_BUFFER_CREATE_TYPE_REGION, &all, &error);

		CHECK(!error);
		OK(clRetainMemObject(ma));
		set(scale, 0, sizeof(part), &part);
		launch(queue, scale, GROUP, GROUP);
		OK(clReleaseMemObject(part));
		OK(clReleaseMemObject(ma));
	}
	read_back(ma, GROUP, b);
	CHECK(b[0] == 7);
	clReleaseMemObject(ma);
	clReleaseKernel(scale);
}

static void CL_CALLBACK gone(cl_mem memory, void *data)
{
	__atomic_add_fetch((int *)data, 1, __ATOMIC_RELEASE);
}

/* Nobody waits for launches with large buffers, and commands of another queue stand between. The
 * buffers are let go of all the same. */
static void test_beside(void)
{
	enum { LAUNCHES = 60, INTS = 1 << 18, MOST = 20 };
	cl_command_queue other = clCreateCommandQueue(context, device, 0, NULL);
	cl_mem small = buffer(CL_MEM_READ_WRITE, GROUP, NULL);
	cl_kernel scale = kernel("scale");
	cl_int by = 3;
	int destroyed = 0;

	CHECK(other);
	set(scale, 1, sizeof(by), &by);
	for (int l = 0; l < LAUNCHES; l++) {
		cl_mem ma = buffer(CL_MEM_READ_WRITE, INTS, NULL);

		OK(clSetMemObjectDestructorCallback(ma, gone, &destroyed));
		set(scale, 0, sizeof(ma), &ma);
		launch(queue, scale, GROUP, GROUP);
		OK(clFlush(queue));
		clReleaseMemObject(ma);
		set(scale, 0, sizeof(small), &small);
		launch(other, scale, GROUP, GROUP);
		OK(clFinish(other));
		usleep(5000);
	}
	CHECK(__atomic_load_n(&destroyed, __ATOMIC_ACQUIRE) >= LAUNCHES - MOST);
	OK(clFinish(queue));
	for (int i = 0; i < 1000 && __atomic_load_n(&destroyed, __ATOMIC_ACQUIRE) < LAUNCHES; i++)
		usleep(1000);
	CHECK(destroyed == LAUNCHES);
	clReleaseCommandQueue(other);
	clReleaseMemObject(small);
	clReleaseKernel(scale);
}

/* A program that calls nothing any more is told that memory is freed, when the commands that use it
 * have ended. Some begin after the program has let go of it. */
static void test_told(void)
{
	cl_kernel scale = kernel("scale");
	cl_int by = 3, error;
	int destroyed = 0;

	set(scale, 1, sizeof(by), &by);
	for (int held = 0; held < 2; held++) {
		cl_event go = held ? clCreateUserEvent(context, &error) : NULL;
		cl_mem ma = buffer(CL_MEM_READ_WRITE, N, NULL), small;
		size_t global = N;

		OK(clSetMemObjectDestructorCallback(ma, gone, &destroyed));
		set(scale, 0, sizeof(ma), &ma);
		OK(clEnqueueNDRangeKernel(queue, scale, 1, NULL, &global, NULL, held,
		                          held ? &go : NULL, NULL));
		OK(clFlush(queue));
		small = buffer(CL_MEM_READ_WRITE, N, NULL);
		set(scale, 0, sizeof(small), &small);
		clReleaseMemObject(ma);
		clReleaseMemObject(small);
		if (held)
			OK(clSetUserEventStatus(go, CL_COMPLETE));
		for (int i = 0; i < 5000 && __atomic_load_n(&destroyed, __ATOMIC_ACQUIRE) <= held;
		     i++)
			usleep(1000);
		CHECK(__atomic_load_n(&destroyed, __ATOMIC_ACQUIRE) == held + 1);
		if (held)
			clReleaseEvent(go);
	}
	OK(clFinish(queue));
	clReleaseKernel(scale);
}

/* Copies through the mapping of a buffer in memory that the driver is to pin, which a kernel
 * computes on afterwards. */
static void test_pinned(void)
{
	static int b[N];
	cl_kernel scale = kernel("scale");
	cl_mem pinned = buffer(CL_MEM_READ_WRITE | CL_MEM_ALLOC_HOST_PTR, N, NULL);
	cl_mem ma = buffer(CL_MEM_READ_WRITE, N, NULL), other;
	cl_int error, by = 3;
	int *mapped = clEnqueueMapBuffer(queue, pinned, CL_TRUE, CL_MAP_READ | CL_MAP_WRITE, 0,
	                                 sizeof(b), 0, NULL, NULL, &error);

	CHECK(!error);
	fill(mapped, 13);
	OK(clEnqueueWriteBuffer(queue, ma, CL_TRUE, 0, sizeof(b), mapped, 0, NULL, NULL));
	set(scale, 0, sizeof(ma), &ma);
	set(scale, 1, sizeof(by), &by);
	launch(queue, scale, N, GROUP);
	read_back(ma, N, mapped);
	CHECK(mapped[1] == 3 * ((7919 + 13) % 1000));
	OK(clEnqueueUnmapMemObject(queue, pinned, mapped, 0, NULL, NULL));
	set(scale, 0, sizeof(pinned), &pinned);
	launch(queue, scale, N, GROUP);
	read_back(pinned, N, b);
	CHECK(b[1] == 9 * ((7919 + 13) % 1000) && b[0] == 9 * 13);
	/* It is let go of while it is mapped. */
	other = buffer(CL_MEM_READ_WRITE | CL_MEM_ALLOC_HOST_PTR, N, NULL);
	CHECK(clEnqueueMapBuffer(queue, other, CL_TRUE, CL_MAP_READ, 0, sizeof(b), 0, NULL, NULL,
	                         &error));
	clReleaseMemObject(other);
	clReleaseMemObject(pinned);
	clReleaseMemObject(ma);
	clReleaseKernel(scale);
}

/* The process ends while a kernel is prepared for a split. */
static void test_leave(void)
{
	enum { TURNS = 3000, LAUNCHES = 3 };
	static int a[N];
	cl_kernel slow = kernel("slow");
	cl_int n = TURNS;
	cl_mem ma;

	fill(a, 6);
	ma = buffer(CL_MEM_COPY_HOST_PTR, N, a);
	set(slow, 0, sizeof(ma), &ma);
	set(slow, 1, sizeof(n), &n);
	for (int l = 0; l < LAUNCHES; l++) {
		launch(queue, slow, N, GROUP);
		OK(clFinish(queue));
	}
	clReleaseKernel(slow);
	clReleaseMemObject(ma);
}

static const char image_source[] =
    "kernel void turn(read_only image2d_t from, sampler_t how, global uint4 *to)\n"
    "{ int x = get_global_id(0), y = get_global_id(1);\n"
    "  to[x * get_global_size(1) + y] = read_imageui(from, how, (int2)(x, y)); }\n";

enum { WIDTH = 48, HEIGHT = 32 };

/* Of an image's pixel, what test_images() puts there. */
static cl_uint pixel(int x, int y, int channel)
{
	return x < 8 && y < 8 ? 200u + channel : (x + 3 * y + 50 * channel) % 256u;
}

/* With a sampler that interpolates any pixels are right. */
static void image_launch(cl_mem image, cl_kernel turn, cl_filter_mode filter)
{
	static cl_uint out[WIDTH * HEIGHT * 4];
	const size_t global[2] = {WIDTH, HEIGHT}, local[2] = {8, 8};
	cl_mem to = buffer(CL_MEM_READ_WRITE, WIDTH * HEIGHT * 4, NULL);
	cl_int error;
	cl_sampler how = clCreateSampler(context, CL_FALSE, CL_ADDRESS_CLAMP, filter, &error);

	CHECK(!error);
	set(turn, 0, sizeof(image), &image);
	set(turn, 1, sizeof(how), &how);
	set(turn, 2, sizeof(to), &to);
	OK(clEnqueueNDRangeKernel(queue, turn, 2, NULL, global, local, 0, NULL, NULL));
	OK(clEnqueueReadBuffer(queue, to, CL_TRUE, 0, sizeof(out), out, 0, NULL, NULL));
	for (int i = 0; filter == CL_FILTER_NEAREST && i < WIDTH * HEIGHT * 4; i++)
		if (out[i] != pixel(i / 4 / HEIGHT, i / 4 % HEIGHT, i % 4)) {
			printf("FAIL: pixel %d of the image\n", i);
			failures++;
			break;
		}
	clReleaseSampler(how);
	clReleaseMemObject(to);
}

static void image_check(cl_mem image, cl_kernel turn)
{
	image_launch(image, turn, CL_FILTER_NEAREST);
}

/* Images that must not be made, and commands that must not begin. PoCL ends a program that asks for
 * mip levels, so alone it is not asked. */
static void images_refused(const cl_image_format *format, const cl_image_desc *shape, cl_mem image)
{
	const size_t zero[3] = {0}, all[3] = {WIDTH, HEIGHT, 1}, wide[3] = {WIDTH + 1, HEIGHT, 1};
	const size_t aside[3] = {4, 4, 0}, corner[3] = {8, 8, 1};
	const cl_uint colour[4] = {0};
	cl_mem bytes = buffer(CL_MEM_READ_WRITE, WIDTH * HEIGHT, NULL);
	cl_image_desc wrong[2] = {*shape, *shape};
	char name[64];
	cl_int error;

	wrong[0].num_mip_levels = 1;
	wrong[1].buffer = bytes;
	OK(clGetDeviceInfo(device, CL_DEVICE_NAME, sizeof(name), name, NULL));
	for (int i = 0; i < 2 && !strncmp(name, "Heddle", 6); i++)
		CHECK(!clCreateImage(context, 0, format, &wrong[i], NULL, &error) &&
		      error == CL_INVALID_IMAGE_DESCRIPTOR);
	CHECK(!clCreateImage(context, 0, format, NULL, NULL, &error) &&
	      error == CL_INVALID_IMAGE_DESCRIPTOR);
	CHECK(clEnqueueFillImage(queue, image, colour, zero, wide, 0, NULL, NULL) ==
	      CL_INVALID_VALUE);
	CHECK(clEnqueueCopyImage(queue, image, image, zero, aside, corner, 0, NULL, NULL) ==
	      CL_MEM_COPY_OVERLAP);
	CHECK(clEnqueueCopyImage(queue, image, image, zero, aside, all, 0, NULL, NULL) ==
	      CL_INVALID_VALUE);
	CHECK(clEnqueueCopyImageToBuffer(queue, image, bytes, zero, all, 1, 0, NULL, NULL) ==
	      CL_INVALID_VALUE);
	CHECK(clEnqueueCopyBufferToImage(queue, bytes, image, 1, zero, all, 0, NULL, NULL) ==
	      CL_INVALID_VALUE);
	clReleaseMemObject(bytes);
}

/* The host may do to an image what its flags say. PoCL does not look at them. */
static void image_host_flags(const cl_image_format *format, const cl_image_desc *shape)
{
	static const cl_mem_flags flags[] = {CL_MEM_HOST_WRITE_ONLY, CL_MEM_HOST_READ_ONLY,
	                                     CL_MEM_HOST_NO_ACCESS};
	static const cl_map_flags wrong[] = {CL_MAP_READ, CL_MAP_WRITE_INVALIDATE_REGION,
	                                     CL_MAP_READ};
	const size_t zero[3] = {0}, all[3] = {WIDTH, HEIGHT, 1};
	char name[64];
	cl_int error;
	size_t pitch;

	OK(clGetDeviceInfo(device, CL_DEVICE_NAME, sizeof(name), name, NULL));
	for (int i = 0; i < 3 && !strncmp(name, "Heddle", 6); i++) {
		cl_mem image = clCreateImage(context, flags[i], format, shape, NULL, &error);

		CHECK(!error);
		CHECK(!clEnqueueMapImage(queue, image, CL_TRUE, wrong[i], zero, all, &pitch, NULL,
		                         0, NULL, NULL, &error) &&
		      error == CL_INVALID_OPERATION);
		clReleaseMemObject(image);
	}
}

/* An image is written, filled, used by a kernel, copied and mapped. */
static void test_images(void)
{
	static unsigned char in[HEIGHT][WIDTH][4], out[HEIGHT][WIDTH][4];
	const cl_image_format format = {CL_RGBA, CL_UNSIGNED_INT8};
	const cl_image_desc shape = {
	    .image_type = CL_MEM_OBJECT_IMAGE2D, .image_width = WIDTH, .image_height = HEIGHT};
	const size_t zero[3] = {0}, all[3] = {WIDTH, HEIGHT, 1}, corner[3] = {8, 8, 1};
	const cl_uint colour[4] = {200, 201, 202, 203};
	const char *text = image_source;
	cl_bool has = CL_FALSE;
	cl_mem_object_type type;
	cl_mem image, copy, bytes = buffer(CL_MEM_READ_WRITE, WIDTH * HEIGHT, NULL);
	cl_program built;
	cl_kernel turn;
	cl_int error;
	size_t pitch, width;
	unsigned char *mapped;

	OK(clGetDeviceInfo(device, CL_DEVICE_IMAGE_SUPPORT, sizeof(has), &has, NULL));
	if (!has)
		return;
	for (int y = 0; y < HEIGHT; y++)
		for (int x = 0; x < WIDTH; x++)
			for (int c = 0; c < 4; c++)
				in[y][x][c] = x < 8 && y < 8 ? 0 : pixel(x, y, c);
	built = clCreateProgramWithSource(context, 1, &text, NULL, &error);
	OK(clBuildProgram(built, 1, &device, "", NULL, NULL));
	turn = clCreateKernel(built, "turn", &error);
	CHECK(!error);
	image = clCreateImage(context, CL_MEM_READ_ONLY, &format, &shape, NULL, &error);
	CHECK(!error);
	OK(clGetMemObjectInfo(image, CL_MEM_TYPE, sizeof(type), &type, NULL));
	CHECK(type == CL_MEM_OBJECT_IMAGE2D);
	OK(clGetImageInfo(image, CL_IMAGE_WIDTH, sizeof(width), &width, NULL));
	CHECK(width == WIDTH);
	OK(clEnqueueWriteImage(queue, image, CL_FALSE, zero, all, 0, 0, in, 0, NULL, NULL));
	OK(clEnqueueFillImage(queue, image, colour, zero, corner, 0, NULL, NULL));
	/* One launch that is not split does not keep others from it. */
	image_launch(image, turn, CL_FILTER_LINEAR);
	image_check(image, turn);
	images_refused(&format, &shape, image);
	image_host_flags(&format, &shape);
	/* Through a buffer into another image. */
	copy = clCreateImage(context, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, &format, &shape, in,
	                     &error);
	CHECK(!error);
	OK(clEnqueueCopyImageToBuffer(queue, image, bytes, zero, all, 0, 0, NULL, NULL));
	OK(clEnqueueCopyBufferToImage(queue, bytes, copy, 0, zero, all, 0, NULL, NULL));
	image_check(copy, turn);
	mapped = clEnqueueMapImage(queue, copy, CL_TRUE, CL_MAP_READ | CL_MAP_WRITE, zero, all,
	                           &pitch, NULL, 0, NULL, NULL, &error);
	CHECK(!error && pitch >= WIDTH * 4);
	CHECK(mapped[pitch * 20 + 4 * 30 + 1] == pixel(30, 20, 1));
	memset(mapped + pitch * 20 + 4 * 30, 7, 4);
	OK(clEnqueueUnmapMemObject(queue, copy, mapped, 0, NULL, NULL));
	OK(clEnqueueReadImage(queue, copy, CL_TRUE, zero, all, 0, 0, out, 0, NULL, NULL));
	CHECK(out[20][30][0] == 7 && out[20][30][3] == 7 && out[20][31][2] == pixel(31, 20, 2));
	OK(clEnqueueCopyImage(queue, copy, image, zero, zero, corner, 0, NULL, NULL));
	image_check(image, turn);
	clReleaseMemObject(bytes);
	clReleaseMemObject(image);
	clReleaseMemObject(copy);
	clReleaseKernel(turn);
	clReleaseProgram(built);
}

/* ---- a chain of random commands about images ---- */

static const char chain_source[] =
    "kernel void move_on(read_only image2d_t from, write_only image2d_t to, sampler_t how, int s)\n"
    "{ int x = get_global_id(0), y = get_global_id(1);\n"
    "  if (x < get_image_width(to) && y < get_image_height(to) && (x * s + y) % 3)\n"
    "    write_imageui(to, (int2)(x, y),\n"
    "                  (read_imageui(from, how, (int2)(x - 1, y + s)) + 1) & 127); }\n";

typedef unsigned char plane[HEIGHT][WIDTH][4];

static void plain_move_on(plane from, plane to, int s)
{
	for (int y = 0; y < HEIGHT; y++)
		for (int x = 0; x < WIDTH; x++)
			for (int c = 0; c < 4; c++) {
				int v = y + s < HEIGHT ? y + s : HEIGHT - 1, u = x ? x - 1 : 0;

				if ((x * s + y) % 3)
					to[y][x][c] = (from[v][u][c] + 1) & 127;
			}
}

/* Commands about a part of the images, and what they do to plain arrays. */
static void image_command(int command, cl_mem images[2], cl_mem bytes, plane planes[2], int which)
{
	static unsigned char given[HEIGHT * WIDTH * 4];
	const size_t zero[3] = {0};
	size_t region[3] = {1 + rand() % WIDTH, 1 + rand() % HEIGHT, 1}, pitch;
	size_t origin[3] = {rand() % (WIDTH - region[0] + 1), rand() % (HEIGHT - region[1] + 1), 0};
	cl_uint colour[4] = {rand() % 128, rand() % 128, rand() % 128, rand() % 128};
	unsigned char *mapped = NULL;
	cl_int error = CL_SUCCESS;

	for (size_t i = 0; i < sizeof(given); i++)
		given[i] = rand() % 128;
	if (command == 0) {
		OK(clEnqueueWriteImage(queue, images[which], CL_TRUE, origin, region, 0, 0, given,
		                       0, NULL, NULL));
	} else if (command == 1) {
		OK(clEnqueueFillImage(queue, images[which], colour, origin, region, 0, NULL, NULL));
	} else if (command == 2) {
		OK(clEnqueueWriteBuffer(queue, bytes, CL_TRUE, 0, sizeof(given), given, 0, NULL,
		                        NULL));
		OK(clEnqueueCopyBufferToImage(queue, bytes, images[which], 0, origin, region, 0,
		                              NULL, NULL));
	} else if (command == 3) {
		OK(clEnqueueCopyImage(queue, images[!which], images[which], zero, origin, region, 0,
		                      NULL, NULL));
	} else {
		mapped = clEnqueueMapImage(queue, images[which], CL_TRUE, CL_MAP_WRITE, origin,
		                           region, &pitch, NULL, 0, NULL, NULL, &error);
		CHECK(!error && mapped);
	}
	for (size_t y = 0; y < region[1]; y++)
		for (size_t x = 0; x < region[0] * 4; x++) {
			unsigned char *to = planes[which][origin[1] + y][origin[0]] + x;

			*to = command == 1   ? colour[x % 4]
			      : command == 3 ? planes[!which][y][0][x]
			                     : given[y * region[0] * 4 + x];
			if (mapped)
				mapped[y * pitch + x] = *to;
		}
	if (mapped)
		OK(clEnqueueUnmapMemObject(queue, images[which], mapped, 0, NULL, NULL));
}

static void test_image_chain(void)
{
	static plane planes[2], out;
	const cl_image_format format = {CL_RGBA, CL_UNSIGNED_INT8};
	const cl_image_desc shape = {
	    .image_type = CL_MEM_OBJECT_IMAGE2D, .image_width = WIDTH, .image_height = HEIGHT};
	const size_t zero[3] = {0}, all[3] = {WIDTH, HEIGHT, 1}, global[2] = {64, 40};
	const size_t local[2] = {8, 4};
	const char *text = chain_source;
	cl_mem images[2], bytes = buffer(CL_MEM_READ_WRITE, WIDTH * HEIGHT, NULL);
	cl_program built = clCreateProgramWithSource(context, 1, &text, NULL, NULL);
	cl_bool has = CL_FALSE;
	cl_kernel move_on;
	cl_sampler how;
	cl_int error;

	OK(clGetDeviceInfo(device, CL_DEVICE_IMAGE_SUPPORT, sizeof(has), &has, NULL));
	if (!has)
		return;
	OK(clBuildProgram(built, 1, &device, "", NULL, NULL));
	move_on = clCreateKernel(built, "move_on", &error);
	CHECK(!error);
	how =
	    clCreateSampler(context, CL_FALSE, CL_ADDRESS_CLAMP_TO_EDGE, CL_FILTER_NEAREST, &error);
	CHECK(!error);
	memset(planes, 3, sizeof(planes));
	for (int i = 0; i < 2; i++) {
		images[i] = clCreateImage(
		    context, CL_MEM_READ_WRITE | (i ? CL_MEM_USE_HOST_PTR : CL_MEM_COPY_HOST_PTR),
		    &format, &shape, i ? memcpy(out, planes[i], sizeof(out)) : planes[i], &error);
		CHECK(!error);
	}
	srand(19);
	for (int step = 0; step < 120 && !failures; step++) {
		int which = rand() % 2, command = rand() % 12, s = 1 + rand() % 4;
		static plane now;

		if (command < 5) {
			image_command(command, images, bytes, planes, which);
		} else if (command < 10) {
			set(move_on, 0, sizeof(cl_mem), &images[!which]);
			set(move_on, 1, sizeof(cl_mem), &images[which]);
			set(move_on, 2, sizeof(how), &how);
			set(move_on, 3, sizeof(s), &s);
			OK(clEnqueueNDRangeKernel(queue, move_on, 2, NULL, global, local, 0, NULL,
			                          NULL));
			plain_move_on(planes[!which], planes[which], s);
		} else {
			OK(clEnqueueReadImage(queue, images[which], CL_TRUE, zero, all, 0, 0, now,
			                      0, NULL, NULL));
			CHECK(!memcmp(now, planes[which], sizeof(now)));
		}
	}
	clReleaseSampler(how);
	clReleaseMemObject(bytes);
	clReleaseMemObject(images[0]);
	clReleaseMemObject(images[1]);
	clReleaseKernel(move_on);
	clReleaseProgram(built);
}

/* What is released while commands use it stays until they have ended. */
static void test_release(void)
{
	static int a[N], b[N];
	cl_int error, by = 4;
	cl_event go = clCreateUserEvent(context, &error), done;
	cl_kernel scale = kernel("scale");
	int destroyed = 0;
	cl_mem ma;
	cl_command_queue mine = clCreateCommandQueue(context, device, 0, &error);
	size_t global = N;

	fill(a, 4);
	ma = buffer(CL_MEM_COPY_HOST_PTR, N, a);
	OK(clSetMemObjectDestructorCallback(ma, gone, &destroyed));
	set(scale, 0, sizeof(ma), &ma);
	set(scale, 1, sizeof(by), &by);
	OK(clEnqueueNDRangeKernel(mine, scale, 1, NULL, &global, NULL, 1, &go, NULL));
	OK(clEnqueueReadBuffer(mine, ma, CL_FALSE, 0, sizeof(b), b, 0, NULL, &done));
	clReleaseKernel(scale);
	clReleaseMemObject(ma);
	clReleaseCommandQueue(mine);
	OK(clSetUserEventStatus(go, CL_COMPLETE));
	OK(clWaitForEvents(1, &done));
	CHECK(b[0] == 4 * a[0] && b[N - 1] == 4 * a[N - 1]);
	clReleaseEvent(go);
	clReleaseEvent(done);
	for (int i = 0; i < 1000 && !__atomic_load_n(&destroyed, __ATOMIC_ACQUIRE); i++)
		usleep(1000);
	CHECK(destroyed == 1);
}

/* Launches without one of their buffers say nothing of those that have it, nor of values of 0 and
 * local memory that are as large as a pointer. */
static void test_none(void)
{
	static int a[N], b[N];
	cl_kernel marked = kernel("marked");
	cl_mem ma, mark, none = NULL;
	const cl_mem *const marks[] = {NULL, &none, &mark};
	cl_long no = 0;

	fill(a, 11);
	ma = buffer(CL_MEM_COPY_HOST_PTR, N, a);
	mark = buffer(CL_MEM_COPY_HOST_PTR | CL_MEM_READ_ONLY, N, a);
	set(marked, 0, sizeof(ma), &ma);
	set(marked, 2, sizeof(no), &no);
	set(marked, 3, sizeof(no), NULL);
	for (int m = 0; m < 3; m++) {
		int all = m < 2;

		set(marked, 1, sizeof(mark), marks[m]);
		set(marked, 4, sizeof(all), &all);
		launch(queue, marked, N, GROUP);
	}
	read_back(ma, N, b);
	CHECK(b[0] == 2 * a[0] + 2 && b[N - 1] == 2 * a[N - 1] + 2);
	clReleaseKernel(marked);
	clReleaseMemObject(ma);
	clReleaseMemObject(mark);
}

static const struct {
	const char *name;
	void (*run)(void);
} tests[] = {
    {"types", test_types},         {"queries", test_queries},
    {"contexts", test_contexts},   {"errors", test_errors},
    {"chain", test_chain},         {"mixed", test_mixed},
    {"arguments", test_arguments}, {"home", test_home},
    {"groups", test_groups},       {"memory", test_memory},
    {"events", test_events},       {"out-of-order", test_out_of_order},
    {"threads", test_threads},     {"printf", test_printf},
    {"binary", test_binary},       {"release", test_release},
    {"passed", test_passed},       {"long", test_long},
    {"leave", test_leave},         {"unwatched", test_unwatched},
    {"images", test_images},       {"image_chain", test_image_chain},
    {"flushed", test_flushed},     {"twice", test_twice},
    {"outside", test_outside},     {"none", test_none},
    {"short", test_short},         {"large", test_large},
    {"pinned", test_pinned},       {"retained", test_retained},
    {"beside", test_beside},       {"each", test_each},
    {"limits", test_limits},       {"told", test_told},
};

static bool begin(void)
{
	cl_platform_id platform;
	const char *text = source;
	cl_int error;

	if (clGetPlatformIDs(1, &platform, NULL) ||
	    clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL))
		return false;
	context = clCreateContext(NULL, 1, &device, NULL, NULL, &error);
	CHECK(!error);
	queue = clCreateCommandQueue(context, device, 0, &error);
	CHECK(!error);
	program = clCreateProgramWithSource(context, 1, &text, NULL, &error);
	CHECK(!error);
	OK(clBuildProgram(program, 1, &device, "-w", NULL, NULL));
	return !failures;
}

/* A process forked while home computes ends as any other. */
static void test_child(void)
{
	cl_kernel scale = kernel("scale");
	cl_mem a = buffer(CL_MEM_READ_WRITE, N, NULL);
	cl_int by = 1;
	int status = -1;
	pid_t child;

	set(scale, 0, sizeof(a), &a);
	set(scale, 1, sizeof(by), &by);
	for (int l = 0; l < 100; l++)
		launch(queue, scale, N, GROUP);
	fflush(stdout);
	child = fork();
	if (!child)
		exit(0);
	waitpid(child, &status, 0);
	CHECK(!status);
	OK(clFinish(queue));
	clReleaseKernel(scale);
	clReleaseMemObject(a);
}

/* The child uses OpenCL, the parent only waits. */
static void fork_first(void)
{
	pid_t child = fork();
	int status;

	if (!child)
		return;
	waitpid(child, &status, 0);
	exit(WIFEXITED(status) ? WEXITSTATUS(status) : 1);
}

int main(int argc, char **argv)
{
	if (argc > 1 && !strcmp(argv[1], "fork")) {
		fork_first();
		argc = 1;
	}
	if (argc > 1 && !strcmp(argv[1], "child")) {
		if (!begin())
			return 77;
		test_child();
		return failures != 0;
	}
	if (!begin()) {
		fputs("no OpenCL device\n", stderr);
		return 77;
	}
	for (size_t t = 0; t < sizeof(tests) / sizeof(*tests); t++)
		if (argc < 2 || !strcmp(argv[1], tests[t].name))
			tests[t].run();
	clReleaseProgram(program);
	clReleaseCommandQueue(queue);
	clReleaseContext(context);
	puts(failures ? "wrong" : "all right");
	return failures ? 1 : 0;
}
