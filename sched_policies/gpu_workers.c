/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "config.h"

#include "sched_policies/gpu_workers.h"

/* Threads of GPUs take one core in so many at the most. */
#define SHARE 4

struct gpu_workers heddle_gpu_workers(const struct gpu_machine *machine, unsigned wanted)
{
	struct gpu_workers chosen = {.each = wanted ? wanted : HEDDLE_GPU_WORKERS};
	unsigned all, least;

	if (machine->gpus && chosen.each > machine->most / machine->gpus)
		chosen.each = machine->most / machine->gpus;
	if (!chosen.each)
		chosen.each = 1;
	all = chosen.each * machine->gpus;
	least = machine->cpu_workers ? all + machine->cpu_workers : SHARE * all;
	chosen.threads = chosen.each > 1 && machine->cores >= least;
	return chosen;
}
