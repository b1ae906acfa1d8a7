/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "fpga/icd/icd.h"

static void event_destroy(void *opaque)
{
	cl_event self = opaque;

	pthread_mutex_destroy(&self->mutex);
	pthread_cond_destroy(&self->changed);
	object_release(self->context);
}

cl_event event_new(cl_context context, cl_command_queue queue, cl_command_type command)
{
	cl_event self = object_new(EVENT, sizeof(*self), event_destroy);

	if (!self)
		return NULL;
	pthread_mutex_init(&self->mutex, NULL);
	pthread_cond_init(&self->changed, NULL);
	self->context = context;
	self->queue = queue;
	self->command = command;
	self->profiled = queue->properties & CL_QUEUE_PROFILING_ENABLE;
	self->status = CL_QUEUED;
	self->times[0] = object_now();
	object_retain(context);
	return self;
}

void event_set(cl_event self, cl_int status)
{
	pthread_mutex_lock(&self->mutex);
	self->status = status;
	self->times[status > CL_COMPLETE ? CL_QUEUED - status : 3] = object_now();
	pthread_cond_broadcast(&self->changed);
	pthread_mutex_unlock(&self->mutex);
}

cl_int event_wait(cl_event self)
{
	cl_int status;

	pthread_mutex_lock(&self->mutex);
	while (self->status > CL_COMPLETE)
		pthread_cond_wait(&self->changed, &self->mutex);
	status = self->status;
	pthread_mutex_unlock(&self->mutex);
	return status;
}

cl_int events_check(cl_context context, cl_uint n, const cl_event *events)
{
	if (!n != !events)
		return CL_INVALID_EVENT_WAIT_LIST;
	for (cl_uint e = 0; e < n; e++) {
		if (!object_is(events[e], EVENT))
			return CL_INVALID_EVENT_WAIT_LIST;
		if (events[e]->context != context)
			return CL_INVALID_CONTEXT;
	}
	return CL_SUCCESS;
}

static cl_int wait_for_events(cl_uint n, const cl_event *events)
{
	cl_int error = CL_SUCCESS;

	if (!n || !events)
		return CL_INVALID_VALUE;
	for (cl_uint e = 0; e < n; e++) {
		if (!object_is(events[e], EVENT))
			return CL_INVALID_EVENT;
		if (events[e]->context != events[0]->context)
			return CL_INVALID_CONTEXT;
	}
	for (cl_uint e = 0; e < n; e++)
		if (event_wait(events[e]) < 0)
			error = CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST;
	return error;
}

static cl_int retain_event(cl_event self)
{
	if (!object_is(self, EVENT))
		return CL_INVALID_EVENT;
	object_retain(self);
	return CL_SUCCESS;
}

static cl_int release_event(cl_event self)
{
	if (!object_is(self, EVENT))
		return CL_INVALID_EVENT;
	object_release(self);
	return CL_SUCCESS;
}

/* What changes of an event. */
struct progress {
	cl_int status;
	cl_ulong times[4], clocks, modelled;
};

/* As it stands together; the rest of an event is not for copying while others use it. */
static struct progress event_read(cl_event self)
{
	struct progress copy;

	pthread_mutex_lock(&self->mutex);
	copy = (struct progress){
	    .status = self->status, .clocks = self->clocks, .modelled = self->modelled};
	memcpy(copy.times, self->times, sizeof(copy.times));
	pthread_mutex_unlock(&self->mutex);
	return copy;
}

static cl_int get_event_info(cl_event self, cl_event_info what, size_t room, void *to,
                             size_t *needed)
{
	struct progress now;

	if (!object_is(self, EVENT))
		return CL_INVALID_EVENT;
	switch (what) {
	case CL_EVENT_COMMAND_QUEUE:
		return ANSWER(cl_command_queue, self->queue);
	case CL_EVENT_CONTEXT:
		return ANSWER(cl_context, self->context);
	case CL_EVENT_COMMAND_TYPE:
		return ANSWER(cl_command_type, self->command);
	case CL_EVENT_COMMAND_EXECUTION_STATUS:
		return ANSWER(cl_int, event_read(self).status);
	case CL_EVENT_REFERENCE_COUNT:
		return ANSWER(cl_uint, self->object.references);
	case CL_EVENT_CLOCKS_HEDDLE:
		return ANSWER(cl_ulong, event_read(self).clocks);
	case CL_EVENT_MODELLED_HEDDLE:
		return ANSWER(cl_ulong, event_read(self).modelled);
	case CL_EVENT_TAKEN_HEDDLE:
		now = event_read(self);
		return ANSWER(cl_ulong, now.status > CL_COMPLETE ? 0 : now.times[3] - now.times[2]);
	default:
		return CL_INVALID_VALUE;
	}
}

static cl_int get_profiling_info(cl_event self, cl_profiling_info what, size_t room, void *to,
                                 size_t *needed)
{
	struct progress now;

	if (!object_is(self, EVENT))
		return CL_INVALID_EVENT;
	now = event_read(self);
	if (!self->profiled || now.status != CL_COMPLETE)
		return CL_PROFILING_INFO_NOT_AVAILABLE;
	switch (what) {
	case CL_PROFILING_COMMAND_QUEUED:
	case CL_PROFILING_COMMAND_SUBMIT:
	case CL_PROFILING_COMMAND_START:
	case CL_PROFILING_COMMAND_END:
		return ANSWER(cl_ulong, now.times[what - CL_PROFILING_COMMAND_QUEUED]);
	default:
		return CL_INVALID_VALUE;
	}
}

void event_functions(cl_icd_dispatch *table)
{
	table->clWaitForEvents = wait_for_events;
	table->clRetainEvent = retain_event;
	table->clReleaseEvent = release_event;
	table->clGetEventInfo = get_event_info;
	table->clGetEventProfilingInfo = get_profiling_info;
}
