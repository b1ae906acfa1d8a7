/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * An OpenCL layer that makes GPUs of PoCL's devices, for tests/tools/opencl.sh, which puts it below
 * Heddle's. Where home is a GPU, buffers are in its memory, not in the host's. As drivers may do,
 * the device "pthread" begins NDRanges only when their queue is flushed or somebody waits, and the
 * layer is taken down when exit() is called: nobody may compute any more.
 *
 * With TEST_LIMITS the devices say that they can do less than they do: home of a kernel's groups
 * and of buffers, the other one of all groups.
 */
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <CL/cl_icd.h>
#include <CL/cl_layer.h>

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { QUEUES = 256, WAITS = 64, LIMIT_ITEMS = 16, LIMIT_BYTES = 1 << 16 };

static const cl_icd_dispatch *real;
static cl_icd_dispatch shown;

/* What the NDRanges of a queue wait for. */
static struct {
	cl_command_queue queue;
	cl_event flushed;
} held[QUEUES];
static unsigned nheld;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static cl_int give(const void *value, size_t bytes, size_t room, void *to, size_t *needed)
{
	if (to && room < bytes)
		return CL_INVALID_VALUE;
	if (to)
		memcpy(to, value, bytes);
	if (needed)
		*needed = bytes;
	return CL_SUCCESS;
}

static bool is_pthread(cl_device_id device)
{
	char name[256] = "";

	real->clGetDeviceInfo(device, CL_DEVICE_NAME, sizeof(name), name, NULL);
	return strstr(name, "pthread");
}

static cl_int CL_API_CALL device_info(cl_device_id id, cl_device_info name, size_t room, void *to,
                                      size_t *needed)
{
	const cl_device_type gpu = CL_DEVICE_TYPE_GPU;
	const cl_ulong most = LIMIT_BYTES;
	const size_t sizes[3] = {LIMIT_ITEMS, LIMIT_ITEMS, LIMIT_ITEMS};
	bool limited = getenv("TEST_LIMITS"), home = is_pthread(id);

	if (name == CL_DEVICE_TYPE)
		return give(&gpu, sizeof(gpu), room, to, needed);
	if (limited && home && name == CL_DEVICE_MAX_MEM_ALLOC_SIZE)
		return give(&most, sizeof(most), room, to, needed);
	if (limited && !home && name == CL_DEVICE_MAX_WORK_GROUP_SIZE)
		return give(sizes, sizeof(*sizes), room, to, needed);
	if (limited && !home && name == CL_DEVICE_MAX_WORK_ITEM_SIZES)
		return give(sizes, sizeof(sizes), room, to, needed);
	return real->clGetDeviceInfo(id, name, room, to, needed);
}

static cl_int CL_API_CALL group_info(cl_kernel kernel, cl_device_id id,
                                     cl_kernel_work_group_info name, size_t room, void *to,
                                     size_t *needed)
{
	const size_t most = LIMIT_ITEMS;

	if (getenv("TEST_LIMITS") && name == CL_KERNEL_WORK_GROUP_SIZE)
		return give(&most, sizeof(most), room, to, needed);
	return real->clGetKernelWorkGroupInfo(kernel, id, name, room, to, needed);
}

static cl_int CL_API_CALL devices(cl_platform_id of, cl_device_type type, cl_uint room,
                                  cl_device_id *ids, cl_uint *n)
{
	if (!(type & (CL_DEVICE_TYPE_GPU | CL_DEVICE_TYPE_DEFAULT)))
		return CL_DEVICE_NOT_FOUND;
	return real->clGetDeviceIDs(of, CL_DEVICE_TYPE_ALL, room, ids, n);
}

/* Whether NDRanges of a queue are held back: those of "basic" would block PoCL 3.1. */
static bool holds(cl_command_queue queue)
{
	cl_device_id device = NULL;

	real->clGetCommandQueueInfo(queue, CL_QUEUE_DEVICE, sizeof(device), &device, NULL);
	return is_pthread(device);
}

/* The event that a queue waits for; NULL: none. The mutex is held. */
static cl_event held_find(cl_command_queue queue)
{
	cl_context context;

	for (unsigned h = 0; h < nheld; h++)
		if (held[h].queue == queue)
			return held[h].flushed;
	if (nheld == QUEUES || !holds(queue))
		return NULL;
	real->clGetCommandQueueInfo(queue, CL_QUEUE_CONTEXT, sizeof(context), &context, NULL);
	held[nheld].queue = queue;
	held[nheld].flushed = real->clCreateUserEvent(context, NULL);
	return held[nheld++].flushed;
}

static void let_go(cl_command_queue queue)
{
	cl_event flushed = NULL;

	pthread_mutex_lock(&mutex);
	for (unsigned h = 0; h < nheld && !flushed; h++)
		if (held[h].queue == queue) {
			flushed = held[h].flushed;
			held[h] = held[--nheld];
		}
	pthread_mutex_unlock(&mutex);
	if (!flushed)
		return;
	real->clSetUserEventStatus(flushed, CL_COMPLETE);
	real->clReleaseEvent(flushed);
}

/* ---- the end ---- */

static atomic_bool down;
static atomic_uint nranges, nevents; /* NDRanges, and events of them and of markers */
static atomic_uint ntimed;           /* NDRanges in a queue that tells times */
static atomic_uint npinned;          /* buffers in memory that the driver pins */

/* With TEST_SLOW_END it takes long enough for whoever is about to do something. */
static void take_down(void)
{
	down = true;
	printf("%u NDRanges, %u events\n%u timed\n%u pinned buffers\n", nranges, nevents, ntimed,
	       npinned);
	if (getenv("TEST_SLOW_END"))
		sleep(5);
}

/* Nobody computes any more. */
static void up_check(const char *what)
{
	if (!down)
		return;
	printf("FAIL: %s after exit()\n", what);
	fflush(stdout);
	_exit(1);
}

/* Registered after what Heddle has registered, so it is called before. */
static cl_int CL_API_CALL build(cl_program program, cl_uint n, const cl_device_id *list,
                                const char *options, void(CL_CALLBACK *notify)(cl_program, void *),
                                void *data)
{
	static atomic_flag registered = ATOMIC_FLAG_INIT;

	up_check("a program is built");
	if (!atomic_flag_test_and_set(&registered))
		atexit(take_down);
	return real->clBuildProgram(program, n, list, options, notify, data);
}

static cl_context CL_API_CALL context_make(const cl_context_properties *properties, cl_uint n,
                                           const cl_device_id *list,
                                           void(CL_CALLBACK *notify)(const char *, const void *,
                                                                     size_t, void *),
                                           void *data, cl_int *error)
{
	up_check("a context is made");
	return real->clCreateContext(properties, n, list, notify, data, error);
}

static cl_mem CL_API_CALL buffer_make(cl_context context, cl_mem_flags flags, size_t bytes,
                                      void *host, cl_int *error)
{
	npinned += !!(flags & CL_MEM_ALLOC_HOST_PTR);
	return real->clCreateBuffer(context, flags, bytes, host, error);
}

/* ---- commands ---- */

static cl_int CL_API_CALL range(cl_command_queue queue, cl_kernel kernel, cl_uint dimensions,
                                const size_t *offset, const size_t *global, const size_t *local,
                                cl_uint nwaits, const cl_event *waits, cl_event *event)
{
	cl_event list[WAITS + 1], flushed;
	cl_command_queue_properties properties = 0;
	cl_int error;

	up_check("an NDRange is enqueued");
	real->clGetCommandQueueInfo(queue, CL_QUEUE_PROPERTIES, sizeof(properties), &properties,
	                            NULL);
	nranges++;
	nevents += !!event;
	ntimed += !!(properties & CL_QUEUE_PROFILING_ENABLE);
	if (nwaits > WAITS)
		return CL_OUT_OF_RESOURCES;
	pthread_mutex_lock(&mutex);
	if (nwaits)
		memcpy(list, waits, nwaits * sizeof(*waits));
	flushed = held_find(queue);
	if (flushed)
		list[nwaits++] = flushed;
	error = real->clEnqueueNDRangeKernel(queue, kernel, dimensions, offset, global, local,
	                                     nwaits, nwaits ? list : NULL, event);
	pthread_mutex_unlock(&mutex);
	return error;
}

static cl_int CL_API_CALL marker(cl_command_queue queue, cl_uint nwaits, const cl_event *waits,
                                 cl_event *event)
{
	nevents += !!event;
	return real->clEnqueueMarkerWithWaitList(queue, nwaits, waits, event);
}

static cl_int CL_API_CALL flush(cl_command_queue queue)
{
	let_go(queue);
	return real->clFlush(queue);
}

static cl_int CL_API_CALL finish(cl_command_queue queue)
{
	let_go(queue);
	return real->clFinish(queue);
}

static cl_int CL_API_CALL release(cl_command_queue queue)
{
	let_go(queue);
	return real->clReleaseCommandQueue(queue);
}

static cl_int CL_API_CALL wait_for(cl_uint n, const cl_event *events)
{
	for (cl_uint e = 0; e < n; e++) {
		cl_command_queue queue = NULL;

		real->clGetEventInfo(events[e], CL_EVENT_COMMAND_QUEUE, sizeof(queue), &queue,
		                     NULL);
		let_go(queue);
	}
	return real->clWaitForEvents(n, events);
}

static cl_int CL_API_CALL read_buffer(cl_command_queue queue, cl_mem memory, cl_bool blocking,
                                      size_t offset, size_t bytes, void *to, cl_uint nwaits,
                                      const cl_event *waits, cl_event *event)
{
	if (blocking)
		let_go(queue);
	return real->clEnqueueReadBuffer(queue, memory, blocking, offset, bytes, to, nwaits, waits,
	                                 event);
}

static cl_int CL_API_CALL read_rectangle(cl_command_queue queue, cl_mem memory, cl_bool blocking,
                                         const size_t *from, const size_t *to_origin,
                                         const size_t *region, size_t row, size_t slice,
                                         size_t to_row, size_t to_slice, void *to, cl_uint nwaits,
                                         const cl_event *waits, cl_event *event)
{
	if (blocking)
		let_go(queue);
	return real->clEnqueueReadBufferRect(queue, memory, blocking, from, to_origin, region, row,
	                                     slice, to_row, to_slice, to, nwaits, waits, event);
}

static cl_int CL_API_CALL read_image(cl_command_queue queue, cl_mem image, cl_bool blocking,
                                     const size_t *from, const size_t *region, size_t row,
                                     size_t slice, void *to, cl_uint nwaits, const cl_event *waits,
                                     cl_event *event)
{
	if (blocking)
		let_go(queue);
	return real->clEnqueueReadImage(queue, image, blocking, from, region, row, slice, to,
	                                nwaits, waits, event);
}

static void *CL_API_CALL map_buffer(cl_command_queue queue, cl_mem memory, cl_bool blocking,
                                    cl_map_flags flags, size_t offset, size_t bytes, cl_uint nwaits,
                                    const cl_event *waits, cl_event *event, cl_int *error)
{
	if (blocking)
		let_go(queue);
	return real->clEnqueueMapBuffer(queue, memory, blocking, flags, offset, bytes, nwaits,
	                                waits, event, error);
}

cl_int CL_API_CALL clGetLayerInfo(cl_layer_info name, size_t room, void *value, size_t *needed)
{
	static const cl_layer_api_version version = CL_LAYER_API_VERSION_100;

	return name == CL_LAYER_API_VERSION ? give(&version, sizeof(version), room, value, needed)
	                                    : give("GPUs", 5, room, value, needed);
}

cl_int CL_API_CALL clInitLayer(cl_uint n, const cl_icd_dispatch *target, cl_uint *provided,
                               const cl_icd_dispatch **dispatch)
{
	const size_t bytes = n * sizeof(void *);

	real = target;
	memcpy(&shown, target, bytes < sizeof(shown) ? bytes : sizeof(shown));
	shown.clGetDeviceInfo = device_info;
	shown.clGetDeviceIDs = devices;
	shown.clGetKernelWorkGroupInfo = group_info;
	shown.clCreateContext = context_make;
	shown.clBuildProgram = build;
	shown.clCreateBuffer = buffer_make;
	shown.clEnqueueNDRangeKernel = range;
	shown.clEnqueueMarkerWithWaitList = marker;
	shown.clFlush = flush;
	shown.clFinish = finish;
	shown.clReleaseCommandQueue = release;
	shown.clWaitForEvents = wait_for;
	shown.clEnqueueReadBuffer = read_buffer;
	shown.clEnqueueReadBufferRect = read_rectangle;
	shown.clEnqueueReadImage = read_image;
	shown.clEnqueueMapBuffer = map_buffer;
	*provided = sizeof(shown) / sizeof(void *);
	*dispatch = &shown;
	return CL_SUCCESS;
}
