/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The interface to the loader: two tables of functions. The loader gets one with the layer's
 * functions, and the real ones wherever the layer has none. The layer's objects point to the other,
 * in which functions that the layer does not have refuse them.
 */
#include "config.h"

/* It says which OpenCL the headers are for. */
#include "partition/opencl/layer.h"

#include <stdlib.h>
#include <string.h>
#include <CL/cl_layer.h>

#define EXPORT __attribute__((visibility("default")))

const cl_icd_dispatch *real;
cl_icd_dispatch layer_objects;
__thread bool layer_inside;

/* What the loader has; it may have fewer functions than we know. */
static cl_icd_dispatch below, shown;

/* ---- objects ---- */

void *object_make(enum kind kind, size_t bytes)
{
	/* calloc() is slower: it takes no chunk that the thread has freed. */
	struct object *object = malloc(bytes);

	return object ? object_begin(object, kind, bytes) : NULL;
}

void *object_begin(void *memory, enum kind kind, size_t bytes)
{
	struct object *object = memset(memory, 0, bytes);

	*object = (struct object){&layer_objects, kind, 1};
	return object;
}

void object_retain(void *object)
{
	__atomic_add_fetch(&((struct object *)object)->references, 1, __ATOMIC_RELAXED);
}

bool object_release(void *object)
{
	return !__atomic_sub_fetch(&((struct object *)object)->references, 1, __ATOMIC_ACQ_REL);
}

cl_int info_give(const void *value, size_t bytes, size_t room, void *to, size_t *needed)
{
	if (to && room < bytes)
		return CL_INVALID_VALUE;
	if (to && bytes)
		memcpy(to, value, bytes);
	if (needed)
		*needed = bytes;
	return CL_SUCCESS;
}

void *error_give(cl_int error, cl_int *to)
{
	if (to)
		*to = error;
	return NULL;
}

/* ---- the loader's calls ---- */

EXPORT cl_int CL_API_CALL clGetLayerInfo(cl_layer_info name, size_t room, void *value,
                                         size_t *needed)
{
	static const cl_layer_api_version version = CL_LAYER_API_VERSION_100;
	static const char title[] = "Heddle";

	switch (name) {
	case CL_LAYER_API_VERSION:
		return info_give_value(version, room, value, needed);
	case CL_LAYER_NAME:
		return info_give(title, sizeof(title), room, value, needed);
	default:
		return CL_INVALID_VALUE;
	}
}

static void functions_add(cl_icd_dispatch *table)
{
	platform_functions(table);
	context_functions(table);
	memory_functions(table);
	program_functions(table);
	kernel_functions(table);
	event_functions(table);
	image_functions(table);
	enqueue_functions(table);
	launch_functions(table);
}

static cl_int layer_begin(cl_uint n, const cl_icd_dispatch *target, cl_uint *provided,
                          const cl_icd_dispatch **dispatch)
{
	size_t known = sizeof(below) / sizeof(below.clGetPlatformIDs);

	/* All that OpenCL 1.2 has. */
	if (!target || !provided || !dispatch ||
	    n * sizeof(void *) < offsetof(cl_icd_dispatch, clGetDeviceIDsFromD3D11KHR))
		return CL_INVALID_VALUE;
	/* Objects of two loaders in one process could not be told apart. */
	if (real)
		return CL_INVALID_OPERATION;
	if (n > known)
		n = known;
	memcpy(&below, target, n * sizeof(void *));
	real = &below;
	refused_functions(&layer_objects);
	functions_add(&layer_objects);
	shown = below;
	functions_add(&shown);
	*provided = n;
	*dispatch = &shown;
	return CL_SUCCESS;
}

EXPORT cl_int CL_API_CALL clInitLayer(cl_uint n, const cl_icd_dispatch *target, cl_uint *provided,
                                      const cl_icd_dispatch **dispatch)
{
	return layer_begin(n, target, provided, dispatch);
}

/* Newer loaders call these two instead. Older headers do not declare them. */
cl_int CL_API_CALL clInitLayerWithProperties(cl_uint n, const cl_icd_dispatch *target,
                                             cl_uint *provided, const cl_icd_dispatch **dispatch,
                                             const cl_properties *properties);
cl_int CL_API_CALL clDeinitLayer(void);

EXPORT cl_int CL_API_CALL clInitLayerWithProperties(cl_uint n, const cl_icd_dispatch *target,
                                                    cl_uint *provided,
                                                    const cl_icd_dispatch **dispatch,
                                                    const cl_properties *properties)
{
	/* No property is known. */
	if (properties && *properties)
		return CL_INVALID_PROPERTY;
	return layer_begin(n, target, provided, dispatch);
}

EXPORT cl_int CL_API_CALL clDeinitLayer(void)
{
	if (!real)
		return CL_INVALID_OPERATION;
	layer_end();
	return CL_SUCCESS;
}
