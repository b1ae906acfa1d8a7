/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Random OpenCL commands, for tests/tools/opencl.sh: several threads, each with queues in and out
 * of order, buffers, parts of buffers, maps, user's events that end late, and objects that are
 * released while commands use them. Commands on one buffer wait for each other, so the host can
 * compute what each has to give. HEDDLE_TEST_SEED repeats a run, HEDDLE_TEST_ROUNDS (20) is the
 * number of sequences of each thread.
 */
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum {
	THREADS = 3,
	COMMANDS = 50,
	N = 1 << 12, /* elements of a buffer, a power of two */
	GROUP = 64,
	WIDTH = 64,
	BUFFERS = 4,
	QUEUES = 3,
	PENDING = 4,
	KEPT = 4 * COMMANDS,
};

typedef unsigned array[N];

static const char source[] =
    "#pragma OPENCL EXTENSION cl_khr_global_int32_base_atomics : enable\n"
    "kernel void scale(global uint *a, global uint *b, uint v) { a[get_global_id(0)] *= v; }\n"
    "kernel void add(global uint *a, global uint *b, uint v)\n"
    "{ int i = get_global_id(0); a[i] = a[i] + b[i] * v; }\n"
    "kernel void stencil(global uint *a, global uint *b, uint v)\n"
    "{ int i = get_global_id(0), n = get_global_size(0);\n"
    "  a[i] = b[i] + v * (i ? b[i - 1] : 0) + (i < n - 1 ? b[i + 1] : 0); }\n"
    "kernel void count(global uint *a, global uint *b, uint v)\n"
    "{ atomic_add(a + v % 16, b[get_global_id(0)]); }\n"
    "kernel void scatter(global uint *a, global uint *b, uint v)\n"
    "{ uint i = get_global_id(0); a[(i * 5 + v) % get_global_size(0)] = b[i]; }\n"
    "kernel void some(global uint *a, global uint *b, uint v)\n"
    "{ int i = get_global_id(0); if (b[i] & 1) a[i] = b[i] * v; }\n"
    "kernel void turn(global uint *a, global uint *b, uint v)\n"
    "{ int x = get_global_id(0), y = get_global_id(1);\n"
    "  a[x * get_global_size(1) + y] = b[y * get_global_size(0) + x] + v; }\n"
    "kernel void sums(global uint *a, global uint *b, uint v)\n"
    "{ local uint room[64]; int l = get_local_id(0); room[l] = b[get_global_id(0)];\n"
    "  barrier(CLK_LOCAL_MEM_FENCE);\n"
    "  for (int k = 32; k; k /= 2) { if (l < k) room[l] += room[l + k];\n"
    "    barrier(CLK_LOCAL_MEM_FENCE); }\n"
    "  if (!l) a[get_group_id(0)] = room[0] * v; }\n"
    /* Where they access memory is in b. */
    "#define IDS uint i = get_global_id(0), g = get_group_id(0), l = get_local_id(0), \\\n"
    "                 n = get_global_size(0);\n"
    "kernel void batch(global uint *a, global uint *b, uint v)\n"
    "{ uint x = get_global_id(0), y = get_global_id(1);\n"
    "  uint n = get_global_size(0) * get_global_size(1), width = b[y], at = b[n - 1 - y];\n"
    "  if (x < width && at <= n - 64) a[at + x] = v + at + x; }\n"
    "kernel void gather(global uint *a, global uint *b, uint v)\n"
    "{ IDS uint at = b[g]; a[i] = at < n - 64 ? b[at + l] * v : 7; }\n"
    "kernel void places(global uint *a, global uint *b, uint v)\n"
    "{ IDS uint at = b[g]; if (at < n - 63) a[at + l] = v + at + l; }\n"
    "kernel void lists(global uint *a, global uint *b, uint v)\n"
    "{ IDS for (uint k = b[g] + l; k < b[g + 1] && k < n; k += 64) a[k] = v * k; }\n"
    "kernel void nested(global uint *a, global uint *b, uint v)\n"
    "{ IDS uint at = b[g]; at = at < n ? b[at] : n; if (at < n) a[at] = v * at; }\n"
    "kernel void shorts(global uint *a, global uint *b, uint v)\n"
    "{ IDS short most = ((global short *)b)[g]; if ((int)l < most) a[i] = v * i; }\n";

enum {
	SCALE,
	ADD,
	STENCIL,
	COUNT,
	SCATTER,
	SOME,
	TURN,
	SUMS,
	BATCH,
	GATHER,
	PLACES,
	LISTS,
	NESTED,
	SHORTS,
	NKERNELS
};
static const char *const names[] = {"scale",  "add",   "stencil", "count", "scatter",
                                    "some",   "turn",  "sums",    "batch", "gather",
                                    "places", "lists", "nested",  "shorts"};

static cl_device_id device;
static int failures;
static long rounds = 20;
static unsigned first_seed;

#define CHECK(what)                                                                                \
	do {                                                                                       \
		if (!(what)) {                                                                     \
			printf("FAIL: seed %u, line %d: %s\n", first_seed, __LINE__, #what);       \
			__atomic_add_fetch(&failures, 1, __ATOMIC_RELAXED);                        \
		}                                                                                  \
	} while (0)
#define OK(call) CHECK((call) == CL_SUCCESS)

struct memory {
	cl_mem whole, part; /* the second half */
	array model, host;
	cl_event last; /* of the commands on it; NULL: none */
	int queue;     /* that got it */
};

/* Host memory that a command reads or writes until all have ended. */
struct kept {
	array got, wanted;
	size_t n; /* 0: nothing to compare */
	const char *what;
};

/* A thread's own. Threads share contexts and programs. */
struct run {
	unsigned seed;
	cl_context context;
	cl_program program;
	cl_kernel kernels[NKERNELS];
	cl_command_queue queues[QUEUES]; /* the first is in order */
	struct memory memories[BUFFERS];
	struct kept *kept;
	unsigned nkept;
	cl_event pending[PENDING]; /* the user's */
	unsigned npending;
};

static unsigned draw(struct run *run, unsigned below)
{
	return rand_r(&run->seed) / 7 % below;
}

/* What a buffer is given: any numbers, or such as say where to access another one. */
static void numbers_make(struct run *run, unsigned *x)
{
	unsigned kind = draw(run, 6), factor = 1 + draw(run, 200);

	for (size_t i = 0; i < N; i++)
		x[i] = kind == 0       ? (unsigned)rand_r(&run->seed)
		       : kind == 1     ? draw(run, N)
		       : kind == 2     ? draw(run, 80)
		       : kind == 3     ? i * factor
		       : kind == 4     ? draw(run, N / GROUP) * GROUP
		       : draw(run, 10) ? draw(run, 2000)
		                       : -draw(run, 70);
}

/* ---- events ---- */

static void pending_end(struct run *run)
{
	for (; run->npending; run->npending--) {
		OK(clSetUserEventStatus(run->pending[run->npending - 1], CL_COMPLETE));
		clReleaseEvent(run->pending[run->npending - 1]);
	}
}

struct waits {
	cl_event list[BUFFERS + 1];
	cl_uint n;
};

/* What a command on one or two buffers waits for. */
static struct waits waits_of(struct run *run, int queue, struct memory *a, struct memory *b)
{
	struct waits waits = {.n = 0};
	struct memory *both[] = {a, b};
	bool implied = true;

	for (int m = 0; m < 2; m++)
		if (both[m] && both[m]->last && both[m]->queue != queue)
			implied = false;
	implied = implied && draw(run, 2);
	if (implied && queue)
		OK(clEnqueueBarrierWithWaitList(run->queues[queue], 0, NULL, NULL));
	for (int m = 0; m < 2 && !implied; m++)
		if (both[m] && both[m]->last)
			waits.list[waits.n++] = both[m]->last;
	if (run->npending < PENDING && !draw(run, 8)) {
		cl_int error;
		cl_event go = clCreateUserEvent(run->context, &error);

		CHECK(!error);
		run->pending[run->npending++] = waits.list[waits.n++] = go;
	} else if (!draw(run, 4)) {
		pending_end(run);
	}
	return waits;
}

#define WAITS(waits) (waits).n, (waits).n ? (waits).list : NULL

/* A command works on a buffer from now on. */
static void used(struct memory *memory, int queue, cl_event event)
{
	OK(clRetainEvent(event));
	if (memory->last)
		OK(clReleaseEvent(memory->last));
	memory->last = event;
	memory->queue = queue;
}

static struct kept *keep(struct run *run, const char *what)
{
	struct kept *kept = &run->kept[run->nkept++];

	kept->n = 0;
	kept->what = what;
	return kept;
}

static void everything_ends(struct run *run)
{
	pending_end(run);
	for (int q = 0; q < QUEUES; q++)
		OK(clFinish(run->queues[q]));
	for (unsigned k = 0; k < run->nkept; k++)
		for (size_t i = 0; i < run->kept[k].n; i++)
			if (run->kept[k].got[i] != run->kept[k].wanted[i]) {
				printf("FAIL: seed %u: %s at %zu: %u, not %u\n", first_seed,
				       run->kept[k].what, i, run->kept[k].got[i],
				       run->kept[k].wanted[i]);
				__atomic_add_fetch(&failures, 1, __ATOMIC_RELAXED);
				break;
			}
	run->nkept = 0;
}

/* ---- commands ---- */

/* A range of a buffer, and whether it is asked of the part. */
static cl_mem range_draw(struct run *run, struct memory *memory, size_t *from, size_t *n,
                         size_t *at)
{
	bool part = !draw(run, 3);

	*n = 1 + draw(run, N / 2);
	*from = (part ? N / 2 : 0) + draw(run, (part ? N / 2 : N) - *n + 1);
	*at = *from - (part ? N / 2 : 0);
	return part ? memory->part : memory->whole;
}

static cl_event read_some(struct run *run, int q, struct memory *m, bool box)
{
	struct kept *kept = keep(run, box ? "a box is read" : "a range is read");
	cl_command_queue queue = run->queues[q];
	size_t from, n, at;
	cl_event event = NULL;
	struct waits waits;

	if (box) {
		size_t x = draw(run, WIDTH / 2), y = draw(run, N / WIDTH / 2);
		const size_t there[] = {x * 4, y, 0}, here[3] = {0};
		const size_t size[] = {(1 + draw(run, WIDTH / 2)) * 4, 1 + draw(run, N / WIDTH / 2),
		                       1};

		waits = waits_of(run, q, m, NULL);
		OK(clEnqueueReadBufferRect(queue, m->whole, CL_FALSE, there, here, size, WIDTH * 4,
		                           0, size[0], 0, kept->got, WAITS(waits), &event));
		for (size_t v = 0; v < size[1]; v++)
			memcpy(&kept->wanted[v * size[0] / 4], &m->model[(y + v) * WIDTH + x],
			       size[0]);
		kept->n = size[1] * size[0] / 4;
		return event;
	}
	cl_mem mem = range_draw(run, m, &from, &n, &at);
	waits = waits_of(run, q, m, NULL);
	OK(clEnqueueReadBuffer(queue, mem, CL_FALSE, at * 4, n * 4, kept->got, WAITS(waits),
	                       &event));
	memcpy(kept->wanted, &m->model[from], n * 4);
	kept->n = n;
	return event;
}

static cl_event write_some(struct run *run, int q, struct memory *m, bool box)
{
	struct kept *kept = keep(run, "");
	cl_command_queue queue = run->queues[q];
	struct waits waits;
	size_t from, n, at;
	cl_event event = NULL;

	numbers_make(run, kept->got);
	if (box) {
		size_t x = draw(run, WIDTH / 2), y = draw(run, N / WIDTH / 2);
		const size_t there[] = {x * 4, y, 0}, here[] = {4, 1, 0};
		const size_t size[] = {(1 + draw(run, WIDTH / 2)) * 4, 1 + draw(run, N / WIDTH / 2),
		                       1};

		waits = waits_of(run, q, m, NULL);
		OK(clEnqueueWriteBufferRect(queue, m->whole, CL_FALSE, there, here, size, WIDTH * 4,
		                            0, size[0] + 4, 0, kept->got, WAITS(waits), &event));
		for (size_t v = 0; v < size[1]; v++)
			memcpy(&m->model[(y + v) * WIDTH + x],
			       &kept->got[(v + 1) * (size[0] / 4 + 1) + 1], size[0]);
		return event;
	}
	cl_mem mem = range_draw(run, m, &from, &n, &at);
	waits = waits_of(run, q, m, NULL);
	OK(clEnqueueWriteBuffer(queue, mem, CL_FALSE, at * 4, n * 4, kept->got, WAITS(waits),
	                        &event));
	memcpy(&m->model[from], kept->got, n * 4);
	return event;
}

static cl_event fill_some(struct run *run, int q, struct memory *m)
{
	const unsigned pattern[] = {draw(run, 1000), draw(run, 1000)};
	size_t from = draw(run, N / 4) * 2, n = 2 + draw(run, N / 4) * 2;
	struct waits waits = waits_of(run, q, m, NULL);
	cl_event event = NULL;

	OK(clEnqueueFillBuffer(run->queues[q], m->whole, pattern, sizeof(pattern), from * 4, n * 4,
	                       WAITS(waits), &event));
	for (size_t i = 0; i < n; i++)
		m->model[from + i] = pattern[i % 2];
	return event;
}

static cl_event copy_some(struct run *run, int q, struct memory *to, struct memory *m)
{
	size_t from, n, at, there = draw(run, N / 2);
	cl_mem mem = range_draw(run, m, &from, &n, &at);
	struct waits waits = waits_of(run, q, m, to);
	cl_event event = NULL;

	OK(clEnqueueCopyBuffer(run->queues[q], mem, to->whole, at * 4, there * 4, n * 4,
	                       WAITS(waits), &event));
	memmove(&to->model[there], &m->model[from], n * 4);
	return event;
}

static cl_event copy_box(struct run *run, int q, struct memory *to, struct memory *m)
{
	const size_t from[] = {draw(run, WIDTH / 2) * 4, draw(run, N / WIDTH / 2), 0};
	const size_t there[] = {draw(run, WIDTH / 2) * 4, draw(run, N / WIDTH / 2), 0};
	const size_t size[] = {(1 + draw(run, WIDTH / 2)) * 4, 1 + draw(run, N / WIDTH / 2), 1};
	struct waits waits = waits_of(run, q, m, to);
	cl_event event = NULL;

	OK(clEnqueueCopyBufferRect(run->queues[q], m->whole, to->whole, from, there, size,
	                           WIDTH * 4, 0, WIDTH * 4, 0, WAITS(waits), &event));
	for (size_t v = 0; v < size[1]; v++)
		memcpy(&to->model[(there[1] + v) * WIDTH + there[0] / 4],
		       &m->model[(from[1] + v) * WIDTH + from[0] / 4], size[0]);
	return event;
}

static unsigned *map(struct run *run, int q, cl_mem mem, cl_map_flags flags, size_t at, size_t n,
                     struct waits *waits, cl_event *event)
{
	cl_int error;
	unsigned *pointer = clEnqueueMapBuffer(run->queues[q], mem, CL_FALSE, flags, at * 4, n * 4,
	                                       WAITS(*waits), event, &error);

	CHECK(!error && pointer);
	return pointer;
}

/* Two maps, to be read at places that may overlap, or one of them to be written. The order in
 * which they are undone is free. */
static cl_event map_some(struct run *run, int q, struct memory *m)
{
	static const cl_map_flags kinds[] = {CL_MAP_READ, CL_MAP_READ, CL_MAP_READ | CL_MAP_WRITE,
	                                     CL_MAP_WRITE, CL_MAP_WRITE_INVALIDATE_REGION};
	cl_map_flags flags = kinds[draw(run, 5)];
	bool writes = flags != CL_MAP_READ, order = draw(run, 2), part = writes && draw(run, 2);
	size_t half = writes ? N / 2 : 0, n[2] = {1 + draw(run, N / 2), 1 + draw(run, N / 2)};
	size_t at[2] = {draw(run, N / 2 - n[0] + 1), half + draw(run, N / 2 - n[1] + 1)};
	struct waits waits = waits_of(run, q, m, NULL);
	cl_event events[2] = {NULL};
	unsigned *pointers[2];

	pointers[0] = map(run, q, m->whole, CL_MAP_READ, at[0], n[0], &waits, &events[0]);
	pointers[1] = map(run, q, part ? m->part : m->whole, flags, at[1] - (part ? half : 0), n[1],
	                  &waits, &events[1]);
	pending_end(run);
	OK(clWaitForEvents(2, events));
	CHECK(!memcmp(pointers[0], &m->model[at[0]], n[0] * 4));
	if (flags & CL_MAP_READ)
		CHECK(!memcmp(pointers[1], &m->model[at[1]], n[1] * 4));
	for (size_t i = 0; writes && i < n[1]; i++)
		if (flags != CL_MAP_WRITE || i % 3)
			m->model[at[1] + i] = pointers[1][i] = draw(run, 1 << 20);
	for (int e = 0; e < 2; e++) {
		clReleaseEvent(events[e]);
		OK(clEnqueueUnmapMemObject(run->queues[q], e == order && part ? m->part : m->whole,
		                           pointers[e == order], 0, NULL, &events[e]));
	}
	/* Both have to end before what comes next. */
	OK(clWaitForEvents(1, &events[0]));
	clReleaseEvent(events[0]);
	return events[1];
}

/* One item of the kernels that load where they access memory. */
static void model_loaded(int k, unsigned *out, const unsigned *b, unsigned v, size_t n, size_t i)
{
	unsigned at = b[i / GROUP], item = i % GROUP;

	switch (k) {
	case BATCH:
		at = b[n - 1 - i / WIDTH];
		if (i % WIDTH < b[i / WIDTH] && at <= n - WIDTH)
			out[at + i % WIDTH] = v + at + i % WIDTH;
		break;
	case GATHER:
		out[i] = at < n - GROUP ? b[at + item] * v : 7;
		break;
	case PLACES:
		if (at < n - GROUP + 1)
			out[at + item] = v + at + item;
		break;
	case LISTS:
		for (unsigned j = at + item; j < b[i / GROUP + 1] && j < n; j += GROUP)
			out[j] = v * j;
		break;
	case NESTED:
		at = at < n ? b[at] : n;
		if (at < n)
			out[at] = v * at;
		break;
	case SHORTS:
		if ((int)item < ((const short *)b)[i / GROUP])
			out[i] = v * i;
		break;
	}
}

static void model(int k, unsigned *a, const unsigned *b, unsigned v, size_t n, size_t offset)
{
	array out;

	memcpy(out, a, n * 4);
	for (size_t i = offset; i < n; i++)
		switch (k) {
		case SCALE:
			out[i] *= v;
			break;
		case ADD:
			out[i] = a[i] + b[i] * v;
			break;
		case STENCIL:
			out[i] = b[i] + v * (i ? b[i - 1] : 0) + (i < n - 1 ? b[i + 1] : 0);
			break;
		case COUNT:
			out[v % 16] += b[i];
			break;
		case SCATTER:
			out[(i * 5 + v) % n] = b[i];
			break;
		case SOME:
			if (b[i] & 1)
				out[i] = b[i] * v;
			break;
		case TURN:
			out[i % WIDTH * (n / WIDTH) + i / WIDTH] = b[i] + v;
			break;
		case SUMS:
			out[i / GROUP] = (i % GROUP ? out[i / GROUP] : 0) + b[i] * v;
			break;
		default:
			model_loaded(k, out, b, v, n, i);
		}
	memcpy(a, out, n * 4);
}

/* Whether a kernel may have one buffer as both arguments. */
static bool in_place(int k)
{
	return k == SCALE || k == ADD || k == SOME;
}

static cl_event launch_some(struct run *run, int q, struct memory *a, struct memory *b)
{
	int k = draw(run, NKERNELS);
	cl_uint v = draw(run, 100);
	bool part = !draw(run, 4);
	size_t n = part ? N / 2 : N, first = part ? N / 2 : 0;
	size_t offset = in_place(k) && !draw(run, 4) ? GROUP : 0;
	bool plane = k == TURN || k == BATCH;
	size_t global[] = {plane ? WIDTH : n - offset, n / WIDTH};
	const size_t local[] = {plane ? 8 : GROUP, 8};
	cl_kernel kernel = run->kernels[k];
	struct waits waits;
	cl_event event = NULL;

	if (k == SCALE)
		b = a;
	else if (in_place(k) && !draw(run, 3))
		b = a;
	else if (a == b)
		return NULL;
	waits = waits_of(run, q, a, a == b ? NULL : b);
	OK(clSetKernelArg(kernel, 0, sizeof(cl_mem), part ? &a->part : &a->whole));
	OK(clSetKernelArg(kernel, 1, sizeof(cl_mem), part ? &b->part : &b->whole));
	OK(clSetKernelArg(kernel, 2, sizeof(v), &v));
	OK(clEnqueueNDRangeKernel(run->queues[q], kernel, plane ? 2 : 1, offset ? &offset : NULL,
	                          global, k >= SUMS || draw(run, 2) ? local : NULL, WAITS(waits),
	                          &event));
	model(k, a->model + first, b->model + first, v, n, offset);
	used(b, q, event);
	return event;
}

/* A command that does nothing, after a buffer's others. */
static cl_event mark_some(struct run *run, int q, struct memory *m)
{
	struct waits waits = waits_of(run, q, m, NULL);
	cl_event event = NULL;

	if (draw(run, 2))
		OK(clEnqueueMigrateMemObjects(run->queues[q], 1, &m->whole,
		                              draw(run, 2) * CL_MIGRATE_MEM_OBJECT_HOST,
		                              WAITS(waits), &event));
	else if (draw(run, 2))
		OK(clEnqueueMarkerWithWaitList(run->queues[q], WAITS(waits), &event));
	else
		OK(clEnqueueBarrierWithWaitList(run->queues[q], WAITS(waits), &event));
	return event;
}

/* ---- objects ---- */

static void memory_make(struct run *run, struct memory *m)
{
	static const cl_mem_flags kinds[] = {CL_MEM_COPY_HOST_PTR, CL_MEM_USE_HOST_PTR,
	                                     CL_MEM_COPY_HOST_PTR | CL_MEM_ALLOC_HOST_PTR};
	const cl_buffer_region half = {N / 2 * 4, N / 2 * 4};
	cl_int error;

	numbers_make(run, m->host);
	memcpy(m->model, m->host, sizeof(m->model));
	m->whole =
	    clCreateBuffer(run->context, kinds[draw(run, 3)], sizeof(m->host), m->host, &error);
	CHECK(!error);
	m->part = clCreateSubBuffer(m->whole, 0, CL_BUFFER_CREATE_TYPE_REGION, &half, &error);
	CHECK(!error);
	m->last = NULL;
}

/* Commands may still use it. */
static void memory_drop(struct memory *m)
{
	OK(clReleaseMemObject(m->whole));
	OK(clReleaseMemObject(m->part));
	if (m->last)
		OK(clReleaseEvent(m->last));
}

static void begin(struct run *run)
{
	cl_int error;

	for (int k = 0; k < NKERNELS; k++) {
		run->kernels[k] = clCreateKernel(run->program, names[k], &error);
		CHECK(!error);
	}
	for (int q = 0; q < QUEUES; q++) {
		run->queues[q] = clCreateCommandQueue(
		    run->context, device, q ? CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE : 0, &error);
		CHECK(!error);
	}
	for (int m = 0; m < BUFFERS; m++)
		memory_make(run, &run->memories[m]);
}

static void end(struct run *run)
{
	for (int q = 0; q < QUEUES; q++)
		OK(clFlush(run->queues[q]));
	for (int k = 0; k < NKERNELS; k++)
		OK(clReleaseKernel(run->kernels[k]));
	everything_ends(run);
	for (int m = 0; m < BUFFERS; m++)
		memory_drop(&run->memories[m]);
	for (int q = 0; q < QUEUES; q++)
		OK(clReleaseCommandQueue(run->queues[q]));
}

static void command(struct run *run)
{
	struct memory *m = &run->memories[draw(run, BUFFERS)];
	struct memory *other = &run->memories[draw(run, BUFFERS)];
	int q = draw(run, QUEUES);
	cl_event event = NULL;

	switch (draw(run, 12)) {
	case 0:
		event = read_some(run, q, m, draw(run, 2));
		break;
	case 1:
		event = write_some(run, q, m, draw(run, 2));
		break;
	case 2:
		event = fill_some(run, q, m);
		break;
	case 3:
		if (m != other)
			event =
			    draw(run, 2) ? copy_some(run, q, m, other) : copy_box(run, q, m, other);
		if (event)
			used(other, q, event);
		break;
	case 4:
		event = map_some(run, q, m);
		break;
	case 5:
		event = mark_some(run, q, m);
		break;
	case 6:
		if (!draw(run, 4)) {
			everything_ends(run);
			memory_drop(m);
			memory_make(run, m);
		}
		break;
	default:
		event = launch_some(run, q, m, other);
	}
	if (!event)
		return;
	used(m, q, event);
	clReleaseEvent(event);
}

static void *sequences(void *of)
{
	struct run *run = of;

	run->kept = malloc(KEPT * sizeof(*run->kept));
	for (long round = 0; round < rounds && !failures; round++) {
		begin(run);
		for (int c = 0; c < COMMANDS; c++)
			command(run);
		for (int m = 0; m < BUFFERS; m++) {
			struct memory *memory = &run->memories[m];
			cl_event event = read_some(run, 0, memory, false);

			used(memory, 0, event);
			clReleaseEvent(event);
		}
		end(run);
	}
	free(run->kept);
	return NULL;
}

int main(void)
{
	const char *seed = getenv("HEDDLE_TEST_SEED"), *many = getenv("HEDDLE_TEST_ROUNDS");
	const char *text = source;
	struct run *runs = calloc(THREADS, sizeof(*runs));
	pthread_t threads[THREADS];
	cl_platform_id platform;
	cl_context contexts[2];
	cl_program programs[2];
	cl_int error;

	if (clGetPlatformIDs(1, &platform, NULL) ||
	    clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL))
		return 77;
	first_seed = seed ? strtoul(seed, NULL, 10) : (unsigned)time(NULL) ^ getpid();
	rounds = many ? strtol(many, NULL, 10) : rounds;
	if (rounds < 1) {
		fprintf(stderr, "HEDDLE_TEST_ROUNDS=%s: not a whole number from 1 on\n", many);
		return 99;
	}
	for (int c = 0; c < 2; c++) {
		contexts[c] = clCreateContext(NULL, 1, &device, NULL, NULL, &error);
		CHECK(!error);
		programs[c] = clCreateProgramWithSource(contexts[c], 1, &text, NULL, &error);
		CHECK(!error);
		OK(clBuildProgram(programs[c], 1, &device, "-w", NULL, NULL));
	}
	for (int t = 0; t < THREADS && !failures; t++) {
		runs[t].seed = first_seed + 1000003 * t;
		runs[t].context = contexts[t / 2];
		runs[t].program = programs[t / 2];
		pthread_create(&threads[t], NULL, sequences, &runs[t]);
	}
	for (int t = 0; t < THREADS && runs[t].context; t++)
		pthread_join(threads[t], NULL);
	for (int c = 0; c < 2; c++) {
		clReleaseProgram(programs[c]);
		clReleaseContext(contexts[c]);
	}
	free(runs);
	printf("seed %u\n%s\n", first_seed, failures ? "wrong" : "all right");
	return failures != 0;
}
