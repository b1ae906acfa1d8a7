/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The table of policies: one row each. heddle_policies() shows it to users,
 * register_starpu.c to StarPU.
 */
#include "config.h"

#include <string.h>

#include <heddle/policy.h>

#include "support/message.h"
#include "sched_policies/registry.h"

static const struct heddle_policy policies[] = {
#define SELF(name, tasks, doc) {#name, #name, doc},
#define READY(name, doc) {#name, "hdss", doc},
    POLICIES(SELF, READY)
#undef SELF
#undef READY
        {NULL, NULL, NULL},
};

static const char *const tasks_strategies[] = {
#define SELF(name, tasks, doc) tasks,
#define READY(name, doc) "gss",
    POLICIES(SELF, READY)
#undef SELF
#undef READY
};

_Static_assert(sizeof(policies) / sizeof(policies[0]) == POLICIES_N + 1,
               "POLICIES_N is not up to date");

const struct heddle_policy *heddle_policies(void)
{
	return policies;
}

const struct heddle_policy *heddle_policy_find(const char *name)
{
	for (const struct heddle_policy *policy = policies; name && policy->name; policy++)
		if (!strcmp(policy->name, name))
			return policy;
	return NULL;
}

const char *policies_tasks_strategy(const char *name)
{
	/* Not through heddle_policy_find(): a program that brings a copy of this
	 * file would have its own table searched. */
	for (size_t i = 0; i < POLICIES_N; i++)
		if (!strcmp(policies[i].name, name))
			return tasks_strategies[i];
	return "gss";
}
