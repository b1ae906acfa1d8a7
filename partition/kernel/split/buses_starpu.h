/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * On which buses the devices of OpenCL workers are. Where there is OpenCL.
 */
#ifndef HEDDLE_PARTITION_KERNEL_BUSES_STARPU_H
#define HEDDLE_PARTITION_KERNEL_BUSES_STARPU_H

#include <stdbool.h>

struct heddle_bus {
	unsigned number; /**< below the number of workers */
	bool none;       /**< the device works on the host's arrays, the number does not matter */
	bool shared;     /**< another worker's device, of those asked for, is on it, too */
	char pci[32];    /**< where the device is: "0000:3b:00.0"; empty: not known */
};

/** Puts the devices of workers on buses, as HEDDLE_KERNEL_BUSES says: finds which share one
 * (partition/kernel/split/buses.h), or deals them out. The machine is looked at once for the same
 * devices, and only if there are several with an address. Any thread, while StarPU runs.
 * @param workers OpenCL workers
 * @param n of them, at most SPLIT_MAXDEVICES
 * @param[out] buses of each */
void heddle_buses_find(const int *workers, unsigned n, struct heddle_bus *buses);

/** In words: "bus 0 at 0000:3b:00.0, shared". */
void heddle_bus_text(const struct heddle_bus *bus, char *text, unsigned size);

#endif
