/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * What StarPU's policy heteroprio wants to be told by an application: StarPU 1.3's knows only
 * priorities, and which kind of worker serves them in which order. (1.4's finds that out.)
 */
#ifndef APPS_COMMON_HETEROPRIO_H
#define APPS_COMMON_HETEROPRIO_H

#include <stdbool.h>
#include <stdint.h>

/** Where the policy is heteroprio: a priority for each level of resolution, its number plus one;
 * CPUs prefer the first level, accelerators the last, and CPUs leave what lies between to
 * accelerators that have not enough of it. Before any task is submitted.
 * @param opencl_first the first level that OpenCL devices can run
 * @param where the tasks may run, as in task->where; 0: everywhere
 * @return whether tasks must have these priorities */
bool heteroprio_tell(unsigned levels, unsigned opencl_first, int32_t where);

#endif
