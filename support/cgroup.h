/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * What a container, or another group of processes that Linux limits, may hold.
 */
#ifndef HEDDLE_SUPPORT_CGROUP_H
#define HEDDLE_SUPPORT_CGROUP_H

#include <stddef.h>

/** Least limit of memory, swap not counted, of the groups that the process is in: memory.max
 * of version 2, memory.limit_in_bytes of version 1 (Linux, admin-guide/cgroup-v2.rst,
 * "Memory", and cgroup-v1/memory.rst). What cannot be read limits nothing.
 * @param root folder in which proc/ and sys/ are; "" but in tests
 * @return bytes; SIZE_MAX: no limit */
size_t heddle_cgroup_memory(const char *root);

#endif
