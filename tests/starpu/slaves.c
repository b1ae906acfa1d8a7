/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Workers of StarPU's over TCP/IP beside those of this process, under the policy of STARPU_SCHED:
 * they are a kind of their own, run tasks, and are left out of loops. Slaves run this program,
 * too, and stay in starpu_init().
 */
#include "config.h"

#include <stdio.h>
#include <string.h>
#include <starpu.h>

#include <heddle/heddle.h>

#include "estimator/platform_starpu.h"
#include "support/starpu_compat.h"

enum { NTASKS = 64, SIZE = 10000 };

static int values[NTASKS], sums[SIZE];

/* Slaves find it by its name. */
void slaves_add(void *buffers[], void *arg);
void slaves_add(void *buffers[], void *arg)
{
	*(int *)STARPU_VARIABLE_GET_PTR(buffers[0]) += 1;
}

static struct starpu_codelet add = {
    .cpu_funcs = {slaves_add},
    .cpu_funcs_name = {"slaves_add"},
    .nbuffers = 1,
    .modes = {STARPU_RW},
    .name = "slaves_add",
};

static void count(void *buffers[], void *arg)
{
	const struct heddle_block *block = arg;
	int *sum = (int *)STARPU_VECTOR_GET_PTR(buffers[0]);

	for (size_t i = 0; i < block->n; i++)
		sum[i]++;
}

static struct starpu_codelet counting = {.cpu_funcs = {count}, .name = "counting"};

/* Every second task is one for slaves alone, which they run twice. */
static int tasks_run(int slave)
{
	starpu_data_handle_t handles[NTASKS];
	int wrong = 0;

	for (int t = 0; t < NTASKS; t++) {
		starpu_variable_data_register(&handles[t], STARPU_MAIN_RAM, (uintptr_t)&values[t],
		                              sizeof(values[t]));
		for (int time = 0; time <= t % 2; time++) {
			struct starpu_task *task = starpu_task_create();

			task->cl = &add;
			task->handles[0] = handles[t];
			if (t % 2)
				task->where = heddle_compat_where(starpu_worker_get_type(slave));
			if (starpu_task_submit(task))
				return 1;
		}
	}
	for (int t = 0; t < NTASKS; t++) {
		starpu_data_unregister(handles[t]);
		wrong += values[t] != 1 + t % 2;
	}
	if (wrong)
		printf("%d of %d values are wrong\n", wrong, NTASKS);
	return wrong;
}

static int loop_run(void)
{
	struct heddle_loop loop = {
	    .codelet = &counting, .n = SIZE, .naccesses = 1, .accesses = {{.mode = STARPU_RW}}};
	struct heddle_loop_stats stats;
	int status;

	starpu_vector_data_register(&loop.accesses[0].handle, STARPU_MAIN_RAM, (uintptr_t)sums,
	                            SIZE, sizeof(*sums));
	status = heddle_loop_run(&loop, &stats);
	starpu_data_unregister(loop.accesses[0].handle);
	for (int i = 0; !status && i < SIZE; i++)
		status = sums[i] != 1;
	for (unsigned w = 0; !status && w < stats.nworkers; w++)
		status = stats.workers[w].kind != HEDDLE_KIND_CPU;
	if (status)
		printf("the loop is wrong (%d)\n", status);
	return status;
}

int main(void)
{
	int slave = -1, status;

	if (starpu_init(NULL))
		return 77;
	for (unsigned w = 0; w < starpu_worker_get_count(); w++)
		if (!strcmp(heddle_kind_name(heddle_worker_kind(w)), "tcpip_ms"))
			slave = w;
	if (slave < 0)
		puts("no worker is of the kind tcpip_ms");
	status = slave < 0 || tasks_run(slave) || loop_run();
	starpu_shutdown();
	if (!status)
		puts("all is right");
	return status;
}
