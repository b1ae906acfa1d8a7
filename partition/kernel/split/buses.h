/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Which devices share a bus, by the machine's PCI tree as hwloc knows it.
 */
#ifndef HEDDLE_KERNEL_BUSES_H
#define HEDDLE_KERNEL_BUSES_H

#include <hwloc.h>
#include <stdbool.h>

/** Where a device is on PCI. */
struct kernel_bus_address {
	bool known;
	unsigned domain, bus, device, function;
};

/** A topology, not loaded yet, of what kernel_buses_find() looks at: PCI devices and bridges.
 * @return 0 or -errno */
int kernel_buses_topology_init(hwloc_topology_t *topology);

/* Devices share a bus where their data crosses a link that is slower than they are together. Such
 * a link is that of a PCI-to-PCI bridge (a root port, or a port of a switch) above them all. The
 * speed of devices together is the sum of their own links; those below another bridge count no
 * more than that bridge's link. So nothing is shared
 *
 * - by devices that have a root port each, or that are at a host bridge;
 * - below a switch whose link upwards is as fast as the links below it together;
 * - at a root port where only the switches below it are slow, each for itself.
 *
 * A link of unknown speed counts as slow if paths of several devices meet at its bridge, and only
 * then. Memory, and links between sockets, count as fast enough for all.
 *
 * hwloc has the present speed of links. A link that saves power has less than it can do, and
 * devices below a switch may seem not to share its link then. */

/** Puts devices on buses. Those at the same address, one device that is seen twice, share
 * theirs in any case; one without an address, or that is not in the topology, has a bus of its
 * own.
 * @param topology loaded; NULL: nothing is known of the machine
 * @param n devices, any number
 * @param[out] buses the number of each one's: from 0 and without gaps, in the order of the
 * first device on each */
void kernel_buses_find(hwloc_topology_t topology, const struct kernel_bus_address *addresses,
                       unsigned n, unsigned *buses);

#endif
