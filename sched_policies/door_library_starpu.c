/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The front door of StarPU 1.4 for programs that know nothing of Heddle: with
 * STARPU_SCHED_LIB=libheddle.so it asks these two functions of that library, by
 * name, before it looks into its own table.
 */
#include "config.h"

#include <string.h>

#include "support/message.h"
#include "sched_policies/policies.h"

struct starpu_sched_policy *starpu_get_sched_lib_policy(const char *name);
struct starpu_sched_policy **starpu_get_sched_lib_policies(void);

struct starpu_sched_policy **starpu_get_sched_lib_policies(void)
{
	static struct starpu_sched_policy *none[1];
	struct starpu_sched_policy **table = policies_starpu();

	return table ? table : none;
}

struct starpu_sched_policy *starpu_get_sched_lib_policy(const char *name)
{
	struct starpu_sched_policy **policy = starpu_get_sched_lib_policies();

	while (*policy && (!name || strcmp((*policy)->policy_name, name)))
		policy++;
	return *policy;
}
