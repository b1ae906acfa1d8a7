/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Scheduling policies: which worker runs which ready task.
 *
 * Every policy works with every StarPU program: STARPU_SCHED=hdss selects one. A program that
 * links libheddle can select it so, and runs under heddle if neither STARPU_SCHED nor struct
 * starpu_conf names a policy. `heddle run --sched hdss -- PROGRAM` runs a program that
 * does not link libheddle. STARPU_SCHED=help lists Heddle's policies with StarPU's.
 *
 * Loops (heddle/loop.h) use the active policy's block strategy. Start with
 * heddle_policies().
 */
#ifndef HEDDLE_POLICY_H
#define HEDDLE_POLICY_H

#ifdef __cplusplus
extern "C" {
#endif

/** A policy. */
struct heddle_policy {
	const char *name;     /**< the name for STARPU_SCHED; NULL ends the table */
	const char *strategy; /**< name of the block strategy that loops use */
	const char *doc;      /**< description in one line */
};

/** Returns the table of Heddle's policies. Any thread may call it at any time.
 * @return a constant array; an entry whose name is NULL ends it */
const struct heddle_policy *heddle_policies(void);

/** Finds a policy by its name. Any thread may call it at any time.
 * @param name the name; NULL is allowed
 * @return the entry of heddle_policies(); NULL if name is NULL or not one of Heddle's
 * policies */
const struct heddle_policy *heddle_policy_find(const char *name);

#ifdef __cplusplus
}
#endif
#endif
