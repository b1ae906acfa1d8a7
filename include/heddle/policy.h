/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Scheduling policies: which processor takes which ready task.
 *
 * Every policy serves any StarPU program, chosen as StarPU's own are:
 * STARPU_SCHED=hdss. A program that links libheddle has them at hand;
 * `heddle run --sched hdss -- PROGRAM` brings them to one that knows nothing
 * of Heddle. STARPU_SCHED=help lists them beside StarPU's.
 *
 * Loops (heddle/loop.h) ask the active policy which block strategy to use.
 */
#ifndef HEDDLE_POLICY_H
#define HEDDLE_POLICY_H

#ifdef __cplusplus
extern "C" {
#endif

/** A policy as it stands in the table. */
struct heddle_policy {
	const char *name;     /**< as STARPU_SCHED names it */
	const char *strategy; /**< the block strategy it gives to loops */
	const char *doc;
};

/** The table of policies; ends with a NULL name. */
const struct heddle_policy *heddle_policies(void);

/** The policy of that name; NULL when it is none of ours, or no name (NULL). */
const struct heddle_policy *heddle_policy_find(const char *name);

#ifdef __cplusplus
}
#endif
#endif
