/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Ranges of the largest NDRanges that are cut, launched both ways on every OpenCL device:
 * each work-item must be told the ids that one launch of everything would tell it. Larger
 * ones are not cut: some devices know no offsets of more than 31 bits.
 */
#include "config.h"

#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <stdio.h>
#include <stdlib.h>

#include "partition/kernel/access/ndrange.h"
#include "tests/unit/test.h"

enum { ITEMS = 64, GROUPS = 6, KEPT = 5, MAXDEVICES = 16 };

static const char source[] =
    "__kernel void ids(__global ulong *out, ulong from)\n"
    "{\n"
    "	size_t group = get_group_id(0) + get_group_id(1) * get_num_groups(0);\n"
    "	__global ulong *mine = out + ((group - from) * get_local_size(0) + get_local_id(0)) * 5;\n"
    "	mine[0] = get_global_id(0);\n"
    "	mine[1] = get_global_id(1);\n"
    "	mine[2] = get_group_id(0);\n"
    "	mine[3] = get_global_size(0);\n"
    "	mine[4] = get_num_groups(1);\n"
    "}\n";

struct device {
	cl_device_id id;
	cl_context context;
	cl_command_queue queue;
	cl_kernel kernel;
	cl_mem out;
};

static cl_device_id ids[MAXDEVICES];
static unsigned ndevices;

static void device_open(cl_device_id id, const struct ndrange *range, struct device *device)
{
	char *prologue = ndrange_prologue(range, ndrange_way(range));
	const char *texts[] = {prologue, source};
	cl_program program;
	cl_int error;

	assert_non_null(prologue);
	device->id = id;
	device->context = clCreateContext(NULL, 1, &id, NULL, NULL, &error);
	assert_int_equal(error, CL_SUCCESS);
	device->queue = clCreateCommandQueue(device->context, id, 0, &error);
	assert_int_equal(error, CL_SUCCESS);
	program = clCreateProgramWithSource(device->context, 2, texts, NULL, &error);
	assert_int_equal(error, CL_SUCCESS);
	assert_int_equal(clBuildProgram(program, 1, &id, "", NULL, NULL), CL_SUCCESS);
	device->kernel = clCreateKernel(program, "ids", &error);
	assert_int_equal(error, CL_SUCCESS);
	clReleaseProgram(program);
	device->out = clCreateBuffer(device->context, CL_MEM_READ_WRITE,
	                             GROUPS * ITEMS * KEPT * sizeof(cl_ulong), NULL, &error);
	assert_int_equal(error, CL_SUCCESS);
	free(prologue);
}

static void device_close(struct device *device)
{
	clReleaseMemObject(device->out);
	clReleaseKernel(device->kernel);
	clReleaseCommandQueue(device->queue);
	clReleaseContext(device->context);
}

static void range_launch(const struct device *device, const struct ndrange *range, size_t from,
                         cl_ulong *out)
{
	size_t bytes = GROUPS * ITEMS * KEPT * sizeof(cl_ulong);
	struct ndrange_launch launches[NDRANGE_MAXBOXES];
	unsigned n = ndrange_launches(range, ndrange_way(range), from, GROUPS, launches);
	cl_ulong first = from;

	for (size_t i = 0; i < bytes / sizeof(*out); i++)
		out[i] = -1;
	assert_int_equal(
	    clEnqueueWriteBuffer(device->queue, device->out, CL_TRUE, 0, bytes, out, 0, NULL, NULL),
	    CL_SUCCESS);
	assert_int_equal(clSetKernelArg(device->kernel, 0, sizeof(cl_mem), &device->out),
	                 CL_SUCCESS);
	assert_int_equal(clSetKernelArg(device->kernel, 1, sizeof(first), &first), CL_SUCCESS);
	for (unsigned i = 0; i < n; i++)
		assert_int_equal(clEnqueueNDRangeKernel(device->queue, device->kernel, 3,
		                                        launches[i].offset, launches[i].global,
		                                        launches[i].local, 0, NULL, NULL),
		                 CL_SUCCESS);
	assert_int_equal(
	    clEnqueueReadBuffer(device->queue, device->out, CL_TRUE, 0, bytes, out, 0, NULL, NULL),
	    CL_SUCCESS);
}

static void range_check(const struct ndrange *range, size_t from, const cl_ulong *out)
{
	for (size_t i = 0; i < GROUPS * ITEMS; i++) {
		size_t group = from + i / ITEMS, x = group % range->groups[0];
		const cl_ulong *mine = out + i * KEPT;

		assert_int_equal(mine[0], range->offset[0] + x * ITEMS + i % ITEMS);
		assert_int_equal(mine[1], range->offset[1] + group / range->groups[0]);
		assert_int_equal(mine[2], x);
		assert_int_equal(mine[3], range->groups[0] * ITEMS);
		assert_int_equal(mine[4], range->groups[1]);
	}
}

/* Ranges at the start, across 2^30 work-items and at the ends of a row and of everything. */
static void ranges_check(const struct ndrange *range)
{
	static cl_ulong out[GROUPS * ITEMS * KEPT];
	const size_t starts[] = {0, ((size_t)1 << 30) / ITEMS - 2, range->groups[0] - 3,
	                         ndrange_groups(range) - GROUPS};

	for (unsigned d = 0; d < ndevices; d++) {
		struct device device;
		char name[128] = "";

		clGetDeviceInfo(ids[d], CL_DEVICE_NAME, sizeof(name), name, NULL);
		printf("  %zu x %zu groups of %d on %s\n", range->groups[0], range->groups[1],
		       ITEMS, name);
		device_open(ids[d], range, &device);
		for (unsigned s = 0; s < sizeof(starts) / sizeof(starts[0]); s++) {
			if (starts[s] + GROUPS > ndrange_groups(range))
				continue;
			range_launch(&device, range, starts[s], out);
			range_check(range, starts[s], out);
		}
		device_close(&device);
	}
}

static void flat(void **state)
{
	const struct ndrange line = {1, {INT32_MAX / ITEMS, 1, 1}, {ITEMS, 1, 1}, {0, 0, 0}};
	const struct ndrange plane = {
	    2, {(size_t)1 << 10, (1 << 15) - 1, 1}, {ITEMS, 1, 1}, {0, 0, 0}};

	assert_int_equal(ndrange_way(&line), NDRANGE_FLAT);
	ranges_check(&line);
	assert_int_equal(ndrange_way(&plane), NDRANGE_FLAT);
	ranges_check(&plane);
}

/* With offsets of their own: in a global offset, or compiled in. */
static void shifted(void **state)
{
	const struct ndrange line = {
	    1, {INT32_MAX / ITEMS, 1, 1}, {ITEMS, 1, 1}, {INT32_MAX, 0, 0}};
	const struct ndrange far = {1, {1000, 1, 1}, {ITEMS, 1, 1}, {(size_t)1 << 40, 0, 0}};
	const struct ndrange plane = {
	    2, {1000, 1000, 1}, {ITEMS, 1, 1}, {70001, ((size_t)1 << 33) + 5, 0}};

	assert_int_equal(ndrange_way(&line), NDRANGE_FLAT);
	assert_true(ndrange_offset_free(&line, NDRANGE_FLAT));
	ranges_check(&line);
	assert_int_equal(ndrange_way(&far), NDRANGE_BOXES);
	assert_false(ndrange_offset_small(&far));
	ranges_check(&far);
	assert_int_equal(ndrange_way(&plane), NDRANGE_FLAT);
	assert_false(ndrange_offset_free(&plane, NDRANGE_FLAT));
	ranges_check(&plane);
}

/* More than 2^32 groups, but none of the offsets beyond 2^31. */
static void boxes(void **state)
{
	const struct ndrange row = {2, {INT32_MAX / ITEMS, 3, 1}, {ITEMS, 1, 1}, {0, 0, 0}};
	const struct ndrange plane = {2, {(size_t)1 << 24, 1 << 15, 1}, {ITEMS, 1, 1}, {0, 0, 0}};

	assert_int_equal(ndrange_way(&row), NDRANGE_BOXES);
	assert_true(ndrange_cuttable(&row));
	ranges_check(&row);
	assert_int_equal(ndrange_way(&plane), NDRANGE_BOXES);
	assert_true(ndrange_cuttable(&plane));
	ranges_check(&plane);
}

static void too_large(void **state)
{
	const struct ndrange line = {1, {INT32_MAX / ITEMS + 1, 1, 1}, {ITEMS, 1, 1}, {0, 0, 0}};
	const struct ndrange column = {2, {4, (size_t)1 << 31, 1}, {1, 1, 1}, {0, 0, 0}};

	assert_int_equal(ndrange_way(&line), NDRANGE_BOXES);
	assert_false(ndrange_cuttable(&line));
	assert_false(ndrange_cuttable(&column));
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(flat), cmocka_unit_test(shifted),
	                                   cmocka_unit_test(boxes), cmocka_unit_test(too_large)};
	cl_platform_id platforms[8];
	cl_uint n = 0;

	clGetPlatformIDs(8, platforms, &n);
	for (cl_uint p = 0; p < n && p < 8; p++) {
		cl_uint more = 0;

		if (!clGetDeviceIDs(platforms[p], CL_DEVICE_TYPE_ALL, MAXDEVICES - ndevices,
		                    ids + ndevices, &more))
			ndevices += more < MAXDEVICES - ndevices ? more : MAXDEVICES - ndevices;
	}
	if (!ndevices)
		return 77;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
