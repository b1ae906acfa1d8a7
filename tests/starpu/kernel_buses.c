/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * On which buses OpenCL workers are: by what OpenCL says of where their devices are, in each of
 * the ways in which it may, on the machine of switch.xml: devices at 03 and 04 below a switch
 * whose link lets through what one of them takes, at 05 and 06 below a root port each.
 */
#include "config.h"

#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <starpu.h>
#include <starpu_opencl.h>

#include "partition/kernel/split/buses_starpu.h"
#include "tests/unit/test.h"

/* ---- what OpenCL says ---- */

static struct {
	enum { NOTHING, KHRONOS, NVIDIA, AMD } vendor;
	cl_uint domain, at[2]; /* numbers of PCI's buses */
	cl_uint slot;          /* device << 3 | function */
	bool cpus;             /* they are what they are */
	size_t copies;         /* buffers copy arrays that are not aligned to so much */
} said;

static cl_int tell(size_t size, void *value, const void *what, size_t bytes)
{
	if (size < bytes)
		return CL_INVALID_VALUE;
	memcpy(value, what, bytes);
	return CL_SUCCESS;
}

/* Heddle's calls come here first. */
__attribute__((visibility("default"))) cl_int clGetDeviceInfo(cl_device_id id, cl_device_info what,
                                                              size_t size, void *value, size_t *set)
{
	static __typeof__(&clGetDeviceInfo) next;
	const cl_device_type gpu = CL_DEVICE_TYPE_GPU;
	cl_device_id first = NULL;
	cl_uint at;

	if (!next)
		next = (__typeof__(next))dlsym(RTLD_NEXT, "clGetDeviceInfo");
	if (starpu_is_initialized())
		starpu_opencl_get_device(0, &first);
	at = said.at[id != first];
	if (what == CL_DEVICE_TYPE && first && !said.cpus && size)
		return tell(size, value, &gpu, sizeof(gpu));
	if (what == 0x410F && said.vendor == KHRONOS)
		return tell(size, value,
		            (cl_uint[]){said.domain, at, said.slot >> 3, said.slot & 7},
		            4 * sizeof(at));
	if (what == 0x4037 && said.vendor == AMD)
		return tell(size, value,
		            (char[24]){1, [21] = at, [22] = said.slot >> 3, [23] = said.slot & 7},
		            24);
	if (what == 0x4008 && said.vendor == NVIDIA)
		return tell(size, value, &at, sizeof(at));
	if (what == 0x4009 && said.vendor == NVIDIA)
		return tell(size, value, &said.slot, sizeof(said.slot));
	if (what == 0x400A && said.vendor == NVIDIA && said.domain)
		return tell(size, value, &said.domain, sizeof(said.domain));
	return next(id, what, size, value, set);
}

/* So do Heddle's buffers. */
__attribute__((visibility("default"))) cl_mem clCreateBuffer(cl_context context, cl_mem_flags flags,
                                                             size_t size, void *host, cl_int *error)
{
	static __typeof__(&clCreateBuffer) next;

	if (!next)
		next = (__typeof__(next))dlsym(RTLD_NEXT, "clCreateBuffer");
	if (said.copies && (uintptr_t)host % said.copies && flags & CL_MEM_USE_HOST_PTR)
		flags ^= CL_MEM_USE_HOST_PTR | CL_MEM_COPY_HOST_PTR;
	return next(context, flags, size, host, error);
}

/* ---- tests ---- */

static void expect(const char *first, const char *second)
{
	const char *expected[] = {first, second};
	struct heddle_bus buses[2];
	char text[64];
	int ids[2];

	assert_int_equal(starpu_worker_get_ids_by_type(STARPU_OPENCL_WORKER, ids, 2), 2);
	if (starpu_worker_get_devid(ids[0]) != 0) {
		ids[1] = ids[0];
		ids[0] = starpu_worker_get_by_devid(STARPU_OPENCL_WORKER, 0);
	}
	heddle_buses_find(ids, 2, buses);
	for (int w = 0; w < 2; w++) {
		heddle_bus_text(&buses[w], text, sizeof(text));
		assert_string_equal(text, expected[w]);
	}
}

static void say(int vendor, cl_uint first, cl_uint second)
{
	memset(&said, 0, sizeof(said));
	said.vendor = vendor;
	said.at[0] = first;
	said.at[1] = second;
}

static void nothing_known(void **state)
{
	say(NOTHING, 3, 4);
	expect("bus 0", "bus 1");
}

static void vendors(void **state)
{
	for (int vendor = KHRONOS; vendor <= AMD; vendor++) {
		say(vendor, 3, 4);
		expect("bus 0 at 0000:03:00.0, shared", "bus 0 at 0000:04:00.0, shared");
		say(vendor, 5, 6);
		expect("bus 0 at 0000:05:00.0", "bus 1 at 0000:06:00.0");
		say(vendor, 3, 5);
		expect("bus 0 at 0000:03:00.0", "bus 1 at 0000:05:00.0");
		say(vendor, 0x83, 0x84);
		said.slot = 0x1f << 3 | 6;
		expect("bus 0 at 0000:83:1f.6", "bus 1 at 0000:84:1f.6");
	}
}

static void elsewhere(void **state)
{
	for (int vendor = KHRONOS; vendor <= NVIDIA; vendor++) {
		say(vendor, 3, 4);
		said.domain = 0x10000;
		expect("bus 0 at 10000:03:00.0", "bus 1 at 10000:04:00.0");
	}
	say(AMD, 0xe3, 0xe4);
	expect("bus 0 at 0000:e3:00.0", "bus 1 at 0000:e4:00.0");
}

static void seen_twice(void **state)
{
	say(KHRONOS, 5, 5);
	expect("bus 0 at 0000:05:00.0, shared", "bus 0 at 0000:05:00.0, shared");
}

static void told(void **state)
{
	say(KHRONOS, 3, 4);
	setenv("HEDDLE_KERNEL_BUSES", "0", 1);
	expect("bus 0 at 0000:03:00.0", "bus 1 at 0000:04:00.0");
	setenv("HEDDLE_KERNEL_BUSES", "2", 1);
	expect("bus 0 at 0000:03:00.0", "bus 1 at 0000:04:00.0");
	say(KHRONOS, 5, 6);
	setenv("HEDDLE_KERNEL_BUSES", "1", 1);
	expect("bus 0 at 0000:05:00.0, shared", "bus 0 at 0000:06:00.0, shared");
	unsetenv("HEDDLE_KERNEL_BUSES");
	expect("bus 0 at 0000:05:00.0", "bus 1 at 0000:06:00.0");
}

/* What works in the host's memory takes no turn. */
static void cpus(void **state)
{
	say(NOTHING, 0, 0);
	said.cpus = true;
	expect("no bus", "no bus");
	setenv("HEDDLE_KERNEL_BUSES", "1", 1);
	expect("no bus", "no bus");
	setenv("HEDDLE_KERNEL_IN_PLACE", "0", 1);
	expect("bus 0, shared", "bus 0, shared");
	unsetenv("HEDDLE_KERNEL_BUSES");
	expect("bus 0", "bus 1");
	unsetenv("HEDDLE_KERNEL_IN_PLACE");
}

/* What only says so, and keeps copies, at least of some arrays, does not. */
static void copies(void **state)
{
	for (size_t aligned = (size_t)1 << 40; aligned > 4; aligned /= 2) {
		say(NOTHING, 0, 0);
		said.cpus = true;
		said.copies = aligned;
		expect("bus 0", "bus 1");
	}
}

/* The machine is looked at once for the same devices; one that cannot be told is none. */
static void machine(void **state)
{
	say(KHRONOS, 3, 4);
	expect("bus 0 at 0000:03:00.0, shared", "bus 0 at 0000:04:00.0, shared");
	setenv("HWLOC_XMLFILE", "/dev/null", 1);
	expect("bus 0 at 0000:03:00.0, shared", "bus 0 at 0000:04:00.0, shared");
	say(KHRONOS, 4, 3);
	expect("bus 0 at 0000:04:00.0", "bus 1 at 0000:03:00.0");
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(nothing_known), cmocka_unit_test(vendors), cmocka_unit_test(elsewhere),
	    cmocka_unit_test(seen_twice),    cmocka_unit_test(told),    cmocka_unit_test(cpus),
	    cmocka_unit_test(copies),        cmocka_unit_test(machine),
	};
	int failed;

	if (argc < 2 || starpu_init(NULL))
		return 77;
	if (starpu_opencl_worker_get_count() < 2) {
		starpu_shutdown();
		return 77;
	}
	/* StarPU has looked at the machine that there is. */
	setenv("HWLOC_XMLFILE", argv[1], 1);
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	starpu_shutdown();
	return failed;
}
