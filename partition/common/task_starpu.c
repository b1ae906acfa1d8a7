/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "config.h"

#include <errno.h>
#include <string.h>

#include "partition/common/task_starpu.h"

void task_pin(struct starpu_task *task, unsigned worker, unsigned implementation)
{
	task->execute_on_a_specific_worker = 1;
	task->workerid = worker;
	starpu_task_set_implementation(task, implementation);
}

void task_choose(struct starpu_task *task, const struct worker_set *workers)
{
	task->workerids = (uint32_t *)workers->bits;
	task->workerids_len = sizeof(workers->bits) / sizeof(*workers->bits);
}

int task_submit(struct starpu_task *task, const char *name)
{
	int status;

	/* An argument that StarPU frees with the task; there is no prologue to get it. */
	task->prologue_callback_arg = strdup(name);
	task->prologue_callback_arg_free = 1;
	task->name = task->prologue_callback_arg;
	status = starpu_task_submit(task);
	/* -EAGAIN: its context has no worker for it just now; StarPU keeps it. */
	if (!status || status == -EAGAIN)
		return 0;
	task->destroy = 0;
	starpu_task_destroy(task);
	return status;
}
