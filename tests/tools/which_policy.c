/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A StarPU program that knows nothing of Heddle: runs a few tasks and prints the
 * policy that scheduled them. With an argument its configuration names one.
 */
#include <stdio.h>
#include <starpu.h>
#include <starpu_scheduler.h>

static unsigned ran;

static void count(void *buffers[], void *arg)
{
	__atomic_add_fetch(&ran, 1, __ATOMIC_RELAXED);
}

static struct starpu_codelet codelet = {.cpu_funcs = {count}};

int main(int argc, char **argv)
{
	struct starpu_conf conf;

	if (starpu_conf_init(&conf))
		return 1;
	if (argc > 1)
		conf.sched_policy_name = argv[1];
	if (starpu_init(&conf))
		return 77;
	for (int i = 0; i < 100; i++)
		if (starpu_task_insert(&codelet, 0))
			return 1;
	starpu_task_wait_for_all();
	puts(starpu_sched_ctx_get_sched_policy(0)->policy_name);
	starpu_shutdown();
	return ran != 100;
}
