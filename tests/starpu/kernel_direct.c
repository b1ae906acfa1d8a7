/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Launches that the submitting thread enqueues itself: they are nodes of the task graph as all
 * others, end whoever waits or does not, and what fails on that way is right all the same.
 * In a build with --enable-sanitizers=thread, TSAN_OPTIONS=ignore_noninstrumented_modules=1, it
 * looks for races too; valgrind does not know all instructions that PoCL makes.
 */
#include "config.h"

#define CL_TARGET_OPENCL_VERSION 110
#include <CL/cl.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <heddle/heddle.h>

#include "tests/unit/test.h"

enum { N = 1 << 14 };

/* ---- what is done to OpenCL ---- */

/* Heddle's calls come here first. */
#define HOOK(name) __attribute__((visibility("default"))) cl_int name
#define NEXT(name)                                                                                 \
	static __thread __typeof__(&name) next;                                                    \
	if (!next)                                                                                 \
	next = (__typeof__(next))dlsym(RTLD_NEXT, #name)

enum call { KERNEL, WRITE, READ, MAP, FINISH, MARKER, CALLBACK, BUFFER, NCALLS };
static __thread bool mine;         /* this thread submits, and no worker is it */
static enum call failing = NCALLS; /* fails once, on a thread that submits */
static unsigned direct;            /* kernels that such a thread enqueued */
static unsigned compiled;          /* programs, by anybody */
static cl_uint dimensions_last;    /* of the latest launch */
static bool failed;
static unsigned later; /* not the next such call, but that many later */

static bool fails(enum call call)
{
	if (!mine || __atomic_load_n(&failing, __ATOMIC_SEQ_CST) != call || (later && later--))
		return false;
	__atomic_store_n(&failing, NCALLS, __ATOMIC_SEQ_CST);
	failed = true;
	return true;
}

HOOK(clEnqueueNDRangeKernel)
(cl_command_queue queue, cl_kernel kernel, cl_uint dimensions, const size_t *offset,
 const size_t *global, const size_t *local, cl_uint n, const cl_event *events, cl_event *event)
{
	NEXT(clEnqueueNDRangeKernel);
	if (fails(KERNEL))
		return CL_OUT_OF_RESOURCES;
	__atomic_store_n(&dimensions_last, dimensions, __ATOMIC_SEQ_CST);
	if (mine)
		__atomic_add_fetch(&direct, 1, __ATOMIC_SEQ_CST);
	return next(queue, kernel, dimensions, offset, global, local, n, events, event);
}

HOOK(clBuildProgram)
(cl_program program, cl_uint n, const cl_device_id *devices, const char *options,
 void(CL_CALLBACK *told)(cl_program, void *), void *arg)
{
	NEXT(clBuildProgram);
	__atomic_add_fetch(&compiled, 1, __ATOMIC_SEQ_CST);
	return next(program, n, devices, options, told, arg);
}

HOOK(clEnqueueWriteBuffer)
(cl_command_queue queue, cl_mem buffer, cl_bool blocking, size_t offset, size_t size,
 const void *from, cl_uint n, const cl_event *events, cl_event *event)
{
	NEXT(clEnqueueWriteBuffer);
	if (fails(WRITE))
		return CL_OUT_OF_RESOURCES;
	return next(queue, buffer, blocking, offset, size, from, n, events, event);
}

HOOK(clEnqueueReadBuffer)
(cl_command_queue queue, cl_mem buffer, cl_bool blocking, size_t offset, size_t size, void *to,
 cl_uint n, const cl_event *events, cl_event *event)
{
	NEXT(clEnqueueReadBuffer);
	if (fails(READ))
		return CL_OUT_OF_RESOURCES;
	return next(queue, buffer, blocking, offset, size, to, n, events, event);
}

__attribute__((visibility("default"))) void *
clEnqueueMapBuffer(cl_command_queue queue, cl_mem buffer, cl_bool blocking, cl_map_flags flags,
                   size_t offset, size_t size, cl_uint n, const cl_event *events, cl_event *event,
                   cl_int *error)
{
	NEXT(clEnqueueMapBuffer);
	if (fails(MAP)) {
		*error = CL_MAP_FAILURE;
		return NULL;
	}
	return next(queue, buffer, blocking, flags, offset, size, n, events, event, error);
}

HOOK(clFinish)(cl_command_queue queue)
{
	NEXT(clFinish);
	cl_int error = next(queue);

	return fails(FINISH) ? CL_OUT_OF_RESOURCES : error;
}

HOOK(clEnqueueMarker)(cl_command_queue queue, cl_event *event)
{
	NEXT(clEnqueueMarker);
	return fails(MARKER) ? CL_OUT_OF_RESOURCES : next(queue, event);
}

HOOK(clSetEventCallback)
(cl_event event, cl_int state, void(CL_CALLBACK *function)(cl_event, cl_int, void *), void *arg)
{
	NEXT(clSetEventCallback);
	return fails(CALLBACK) ? CL_OUT_OF_RESOURCES : next(event, state, function, arg);
}

__attribute__((visibility("default"))) cl_mem clCreateBuffer(cl_context context, cl_mem_flags flags,
                                                             size_t size, void *host, cl_int *error)
{
	NEXT(clCreateBuffer);
	/* As an implementation does that keeps a copy of what is in the host's arrays. */
	if (flags & CL_MEM_USE_HOST_PTR && getenv("TEST_COPIES"))
		flags ^= CL_MEM_USE_HOST_PTR | CL_MEM_COPY_HOST_PTR;
	if (fails(BUFFER)) {
		*error = CL_MEM_OBJECT_ALLOCATION_FAILURE;
		return NULL;
	}
	return next(context, flags, size, host, error);
}

/* ---- a kernel, and a task that does the like ---- */

static const char source[] = "__kernel void advance(__global int *y, __global const int *x)\n"
                             "{\n"
                             "	y[get_global_id(0)] = 3 * y[get_global_id(0)] + "
                             "x[get_global_id(0)];\n"
                             "}\n";

static int x[N] __attribute__((aligned(128))), y[N] __attribute__((aligned(128)));

static struct heddle_kernel step_of(int *to, const int *from)
{
	return (struct heddle_kernel){
	    .source = source,
	    .name = "advance",
	    .dimensions = 1,
	    .global = {N},
	    .local = {64},
	    .narguments = 2,
	    .arguments = {{.type = HEDDLE_KERNEL_HOST, .pointer = to, .bytes = N * sizeof(*to)},
	                  {.type = HEDDLE_KERNEL_HOST,
	                   .mode = STARPU_R,
	                   .pointer = (void *)from,
	                   .bytes = N * sizeof(*from)}},
	    .split = HEDDLE_KERNEL_ALWAYS,
	};
}

static struct heddle_kernel step_on(starpu_data_handle_t to, starpu_data_handle_t from)
{
	struct heddle_kernel kernel = step_of(NULL, NULL);

	kernel.arguments[0] = (struct heddle_kernel_argument){
	    .type = HEDDLE_KERNEL_HANDLE, .handle = to, .mode = STARPU_RW};
	kernel.arguments[1] = (struct heddle_kernel_argument){
	    .type = HEDDLE_KERNEL_HANDLE, .handle = from, .mode = STARPU_R};
	return kernel;
}

static void step(int *to, const int *from)
{
	for (int i = 0; i < N; i++)
		to[i] = (int)(3u * to[i] + from[i]);
}

static void step_cpu(void *buffers[], void *arg)
{
	step((int *)STARPU_VECTOR_GET_PTR(buffers[0]), (int *)STARPU_VECTOR_GET_PTR(buffers[1]));
}

static struct starpu_codelet step_task = {
    .cpu_funcs = {step_cpu}, .nbuffers = 2, .modes = {STARPU_RW, STARPU_R}, .name = "step_task"};

static void fill(void)
{
	for (int i = 0; i < N; i++) {
		x[i] = i % 1000;
		y[i] = i % 77;
	}
}

static void check_once(void)
{
	for (int i = 0; i < N; i++)
		assert_int_equal(y[i], 3 * (i % 77) + i % 1000);
}

static bool allowed(void)
{
	const char *text = getenv("HEDDLE_KERNEL_DIRECT");

	return !text || strcmp(text, "0");
}

/* Tasks that have ended may count as ready for a moment. */
static void quiet(void)
{
	starpu_task_wait_for_all();
	while (starpu_task_nready())
		starpu_usleep(10);
}

/* A launch, and whether this thread enqueued it. A worker does where a device has to compile
 * first: as of ranges of groups, so of all of them. */
static bool run_direct(struct heddle_kernel_stats *stats)
{
	struct heddle_kernel kernel = step_of(y, x);
	unsigned before = direct, programs = compiled;

	fill();
	quiet();
	assert_int_equal(heddle_kernel_run(&kernel, stats), 0);
	check_once();
	return direct > before || (compiled > programs && allowed());
}

/* After the dry run and what is compiled at first launches, if a machine's devices are alike. */
static void settle(void)
{
	for (int i = 0; i < 30; i++)
		run_direct(NULL);
}

/* ---- tests ---- */

static void runs(void **state)
{
	struct heddle_kernel_stats stats;

	settle();
	for (int i = 0; i < 20; i++) {
		assert_true(run_direct(&stats) == allowed());
		assert_true(stats.us > 0 && stats.predicted_us > 0 && stats.nworkers > 0);
		/* All groups are launched as given, but in a trial of a device that would have to
		 * compile them; ranges of them in a row with three offsets. */
		if (stats.nworkers > 1)
			assert_int_equal(dimensions_last, 3);
		else if (starpu_opencl_worker_get_count() == 1 && !getenv("HEDDLE_KERNEL_CHUNKS"))
			assert_int_equal(dimensions_last, 1);
	}
}

/* What follows waits though nobody does; who waits early, late or never. */
static void ends(void **state)
{
	struct timespec a_while = {0, 2000000};

	for (int i = 0; i < 40; i++) {
		struct heddle_kernel kernel = step_of(y, x);
		struct heddle_kernel_request *request = NULL;
		unsigned before = direct, programs = compiled;
		bool enqueued;

		fill();
		quiet();
		assert_int_equal(heddle_kernel_submit(&kernel, i % 4 ? &request : NULL), 0);
		enqueued = direct > before;
		if (i % 4 == 2)
			nanosleep(&a_while, NULL);
		if (i % 4 == 3 || !request)
			assert_int_equal(starpu_task_wait_for_all(), 0);
		else
			assert_int_equal(heddle_kernel_wait(request, NULL), 0);
		check_once();
		if (i % 4 == 3)
			assert_int_equal(heddle_kernel_wait(request, NULL), 0);
		if (allowed())
			assert_true(enqueued || compiled > programs);
	}
}

enum { ARRAYS = 3, NODES = 40 };
static int arrays[ARRAYS][N] __attribute__((aligned(128))), wanted[ARRAYS][N];

/* Launches and tasks on arrays in any order, some waited for, give what they give one after
 * the other. */
static void graph(starpu_data_handle_t *handles, unsigned *seed)
{
	struct heddle_kernel_request *request;

	for (int n = 0; n < NODES; n++) {
		int to = rand_r(seed) % ARRAYS, from = (to + 1 + rand_r(seed) % 2) % ARRAYS;
		struct heddle_kernel kernel = step_on(handles[to], handles[from]);

		step(wanted[to], wanted[from]);
		switch (rand_r(seed) % 4) {
		case 0:
			assert_int_equal(starpu_task_insert(&step_task, STARPU_RW, handles[to],
			                                    STARPU_R, handles[from], 0),
			                 0);
			break;
		case 1:
			assert_int_equal(heddle_kernel_submit(&kernel, NULL), 0);
			break;
		case 2:
			assert_int_equal(heddle_kernel_submit(&kernel, &request), 0);
			assert_int_equal(heddle_kernel_wait(request, NULL), 0);
			break;
		default:
			assert_int_equal(heddle_kernel_run(&kernel, NULL), 0);
		}
		if (rand_r(seed) % 3 == 0)
			quiet();
	}
}

static void graphs(void **state)
{
	unsigned seed = getenv("SEED") ? (unsigned)atoi(getenv("SEED")) : (unsigned)time(NULL);
	starpu_data_handle_t handles[ARRAYS];
	unsigned before = direct;

	printf("  SEED=%u\n", seed);
	for (int round = 0; round < 10; round++) {
		for (int a = 0; a < ARRAYS; a++) {
			for (int i = 0; i < N; i++)
				arrays[a][i] = wanted[a][i] = i % (71 + a);
			starpu_vector_data_register(&handles[a], STARPU_MAIN_RAM,
			                            (uintptr_t)arrays[a], N, sizeof(int));
		}
		graph(handles, &seed);
		for (int a = 0; a < ARRAYS; a++)
			starpu_data_unregister(handles[a]);
		assert_memory_equal(arrays, wanted, sizeof(arrays));
	}
	assert_true((direct > before) == allowed());
}

/* What the program holds is not written. */
static void held(void **state)
{
	struct timespec a_while = {0, 5000000};
	starpu_data_handle_t hx, hy;

	fill();
	starpu_vector_data_register(&hx, STARPU_MAIN_RAM, (uintptr_t)x, N, sizeof(*x));
	starpu_vector_data_register(&hy, STARPU_MAIN_RAM, (uintptr_t)y, N, sizeof(*y));
	for (int i = 0; i < 5; i++) {
		struct heddle_kernel kernel = step_on(hy, hx);
		struct heddle_kernel_request *request;

		quiet();
		assert_int_equal(starpu_data_acquire(hy, STARPU_RW), 0);
		assert_int_equal(heddle_kernel_submit(&kernel, &request), 0);
		nanosleep(&a_while, NULL);
		fill();
		starpu_data_release(hy);
		assert_int_equal(heddle_kernel_wait(request, NULL), 0);
		starpu_data_acquire(hy, STARPU_R);
		check_once();
		starpu_data_release(hy);
	}
	starpu_data_unregister(hx);
	starpu_data_unregister(hy);
}

/* A launch in which a call fails on this thread; somebody waits or nobody does. */
static void failure(enum call call, bool waited)
{
	/* A buffer is made for an array that was not seen before. */
	const int *from = call == BUFFER ? memcpy(arrays[waited], x, sizeof(x)) : x;
	struct heddle_kernel kernel = step_of(y, from);
	struct heddle_kernel_stats stats = {0};

	failed = false;
	failing = call;
	setenv("HEDDLE_VERBOSE", "0", 1);
	if (waited)
		assert_int_equal(heddle_kernel_run(&kernel, &stats), 0);
	else
		assert_int_equal(heddle_kernel_submit(&kernel, NULL), 0);
	assert_int_equal(starpu_task_wait_for_all(), 0);
	unsetenv("HEDDLE_VERBOSE");
	failing = NCALLS;
	check_once();
	assert_int_equal(stats.moved, 0);
}

/* Whatever fails in the thread that submits, a worker puts it right, and the next launch is
 * direct again. */
static void failures(void **state)
{
	static const char *const names[NCALLS] = {"kernel", "write",  "read",     "map",
	                                          "finish", "marker", "callback", "buffer"};

	if (!allowed())
		skip();
	for (int i = 0; i < 2 * NCALLS; i++) {
		enum call call = i / 2;

		fill();
		quiet();
		failure(call, i % 2);
		printf("  %s, %s: %s\n", names[call], i % 2 ? "waited for" : "not waited for",
		       failed ? "failed" : "was not called");
		assert_true(failed || (call != KERNEL && call != FINISH && call != MARKER) ||
		            (call == FINISH) != i % 2);
		assert_true(run_direct(NULL));
	}
}

/* ---- in chunks ---- */

static const char chunks_source[] =
    "__kernel void table(__global int *out, __global const int *in, __global const int *t, int n)\n"
    "{\n"
    "	int i = get_global_id(0);\n"
    "	if (i < n)\n"
    "		out[i] = in[i] * t[get_local_id(0)] + t[63 - get_local_id(0)];\n"
    "}\n"
    "__kernel void halo(__global int *out, __global const int *in, __global const int *t, int n)\n"
    "{\n"
    "	int i = get_global_id(0);\n"
    "	if (i > 2 && i < n - 2)\n"
    "		out[i] = in[i - 3] + 2 * in[i] + 5 * in[i + 2] + t[7];\n"
    "	else if (i < n)\n"
    "		out[i] = in[i];\n"
    "}\n"
    "__kernel void backward(__global int *out, __global const int *in, __global const int *t, int "
    "n)\n"
    "{\n"
    "	int i = get_global_id(0);\n"
    "	if (i < n)\n"
    "		out[i] = in[n - 1 - i] + t[1];\n"
    "}\n"
    "__kernel void odd(__global int *out, __global const int *in, __global const int *t, int n)\n"
    "{\n"
    "	int i = get_global_id(0);\n"
    "	if (i < n && in[i] % 2)\n"
    "		out[i] = in[i] + t[2];\n"
    "}\n";
enum chunked { TABLE, HALO, BACKWARD, ODD, NCHUNKED };
static const char *const chunked_names[NCHUNKED] = {"table", "halo", "backward", "odd"};

static int chunked(enum chunked which, const int *in, const int *t, int before, int i, int n)
{
	switch (which) {
	case TABLE:
		return in[i] * t[i % 64] + t[63 - i % 64];
	case HALO:
		return i > 2 && i < n - 2 ? in[i - 3] + 2 * in[i] + 5 * in[i + 2] + t[7] : in[i];
	case BACKWARD:
		return in[n - 1 - i] + t[1];
	default:
		return in[i] % 2 ? in[i] + t[2] : before;
	}
}

/* A launch of n items. @return kernels that this thread enqueued */
static unsigned chunked_run(enum chunked which, int n, unsigned *seed)
{
	static int in[N], out[N], t[64];
	struct heddle_kernel kernel = {
	    .source = chunks_source,
	    .name = chunked_names[which],
	    .dimensions = 1,
	    .global = {(n + 63) / 64 * 64},
	    .local = {64},
	    .narguments = 4,
	    .arguments =
	        {{.type = HEDDLE_KERNEL_HOST,
	          .mode = which == ODD ? STARPU_RW : STARPU_W,
	          .pointer = out,
	          .bytes = n * sizeof(int)},
	         {.type = HEDDLE_KERNEL_HOST,
	          .mode = STARPU_R,
	          .pointer = in,
	          .bytes = n * sizeof(int)},
	         {.type = HEDDLE_KERNEL_HOST, .mode = STARPU_R, .pointer = t, .bytes = sizeof(t)},
	         {.type = HEDDLE_KERNEL_VALUE, .pointer = &n, .bytes = sizeof(n)}},
	    .split = HEDDLE_KERNEL_ALWAYS,
	};
	unsigned before = direct;

	for (int i = 0; i < N; i++) {
		in[i] = rand_r(seed) % 1000;
		out[i] = -i;
	}
	for (int i = 0; i < 64; i++)
		t[i] = rand_r(seed) % 100;
	quiet();
	assert_int_equal(heddle_kernel_run(&kernel, NULL), 0);
	for (int i = 0; i < N; i++)
		assert_int_equal(out[i], i < n ? chunked(which, in, t, -i, i, n) : -i);
	return direct - before;
}

/* How many chunks a kernel must be cut into; 0: as many as are found to be fastest, or one where
 * no analysis says what it accesses. */
static unsigned chunks_wanted(void)
{
	const char *many = getenv("HEDDLE_KERNEL_CHUNKS");

	return many && !access(getenv("HEDDLE_ANALYSE"), X_OK) ? (unsigned)atoi(many) : 0;
}

/* Results are those of one launch, and what can be cut is. */
static void chunks(void **state)
{
	unsigned seed = getenv("SEED") ? (unsigned)atoi(getenv("SEED")) : (unsigned)time(NULL);
	unsigned many = chunks_wanted(), most[NCHUNKED] = {0};

	printf("  SEED=%u\n", seed);
	for (int round = 0; round < 60; round++) {
		enum chunked which = round % NCHUNKED;
		int n = round < NCHUNKED ? N : 1 + rand_r(&seed) % N;

		for (int i = 0; i < 5; i++) {
			unsigned kernels = chunked_run(which, n, &seed);

			most[which] = kernels > most[which] ? kernels : most[which];
		}
	}
	if (!many || starpu_opencl_worker_get_count() > 1)
		return;
	assert_int_equal(most[TABLE], many);
	assert_int_equal(most[HALO], many);
	assert_int_equal(most[ODD], 1);
}

/* The third chunk fails. */
static void chunks_fail(void **state)
{
	unsigned seed = 1;

	if (!allowed())
		skip();
	for (int i = 0; i < 5; i++)
		chunked_run(TABLE, N, &seed);
	for (int after = 0; after < 12; after++) {
		failing = after < 4 ? KERNEL : after < 8 ? WRITE : READ;
		later = after % 4;
		failed = false;
		setenv("HEDDLE_VERBOSE", "0", 1);
		chunked_run(TABLE, N, &seed);
		unsetenv("HEDDLE_VERBOSE");
		failing = NCALLS;
		later = 0;
	}
	assert_true(failed || !chunks_wanted());
}

static void *submit_many(void *arg)
{
	int *to = arg;

	mine = true;
	for (int i = 0; i < 30; i++) {
		struct heddle_kernel kernel = step_of(to, x);

		for (int k = 0; k < N; k++)
			to[k] = k % 77;
		if (heddle_kernel_run(&kernel, NULL))
			return arg;
		for (int k = 0; k < N; k++)
			if (to[k] != 3 * (k % 77) + k % 1000)
				return arg;
	}
	return NULL;
}

static void threads(void **state)
{
	pthread_t ids[ARRAYS];
	void *wrong;

	fill();
	for (int t = 0; t < ARRAYS; t++)
		assert_int_equal(pthread_create(&ids[t], NULL, submit_many, arrays[t]), 0);
	for (int t = 0; t < ARRAYS; t++) {
		assert_int_equal(pthread_join(ids[t], &wrong), 0);
		assert_null(wrong);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(runs),        cmocka_unit_test(ends),     cmocka_unit_test(graphs),
	    cmocka_unit_test(held),        cmocka_unit_test(failures), cmocka_unit_test(chunks),
	    cmocka_unit_test(chunks_fail), cmocka_unit_test(threads),
	};
	int status;

	mine = true;
	if (starpu_init(NULL))
		return 77;
	if (!starpu_opencl_worker_get_count()) {
		starpu_shutdown();
		return 77;
	}
	status = cmocka_run_group_tests(tests, NULL, NULL);
	heddle_kernels_unload();
	starpu_shutdown();
	return status;
}
