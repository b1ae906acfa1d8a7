/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The devices of OpenCL workers: on which bus each is (OpenCL has its PCI address, hwloc the
 * bridges above), and whether it computes in the host's memory.
 */
#include "config.h"

#ifdef HEDDLE_USE_OPENCL

/* Before StarPU's headers, which would choose an older version. */
#ifndef CL_TARGET_OPENCL_VERSION
#define CL_TARGET_OPENCL_VERSION 110
#endif
#include <starpu.h>
#include <starpu_opencl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "partition/kernel/split/buses.h"
#include "partition/kernel/split/buses_starpu.h"
#include "partition/kernel/split/split.h"
#include "support/message.h"
#include "support/variables.h"

/* ---- where devices are ---- */

/* Numbers of cl_khr_pci_bus_info and of the vendors' cl_*_device_attribute_query, which not all
 * headers have. Implementations refuse what they do not know. */
enum { BUS_INFO = 0x410F, NVIDIA_BUS = 0x4008, NVIDIA_SLOT, NVIDIA_DOMAIN, AMD_TOPOLOGY = 0x4037 };
/* The first field of AMD's answer. */
enum { AMD_PCIE = 1 };

static bool is_known(cl_device_id id, cl_device_info what, void *value, size_t size)
{
	return !clGetDeviceInfo(id, what, size, value, NULL);
}

/* NVIDIA's slots have device and function; its older drivers no domains. */
static struct kernel_bus_address nvidia_ask(cl_device_id id)
{
	cl_uint bus, slot, domain;

	if (!is_known(id, NVIDIA_BUS, &bus, sizeof(bus)) ||
	    !is_known(id, NVIDIA_SLOT, &slot, sizeof(slot)))
		return (struct kernel_bus_address){0};
	if (!is_known(id, NVIDIA_DOMAIN, &domain, sizeof(domain)))
		domain = 0;
	return (struct kernel_bus_address){true, domain, bus, slot >> 3, slot & 7};
}

static struct kernel_bus_address address_ask(cl_device_id id)
{
	struct {
		cl_uint domain, bus, device, function;
	} info;
	struct {
		cl_uint type;
		unsigned char unused[17], bus, device, function;
	} amd;

	if (is_known(id, BUS_INFO, &info, sizeof(info)))
		return (struct kernel_bus_address){true, info.domain, info.bus, info.device,
		                                   info.function};
	/* AMD has no domains. */
	if (is_known(id, AMD_TOPOLOGY, &amd, sizeof(amd)) && amd.type == AMD_PCIE)
		return (struct kernel_bus_address){true, 0, amd.bus, amd.device, amd.function};
	return nvidia_ask(id);
}

/* ---- whether a device works on the host's arrays ---- */

/* OpenCL allows implementations to keep a copy of an array that a buffer is made of, and to
 * update it only while it is mapped. Those for CPUs have no reason to. So a test finds out. */

/* Offsets of the arrays that are tested: aligned as for OpenCL's largest type, as by malloc(),
 * and as numbers. Implementations may copy what is aligned less. */
enum { BYTES = 3 * 4096 + 128, ALIGNMENT = 128 };
static const size_t offsets[] = {0, 16, 4};

/* Fills bytes so that they differ from each other and from those of another salt. */
static void pattern(unsigned char *bytes, unsigned salt)
{
	for (size_t i = 0; i < BYTES; i++)
		bytes[i] = i * 31 + i / 256 + salt;
}

/* Writes to the buffer, then to the array: each has to show in the other at once. */
static bool is_seen(cl_command_queue queue, cl_mem buffer, unsigned char *array,
                    unsigned char *other)
{
	pattern(other, 1);
	if (clEnqueueWriteBuffer(queue, buffer, CL_TRUE, 0, BYTES, other, 0, NULL, NULL) ||
	    clFinish(queue) || memcmp(array, other, BYTES))
		return false;
	pattern(array, 2);
	return !clEnqueueReadBuffer(queue, buffer, CL_TRUE, 0, BYTES, other, 0, NULL, NULL) &&
	       !clFinish(queue) && !memcmp(array, other, BYTES);
}

static bool is_shared(cl_context context, cl_command_queue queue, unsigned char *array,
                      unsigned char *other)
{
	cl_int error;
	cl_mem buffer =
	    clCreateBuffer(context, CL_MEM_READ_WRITE | CL_MEM_USE_HOST_PTR, BYTES, array, &error);
	bool seen = !error && is_seen(queue, buffer, array, other);

	if (!error)
		clReleaseMemObject(buffer);
	return seen;
}

static bool all_shared(cl_context context, cl_command_queue queue)
{
	unsigned char *arrays = aligned_alloc(ALIGNMENT, BYTES + ALIGNMENT), *other = malloc(BYTES);
	bool shared = arrays && other;

	for (size_t i = 0; shared && i < sizeof(offsets) / sizeof(offsets[0]); i++)
		shared = is_shared(context, queue, arrays + offsets[i], other);
	free(arrays);
	free(other);
	return shared;
}

static bool shares_memory(int worker)
{
	int number = starpu_worker_get_devid(worker);
	cl_command_queue queue;
	cl_context context;
	cl_device_id device;
	cl_int error;
	bool shared;

	starpu_opencl_get_context(number, &context);
	starpu_opencl_get_device(number, &device);
	queue = clCreateCommandQueue(context, device, 0, &error);
	if (error)
		return false;
	shared = all_shared(context, queue);
	clReleaseCommandQueue(queue);
	return shared;
}

/* Whether a device works on the host's arrays and HEDDLE_KERNEL_IN_PLACE allows it. The test
 * comes last: it takes longest. */
static bool in_host_memory(int worker, cl_device_id id)
{
	cl_bool unified = CL_FALSE;
	cl_device_type type = 0;

	clGetDeviceInfo(id, CL_DEVICE_TYPE, sizeof(type), &type, NULL);
	clGetDeviceInfo(id, CL_DEVICE_HOST_UNIFIED_MEMORY, sizeof(unified), &unified, NULL);
	return type & CL_DEVICE_TYPE_CPU && unified &&
	       heddle_variable_number(HEDDLE_VARIABLE_KERNEL_IN_PLACE) && shares_memory(worker);
}

static void device_ask(int worker, struct kernel_bus_address *address, struct heddle_bus *bus)
{
	cl_device_id id;

	starpu_opencl_get_device(starpu_worker_get_devid(worker), &id);
	*address = address_ask(id);
	*bus = (struct heddle_bus){.none = in_host_memory(worker, id)};
	if (address->known)
		snprintf(bus->pci, sizeof(bus->pci), "%04x:%02x:%02x.%x", address->domain,
		         address->bus, address->device, address->function);
}

/* ---- which share a bus ---- */

/* The latest result: looking at a machine takes milliseconds. */
static struct {
	unsigned n;
	struct kernel_bus_address addresses[SPLIT_MAXDEVICES];
	unsigned numbers[SPLIT_MAXDEVICES];
} found;
static starpu_pthread_mutex_t found_mutex = STARPU_PTHREAD_MUTEX_INITIALIZER;

/* One device alone shares nothing, wherever it is. */
static bool is_several(const struct kernel_bus_address *addresses, unsigned n)
{
	unsigned known = 0;

	for (unsigned d = 0; d < n; d++)
		known += addresses[d].known;
	return known > 1;
}

/* The machine's PCI devices; NULL: hwloc cannot list them. */
static hwloc_topology_t topology_load(void)
{
	hwloc_topology_t topology;

	if (kernel_buses_topology_init(&topology))
		return NULL;
	if (!hwloc_topology_load(topology))
		return topology;
	hwloc_topology_destroy(topology);
	return NULL;
}

static void machine_look(const struct kernel_bus_address *addresses, unsigned n, unsigned *numbers)
{
	hwloc_topology_t topology = is_several(addresses, n) ? topology_load() : NULL;

	if (!topology && is_several(addresses, n))
		heddle_explain("which devices share a bus is not known: no topology");
	kernel_buses_find(topology, addresses, n, numbers);
	if (topology)
		hwloc_topology_destroy(topology);
}

static bool is_found(const struct kernel_bus_address *addresses, unsigned n)
{
	bool same = n == found.n;

	for (unsigned d = 0; d < n && same; d++) {
		const struct kernel_bus_address *now = &addresses[d], *then = &found.addresses[d];

		same = now->known == then->known && now->domain == then->domain &&
		       now->bus == then->bus && now->device == then->device &&
		       now->function == then->function;
	}
	return same;
}

static void numbers_find(const struct kernel_bus_address *addresses, unsigned n,
                         struct heddle_bus *buses)
{
	starpu_pthread_mutex_lock(&found_mutex);
	if (!is_found(addresses, n)) {
		machine_look(addresses, n, found.numbers);
		memcpy(found.addresses, addresses, n * sizeof(*addresses));
		found.n = n;
	}
	for (unsigned d = 0; d < n; d++)
		buses[d].number = found.numbers[d];
	starpu_pthread_mutex_unlock(&found_mutex);
}

/* Deals devices out to so many buses in turn; 0: each device has its own. */
static void numbers_deal(unsigned nbuses, unsigned n, struct heddle_bus *buses)
{
	for (unsigned d = 0; d < n; d++)
		buses[d].number = nbuses ? d % nbuses : d;
}

static void shared_mark(unsigned n, struct heddle_bus *buses)
{
	for (unsigned d = 0; d < n; d++)
		for (unsigned e = 0; e < n; e++)
			if (e != d && !buses[d].none && !buses[e].none &&
			    buses[e].number == buses[d].number)
				buses[d].shared = true;
}

void heddle_buses_find(const int *workers, unsigned n, struct heddle_bus *buses)
{
	struct kernel_bus_address addresses[SPLIT_MAXDEVICES] = {{0}};

	for (unsigned d = 0; d < n; d++)
		device_ask(workers[d], &addresses[d], &buses[d]);
	if (!strcmp(heddle_variable_text(HEDDLE_VARIABLE_KERNEL_BUSES), "find"))
		numbers_find(addresses, n, buses);
	else
		numbers_deal(heddle_variable_number(HEDDLE_VARIABLE_KERNEL_BUSES), n, buses);
	shared_mark(n, buses);
}

void heddle_bus_text(const struct heddle_bus *bus, char *text, unsigned size)
{
	if (bus->none)
		snprintf(text, size, "no bus");
	else
		snprintf(text, size, "bus %u%s%s%s", bus->number, *bus->pci ? " at " : "", bus->pci,
		         bus->shared ? ", shared" : "");
}

#endif
