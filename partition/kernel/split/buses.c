/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "config.h"

#include <errno.h>
#include <math.h>

#include "partition/kernel/split/buses.h"

/* Speeds are rounded. */
#define EQUAL 1.01

struct search {
	hwloc_topology_t topology;
	const struct kernel_bus_address *addresses;
	unsigned n, *buses;
};

/* Devices of the search below an object. */
struct flow {
	unsigned ways; /* through how many of the object's children */
	double speed;  /* that they can take together, GB/s; INFINITY: not known; 0: none */
};

int kernel_buses_topology_init(hwloc_topology_t *topology)
{
	if (hwloc_topology_init(topology))
		return -ENOMEM;
	hwloc_topology_set_all_types_filter(*topology, HWLOC_TYPE_FILTER_KEEP_NONE);
	hwloc_topology_set_type_filter(*topology, HWLOC_OBJ_PCI_DEVICE, HWLOC_TYPE_FILTER_KEEP_ALL);
	hwloc_topology_set_type_filter(*topology, HWLOC_OBJ_BRIDGE, HWLOC_TYPE_FILTER_KEEP_ALL);
#if HWLOC_API_VERSION >= 0x00020100
	/* It would bind the calling thread to one core after the other. */
	hwloc_topology_set_components(*topology, HWLOC_TOPOLOGY_COMPONENTS_FLAG_BLACKLIST, "x86");
#endif
	return 0;
}

static bool is_same(const struct kernel_bus_address *a, const struct kernel_bus_address *b)
{
	return a->known && b->known && a->domain == b->domain && a->bus == b->bus &&
	       a->device == b->device && a->function == b->function;
}

static hwloc_obj_t object_of(const struct search *search, unsigned device)
{
	const struct kernel_bus_address *at = &search->addresses[device];

	return at->known ? hwloc_get_pcidev_by_busid(search->topology, at->domain, at->bus,
	                                             at->device, at->function)
	                 : NULL;
}

/* Makes two buses one. Their numbers are those of their first devices. */
static void buses_join(const struct search *search, unsigned a, unsigned b)
{
	unsigned to = a < b ? a : b;

	for (unsigned d = 0; d < search->n; d++)
		if (search->buses[d] == a || search->buses[d] == b)
			search->buses[d] = to;
}

static bool is_below(hwloc_obj_t object, hwloc_obj_t bridge)
{
	while (object && object != bridge)
		object = object->parent;
	return object;
}

/* Puts all devices below a bridge on one bus. */
static void devices_join(const struct search *search, hwloc_obj_t bridge)
{
	unsigned first = search->n;

	for (unsigned d = 0; d < search->n; d++) {
		if (!is_below(object_of(search, d), bridge))
			continue;
		if (first == search->n)
			first = d;
		buses_join(search, search->buses[d], search->buses[first]);
	}
}

static struct flow device_flow(const struct search *search, hwloc_obj_t object)
{
	float speed = object->attr->pcidev.linkspeed;

	for (unsigned d = 0; d < search->n; d++)
		if (object_of(search, d) == object)
			return (struct flow){0, speed > 0 ? speed : INFINITY};
	return (struct flow){0};
}

static bool is_slow(const struct flow *flow, float link)
{
	return link > 0 ? flow->speed > EQUAL * link : flow->ways > 1;
}

/* What is below an object; devices that share a link there are put on one bus. */
static struct flow flow_find(const struct search *search, hwloc_obj_t object)
{
	struct flow flow = {0};
	float link;

	if (object->type == HWLOC_OBJ_PCI_DEVICE)
		return device_flow(search, object);
	for (hwloc_obj_t child = object->io_first_child; child; child = child->next_sibling) {
		struct flow below = flow_find(search, child);

		flow.ways += below.speed > 0;
		flow.speed += below.speed;
	}
	if (object->type != HWLOC_OBJ_BRIDGE ||
	    object->attr->bridge.upstream_type != HWLOC_OBJ_BRIDGE_PCI)
		return flow;
	link = object->attr->bridge.upstream.pci.linkspeed;
	if (is_slow(&flow, link))
		devices_join(search, object);
	if (link > 0 && flow.speed > link)
		flow.speed = link;
	return flow;
}

/* Gives each device a bus, and devices at one address the same. */
static void buses_begin(const struct search *search)
{
	for (unsigned d = 0; d < search->n; d++) {
		unsigned same = 0;

		while (same < d && !is_same(&search->addresses[same], &search->addresses[d]))
			same++;
		search->buses[d] = same;
	}
}

/* Numbers without gaps. */
static void buses_number(const struct search *search)
{
	unsigned next = 0;

	for (unsigned d = 0; d < search->n; d++)
		if (search->buses[d] == d)
			search->buses[d] = next++;
		else
			search->buses[d] = search->buses[search->buses[d]];
}

void kernel_buses_find(hwloc_topology_t topology, const struct kernel_bus_address *addresses,
                       unsigned n, unsigned *buses)
{
	struct search search = {topology, addresses, n, buses};
	hwloc_obj_t bridge = NULL;

	buses_begin(&search);
	while (topology && (bridge = hwloc_get_next_bridge(topology, bridge)))
		if (bridge->parent->type != HWLOC_OBJ_BRIDGE)
			flow_find(&search, bridge);
	buses_number(&search);
}
