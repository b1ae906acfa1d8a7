/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "config.h"

#include <heddle/heddle.h>
#include <heddle/policy.h>

#include "sched_policies/policies.h"
#include "sched_policies/registry.h"

static const struct starpu_sched_policy *const hooks[POLICIES_N] = {
#define SELF(name, tasks, doc) &self_scheduling_policy,
#define READY(name, doc) &name##_policy,
    POLICIES(SELF, READY)
#undef SELF
#undef READY
};

struct starpu_sched_policy **policies_starpu(void)
{
	static struct starpu_sched_policy rows[POLICIES_N];
	static struct starpu_sched_policy *table[POLICIES_N + 1];
	const struct heddle_policy *policies = heddle_policies();

	if (heddle_starpu_check())
		return NULL;
	for (size_t i = 0; !table[0] && i < POLICIES_N; i++) {
		rows[i] = *hooks[i];
		rows[i].policy_name = policies[i].name;
		rows[i].policy_description = policies[i].doc;
	}
	for (size_t i = POLICIES_N; i-- > 0;)
		table[i] = &rows[i];
	return table;
}
