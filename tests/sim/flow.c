/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A flow on a simulated machine: some labels come back as larger work. Prints the time and how many
 * large pieces the core computed; flow.sh says what is right. (StarPU starts once in a process:
 * under SimGrid there are no transfers after a second start.)
 *
 *   flow BUFFERS THREADS
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>

#include <heddle/heddle.h>

/* A small piece of work takes SMALL_US on both devices, a large one LARGE_US on the accelerator and
 * ten times as long on the core. Every eighth label comes back as a large piece. */
enum { LABELS = 800, BACK = 8, SMALL_US = 1000, LARGE_US = 4000 };

static unsigned large_on_core, returned;

static void never(void *buffers[], void *arg)
{
	abort(); /* kernels do not run under SimGrid */
}

static double cost(struct starpu_task *task, struct starpu_perfmodel_arch *arch, unsigned nimpl)
{
	const struct heddle_event *event = task->cl_arg;

	if (event->label < LABELS)
		return SMALL_US;
	return arch->devices[0].type == STARPU_CPU_WORKER ? 10 * LARGE_US : LARGE_US;
}

static struct starpu_perfmodel model = {
    .type = STARPU_PER_ARCH, .symbol = "heddle_test_flow", .arch_cost_function = cost};
static struct starpu_codelet compute = {.cpu_funcs = {never},
                                        .cuda_funcs = {never},
                                        .model = &model,
                                        .nbuffers = 1,
                                        .modes = {STARPU_W},
                                        .name = "compute"};

static const struct heddle_stream small = {.name = "small", .n = LABELS};
static const struct heddle_stream large = {.name = "large"};

static void describe(struct starpu_task *task, const struct heddle_event *event)
{
	const struct heddle_param size = {.name = "size", .number = 1 + event->label / LABELS};

	heddle_task_params(task, &size, 1);
}

static int judge(struct heddle_event *event)
{
	if (event->label >= LABELS) {
		returned++;
		large_on_core += starpu_worker_get_type(event->worker) == STARPU_CPU_WORKER;
		return 0;
	}
	return event->label % BACK ? 0 : heddle_event_send(event, &large, event->label + LABELS);
}

int main(int argc, char **argv)
{
	const struct heddle_stream results = {
	    .name = "results", .buffers = argc > 1 ? atoi(argv[1]) : 0, .parts = {{sizeof(int)}}};
	const struct heddle_filter filters[] = {
	    {.name = "judge",
	     .function = judge,
	     .threads = argc > 2 ? atoi(argv[2]) : 0,
	     .ports = {{&results}}},
	    {.codelet = &compute,
	     .task = describe,
	     .ports = {{&large, &results}, {&small, &results}}}};
	static struct heddle_flow_stats stats;
	struct heddle_flow *flow;
	int status;

	if (starpu_init(NULL))
		return 77;
	status = heddle_flow_create(filters, 2, NULL, &flow);
	if (!status) {
		status = heddle_flow_run(flow, &stats);
		heddle_flow_destroy(flow);
	}
	starpu_shutdown();
	printf("%.3f %u\n", stats.us, large_on_core);
	return status || returned != LABELS / BACK || stats.tasks != LABELS + LABELS / BACK ||
	       stats.calls != stats.tasks;
}
