/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The table of policies: one row each. heddle_policies() shows it to users,
 * policies_starpu() (policies_starpu.c) to StarPU.
 */
#include "config.h"

#include <string.h>

#include <heddle/policy.h>

#include "private/message.h"
#include "sched_policies/registry.h"

/* SELF_SCHEDULING(name, specification for ordinary tasks, documentation). For
 * loops the strategy is the one of that name with its own defaults. A stream of
 * tasks has no length known in advance, and a task is work for microseconds at
 * least: blocks start with one task and need not be multiples of anything. */
#define POLICIES(SELF_SCHEDULING)                                                                  \
	SELF_SCHEDULING(hdss, "hdss:initial=1,factor=1",                                           \
	                "chunks by each worker's measured speed (HDSS)")                           \
	SELF_SCHEDULING(gss, "gss", "guided self-scheduling: chunks of 1/p of the ready tasks")    \
	SELF_SCHEDULING(css, "css", "chunks of one size")                                          \
	SELF_SCHEDULING(tss, "tss", "trapezoid self-scheduling: chunks that shrink linearly")      \
	SELF_SCHEDULING(fss, "fss",                                                                \
	                "factoring: batches of equal chunks, each half of what remains")           \
	SELF_SCHEDULING(linear, "linear:initial=1,step=1", "chunks that grow by a constant")       \
	SELF_SCHEDULING(exponential, "exponential:initial=1", "chunks that grow by a factor")      \
	SELF_SCHEDULING(static, "static", "equal shares of the ready tasks")                       \
	SELF_SCHEDULING(qilin, "qilin", "shares by speeds measured in a training run (Qilin)")     \
	SELF_SCHEDULING(axel, "axel", "shares by relative speeds known beforehand (Axel)")

static const struct heddle_policy policies[] = {
#define ROW(name, tasks, doc) {#name, #name, doc},
    POLICIES(ROW)
#undef ROW
        {NULL, NULL, NULL},
};

static const char *const tasks_strategies[] = {
#define ROW(name, tasks, doc) tasks,
    POLICIES(ROW)
#undef ROW
};

_Static_assert(sizeof(policies) / sizeof(policies[0]) == POLICIES_N + 1,
               "POLICIES_N is not up to date");

HEDDLE_API const struct heddle_policy *heddle_policies(void)
{
	return policies;
}

HEDDLE_API const struct heddle_policy *heddle_policy_find(const char *name)
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
