/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * OpenCL's functions about events.
 */
#include "config.h"

#include "partition/opencl/layer.h"

#include <stdlib.h>

static cl_int CL_API_CALL event_retain_call(cl_event id)
{
	struct event *event = layer_object(id, EVENT);

	if (!event)
		return real->clRetainEvent(id);
	object_retain(event);
	return CL_SUCCESS;
}

static cl_int CL_API_CALL event_release_call(cl_event id)
{
	struct event *event = layer_object(id, EVENT);

	if (!event)
		return real->clReleaseEvent(id);
	event_release(event);
	return CL_SUCCESS;
}

static cl_int CL_API_CALL events_wait(cl_uint n, const cl_event *list)
{
	struct context *context;
	cl_int error = CL_SUCCESS;

	if (!n || !list)
		return CL_INVALID_VALUE;
	if (!layer_owns(list[0]))
		return real->clWaitForEvents(n, list);
	if (!layer_object(list[0], EVENT))
		return CL_INVALID_EVENT;
	context = ((struct event *)list[0])->context;
	for (cl_uint e = 0; e < n; e++) {
		struct event *event = layer_object(list[e], EVENT);

		if (!event)
			return CL_INVALID_EVENT;
		if (event->context != context)
			return CL_INVALID_CONTEXT;
	}
	for (cl_uint e = 0; e < n; e++)
		if (event_wait((struct event *)list[e]) < 0)
			error = CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST;
	return error;
}

static cl_int CL_API_CALL event_info(cl_event id, cl_event_info name, size_t room, void *value,
                                     size_t *needed)
{
	struct event *event = layer_object(id, EVENT);
	cl_int status;

	if (!event)
		return real->clGetEventInfo(id, name, room, value, needed);
	switch (name) {
	case CL_EVENT_COMMAND_QUEUE:
		return info_give_value(event->queue, room, value, needed);
	case CL_EVENT_CONTEXT:
		return info_give_value(event->context, room, value, needed);
	case CL_EVENT_COMMAND_TYPE:
		return info_give_value(event->type, room, value, needed);
	case CL_EVENT_COMMAND_EXECUTION_STATUS:
		status = event_status(event);
		return info_give_value(status, room, value, needed);
	case CL_EVENT_REFERENCE_COUNT:
		return info_give_value(event->object.references, room, value, needed);
	default:
		return CL_INVALID_VALUE;
	}
}

static cl_int CL_API_CALL event_profile(cl_event id, cl_profiling_info name, size_t room,
                                        void *value, size_t *needed)
{
	struct event *event = layer_object(id, EVENT);
	unsigned step = name - CL_PROFILING_COMMAND_QUEUED;

	if (!event)
		return real->clGetEventProfilingInfo(id, name, room, value, needed);
	if (step >= NSTEPS)
		return CL_INVALID_VALUE;
	if (!event->queue || !(event->queue->properties & CL_QUEUE_PROFILING_ENABLE) ||
	    event_status(event) != CL_COMPLETE)
		return CL_PROFILING_INFO_NOT_AVAILABLE;
	return info_give_value(event->ns[step], room, value, needed);
}

static cl_event CL_API_CALL user_event_make(cl_context id, cl_int *error)
{
	struct context *context = layer_object(id, CONTEXT);
	struct event *event;

	if (!context)
		return real->clCreateUserEvent(id, error);
	event = event_make(context, NULL, CL_COMMAND_USER, 0);
	error_give(event ? CL_SUCCESS : CL_OUT_OF_HOST_MEMORY, error);
	return (cl_event)event;
}

static cl_int CL_API_CALL user_event_end(cl_event id, cl_int status)
{
	struct event *event = layer_object(id, EVENT);

	if (!event)
		return real->clSetUserEventStatus(id, status);
	if (event->queue)
		return CL_INVALID_EVENT;
	if (status > CL_COMPLETE)
		return CL_INVALID_VALUE;
	if (event_status(event) <= CL_COMPLETE)
		return CL_INVALID_OPERATION;
	event_end(event, status);
	return CL_SUCCESS;
}

static cl_int CL_API_CALL event_callback(cl_event id, cl_int state,
                                         void(CL_CALLBACK *function)(cl_event, cl_int, void *),
                                         void *data)
{
	struct event *event = layer_object(id, EVENT);

	if (!event)
		return real->clSetEventCallback(id, state, function, data);
	if (!function || state < CL_COMPLETE || state > CL_SUBMITTED)
		return CL_INVALID_VALUE;
	return event_call(event, state, function, data);
}

void event_functions(cl_icd_dispatch *table)
{
	table->clRetainEvent = event_retain_call;
	table->clReleaseEvent = event_release_call;
	table->clWaitForEvents = events_wait;
	table->clGetEventInfo = event_info;
	table->clGetEventProfilingInfo = event_profile;
	table->clCreateUserEvent = user_event_make;
	table->clSetUserEventStatus = user_event_end;
	table->clSetEventCallback = event_callback;
}
