/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * StarPU 1.3's policy heteroprio wants to be told the orders in which cores and accelerators look
 * for tasks, and priorities that name the tasks' types. Here types are sorted by their speed-up on
 * the accelerator, as the authors of the policy do: accelerators begin with the highest, cores with
 * the lowest, and leave each other as many tasks as they are slower. So it can run programs that
 * know nothing of it.
 */
#include "config.h"

#include <math.h>
#include <stdbool.h>
#include <starpu.h>
#include <starpu_heteroprio.h>

#include "support/starpu_compat.h"
#include "tools/bench/orders.h"

#pragma weak starpu_cpu_worker_get_count
#pragma weak starpu_cuda_worker_get_count
#pragma weak starpu_opencl_worker_get_count
#pragma weak starpu_heteroprio_set_arch_slow_factor
#pragma weak starpu_heteroprio_set_faster_arch
#pragma weak starpu_heteroprio_set_mapping
#pragma weak starpu_heteroprio_set_nb_prios

/* Steps of speed-up between 1/16 and 256, STEPS for a factor of two; and one bucket for what runs
 * on one kind alone. */
#define STEPS 4
#define LEAST (-4 * STEPS)
#define BUCKETS (12 * STEPS + 1)
#define CORES_ONLY BUCKETS
#define ACCELERATORS_ONLY (BUCKETS + 1)

static double bucket_speedup(unsigned bucket)
{
	return exp2((double)((int)bucket + LEAST) / STEPS);
}

/* The same numbers in StarPU's two enumerations of types of workers. */
static void order_tell(unsigned context, int type, bool descending, unsigned own)
{
	starpu_heteroprio_set_nb_prios(context, type, BUCKETS + 1);
	/* What nobody else can do comes first. */
	starpu_heteroprio_set_mapping(context, type, 0, own);
	for (unsigned b = 0; b < BUCKETS; b++)
		starpu_heteroprio_set_mapping(context, type, 1 + b,
		                              descending ? BUCKETS - 1 - b : b);
}

static void factors_tell(unsigned context, int cpu, int accelerator)
{
	for (unsigned b = 0; b < BUCKETS; b++) {
		double speedup = bucket_speedup(b);
		int fast = speedup >= 1 ? accelerator : cpu,
		    slow = speedup >= 1 ? cpu : accelerator;

		starpu_heteroprio_set_faster_arch(context, fast, b);
		starpu_heteroprio_set_arch_slow_factor(context, slow, b,
		                                       speedup >= 1 ? speedup : 1 / speedup);
	}
}

void orders_tell(unsigned context)
{
	int cpu = starpu_cpu_worker_get_count() ? STARPU_CPU_WORKER : -1;
	int accelerator = starpu_cuda_worker_get_count()     ? STARPU_CUDA_WORKER
	                  : starpu_opencl_worker_get_count() ? STARPU_OPENCL_WORKER
	                                                     : -1;

	if (accelerator >= 0)
		order_tell(context, accelerator, true, ACCELERATORS_ONLY);
	if (cpu >= 0)
		order_tell(context, cpu, false, CORES_ONLY);
	if (cpu >= 0 && accelerator >= 0)
		factors_tell(context, cpu, accelerator);
}

int orders_priority(const struct starpu_task *task, double cpu_us, double accelerator_us)
{
	int bucket;

	if (!(task->where & STARPU_CPU))
		return ACCELERATORS_ONLY;
	if (!(task->where & (STARPU_CUDA | STARPU_OPENCL)))
		return CORES_ONLY;
	/* Unknown times: as fast. */
	if (!(cpu_us > 0) || !(accelerator_us > 0))
		return -LEAST;
	bucket = lround(STEPS * log2(cpu_us / accelerator_us)) - LEAST;
	return bucket < 0 ? 0 : bucket >= BUCKETS ? BUCKETS - 1 : bucket;
}
