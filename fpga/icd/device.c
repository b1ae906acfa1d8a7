/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The platform, its devices, and contexts.
 */
#include "config.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "fpga/icd/icd.h"
#include "support/variables.h"

static struct _cl_platform_id platform;
static struct _cl_device_id devices[FPGA_MAX_DEVICES];
static cl_uint ndevices;

static size_t memory_size(void)
{
	return (size_t)(heddle_variable_number(HEDDLE_VARIABLE_FPGA_MEMORY) * 0x1p20);
}

/* ---- platform ---- */

static cl_int get_platforms(cl_uint n, cl_platform_id *to, cl_uint *count)
{
	if ((to && !n) || (!to && !count))
		return CL_INVALID_VALUE;
	if (to)
		*to = &platform;
	if (count)
		*count = 1;
	return CL_SUCCESS;
}

static cl_int get_platform_info(cl_platform_id self, cl_platform_info what, size_t room, void *to,
                                size_t *needed)
{
	if (self && !object_is(self, PLATFORM))
		return CL_INVALID_PLATFORM;
	switch (what) {
	case CL_PLATFORM_PROFILE:
		return ANSWER_TEXT("EMBEDDED_PROFILE");
	case CL_PLATFORM_VERSION:
		return ANSWER_TEXT("OpenCL 1.2 Heddle " PACKAGE_VERSION);
	case CL_PLATFORM_NAME:
		return ANSWER_TEXT("Simulated FPGA");
	case CL_PLATFORM_VENDOR:
		return ANSWER_TEXT("Heddle");
	case CL_PLATFORM_EXTENSIONS:
		return ANSWER_TEXT("cl_khr_icd");
	case CL_PLATFORM_ICD_SUFFIX_KHR:
		return ANSWER_TEXT("HEDDLE");
	default:
		return CL_INVALID_VALUE;
	}
}

/* ---- devices ---- */

static cl_int get_devices(cl_platform_id self, cl_device_type type, cl_uint n, cl_device_id *to,
                          cl_uint *count)
{
	const cl_device_type known = CL_DEVICE_TYPE_DEFAULT | CL_DEVICE_TYPE_CPU |
	                             CL_DEVICE_TYPE_GPU | CL_DEVICE_TYPE_ACCELERATOR |
	                             CL_DEVICE_TYPE_CUSTOM;

	if (self && !object_is(self, PLATFORM))
		return CL_INVALID_PLATFORM;
	if (!type || (type != CL_DEVICE_TYPE_ALL && (type & ~known)))
		return CL_INVALID_DEVICE_TYPE;
	if ((to && !n) || (!to && !count))
		return CL_INVALID_VALUE;
	if (!ndevices || !(type & (CL_DEVICE_TYPE_DEFAULT | CL_DEVICE_TYPE_ACCELERATOR)))
		return CL_DEVICE_NOT_FOUND;
	for (cl_uint d = 0; to && d < ndevices && d < n; d++)
		to[d] = &devices[d];
	if (count)
		*count = ndevices;
	return CL_SUCCESS;
}

/* What it is, and how it computes: one work-item at a time. */
static cl_int answer_device(cl_device_info what, size_t room, void *to, size_t *needed)
{
	double clock = heddle_variable_number(HEDDLE_VARIABLE_FPGA_CLOCK);

	switch (what) {
	case CL_DEVICE_TYPE:
		return ANSWER(cl_device_type, CL_DEVICE_TYPE_ACCELERATOR);
	case CL_DEVICE_PLATFORM:
		return ANSWER(cl_platform_id, &platform);
	case CL_DEVICE_PARENT_DEVICE:
		return ANSWER(cl_device_id, NULL);
	case CL_DEVICE_AVAILABLE:
	case CL_DEVICE_ENDIAN_LITTLE:
		return ANSWER(cl_bool, CL_TRUE);
	case CL_DEVICE_COMPILER_AVAILABLE:
	case CL_DEVICE_LINKER_AVAILABLE:
	case CL_DEVICE_ERROR_CORRECTION_SUPPORT:
	case CL_DEVICE_PREFERRED_INTEROP_USER_SYNC:
		return ANSWER(cl_bool, CL_FALSE);
	case CL_DEVICE_EXECUTION_CAPABILITIES:
		return ANSWER(cl_device_exec_capabilities, CL_EXEC_KERNEL);
	case CL_DEVICE_QUEUE_PROPERTIES:
		return ANSWER(cl_command_queue_properties, CL_QUEUE_PROFILING_ENABLE);
	case CL_DEVICE_MAX_WORK_GROUP_SIZE:
	case CL_DEVICE_PROFILING_TIMER_RESOLUTION:
		return ANSWER(size_t, 1);
	case CL_DEVICE_PRINTF_BUFFER_SIZE:
		return ANSWER(size_t, 0);
	case CL_DEVICE_MAX_PARAMETER_SIZE:
		return ANSWER(size_t, FPGA_MAX_ARGUMENTS * sizeof(cl_ulong));
	case CL_DEVICE_MAX_COMPUTE_UNITS:
	case CL_DEVICE_REFERENCE_COUNT:
		return ANSWER(cl_uint, 1);
	case CL_DEVICE_MAX_WORK_ITEM_DIMENSIONS:
		return ANSWER(cl_uint, 3);
	case CL_DEVICE_VENDOR_ID:
		return ANSWER(cl_uint, 0);
	case CL_DEVICE_MAX_CLOCK_FREQUENCY: /* MHz */
		return ANSWER(cl_uint, clock > 0 ? ceil(clock) : 250);
	default:
		return CL_INVALID_VALUE;
	}
}

/* Its memory, of which all is global. */
static cl_int answer_memory(cl_device_info what, size_t room, void *to, size_t *needed)
{
	switch (what) {
	case CL_DEVICE_GLOBAL_MEM_SIZE:
	case CL_DEVICE_MAX_MEM_ALLOC_SIZE:
		return ANSWER(cl_ulong, memory_size());
	case CL_DEVICE_LOCAL_MEM_SIZE:
	case CL_DEVICE_GLOBAL_MEM_CACHE_SIZE:
	case CL_DEVICE_MAX_CONSTANT_BUFFER_SIZE:
		return ANSWER(cl_ulong, 0);
	case CL_DEVICE_GLOBAL_MEM_CACHE_TYPE:
		return ANSWER(cl_device_mem_cache_type, CL_NONE);
	case CL_DEVICE_LOCAL_MEM_TYPE:
		return ANSWER(cl_device_local_mem_type, CL_NONE);
	case CL_DEVICE_HOST_UNIFIED_MEMORY:
		return ANSWER(cl_bool, CL_FALSE);
	case CL_DEVICE_ADDRESS_BITS:
		return ANSWER(cl_uint, 64);
	case CL_DEVICE_MEM_BASE_ADDR_ALIGN:
		return ANSWER(cl_uint, 8 * 128);
	case CL_DEVICE_MIN_DATA_TYPE_ALIGN_SIZE:
		return ANSWER(cl_uint, 128);
	case CL_DEVICE_MAX_CONSTANT_ARGS:
	case CL_DEVICE_GLOBAL_MEM_CACHELINE_SIZE:
		return ANSWER(cl_uint, 0);
	default:
		return CL_INVALID_VALUE;
	}
}

/* What it does not have: images, parts, arithmetic of its own. */
static cl_int answer_absent(cl_device_info what, size_t room, void *to, size_t *needed)
{
	switch (what) {
	case CL_DEVICE_IMAGE_SUPPORT:
		return ANSWER(cl_bool, CL_FALSE);
	case CL_DEVICE_IMAGE2D_MAX_WIDTH:
	case CL_DEVICE_IMAGE2D_MAX_HEIGHT:
	case CL_DEVICE_IMAGE3D_MAX_WIDTH:
	case CL_DEVICE_IMAGE3D_MAX_HEIGHT:
	case CL_DEVICE_IMAGE3D_MAX_DEPTH:
	case CL_DEVICE_IMAGE_MAX_BUFFER_SIZE:
	case CL_DEVICE_IMAGE_MAX_ARRAY_SIZE:
		return ANSWER(size_t, 0);
	case CL_DEVICE_MAX_READ_IMAGE_ARGS:
	case CL_DEVICE_MAX_WRITE_IMAGE_ARGS:
	case CL_DEVICE_MAX_SAMPLERS:
	case CL_DEVICE_PARTITION_MAX_SUB_DEVICES:
		return ANSWER(cl_uint, 0);
	case CL_DEVICE_PARTITION_AFFINITY_DOMAIN:
		return ANSWER(cl_device_affinity_domain, 0);
	case CL_DEVICE_PARTITION_PROPERTIES:
	case CL_DEVICE_PARTITION_TYPE:
		return ANSWER(cl_device_partition_property, 0);
	case CL_DEVICE_SINGLE_FP_CONFIG:
	case CL_DEVICE_DOUBLE_FP_CONFIG:
		return ANSWER(cl_device_fp_config, 0);
	default:
		return CL_INVALID_VALUE;
	}
}

/* Vectors of OpenCL C mean nothing to it; there are no halves and doubles. */
static cl_int answer_vectors(cl_device_info what, size_t room, void *to, size_t *needed)
{
	switch (what) {
	case CL_DEVICE_PREFERRED_VECTOR_WIDTH_CHAR:
	case CL_DEVICE_PREFERRED_VECTOR_WIDTH_SHORT:
	case CL_DEVICE_PREFERRED_VECTOR_WIDTH_INT:
	case CL_DEVICE_PREFERRED_VECTOR_WIDTH_LONG:
	case CL_DEVICE_PREFERRED_VECTOR_WIDTH_FLOAT:
	case CL_DEVICE_NATIVE_VECTOR_WIDTH_CHAR:
	case CL_DEVICE_NATIVE_VECTOR_WIDTH_SHORT:
	case CL_DEVICE_NATIVE_VECTOR_WIDTH_INT:
	case CL_DEVICE_NATIVE_VECTOR_WIDTH_LONG:
	case CL_DEVICE_NATIVE_VECTOR_WIDTH_FLOAT:
		return ANSWER(cl_uint, 1);
	case CL_DEVICE_PREFERRED_VECTOR_WIDTH_HALF:
	case CL_DEVICE_NATIVE_VECTOR_WIDTH_HALF:
	case CL_DEVICE_PREFERRED_VECTOR_WIDTH_DOUBLE:
	case CL_DEVICE_NATIVE_VECTOR_WIDTH_DOUBLE:
		return ANSWER(cl_uint, 0);
	default:
		return CL_INVALID_VALUE;
	}
}

static cl_int answer_number(cl_device_info what, size_t room, void *to, size_t *needed)
{
	static cl_int (*const answers[])(cl_device_info, size_t, void *, size_t *) = {
	    answer_device, answer_memory, answer_absent, answer_vectors};
	cl_int error = CL_INVALID_VALUE;

	for (size_t i = 0; i < sizeof(answers) / sizeof(*answers) && error; i++)
		error = answers[i](what, room, to, needed);
	return error;
}

static cl_ulong modelled_so_far(cl_device_id device)
{
	cl_ulong ns;

	pthread_mutex_lock(&device->mutex);
	ns = device->modelled;
	pthread_mutex_unlock(&device->mutex);
	return ns;
}

static cl_int get_device_info(cl_device_id self, cl_device_info what, size_t room, void *to,
                              size_t *needed)
{
	if (!object_is(self, DEVICE))
		return CL_INVALID_DEVICE;
	switch (what) {
	case CL_DEVICE_NAME:
		return ANSWER_TEXT(self->name);
	case CL_DEVICE_VENDOR:
		return ANSWER_TEXT("Heddle");
	case CL_DEVICE_VERSION:
		return ANSWER_TEXT("OpenCL 1.2 Heddle");
	case CL_DRIVER_VERSION:
		return ANSWER_TEXT(PACKAGE_VERSION);
	case CL_DEVICE_PROFILE:
		return ANSWER_TEXT("EMBEDDED_PROFILE");
	case CL_DEVICE_OPENCL_C_VERSION:
		return ANSWER_TEXT("OpenCL C 1.2");
	case CL_DEVICE_EXTENSIONS:
	case CL_DEVICE_BUILT_IN_KERNELS:
		return ANSWER_TEXT("");
	case CL_DEVICE_MODELLED_HEDDLE:
		return ANSWER(cl_ulong, modelled_so_far(self));
	case CL_DEVICE_MAX_WORK_ITEM_SIZES:
		return object_answer((size_t[]){1, 1, 1}, 3 * sizeof(size_t), room, to, needed);
	default:
		return answer_number(what, room, to, needed);
	}
}

static cl_int keep_device(cl_device_id self)
{
	return object_is(self, DEVICE) ? CL_SUCCESS : CL_INVALID_DEVICE;
}

void device_modelled(cl_device_id device, cl_ulong ns)
{
	pthread_mutex_lock(&device->mutex);
	device->modelled += ns;
	pthread_mutex_unlock(&device->mutex);
}

cl_ulong device_transfer(cl_device_id device, size_t size, void (*move)(void *arg), void *arg)
{
	double rate = heddle_variable_number(HEDDLE_VARIABLE_FPGA_BANDWIDTH); /* MB/s */
	double latency = heddle_variable_number(HEDDLE_VARIABLE_FPGA_LATENCY);
	cl_ulong ns = 1e3 * (latency + (rate > 0 ? size / rate : 0)), end;

	pthread_mutex_lock(&device->dma);
	end = object_now() + ns;
	if (move)
		move(arg);
	/* The host's own copy took part of the time that the modelled one takes. */
	clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME,
	                &(struct timespec){.tv_sec = end / 1000000000, .tv_nsec = end % 1000000000},
	                NULL);
	pthread_mutex_unlock(&device->dma);
	return ns;
}

/* ---- contexts ---- */

bool device_in_context(cl_context context, cl_device_id device)
{
	for (cl_uint d = 0; d < context->ndevices; d++)
		if (context->devices[d] == device)
			return true;
	return false;
}

static cl_int check_properties(const cl_context_properties *p)
{
	for (; p && *p; p += 2) {
		if (p[0] == CL_CONTEXT_PLATFORM) {
			if (!object_is((void *)p[1], PLATFORM))
				return CL_INVALID_PLATFORM;
		} else if (p[0] != CL_CONTEXT_INTEROP_USER_SYNC) {
			return CL_INVALID_PROPERTY;
		}
	}
	return CL_SUCCESS;
}

static cl_context
create_context(const cl_context_properties *properties, cl_uint n, const cl_device_id *of,
               void(CL_CALLBACK *notify)(const char *, const void *, size_t, void *), void *arg,
               cl_int *error)
{
	cl_int wrong = check_properties(properties);
	cl_context self;

	if (wrong)
		return object_result(NULL, wrong, error);
	if (!n || !of || (arg && !notify))
		return object_result(NULL, CL_INVALID_VALUE, error);
	for (cl_uint d = 0; d < n; d++)
		if (!object_is(of[d], DEVICE))
			return object_result(NULL, CL_INVALID_DEVICE, error);
	self = object_new(CONTEXT, sizeof(*self), NULL);
	if (!self)
		return object_result(NULL, CL_OUT_OF_HOST_MEMORY, error);
	for (cl_uint d = 0; d < n; d++)
		if (!device_in_context(self, of[d]))
			self->devices[self->ndevices++] = of[d];
	return object_result(self, CL_SUCCESS, error);
}

static cl_context
create_context_from_type(const cl_context_properties *properties, cl_device_type type,
                         void(CL_CALLBACK *notify)(const char *, const void *, size_t, void *),
                         void *arg, cl_int *error)
{
	cl_device_id found[FPGA_MAX_DEVICES];
	cl_uint n = 0;
	cl_int wrong = get_devices(NULL, type, FPGA_MAX_DEVICES, found, &n);

	if (wrong)
		return object_result(NULL, wrong, error);
	return create_context(properties, n, found, notify, arg, error);
}

static cl_int retain_context(cl_context self)
{
	if (!object_is(self, CONTEXT))
		return CL_INVALID_CONTEXT;
	object_retain(self);
	return CL_SUCCESS;
}

static cl_int release_context(cl_context self)
{
	if (!object_is(self, CONTEXT))
		return CL_INVALID_CONTEXT;
	object_release(self);
	return CL_SUCCESS;
}

static cl_int get_context_info(cl_context self, cl_context_info what, size_t room, void *to,
                               size_t *needed)
{
	if (!object_is(self, CONTEXT))
		return CL_INVALID_CONTEXT;
	switch (what) {
	case CL_CONTEXT_REFERENCE_COUNT:
		return ANSWER(cl_uint, self->object.references);
	case CL_CONTEXT_NUM_DEVICES:
		return ANSWER(cl_uint, self->ndevices);
	case CL_CONTEXT_DEVICES:
		return object_answer(self->devices, self->ndevices * sizeof(*self->devices), room,
		                     to, needed);
	case CL_CONTEXT_PROPERTIES:
		return object_answer("", 0, room, to, needed);
	default:
		return CL_INVALID_VALUE;
	}
}

void device_functions(cl_icd_dispatch *table)
{
	table->clGetPlatformIDs = get_platforms;
	table->clGetPlatformInfo = get_platform_info;
	table->clGetDeviceIDs = get_devices;
	table->clGetDeviceInfo = get_device_info;
	table->clRetainDevice = keep_device;
	table->clReleaseDevice = keep_device;
	table->clCreateContext = create_context;
	table->clCreateContextFromType = create_context_from_type;
	table->clRetainContext = retain_context;
	table->clReleaseContext = release_context;
	table->clGetContextInfo = get_context_info;
}

void device_begin(void)
{
	double wanted = heddle_variable_number(HEDDLE_VARIABLE_FPGA_DEVICES);

	platform.object = (struct object){.dispatch = &fpga_dispatch, .type = PLATFORM};
	ndevices = wanted < 0 ? 0 : wanted > FPGA_MAX_DEVICES ? FPGA_MAX_DEVICES : wanted;
	for (cl_uint d = 0; d < ndevices; d++) {
		devices[d].object = (struct object){.dispatch = &fpga_dispatch, .type = DEVICE};
		snprintf(devices[d].name, sizeof(devices[d].name), "Simulated FPGA %u", d);
		pthread_mutex_init(&devices[d].mutex, NULL);
		pthread_mutex_init(&devices[d].dma, NULL);
		pthread_mutex_init(&devices[d].logic, NULL);
	}
}
