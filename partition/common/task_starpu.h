/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Submitting the tasks of a loop, a wavefront or a kernel: to one worker, or to some for
 * StarPU's policy to choose from.
 *
 *     struct starpu_task *task = starpu_task_create();
 *     task->cl = …
 *     task_pin(task, worker, 0);
 *     status = task_submit(task, name);
 */
#ifndef HEDDLE_PARTITION_TASK_STARPU_H
#define HEDDLE_PARTITION_TASK_STARPU_H

#include <stdbool.h>
#include <stdint.h>
#include <starpu.h>

/** Workers to choose from; zero-initialised: none. */
struct worker_set {
	uint32_t bits[(STARPU_NMAXWORKERS + 31) / 32];
};

static inline void worker_set_add(struct worker_set *set, unsigned worker)
{
	set->bits[worker / 32] |= UINT32_C(1) << worker % 32;
}

/** The task runs on this worker.
 * @param implementation of its codelet */
void task_pin(struct starpu_task *task, unsigned worker, unsigned implementation);

/** The task runs where StarPU's policy wants, among these workers. They must be there until
 * it has ended. */
void task_choose(struct starpu_task *task, const struct worker_set *workers);

/** Submits a task. It may have ended, and its callback run, before this returns.
 * @param name copied: StarPU looks at a task's name after its callback, which may have
 * ended the work and freed its name. The task's prologue_callback_arg is used for that.
 * @return 0; otherwise what StarPU says, which knows nothing of the task: it has been
 * destroyed. */
int task_submit(struct starpu_task *task, const char *name);

#endif
