/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Contexts and command queues.
 */
#include "config.h"

#include "partition/opencl/layer.h"

#include <stdlib.h>
#include <string.h>

#define QUEUE_KNOWN (CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE | CL_QUEUE_PROFILING_ENABLE)

/* ---- contexts ---- */

/* The platform that a list of properties names. @return NULL: none */
static cl_platform_id platform_of(const cl_context_properties *properties)
{
	for (size_t p = 0; properties && properties[p]; p += 2)
		if (properties[p] == CL_CONTEXT_PLATFORM)
			return (cl_platform_id)properties[p + 1];
	return NULL;
}

/* Looks through a list of properties.
 * @param[out] n entries, with the last 0
 * @return CL_SUCCESS, or the error */
static cl_int properties_read(const cl_context_properties *properties, size_t *n)
{
	bool platform = false, sync = false;

	*n = 0;
	for (; properties && properties[*n]; *n += 2) {
		cl_context_properties value = properties[*n + 1];
		bool *seen = properties[*n] == CL_CONTEXT_PLATFORM            ? &platform
		             : properties[*n] == CL_CONTEXT_INTEROP_USER_SYNC ? &sync
		                                                              : NULL;

		if (!seen || *seen || (seen == &sync && value != CL_FALSE && value != CL_TRUE))
			return CL_INVALID_PROPERTY;
		*seen = true;
	}
	*n += properties ? 1 : 0;
	return platform && platform_of(properties) != layer_platform() ? CL_INVALID_PLATFORM
	                                                               : CL_SUCCESS;
}

static void context_free(struct context *context)
{
	if (context->queue)
		real->clReleaseCommandQueue(context->queue);
	if (context->home)
		real->clReleaseContext(context->home);
	free(context->properties);
	free(context);
}

void context_release(struct context *context)
{
	if (object_release(context))
		context_free(context);
}

static cl_int context_open(struct context *context, const cl_context_properties *properties,
                           void(CL_CALLBACK *notify)(const char *, const void *, size_t, void *),
                           void *data)
{
	const struct devices *devices = layer_devices();
	const cl_context_properties home[] = {CL_CONTEXT_PLATFORM,
	                                      (cl_context_properties)devices->platforms[0], 0};
	size_t bytes = context->nproperties * sizeof(*properties);
	cl_int error;

	if (bytes) {
		context->properties = malloc(bytes);
		if (!context->properties)
			return CL_OUT_OF_HOST_MEMORY;
		memcpy(context->properties, properties, bytes);
	}
	context->home = real->clCreateContext(home, 1, devices->ids, notify, data, &error);
	if (!error)
		context->queue =
		    real->clCreateCommandQueue(context->home, devices->ids[0], 0, &error);
	return error;
}

static cl_context context_make(const cl_context_properties *properties,
                               void(CL_CALLBACK *notify)(const char *, const void *, size_t,
                                                         void *),
                               void *data, cl_int *to)
{
	struct context *context;
	size_t n;
	cl_int error = properties_read(properties, &n);

	if (error)
		return error_give(error, to);
	if (!notify && data)
		return error_give(CL_INVALID_VALUE, to);
	context = object_make(CONTEXT, sizeof(*context));
	if (!context)
		return error_give(CL_OUT_OF_HOST_MEMORY, to);
	context->nproperties = n;
	error = context_open(context, properties, notify, data);
	if (error) {
		context_free(context);
		return error_give(error, to);
	}
	error_give(CL_SUCCESS, to);
	return (cl_context)context;
}

static cl_context CL_API_CALL context_create(
    const cl_context_properties *properties, cl_uint n, const cl_device_id *ids,
    void(CL_CALLBACK *notify)(const char *, const void *, size_t, void *), void *data, cl_int *to)
{
	bool ours = platform_of(properties) == layer_platform(), others = false;

	for (cl_uint d = 0; ids && d < n; d++) {
		ours = ours || layer_owns(ids[d]);
		others = others || !layer_object(ids[d], DEVICE);
	}
	if (!ours)
		return real->clCreateContext(properties, n, ids, notify, data, to);
	if (!ids || !n || others)
		return error_give(others ? CL_INVALID_DEVICE : CL_INVALID_VALUE, to);
	return context_make(properties, notify, data, to);
}

static cl_context CL_API_CALL context_of_type(
    const cl_context_properties *properties, cl_device_type type,
    void(CL_CALLBACK *notify)(const char *, const void *, size_t, void *), void *data, cl_int *to)
{
	cl_platform_id of = platform_of(properties);
	cl_uint n;
	cl_int error;

	if (of ? !layer_object(of, PLATFORM) : layer_inside || !layer_devices()->n)
		return real->clCreateContextFromType(properties, type, notify, data, to);
	error = layer_objects.clGetDeviceIDs(layer_platform(), type, 0, NULL, &n);
	return error ? error_give(error, to) : context_make(properties, notify, data, to);
}

static cl_int CL_API_CALL context_retain(cl_context id)
{
	struct context *context = layer_object(id, CONTEXT);

	if (!context)
		return real->clRetainContext(id);
	object_retain(context);
	return CL_SUCCESS;
}

static cl_int CL_API_CALL context_release_call(cl_context id)
{
	struct context *context = layer_object(id, CONTEXT);

	if (!context)
		return real->clReleaseContext(id);
	context_release(context);
	return CL_SUCCESS;
}

static cl_int CL_API_CALL context_info(cl_context id, cl_context_info name, size_t room,
                                       void *value, size_t *needed)
{
	struct context *context = layer_object(id, CONTEXT);
	const cl_device_id device = layer_device();
	const cl_uint one = 1;

	if (!context)
		return real->clGetContextInfo(id, name, room, value, needed);
	switch (name) {
	case CL_CONTEXT_REFERENCE_COUNT:
		return info_give_value(context->object.references, room, value, needed);
	case CL_CONTEXT_NUM_DEVICES:
		return info_give_value(one, room, value, needed);
	case CL_CONTEXT_DEVICES:
		return info_give_value(device, room, value, needed);
	case CL_CONTEXT_PROPERTIES:
		return info_give(context->properties,
		                 context->nproperties * sizeof(*context->properties), room, value,
		                 needed);
	default:
		return CL_INVALID_VALUE;
	}
}

/* ---- queues ---- */

static cl_command_queue queue_make(struct context *context, cl_device_id id,
                                   cl_command_queue_properties properties, cl_int *to)
{
	struct queue *queue;
	cl_int error;

	if (!layer_object(id, DEVICE))
		return error_give(CL_INVALID_DEVICE, to);
	if (properties & ~(cl_command_queue_properties)QUEUE_KNOWN)
		return error_give(CL_INVALID_VALUE, to);
	queue = object_make(QUEUE, sizeof(*queue));
	if (!queue)
		return error_give(CL_OUT_OF_HOST_MEMORY, to);
	queue->plain = real->clCreateCommandQueue(context->home, layer_devices()->ids[0],
	                                          properties & CL_QUEUE_PROFILING_ENABLE, &error);
	if (error) {
		free(queue);
		return error_give(error, to);
	}
	object_retain(context);
	queue->context = context;
	queue->home = queue->plain;
	queue->properties = properties;
	error_give(CL_SUCCESS, to);
	return (cl_command_queue)queue;
}

static cl_command_queue CL_API_CALL queue_create(cl_context id, cl_device_id device,
                                                 cl_command_queue_properties properties, cl_int *to)
{
	struct context *context = layer_object(id, CONTEXT);

	if (!context)
		return real->clCreateCommandQueue(id, device, properties, to);
	return queue_make(context, device, properties, to);
}

static cl_command_queue CL_API_CALL queue_create_with(cl_context id, cl_device_id device,
                                                      const cl_queue_properties *list, cl_int *to)
{
	struct context *context = layer_object(id, CONTEXT);
	cl_command_queue_properties properties = 0;

	if (!context)
		return real->clCreateCommandQueueWithProperties(id, device, list, to);
	for (; list && *list; list += 2) {
		if (*list != CL_QUEUE_PROPERTIES)
			return error_give(CL_INVALID_QUEUE_PROPERTIES, to);
		properties = list[1];
	}
	return queue_make(context, device, properties, to);
}

void queue_release(struct queue *queue)
{
	if (!object_release(queue))
		return;
	real->clReleaseCommandQueue(queue->plain);
	if (queue->timed)
		real->clReleaseCommandQueue(queue->timed);
	context_release(queue->context);
	free(queue);
}

static cl_int CL_API_CALL queue_retain(cl_command_queue id)
{
	struct queue *queue = layer_object(id, QUEUE);

	if (!queue)
		return real->clRetainCommandQueue(id);
	object_retain(queue);
	return CL_SUCCESS;
}

static cl_int CL_API_CALL queue_release_call(cl_command_queue id)
{
	struct queue *queue = layer_object(id, QUEUE);

	if (!queue)
		return real->clReleaseCommandQueue(id);
	queue_flush(queue);
	queue_release(queue);
	return CL_SUCCESS;
}

static cl_int CL_API_CALL queue_info(cl_command_queue id, cl_command_queue_info name, size_t room,
                                     void *value, size_t *needed)
{
	struct queue *queue = layer_object(id, QUEUE);
	const cl_device_id device = layer_device();

	if (!queue)
		return real->clGetCommandQueueInfo(id, name, room, value, needed);
	switch (name) {
	case CL_QUEUE_CONTEXT:
		return info_give_value(queue->context, room, value, needed);
	case CL_QUEUE_DEVICE:
		return info_give_value(device, room, value, needed);
	case CL_QUEUE_REFERENCE_COUNT:
		return info_give_value(queue->object.references, room, value, needed);
	case CL_QUEUE_PROPERTIES:
		return info_give_value(queue->properties, room, value, needed);
	default:
		return CL_INVALID_VALUE;
	}
}

static cl_int CL_API_CALL queue_change(cl_command_queue id, cl_command_queue_properties properties,
                                       cl_bool enable, cl_command_queue_properties *before)
{
	if (!layer_object(id, QUEUE))
		return real->clSetCommandQueueProperty(id, properties, enable, before);
	return CL_INVALID_OPERATION; /* as OpenCL 1.1 and later say */
}

static cl_int CL_API_CALL queue_flush_call(cl_command_queue id)
{
	struct queue *queue = layer_object(id, QUEUE);

	return queue ? queue_flush(queue) : real->clFlush(id);
}

static cl_int CL_API_CALL queue_finish_call(cl_command_queue id)
{
	struct queue *queue = layer_object(id, QUEUE);

	return queue ? queue_finish(queue) : real->clFinish(id);
}

void context_functions(cl_icd_dispatch *table)
{
	table->clCreateContext = context_create;
	table->clCreateContextFromType = context_of_type;
	table->clRetainContext = context_retain;
	table->clReleaseContext = context_release_call;
	table->clGetContextInfo = context_info;
	table->clCreateCommandQueue = queue_create;
	table->clCreateCommandQueueWithProperties = queue_create_with;
	table->clRetainCommandQueue = queue_retain;
	table->clReleaseCommandQueue = queue_release_call;
	table->clGetCommandQueueInfo = queue_info;
	table->clSetCommandQueueProperty = queue_change;
	table->clFlush = queue_flush_call;
	table->clFinish = queue_finish_call;
}
