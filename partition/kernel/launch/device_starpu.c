/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * One range of a kernel's work-groups on one OpenCL device: compiling, launching, and what
 * comes before and after. How data crosses is transfer_starpu.c's.
 */
#include "config.h"

#ifdef HEDDLE_USE_OPENCL

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "partition/kernel/launch/device_private.h"
#include "support/message.h"
#include "support/variables.h"

int device_refuse(const struct part *part, const char *what, cl_int error)
{
	bool full = error == CL_MEM_OBJECT_ALLOCATION_FAILURE || error == CL_OUT_OF_RESOURCES ||
	            error == CL_OUT_OF_HOST_MEMORY;
	char worker[64];

	starpu_worker_get_name(part->device->worker, worker, sizeof(worker));
	return heddle_refuse(full ? -ENOMEM : -EIO, "kernel %s on %s: %s: %s",
	                     part->request->kernel->name, worker, what,
	                     starpu_opencl_error_string(error));
}

/* ---- threads and queues ---- */

static cpu_set_t allowed;
static bool any_allowed;

static void allowed_find(void)
{
	if (!heddle_variable_number(HEDDLE_VARIABLE_KERNEL_BOUND))
		any_allowed =
		    !sched_getaffinity(0, sizeof(allowed), &allowed) && CPU_COUNT(&allowed) > 1;
}

void device_threads_allow(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, allowed_find);
}

/* OpenCL implementations make threads of their own, which inherit the binding of the worker
 * that made them: copying in one while the worker waits in another takes turns of
 * milliseconds on the same core. */
static void thread_free(void)
{
	static __thread bool is_free;

	if (!is_free && any_allowed)
		sched_setaffinity(0, sizeof(allowed), &allowed);
	is_free = true;
}

/* Queues beside StarPU's: some whose events tell times, and some of direct launches, so that these
 * and a worker do not wait for each other; by device. */
enum { WATCHED, DIRECT, DIRECT_SECOND, DIRECT_WATCHED, NQUEUES };
static cl_command_queue queues[STARPU_MAXOPENCLDEVS][NQUEUES];
static starpu_pthread_mutex_t queues_mutex = STARPU_PTHREAD_MUTEX_INITIALIZER;

static int queue_get(struct part *part, int which, cl_command_queue *queue)
{
	struct device_memory *memory = part->device->memory;
	int device = starpu_worker_get_devid(part->device->worker);
	bool asked = which == WATCHED || which == DIRECT_WATCHED;
	cl_int error = CL_SUCCESS;

	starpu_pthread_mutex_lock(&queues_mutex);
	if (!queues[device][which])
		queues[device][which] = clCreateCommandQueue(
		    memory->context, memory->device, asked ? CL_QUEUE_PROFILING_ENABLE : 0, &error);
	*queue = queues[device][which];
	starpu_pthread_mutex_unlock(&queues_mutex);
	return error ? device_refuse(part, "its queue", error) : 0;
}

static int queue_find(struct part *part)
{
	cl_command_queue *queue = &part->device->memory->queue;
	int device = starpu_worker_get_devid(part->device->worker);

	if (part->direct)
		return queue_get(part, part->unwatched ? DIRECT : DIRECT_WATCHED, queue);
	if (!part->unwatched)
		return queue_get(part, WATCHED, queue);
	starpu_opencl_get_queue(device, queue);
	return 0;
}

void device_queues_free(void)
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
		buffer_free(memory, a);
		if (memory->arrays[a].buffer)
			clReleaseMemObject(memory->arrays[a].buffer);
	}
	forms_free(memory);
	free(memory->plan);
	free(memory);
}

void device_free(struct kernel_device *device)
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

/* ---- arguments ---- */

bool is_buffer(const struct heddle_kernel_argument *argument)
{
	return argument->type == HEDDLE_KERNEL_HANDLE || argument->type == HEDDLE_KERNEL_HOST;
}

static int argument_set(struct part *part, unsigned a)
{
	const struct heddle_kernel_request *request = part->request;
	const struct heddle_kernel_argument *argument = &request->given.arguments[a];
	struct device_memory *memory = part->device->memory;
	unsigned same = request->same[a];
	cl_int error;

	if (is_buffer(argument))
		error = clSetKernelArg(memory->form->kernel, a, sizeof(cl_mem),
		                       memory->in_place[same] ? &memory->in_place[same]
		                                              : &memory->buffers[same]);
	else
		error = clSetKernelArg(memory->form->kernel, a, argument->bytes, argument->pointer);
	return error ? device_refuse(part, "an argument", error) : 0;
}

/* The range, for the early exit. */
static int range_set(struct part *part)
{
	struct device_memory *memory = part->device->memory;
	unsigned n = part->request->given.narguments;
	cl_ulong first = part->from, last = part->from + part->n - 1;
	cl_int error = clSetKernelArg(memory->form->kernel, n, sizeof(first), &first);

	if (!error)
		error = clSetKernelArg(memory->form->kernel, n + 1, sizeof(last), &last);
	return error ? device_refuse(part, "the range", error) : 0;
}

int arguments_set(struct part *part)
{
	int status = 0;

	for (unsigned a = 0; a < part->request->given.narguments && !status; a++)
		status = argument_set(part, a);
	if (!status && part->device->memory->form->way == NDRANGE_EXIT)
		status = range_set(part);
	return status;
}

/* ---- steps ---- */

cl_event *device_event(struct part *part, enum device_event which)
{
	cl_event *event = &part->device->memory->events[which];

	if (*event)
		clReleaseEvent(*event);
	*event = NULL;
	return part->turns || part->unwatched ? NULL : event;
}

int device_finish(struct part *part, const char *what)
{
	cl_int error = clFinish(part->device->memory->queue);

	return error ? device_refuse(part, what, error) : 0;
}

static double event_us(const struct part *part, enum device_event which, cl_profiling_info what)
{
	cl_event event = part->device->memory->events[which];
	cl_ulong ns;

	if (!event || clGetEventProfilingInfo(event, what, sizeof(ns), &ns, NULL))
		return NAN;
	return ns / 1e3;
}

/* What the events tell of a part that took so long altogether; what they do not tell of
 * counts as computing, which thereby has what waking a device costs. */
static void times_tell(struct part *part, double us)
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
		device_event(part, e);
}

static int compute(struct part *part)
{
	struct ndrange_launch launches[NDRANGE_MAXBOXES];
	struct device_memory *memory = part->device->memory;
	unsigned n = ndrange_launches(&part->request->range, memory->form->way, part->from, part->n,
	                              launches);
	double start_us = starpu_timing_now();
	cl_int error = CL_SUCCESS;

	for (unsigned i = 0; i < n && !error; i++)
		error = clEnqueueNDRangeKernel(memory->queue, memory->form->kernel,
		                               launches[i].dimensions, launches[i].offset,
		                               launches[i].global, launches[i].local, 0, NULL,
		                               device_event(part, EVENT_COMPUTED));
	if (!error && part->turns)
		error = clFinish(memory->queue);
	part->compute_us = starpu_timing_now() - start_us;
	return error ? device_refuse(part, "the launch", error) : 0;
}

/* What arguments that are one array do counts for the first of them. */
static void uses_join(const struct heddle_kernel_request *request, struct index_use *uses)
{
	for (unsigned a = 0; a < request->given.narguments; a++) {
		if (!is_buffer(&request->given.arguments[a]) || request->same[a] == (int)a)
			continue;
		kernel_windows_join(&uses[request->same[a]].read, &uses[a].read);
		kernel_windows_join(&uses[request->same[a]].write, &uses[a].write);
	}
}

static int part_uses(struct part *part, struct index_use *uses)
{
	const struct heddle_kernel_request *request = part->request;
	int status = 0;

	if (request->whole_known && part->n == request->stats.groups)
		memcpy(uses, request->whole, request->given.narguments * sizeof(*uses));
	else
		status = request_uses(request, part->from, part->n, uses);
	if (!status)
		uses_join(request, uses);
	return status;
}

/* ---- claims ---- */

void device_claim(struct kernel *kernel, struct kernel_device *device)
{
	starpu_pthread_mutex_lock(&kernel->mutex);
	while (device->claimed)
		starpu_pthread_cond_wait(&kernel->left, &kernel->mutex);
	device->claimed = true;
	starpu_pthread_mutex_unlock(&kernel->mutex);
}

/* Where nobody else has it, and there is anything to claim. */
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

void device_leave(struct kernel *kernel, struct kernel_device *device)
{
	starpu_pthread_mutex_lock(&kernel->mutex);
	device->claimed = false;
	starpu_pthread_cond_broadcast(&kernel->left);
	starpu_pthread_mutex_unlock(&kernel->mutex);
}

bool device_claim_ready(const struct heddle_kernel_request *request, struct kernel_device *device,
                        size_t n)
{
	struct kernel *kernel = request->kernel;
	bool ready;

	if (!claim_idle(kernel, device, true))
		return false;
	ready = form_ready(request, device->memory, n);
	if (!ready)
		device_leave(kernel, device);
	return ready;
}

/* ---- parts ---- */

/* From the first transfer to the last one. */
static int steps_enqueue(struct part *part)
{
	struct device_memory *memory = part->device->memory;
	struct index_use uses[HEDDLE_KERNEL_MAXARGUMENTS];
	int status = part_uses(part, uses);

	if (!status)
		status = transfer_in(part, uses, memory->copies);
	if (!status)
		status = arguments_set(part);
	if (!status)
		status = compute(part);
	if (!status && !part->dry)
		status = transfer_out(part, memory->copies);
	return status;
}

int device_begin(struct part *part, cl_command_queue *queue)
{
	struct device_memory *memory = part->device->memory;
	int status;

	memset(memory->copies, 0, part->request->given.narguments * sizeof(*memory->copies));
	memory->queue = memory->second = NULL;
	part->pieces = 1;
	part->timed = false;
	memory->begin_us = starpu_timing_now();
	status = queue_find(part);
	*queue = memory->queue;
	if (!status && part->direct && pieces_wanted(part) && pieces_prepare(part))
		status = queue_get(part, DIRECT_SECOND, &memory->second);
	if (!status)
		status = form_use(part);
	if (status && part->pieces > 1) { /* what cuts them may not compile */
		pieces_give_up(part);
		status = form_use(part);
	}
	if (status)
		return status;
	return part->pieces > 1 ? pieces_begin(part) : steps_enqueue(part);
}

/* Also what failed is waited for: what is on its way uses the copies. */
int device_end(struct part *part, int status, bool waited)
{
	struct device_memory *memory = part->device->memory;
	int ended = 0;

	if (memory->queue && !waited && (status || !part->turns))
		ended = device_finish(part, "the launch");
	if (memory->second && clFinish(memory->second) && !ended)
		ended = -EIO;
	if (!part->turns)
		times_tell(part, starpu_timing_now() - memory->begin_us);
	events_release(part);
	status = status ? status : ended;
	if (!status && !part->dry)
		transfer_merge(part, memory->copies);
	transfer_end(part, memory->copies, status);
	if (!status)
		pieces_learn(part);
	return status;
}

bool device_buffers_drop(struct kernel *kernel, struct kernel_device *device)
{
	bool any = false;

	if (!claim_idle(kernel, device, false))
		return false;
	for (unsigned a = 0; a < HEDDLE_KERNEL_MAXARGUMENTS; a++) {
		any = any || device->memory->buffers[a];
		buffer_free(device->memory, a);
	}
	device_leave(kernel, device);
	return any;
}

static int part_try(struct part *part)
{
	struct kernel *kernel = part->request->kernel;
	cl_command_queue queue;
	int status;

	device_claim(kernel, part->device);
	status = memory_make(part);
	if (!status)
		status = device_end(part, device_begin(part, &queue), false);
	device_leave(kernel, part->device);
	return status;
}

int device_run(struct part *part)
{
	struct part again = *part;
	int status;

	thread_free();
	status = part_try(part);
	if (status != -ENOMEM || !kernels_buffers_drop(part->request->kernel, part->device->worker))
		return status;
	heddle_explain("kernel %s: once more, without the buffers that other kernels keep",
	               part->request->kernel->name);
	*part = again;
	return part_try(part);
}

#endif
