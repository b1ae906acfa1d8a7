/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Orders for StarPU 1.3's policy heteroprio under programs that tell it none.
 */
#ifndef HEDDLE_BENCH_ORDERS_H
#define HEDDLE_BENCH_ORDERS_H

#include <starpu.h>

/** For starpu_conf.sched_policy_init under heteroprio. */
void orders_tell(unsigned context);
/** The priority of a task under heteroprio.
 * @param cpu_us its time on a core; at most 0: unknown
 * @param accelerator_us on the fastest accelerator */
int orders_priority(const struct starpu_task *task, double cpu_us, double accelerator_us);

#endif
