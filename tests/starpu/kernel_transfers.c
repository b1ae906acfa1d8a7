/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * How the data of kernels crosses: while other devices compute, in turn on a bus, row by
 * row, or not at all; and right results where a device has no memory, or fails when it has
 * written already.
 */
#include "config.h"

#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <heddle/heddle.h>
#include <starpu_opencl.h>

#include "tests/unit/test.h"

enum { N = 1 << 16, SIDE = 512 };

/* ---- what is done to OpenCL ---- */

/* Heddle's calls come here first. */
#define HOOK(name) __attribute__((visibility("default"))) cl_int name
#define NEXT(name)                                                                                 \
	static __thread __typeof__(&name) next;                                                    \
	if (!next)                                                                                 \
	next = (__typeof__(next))dlsym(RTLD_NEXT, #name)

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t written = PTHREAD_COND_INITIALIZER;
static struct {
	bool wait;                /* the first launch waits for another queue's data */
	bool wait_end;            /* the first that fetches results does */
	bool fail;                /* the next launch fails, after it was done */
	bool full;                /* the next device that makes a buffer has no memory */
	cl_command_queue waiting; /* which does */
	bool met;                 /* it did not wait in vain */
	cl_command_queue broken;
	cl_context without_memory;
	cl_command_queue crossing; /* a queue with data under way; NULL: none */
	bool at_once;              /* there were two */
	unsigned by_rows;          /* transfers of rectangles */
	size_t room;               /* bytes that buffers may have together; 0: any */
	unsigned waits;            /* for all that is in a queue */
} seen;

static size_t buffers; /* bytes of devices' own */

static void hooks_reset(void)
{
	memset(&seen, 0, sizeof(seen));
}

/* Data begins to cross. */
static void cross(cl_command_queue queue, bool by_rows)
{
	struct timespec a_while = {0, 300000};

	pthread_mutex_lock(&mutex);
	seen.by_rows += by_rows;
	if (seen.crossing && seen.crossing != queue)
		seen.at_once = true;
	seen.crossing = queue;
	if (seen.waiting && seen.waiting != queue && !by_rows) {
		seen.met = true;
		pthread_cond_broadcast(&written);
	}
	pthread_mutex_unlock(&mutex);
	nanosleep(&a_while, NULL); /* for others to come between */
}

/* Waits for another device to get data from now on. */
static void meet(cl_command_queue queue, bool *wanted)
{
	struct timespec end;

	clock_gettime(CLOCK_REALTIME, &end);
	end.tv_sec += 30;
	pthread_mutex_lock(&mutex);
	if (*wanted) {
		*wanted = false;
		seen.waiting = queue;
		pthread_cond_broadcast(&written);
		while (!seen.met && !pthread_cond_timedwait(&written, &mutex, &end))
			;
		seen.waiting = NULL; /* who comes later does not count */
	}
	pthread_mutex_unlock(&mutex);
}

HOOK(clEnqueueWriteBuffer)
(cl_command_queue queue, cl_mem buffer, cl_bool blocking, size_t offset, size_t size,
 const void *from, cl_uint n, const cl_event *events, cl_event *event)
{
	NEXT(clEnqueueWriteBuffer);
	cross(queue, false);
	return next(queue, buffer, blocking, offset, size, from, n, events, event);
}

HOOK(clEnqueueReadBuffer)
(cl_command_queue queue, cl_mem buffer, cl_bool blocking, size_t offset, size_t size, void *to,
 cl_uint n, const cl_event *events, cl_event *event)
{
	NEXT(clEnqueueReadBuffer);
	meet(queue, &seen.wait_end);
	cross(queue, false);
	return next(queue, buffer, blocking, offset, size, to, n, events, event);
}

HOOK(clEnqueueReadBufferRect)
(cl_command_queue queue, cl_mem buffer, cl_bool blocking, const size_t *origin,
 const size_t *host_origin, const size_t *region, size_t pitch, size_t slice, size_t host_pitch,
 size_t host_slice, void *to, cl_uint n, const cl_event *events, cl_event *event)
{
	NEXT(clEnqueueReadBufferRect);
	cross(queue, true);
	return next(queue, buffer, blocking, origin, host_origin, region, pitch, slice, host_pitch,
	            host_slice, to, n, events, event);
}

HOOK(clFinish)(cl_command_queue queue)
{
	NEXT(clFinish);
	cl_int error = next(queue);

	pthread_mutex_lock(&mutex);
	seen.waits++;
	if (seen.crossing == queue)
		seen.crossing = NULL;
	pthread_mutex_unlock(&mutex);
	return error;
}

HOOK(clEnqueueNDRangeKernel)
(cl_command_queue queue, cl_kernel kernel, cl_uint dimensions, const size_t *offset,
 const size_t *global, const size_t *local, cl_uint n, const cl_event *events, cl_event *event)
{
	NEXT(clEnqueueNDRangeKernel);
	cl_int error;

	meet(queue, &seen.wait);
	error = next(queue, kernel, dimensions, offset, global, local, n, events, event);
	if (__atomic_exchange_n(&seen.fail, false, __ATOMIC_SEQ_CST))
		__atomic_store_n(&seen.broken, queue, __ATOMIC_SEQ_CST);
	if (queue != __atomic_load_n(&seen.broken, __ATOMIC_SEQ_CST))
		return error;
	clFinish(queue);
	return CL_OUT_OF_RESOURCES;
}

__attribute__((visibility("default"))) cl_mem clCreateBuffer(cl_context context, cl_mem_flags flags,
                                                             size_t size, void *host, cl_int *error)
{
	NEXT(clCreateBuffer);
	if (__atomic_exchange_n(&seen.full, false, __ATOMIC_SEQ_CST))
		seen.without_memory = context;
	if (context == seen.without_memory ||
	    (seen.room && __atomic_load_n(&buffers, __ATOMIC_SEQ_CST) + size > seen.room)) {
		*error = CL_MEM_OBJECT_ALLOCATION_FAILURE;
		return NULL;
	}
	if (!(flags & CL_MEM_USE_HOST_PTR))
		__atomic_add_fetch(&buffers, size, __ATOMIC_SEQ_CST);
	return next(context, flags, size, host, error);
}

HOOK(clReleaseMemObject)(cl_mem buffer)
{
	NEXT(clReleaseMemObject);
	cl_mem_flags flags = 0;
	size_t size = 0;

	clGetMemObjectInfo(buffer, CL_MEM_FLAGS, sizeof(flags), &flags, NULL);
	clGetMemObjectInfo(buffer, CL_MEM_SIZE, sizeof(size), &size, NULL);
	if (!(flags & CL_MEM_USE_HOST_PTR))
		__atomic_sub_fetch(&buffers, size, __ATOMIC_SEQ_CST);
	return next(buffer);
}

/* Where kernel_transfers.sh names a machine, the devices are at its switch. */
HOOK(clGetDeviceInfo)
(cl_device_id id, cl_device_info what, size_t size, void *value, size_t *set)
{
	NEXT(clGetDeviceInfo);
	cl_device_id first;

	if (what != 0x410F || size < 4 * sizeof(cl_uint) || !getenv("TRANSFERS_MACHINE"))
		return next(id, what, size, value, set);
	starpu_opencl_get_device(0, &first);
	memcpy(value, (cl_uint[]){0, id == first ? 3 : 4, 0, 0}, 4 * sizeof(cl_uint));
	return CL_SUCCESS;
}

/* ---- kernels ---- */

static const char source[] =
    "__kernel void saxpy(__global float *y, __global const float *x, float a)\n"
    "{\n"
    "	y[get_global_id(0)] += a * x[get_global_id(0)];\n"
    "}\n"
    "__kernel void transpose(__global float *out, __global const float *in)\n"
    "{\n"
    "	out[get_global_id(0) * get_global_size(1) + get_global_id(1)] =\n"
    "	    in[get_global_id(1) * get_global_size(0) + get_global_id(0)];\n"
    "}\n"
    "__kernel void totals(__global float *table, int n)\n"
    "{\n"
    "	__global float *row = table + get_global_id(0) * n;\n"
    "	float sum = 0;\n"
    "	for (int i = 0; i < n; i++)\n"
    "		sum += row[i];\n"
    "	row[0] = sum;\n"
    "}\n"
    "__kernel void every_other(__global float *out, __global const float *in)\n"
    "{\n"
    "	out[2 * get_global_id(0)] = in[get_global_id(0)];\n"
    "}\n"
    "__kernel void halves(__global float4 *out, int n)\n"
    "{\n"
    "	int i = get_global_id(0);\n"
    "	if (i < n)\n"
    "		out[i].xy = i;\n"
    "	else\n"
    "		out[i - n].zw = i;\n"
    "}\n"
    "__kernel void scattered(__global float *out, __global const float *in, int n)\n"
    "{\n"
    "	out[(long)get_global_id(0) * 5 % n] = in[get_global_id(0)];\n"
    "}\n";

/* A kernel that no test has had: devices that failed stay out of one for good. */
static const char *source_fresh(void)
{
	static char texts[16][sizeof(source) + 40];
	static int n;

	sprintf(texts[n], "/* %d */\n%s", n, source);
	return texts[n++];
}

static float x[SIDE * SIDE] __attribute__((aligned(128)));
static float y[SIDE * SIDE] __attribute__((aligned(128)));

static struct heddle_kernel saxpy(float *factor)
{
	return (struct heddle_kernel){
	    .source = source_fresh(),
	    .name = "saxpy",
	    .dimensions = 1,
	    .global = {N},
	    .local = {64},
	    .narguments = 3,
	    .arguments = {{.type = HEDDLE_KERNEL_HOST, .pointer = y, .bytes = N * sizeof(*y)},
	                  {.type = HEDDLE_KERNEL_HOST, .pointer = x, .bytes = N * sizeof(*x)},
	                  {.type = HEDDLE_KERNEL_VALUE,
	                   .pointer = factor,
	                   .bytes = sizeof(*factor)}},
	};
}

static void saxpy_check(const struct heddle_kernel *kernel, struct heddle_kernel_stats *stats)
{
	for (int i = 0; i < N; i++) {
		x[i] = i % 1000;
		y[i] = i % 77;
	}
	assert_int_equal(heddle_kernel_run(kernel, stats), 0);
	for (int i = 0; i < N; i++)
		assert_true(y[i] == i % 77 + 0.5f * (i % 1000));
}

/* Whether kernel_transfers.sh has set a variable so. */
static bool is_set(const char *variable, const char *value)
{
	const char *text = getenv(variable);

	return text && !strcmp(text, value);
}

static bool in_place(void)
{
	return !is_set("HEDDLE_KERNEL_IN_PLACE", "0");
}

static bool analysed(void)
{
	return !is_set("HEDDLE_ANALYSE", "none");
}

/* ---- tests ---- */

/* One device computes while another one's data crosses; on one bus, never two's. */
static void overlap(void **state)
{
	struct heddle_kernel_stats stats;
	float factor = 0.5f;
	struct heddle_kernel kernel = saxpy(&factor);
	bool turns = is_set("HEDDLE_KERNEL_BUSES", "1") || getenv("TRANSFERS_MACHINE");

	hooks_reset();
	seen.wait = !in_place() && analysed();
	saxpy_check(&kernel, &stats);
	assert_int_equal(stats.nworkers, analysed() ? 2 : 1);
	if (!analysed())
		return;
	if (in_place()) {
		for (unsigned w = 0; w < stats.nworkers; w++)
			assert_true(stats.workers[w].in_bytes == 0);
		return;
	}
	assert_true(seen.met);
	assert_true(!turns || !seen.at_once);
	printf("  transfers at once: %s\n", seen.at_once ? "yes" : "no");
}

/* Who computes alone has nobody to take turns with: only the end is waited for. */
static void alone(void **state)
{
	struct heddle_kernel_stats stats;
	float factor = 0.5f;
	struct heddle_kernel kernel = saxpy(&factor);
	int ids[2];

	starpu_worker_get_ids_by_type(STARPU_OPENCL_WORKER, ids, 2);
	kernel.workers = ids;
	kernel.nworkers = 1;
	kernel.split = HEDDLE_KERNEL_ALWAYS;
	saxpy_check(&kernel, &stats); /* with a dry run before */
	hooks_reset();
	saxpy_check(&kernel, &stats);
	assert_int_equal(stats.nworkers, 1);
	assert_int_equal(seen.waits, 1);
}

static void *run(void *kernel)
{
	return (void *)(intptr_t)heddle_kernel_run(kernel, NULL);
}

/* Nor does another launch wait for it, whose device is on the same bus. */
static void alone_each(void **state)
{
	float factor = 0.5f, other_y[N], other_x[N] = {0};
	struct heddle_kernel kernel = saxpy(&factor), other = kernel;
	struct heddle_kernel_stats stats;
	pthread_t thread;
	void *status;
	int ids[2];

	if (in_place())
		return;
	memset(other_y, 0, sizeof(other_y));
	starpu_worker_get_ids_by_type(STARPU_OPENCL_WORKER, ids, 2);
	kernel.nworkers = other.nworkers = 1;
	kernel.split = other.split = HEDDLE_KERNEL_ALWAYS;
	kernel.workers = &ids[0];
	other.workers = &ids[1];
	other.arguments[0].pointer = other_y;
	other.arguments[1].pointer = other_x;
	saxpy_check(&kernel, &stats);
	assert_int_equal(heddle_kernel_run(&other, NULL), 0);
	hooks_reset();
	seen.wait_end = true;
	assert_int_equal(pthread_create(&thread, NULL, run, &kernel), 0);
	pthread_mutex_lock(&mutex);
	while (!seen.waiting)
		pthread_cond_wait(&written, &mutex);
	pthread_mutex_unlock(&mutex);
	assert_int_equal(heddle_kernel_run(&other, NULL), 0);
	pthread_join(thread, &status);
	assert_null(status);
	assert_true(seen.met);
}

/* Of a transposed matrix only a device's own columns come back. */
static void rows(void **state)
{
	struct heddle_kernel_stats stats;
	struct heddle_kernel kernel = {
	    .source = source_fresh(),
	    .name = "transpose",
	    .dimensions = 2,
	    .global = {SIDE, SIDE},
	    .local = {8, 8},
	    .narguments = 2,
	    .arguments = {{.type = HEDDLE_KERNEL_HOST, .pointer = y, .bytes = sizeof(y)},
	                  {.type = HEDDLE_KERNEL_HOST, .pointer = x, .bytes = sizeof(x)}},
	};
	size_t bytes = 0;

	hooks_reset();
	for (int i = 0; i < SIDE * SIDE; i++)
		x[i] = i;
	memset(y, -1, sizeof(y));
	assert_int_equal(heddle_kernel_run(&kernel, &stats), 0);
	for (int i = 0; i < SIDE * SIDE; i++)
		assert_true(y[i % SIDE * SIDE + i / SIDE] == x[i]);
	for (unsigned w = 0; w < stats.nworkers; w++)
		bytes += stats.workers[w].out_bytes;
	printf("  %zu bytes of results crossed, %u times in rows\n", bytes, seen.by_rows);
	if (!in_place() && analysed()) {
		assert_true(seen.by_rows > 0);
		assert_int_equal(bytes, sizeof(y));
	}
}

/* What lies between short rows far apart does not cross back, though it is read. */
static void few_of_what_is_read(void **state)
{
	struct heddle_kernel_stats stats;
	int n = SIDE;
	struct heddle_kernel kernel = {
	    .source = source_fresh(),
	    .name = "totals",
	    .dimensions = 1,
	    .global = {SIDE},
	    .local = {8},
	    .narguments = 2,
	    .arguments = {{.type = HEDDLE_KERNEL_HOST, .pointer = y, .bytes = sizeof(y)},
	                  {.type = HEDDLE_KERNEL_VALUE, .pointer = &n, .bytes = sizeof(n)}},
	};
	size_t bytes = 0;

	hooks_reset();
	for (int i = 0; i < SIDE * SIDE; i++)
		y[i] = i % SIDE % 8;
	assert_int_equal(heddle_kernel_run(&kernel, &stats), 0);
	for (int i = 0; i < SIDE * SIDE; i++)
		assert_true(y[i] == (i % SIDE ? i % SIDE % 8 : SIDE / 8 * 28));
	for (unsigned w = 0; w < stats.nworkers; w++)
		bytes += stats.workers[w].out_bytes;
	printf("  %zu bytes of results crossed, %u times in rows\n", bytes, seen.by_rows);
	if (!in_place() && analysed()) {
		assert_true(seen.by_rows > 0);
		assert_int_equal(bytes, SIDE * sizeof(*y));
	}
}

/* Of what is written with gaps between, the gaps stay as they were. */
static void gaps(void **state)
{
	struct heddle_kernel_stats stats;
	struct heddle_kernel kernel = {
	    .source = source_fresh(),
	    .name = "every_other",
	    .dimensions = 1,
	    .global = {N},
	    .local = {64},
	    .narguments = 2,
	    .arguments = {{.type = HEDDLE_KERNEL_HOST, .pointer = y, .bytes = 2 * N * sizeof(*y)},
	                  {.type = HEDDLE_KERNEL_HOST, .pointer = x, .bytes = N * sizeof(*x)}},
	};

	hooks_reset();
	for (int i = 0; i < 2 * N; i++) {
		x[i] = i;
		y[i] = -i;
	}
	assert_int_equal(heddle_kernel_run(&kernel, &stats), 0);
	for (int i = 0; i < 2 * N; i++)
		assert_true(y[i] == (i % 2 ? -i : i / 2));
}

/* Devices that store all of a vector to write some of its elements do not do so in one array, also
 * where the kernel, as the program says, reads nothing. */
static void elements(void **state)
{
	struct heddle_kernel_stats stats;
	int n = N / 2;
	struct heddle_kernel kernel = {
	    .source = source_fresh(),
	    .name = "halves",
	    .dimensions = 1,
	    .global = {N},
	    .local = {64},
	    .narguments = 2,
	    .arguments = {{.type = HEDDLE_KERNEL_HOST,
	                   .mode = STARPU_W,
	                   .pointer = y,
	                   .bytes = 2 * N * sizeof(*y)},
	                  {.type = HEDDLE_KERNEL_VALUE, .pointer = &n, .bytes = sizeof(n)}},
	    .method = "linear", /* each device computes some */
	};

	hooks_reset();
	assert_int_equal(heddle_kernel_run(&kernel, &stats), 0);
	for (int i = 0; i < 2 * N; i++)
		assert_true(y[i] == i / 4 + (i % 4 < 2 ? 0 : n));
	if (!analysed())
		return;
	assert_int_equal(stats.nworkers, 2);
	for (unsigned w = 0; w < stats.nworkers; w++)
		assert_true(stats.workers[w].out_bytes > 0);
}

/* Scattered results: comparing with what was there before tells them from the rest. */
static void scattered(void **state)
{
	struct heddle_kernel_stats stats;
	int n = 2 * N - 1;
	struct heddle_kernel kernel = {
	    .source = source_fresh(),
	    .name = "scattered",
	    .dimensions = 1,
	    .global = {N},
	    .local = {64},
	    .narguments = 3,
	    .arguments = {{.type = HEDDLE_KERNEL_HOST, .pointer = y, .bytes = 2 * N * sizeof(*y)},
	                  {.type = HEDDLE_KERNEL_HOST, .pointer = x, .bytes = N * sizeof(*x)},
	                  {.type = HEDDLE_KERNEL_VALUE, .pointer = &n, .bytes = sizeof(n)}},
	};

	hooks_reset();
	for (int i = 0; i < 2 * N; i++) {
		x[i] = i;
		y[i] = -i - 1;
	}
	assert_int_equal(heddle_kernel_run(&kernel, &stats), 0);
	for (int i = 0; i < N; i++) {
		int at = (long)i * 5 % n;

		assert_true(y[at] == i);
		y[at] = -at - 1;
	}
	for (int i = 0; i < 2 * N; i++)
		assert_true(y[i] == -i - 1);
}

/* Results are right, whoever had to compute them. */
static void failures(void **state)
{
	struct heddle_kernel_stats stats;
	float factor = 0.5f;

	setenv("HEDDLE_VERBOSE", "0", 1);
	for (int i = 0; i < 4; i++) {
		struct heddle_kernel kernel = saxpy(&factor);

		hooks_reset();
		/* In shares, a first launch makes a dry run, in which a device may fail too. */
		kernel.split = i % 2 ? HEDDLE_KERNEL_ALWAYS : HEDDLE_KERNEL_BY_POLICY;
		if (i % 2)
			saxpy_check(&kernel, &stats);
		seen.fail = i < 2;
		seen.full = i >= 2;
		saxpy_check(&kernel, &stats);
		/* A device keeps its own buffers for the next launch. */
		assert_true(seen.broken || seen.without_memory || i == 3);
		/* Of a kernel that is not split it may fail in the dry run. */
		assert_true(i % 2 || !analysed() || stats.moved > 0);
		printf("  %s, %s: %zu groups moved\n", i % 2 ? "shares" : "blocks",
		       i < 2 ? "lost" : "no memory", stats.moved);
	}
	unsetenv("HEDDLE_VERBOSE");
	hooks_reset();
}

/* What kernels keep on devices counts for StarPU, and makes room for others. */
static void short_of_memory(void **state)
{
	int ids[2];
	unsigned node;
	starpu_ssize_t available;
	float factor = 0.5f;
	struct heddle_kernel first = saxpy(&factor), second = saxpy(&factor);
	struct heddle_kernel_stats stats;

	starpu_worker_get_ids_by_type(STARPU_OPENCL_WORKER, ids, 2);
	node = starpu_worker_get_memory_node(ids[0]);
	first.workers = second.workers = ids;
	first.nworkers = second.nworkers = 1;
	hooks_reset();
	heddle_kernels_unload();
	assert_int_equal(buffers, 0);
	available = starpu_memory_get_available(node);
	saxpy_check(&first, &stats);
	if (in_place()) {
		assert_true(!analysed() || starpu_memory_get_available(node) == available);
		return;
	}
	if (available >= 0)
		assert_int_equal(starpu_memory_get_available(node),
		                 available - (starpu_ssize_t)(2 * N * sizeof(*x)));
	seen.room = buffers;
	setenv("HEDDLE_VERBOSE", "0", 1);
	saxpy_check(&second, &stats);
	unsetenv("HEDDLE_VERBOSE");
	assert_int_equal(stats.moved, 0);
	seen.room = 0;
	heddle_kernels_unload();
	assert_int_equal(buffers, 0);
	assert_int_equal(starpu_memory_get_available(node), available);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(overlap),
	    cmocka_unit_test(alone),
	    cmocka_unit_test(alone_each),
	    cmocka_unit_test(rows),
	    cmocka_unit_test(few_of_what_is_read),
	    cmocka_unit_test(gaps),
	    cmocka_unit_test(scattered),
	    cmocka_unit_test(failures),
	    cmocka_unit_test(short_of_memory),
	    cmocka_unit_test(elements),
	};
	int failed;

	if (starpu_init(NULL))
		return 77;
	if (starpu_opencl_worker_get_count() < 2) {
		starpu_shutdown();
		return 77;
	}
	/* StarPU has looked at the machine that there is. */
	if (getenv("TRANSFERS_MACHINE"))
		setenv("HWLOC_XMLFILE", getenv("TRANSFERS_MACHINE"), 1);
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	heddle_kernels_unload();
	starpu_shutdown();
	return failed;
}
