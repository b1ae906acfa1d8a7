/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Opens the layer of `heddle opencl`, its argument, as newer OpenCL loaders do, for
 * tests/tools/opencl.sh. What lies below the layer is the loader that this program is linked with.
 */
#define CL_TARGET_OPENCL_VERSION 300
#include <CL/cl.h>
#include <CL/cl_icd.h>
#include <CL/cl_layer.h>

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

typedef cl_int(CL_API_CALL *begin_function)(cl_uint, const cl_icd_dispatch *, cl_uint *,
                                            const cl_icd_dispatch **, const cl_properties *);
typedef cl_int(CL_API_CALL *end_function)(void);

enum { ENTRIES = sizeof(cl_icd_dispatch) / sizeof(void *) };

static int failures;

#define CHECK(what)                                                                                \
	do {                                                                                       \
		if (!(what)) {                                                                     \
			printf("FAIL: line %d: %s\n", __LINE__, #what);                            \
			failures++;                                                                \
		}                                                                                  \
	} while (0)

/* All that the layer asks for before there is a context. */
static const cl_icd_dispatch below = {
    .clGetPlatformIDs = clGetPlatformIDs,
    .clGetPlatformInfo = clGetPlatformInfo,
    .clGetDeviceIDs = clGetDeviceIDs,
    .clGetDeviceInfo = clGetDeviceInfo,
};

static void begin_refused(begin_function begin, pfn_clInitLayer begin_old)
{
	const cl_properties some[] = {0x1, 0x1, 0};
	const cl_icd_dispatch *table = NULL;
	cl_uint n = 0;

	CHECK(begin(ENTRIES, &below, &n, &table, some) == CL_INVALID_PROPERTY);
	CHECK(begin(1, &below, &n, &table, NULL) == CL_INVALID_VALUE);
	CHECK(begin(ENTRIES, NULL, &n, &table, NULL) == CL_INVALID_VALUE);
	CHECK(begin_old(1, &below, &n, &table) == CL_INVALID_VALUE);
	CHECK(!table && !n);
}

static void platform_check(const cl_icd_dispatch *layer)
{
	cl_platform_id platform = NULL;
	char name[256] = "";
	cl_uint n = 0;

	CHECK(!layer->clGetPlatformIDs(1, &platform, &n) && n == 1);
	CHECK(!layer->clGetPlatformInfo(platform, CL_PLATFORM_NAME, sizeof(name), name, NULL));
	CHECK(strstr(name, "Heddle"));
}

int main(int argc, char **argv)
{
	const cl_properties none[] = {0};
	const cl_icd_dispatch *layer = NULL;
	void *library = argc > 1 ? dlopen(argv[1], RTLD_NOW) : NULL;
	begin_function begin;
	pfn_clInitLayer begin_old;
	end_function end;
	cl_uint n = 0;

	if (!library) {
		fprintf(stderr, "%s\n", argc > 1 ? dlerror() : "which layer?");
		return 2;
	}
	begin = (begin_function)dlsym(library, "clInitLayerWithProperties");
	begin_old = (pfn_clInitLayer)dlsym(library, "clInitLayer");
	end = (end_function)dlsym(library, "clDeinitLayer");
	CHECK(begin && begin_old && end && dlsym(library, "clGetLayerInfo"));
	if (failures)
		return 1;
	CHECK(end() == CL_INVALID_OPERATION);
	begin_refused(begin, begin_old);
	CHECK(!begin(ENTRIES, &below, &n, &layer, none) && n == ENTRIES && layer);
	/* One loader at a time, by either way. */
	CHECK(begin(ENTRIES, &below, &n, &layer, NULL) == CL_INVALID_OPERATION);
	CHECK(begin_old(ENTRIES, &below, &n, &layer) == CL_INVALID_OPERATION);
	if (layer)
		platform_check(layer);
	CHECK(!end());
	/* A loader that ends twice does no harm. */
	CHECK(!end());
	puts(failures ? "wrong" : "all right");
	return failures != 0;
}
