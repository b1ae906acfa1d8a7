/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The policies as StarPU is given them. registry.c has the table.
 */
#ifndef HEDDLE_SCHED_POLICIES_POLICIES_H
#define HEDDLE_SCHED_POLICIES_POLICIES_H

#include <stdbool.h>

#include <starpu.h>
#include <starpu_scheduler.h>

/** What all self-scheduling policies have in common: everything but names. */
extern const struct starpu_sched_policy self_scheduling_policy;

/** The demand-driven ones, likewise. */
extern const struct starpu_sched_policy ddfcfs_policy, ddwrr_policy, odds_policy, heddle_policy;

/** Ordinary tasks are scheduled as under ddwrr; kernels (heddle/kernel.h) look at the
 * policy's name and place their parts themselves. */
#define skmd_policy ddwrr_policy

/** Whether one of ours stands in StarPU's table instead of that policy, which comes back for who
 * asks for it. */
bool heddle_policy_displaced(const char *name);

/** The policy that somebody has named, in STARPU_SCHED, else in the program's configuration. Empty
 * names are none.
 * @param conf may be NULL; of another StarPU than ours it is not looked at
 * @return NULL: nobody has */
const char *heddle_policy_asked(const struct starpu_conf *conf);

/** StarPU is about to start: puts the policies where it looks for them, and tells it how many
 * workers the policy wants for each GPU (gpu_workers.h). The library that `heddle run` preloads
 * calls this and the next one by name.
 * @param conf may be NULL; of another StarPU than ours it is not looked at */
void heddle_init_begin(const struct starpu_conf *conf);

/** StarPU has started, or could not. */
void heddle_init_end(void);

#endif
