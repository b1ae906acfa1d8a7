/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The tasks of a loop, a wavefront or a kernel: submitting one to a worker, or to some for
 * StarPU's policy to choose from, and writing its results back to main memory.
 */
#ifndef HEDDLE_PARTITION_TASK_STARPU_H
#define HEDDLE_PARTITION_TASK_STARPU_H

#include <stdint.h>
#include <starpu.h>

/** Workers to choose from; zero-initialised: none. */
struct work_ids {
	uint32_t bits[(STARPU_NMAXWORKERS + 31) / 32];
};

static inline void work_ids_add(struct work_ids *set, unsigned worker)
{
	set->bits[worker / 32] |= UINT32_C(1) << worker % 32;
}

/** The task runs on this worker.
 * @param implementation of its codelet */
void work_task_pin(struct starpu_task *task, unsigned worker, unsigned implementation);

/** The task runs where StarPU's policy wants, among these workers. They must be there until
 * it has ended. */
void work_task_choose(struct starpu_task *task, const struct work_ids *workers);

/** Submits a task. It may have ended, and its callback run, before this returns.
 * @param name copied: StarPU looks at a task's name after its callback, which may have
 * ended the work and freed its name. The task's prologue_callback_arg is used for that.
 * @return 0; otherwise what StarPU says, which knows nothing of the task: it has been
 * destroyed. */
int work_task_submit(struct starpu_task *task, const char *name);

/** Writes a handle's contents back to main memory and unregisters it. To unregister a handle
 * without waiting does not do that: StarPU copies the contents only when they are acquired
 * there. Does not wait, so that a callback may call it, and takes the contents as they
 * are after all tasks submitted so far.
 * @param written called once, when the handle is gone; by whatever thread, maybe before this
 * returns. Its status is 0 when the contents are there; otherwise -ENOMEM, or what StarPU
 * says, and they are lost */
void work_write_back(starpu_data_handle_t handle, void (*written)(void *arg, int status),
                     void *arg);

#endif
