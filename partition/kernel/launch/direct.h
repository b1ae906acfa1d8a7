/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Whether the thread that submits a kernel computes a part of it itself.
 */
#ifndef HEDDLE_KERNEL_DIRECT_H
#define HEDDLE_KERNEL_DIRECT_H

#include <stdbool.h>
#include <stddef.h>

struct kernel_direct_facts {
	bool allowed;    /**< by HEDDLE_KERNEL_DIRECT */
	bool shares;     /**< the launch is shared out, also to one device, not cut into blocks */
	bool known;      /**< how long its devices take: no dry run comes first */
	bool on_worker;  /**< the thread is a worker of StarPU's, which has other tasks */
	bool at_home;    /**< all data is valid in main memory */
	int tasks_ready; /**< StarPU's tasks that run or could run: devices may be busy */
};

/** @return NULL: it does; otherwise why not */
static inline const char *kernel_direct_refusal(const struct kernel_direct_facts *facts)
{
	if (!facts->allowed)
		return "HEDDLE_KERNEL_DIRECT=0";
	if (!facts->shares)
		return "it is not shared out";
	if (!facts->known)
		return "a dry run comes first";
	if (facts->on_worker)
		return "a worker submits it";
	if (!facts->at_home)
		return "its data is not in main memory";
	if (facts->tasks_ready > 0)
		return "other tasks are under way";
	return NULL;
}

#endif
