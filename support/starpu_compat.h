/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * What differs between StarPU 1.3 and 1.4, and nothing else: no other file asks
 * for StarPU's version.
 */
#ifndef HEDDLE_SUPPORT_STARPU_COMPAT_H
#define HEDDLE_SUPPORT_STARPU_COMPAT_H

#include <stdbool.h>
#include <starpu.h>
#include <starpu_scheduler.h>

/** Whether workers are simulated: no kernel runs. */
#ifdef HEDDLE_USE_SIMGRID
#define HEDDLE_SIMULATED 1
#else
#define HEDDLE_SIMULATED 0
#endif

#if STARPU_MAJOR_VERSION > 1 || (STARPU_MAJOR_VERSION == 1 && STARPU_MINOR_VERSION >= 4)
#define HEDDLE_STARPU_14 1
/* A policy must say that it prefetches, or StarPU does it a second time. */
#define HEDDLE_POLICY_PREFETCHES .prefetches = 1,
/* Of struct starpu_conf: what is called once the policy is ready. */
#define heddle_compat_policy_callback sched_policy_callback
/* How a data interface is given its home node. */
typedef int heddle_compat_home;
#else
typedef unsigned heddle_compat_home;
#define HEDDLE_STARPU_14 0
#define HEDDLE_POLICY_PREFETCHES
#define heddle_compat_policy_callback sched_policy_init
#endif

/** Expected time of an implementation of a task on a worker, µs: NaN where a
 * model exists and is not calibrated, 0 where there is no model. */
static inline double heddle_compat_expected_length(struct starpu_task *task, unsigned worker,
                                                   unsigned ctx, unsigned implementation)
{
#if HEDDLE_STARPU_14
	return starpu_task_worker_expected_length(task, worker, ctx, implementation);
#else
	return starpu_task_expected_length(task, starpu_worker_get_perf_archtype(worker, ctx),
	                                   implementation);
#endif
}

/** Asks for the input of a task that a worker has claimed, while others may still take the task.
 * On 1.4 by idle fetches: it counts prefetches of tasks on each of their data, takes one off
 * when the task begins on the same node, and aborts at the end of data with some left. */
static inline void heddle_compat_fetch_ahead(struct starpu_task *task, unsigned worker)
{
#if HEDDLE_STARPU_14
	starpu_idle_prefetch_task_input_for(task, worker);
#else
	starpu_prefetch_task_input_for(task, worker);
#endif
}

/** Whether a type of worker is a HIP device, which 1.3 does not have. */
static inline bool heddle_compat_is_hip(enum starpu_worker_archtype type)
{
#if HEDDLE_STARPU_14
	return type == STARPU_HIP_WORKER;
#else
	return false;
#endif
}

/** Whether workers of a type can share a device, as streams of it. */
static inline bool heddle_compat_has_streams(enum starpu_worker_archtype type)
{
	return type == STARPU_CUDA_WORKER || heddle_compat_is_hip(type);
}

/** Whether a codelet's version for HIP devices returns before its kernel ends. */
static inline bool heddle_compat_is_hip_async(const struct starpu_codelet *codelet,
                                              unsigned implementation)
{
#if HEDDLE_STARPU_14
	return codelet->hip_flags[implementation] & STARPU_HIP_ASYNC;
#else
	return false;
#endif
}

/** What a codelet has for HIP devices: as many functions as cpu_funcs. NULL on 1.3. */
static inline starpu_cpu_func_t *heddle_compat_hip_funcs(const struct starpu_codelet *codelet)
{
#if HEDDLE_STARPU_14
	return ((struct starpu_codelet *)codelet)->hip_funcs;
#else
	return NULL;
#endif
}

/** The bit of task->where that stands for a type of worker. */
static inline int32_t heddle_compat_where(enum starpu_worker_archtype type)
{
#if HEDDLE_STARPU_14
	return STARPU_WORKER_TO_MASK(type);
#else
	switch (type) {
	case STARPU_CPU_WORKER:
		return STARPU_CPU;
	case STARPU_CUDA_WORKER:
		return STARPU_CUDA;
	case STARPU_OPENCL_WORKER:
		return STARPU_OPENCL;
	case STARPU_MIC_WORKER:
		return STARPU_MIC;
	case STARPU_MPI_MS_WORKER:
		return STARPU_MPI_MS;
	default:
		return 0;
	}
#endif
}

#endif
