/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "config.h"

#include <starpu.h>
#include <starpu_scheduler.h>

#include "tools/stock.h"

const char *stock_policy(unsigned p, const char **doc)
{
	struct starpu_sched_policy **policies = starpu_sched_get_predefined_policies();

	for (unsigned i = 0; i < p && policies[i]; i++)
		;
	if (!policies[p])
		return NULL;
	if (doc)
		*doc = policies[p]->policy_description;
	return policies[p]->policy_name;
}
