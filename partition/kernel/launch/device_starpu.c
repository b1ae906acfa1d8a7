/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * One part on one OpenCL device: it claims the device, chooses a queue, runs the steps from the
 * first transfer to the last one, and measures them.
 */
#include "config.h"

#ifdef HEDDLE_USE_OPENCL

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "partition/kernel/launch/device_starpu.h"
#include "partition/kernel/launch/kept_starpu.h"
#include "support/message.h"
#include "support/variables.h"

/* ---- threads and queues ---- */

static cpu_set_t allowed;
static bool any_allowed;

static void allowed_find(void)
{
	if (!heddle_variable_number(HEDDLE_VARIABLE_KERNEL_BOUND))
		any_allowed =
		    !sched_getaffinity(0, sizeof(allowed), &allowed) && CPU_COUNT(&allowed) > 1;
}

void kernel_threads_allow(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, allowed_find);
}

/* OpenCL implementations make threads, which inherit the binding of the worker that made them.
 * While the worker waits in one and another copies, they share a core, in turns of milliseconds. */
static void thread_free(void)
{
	static __thread bool is_free;

	if (!is_free && any_allowed)
		sched_setaffinity(0, sizeof(allowed), &allowed);
	is_free = true;
}

/* Queues beside StarPU's, by device. Some have events that tell times. Direct launches have their
 * own, so that they and a worker do not wait for each other. */
enum { PROFILED, DIRECT, DIRECT_SECOND, DIRECT_PROFILED, FETCHING, NQUEUES };
static cl_command_queue queues[STARPU_MAXOPENCLDEVS][NQUEUES];
static starpu_pthread_mutex_t queues_mutex = STARPU_PTHREAD_MUTEX_INITIALIZER;
/* Where commands run in the thread that enqueues them (PoCL's device "basic", 3.1), two threads
 * that enqueue to one device at once may wait for each other for ever. */
static starpu_pthread_mutex_t enqueue_mutex[STARPU_MAXOPENCLDEVS] = {
    [0 ... STARPU_MAXOPENCLDEVS - 1] = STARPU_PTHREAD_MUTEX_INITIALIZER};

/* @return NULL after an error */
static cl_command_queue queue_of(int device, int which, cl_int *error)
{
	bool asked = which == PROFILED || which == DIRECT_PROFILED;
	cl_command_queue *queue = &queues[device][which], found;
	cl_context context;
	cl_device_id id;

	*error = CL_SUCCESS;
	starpu_pthread_mutex_lock(&queues_mutex);
	if (!*queue) {
		starpu_opencl_get_context(device, &context);
		starpu_opencl_get_device(device, &id);
		*queue =
		    clCreateCommandQueue(context, id, asked ? CL_QUEUE_PROFILING_ENABLE : 0, error);
	}
	found = *queue;
	starpu_pthread_mutex_unlock(&queues_mutex);
	return found;
}

static int queue_get(struct part *part, int which, cl_command_queue *queue)
{
	cl_int error;

	*queue = queue_of(starpu_worker_get_devid(part->device->worker), which, &error);
	return error ? kernel_refuse(part, "its queue", error) : 0;
}

int kernel_device_fetch(int device, cl_mem from, struct kernel_span piece, void *to)
{
	cl_int error;
	cl_command_queue queue = queue_of(device, FETCHING, &error);

	if (!error) {
		starpu_pthread_mutex_lock(&enqueue_mutex[device]);
		error = clEnqueueReadBuffer(queue, from, CL_TRUE, piece.first,
		                            piece.end - piece.first, to, 0, NULL, NULL);
		starpu_pthread_mutex_unlock(&enqueue_mutex[device]);
	}
	return error ? heddle_refuse(-EIO,
	                             "OpenCL device %d: fetching results of earlier kernels: %s",
	                             device, starpu_opencl_error_string(error))
	             : 0;
}

static int queue_find(struct part *part)
{
	cl_command_queue *queue = &part->device->memory->queue;
	int device = starpu_worker_get_devid(part->device->worker);

	if (part->direct)
		return queue_get(part, part->unprofiled ? DIRECT : DIRECT_PROFILED, queue);
	if (!part->unprofiled)
		return queue_get(part, PROFILED, queue);
	starpu_opencl_get_queue(device, queue);
	return 0;
}

void kernel_queues_free(void)
{
	for (int d = 0; d < STARPU_MAXOPENCLDEVS; d++)
		for (int q = 0; q < NQUEUES; q++) {
			if (queues[d][q])
				clReleaseCommandQueue(queues[d][q]);
			queues[d][q] = NULL;
		}
}

/* ---- memory ---- */

static void memory_free(struct device_memory *memory)
{
	for (unsigned a = 0; a < HEDDLE_KERNEL_MAXARGUMENTS; a++) {
		kernel_buffer_free(memory, a);
		if (memory->arrays[a].buffer)
			clReleaseMemObject(memory->arrays[a].buffer);
	}
	kernel_forms_free(memory);
	kernel_samplers_free(memory);
	free(memory->plan);
	free(memory);
}

void kernel_device_free(struct kernel_device *device)
{
	if (device->memory)
		memory_free(device->memory);
	device->memory = NULL;
}

static int memory_make(struct part *part)
{
	int device = starpu_worker_get_devid(part->device->worker);
	struct device_memory *memory;

	if (part->device->memory)
		return 0;
	memory = calloc(1, sizeof(*memory));
	if (!memory)
		return -ENOMEM;
	memory->node = starpu_worker_get_memory_node(part->device->worker);
	starpu_opencl_get_context(device, &memory->context);
	starpu_opencl_get_device(device, &memory->device);
	part->device->memory = memory;
	return 0;
}

/* ---- steps ---- */

static double event_us(const struct part *part, enum device_event which, cl_profiling_info what)
{
	cl_event event = part->device->memory->events[which];
	cl_ulong ns;

	if (!event || clGetEventProfilingInfo(event, what, sizeof(ns), &ns, NULL))
		return NAN;
	return ns / 1e3;
}

/* Computes the times of a part from its events. Time that no event covers counts as computing. So
 * computing includes the time to wake the device. */
static void times_compute(struct part *part, double us)
{
	enum device_event last =
	    part->device->memory->events[EVENT_SENT] ? EVENT_SENT : EVENT_FIRST;
	double in_us = event_us(part, last, CL_PROFILING_COMMAND_END) -
	               event_us(part, EVENT_FIRST, CL_PROFILING_COMMAND_QUEUED);
	double out_us = event_us(part, EVENT_FETCHED, CL_PROFILING_COMMAND_END) -
	                event_us(part, EVENT_COMPUTED, CL_PROFILING_COMMAND_END);

	part->in_us = in_us > 0 && in_us < us ? in_us : 0;
	part->out_us = out_us > 0 && out_us < us - part->in_us ? out_us : 0;
	part->compute_us = us - part->in_us - part->out_us;
}

static void events_release(struct part *part)
{
	for (unsigned e = 0; e < NEVENTS; e++)
		kernel_event(part, e);
}

static int compute(struct part *part)
{
	struct device_memory *memory = part->device->memory;
	double start_us = starpu_timing_now();
	cl_int error;

	part->launched = true;
	error = kernel_form_enqueue(part, part->from, part->n, memory->queue, NULL);

	if (!error && part->turns)
		error = clFinish(memory->queue);
	part->compute_us = starpu_timing_now() - start_us;
	return error ? kernel_refuse(part, "the launch", error) : 0;
}

static int part_uses(struct part *part, struct index_use *uses)
{
	const struct heddle_kernel_request *request = part->request;

	if (!request->whole_known || part->n < request->stats.groups)
		return kernel_uses(request, part->from, part->n, uses);
	memcpy(uses, request->whole, request->given.narguments * sizeof(*uses));
	return 0;
}

/* ---- claims ---- */

/* Waits for it. */
static void device_claim(struct kernel *kernel, struct kernel_device *device)
{
	starpu_pthread_mutex_lock(&kernel->mutex);
	while (device->claimed)
		starpu_pthread_cond_wait(&kernel->left, &kernel->mutex);
	device->claimed = true;
	starpu_pthread_mutex_unlock(&kernel->mutex);
}

/* Claims a device that is idle and has memory, without waiting. */
static bool claim_idle(struct kernel *kernel, struct kernel_device *device, bool in_order)
{
	bool failed, idle;

	starpu_pthread_mutex_lock(&kernel->mutex);
	failed = kernel->failed >> (device - kernel->devices) & 1;
	idle = !device->claimed && device->memory && !(in_order && failed);
	device->claimed = device->claimed || idle;
	starpu_pthread_mutex_unlock(&kernel->mutex);
	return idle;
}

void kernel_device_leave(struct kernel *kernel, struct kernel_device *device)
{
	starpu_pthread_mutex_lock(&kernel->mutex);
	device->claimed = false;
	starpu_pthread_cond_broadcast(&kernel->left);
	starpu_pthread_mutex_unlock(&kernel->mutex);
}

bool kernel_device_claim(const struct heddle_kernel_request *request, struct kernel_device *device,
                         size_t n)
{
	struct kernel *kernel = request->kernel;
	bool ready;

	if (!claim_idle(kernel, device, true))
		return false;
	ready = kernel_form_ready(request, device->memory, n);
	if (!ready)
		kernel_device_leave(kernel, device);
	return ready;
}

/* ---- parts ---- */

/* From the first transfer to the last one. */
static int steps_enqueue(struct part *part)
{
	struct device_memory *memory = part->device->memory;
	struct index_use uses[HEDDLE_KERNEL_MAXARGUMENTS];
	int status = part_uses(part, uses);

	for (unsigned a = 0; a < part->request->given.narguments && !status; a++) {
		memory->written[a] = uses[a].write;
		part->rereads |= (uint64_t)!index_window_empty(&uses[a].read) << a;
	}
	if (!status)
		status = kernel_transfer_in(part, uses, memory->copies);
	if (!status)
		status = kernel_form_arguments(part);
	if (!status)
		status = compute(part);
	if (!status && !part->dry)
		status = kernel_transfer_out(part, memory->copies);
	return status;
}

/* While no other thread enqueues to the device. */
static int steps_enqueue_alone(struct part *part)
{
	int device = starpu_worker_get_devid(part->device->worker), status;

	starpu_pthread_mutex_lock(&enqueue_mutex[device]);
	status = steps_enqueue(part);
	starpu_pthread_mutex_unlock(&enqueue_mutex[device]);
	return status;
}

int kernel_device_begin(struct part *part, cl_command_queue *queue)
{
	struct device_memory *memory = part->device->memory;
	int status;

	memset(memory->copies, 0, part->request->given.narguments * sizeof(*memory->copies));
	memset(memory->kept, 0, part->request->given.narguments * sizeof(*memory->kept));
	memory->queue = memory->second = NULL;
	part->chunks = 1;
	part->counts = part->launched = false;
	part->staying = part->stays = part->rereads = 0;
	memory->begin_us = starpu_timing_now();
	status = queue_find(part);
	*queue = memory->queue;
	if (!status && part->direct && kernel_chunks_prepare(part))
		status = queue_get(part, DIRECT_SECOND, &memory->second);
	if (!status)
		status = kernel_form_use(part);
	/* The form for ranges may not compile, or launch all groups: no chunks then. */
	if (part->chunks > 1 && (status || memory->form->way == NDRANGE_EXIT)) {
		kernel_chunks_give_up(part);
		status = kernel_form_use(part);
	}
	if (status)
		return status;
	return part->chunks > 1 ? kernel_chunks_begin(part) : steps_enqueue_alone(part);
}

/* A part that failed is waited for as well: transfers under way use the copies. */
int kernel_device_end(struct part *part, int status, bool waited)
{
	struct device_memory *memory = part->device->memory;
	int ended = 0;

	if (memory->queue && !waited && (status || !part->turns))
		ended = kernel_finish(part, "the launch");
	if (memory->second && clFinish(memory->second) && !ended)
		ended = -EIO;
	if (!part->turns)
		times_compute(part, starpu_timing_now() - memory->begin_us);
	events_release(part);
	status = status ? status : ended;
	if (!status && !part->dry)
		kernel_transfer_merge(part, memory->copies);
	kernel_transfer_end(part, memory->copies, status);
	status = kernel_kept_return(part, memory->written, status);
	if (!status)
		kernel_chunks_learn(part);
	return status;
}

bool kernel_device_buffers_drop(struct kernel *kernel, struct kernel_device *device)
{
	bool any = false;

	if (!claim_idle(kernel, device, false))
		return false;
	for (unsigned a = 0; a < HEDDLE_KERNEL_MAXARGUMENTS; a++) {
		any = any || device->memory->buffers[a];
		kernel_buffer_free(device->memory, a);
	}
	kernel_device_leave(kernel, device);
	return any;
}

int kernel_device_run(struct part *part)
{
	struct kernel *kernel = part->request->kernel;
	cl_command_queue queue;
	int status;

	thread_free();
	device_claim(kernel, part->device);
	status = memory_make(part);
	if (!status)
		status = kernel_device_end(part, kernel_device_begin(part, &queue), false);
	kernel_device_leave(kernel, part->device);
	return status;
}

#endif
