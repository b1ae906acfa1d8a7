/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Devices on buses, on machines that are told to hwloc as XML. Links have 8, 16 or 32 GB/s, as
 * PCIe has it less its coding.
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "partition/kernel/split/buses.h"
#include "tests/unit/test.h"

enum { MAX = 40 };
#define X4 7.876923
#define X8 15.753846
#define X16 31.507692

/* ---- machines ---- */

/* What is built: every bridge begins a bus of its own. */
static struct {
	char xml[1 << 16];
	size_t length;
	unsigned depth, bus, next, id;
	unsigned above[16], used[16]; /* while bridges are open: their buses, and slots in use */
	struct kernel_bus_address devices[MAX];
	unsigned n;
} machine;

static void add(const char *format, ...) __attribute__((format(printf, 1, 2)));
static void add(const char *format, ...)
{
	va_list list;

	va_start(list, format);
	machine.length += vsnprintf(machine.xml + machine.length,
	                            sizeof(machine.xml) - machine.length, format, list);
	va_end(list);
	assert_true(machine.length < sizeof(machine.xml));
}

static void machine_begin(unsigned nodes)
{
	memset(&machine, 0, sizeof(machine));
	machine.id = 10;
	/* By lines, for those hwlocs that read XML themselves. */
	add("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
	    "<!DOCTYPE topology SYSTEM \"hwloc2.dtd\">\n<topology version=\"2.0\">\n<object "
	    "type=\"Machine\" os_index=\"0\" cpuset=\"0x3\""
	    " complete_cpuset=\"0x3\" allowed_cpuset=\"0x3\" nodeset=\"0x%x\""
	    " complete_nodeset=\"0x%x\" allowed_nodeset=\"0x%x\" gp_index=\"1\">",
	    (1 << nodes) - 1, (1 << nodes) - 1, (1 << nodes) - 1);
	for (unsigned p = 0; p < 2; p++) {
		unsigned set = nodes == 2 ? 1 << p : 3;

		if (p < nodes)
			add("<object type=\"Package\" os_index=\"%u\" cpuset=\"0x%x\""
			    " complete_cpuset=\"0x%x\" nodeset=\"0x%x\" complete_nodeset=\"0x%x\""
			    " gp_index=\"%u\"><object type=\"NUMANode\" os_index=\"%u\""
			    " cpuset=\"0x%x\" complete_cpuset=\"0x%x\" nodeset=\"0x%x\""
			    " complete_nodeset=\"0x%x\" gp_index=\"%u\" local_memory=\"1000\"/>",
			    p, set, set, 1 << p, 1 << p, machine.id + 1, p, set, set, 1 << p,
			    1 << p, machine.id + 2);
		add("<object type=\"PU\" os_index=\"%u\" cpuset=\"0x%x\" complete_cpuset=\"0x%x\""
		    " nodeset=\"0x%x\" complete_nodeset=\"0x%x\" gp_index=\"%u\"/>",
		    p, 1 << p, 1 << p, nodes == 2 ? 1 << p : 1, nodes == 2 ? 1 << p : 1,
		    machine.id + 3);
		if (nodes == 2 || p == 1)
			add("</object>");
		machine.id += 4;
	}
}

static void bridge_begin(const char *attributes)
{
	assert_true(machine.depth + 1 < 16);
	add("<object type=\"Bridge\" gp_index=\"%u\" depth=\"%u\" bridge_pci=\"0000:[%02x-ff]\""
	    " %s>",
	    machine.id++, machine.depth, machine.next, attributes);
	machine.above[machine.depth] = machine.next++;
	machine.used[machine.depth++] = 1;
}

static void host_bridge(void)
{
	bridge_begin("bridge_type=\"0-1\"");
}

/* A root port, or a port of a switch. */
static void port(double speed)
{
	char text[160];
	unsigned at = machine.depth - 1;

	snprintf(text, sizeof(text),
	         "bridge_type=\"1-1\" pci_busid=\"0000:%02x:%02x.0\" pci_type=\"0604 [8086:1901] "
	         "[0000:0000] 00\" pci_link_speed=\"%f\"",
	         machine.above[at], machine.used[at], speed);
	machine.used[at]++;
	bridge_begin(text);
}

static void end(unsigned bridges)
{
	for (; bridges; bridges--) {
		machine.depth--;
		add("</object>");
	}
}

/* A device, which is asked for. */
static void device(double speed)
{
	unsigned at = machine.depth - 1;

	assert_true(machine.n < MAX);
	add("<object type=\"PCIDev\" gp_index=\"%u\" pci_busid=\"0000:%02x:%02x.0\" "
	    "pci_type=\"0302 "
	    "[10de:2235] [0000:0000] a1\" pci_link_speed=\"%f\"/>",
	    machine.id++, machine.above[at], machine.used[at], speed);
	machine.devices[machine.n++] =
	    (struct kernel_bus_address){true, 0, machine.above[at], machine.used[at]++, 0};
}

/* The same below a port of its own. */
static void device_at_port(double speed)
{
	port(speed);
	device(speed);
	end(1);
}

/* A switch, from the port above it on, with devices at ports. */
static void devices_at_switch(double above, unsigned n, double speed)
{
	port(above);
	port(above);
	for (unsigned d = 0; d < n; d++)
		device_at_port(speed);
	end(2);
}

static hwloc_topology_t machine_end(void)
{
	hwloc_topology_t topology;

	end(machine.depth);
	add("</object></topology>");
	assert_int_equal(kernel_buses_topology_init(&topology), 0);
	assert_int_equal(hwloc_topology_set_xmlbuffer(topology, machine.xml, machine.length + 1),
	                 0);
	assert_int_equal(hwloc_topology_load(topology), 0);
	for (unsigned d = 0; d < machine.n; d++) {
		const struct kernel_bus_address *at = &machine.devices[d];

		assert_non_null(hwloc_get_pcidev_by_busid(topology, at->domain, at->bus, at->device,
		                                          at->function));
	}
	return topology;
}

/* Ends the machine; its devices are on buses as a text tells, a letter each. */
static void expect(const char *letters)
{
	hwloc_topology_t topology = machine_end();
	unsigned buses[MAX];

	assert_int_equal(strlen(letters), machine.n);
	kernel_buses_find(topology, machine.devices, machine.n, buses);
	for (unsigned d = 0; d < machine.n; d++)
		assert_int_equal(buses[d], letters[d] - 'a');
	hwloc_topology_destroy(topology);
}

/* ---- tests ---- */

static void ports_of_their_own(void **state)
{
	machine_begin(1);
	host_bridge();
	device_at_port(X16);
	expect("a");

	machine_begin(1);
	host_bridge();
	device_at_port(X16);
	device_at_port(X8);
	device(0); /* a part of the host bridge's chip */
	device(0);
	expect("abcd");

	machine_begin(2);
	host_bridge();
	device_at_port(X16);
	end(1);
	host_bridge();
	device_at_port(0);
	device_at_port(0);
	expect("abc");
}

static void switches(void **state)
{
	machine_begin(1);
	host_bridge();
	devices_at_switch(X16, 2, X16);
	device_at_port(X16);
	expect("aab");

	/* Fast enough for both. */
	machine_begin(1);
	host_bridge();
	devices_at_switch(X16, 2, X8);
	expect("ab");

	/* Rounded. */
	machine_begin(1);
	host_bridge();
	devices_at_switch(31.5, 2, 15.8);
	expect("ab");
	machine_begin(1);
	host_bridge();
	devices_at_switch(31, 2, 16);
	expect("aa");

	/* Only with a third one it is not. */
	machine_begin(1);
	host_bridge();
	devices_at_switch(X16, 3, X8);
	expect("aaa");

	/* A switch for one device, as on many boards. */
	machine_begin(1);
	host_bridge();
	devices_at_switch(X4, 1, X16);
	devices_at_switch(X4, 1, X16);
	expect("ab");

	/* One for each socket. */
	machine_begin(2);
	host_bridge();
	devices_at_switch(X16, 2, X16);
	end(1);
	host_bridge();
	devices_at_switch(X16, 2, X16);
	expect("aabb");
}

/* A switch lets no more through upwards than its link. */
static void switches_below_switches(void **state)
{
	machine_begin(1);
	host_bridge();
	port(X16);
	port(X16);
	devices_at_switch(X8, 2, X8);
	devices_at_switch(X8, 2, X8);
	expect("aabb");

	machine_begin(1);
	host_bridge();
	port(X16);
	port(X16);
	devices_at_switch(X16, 2, X8);
	devices_at_switch(X16, 2, X8);
	expect("aaaa");

	/* Slow is only the link that one of them needs, with a device of its own beside it. */
	machine_begin(1);
	host_bridge();
	port(X16);
	port(X16);
	device_at_port(X8);
	devices_at_switch(X8, 2, X8);
	expect("abb");
}

static void unknown_speeds(void **state)
{
	/* The switch is common, its link's speed is not known. */
	machine_begin(1);
	host_bridge();
	devices_at_switch(0, 2, X8);
	expect("aa");

	/* All that is known is that devices are there. */
	machine_begin(1);
	host_bridge();
	devices_at_switch(0, 2, 0);
	device_at_port(0);
	device_at_port(0);
	expect("aabc");

	/* The devices do not tell, their ports do. */
	machine_begin(1);
	host_bridge();
	port(X16);
	port(X16);
	port(X8);
	device(0);
	end(1);
	port(X8);
	device(0);
	expect("ab");

	/* Nobody tells how fast a device is, and the link is not without limits. */
	machine_begin(1);
	host_bridge();
	port(X16);
	device(0);
	device(0);
	expect("aa");

	/* A root port says nothing, the switch below it says that it is fast enough. */
	machine_begin(1);
	host_bridge();
	port(0);
	port(X16);
	device_at_port(X8);
	device_at_port(X8);
	expect("ab");
}

static void unknown_addresses(void **state)
{
	hwloc_topology_t topology;
	unsigned buses[6];
	struct kernel_bus_address asked[6] = {{false, 0, 0, 0, 0}};

	machine_begin(1);
	host_bridge();
	devices_at_switch(X16, 2, X16);
	topology = machine_end();
	asked[1] = machine.devices[1];
	asked[2] = (struct kernel_bus_address){true, 0, 0xee, 0, 0};
	asked[3] = asked[2];
	asked[4] = machine.devices[0];
	kernel_buses_find(topology, asked, 6, buses);
	/* None, the second one, what is not there, twice, the first one, none. */
	assert_memory_equal(buses, ((unsigned[]){0, 1, 2, 2, 1, 3}), sizeof(buses));
	kernel_buses_find(NULL, asked, 6, buses);
	assert_memory_equal(buses, ((unsigned[]){0, 1, 2, 2, 3, 4}), sizeof(buses));
	asked[4].domain = 0x10000;
	kernel_buses_find(topology, asked, 6, buses);
	assert_memory_equal(buses, ((unsigned[]){0, 1, 2, 2, 3, 4}), sizeof(buses));
	kernel_buses_find(topology, asked, 0, NULL);
	hwloc_topology_destroy(topology);
}

/* One device that two platforms offer is one device for its switch, too. */
static void seen_twice(void **state)
{
	machine_begin(1);
	host_bridge();
	device_at_port(X16);
	machine.devices[machine.n++] = machine.devices[0];
	device_at_port(X16);
	expect("aab");

	machine_begin(1);
	host_bridge();
	devices_at_switch(X16, 2, X8);
	machine.devices[machine.n++] = machine.devices[1];
	machine.devices[machine.n++] = machine.devices[0];
	expect("abba");
}

static void many(void **state)
{
	hwloc_topology_t topology;
	unsigned buses[MAX];

	machine_begin(2);
	host_bridge();
	for (unsigned d = 0; d < MAX / 2; d++)
		device_at_port(X4);
	end(1);
	host_bridge();
	for (unsigned d = 0; d < MAX / 4; d++)
		devices_at_switch(X4, 2, X4);
	topology = machine_end();
	kernel_buses_find(topology, machine.devices, MAX, buses);
	for (unsigned d = 0; d < MAX; d++)
		assert_int_equal(buses[d], d < MAX / 2 ? d : MAX / 2 + (d - MAX / 2) / 2);
	hwloc_topology_destroy(topology);
}

/* ---- any machine ---- */

static double any_speed(void)
{
	const double speeds[] = {0, X4, X8, X16};

	return speeds[lrand48() % 4];
}

static void any_tree(unsigned depth)
{
	unsigned children = 1 + lrand48() % 3;

	for (unsigned c = 0; c < children && machine.n < 16; c++)
		if (depth < 5 && lrand48() % 2) {
			port(any_speed());
			any_tree(depth + 1);
			end(1);
		} else {
			device(any_speed());
		}
}

/* In whatever order devices are asked for, the same ones share; and those that share have a
 * bridge in common that is not the host's. */
static void any_machine(void **state)
{
	for (int i = 0; i < 300; i++) {
		struct kernel_bus_address turned[MAX];
		unsigned buses[MAX], others[MAX], n;
		hwloc_topology_t topology;

		machine_begin(1);
		host_bridge();
		any_tree(0);
		topology = machine_end();
		n = machine.n;
		for (unsigned d = 0; d < n; d++)
			turned[n - 1 - d] = machine.devices[d];
		kernel_buses_find(topology, machine.devices, n, buses);
		kernel_buses_find(topology, turned, n, others);
		for (unsigned d = 0; d < n; d++)
			for (unsigned e = 0; e < d; e++) {
				bool shared = buses[d] == buses[e];

				assert_int_equal(shared, others[n - 1 - d] == others[n - 1 - e]);
				assert_true(!shared || (machine.devices[d].bus != 0 &&
				                        machine.devices[e].bus != 0));
			}
		hwloc_topology_destroy(topology);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(ports_of_their_own),
	    cmocka_unit_test(switches),
	    cmocka_unit_test(switches_below_switches),
	    cmocka_unit_test(unknown_speeds),
	    cmocka_unit_test(unknown_addresses),
	    cmocka_unit_test(seen_twice),
	    cmocka_unit_test(many),
	    cmocka_unit_test(any_machine),
	};

	unsigned seed = test_seed();

	srand48(seed);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
