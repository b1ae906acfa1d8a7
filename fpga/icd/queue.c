/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "fpga/icd/icd.h"

/* ---- commands ---- */

static void command_retain(const struct command *command)
{
	const struct value *values = command->values;

	if (command->from)
		object_retain(command->from);
	if (command->to)
		object_retain(command->to);
	if (command->kernel)
		object_retain(command->kernel);
	for (int a = 0; a < FPGA_MAX_ARGUMENTS; a++)
		if (values[a].memory)
			object_retain(values[a].memory);
	for (cl_uint e = 0; e < command->nwaits; e++)
		object_retain(command->waits[e]);
}

static void command_free(struct command *command)
{
	if (command->from)
		object_release(command->from);
	if (command->to)
		object_release(command->to);
	for (int a = 0; a < FPGA_MAX_ARGUMENTS; a++)
		if (command->values[a].memory)
			object_release(command->values[a].memory);
	if (command->kernel)
		object_release(command->kernel);
	for (cl_uint e = 0; e < command->nwaits; e++)
		object_release(command->waits[e]);
	object_release(command->event);
	free(command->waits);
	free(command);
}

/* What the queue's thread does. @return CL_SUCCESS or an error. */
static cl_int command_do(cl_device_id device, struct command *command)
{
	cl_int error = CL_SUCCESS;
	cl_ulong clocks = 0, modelled = 0;

	for (cl_uint e = 0; e < command->nwaits; e++)
		if (event_wait(command->waits[e]) < 0)
			error = CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST;
	event_set(command->event, CL_RUNNING);
	if (error)
		return error;
	if (command->kernel) {
		const struct fpga_design *design = command->kernel->program->design;

		error = kernel_run(command->kernel, command->values, &clocks);
		modelled = clocks * 1e6 / kernel_clock(design);
	} else if (command->move && command->region.width) {
		modelled = command->move(device, command);
	}
	device_modelled(device, modelled);
	pthread_mutex_lock(&command->event->mutex);
	command->event->clocks = clocks;
	command->event->modelled = modelled;
	pthread_mutex_unlock(&command->event->mutex);
	return error;
}

/* ---- queues ---- */

static struct command *queue_next(cl_command_queue self)
{
	struct command *command;

	pthread_mutex_lock(&self->mutex);
	self->busy = false;
	pthread_cond_broadcast(&self->changed);
	while (!self->first && !self->end)
		pthread_cond_wait(&self->changed, &self->mutex);
	command = self->first;
	if (command) {
		self->first = command->next;
		if (!self->first)
			self->last = &self->first;
		self->busy = true;
	}
	pthread_mutex_unlock(&self->mutex);
	return command;
}

static void *queue_work(void *opaque)
{
	cl_command_queue self = opaque;
	struct command *command;

	while ((command = queue_next(self))) {
		event_set(command->event, CL_SUBMITTED);
		event_set(command->event, command_do(self->device, command));
		command_free(command);
	}
	return NULL;
}

static void queue_drain(cl_command_queue self)
{
	pthread_mutex_lock(&self->mutex);
	while (self->first || self->busy)
		pthread_cond_wait(&self->changed, &self->mutex);
	pthread_mutex_unlock(&self->mutex);
}

static void queue_destroy(void *opaque)
{
	cl_command_queue self = opaque;

	pthread_mutex_lock(&self->mutex);
	self->end = true;
	pthread_cond_broadcast(&self->changed);
	pthread_mutex_unlock(&self->mutex);
	pthread_join(self->thread, NULL);
	pthread_mutex_destroy(&self->mutex);
	pthread_cond_destroy(&self->changed);
	object_release(self->context);
}

static cl_command_queue create_queue(cl_context context, cl_device_id device,
                                     cl_command_queue_properties properties, cl_int *error)
{
	const cl_command_queue_properties known =
	    CL_QUEUE_PROFILING_ENABLE | CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE;
	cl_command_queue self;

	if (!object_is(context, CONTEXT))
		return object_result(NULL, CL_INVALID_CONTEXT, error);
	if (!object_is(device, DEVICE) || !device_in_context(context, device))
		return object_result(NULL, CL_INVALID_DEVICE, error);
	if (properties & ~known)
		return object_result(NULL, CL_INVALID_VALUE, error);
	if (properties & CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE)
		return object_result(NULL, CL_INVALID_QUEUE_PROPERTIES, error);
	self = object_new(QUEUE, sizeof(*self), queue_destroy);
	if (!self)
		return object_result(NULL, CL_OUT_OF_HOST_MEMORY, error);
	self->context = context;
	self->device = device;
	self->properties = properties;
	self->last = &self->first;
	pthread_mutex_init(&self->mutex, NULL);
	pthread_cond_init(&self->changed, NULL);
	if (pthread_create(&self->thread, NULL, queue_work, self)) {
		free(self);
		return object_result(NULL, CL_OUT_OF_RESOURCES, error);
	}
	object_retain(context);
	return object_result(self, CL_SUCCESS, error);
}

static cl_int retain_queue(cl_command_queue self)
{
	if (!object_is(self, QUEUE))
		return CL_INVALID_COMMAND_QUEUE;
	object_retain(self);
	return CL_SUCCESS;
}

static cl_int release_queue(cl_command_queue self)
{
	if (!object_is(self, QUEUE))
		return CL_INVALID_COMMAND_QUEUE;
	object_release(self);
	return CL_SUCCESS;
}

static cl_int get_queue_info(cl_command_queue self, cl_command_queue_info what, size_t room,
                             void *to, size_t *needed)
{
	if (!object_is(self, QUEUE))
		return CL_INVALID_COMMAND_QUEUE;
	switch (what) {
	case CL_QUEUE_CONTEXT:
		return ANSWER(cl_context, self->context);
	case CL_QUEUE_DEVICE:
		return ANSWER(cl_device_id, self->device);
	case CL_QUEUE_REFERENCE_COUNT:
		return ANSWER(cl_uint, self->object.references);
	case CL_QUEUE_PROPERTIES:
		return ANSWER(cl_command_queue_properties, self->properties);
	default:
		return CL_INVALID_VALUE;
	}
}

static cl_int flush(cl_command_queue self)
{
	return object_is(self, QUEUE) ? CL_SUCCESS : CL_INVALID_COMMAND_QUEUE;
}

static cl_int finish(cl_command_queue self)
{
	if (!object_is(self, QUEUE))
		return CL_INVALID_COMMAND_QUEUE;
	queue_drain(self);
	return CL_SUCCESS;
}

/* ---- enqueueing ---- */

cl_int queue_enqueue(cl_command_queue self, const struct command *what, cl_bool blocking,
                     cl_uint nwaits, const cl_event *waits, cl_event *event)
{
	cl_int error = events_check(self->context, nwaits, waits);
	struct command *command;
	cl_event mine;

	if (error)
		return error;
	command = malloc(sizeof(*command));
	mine = event_new(self->context, self, what->type);
	if (command) {
		*command = *what;
		command->nwaits = nwaits;
		command->waits = nwaits ? malloc(nwaits * sizeof(*waits)) : NULL;
	}
	if (!command || !mine || (nwaits && !command->waits)) {
		if (mine)
			object_release(mine);
		if (command)
			free(command->waits);
		free(command);
		return CL_OUT_OF_HOST_MEMORY;
	}
	if (nwaits)
		memcpy(command->waits, waits, nwaits * sizeof(*waits));
	command->event = mine;
	command_retain(command);
	object_retain(mine);
	pthread_mutex_lock(&self->mutex);
	*self->last = command;
	self->last = &command->next;
	pthread_cond_broadcast(&self->changed);
	pthread_mutex_unlock(&self->mutex);
	if (blocking && event_wait(mine) < 0)
		error = CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST;
	if (event)
		*event = mine;
	else
		object_release(mine);
	return error;
}

static cl_int enqueue_run(cl_command_queue queue, cl_kernel kernel, cl_command_type type,
                          cl_uint nwaits, const cl_event *waits, cl_event *event)
{
	struct command command = {.type = type, .kernel = kernel};
	cl_int error = kernel_check(kernel);

	if (error)
		return error;
	/* The arguments as they are now: the kernel may get others before it runs. */
	memcpy(command.values, kernel->values, sizeof(command.values));
	return queue_enqueue(queue, &command, CL_FALSE, nwaits, waits, event);
}

static cl_int check_kernel(cl_command_queue queue, cl_kernel kernel)
{
	if (!object_is(queue, QUEUE))
		return CL_INVALID_COMMAND_QUEUE;
	if (!object_is(kernel, KERNEL))
		return CL_INVALID_KERNEL;
	if (kernel->program->context != queue->context)
		return CL_INVALID_CONTEXT;
	return kernel->program->device == queue->device ? CL_SUCCESS
	                                                : CL_INVALID_PROGRAM_EXECUTABLE;
}

/* A design is one work-item that loops. */
static cl_int enqueue_ndrange(cl_command_queue queue, cl_kernel kernel, cl_uint dimensions,
                              const size_t *offset, const size_t *global, const size_t *local,
                              cl_uint nwaits, const cl_event *waits, cl_event *event)
{
	cl_int error = check_kernel(queue, kernel);

	if (error)
		return error;
	if (dimensions < 1 || dimensions > 3)
		return CL_INVALID_WORK_DIMENSION;
	if (!global)
		return CL_INVALID_GLOBAL_WORK_SIZE;
	for (cl_uint d = 0; d < dimensions; d++) {
		if (global[d] != 1)
			return CL_INVALID_GLOBAL_WORK_SIZE;
		if (local && local[d] != 1)
			return CL_INVALID_WORK_GROUP_SIZE;
		if (offset && offset[d])
			return CL_INVALID_GLOBAL_OFFSET;
	}
	return enqueue_run(queue, kernel, CL_COMMAND_NDRANGE_KERNEL, nwaits, waits, event);
}

static cl_int enqueue_task(cl_command_queue queue, cl_kernel kernel, cl_uint nwaits,
                           const cl_event *waits, cl_event *event)
{
	cl_int error = check_kernel(queue, kernel);

	return error ? error : enqueue_run(queue, kernel, CL_COMMAND_TASK, nwaits, waits, event);
}

static cl_int enqueue_marker_list(cl_command_queue queue, cl_uint nwaits, const cl_event *waits,
                                  cl_event *event)
{
	if (!object_is(queue, QUEUE))
		return CL_INVALID_COMMAND_QUEUE;
	return queue_enqueue(queue, &(struct command){.type = CL_COMMAND_MARKER}, CL_FALSE, nwaits,
	                     waits, event);
}

static cl_int enqueue_marker(cl_command_queue queue, cl_event *event)
{
	if (!object_is(queue, QUEUE))
		return CL_INVALID_COMMAND_QUEUE;
	return event ? enqueue_marker_list(queue, 0, NULL, event) : CL_INVALID_VALUE;
}

static cl_int enqueue_barrier_list(cl_command_queue queue, cl_uint nwaits, const cl_event *waits,
                                   cl_event *event)
{
	if (!object_is(queue, QUEUE))
		return CL_INVALID_COMMAND_QUEUE;
	return queue_enqueue(queue, &(struct command){.type = CL_COMMAND_BARRIER}, CL_FALSE, nwaits,
	                     waits, event);
}

/* Queues keep the order anyway. */
static cl_int enqueue_barrier(cl_command_queue queue)
{
	return flush(queue);
}

static cl_int enqueue_waits(cl_command_queue queue, cl_uint n, const cl_event *events)
{
	cl_int error;

	if (!object_is(queue, QUEUE))
		return CL_INVALID_COMMAND_QUEUE;
	if (!n || !events)
		return CL_INVALID_VALUE;
	error = enqueue_barrier_list(queue, n, events, NULL);
	return error == CL_INVALID_EVENT_WAIT_LIST ? CL_INVALID_EVENT : error;
}

void queue_functions(cl_icd_dispatch *table)
{
	table->clCreateCommandQueue = create_queue;
	table->clRetainCommandQueue = retain_queue;
	table->clReleaseCommandQueue = release_queue;
	table->clGetCommandQueueInfo = get_queue_info;
	table->clFlush = flush;
	table->clFinish = finish;
	table->clEnqueueNDRangeKernel = enqueue_ndrange;
	table->clEnqueueTask = enqueue_task;
	table->clEnqueueMarker = enqueue_marker;
	table->clEnqueueMarkerWithWaitList = enqueue_marker_list;
	table->clEnqueueBarrier = enqueue_barrier;
	table->clEnqueueBarrierWithWaitList = enqueue_barrier_list;
	table->clEnqueueWaitForEvents = enqueue_waits;
}
