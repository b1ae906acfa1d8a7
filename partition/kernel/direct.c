/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "config.h"

#include <stddef.h>

#include "partition/kernel/direct.h"

const char *direct_refusal(const struct direct_facts *facts)
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
