/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Kernels over StarPU's OpenCL workers: right results, whoever computes what; as nodes of
 * the task graph; and when a device fails.
 */
#include "config.h"

#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <starpu_scheduler.h>

#include <heddle/heddle.h>

#include "tests/unit/test.h"

enum { N = 1 << 16, SIDE = 128, HELD = N / 256 };

static char *source;

/* Launches on this device fail from now on, as of one that is lost. */
static cl_device_id broken;
static bool break_next, break_all;

/* The first launch of so many work-items is held up; 0: none is. */
static size_t held_up;
/* The device of that launch, and how many as large have come to it since. */
static cl_device_id held;
static unsigned again;

/* Heddle's calls come here first. */
__attribute__((visibility("default"))) cl_int
clEnqueueNDRangeKernel(cl_command_queue queue, cl_kernel kernel, cl_uint dimensions,
                       const size_t *offset, const size_t *global, const size_t *local, cl_uint n,
                       const cl_event *events, cl_event *event)
{
	static __thread __typeof__(&clEnqueueNDRangeKernel) next;
	cl_device_id device = NULL;
	size_t items = 1;

	if (!next)
		next = (__typeof__(next))dlsym(RTLD_NEXT, "clEnqueueNDRangeKernel");
	clGetCommandQueueInfo(queue, CL_QUEUE_DEVICE, sizeof(device), &device, NULL);
	if (__atomic_exchange_n(&break_next, false, __ATOMIC_SEQ_CST))
		__atomic_store_n(&broken, device, __ATOMIC_SEQ_CST);
	if (device == __atomic_load_n(&broken, __ATOMIC_SEQ_CST) || break_all)
		return CL_OUT_OF_RESOURCES;
	for (cl_uint d = 0; d < dimensions; d++)
		items *= global[d];
	if (items == HELD && device == __atomic_load_n(&held, __ATOMIC_SEQ_CST))
		__atomic_fetch_add(&again, 1, __ATOMIC_SEQ_CST);
	if (__atomic_compare_exchange_n(&held_up, &items, 0, false, __ATOMIC_SEQ_CST,
	                                __ATOMIC_SEQ_CST)) {
		__atomic_store_n(&held, device, __ATOMIC_SEQ_CST);
		usleep(100000);
	}
	return next(queue, kernel, dimensions, offset, global, local, n, events, event);
}

/* Devices have addresses of 32 bits. */
static bool narrow;

__attribute__((visibility("default"))) cl_int
clGetDeviceInfo(cl_device_id device, cl_device_info info, size_t size, void *value, size_t *needed)
{
	static __thread __typeof__(&clGetDeviceInfo) next;
	cl_int error;

	if (!next)
		next = (__typeof__(next))dlsym(RTLD_NEXT, "clGetDeviceInfo");
	error = next(device, info, size, value, needed);
	if (narrow && !error && info == CL_DEVICE_ADDRESS_BITS && value)
		*(cl_uint *)value = 32;
	return error;
}

/* Why a kernel is not split is not remembered: there is no memory. */
static bool no_reason;

__attribute__((visibility("default"))) char *strdup(const char *text)
{
	size_t size = strlen(text) + 1;
	char *copy = no_reason && !strncmp(text, "it ", 3) ? NULL : malloc(size);

	return copy ? memcpy(copy, text, size) : NULL;
}

static float a[N], b[N], c[N];

static void inputs_fill(void)
{
	for (int i = 0; i < N; i++) {
		a[i] = i % 1000;
		b[i] = i % 77;
		c[i] = -1;
	}
}

static struct heddle_kernel_argument host(void *pointer, size_t bytes)
{
	return (struct heddle_kernel_argument){
	    .type = HEDDLE_KERNEL_HOST, .pointer = pointer, .bytes = bytes};
}

static struct heddle_kernel_argument integer(int *value)
{
	return (struct heddle_kernel_argument){
	    .type = HEDDLE_KERNEL_VALUE, .pointer = value, .bytes = sizeof(*value)};
}

static struct heddle_kernel vector_add(int *n)
{
	return (struct heddle_kernel){
	    .source = source,
	    .name = "vector_add",
	    .dimensions = 1,
	    .global = {N},
	    .local = {64},
	    .narguments = 4,
	    .arguments = {host(a, sizeof(a)), host(b, sizeof(b)), host(c, sizeof(c)), integer(n)},
	    .split = HEDDLE_KERNEL_ALWAYS,
	};
}

static void sums_check(int n)
{
	for (int i = 0; i < N; i++)
		assert_true(c[i] == (i < n ? a[i] + b[i] : -1));
}

static void stats_print(const char *name, const struct heddle_kernel_stats *stats)
{
	size_t groups = 0;

	printf("  %-10s %8.0f us, predicted %8.0f, dry run %8.0f, decision %5.1f:", name, stats->us,
	       stats->predicted_us, stats->profile_us, stats->decision_us);
	for (unsigned w = 0; w < stats->nworkers; w++) {
		groups += stats->workers[w].groups;
		printf(" worker %d: %zu groups, %zu bytes in, %zu out;", stats->workers[w].id,
		       stats->workers[w].groups, stats->workers[w].in_bytes,
		       stats->workers[w].out_bytes);
	}
	putchar('\n');
	assert_int_equal(groups, stats->groups);
}

static void arrays_add(void **state)
{
	struct heddle_kernel_stats stats;
	int n = N - 1000;

	for (int i = 0; i < 5; i++) {
		struct heddle_kernel kernel = vector_add(&n);

		kernel.arguments[0].mode = kernel.arguments[1].mode = STARPU_R;
		kernel.split = i == 3   ? HEDDLE_KERNEL_NEVER
		               : i == 4 ? HEDDLE_KERNEL_BY_POLICY
		                        : HEDDLE_KERNEL_ALWAYS;
		inputs_fill();
		assert_int_equal(heddle_kernel_run(&kernel, &stats), 0);
		sums_check(n);
		stats_print("vector_add", &stats);
		/* What is only read does not come back, whatever is known of the kernel. */
		assert_true(stats.workers[0].out_bytes <= sizeof(c));
		assert_true((stats.profile_us > 0) == (i == 0));
		assert_true(i != 3 || stats.nworkers == 1);
	}
}

/* Without it all kernels of the file run on one device, for it has atomic operations. */
static bool analysed(void)
{
	return !access(getenv("HEDDLE_ANALYSE"), X_OK);
}

/* What may write anywhere, by atomic operations, is not split. */
static void with_includes(void **state)
{
	static const char text[] = "# include \"atomics.h\"\n"
	                           "__kernel void one(__global float *x) { x[0] = 1; }\n";
	struct heddle_kernel kernel = {
	    .source = text,
	    .name = "one",
	    .dimensions = 1,
	    .global = {N},
	    .local = {64},
	    .narguments = 1,
	    .arguments = {host(c, sizeof(c))},
	    .split = HEDDLE_KERNEL_ALWAYS,
	};
	struct heddle_kernel_access access;
	const char *refusal = NULL;

	no_reason = true;
	assert_int_equal(heddle_kernel_classes(&kernel, &access, &refusal), -ENOMEM);
	no_reason = false;
	assert_int_equal(heddle_kernel_classes(&kernel, &access, &refusal), 0);
	assert_non_null(refusal);
	assert_string_equal(access.write, "WHOLE");
}

/* Until it is settled who computes, and beyond: the launches that nothing is asked of any more
 * are right, too. */
static void many_launches(void **state)
{
	struct heddle_kernel_stats stats;
	int n = N - 1;
	struct heddle_kernel kernel = vector_add(&n);

	kernel.arguments[0].mode = kernel.arguments[1].mode = STARPU_R;
	for (int i = 0; i < 60; i++) {
		kernel.method = i < 40 ? "heddle" : "single";
		inputs_fill();
		assert_int_equal(heddle_kernel_run(&kernel, &stats), 0);
		sums_check(n);
		assert_true(stats.predicted_us > 0 && stats.queue_us >= 0);
		assert_true(i < 40 || stats.nworkers == 1);
	}
	stats_print("settled", &stats);
	assert_true(stats.decision_us >= 0 && stats.decision_us < stats.us);
}

/* Only the devices that are allowed, by each method of sharing out. */
static void workers_and_methods(void **state)
{
	static const char *const methods[] = {
	    "heddle", "paper",  "published", "published:contiguous=1", "published:contiguous=0",
	    "linear", "single", NULL};
	enum { METHODS = sizeof(methods) / sizeof(methods[0]) };
	int ids[STARPU_NMAXWORKERS], n = N;
	int count = starpu_worker_get_ids_by_type(STARPU_OPENCL_WORKER, ids, STARPU_NMAXWORKERS);
	struct heddle_kernel_stats stats;

	for (int m = 0; m < METHODS; m++)
		for (int w = -1; w < count; w++) {
			struct heddle_kernel kernel = vector_add(&n);

			kernel.method = methods[m];
			kernel.workers = w < 0 ? NULL : &ids[w];
			kernel.nworkers = w >= 0;
			kernel.split = methods[m] ? HEDDLE_KERNEL_ALWAYS : HEDDLE_KERNEL_NEVER;
			inputs_fill();
			assert_int_equal(heddle_kernel_run(&kernel, &stats), 0);
			sums_check(n);
			if (w >= 0 || m >= METHODS - 2)
				assert_int_equal(stats.nworkers, 1);
			if (w >= 0)
				assert_int_equal(stats.workers[0].id, ids[w]);
			for (unsigned i = 0; i < stats.nworkers; i++)
				assert_true(stats.workers[i].start_us >= 0 &&
				            stats.workers[i].start_us < stats.us);
		}
	struct heddle_kernel kernel = vector_add(&n);

	kernel.method = "best";
	assert_int_equal(heddle_kernel_run(&kernel, &stats), -EINVAL);
	kernel.method = "published:contiguous=2";
	assert_int_equal(heddle_kernel_run(&kernel, &stats), -EINVAL);
	kernel.method = NULL;
	kernel.workers = &n; /* no worker's id */
	kernel.nworkers = 1;
	assert_int_equal(heddle_kernel_run(&kernel, &stats), -EINVAL);
}

/* What --classes of the kernels' app prints; without the analysis nothing is known. */
static void classes_of_buffers(void **state)
{
	static const char other[] = "#define NARROW\n";
	struct heddle_kernel_access accesses[4];
	int n = N;
	struct heddle_kernel kernel = vector_add(&n);
	const char *refusal = "", *known;
	char *text;

	known = analysed() ? "CONTIGUOUS" : "WHOLE";
	kernel.arguments[0].mode = STARPU_R;
	assert_int_equal(heddle_kernel_classes(&kernel, accesses, &refusal), 0);
	assert_true(!refusal == analysed());
	assert_string_equal(accesses[0].read, known);
	assert_string_equal(accesses[0].write, "UNUSED");
	assert_string_equal(accesses[1].write, analysed() ? "UNUSED" : "WHOLE");
	assert_string_equal(accesses[2].write, known);
	assert_string_equal(accesses[3].read, "UNUSED");
	kernel.arguments[2].pointer = b;
	assert_int_equal(heddle_kernel_classes(&kernel, accesses, &refusal), 0);
	assert_true(!refusal == analysed());
	assert_string_equal(accesses[1].write, known);
	kernel = vector_add(&n);
	kernel.source = text = malloc(strlen(source) + sizeof(other));
	sprintf(text, "%s%s", other, source);
	narrow = true;
	assert_int_equal(heddle_kernel_classes(&kernel, accesses, &refusal), 0);
	narrow = false;
	assert_non_null(strstr(refusal, analysed() ? "64 bits" : "not analysed"));
	free(text);
	kernel = vector_add(&n);
	kernel.narguments = 3;
	assert_int_equal(heddle_kernel_classes(&kernel, accesses, NULL), -EINVAL);
}

/* Two dimensions, barriers, local memory, scattered results. */
/* Each output depends on far inputs, and the items take long, so that the devices share. A third of
 * the elements stays as it was, in the windows of both devices. */
static void blend(int number, const char *method, struct heddle_kernel_stats *stats)
{
	static const char code[] =
	    "/* %d */\n"
	    "__kernel void blend(__global const float *x, __global float *y)\n"
	    "{\n"
	    "	int n = get_global_size(0) * get_global_size(1);\n"
	    "	int i = get_global_id(1) * get_global_size(0) + get_global_id(0);\n"
	    "	float s = x[n - 1 - i];\n"
	    "	for (int k = 0; k < 4000; k++)\n"
	    "		s = s * 0.5f + 1;\n"
	    "	if (x[i] > 0)\n"
	    "		y[i] = s;\n"
	    "}\n";
	static float x[SIDE * SIDE], y[SIDE * SIDE];
	char text[sizeof(code) + 20];
	struct heddle_kernel kernel = {
	    .source = text,
	    .name = "blend",
	    .dimensions = 2,
	    .global = {SIDE, SIDE},
	    .local = {8, 8},
	    .narguments = 2,
	    .arguments = {host(x, sizeof(x)), host(y, sizeof(y))},
	    .split = HEDDLE_KERNEL_ALWAYS,
	    .method = method,
	};

	snprintf(text, sizeof(text), code, number);
	kernel.arguments[0].mode = STARPU_R;
	kernel.arguments[0].keep = true; /* x has the same contents in each launch */
	for (int i = 0; i < SIDE * SIDE; i++) {
		x[i] = i % 3;
		y[i] = -i;
	}
	assert_int_equal(heddle_kernel_run(&kernel, stats), 0);
	for (int i = 0; i < SIDE * SIDE; i++)
		assert_true(y[i] == (i % 3 ? 2 : -i));
}

/* SKMD as published: where devices share a kernel that is not contiguous, the inputs cross to each,
 * and all of the outputs back. The time of launches decides when they share. */
static void published(void **state)
{
	static const size_t bytes = SIDE * SIDE * sizeof(float);
	struct heddle_kernel_stats stats = {0};
	unsigned two = analysed() && starpu_opencl_worker_get_count() > 1;
	int i;

	/* Every tenth is a kernel of its own: one of another device that was held up when it was
	 * timed may stay with one device. */
	for (i = 0; i < 100 && stats.nworkers < 1 + two; i++) {
		blend(i / 10, "linear", &stats); /* what it keeps on the devices does not count */
		blend(i / 10, "published", &stats);
	}
	assert_int_equal(stats.nworkers, 1 + two);
	stats_print("blend", &stats);
	for (unsigned w = 0; w < stats.nworkers && two; w++)
		/* nothing crosses to a device that works in the host's memory */
		if (stats.workers[w].out_bytes) {
			assert_int_equal(stats.workers[w].in_bytes, 2 * bytes);
			assert_int_equal(stats.workers[w].kept_bytes, 0);
			assert_int_equal(stats.workers[w].out_bytes, bytes);
		}
	for (int more = 0; more < 3; more++) {
		blend((i - 1) / 10, "published:contiguous=1", &stats);
		for (unsigned w = 0; w < stats.nworkers && stats.nworkers > 1; w++)
			assert_true(stats.workers[w].out_bytes < bytes);
	}
}

static void matrices(void **state)
{
	static float in[2][SIDE * SIDE], out[SIDE * SIDE];
	struct heddle_kernel_stats stats;
	int side = SIDE;
	struct heddle_kernel kernel = {
	    .source = source,
	    .name = "matmul",
	    .dimensions = 2,
	    .global = {SIDE, SIDE},
	    .local = {8, 8},
	    .narguments = 4,
	    .arguments = {host(in[0], sizeof(out)), host(in[1], sizeof(out)),
	                  host(out, sizeof(out)), integer(&side)},
	    .split = HEDDLE_KERNEL_ALWAYS,
	};

	for (int i = 0; i < SIDE * SIDE; i++) {
		in[0][i] = i % 13;
		in[1][i] = i % 7;
	}
	assert_int_equal(heddle_kernel_run(&kernel, &stats), 0);
	stats_print("matmul", &stats);
	for (int y = 0; y < SIDE; y++)
		for (int x = 0; x < SIDE; x++) {
			float sum = 0;

			for (int k = 0; k < SIDE; k++)
				sum += in[0][y * SIDE + k] * in[1][k * SIDE + x];
			assert_true(out[y * SIDE + x] == sum);
		}
	kernel.name = "transpose";
	kernel.narguments = 4;
	kernel.arguments[0] = host(out, sizeof(out));
	kernel.arguments[1] = host(in[0], sizeof(out));
	kernel.arguments[2] = kernel.arguments[3] = integer(&side);
	assert_int_equal(heddle_kernel_run(&kernel, &stats), 0);
	stats_print("transpose", &stats);
	for (int y = 0; y < SIDE; y++)
		for (int x = 0; x < SIDE; x++)
			assert_true(out[x * SIDE + y] == in[0][y * SIDE + x]);
}

static void double_cpu(void *buffers[], void *arg)
{
	float *x = (float *)STARPU_VECTOR_GET_PTR(buffers[0]);

	for (size_t i = 0; i < STARPU_VECTOR_GET_NX(buffers[0]); i++)
		x[i] *= 2;
}

/* What changes in a structure changes the windows. */
static void structures(void **state)
{
	struct {
		int n;
		short first, scale;
	} part = {N, 0, 3};
	int turn[2] = {0, 1};
	struct heddle_kernel kernel = {
	    .source = "struct part { int n; short first, scale; };\n"
	              "kernel void k(struct part part, global float *x, int2 turn) {\n"
	              "	int i = get_global_id(0);\n"
	              "	if (i >= part.first && i < part.n) x[i * turn.y + turn.x] = part.scale * "
	              "i;\n"
	              "}\n",
	    .name = "k",
	    .dimensions = 1,
	    .global = {N},
	    .local = {64},
	    .narguments = 3,
	    .arguments = {{.type = HEDDLE_KERNEL_VALUE, .pointer = &part, .bytes = sizeof(part)},
	                  host(c, sizeof(c)),
	                  {.type = HEDDLE_KERNEL_VALUE, .pointer = turn, .bytes = sizeof(turn)}},
	    .split = HEDDLE_KERNEL_ALWAYS,
	};
	struct heddle_kernel_access accesses[3];
	const char *refusal;

	for (int round = 0; round < 4; round++) {
		part.first = round * 100;
		part.n = N - round * 1000;
		turn[0] = round % 2 ? N - 1 : 0;
		turn[1] = round % 2 ? -1 : 1;
		inputs_fill();
		assert_int_equal(heddle_kernel_run(&kernel, NULL), 0);
		for (int i = 0; i < N; i++)
			assert_true(c[i * turn[1] + turn[0]] ==
			            (i >= part.first && i < part.n ? 3 * i : -1));
		assert_int_equal(heddle_kernel_classes(&kernel, accesses, &refusal), 0);
		assert_true(!analysed() || !refusal);
		assert_string_equal(accesses[1].write, analysed() ? "CONTIGUOUS" : "WHOLE");
	}
	kernel.arguments[0].bytes = sizeof(part.n);
	if (analysed())
		assert_int_equal(heddle_kernel_run(&kernel, NULL), -EINVAL);
}

/* Tasks before and after, none waited for. */
static void nodes_of_the_graph(void **state)
{
	static struct starpu_codelet doubles = {
	    .cpu_funcs = {double_cpu}, .nbuffers = 1, .modes = {STARPU_RW}};
	starpu_data_handle_t hx, hy;
	float half = 0.5f;
	struct heddle_kernel kernel = {
	    .source = source,
	    .name = "saxpy",
	    .dimensions = 1,
	    .global = {N},
	    .local = {64},
	    .narguments = 3,
	    .arguments = {{.type = HEDDLE_KERNEL_HANDLE, .mode = STARPU_RW},
	                  {.type = HEDDLE_KERNEL_HANDLE, .mode = STARPU_R},
	                  {.type = HEDDLE_KERNEL_VALUE, .pointer = &half, .bytes = sizeof(half)}},
	    .split = HEDDLE_KERNEL_ALWAYS,
	};

	inputs_fill();
	starpu_vector_data_register(&hx, STARPU_MAIN_RAM, (uintptr_t)a, N, sizeof(*a));
	starpu_vector_data_register(&hy, STARPU_MAIN_RAM, (uintptr_t)b, N, sizeof(*b));
	kernel.arguments[0].handle = hy;
	kernel.arguments[1].handle = hx;
	assert_int_equal(starpu_task_insert(&doubles, STARPU_RW, hx, 0), 0);
	for (int i = 0; i < 3; i++)
		assert_int_equal(heddle_kernel_submit(&kernel, NULL), 0);
	assert_int_equal(starpu_task_insert(&doubles, STARPU_RW, hy, 0), 0);
	assert_int_equal(starpu_task_wait_for_all(), 0);
	starpu_data_unregister(hx);
	starpu_data_unregister(hy);
	for (int i = 0; i < N; i++)
		assert_true(b[i] == 2 * (i % 77 + 3 * (float)(i % 1000)));
}

/* Atomic operations count right, on one device. */
static void unsplit(void **state)
{
	unsigned count = 5;
	struct heddle_kernel_stats stats;
	struct heddle_kernel counter = {
	    .source = source,
	    .name = "counter",
	    .dimensions = 1,
	    .global = {1024},
	    .local = {16},
	    .narguments = 1,
	    .arguments = {host(&count, sizeof(count))},
	    .split = HEDDLE_KERNEL_ALWAYS,
	};

	assert_int_equal(heddle_kernel_run(&counter, &stats), 0);
	assert_int_equal(stats.nworkers, 1);
	assert_int_equal(count, 5 + 1024);
}

/* A function that takes long enough that only a device that is held up for seconds whenever it is
 * timed has no share. */
#define SLOW                                                                                       \
	"float slow(float v)\n"                                                                    \
	"{ for (int k = 0; k < 50; k++) v = v * 0.5f + v * 0.5f; return v; }\n"

/* A launch of a dry run that is held up comes again. Another kernel is tried where the machine
 * holds up more: what takes half a second is not repeated. */
static void one_held_up(void **state)
{
	char text[128];
	struct heddle_kernel kernel = {
	    .source = text,
	    .name = "k",
	    .dimensions = 1,
	    .global = {N},
	    .local = {64},
	    .narguments = 1,
	    .arguments = {host(a, sizeof(a))},
	    .split = HEDDLE_KERNEL_ALWAYS,
	    .method = "linear",
	};

	if (!analysed()) /* a dry run launches all groups */
		return;
	again = 0;
	for (int i = 0; i < 20 && !again; i++) {
		snprintf(text, sizeof(text),
		         "kernel void k(global float *x)\n"
		         "{ int i = get_global_id(0); x[i] = i + %d; }\n",
		         i);
		held = NULL;
		held_up = HELD;
		assert_int_equal(heddle_kernel_run(&kernel, NULL), 0);
		assert_int_equal(held_up, 0);
		for (int e = 0; e < N; e++)
			assert_true(a[e] == e + i);
	}
	assert_true(again > 0);
	held = NULL;
}

/* An array that is two arguments: it is split where no group reads what another writes. How many
 * devices have a share goes by times. */
static void one_array(void **state)
{
	static const struct {
		const char *body;
		bool split;
		float factor; /* of what element i was */
	} cases[] = {
	    {"y[i] += slow(x[i]);", true, 2},
	    {"float v = slow(x[i]); y[i] = v; y[i] = x[i] + y[i];", true, 2},
	    {"if (i < n - 64) y[i] = x[i + 64] + x[i];", false, 0},
	    {"int j = (i + 64) % n; y[j] = 2 * x[j];", false, 2},
	};
	static const char *const methods[] = {"heddle", "linear", "heddle", "linear"};
	int n = N;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char text[512];
		struct heddle_kernel_stats stats;
		struct heddle_kernel_access accesses[3];
		const char *refusal;
		struct heddle_kernel kernel = {
		    .source = text,
		    .name = "k",
		    .dimensions = 1,
		    .global = {N},
		    .local = {64},
		    .narguments = 3,
		    .arguments = {host(a, sizeof(a)),
		                  host(a, sizeof(a)),
		                  {.type = HEDDLE_KERNEL_VALUE, .pointer = &n, .bytes = sizeof(n)}},
		    .split = HEDDLE_KERNEL_ALWAYS,
		};

		snprintf(text, sizeof(text),
		         SLOW "kernel void k(global const float *x, global float *y, int n)\n"
		              "{ int i = get_global_id(0); %s }\n",
		         cases[i].body);
		for (int m = 0; m < 4; m++) {
			kernel.method = methods[m];
			kernel.arguments[0].mode = m % 2 ? STARPU_R : STARPU_RW;
			inputs_fill();
			assert_int_equal(heddle_kernel_run(&kernel, &stats), 0);
			for (int e = 0; e < N && cases[i].factor; e++)
				assert_true(a[e] == cases[i].factor * (e % 1000));
			assert_true(cases[i].split || stats.nworkers == 1);
		}
		assert_int_equal(heddle_kernel_classes(&kernel, accesses, &refusal), 0);
		if (analysed())
			assert_int_equal(!refusal, cases[i].split);
		assert_string_equal(accesses[0].write, accesses[1].write);
		/* What is written of it then is thrown away. */
		kernel.arguments[0].mode = kernel.arguments[1].mode = STARPU_R;
		assert_int_equal(heddle_kernel_classes(&kernel, accesses, &refusal), 0);
		assert_true(!refusal == analysed());
	}
}

/* A launch differs from one before in the mode of its output alone, which now has to keep what is
 * not written. The device has another copy of it still. */
static void modes_differ(void **state)
{
	struct heddle_kernel_stats stats;
	struct heddle_kernel kernel = {
	    .source = "kernel void k(global int *x, global const int *y)\n"
	              "{ int i = get_global_id(0); if (y[i] & 1) x[i] = i; }\n",
	    .name = "k",
	    .dimensions = 1,
	    .global = {N},
	    .local = {64},
	    .narguments = 2,
	    .arguments = {host(c, sizeof(c)), host(b, sizeof(b))},
	    .split = HEDDLE_KERNEL_ALWAYS,
	    .method = "single",
	};
	int *x = (int *)c, *y = (int *)b;

	kernel.arguments[1].mode = STARPU_R;
	for (int i = 0; i < 4; i++) {
		kernel.arguments[0].mode = i % 2 ? STARPU_RW : STARPU_W;
		for (int e = 0; e < N; e++) {
			x[e] = -e - i;
			y[e] = e % 3;
		}
		assert_int_equal(heddle_kernel_run(&kernel, &stats), 0);
		assert_int_equal(stats.nworkers, 1);
		for (int e = 0; e < N; e++)
			if (e % 3 == 1 || i % 2)
				assert_int_equal(x[e], e % 3 == 1 ? e : -e - i);
	}
}

/* An array that the caller may only read, and that the kernel writes all the same, stays as it is.
 */
static void read_only(void **state)
{
	int *x = mmap(NULL, N * sizeof(*x), PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int *y = (int *)c;
	struct heddle_kernel kernel = {
	    .source = "kernel void k(global int *x, global int *y)\n"
	              "{ int i = get_global_id(0); x[i] += i; y[i] = x[i]; }\n"
	              "kernel void twice(global const int *z, global int *y, global int *x)\n"
	              "{ int i = get_global_id(0); x[i] += 1; y[i] = z[i]; }\n",
	    .name = "k",
	    .dimensions = 1,
	    .global = {N},
	    .local = {64},
	    .narguments = 2,
	    .arguments = {host(x, N * sizeof(*x)), host(y, N * sizeof(*y))},
	    .split = HEDDLE_KERNEL_ALWAYS,
	};

	(void)state;
	assert_true(x != MAP_FAILED);
	if (!getenv("HEDDLE_ANALYSE") || access(getenv("HEDDLE_ANALYSE"), X_OK))
		skip(); /* nobody knows that it writes */
	kernel.arguments[0].mode = STARPU_R;
	kernel.arguments[1].mode = STARPU_W;
	for (int i = 0; i < 4; i++) {
		memset(y, -1, N * sizeof(*y));
		assert_int_equal(heddle_kernel_run(&kernel, NULL), 0);
		for (int e = 0; e < N; e++)
			assert_int_equal(y[e], e);
	}
	/* Twice, first as what is not written. What y gets is not defined. */
	kernel.name = "twice";
	kernel.narguments = 3;
	kernel.arguments[2] = kernel.arguments[0];
	for (int i = 0; i < 4; i++)
		assert_int_equal(heddle_kernel_run(&kernel, NULL), 0);
	for (int e = 0; e < N; e++)
		assert_int_equal(x[e], 0);
	munmap(x, N * sizeof(*x));
}

/* Kernels whose ranges would compute something else than all of it, and those of which nothing is
 * known: each runs on one device, whatever the policy. */
static void not_split(void **state)
{
	static const struct {
		const char *source, *options;
		int bins; /* 0: element i is i */
		unsigned dimensions;
	} cases[] = {
	    {"__kernel void k(__global int *x)\n"
	     "{ x[get_global_id(0)] = get_global_linear_id(); }\n",
	     "-cl-std=CL3.0", 0, 1},
	    {"__kernel void k(__global int *x)\n"
	     "{ x[get_global_linear_id()] = get_global_linear_id(); }\n",
	     "-cl-std=CL3.0", 0, 2},
	    {"#define get_global_id(d) ((int)get_global_id(d))\n"
	     "__kernel void k(__global int *x)\n"
	     "{ int i = get_global_id(1) * (int)get_global_size(0) + get_global_id(0); x[i] = i; "
	     "}\n",
	     NULL, 0, 2},
	    {"#define MAKE(name, body) __kernel void name(__global int *x) { body }\n"
	     "MAKE(k, x[get_global_linear_id()] = get_global_linear_id();)\n",
	     "-cl-std=CL3.0", 0, 2},
	    {"#define get_global_id(d) ((int)get_global_id(d))\n"
	     "__kernel void k(__global int *x) { x[get_global_id(0)] = get_global_id(0); }\n",
	     NULL, 0, 1},
	    {"#ifdef VENDOR\n#endif\n"
	     "__kernel void k(__global int *x) { INC(&x[get_global_id(0) & 3]); }\n",
	     "-DINC=atomic_inc", 4, 1},
	    {"#ifdef VENDOR\n#endif\n"
	     "__kernel void k(__global int *x)\n"
	     "{ __sync_fetch_and_add(&x[get_global_id(0) & 3], 1); }\n",
	     NULL, 4, 1},
	};
	unsigned failures = 0;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		int *x = (int *)c;
		struct heddle_kernel_stats stats;
		struct heddle_kernel kernel = {.source = cases[i].source,
		                               .name = "k",
		                               .options = cases[i].options,
		                               .dimensions = 1,
		                               .global = {N},
		                               .local = {64},
		                               .narguments = 1,
		                               .arguments = {host(x, N * sizeof(*x))},
		                               .split = i % 2 ? HEDDLE_KERNEL_ALWAYS
		                                              : HEDDLE_KERNEL_BY_POLICY};
		unsigned wrong = 0;

		if (cases[i].dimensions == 2) {
			kernel.dimensions = 2;
			kernel.global[0] = 512;
			kernel.global[1] = N / 512;
			kernel.local[0] = 16;
			kernel.local[1] = 4;
		}

		for (int round = 0; round < 3; round++) {
			memset(x, 0, N * sizeof(*x));
			assert_int_equal(heddle_kernel_run(&kernel, &stats), 0);
			for (int j = 0; j < N; j++)
				wrong += x[j] != (!cases[i].bins      ? j
				                  : j < cases[i].bins ? N / cases[i].bins
				                                      : 0);
			if (wrong || stats.nworkers > 1) {
				print_error("  case %zu: %u elements wrong, %u workers\n", i, wrong,
				            stats.nworkers);
				failures++;
				break;
			}
		}
	}
	assert_int_equal(failures, 0);
}

/* Devices answer what a source asks of compilers: these can be split, and are right. */
static void answered(void **state)
{
	static const char *const sources[] = {
	    "#ifndef __OPENCL_VERSION__\n#define __OPENCL_VERSION__ 100\n#endif\n"
	    "#if __OPENCL_VERSION__ >= 120\n#define EACH 4\n#else\n#define EACH 1\n#endif\n"
	    "__kernel void k(__global int *x)\n"
	    "{ for (int i = 0; i < EACH; i++) { int j = get_global_id(0) * EACH + i;\n"
	    "  if (j < get_global_size(0)) x[j] = j; } }\n",
	    "__kernel void k(__global int *x)\n"
	    "{ for (int i = 0, n = __clang_major__ == 14 ? 1 : 4; i < n; i++) {\n"
	    "  int j = get_global_id(0) * n + i; if (j < get_global_size(0)) x[j] = j; } }\n",
	    "#ifdef cl_khr_fp64\ntypedef double real;\n#else\ntypedef float real;\n#endif\n"
	    "#if VENDOR == 3\n#define EACH 2\n#endif\n"
	    "__kernel void k(__global int *x)\n"
	    "{ real r = get_global_id(0); x[get_global_id(0)] = r; }\n",
	};

	for (size_t i = 0; i < sizeof(sources) / sizeof(sources[0]); i++) {
		int *x = (int *)c;
		struct heddle_kernel_access about;
		const char *refusal = NULL;
		struct heddle_kernel kernel = {.source = sources[i],
		                               .name = "k",
		                               .dimensions = 1,
		                               .global = {N},
		                               .local = {64},
		                               .narguments = 1,
		                               .arguments = {host(x, N * sizeof(*x))},
		                               .split = HEDDLE_KERNEL_ALWAYS};

		memset(x, 0, N * sizeof(*x));
		assert_int_equal(heddle_kernel_run(&kernel, NULL), 0);
		assert_int_equal(heddle_kernel_classes(&kernel, &about, &refusal), 0);
		assert_true(!refusal == analysed());
		for (int j = 0; j < N; j++)
			assert_int_equal(x[j], j);
	}
}

/* A source that does not bear the prologue of range launches gets an early exit. */
static void early_exit(void **state)
{
	static const char text[] = "int heddle_flat(int x) { return x + 1; }\n"
	                           "__kernel void next(__global int *x)\n"
	                           "{ x[get_global_id(0)] = heddle_flat(x[get_global_id(0)]); }\n";
	struct heddle_kernel_stats stats;
	int *x = (int *)a;
	struct heddle_kernel kernel = {.source = text,
	                               .name = "next",
	                               .dimensions = 1,
	                               .global = {N},
	                               .local = {32},
	                               .narguments = 1,
	                               .arguments = {host(x, N * sizeof(*x))},
	                               .split = HEDDLE_KERNEL_ALWAYS};

	for (int i = 0; i < N; i++)
		x[i] = i;
	for (int i = 0; i < 3; i++)
		assert_int_equal(heddle_kernel_run(&kernel, &stats), 0);
	stats_print("early exit", &stats);
	for (int i = 0; i < N; i++)
		assert_int_equal(x[i], i + 3);
}

/* Global ids begin at an offset; everything else is as without one. Group sizes are ours. */
static void offsets(void **state)
{
	static const char text[] =
	    "__kernel void ids(__global int *out, __global const int *in, int width)\n"
	    "{\n"
	    "	size_t x = get_global_id(0) - get_global_offset(0);\n"
	    "	size_t y = get_global_id(1) - get_global_offset(1);\n"
	    "	size_t group = get_group_id(1) * get_num_groups(0) + get_group_id(0);\n"
	    "	out[y * get_global_size(0) + x] = get_local_size(0) * get_local_size(1) > 64\n"
	    "	    ? -1 : in[get_global_id(1) * width + get_global_id(0)] + 0 * (int)group;\n"
	    "}\n";
	static const size_t starts[][2] = {{0, 0}, {7, 0}, {1000, 3}, {7, 5}, {7, 5}};
	enum { WIDTH = 2048, X = 192, Y = 96, ROWS = Y + 8 };
	int width = WIDTH, *in = malloc(ROWS * WIDTH * sizeof(*in)), *out = (int *)c;

	for (int i = 0; i < ROWS * WIDTH; i++)
		in[i] = i;
	for (unsigned i = 0; i < 20; i++) {
		const size_t *start = starts[i % 5];
		bool flat = i >= 10;
		struct heddle_kernel kernel = {.source = text,
		                               .name = "ids",
		                               .dimensions = flat ? 1 : 2,
		                               .global = {X, Y},
		                               .local = {i % 2 ? 16 : 0, i % 2 ? 4 : 0},
		                               .offset = {start[0], start[1]},
		                               .narguments = 3,
		                               .arguments = {host(out, X * Y * sizeof(*out)),
		                                             host(in, ROWS * WIDTH * sizeof(*in)),
		                                             integer(&width)},
		                               .split = HEDDLE_KERNEL_ALWAYS};

		kernel.arguments[0].mode = STARPU_W;
		kernel.arguments[1].mode = STARPU_R;
		memset(out, 0x55, X * Y * sizeof(*out));
		assert_int_equal(heddle_kernel_run(&kernel, NULL), 0);
		for (int y = 0; y < (flat ? 1 : Y); y++)
			for (int x = 0; x < X; x++)
				assert_int_equal(
				    out[y * X + x],
				    in[(y + (flat ? 0 : start[1])) * WIDTH + x + start[0]]);
	}
	free(in);
}

/* A kernel that is not split has a dry run of ranges, which cannot wait for copies behind an
 * early exit. */
static void copies_unsplit(void **state)
{
	static const char text[] =
	    "__kernel void copies(__global float *out, __global const float *in,\n"
	    "                     __global int *count, __local float *tile)\n"
	    "{\n"
	    "	size_t first = get_group_id(0) * get_local_size(0);\n"
	    "	tile[get_local_id(0)] = 2 * in[get_global_id(0)];\n"
	    "	barrier(CLK_LOCAL_MEM_FENCE);\n"
	    "	event_t e = async_work_group_copy(out + first, tile, get_local_size(0), 0);\n"
	    "	wait_group_events(1, &e);\n"
	    "	if (!get_local_id(0)) atomic_inc(count);\n"
	    "}\n";
	int count = 0;
	struct heddle_kernel kernel = {.source = text,
	                               .name = "copies",
	                               .dimensions = 1,
	                               .global = {N},
	                               .local = {64},
	                               .narguments = 4,
	                               .arguments = {host(c, sizeof(c)),
	                                             host(a, sizeof(a)),
	                                             host(&count, sizeof(count)),
	                                             {.type = HEDDLE_KERNEL_LOCAL, .bytes = 256}},
	                               .split = HEDDLE_KERNEL_ALWAYS};

	inputs_fill();
	for (int i = 1; i <= 3; i++) {
		assert_int_equal(heddle_kernel_run(&kernel, NULL), 0);
		assert_int_equal(count, i * (N / 64));
	}
	for (int i = 0; i < N; i++)
		assert_true(c[i] == 2 * a[i]);
}

static void nonsense_is_refused(void **state)
{
	int n = N;
	struct heddle_kernel kernel = vector_add(&n);

	setenv("HEDDLE_VERBOSE", "0", 1);
	kernel.local[0] = 100;
	assert_int_equal(heddle_kernel_run(&kernel, NULL), -EINVAL);
	kernel = vector_add(&n);
	kernel.dimensions = 2; /* but one size of a group */
	kernel.global[1] = 1;
	assert_int_equal(heddle_kernel_run(&kernel, NULL), -EINVAL);
	kernel = vector_add(&n);
	kernel.offset[0] = SIZE_MAX;
	assert_int_equal(heddle_kernel_run(&kernel, NULL), -EINVAL);
	kernel = vector_add(&n);
	kernel.arguments[1] = host(a + 1, sizeof(a) - 4);
	assert_int_equal(heddle_kernel_run(&kernel, NULL), -EINVAL);
	kernel = vector_add(&n);
	kernel.nworkers = 1; /* of no list */
	assert_int_equal(heddle_kernel_run(&kernel, NULL), -EINVAL);
	kernel = vector_add(&n);
	kernel.arguments[3].pointer = NULL;
	assert_int_equal(heddle_kernel_run(&kernel, NULL), -EINVAL);
	kernel = vector_add(&n);
	kernel.source = "__kernel void vector_add(__global float *x) { x[0] = nothing; }";
	kernel.narguments = 1;
	assert_int_equal(heddle_kernel_run(&kernel, NULL), -EIO);
	unsetenv("HEDDLE_VERBOSE");
}

/* What certainly leaves a buffer is not launched, in whatever way it is computed. */
static void outside_of_buffers(void **state)
{
	struct heddle_kernel kernel = {
	    .source =
	        "__kernel void next(__global const float *a, __global float *c, const int by)\n"
	        "{ int i = get_global_id(0); c[i] = a[i + by]; }",
	    .name = "next",
	    .dimensions = 1,
	    .global = {N},
	    .local = {64},
	    .narguments = 3,
	};
	struct heddle_kernel_access accesses[3];
	int by;

	if (!analysed())
		skip();
	inputs_fill();
	kernel.arguments[0] = host(a, sizeof(a));
	kernel.arguments[1] = host(c, sizeof(c));
	kernel.arguments[2] = integer(&by);
	setenv("HEDDLE_VERBOSE", "0", 1);
	for (int split = 0; split < 3; split++) {
		kernel.split = split;
		for (by = 1; by >= -1; by--) {
			memset(c, 0, sizeof(c));
			assert_int_equal(heddle_kernel_run(&kernel, NULL), by ? -EFAULT : 0);
			assert_int_equal(heddle_kernel_classes(&kernel, accesses, NULL),
			                 by ? -EFAULT : 0);
			for (int i = 0; i < N; i++)
				assert_true(c[i] == (by ? 0 : a[i]));
		}
	}
	kernel.arguments[1].bytes = sizeof(c) - 64;
	by = 0;
	assert_int_equal(heddle_kernel_run(&kernel, NULL), -EFAULT);
	unsetenv("HEDDLE_VERBOSE");
}

/* An argument of another size than the kernel's is a mistake of the caller's: no device is to blame
 * for it, and the launch without it runs. */
static void argument_sizes(void **state)
{
	int n = N;
	double wide = 3;
	int16_t half = 3;
	float factor = 3;
	int64_t many = N;
	struct heddle_kernel kernel = {
	    .source = "__kernel void multiply(__global const float *a, __global float *c,"
	              " const float factor, const int n)\n"
	              "{ int i = get_global_id(0); if (i < n) c[i] = factor * a[i]; }",
	    .name = "multiply",
	    .dimensions = 1,
	    .global = {N},
	    .local = {64},
	    .narguments = 4,
	    .split = HEDDLE_KERNEL_ALWAYS,
	};
	struct heddle_kernel_argument *value = &kernel.arguments[2], *last = &kernel.arguments[3];

	inputs_fill();
	setenv("HEDDLE_VERBOSE", "0", 1);
	kernel.arguments[0] = host(a, sizeof(a));
	kernel.arguments[1] = host(c, sizeof(c));
	*last = integer(&n);
	*value = (struct heddle_kernel_argument){
	    .type = HEDDLE_KERNEL_VALUE, .pointer = &wide, .bytes = sizeof(wide)};
	assert_int_equal(heddle_kernel_run(&kernel, NULL), -EINVAL);
	*value = (struct heddle_kernel_argument){
	    .type = HEDDLE_KERNEL_VALUE, .pointer = &half, .bytes = sizeof(half)};
	assert_int_equal(heddle_kernel_run(&kernel, NULL), -EINVAL);
	*value = (struct heddle_kernel_argument){
	    .type = HEDDLE_KERNEL_VALUE, .pointer = &factor, .bytes = sizeof(factor)};
	last->pointer = &many;
	last->bytes = sizeof(many);
	assert_int_equal(heddle_kernel_run(&kernel, NULL), -EINVAL);
	*last = integer(&n);
	assert_int_equal(heddle_kernel_run(&kernel, NULL), 0);
	unsetenv("HEDDLE_VERBOSE");
	for (int i = 0; i < N; i++)
		assert_true(c[i] == 3 * a[i]);
}

/* The policy decides: shares, blocks, or one task. One device fails within the blocks. */
static void by_policy(void **state)
{
	static const char other[] = "#define OTHER\n";
	struct heddle_kernel_stats stats;
	char *text = malloc(strlen(source) + sizeof(other));
	const char *policy = starpu_sched_ctx_get_sched_policy(0)->policy_name;
	bool shares = !strcmp(policy, "heddle") || !strcmp(policy, "skmd");
	int n = N;
	struct heddle_kernel kernel = vector_add(&n);

	sprintf(text, "%s%s", other, source); /* a kernel of its own, of which nothing is known */
	kernel.source = text;
	kernel.split = HEDDLE_KERNEL_BY_POLICY;
	for (int i = 0; i < 3; i++) {
		inputs_fill();
		if (i == 2 && starpu_opencl_worker_get_count() > 1) {
			setenv("HEDDLE_VERBOSE", "0", 1);
			break_next = true;
		}
		assert_int_equal(heddle_kernel_run(&kernel, &stats), 0);
		sums_check(N);
		stats_print("by policy", &stats);
		if (i == 1 && starpu_opencl_worker_get_count() > 1)
			assert_int_equal(stats.predicted_us > 0, shares);
	}
	assert_true(starpu_opencl_worker_get_count() < 2 || stats.moved > 0);
	broken = NULL;
	unsetenv("HEDDLE_VERBOSE");
	free(text);
}

/* Last, since the devices stay broken for that kernel. */
static void devices_fail(void **state)
{
	struct heddle_kernel_stats stats;
	int n = N;
	struct heddle_kernel kernel = vector_add(&n);

	if (starpu_opencl_worker_get_count() < 2)
		skip();
	setenv("HEDDLE_VERBOSE", "0", 1);
	for (int i = 0; i < 20; i++) /* until one device alone may be settled */
		assert_int_equal(heddle_kernel_run(&kernel, NULL), 0);
	inputs_fill();
	break_next = true;
	assert_int_equal(heddle_kernel_run(&kernel, &stats), 0);
	sums_check(N);
	stats_print("broken", &stats);
	assert_true(stats.moved > 0 && stats.nworkers == 1);
	break_all = true;
	assert_int_equal(heddle_kernel_run(&kernel, NULL), -ENOMEM);
	break_all = false;
	broken = NULL;
	unsetenv("HEDDLE_VERBOSE");
}

/* A launch that every device refuses says nothing of other launches. */
static void failed_launches_are_forgiven(void **state)
{
	static const char text[] = "__kernel void none(__global float *a) { a[0] = nothing; }";
	int n = N;
	struct heddle_kernel groups = vector_add(&n);
	struct heddle_kernel broken_source = {.source = text,
	                                      .name = "none",
	                                      .dimensions = 1,
	                                      .global = {64},
	                                      .narguments = 1,
	                                      .arguments = {host(a, sizeof(a))}};
	const char *message;

	(void)state;
	setenv("HEDDLE_VERBOSE", "0", 1);
	groups.local[0] = N;
	assert_int_equal(heddle_kernel_run(&groups, NULL), -EIO);
	groups.local[0] = 64;
	inputs_fill();
	assert_int_equal(heddle_kernel_run(&groups, NULL), 0);
	sums_check(N);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(heddle_kernel_run(&broken_source, NULL), -EIO);
		message = heddle_message_take();
		assert_true(message && strstr(message, "does not compile"));
	}
	unsetenv("HEDDLE_VERBOSE");
}

static void source_read(void)
{
	const char *top = getenv("top_srcdir");
	char path[4096];
	FILE *file;

	snprintf(path, sizeof(path), "%s/tests/unit/kernel_ranges.cl", top ? top : ".");
	file = fopen(path, "r");
	source = calloc(1, 100000);
	if (!file || !fread(source, 1, 99999, file))
		exit(99);
	fclose(file);
}

/* @param argv a pattern of the tests to run; none: all */
int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(arrays_add),
	    cmocka_unit_test(with_includes),
	    cmocka_unit_test(many_launches),
	    cmocka_unit_test(workers_and_methods),
	    cmocka_unit_test(classes_of_buffers),
	    cmocka_unit_test(published),
	    cmocka_unit_test(matrices),
	    cmocka_unit_test(structures),
	    cmocka_unit_test(nodes_of_the_graph),
	    cmocka_unit_test(unsplit),
	    cmocka_unit_test(one_held_up),
	    cmocka_unit_test(one_array),
	    cmocka_unit_test(modes_differ),
	    cmocka_unit_test(read_only),
	    cmocka_unit_test(early_exit),
	    cmocka_unit_test(offsets),
	    cmocka_unit_test(copies_unsplit),
	    cmocka_unit_test(nonsense_is_refused),
	    cmocka_unit_test(outside_of_buffers),
	    cmocka_unit_test(argument_sizes),
	    cmocka_unit_test(by_policy),
	    cmocka_unit_test(devices_fail),
	    cmocka_unit_test(failed_launches_are_forgiven),
	    cmocka_unit_test(not_split),
	    cmocka_unit_test(answered),
	};
	int failed;

	if (starpu_init(NULL))
		return 77;
	if (!starpu_opencl_worker_get_count()) {
		starpu_shutdown();
		return 77;
	}
	source_read();
	cmocka_set_test_filter(argv[1]);
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	heddle_kernels_unload();
	starpu_shutdown();
	free(source);
	return failed;
}
