/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Who may take part in a loop, a wavefront or a kernel, with which function of its codelet, and
 * what the active policy says of it.
 */
#ifndef HEDDLE_PARTITION_WORKERS_STARPU_H
#define HEDDLE_PARTITION_WORKERS_STARPU_H

#include <stdbool.h>
#include <starpu.h>

#include <heddle/loop.h>
#include <heddle/policy.h>

/** What a codelet has for workers of a type.
 * @param implementation below STARPU_MAXIMPLEMENTATIONS
 * @return NULL: nothing */
starpu_cpu_func_t work_codelet_function(const struct starpu_codelet *codelet,
                                        enum starpu_worker_archtype type, unsigned implementation);

/** The first implementation that a codelet has for a worker, and that its can_execute, if
 * it has one, allows.
 * @param task what can_execute is asked of; NULL: it is not
 * @return -1: there is none */
int work_codelet_serves(const struct starpu_codelet *codelet, int worker, struct starpu_task *task);

/** Whether a list of workers can be what was meant.
 * @param workers NULL: all
 * @param what,name of the work, for a message
 * @return 0; -EINVAL after a message */
int work_workers_check(const int *workers, unsigned nworkers, const char *what, const char *name);

/** Whether a codelet takes as many buffers as its work has arrays, if it says how many.
 * @param what,name of the work, for a message
 * @return 0; -EINVAL after a message */
int work_codelet_check(const struct starpu_codelet *codelet, unsigned narrays, const char *what,
                       const char *name);

/** Whether a worker of a context is among those that were asked for.
 * @param workers NULL: all of the context were */
bool work_worker_wanted(int worker, const int *workers, unsigned nworkers, unsigned sched_ctx);

/** Whether a worker is the first of a context on its device. A strategy's blocks are as long as a
 * device needs, so one of several workers that share it (STARPU_NWORKER_PER_CUDA, _HIP) serves it
 * best.
 * @param workers NULL, or who was asked for: then all of them are meant */
bool work_worker_leads(int worker, const int *workers, unsigned sched_ctx);

/** Whether a scheduling context exists. The functions below take that for granted.
 * @param what,name of the work, for a message
 * @return 0; -EINVAL after a message */
int work_context_check(unsigned sched_ctx, const char *what, const char *name);

/** Statistics of a worker that has done nothing yet. */
struct heddle_worker_stats work_worker_stats(int worker);

/** The name of a context's policy; "": it has none. */
const char *work_policy_name(unsigned sched_ctx);

/** Whether the policy of a context has this name. */
bool work_policy_is(unsigned sched_ctx, const char *name);

/** Whether a context's policy can place tasks on some of its workers only. StarPU's heteroprio
 * cannot: it gives them to all, and ends the program where one cannot run them.
 * @param n workers that may run the tasks
 * @param what,name of the work, for a message
 * @return 0; -EINVAL after a message */
int work_policy_places_on(unsigned sched_ctx, unsigned n, const char *what, const char *name);

/** The policy of a context; NULL: it is not one of ours. */
const struct heddle_policy *work_policy_ours(unsigned sched_ctx);

/** The strategy by which work is cut: the one it is given, or HEDDLE_STRATEGY, or that of its
 * context's policy.
 * @param given NULL: none
 * @return NULL: there is none */
const char *work_strategy(const char *given, unsigned sched_ctx);

/** After a message that a strategy is wrong: says so if HEDDLE_STRATEGY named it.
 * @param status of that
 * @return status */
int work_strategy_blame(const char *given, int status);

#endif
