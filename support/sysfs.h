/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Whether the system shows its cores. hwloc, by which StarPU and PoCL learn of cores and
 * memory, finds neither where it does not.
 */
#ifndef HEDDLE_SUPPORT_SYSFS_H
#define HEDDLE_SUPPORT_SYSFS_H

#include <stdbool.h>

/** Whether sys/devices/system/cpu (Linux, ABI/stable/sysfs-devices-system-cpu) tells where
 * any core is in the machine.
 * @param root folder in which sys/ is; "": that of the system */
bool heddle_sysfs_has_cores(const char *root);

#endif
