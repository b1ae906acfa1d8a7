/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The platform "Heddle" and its one device, made of what the real devices are.
 */
#include "config.h"

#include "partition/opencl/layer.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "support/variables.h"

#define DEVICE_NAME "Heddle (all devices)"

static struct object platform = {&layer_objects, PLATFORM, 1}, device = {&layer_objects, DEVICE, 1};
static struct devices devices;
static size_t group_limit, item_limits[3]; /* of all of them */
static pid_t owner;                        /* the process that found them */
static bool beside;
static pthread_once_t once = PTHREAD_ONCE_INIT;

/* ---- the real devices ---- */

static cl_device_type device_type(cl_device_id id)
{
	cl_device_type type = 0;

	real->clGetDeviceInfo(id, CL_DEVICE_TYPE, sizeof(type), &type, NULL);
	return type;
}

static cl_uint device_uint(cl_device_id id, cl_device_info what)
{
	cl_uint value = 0;

	real->clGetDeviceInfo(id, what, sizeof(value), &value, NULL);
	return value;
}

/* Programs come as source, and for OpenCL 1.2. */
static bool device_suits(cl_device_id id)
{
	cl_bool compiler = CL_FALSE, available = CL_FALSE;
	char version[128] = "";

	real->clGetDeviceInfo(id, CL_DEVICE_VERSION, sizeof(version), version, NULL);
	if (!strncmp(version, "OpenCL 1.0", 10) || !strncmp(version, "OpenCL 1.1", 10))
		return false;

	real->clGetDeviceInfo(id, CL_DEVICE_COMPILER_AVAILABLE, sizeof(compiler), &compiler, NULL);
	real->clGetDeviceInfo(id, CL_DEVICE_AVAILABLE, sizeof(available), &available, NULL);
	return compiler && available;
}

/* A GPU before others, and more units before fewer. */
static bool device_better(cl_device_id a, cl_device_id b)
{
	bool gpu = device_type(a) & CL_DEVICE_TYPE_GPU;

	if (gpu != !!(device_type(b) & CL_DEVICE_TYPE_GPU))
		return gpu;
	return device_uint(a, CL_DEVICE_MAX_COMPUTE_UNITS) >
	       device_uint(b, CL_DEVICE_MAX_COMPUTE_UNITS);
}

static void devices_add(cl_platform_id of)
{
	cl_device_id ids[MAXDEVICES];
	cl_uint n = 0;

	if (real->clGetDeviceIDs(of, CL_DEVICE_TYPE_ALL, MAXDEVICES, ids, &n))
		return;
	for (cl_uint d = 0; d < n && d < MAXDEVICES && devices.n < MAXDEVICES; d++) {
		if (!device_suits(ids[d]))
			continue;
		devices.platforms[devices.n] = of;
		devices.ids[devices.n++] = ids[d];
	}
}

static void home_choose(void)
{
	unsigned best = 0;
	cl_device_id id;
	cl_platform_id of;

	for (unsigned d = 1; d < devices.n; d++)
		if (device_better(devices.ids[d], devices.ids[best]))
			best = d;
	id = devices.ids[best];
	of = devices.platforms[best];
	devices.ids[best] = devices.ids[0];
	devices.platforms[best] = devices.platforms[0];
	devices.ids[0] = id;
	devices.platforms[0] = of;
	devices.on_host = device_type(id) & CL_DEVICE_TYPE_CPU;
}

static void limits_find(void);

void layer_end(void)
{
	/* What a forked process has inherited may be locked for ever. */
	if (owner != getpid())
		return;
	if (engine_stop())
		split_end();
	report_print();
	owner = 0;
}

static void devices_find(void)
{
	cl_platform_id platforms[MAXDEVICES];
	cl_uint n = 0;

	beside = !strcmp(heddle_variable_text(HEDDLE_VARIABLE_OPENCL_SHOW), "beside");
	if (real->clGetPlatformIDs(MAXDEVICES, platforms, &n))
		return;
	for (cl_uint p = 0; p < n && p < MAXDEVICES; p++)
		devices_add(platforms[p]);
	if (!devices.n)
		return;
	home_choose();
	limits_find();
	owner = getpid();
	/* After the real OpenCL's own, so that it is called before them. */
	atexit(layer_end);
}

const struct devices *layer_devices(void)
{
	pthread_once(&once, devices_find);
	return &devices;
}

cl_platform_id layer_platform(void)
{
	return (cl_platform_id)&platform;
}

cl_device_id layer_device(void)
{
	return (cl_device_id)&device;
}

/* Whether a call that lists platforms sees the layer's. */
static bool seen(void)
{
	return !layer_inside && layer_devices()->n;
}

/* ---- platforms ---- */

static cl_int CL_API_CALL platform_ids(cl_uint room, cl_platform_id *ids, cl_uint *n)
{
	cl_uint others = 0;
	cl_int error = CL_SUCCESS;

	if (!seen())
		return real->clGetPlatformIDs(room, ids, n);
	if ((ids && !room) || (!ids && !n))
		return CL_INVALID_VALUE;
	if (ids)
		ids[0] = layer_platform();
	if (beside)
		error = real->clGetPlatformIDs(ids ? room - 1 : 0, ids && room > 1 ? ids + 1 : NULL,
		                               &others);
	if (n)
		*n = 1 + others;
	return error;
}

static cl_int CL_API_CALL platform_info(cl_platform_id id, cl_platform_info name, size_t room,
                                        void *value, size_t *needed)
{
	const char *text;

	if (id ? !layer_object(id, PLATFORM) : !seen())
		return real->clGetPlatformInfo(id, name, room, value, needed);
	switch (name) {
	case CL_PLATFORM_PROFILE:
		text = "FULL_PROFILE";
		break;
	case CL_PLATFORM_VERSION:
		text = "OpenCL 1.2 Heddle " PACKAGE_VERSION;
		break;
	case CL_PLATFORM_NAME:
	case CL_PLATFORM_VENDOR:
		text = "Heddle";
		break;
	case CL_PLATFORM_EXTENSIONS:
		text = "cl_khr_icd";
		break;
	case CL_PLATFORM_ICD_SUFFIX_KHR:
		text = "HEDDLE";
		break;
	default:
		return CL_INVALID_VALUE;
	}
	return info_give(text, strlen(text) + 1, room, value, needed);
}

static cl_int CL_API_CALL platform_unload(cl_platform_id id)
{
	if (!layer_object(id, PLATFORM))
		return real->clUnloadPlatformCompiler(id);
	return CL_SUCCESS;
}

static void *CL_API_CALL extension_of(cl_platform_id id, const char *name)
{
	if (!layer_object(id, PLATFORM))
		return real->clGetExtensionFunctionAddressForPlatform(id, name);
	return NULL;
}

/* A function of the real OpenCL's could be called with the layer's objects. */
static void *CL_API_CALL extension(const char *name)
{
	return seen() && !beside ? NULL : real->clGetExtensionFunctionAddress(name);
}

/* ---- the device ---- */

static cl_int CL_API_CALL device_ids(cl_platform_id id, cl_device_type type, cl_uint room,
                                     cl_device_id *ids, cl_uint *n)
{
	const cl_device_type known = CL_DEVICE_TYPE_DEFAULT | CL_DEVICE_TYPE_CPU |
	                             CL_DEVICE_TYPE_GPU | CL_DEVICE_TYPE_ACCELERATOR |
	                             CL_DEVICE_TYPE_CUSTOM;

	if (id ? !layer_object(id, PLATFORM) : !seen())
		return real->clGetDeviceIDs(id, type, room, ids, n);
	if (!type || (type != CL_DEVICE_TYPE_ALL && type & ~known))
		return CL_INVALID_DEVICE_TYPE;
	if ((ids && !room) || (!ids && !n))
		return CL_INVALID_VALUE;
	if (n)
		*n = 0;
	/* Whoever asks for a processor or a GPU gets all. */
	if (!(type & (CL_DEVICE_TYPE_DEFAULT | CL_DEVICE_TYPE_CPU | CL_DEVICE_TYPE_GPU)))
		return CL_DEVICE_NOT_FOUND;
	if (ids)
		ids[0] = layer_device();
	if (n)
		*n = 1;
	return CL_SUCCESS;
}

/* An answer that is the least, the bits in common or the most of all devices' ones. */
enum join { LEAST, COMMON, MOST };

static uint64_t joined(uint64_t a, uint64_t b, enum join how)
{
	switch (how) {
	case LEAST:
		return a < b ? a : b;
	case COMMON:
		return a & b;
	default:
		return a > b ? a : b;
	}
}

static uint64_t device_join(cl_device_info what, enum join how)
{
	uint64_t all = 0;

	for (unsigned d = 0; d < devices.n; d++) {
		uint64_t one = 0; /* of fewer bytes, where the first one is the lowest */

		real->clGetDeviceInfo(devices.ids[d], what, sizeof(one), &one, NULL);
		all = d ? joined(all, one, how) : one;
	}
	return all;
}

size_t layer_group_limit(void)
{
	return group_limit;
}

size_t layer_item_limit(unsigned dimension)
{
	return item_limits[dimension];
}

static void limits_find(void)
{
	group_limit = device_join(CL_DEVICE_MAX_WORK_GROUP_SIZE, LEAST);
	for (unsigned d = 0; d < devices.n; d++) {
		size_t sizes[16] = {0};

		real->clGetDeviceInfo(devices.ids[d], CL_DEVICE_MAX_WORK_ITEM_SIZES, sizeof(sizes),
		                      sizes, NULL);
		for (unsigned i = 0; i < 3; i++)
			if (!d || sizes[i] < item_limits[i])
				item_limits[i] = sizes[i];
	}
}

static bool device_has(cl_device_id id, const char *extension)
{
	size_t bytes = 0, length = strlen(extension);
	bool has = false;
	char *text, *at;

	if (real->clGetDeviceInfo(id, CL_DEVICE_EXTENSIONS, 0, NULL, &bytes))
		return false;
	text = calloc(bytes + 1, 1);
	if (!text)
		return false;
	real->clGetDeviceInfo(id, CL_DEVICE_EXTENSIONS, bytes, text, NULL);
	for (at = text; !has && (at = strstr(at, extension)); at += length)
		has = (at == text || at[-1] == ' ') && (!at[length] || at[length] == ' ');
	free(text);
	return has;
}

/* Those of the language alone, which all devices have. */
static cl_int extensions_give(size_t room, void *value, size_t *needed)
{
	static const char *const language[] = {"cl_khr_byte_addressable_store",
	                                       "cl_khr_global_int32_base_atomics",
	                                       "cl_khr_global_int32_extended_atomics",
	                                       "cl_khr_local_int32_base_atomics",
	                                       "cl_khr_local_int32_extended_atomics",
	                                       "cl_khr_int64_base_atomics",
	                                       "cl_khr_int64_extended_atomics",
	                                       "cl_khr_fp16",
	                                       "cl_khr_fp64"};
	char text[512] = "";
	size_t length = 0;

	for (size_t e = 0; e < sizeof(language) / sizeof(*language); e++) {
		bool all = true;

		for (unsigned d = 0; d < devices.n && all; d++)
			all = device_has(devices.ids[d], language[e]);
		if (all)
			length += snprintf(text + length, sizeof(text) - length, "%s%s",
			                   length ? " " : "", language[e]);
	}
	return info_give(text, length + 1, room, value, needed);
}

/* Programs that keep binaries look at it: it names home, which they are for. */
static cl_int driver_give(size_t room, void *value, size_t *needed)
{
	char name[128] = "", version[128] = "", text[320];

	real->clGetDeviceInfo(devices.ids[0], CL_DEVICE_NAME, sizeof(name), name, NULL);
	real->clGetDeviceInfo(devices.ids[0], CL_DRIVER_VERSION, sizeof(version), version, NULL);
	snprintf(text, sizeof(text), "%s on %s %s", PACKAGE_VERSION, name, version);
	return info_give(text, strlen(text) + 1, room, value, needed);
}

static cl_int text_give(const char *text, size_t room, void *value, size_t *needed)
{
	return info_give(text, strlen(text) + 1, room, value, needed);
}

/* What says who the device is. @return 1: something else is asked for */
static cl_int identity_give(cl_device_info name, size_t room, void *value, size_t *needed)
{
	/* Programs choose their code by it. */
	const cl_device_type type =
	    device_type(devices.ids[0]) & ~(cl_device_type)CL_DEVICE_TYPE_DEFAULT;
	const cl_uint vendor = 0x48454444, one = 1;
	const cl_platform_id of = layer_platform();

	switch (name) {
	case CL_DEVICE_TYPE:
		return info_give_value(type, room, value, needed);
	case CL_DEVICE_VENDOR_ID:
		return info_give_value(vendor, room, value, needed);
	case CL_DEVICE_NAME:
		return text_give(DEVICE_NAME, room, value, needed);
	case CL_DEVICE_VENDOR:
		return text_give("Heddle", room, value, needed);
	case CL_DEVICE_VERSION:
		return text_give("OpenCL 1.2 Heddle " PACKAGE_VERSION, room, value, needed);
	case CL_DEVICE_OPENCL_C_VERSION:
		return text_give("OpenCL C 1.2 Heddle", room, value, needed);
	case CL_DEVICE_PROFILE:
		return text_give("FULL_PROFILE", room, value, needed);
	case CL_DRIVER_VERSION:
		return driver_give(room, value, needed);
	case CL_DEVICE_EXTENSIONS:
		return extensions_give(room, value, needed);
	case CL_DEVICE_BUILT_IN_KERNELS:
		return text_give("", room, value, needed);
	case CL_DEVICE_PLATFORM:
		return info_give_value(of, room, value, needed);
	case CL_DEVICE_REFERENCE_COUNT:
		return info_give_value(one, room, value, needed);
	default:
		return 1;
	}
}

/* What the layer can do. @return 1: something else is asked for */
static cl_int abilities_give(cl_device_info name, size_t room, void *value, size_t *needed)
{
	const cl_uint none = 0;
	/* Where it is not a CPU's, the layer keeps the data of CL_MEM_USE_HOST_PTR elsewhere. */
	const cl_bool unified = devices.on_host;
	const cl_device_id nobody = NULL;
	const size_t timer_ns = 1;
	const cl_device_partition_property part = 0;
	const cl_device_affinity_domain domain = 0;
	const cl_device_exec_capabilities kernels = CL_EXEC_KERNEL;
	const cl_command_queue_properties queues =
	    CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE | CL_QUEUE_PROFILING_ENABLE;

	switch (name) {
	case CL_DEVICE_HOST_UNIFIED_MEMORY:
		return info_give_value(unified, room, value, needed);
	case CL_DEVICE_QUEUE_PROPERTIES:
		return info_give_value(queues, room, value, needed);
	case CL_DEVICE_EXECUTION_CAPABILITIES:
		return info_give_value(kernels, room, value, needed);
	case CL_DEVICE_PROFILING_TIMER_RESOLUTION:
		return info_give_value(timer_ns, room, value, needed);
	case CL_DEVICE_PARENT_DEVICE:
		return info_give_value(nobody, room, value, needed);
	case CL_DEVICE_PARTITION_MAX_SUB_DEVICES:
		return info_give_value(none, room, value, needed);
	case CL_DEVICE_PARTITION_PROPERTIES:
		return info_give_value(part, room, value, needed);
	case CL_DEVICE_PARTITION_AFFINITY_DOMAIN:
		return info_give_value(domain, room, value, needed);
	case CL_DEVICE_PARTITION_TYPE:
		return info_give(&part, 0, room, value, needed);
	default:
		return 1;
	}
}

/* Answers that are as long as OpenCL says. */
static cl_int number_give(uint64_t number, size_t bytes, size_t room, void *value, size_t *needed)
{
	const cl_uint narrow = number;

	return bytes == sizeof(narrow) ? info_give_value(narrow, room, value, needed)
	                               : info_give_value(number, room, value, needed);
}

/* What all devices can bear. @return 1: something else is asked for */
static cl_int limits_give(cl_device_info name, size_t room, void *value, size_t *needed)
{
	static const struct {
		cl_device_info name;
		enum join how;
		size_t bytes;
	} rows[] = {
	    {CL_DEVICE_MAX_WORK_GROUP_SIZE, LEAST, sizeof(size_t)},
	    {CL_DEVICE_MAX_PARAMETER_SIZE, LEAST, sizeof(size_t)},
	    {CL_DEVICE_MAX_CONSTANT_BUFFER_SIZE, LEAST, 8},
	    {CL_DEVICE_MAX_CONSTANT_ARGS, LEAST, 4},
	    {CL_DEVICE_LOCAL_MEM_SIZE, LEAST, 8},
	    {CL_DEVICE_MEM_BASE_ADDR_ALIGN, MOST, 4},
	    {CL_DEVICE_SINGLE_FP_CONFIG, COMMON, 8},
	    {CL_DEVICE_DOUBLE_FP_CONFIG, COMMON, 8},
	    {CL_DEVICE_HALF_FP_CONFIG, COMMON, 8},
	};

	for (size_t r = 0; r < sizeof(rows) / sizeof(*rows); r++)
		if (rows[r].name == name)
			return number_give(device_join(name, rows[r].how), rows[r].bytes, room,
			                   value, needed);
	return 1;
}

/* As many times home's as all devices' units allow. Some programs make as many groups as there are
 * units: each of home's, which computes what is not split, is to get the same number of them. */
static cl_int units_give(size_t room, void *value, size_t *needed)
{
	cl_uint home = device_uint(devices.ids[0], CL_DEVICE_MAX_COMPUTE_UNITS), all = 0;

	for (unsigned d = 0; d < devices.n; d++)
		all += device_uint(devices.ids[d], CL_DEVICE_MAX_COMPUTE_UNITS);
	if (home)
		all -= all % home;
	return info_give_value(all, room, value, needed);
}

static cl_int item_limits_give(size_t room, void *value, size_t *needed)
{
	size_t sizes[3] = {layer_item_limit(0), layer_item_limit(1), layer_item_limit(2)};

	return info_give_value(sizes, room, value, needed);
}

static cl_int CL_API_CALL device_info(cl_device_id id, cl_device_info name, size_t room,
                                      void *value, size_t *needed)
{
	const cl_uint dimensions = 3;
	cl_int error;

	if (!layer_object(id, DEVICE))
		return real->clGetDeviceInfo(id, name, room, value, needed);
	/* What newer versions and vendors added is not known to suit all devices. */
	if (name < CL_DEVICE_TYPE || name > CL_DEVICE_PRINTF_BUFFER_SIZE)
		return CL_INVALID_VALUE;
	error = identity_give(name, room, value, needed);
	if (error == 1)
		error = abilities_give(name, room, value, needed);
	if (error == 1)
		error = limits_give(name, room, value, needed);
	if (error != 1)
		return error;
	if (name == CL_DEVICE_MAX_COMPUTE_UNITS)
		return units_give(room, value, needed);
	if (name == CL_DEVICE_MAX_WORK_ITEM_DIMENSIONS)
		return info_give_value(dimensions, room, value, needed);
	if (name == CL_DEVICE_MAX_WORK_ITEM_SIZES)
		return item_limits_give(room, value, needed);
	return real->clGetDeviceInfo(devices.ids[0], name, room, value, needed);
}

static cl_int CL_API_CALL device_retain(cl_device_id id)
{
	return layer_object(id, DEVICE) ? CL_SUCCESS : real->clRetainDevice(id);
}

static cl_int CL_API_CALL device_release(cl_device_id id)
{
	return layer_object(id, DEVICE) ? CL_SUCCESS : real->clReleaseDevice(id);
}

void platform_functions(cl_icd_dispatch *table)
{
	table->clGetPlatformIDs = platform_ids;
	table->clGetPlatformInfo = platform_info;
	table->clUnloadPlatformCompiler = platform_unload;
	table->clGetExtensionFunctionAddressForPlatform = extension_of;
	table->clGetExtensionFunctionAddress = extension;
	table->clGetDeviceIDs = device_ids;
	table->clGetDeviceInfo = device_info;
	table->clRetainDevice = device_retain;
	table->clReleaseDevice = device_release;
	table->clRetainDeviceEXT = device_retain;
	table->clReleaseDeviceEXT = device_release;
}
