/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Data that stays on devices between launches: results are right whoever uses the data between
 * them, and what a device holds is not sent again.
 */
#include "config.h"

#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <heddle/heddle.h>

#include "tests/unit/test.h"

/* The next launch fails after it was done, and all others of its device. Heddle's calls come here
 * first. */
static bool fail;
static cl_command_queue broken;

__attribute__((visibility("default"))) cl_int
clEnqueueNDRangeKernel(cl_command_queue queue, cl_kernel kernel, cl_uint dimensions,
                       const size_t *offset, const size_t *global, const size_t *local, cl_uint n,
                       const cl_event *events, cl_event *event)
{
	static __thread __typeof__(&clEnqueueNDRangeKernel) next;
	cl_int error;

	if (!next)
		next = (__typeof__(next))dlsym(RTLD_NEXT, "clEnqueueNDRangeKernel");
	error = next(queue, kernel, dimensions, offset, global, local, n, events, event);
	if (__atomic_exchange_n(&fail, false, __ATOMIC_SEQ_CST))
		__atomic_store_n(&broken, queue, __ATOMIC_SEQ_CST);
	return queue == __atomic_load_n(&broken, __ATOMIC_SEQ_CST) ? CL_OUT_OF_RESOURCES : error;
}

/* No buffer can be read. */
static bool unreadable;

/* Results for all but the beginning of this array are there for a while before their device says
 * so. Those for its beginning wait for them, but not for ever: there may be none. */
static struct {
	const unsigned char *array;
	size_t bytes;
	sem_t there;
} late;

static void late_wait(const unsigned char *to)
{
	struct timespec until;

	if (!late.array || to < late.array || to >= late.array + late.bytes)
		return;
	if (to > late.array) {
		sem_post(&late.there);
		usleep(100000);
		return;
	}
	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec++;
	sem_timedwait(&late.there, &until);
}

__attribute__((visibility("default"))) cl_int
clEnqueueReadBuffer(cl_command_queue queue, cl_mem buffer, cl_bool blocking, size_t offset,
                    size_t bytes, void *to, cl_uint n, const cl_event *events, cl_event *event)
{
	static __thread __typeof__(&clEnqueueReadBuffer) next;
	cl_int error;

	if (!next)
		next = (__typeof__(next))dlsym(RTLD_NEXT, "clEnqueueReadBuffer");
	if (__atomic_load_n(&unreadable, __ATOMIC_SEQ_CST))
		return CL_OUT_OF_RESOURCES;
	error = next(queue, buffer, blocking, offset, bytes, to, n, events, event);
	late_wait(to);
	return error;
}

/* What is sent from here on waits, so that another device computes its part first. */
static const void *late_from;

__attribute__((visibility("default"))) cl_int
clEnqueueWriteBuffer(cl_command_queue queue, cl_mem buffer, cl_bool blocking, size_t offset,
                     size_t bytes, const void *from, cl_uint n, const cl_event *events,
                     cl_event *event)
{
	static __thread __typeof__(&clEnqueueWriteBuffer) next;

	if (!next)
		next = (__typeof__(next))dlsym(RTLD_NEXT, "clEnqueueWriteBuffer");
	if (from && from == late_from)
		usleep(50000);
	return next(queue, buffer, blocking, offset, bytes, from, n, events, event);
}

enum { LOCAL = 64, SIDE = 128, N = SIDE * SIDE, GROUPS = N / LOCAL, ELEMENT = sizeof(unsigned) };

static const char source[] =
    "__kernel void stencil(__global uint *out, __global const uint *in, int n)\n"
    "{\n"
    "	int i = get_global_id(0);\n"
    "	uint left = i > 0 ? in[i - 1] : 0, right = i < n - 1 ? in[i + 1] : 0;\n"
    "	if (i < n) out[i] = left + 3 * in[i] + right;\n"
    "}\n"
    "__kernel void add(__global uint *out, __global const uint *in, int n)\n"
    "{\n"
    "	out[get_global_id(0)] += in[get_global_id(0)];\n"
    "}\n"
    "__kernel void scatter(__global uint *out, __global const uint *in, int n)\n"
    "{\n"
    "	int i = get_global_id(0);\n"
    "	if (in[i] & 1) out[(int)((long)i * 5 % n)] = in[i];\n"
    "}\n"
    "__kernel void transpose(__global uint *out, __global const uint *in, int n)\n"
    "{\n"
    "	int side = get_global_size(0);\n"
    "	out[get_global_id(0) * side + get_global_id(1)] =\n"
    "	    in[get_global_id(1) * side + get_global_id(0)];\n"
    "}\n"
    "__kernel void gather(__global uint *out, __global const uint *in, int n)\n"
    "{\n"
    "	out[get_global_id(0)] = in[in[get_global_id(0)] % n] + 1;\n"
    "}\n"
    "__kernel void columns(__global uint *out, __global const uint *in, int n)\n"
    "{\n"
    "	int side = get_global_size(0);\n"
    "	out[get_global_id(1) * side + get_global_id(0)] =\n"
    "	    in[get_global_id(0) * side + get_global_id(1)];\n"
    "}\n"
    "__kernel void scribble(__global uint *out, __global uint *in, int n)\n"
    "{\n"
    "	out[get_global_id(0)] = in[get_global_id(0)] * 7;\n"
    "	in[get_global_id(0)] = 1;\n"
    "}\n"
    "__kernel void found(__global const uint *place, __global uint *out)\n"
    "{\n"
    "	out[get_global_id(0)] = 3 * out[place[get_global_id(0)]] + 1;\n"
    "}\n"
    "__kernel void slow(__global uint *out, __global const uint *in, int n)\n"
    "{\n"
    "	uint x = in[get_global_id(0)], y = x;\n"
    "	for (int j = 0; j < n / 4; j++) y = y * 5 + (y >> 7) + 1;\n"
    "	out[get_global_id(0)] = x ? x : y;\n"
    "}\n"
    "__kernel void grow(__global uint4 *v, int n)\n"
    "{\n"
    "	v[get_global_id(0)] += n;\n"
    "}\n"
    "__kernel void grow_far(__global uint4 *v, int n)\n"
    "{\n"
    "	int i = get_global_id(0);\n"
    "	v[i].xyz += v[max(i - n, 0)].w;\n"
    "}\n"
    "__kernel void grow_columns(__global uint4 *v, int n)\n"
    "{\n"
    "	int i = get_global_id(0) * get_global_size(1) + get_global_id(1);\n"
    "	v[i].yzw += n * v[i].x;\n"
    "}\n";

enum which {
	STENCIL,
	ADD,
	SCATTER,
	TRANSPOSE,
	GATHER,
	COLUMNS,
	SCRIBBLE,
	NKERNELS,
	SLOW = NKERNELS
};

static const char *const names[] = {"stencil", "add",     "scatter",  "transpose",
                                    "gather",  "columns", "scribble", "slow"};

enum { ARRAYS = 4 };
static unsigned arrays[ARRAYS][N], model[ARRAYS][N];
static starpu_data_handle_t handles[ARRAYS];

/* ---- kernels, here and there ---- */

static void model_run(enum which which, unsigned *out, const unsigned *in)
{
	for (int i = 0; i < N; i++)
		switch (which) {
		case STENCIL:
			out[i] = (i ? in[i - 1] : 0) + 3 * in[i] + (i < N - 1 ? in[i + 1] : 0);
			break;
		case ADD:
			out[i] += in[i];
			break;
		case SCATTER:
			if (in[i] & 1)
				out[(long)i * 5 % N] = in[i];
			break;
		case TRANSPOSE:
			out[i % SIDE * SIDE + i / SIDE] = in[i];
			break;
		case GATHER:
			out[i] = in[in[i] % N] + 1;
			break;
		case COLUMNS:
			out[i] = in[i % SIDE * SIDE + i / SIDE];
			break;
		case SLOW:
			out[i] = in[i];
			for (unsigned j = 0; j < N / 4 && !in[i]; j++)
				out[i] = out[i] * 5 + (out[i] >> 7) + 1;
			break;
		default:
			out[i] = in[i] * 7;
		}
}

static int n_argument = N;

static bool is_set(const char *variable, const char *value)
{
	const char *text = getenv(variable);

	return text && !strcmp(text, value);
}

static struct heddle_kernel_argument handle_of(int array, enum starpu_data_access_mode mode)
{
	return (struct heddle_kernel_argument){.type = HEDDLE_KERNEL_HANDLE,
	                                       .handle = handles[array],
	                                       .mode = mode,
	                                       .keep = !is_set("HEDDLE_KERNEL_KEEP", "2"),
	                                       .stay = true};
}

/* So many integers stand in front of a kernel's buffers: none, or as many as there may be. */
enum { MOST_LEADING = HEDDLE_KERNEL_MAXARGUMENTS - 3 };
static unsigned leading;

/* The kernels that kernel_of() knows, with these integers. */
static const char *leading_source(void)
{
	static const char begin[] = "(__global uint *out, ";
	static char text[2 * sizeof(source)];
	char *to = text + sprintf(text, "#define LEADING");

	for (int i = 0; i < MOST_LEADING; i++)
		to += sprintf(to, " int x%d,", i);
	to += sprintf(to, "\n");
	for (const char *at = source, *next; *at; at = next) {
		next = strstr(at + 1, begin);
		next = next ? next : at + strlen(at);
		to += sprintf(to, "%s%.*s", at > source ? "(LEADING " : "",
		              (int)(next - at - (at > source)), at + (at > source));
	}
	return text;
}

/* Puts integers in front of a kernel's arguments. */
static void lead(struct heddle_kernel *kernel)
{
	static const int zero;

	memmove(kernel->arguments + leading, kernel->arguments,
	        kernel->narguments * sizeof(*kernel->arguments));
	kernel->narguments += leading;
	for (unsigned a = 0; a < leading; a++)
		kernel->arguments[a] = (struct heddle_kernel_argument){
		    .type = HEDDLE_KERNEL_VALUE, .pointer = (void *)&zero, .bytes = sizeof(zero)};
	if (leading)
		kernel->source = leading_source();
}

static struct heddle_kernel kernel_of(enum which which, int out, int in)
{
	struct heddle_kernel kernel = {
	    .source = source,
	    .name = names[which],
	    .dimensions = 1,
	    .global = {N},
	    .local = {LOCAL},
	    .narguments = 3,
	    .arguments = {handle_of(out, which == ADD || which == SCATTER ? STARPU_RW : STARPU_W),
	                  handle_of(in, STARPU_R),
	                  {.type = HEDDLE_KERNEL_VALUE,
	                   .pointer = &n_argument,
	                   .bytes = sizeof(n_argument)}},
	    .split = HEDDLE_KERNEL_ALWAYS,
	    .method = "linear",
	};

	if (which == TRANSPOSE || which == COLUMNS) {
		kernel.dimensions = 2;
		kernel.global[0] = kernel.global[1] = SIDE;
		kernel.local[0] = kernel.local[1] = 8;
	}
	lead(&kernel);
	return kernel;
}

static void arrays_register(void)
{
	for (int a = 0; a < ARRAYS; a++) {
		for (int i = 0; i < N; i++)
			arrays[a][i] = model[a][i] = lrand48();
		starpu_vector_data_register(&handles[a], STARPU_MAIN_RAM, (uintptr_t)arrays[a], N,
		                            ELEMENT);
	}
}

static void arrays_unregister(void)
{
	for (int a = 0; a < ARRAYS; a++)
		starpu_data_unregister(handles[a]);
}

static void array_check(int array)
{
	assert_int_equal(starpu_data_acquire(handles[array], STARPU_R), 0);
	for (int i = 0; i < N; i++)
		if (arrays[array][i] != model[array][i])
			fail_msg("array %d, element %d: %u, not %u", array, i, arrays[array][i],
			         model[array][i]);
	starpu_data_release(handles[array]);
}

/* ---- others ---- */

static void increase(void *buffers[], void *arg)
{
	unsigned *x = (unsigned *)STARPU_VECTOR_GET_PTR(buffers[0]);

	for (int i = 0; i < N; i++)
		x[i]++;
}

static unsigned sum;

static void add_up(void *buffers[], void *arg)
{
	const unsigned *x = (const unsigned *)STARPU_VECTOR_GET_PTR(buffers[0]);

	sum = 0;
	for (int i = 0; i < N; i++)
		sum += x[i];
}

static struct starpu_codelet writer = {
    .cpu_funcs = {increase}, .nbuffers = 1, .modes = {STARPU_RW}, .name = "increase"};
static struct starpu_codelet reader = {
    .cpu_funcs = {add_up}, .nbuffers = 1, .modes = {STARPU_R}, .name = "add_up"};

static void model_increase(int array)
{
	for (int i = 0; i < N; i++)
		model[array][i]++;
}

/* ---- bytes ---- */

static size_t sent(const struct heddle_kernel_stats *stats)
{
	size_t bytes = 0;

	for (unsigned w = 0; w < stats->nworkers; w++)
		bytes += stats->workers[w].in_bytes;
	return bytes;
}

static size_t fetched(const struct heddle_kernel_stats *stats)
{
	size_t bytes = 0;

	for (unsigned w = 0; w < stats->nworkers; w++)
		bytes += stats->workers[w].out_bytes;
	return bytes;
}

static size_t kept(const struct heddle_kernel_stats *stats)
{
	size_t bytes = 0;

	for (unsigned w = 0; w < stats->nworkers; w++)
		bytes += stats->workers[w].kept_bytes;
	return bytes;
}

/* Groups of the first worker. */
static size_t first_share(const struct heddle_kernel_stats *stats)
{
	int ids[1];

	starpu_worker_get_ids_by_type(STARPU_OPENCL_WORKER, ids, 1);
	for (unsigned w = 0; w < stats->nworkers; w++)
		if (stats->workers[w].id == ids[0])
			return stats->workers[w].groups;
	return 0;
}

/* Whether anything is kept here at all. */
static bool keeps(void)
{
	return is_set("HEDDLE_KERNEL_IN_PLACE", "0") && !is_set("HEDDLE_KERNEL_KEEP", "0") &&
	       !is_set("HEDDLE_ANALYSE", "none");
}

static void run(const struct heddle_kernel *kernel, struct heddle_kernel_stats *stats)
{
	assert_int_equal(heddle_kernel_run(kernel, stats), 0);
}

/* What a sweep may send: groups that changed hands, and an element on each side of both parts. */
static size_t changed_bytes(size_t share, size_t before)
{
	size_t groups = share > before ? share - before : before - share;

	return (groups * LOCAL + 4) * ELEMENT;
}

/* ---- tests ---- */

/* Sweeps with buffers swapped. Every fifth is followed by a task, which writes or reads. */
static void sweeps(void **state)
{
	size_t share = 0, total = 0;
	bool again = true;

	arrays_register();
	for (int sweep = 0; sweep < 20; sweep++) {
		int out = 1 - sweep % 2, in = 1 - out;
		struct heddle_kernel kernel = kernel_of(STENCIL, out, in);
		struct heddle_kernel_stats stats;

		run(&kernel, &stats);
		model_run(STENCIL, model[out], model[in]);
		printf("  sweep %2d: %3zu groups, %6zu bytes sent, %6zu kept\n", sweep,
		       first_share(&stats), sent(&stats), kept(&stats));
		if (keeps() && !again)
			assert_true(sent(&stats) <= changed_bytes(first_share(&stats), share));
		if (keeps() && again)
			assert_true(sent(&stats) >= N * ELEMENT);
		total += sent(&stats);
		share = first_share(&stats);
		again = !sweep; /* the first one of all asks StarPU to tell of writes */
		if (sweep % 5 == 4 && sweep % 2) {
			assert_int_equal(starpu_task_insert(&writer, STARPU_RW, handles[out], 0),
			                 0);
			model_increase(out);
			again = true;
		} else if (sweep % 5 == 4) {
			unsigned right = 0;

			assert_int_equal(starpu_task_insert(&reader, STARPU_R, handles[out], 0), 0);
			starpu_task_wait_for_all();
			for (int i = 0; i < N; i++)
				right += model[out][i];
			assert_int_equal(sum, right);
		}
	}
	printf("  %zu bytes sent in 20 sweeps of %d\n", total, N * ELEMENT);
	array_check(0);
	array_check(1);
	arrays_unregister();
}

enum { CHAIN = 20 };

/* Sweeps that are all submitted before the first one begins. Their results stay on devices; only
 * what crosses the border between parts moves. */
static void chain(void **state)
{
	struct heddle_kernel_request *requests[CHAIN];
	struct heddle_kernel_stats stats;
	size_t share = 0;

	arrays_register();
	for (int i = 0; i < 2; i++) { /* what is not known yet is measured */
		struct heddle_kernel kernel = kernel_of(STENCIL, 1, 0);

		run(&kernel, NULL);
	}
	model_run(STENCIL, model[1], model[0]);
	for (int round = 0; round < 2; round++) {
		bool read_between = round;

		assert_int_equal(starpu_data_acquire(handles[0], STARPU_RW), 0);
		for (int sweep = 0; sweep < CHAIN; sweep++) {
			int out = 1 - sweep % 2, in = 1 - out;
			struct heddle_kernel kernel = kernel_of(STENCIL, out, in);

			assert_int_equal(heddle_kernel_submit(&kernel, &requests[sweep]), 0);
			model_run(STENCIL, model[out], model[in]);
			if (read_between && sweep == CHAIN / 2)
				assert_int_equal(
				    starpu_task_insert(&reader, STARPU_R, handles[out], 0), 0);
		}
		starpu_data_release(handles[0]);
		for (int sweep = 0; sweep < CHAIN; sweep++) {
			bool last = sweep == CHAIN - 1 || (read_between && sweep == CHAIN / 2);

			assert_int_equal(heddle_kernel_wait(requests[sweep], &stats), 0);
			printf("  sweep %2d: %6zu bytes sent, %6zu fetched\n", sweep, sent(&stats),
			       fetched(&stats));
			if (keeps() && sweep && !last) {
				size_t most = changed_bytes(first_share(&stats), share);

				assert_true(sent(&stats) <= most);
				assert_true(fetched(&stats) <= most);
			}
			if (keeps() && last)
				assert_true(fetched(&stats) >= N * ELEMENT);
			share = first_share(&stats);
		}
		array_check(0);
		array_check(1);
	}
	arrays_unregister();
}

/* A launch whose data does not stay comes between two that leave theirs. */
static void not_kept_between(void **state)
{
	struct heddle_kernel kernel;

	arrays_register();
	for (int round = 0; round < 3; round++) { /* the first ones are measured */
		assert_int_equal(starpu_data_acquire(handles[0], STARPU_RW), 0);
		kernel = kernel_of(STENCIL, 1, 0);
		assert_int_equal(heddle_kernel_submit(&kernel, NULL), 0);
		model_run(STENCIL, model[1], model[0]);
		kernel = kernel_of(STENCIL, 2, 1);
		kernel.arguments[1].keep = false;
		assert_int_equal(heddle_kernel_submit(&kernel, NULL), 0);
		model_run(STENCIL, model[2], model[1]);
		/* It waits for both. */
		kernel = kernel_of(STENCIL, 0, 1);
		assert_int_equal(heddle_kernel_submit(&kernel, NULL), 0);
		model_run(STENCIL, model[0], model[1]);
		starpu_data_release(handles[0]);
		for (int a = 0; a < 3; a++)
			array_check(a);
	}
	arrays_unregister();
}

/* The program reads what a launch has written that it did not wait for, and runs another launch
 * that reads it, too. */
static void read_beside(void **state)
{
	struct heddle_kernel_request *request;
	struct heddle_kernel kernel;

	arrays_register();
	for (int round = 0; round < 3; round++) { /* the first ones are measured */
		kernel = kernel_of(STENCIL, 1, 0);
		assert_int_equal(heddle_kernel_submit(&kernel, &request), 0);
		model_run(STENCIL, model[1], model[0]);
		assert_int_equal(starpu_data_acquire(handles[1], STARPU_R), 0);
		kernel = kernel_of(STENCIL, 2, 1);
		run(&kernel, NULL);
		model_run(STENCIL, model[2], model[1]);
		starpu_data_release(handles[1]);
		assert_int_equal(heddle_kernel_wait(request, NULL), 0);
		array_check(2);
	}
	arrays_unregister();
}

/* The program reads results while a launch that reads them, too, waits for it. Where they may not
 * stay, both read. */
static void read_beside_waiting(void **state)
{
	struct heddle_kernel kernel;

	arrays_register();
	for (int round = 0; round < 3; round++) { /* the first ones are measured */
		assert_int_equal(starpu_data_acquire(handles[2], STARPU_RW), 0);
		kernel = kernel_of(STENCIL, 1, 0);
		kernel.arguments[0].stay = kernel.arguments[1].stay = false;
		assert_int_equal(heddle_kernel_submit(&kernel, NULL), 0);
		model_run(STENCIL, model[1], model[0]);
		kernel = kernel_of(STENCIL, 2, 1);
		kernel.arguments[0].stay = kernel.arguments[1].stay = false;
		assert_int_equal(heddle_kernel_submit(&kernel, NULL), 0);
		array_check(1);
		model_run(STENCIL, model[2], model[1]);
		starpu_data_release(handles[2]);
		array_check(2);
	}
	arrays_unregister();
}

/* What a device has of an earlier launch, and another one has computed anew, must not come to main
 * memory after the new results. */
static void older_results(void **state)
{
	struct heddle_kernel_request *request;
	struct heddle_kernel kernel;
	int workers[2];

	starpu_worker_get_ids_by_type(STARPU_OPENCL_WORKER, workers, 2);
	arrays_register();
	late.bytes = sizeof(arrays[1]);
	for (int round = 0; round < 4; round++) {
		assert_int_equal(starpu_data_acquire(handles[0], STARPU_RW), 0);
		kernel = kernel_of(STENCIL, 1, 0);
		kernel.workers = workers;
		kernel.nworkers = 1;
		assert_int_equal(heddle_kernel_submit(&kernel, NULL), 0);
		kernel.arguments[1].handle = handles[2];
		kernel.nworkers = 2;
		assert_int_equal(heddle_kernel_submit(&kernel, &request), 0);
		model_run(STENCIL, model[1], model[2]);
		assert_int_equal(sem_init(&late.there, 0, 0), 0);
		late.array = keeps() && round ? (const unsigned char *)arrays[1] : NULL;
		starpu_data_release(handles[0]);
		assert_int_equal(heddle_kernel_wait(request, NULL), 0);
		late.array = NULL;
		sem_destroy(&late.there);
		array_check(1);
	}
	arrays_unregister();
}

/* Launches and tasks that are all submitted before anything runs. */
static void random_queues(void **state)
{
	for (int round = 0; round < 4; round++) {
		arrays_register();
		starpu_pause();
		for (int step = 0; step < 30; step++) {
			int out = lrand48() % ARRAYS,
			    in = (out + 1 + lrand48() % (ARRAYS - 1)) % ARRAYS;
			enum which which = lrand48() % SCRIBBLE;
			struct heddle_kernel kernel = kernel_of(which, out, in);

			kernel.method = lrand48() % 3 ? "linear" : NULL;
			kernel.arguments[0].keep = lrand48() % 8;
			switch (lrand48() % 10) {
			case 0:
				assert_int_equal(
				    starpu_task_insert(&writer, STARPU_RW, handles[out], 0), 0);
				model_increase(out);
				break;
			case 1:
				assert_int_equal(
				    starpu_task_insert(&reader, STARPU_R, handles[out], 0), 0);
				break;
			default:
				assert_int_equal(heddle_kernel_submit(&kernel, NULL), 0);
				model_run(which, model[out], model[in]);
			}
		}
		starpu_resume();
		for (int a = 0; a < ARRAYS; a++)
			array_check(a);
		arrays_unregister();
	}
}

static struct heddle_kernel_argument host_of(int array, size_t n, enum starpu_data_access_mode mode,
                                             bool stay)
{
	return (struct heddle_kernel_argument){.type = HEDDLE_KERNEL_HOST,
	                                       .pointer = arrays[array],
	                                       .bytes = n * ELEMENT,
	                                       .mode = mode,
	                                       .keep = true,
	                                       .stay = stay};
}

static struct heddle_kernel host_kernel(enum which which, int out, int in, bool stay)
{
	struct heddle_kernel kernel = kernel_of(which, out, in);

	kernel.arguments[0] = host_of(out, N, kernel.arguments[0].mode, stay);
	kernel.arguments[1] = host_of(in, N, STARPU_R, stay);
	return kernel;
}

static void host_check(int array)
{
	assert_int_equal(heddle_kernels_fetch(arrays[array], sizeof(arrays[array])), 0);
	assert_memory_equal(arrays[array], model[array], sizeof(model[array]));
}

static void host_fill(void)
{
	for (int a = 0; a < ARRAYS; a++) {
		for (int i = 0; i < N; i++)
			arrays[a][i] = model[a][i] = lrand48();
		heddle_kernels_changed(arrays[a], sizeof(arrays[a]));
	}
}

/* Results of host memory stay as long as its owner does not ask for them. */
static void host_stays(void **state)
{
	struct heddle_kernel_stats stats;
	struct heddle_kernel kernel;
	size_t share = 0;

	host_fill();
	for (int sweep = 0; sweep < CHAIN + 2; sweep++) {
		int out = 1 - sweep % 2, in = 1 - out;

		kernel = host_kernel(STENCIL, out, in, sweep > 1);
		run(&kernel, &stats);
		model_run(STENCIL, model[out], model[in]);
		printf("  sweep %2d: %6zu bytes sent, %6zu fetched\n", sweep, sent(&stats),
		       fetched(&stats));
		if (keeps() && sweep > 2) {
			size_t most = changed_bytes(first_share(&stats), share);

			assert_true(sent(&stats) <= most);
			assert_true(fetched(&stats) <= most);
		}
		share = first_share(&stats);
	}
	/* A part of it is asked for, a part is changed. */
	assert_int_equal(heddle_kernels_fetch(&arrays[0][N / 2], 8 * ELEMENT), 0);
	assert_memory_equal(&arrays[0][N / 2], &model[0][N / 2], 8 * ELEMENT);
	if (keeps())
		assert_true(memcmp(arrays[0], model[0], sizeof(model[0])));
	arrays[0][N / 2] = model[0][N / 2] = lrand48();
	heddle_kernels_changed(&arrays[0][N / 2], ELEMENT);
	kernel = host_kernel(ADD, 2, 0, true);
	run(&kernel, &stats);
	model_run(ADD, model[2], model[0]);
	/* Another name of the memory. */
	kernel = host_kernel(GATHER, 1, 0, true);
	kernel.arguments[1].keep = kernel.arguments[1].stay = false;
	run(&kernel, NULL);
	model_run(GATHER, model[1], model[0]);
	/* A launch whose results do not stay. */
	kernel = host_kernel(ADD, 2, 1, false);
	run(&kernel, NULL);
	model_run(ADD, model[2], model[1]);
	assert_memory_equal(arrays[2], model[2], sizeof(model[2]));
	kernel = host_kernel(STENCIL, 0, 2, true);
	run(&kernel, NULL);
	model_run(STENCIL, model[0], model[2]);
	/* A device that does not give its results still has them. */
	setenv("HEDDLE_VERBOSE", "0", 1);
	__atomic_store_n(&unreadable, true, __ATOMIC_SEQ_CST);
	for (int i = 0; i < 2 && keeps(); i++)
		assert_int_equal(heddle_kernels_fetch(arrays[0], sizeof(arrays[0])), -EIO);
	__atomic_store_n(&unreadable, false, __ATOMIC_SEQ_CST);
	unsetenv("HEDDLE_VERBOSE");
	heddle_kernels_unload();
	assert_memory_equal(arrays[0], model[0], sizeof(model[0]));
	for (int a = 0; a < ARRAYS; a++)
		host_check(a);
}

/* What has changed here and there is sent without what lies between, which only the device has. */
static void host_changes(void **state)
{
	struct heddle_kernel kernel;

	host_fill();
	for (int i = 0; i < 6; i++) {
		int in = i % 2, out = 1 - in;

		kernel = host_kernel(STENCIL, out, in, true);
		run(&kernel, NULL);
		model_run(STENCIL, model[out], model[in]);
		for (int at = 0; at < N; at += N / 64) {
			arrays[out][at] = model[out][at] = lrand48();
			heddle_kernels_changed(&arrays[out][at], ELEMENT);
		}
	}
	host_check(0);
	host_check(1);
}

/* A part may read all of what parts write, as far as Heddle knows. What it gets of that in vain
 * is not the device's to keep: another part's results stay where they are. */
static void host_found_in_vain(void **state)
{
	struct heddle_kernel found = host_kernel(STENCIL, 0, 1, true), gather;

	found.name = "found";
	found.arguments[0] = host_of(0, N, STARPU_R, true);
	found.arguments[1] = host_of(1, N, STARPU_RW, true);
	found.narguments = 2;
	host_fill();
	for (int i = 0; i < N; i++)
		arrays[0][i] = model[0][i] = i;
	for (int round = 0; round < 4; round++) {
		heddle_kernels_changed(arrays[0], sizeof(arrays[0]));
		late_from = round ? arrays[0] : NULL;
		run(&found, NULL);
		late_from = NULL;
		for (int i = 0; i < N; i++)
			model[1][i] = 3 * model[1][i] + 1;
		gather = host_kernel(GATHER, 2, 1, true);
		run(&gather, NULL);
		model_run(GATHER, model[2], model[1]);
		host_check(2);
	}
	host_check(1);
}

/* ---- vectors of which some numbers change ---- */

static int distance = N / 16;

static void wait_a_while(void *buffers[], void *arg)
{
	usleep(20000);
}

static struct starpu_codelet waits = {.opencl_funcs = {wait_a_while}, .name = "wait_a_while"};

static struct heddle_kernel grow_kernel(const char *name, bool columns)
{
	struct heddle_kernel kernel = host_kernel(STENCIL, 0, 0, true);

	kernel.name = name;
	kernel.global[0] = N / 4;
	kernel.arguments[0] = host_of(0, N, STARPU_RW, true);
	kernel.arguments[1] = kernel.arguments[2];
	kernel.arguments[1].pointer = &distance;
	kernel.narguments = 2;
	if (columns) {
		kernel.dimensions = 2;
		kernel.global[0] = N / 4 / SIDE;
		kernel.global[1] = SIDE;
		kernel.local[0] = kernel.local[1] = 4;
	}
	return kernel;
}

static void grow_model(const char *name, unsigned *v)
{
	for (int i = N / 4; i-- > 0;)
		for (int j = 0; j < 4; j++) {
			if (!strcmp(name, "grow"))
				v[4 * i + j] += distance;
			else if (!strcmp(name, "grow_far") && j < 3)
				v[4 * i + j] += v[4 * (i > distance ? i - distance : 0) + 3];
			else if (!strcmp(name, "grow_columns") && j)
				v[4 * i + j] += distance * v[4 * i];
		}
}

static void grow(const char *name, bool columns, const int *worker)
{
	struct heddle_kernel kernel = grow_kernel(name, columns);

	kernel.workers = worker;
	kernel.nworkers = worker != NULL;
	run(&kernel, NULL);
	grow_model(name, model[0]);
}

/* One device has all results. Then parts change some numbers of each vector, and read numbers
 * beside those of another part, whose device may have done its part before. */
static void host_numbers_of_vectors(void **state)
{
	int ids[2];

	assert_int_equal(starpu_worker_get_ids_by_type(STARPU_OPENCL_WORKER, ids, 2), 2);
	for (int round = 0; round < 16; round++) {
		bool columns = round / 8;

		host_fill();
		grow("grow", false, &ids[round % 2]);
		if (round / 4 % 2) {
			arrays[0][N - 1] = model[0][N - 1] = round;
			heddle_kernels_changed(&arrays[0][N - 1], ELEMENT);
		}
		assert_int_equal(
		    starpu_task_insert(&waits, STARPU_EXECUTE_ON_WORKER, ids[round / 2 % 2], 0), 0);
		grow(columns ? "grow_columns" : "grow_far", columns, NULL);
		host_check(0);
	}
}

static void host_random(void **state)
{
	static const char *const methods[] = {NULL, "linear", "paper", "single", "published"};

	for (int round = 0; round < 3; round++) {
		host_fill();
		for (int step = 0; step < 60; step++) {
			int out = lrand48() % ARRAYS,
			    in = (out + 1 + lrand48() % (ARRAYS - 1)) % ARRAYS;
			enum which which = lrand48() % SCRIBBLE;
			struct heddle_kernel kernel = host_kernel(which, out, in, lrand48() % 6);
			int at = lrand48() % N;

			kernel.method = methods[lrand48() % 5];
			switch (lrand48() % 8) {
			case 0:
				host_check(out);
				break;
			case 1:
				arrays[out][at] = model[out][at] = lrand48();
				heddle_kernels_changed(&arrays[out][at], ELEMENT);
				break;
			default:
				run(&kernel, NULL);
				model_run(which, model[out], model[in]);
			}
		}
		for (int a = 0; a < ARRAYS; a++)
			host_check(a);
	}
}

/* Two kernels read at the same time what stays on devices. The first one is under way for long. */
static void host_read_at_once(void **state)
{
	static const enum which which[] = {SLOW, STENCIL};
	struct heddle_kernel_request *requests[2];
	struct heddle_kernel kernel;

	host_fill();
	for (int i = 0; i < 20; i++) {
		int in = i % 2 ? 3 : 0;

		kernel = host_kernel(STENCIL, in, 3 - in, true);
		run(&kernel, NULL);
		model_run(STENCIL, model[in], model[3 - in]);
		for (int k = 0; k < 2; k++) {
			kernel = host_kernel(which[k], 1 + k, in, true);
			assert_int_equal(heddle_kernel_submit(&kernel, &requests[k]), 0);
			model_run(which[k], model[1 + k], model[in]);
		}
		for (int k = 0; k < 2; k++)
			assert_int_equal(heddle_kernel_wait(requests[k], NULL), 0);
		host_check(1);
		host_check(2);
	}
	for (int a = 0; a < ARRAYS; a++)
		host_check(a);
}

/* A launch waits for another one by a handle. It uses what that leaves on devices, and does not say
 * that this may stay. */
static void host_brought_back(void **state)
{
	struct heddle_kernel kernel;

	host_fill();
	starpu_vector_data_register(&handles[3], STARPU_MAIN_RAM, (uintptr_t)arrays[3], N, ELEMENT);
	for (int round = 0; round < 6; round++) { /* the first ones are measured */
		assert_int_equal(starpu_data_acquire(handles[3], STARPU_RW), 0);
		kernel = kernel_of(STENCIL, 1, 3);
		kernel.arguments[0] = host_of(1, N, STARPU_W, true);
		kernel.arguments[1].mode = STARPU_RW;
		assert_int_equal(heddle_kernel_submit(&kernel, NULL), 0);
		model_run(STENCIL, model[1], model[3]);
		kernel = kernel_of(STENCIL, 3, 1);
		kernel.arguments[1] = host_of(1, N, STARPU_R, false);
		kernel.arguments[1].keep = round % 2;
		assert_int_equal(heddle_kernel_submit(&kernel, NULL), 0);
		model_run(STENCIL, model[3], model[1]);
		starpu_data_release(handles[3]);
		array_check(3);
	}
	starpu_data_unregister(handles[3]);
	host_check(1);
}

/* A table that all groups read is sent once to each device, also where another kernel reads it. */
static void tables(void **state)
{
	struct heddle_kernel gather, add;
	struct heddle_kernel_stats stats;

	arrays_register();
	gather = kernel_of(GATHER, 1, 0);
	add = kernel_of(ADD, 2, 0);
	for (int i = 0; i < 4; i++) {
		run(&gather, &stats);
		model_run(GATHER, model[1], model[0]);
		if (keeps() && i > 1)
			assert_true(sent(&stats) == 0 && kept(&stats) >= N * ELEMENT);
		run(&add, &stats);
		model_run(ADD, model[2], model[0]);
		printf("  add: %zu bytes sent, %zu kept\n", sent(&stats), kept(&stats));
	}
	array_check(1);
	array_check(2);
	arrays_unregister();
}

/* The program writes, by an acquisition, by another name of the memory, and in other data at the
 * same place. */
static void written_otherwise(void **state)
{
	struct heddle_kernel stencil, add;

	arrays_register();
	for (int i = 0; i < 12; i++) {
		stencil = kernel_of(STENCIL, 1, 0);
		add = kernel_of(ADD, 0, 1);
		run(&stencil, NULL);
		model_run(STENCIL, model[1], model[0]);
		switch (i % 4) {
		case 1:
			assert_int_equal(starpu_data_acquire(handles[0], STARPU_W), 0);
			for (int j = 0; j < N; j++)
				arrays[0][j] = model[0][j] = i + j;
			starpu_data_release(handles[0]);
			break;
		case 2: /* the kernel is the same; the data is no handle */
			add.arguments[0] = (struct heddle_kernel_argument){
			    .type = HEDDLE_KERNEL_HOST, .pointer = arrays[0], .bytes = N * ELEMENT};
			run(&add, NULL);
			model_run(ADD, model[0], model[1]);
			break;
		case 3:
			array_check(1);
			arrays_unregister();
			arrays_register();
		}
	}
	array_check(0);
	array_check(1);
	arrays_unregister();
}

/* Host memory stays where the launch says so, until the program says that it has changed it. */
static void host_memory(void **state)
{
	struct heddle_kernel_stats stats;
	struct heddle_kernel kernel;

	arrays_register();
	kernel = kernel_of(GATHER, 1, 0);
	for (int a = 0; a < 2; a++)
		kernel.arguments[a] =
		    (struct heddle_kernel_argument){.type = HEDDLE_KERNEL_HOST,
		                                    .pointer = arrays[1 - a],
		                                    .bytes = N * ELEMENT,
		                                    .mode = a ? STARPU_R : STARPU_W};
	for (int i = 0; i < 12; i++) {
		kernel.arguments[1].keep = i > 3;
		/* Without the flag it may change at any time. */
		if (i < 4 || i % 4 == 3)
			arrays[0][i] = model[0][i] = lrand48();
		if (i >= 4 && i % 4 == 3)
			heddle_kernels_changed(arrays[0] + i, ELEMENT);
		run(&kernel, &stats);
		model_run(GATHER, model[1], model[0]);
		assert_memory_equal(arrays[1], model[1], sizeof(model[1]));
		if (keeps())
			assert_int_equal(sent(&stats) > 0, i <= 4 || i % 4 == 3);
	}
	heddle_kernels_changed(arrays[0], sizeof(arrays[0]));
	arrays_unregister();
}

/* Launches and tasks under way together. */
static void pipelined(void **state)
{
	arrays_register();
	for (int i = 0; i < 60; i++) {
		enum which which = i % 3 ? STENCIL : ADD;
		int out = i % ARRAYS, in = (i + 1 + i % 2) % ARRAYS;
		struct heddle_kernel kernel = kernel_of(which, out, in);

		assert_int_equal(heddle_kernel_submit(&kernel, NULL), 0);
		model_run(which, model[out], model[in]);
		if (i % 7 == 3) {
			assert_int_equal(starpu_task_insert(&writer, STARPU_RW, handles[in], 0), 0);
			model_increase(in);
		}
	}
	for (int a = 0; a < ARRAYS; a++)
		array_check(a);
	arrays_unregister();
}

static void random_step(void)
{
	static const char *const methods[] = {NULL, "linear", "paper", "single"};
	int out = lrand48() % ARRAYS, in = (out + 1 + lrand48() % (ARRAYS - 1)) % ARRAYS;
	/* In the host's memory, who says that he only reads and writes is not corrected. */
	bool copies = is_set("HEDDLE_KERNEL_IN_PLACE", "0");
	enum which which = lrand48() % (copies ? NKERNELS : SCRIBBLE);
	struct heddle_kernel kernel = kernel_of(which, out, in);

	kernel.method = methods[lrand48() % 4];
	kernel.split = lrand48() % 4 ? HEDDLE_KERNEL_ALWAYS : HEDDLE_KERNEL_BY_POLICY;
	switch (lrand48() % 12) {
	case 0:
		assert_int_equal(starpu_task_insert(&writer, STARPU_RW, handles[out], 0), 0);
		model_increase(out);
		break;
	case 1:
		assert_int_equal(starpu_task_insert(&reader, STARPU_R, handles[out], 0), 0);
		break;
	case 2:
		assert_int_equal(starpu_data_acquire(handles[out], STARPU_RW), 0);
		arrays[out][N / 2] = model[out][N / 2] = lrand48();
		starpu_data_release(handles[out]);
		break;
	case 3:
		array_check(in);
		break;
	default:
		if (lrand48() % 2)
			run(&kernel, NULL);
		else
			assert_int_equal(heddle_kernel_submit(&kernel, NULL), 0);
		model_run(which, model[out], model[in]);
	}
}

static void random_chains(void **state)
{
	for (int round = 0; round < 10; round++) {
		arrays_register();
		for (int step = 0; step < 60; step++)
			random_step();
		for (int a = 0; a < ARRAYS; a++)
			array_check(a);
		arrays_unregister();
		if (round == 5)
			heddle_kernels_unload();
	}
}

/* ---- freeing all ---- */

/* How a launch that is about to end and the thread that frees all know of each other. */
static struct {
	sem_t data_free, freed;
	bool too_early;
} unload;

/* StarPU calls this when the launch's data is free, and only then says that the launch has ended.
 * Nothing may be freed before. */
static void launch_ends(void *ignored)
{
	struct timespec until;

	/* It would wait for itself. */
	setenv("HEDDLE_VERBOSE", "0", 1);
	heddle_kernels_unload();
	unsetenv("HEDDLE_VERBOSE");
	assert_int_equal(sem_post(&unload.data_free), 0);
	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec++;
	unload.too_early = !sem_timedwait(&unload.freed, &until);
	starpu_data_release(handles[1]);
}

static sem_t writer_may;

static void wait_and_write(void *buffers[], void *arg)
{
	assert_int_equal(sem_wait(&writer_may), 0);
	increase(buffers, arg);
}

static struct starpu_codelet waiting_writer = {
    .cpu_funcs = {wait_and_write}, .nbuffers = 1, .modes = {STARPU_RW}, .name = "wait_and_write"};

static void unloaded_at_an_end(void **state)
{
	struct heddle_kernel kernel;

	arrays_register();
	sem_init(&unload.data_free, 0, 0);
	sem_init(&unload.freed, 0, 0);
	sem_init(&writer_may, 0, 0);
	kernel = kernel_of(ADD, 1, 0);
	run(&kernel, NULL);
	model_run(ADD, model[1], model[0]);
	assert_int_equal(starpu_task_insert(&waiting_writer, STARPU_RW, handles[1], 0), 0);
	model_increase(1);
	assert_int_equal(heddle_kernel_submit(&kernel, NULL), 0);
	model_run(ADD, model[1], model[0]);
	assert_int_equal(starpu_data_acquire_cb(handles[1], STARPU_R, launch_ends, NULL), 0);
	sem_post(&writer_may);
	sem_wait(&unload.data_free);
	heddle_kernels_unload();
	sem_post(&unload.freed);
	starpu_task_wait_for_all();
	assert_false(unload.too_early);
	array_check(1);
	arrays_unregister();
	sem_destroy(&writer_may);
	sem_destroy(&unload.freed);
	sem_destroy(&unload.data_free);
}

static void *gather_often(void *ignored)
{
	struct heddle_kernel kernel = kernel_of(GATHER, 1, 0);
	intptr_t status = 0;

	for (int i = 0; i < 40 && !status; i++)
		status = heddle_kernel_run(&kernel, NULL);
	return (void *)status;
}

/* Two kernels read the same data at the same time. */
static void read_at_once(void **state)
{
	struct heddle_kernel kernel;
	pthread_t thread;
	void *status;

	arrays_register();
	kernel = kernel_of(STENCIL, 2, 0);
	assert_int_equal(pthread_create(&thread, NULL, gather_often, NULL), 0);
	for (int i = 0; i < 40; i++)
		run(&kernel, NULL);
	pthread_join(thread, &status);
	assert_null(status);
	model_run(GATHER, model[1], model[0]);
	model_run(STENCIL, model[2], model[0]);
	for (int a = 0; a < 3; a++)
		array_check(a);
	arrays_unregister();
}

/* Of a device that fails nobody knows what it holds. The last test: the device stays out of the
 * kernel. */
static void failures(void **state)
{
	arrays_register();
	setenv("HEDDLE_VERBOSE", "0", 1);
	for (int i = 0; i < 12; i++) {
		enum which which = i % 3 ? STENCIL : ADD;
		struct heddle_kernel kernel = kernel_of(which, i % 2, 1 - i % 2);

		__atomic_store_n(&fail, i == 4, __ATOMIC_SEQ_CST);
		run(&kernel, NULL);
		broken = NULL;
		model_run(which, model[i % 2], model[1 - i % 2]);
	}
	unsetenv("HEDDLE_VERBOSE");
	array_check(0);
	array_check(1);
	arrays_unregister();
}

/* What only the device that fails had is fetched from it, unless the kernel has changed it. */
static void failures_of_what_stays(void **state)
{
	struct heddle_kernel kernel;

	heddle_kernels_unload(); /* all devices take part again */
	setenv("HEDDLE_VERBOSE", "0", 1);
	for (int rereads = 0; rereads < 2; rereads++) {
		host_fill();
		for (int i = 0; i < 6; i++) {
			kernel = host_kernel(STENCIL, 1 - i % 2, i % 2, i > 1);
			run(&kernel, NULL);
			model_run(STENCIL, model[1 - i % 2], model[i % 2]);
		}
		kernel = host_kernel(ADD, rereads ? 0 : 2, rereads ? 2 : 0, true);
		for (int i = 0; i < 2; i++) {
			run(&kernel, NULL);
			model_run(ADD, model[rereads ? 0 : 2], model[rereads ? 2 : 0]);
		}
		kernel = rereads ? host_kernel(ADD, 0, 2, true) : host_kernel(STENCIL, 1, 0, true);
		__atomic_store_n(&fail, true, __ATOMIC_SEQ_CST);
		if (rereads && keeps()) {
			assert_int_equal(heddle_kernel_run(&kernel, NULL), -ENODATA);
		} else {
			run(&kernel, NULL);
			model_run(rereads ? ADD : STENCIL, model[!rereads], model[rereads ? 2 : 0]);
			for (int a = 0; a < ARRAYS; a++)
				host_check(a);
		}
		broken = NULL;
		heddle_kernels_unload();
	}
	unsetenv("HEDDLE_VERBOSE");
}

/* The last arguments of as many as there may be. */
static void last_arguments(void **state)
{
	leading = MOST_LEADING;
	chain(state);
	leading = 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(sweeps),
	    cmocka_unit_test(chain),
	    cmocka_unit_test(last_arguments),
	    cmocka_unit_test(not_kept_between),
	    cmocka_unit_test(read_beside),
	    cmocka_unit_test(read_beside_waiting),
	    cmocka_unit_test(older_results),
	    cmocka_unit_test(random_queues),
	    cmocka_unit_test(host_stays),
	    cmocka_unit_test(host_changes),
	    cmocka_unit_test(host_found_in_vain),
	    cmocka_unit_test(host_numbers_of_vectors),
	    cmocka_unit_test(host_random),
	    cmocka_unit_test(host_read_at_once),
	    cmocka_unit_test(host_brought_back),
	    cmocka_unit_test(tables),
	    cmocka_unit_test(written_otherwise),
	    cmocka_unit_test(host_memory),
	    cmocka_unit_test(pipelined),
	    cmocka_unit_test(random_chains),
	    cmocka_unit_test(unloaded_at_an_end),
	    cmocka_unit_test(read_at_once),
	    cmocka_unit_test(failures),
	    cmocka_unit_test(failures_of_what_stays),
	};
	unsigned seed = test_seed();
	int failed;

	if (starpu_init(NULL))
		return 77;
	if (starpu_opencl_worker_get_count() < 2) {
		starpu_shutdown();
		return 77;
	}
	srand48(seed);
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	heddle_kernels_unload();
	starpu_shutdown();
	return failed;
}
