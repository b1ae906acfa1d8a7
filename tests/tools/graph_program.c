/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A StarPU program that knows nothing of Heddle: a chain of tasks, and tasks that depend on
 * nothing. Each takes a millisecond of a simulated core or 100 us of a simulated GPU. Before and
 * after them it calls a function on each worker, as starpu_cublas_init() does.
 *
 *	graph_program CHAIN OTHERS [WAY]
 *
 * WAY: negative (the chain's priority is below 0), fail (exit status 3 at the end), stay
 * (starpu_shutdown() is not called).
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <starpu.h>

#define MOST 1000
#define CORE_US 1000
#define GPU_US 100
#define FLOPS 1e6

static float values[MOST + 1];

static void work(void *buffers[], void *arg)
{
	float *value = (float *)STARPU_VARIABLE_GET_PTR(buffers[0]);

	for (int i = 0; i < 10000; i++)
		*value = *value * 0.5f + 1;
}

static void prepare(void *arg)
{
}

#ifdef STARPU_SIMGRID
static double cost(struct starpu_task *task, struct starpu_perfmodel_arch *arch, unsigned nimpl)
{
	return arch->devices[0].type == STARPU_CPU_WORKER ? CORE_US : GPU_US;
}

static struct starpu_perfmodel model = {
    .type = STARPU_PER_ARCH,
    .symbol = "graph_program",
    .arch_cost_function = cost,
};
#endif

static struct starpu_codelet codelet = {
    .cpu_funcs = {work},
#ifdef STARPU_SIMGRID
    .cuda_funcs = {work}, /* does not run */
    .model = &model,
#endif
    .nbuffers = 1,
    .modes = {STARPU_RW},
    .name = "graph_program",
};

int main(int argc, char **argv)
{
	int chain = argc > 2 ? atoi(argv[1]) : 0, others = argc > 2 ? atoi(argv[2]) : 0;
	const char *way = argc > 3 ? argv[3] : "";
	starpu_data_handle_t handles[MOST + 1];

	if (chain < 1 || others < 0 || others > MOST)
		return 2;
	if (starpu_init(NULL))
		return 77;
	starpu_execute_on_each_worker(prepare, NULL, STARPU_CPU | STARPU_CUDA);
	for (int v = 0; v <= others; v++)
		starpu_variable_data_register(&handles[v], STARPU_MAIN_RAM, (uintptr_t)&values[v],
		                              sizeof(*values));
	for (int t = 0; t < chain + others; t++)
		if (starpu_task_insert(&codelet, STARPU_RW, handles[t < others ? t + 1 : 0],
		                       STARPU_PRIORITY, strcmp(way, "negative") ? 0 : -1,
		                       STARPU_FLOPS, (double)FLOPS, 0))
			return 1;
	starpu_task_wait_for_all();
	for (int v = 0; v <= others; v++)
		starpu_data_unregister(handles[v]);
	starpu_execute_on_each_worker(prepare, NULL, STARPU_CPU | STARPU_CUDA);
	if (strcmp(way, "stay"))
		starpu_shutdown();
	else
		fflush(NULL), _Exit(0);
	return strcmp(way, "fail") ? 0 : 3;
}
