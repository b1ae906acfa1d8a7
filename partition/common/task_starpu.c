/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "partition/common/task_starpu.h"

void work_task_pin(struct starpu_task *task, unsigned worker, unsigned implementation)
{
	task->execute_on_a_specific_worker = 1;
	task->workerid = worker;
	starpu_task_set_implementation(task, implementation);
}

void work_task_choose(struct starpu_task *task, const struct work_ids *workers)
{
	task->workerids = (uint32_t *)workers->bits;
	task->workerids_len = sizeof(workers->bits) / sizeof(*workers->bits);
}

int work_task_submit(struct starpu_task *task, const char *name)
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

/* ---- writing back ---- */

struct write_back {
	starpu_data_handle_t handle;
	void (*written)(void *arg, int status);
	void *arg;
};

static void write_back_end(struct write_back *write_back, int status)
{
	const struct write_back copy = *write_back;

	free(write_back);
	starpu_data_unregister_submit(copy.handle);
	copy.written(copy.arg, status);
}

static void acquired(void *arg)
{
	struct write_back *write_back = arg;

	starpu_data_release_on_node(write_back->handle, STARPU_MAIN_RAM);
	write_back_end(write_back, 0);
}

void work_write_back(starpu_data_handle_t handle, void (*written)(void *arg, int status), void *arg)
{
	struct write_back *write_back = malloc(sizeof(*write_back));
	int status;

	if (!write_back) {
		starpu_data_unregister_submit(handle);
		written(arg, -ENOMEM);
		return;
	}
	*write_back = (struct write_back){handle, written, arg};
	status =
	    starpu_data_acquire_on_node_cb(handle, STARPU_MAIN_RAM, STARPU_R, acquired, write_back);
	if (status)
		write_back_end(write_back, status);
}
