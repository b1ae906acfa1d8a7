/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The table of policies, as Heddle itself uses it. Pure.
 */
#ifndef HEDDLE_SCHED_POLICIES_REGISTRY_H
#define HEDDLE_SCHED_POLICIES_REGISTRY_H

#include <heddle/policy.h>

/** Rows of heddle_policies(). */
#define POLICIES_N 10

/** The block strategy, as a specification, by which a policy of that name
 * schedules ordinary tasks; that of "gss" for any other name. */
const char *policies_tasks_strategy(const char *name);

#endif
