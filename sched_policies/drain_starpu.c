/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Transfers that nobody waits for: the input of a task was on its way to the accelerator that
 * had claimed it when another worker did the task. StarPU waits for such a transfer before it
 * ends the data, and aborts when it is shut down before the transfer has ended. Once all tasks are
 * done and the program is about to wait for nothing, as starpu_shutdown() does, it waits for them
 * here.
 *
 * The data may be gone by then, so that they cannot be asked. But StarPU starts an idle
 * fetch when nothing else is on its way to a device, and handles what is wanted in
 * main memory in order: when one of each has ended, so has what was asked for before.
 */
#include "config.h"

#include "sched_policies/common_starpu.h"

static atomic_bool left_behind[STARPU_MAXNODES];

/* What the task writes StarPU hastens itself: the writer waits for it. */
void policy_left_behind(struct starpu_task *task, unsigned from, unsigned to)
{
	unsigned node = starpu_worker_get_memory_node(from);

	if (node == STARPU_MAIN_RAM || node == starpu_worker_get_memory_node(to))
		return;
	if (!atomic_load(&left_behind[node]))
		atomic_store(&left_behind[node], true);
	for (unsigned i = 0; i < STARPU_TASK_GET_NBUFFERS(task); i++)
		if ((STARPU_TASK_GET_MODE(task, i) & STARPU_RW) == STARPU_R)
			starpu_data_fetch_on_node(STARPU_TASK_GET_HANDLE(task, i), node, 1);
}

/* An idle fetch frees no memory on a full device, others do: it gets its place beforehand. */
static void await_transfers_to(unsigned node)
{
	starpu_data_handle_t handle;
	char byte = 0;

	starpu_variable_data_register(&handle, STARPU_MAIN_RAM, (uintptr_t)&byte, sizeof(byte));
	if (!starpu_data_acquire_on_node(handle, node, STARPU_R)) {
		starpu_data_release_on_node(handle, node);
		if (!starpu_data_acquire(handle, STARPU_RW))
			starpu_data_release(handle);
		starpu_data_idle_prefetch_on_node(handle, node, 0);
	}
	starpu_data_unregister(handle);
}

/* What waited for a transfer to end, as the end of its data does. */
static void await_main_memory(void)
{
	starpu_data_handle_t handle;

	starpu_variable_data_register(&handle, -1, 0, 1);
	if (!starpu_data_acquire(handle, STARPU_W))
		starpu_data_release(handle);
	starpu_data_unregister(handle);
}

void policy_drain(unsigned ctx)
{
	bool any = false;

	/* This may be called at any time; tasks under way may leave more behind. */
	if (starpu_worker_get_id() >= 0 || starpu_task_nsubmitted())
		return;
	for (unsigned node = 0; node < starpu_memory_nodes_get_count(); node++) {
		if (!atomic_exchange(&left_behind[node], false))
			continue;
		await_transfers_to(node);
		any = true;
	}
	if (any)
		await_main_memory();
}
