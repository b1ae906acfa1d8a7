/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Samples under policies that take none: StarPU's own.
 *
 * StarPU tells nobody how long a task took but its policy, through two hooks
 * around the execution. Each context has a copy of its policy's functions; the
 * hooks in that copy are replaced by ones that look at the clock and then do what
 * the policy does. Only tasks that state parameters, or whose codelet has the
 * estimator for its model, are looked at.
 */
#include "config.h"

#include <math.h>

#include "estimator/slots.h"
#include "support/clock_starpu.h"
#include "support/starpu_compat.h"

struct hooks {
	void (*pre)(struct starpu_task *task, unsigned ctx);
	void (*post)(struct starpu_task *task, unsigned ctx);
};

static struct {
	pthread_mutex_t mutex;
	struct hooks before[STARPU_NMAX_SCHED_CTXS]; /* the policy's own */
	struct {
		double start_us;  /* of the task under way; 0: none that is looked at */
		atomic_bool told; /* the policy told of it itself */
	} __attribute__((aligned(64))) workers[STARPU_NMAXWORKERS];
} observed = {.mutex = PTHREAD_MUTEX_INITIALIZER};

static bool looked_at(const struct starpu_task *task)
{
	return slot_is_one(task->sched_data) || model_is_ours(task->cl->model);
}

static void observe_pre(struct starpu_task *task, unsigned ctx)
{
	int worker = starpu_worker_get_id();

	if (observed.before[ctx].pre)
		observed.before[ctx].pre(task, ctx);
	/* Its data are sure to be there now. */
	if (worker >= 0 && looked_at(task) && slot_of_task(task))
		observed.workers[worker].start_us = starpu_timing_now();
}

static void observe_post(struct starpu_task *task, unsigned ctx)
{
	int worker = starpu_worker_get_id();
	double us = 0;

	if (worker >= 0 && observed.workers[worker].start_us && looked_at(task)) {
		us = starpu_timing_now() - observed.workers[worker].start_us;
		observed.workers[worker].start_us = 0;
		atomic_store_explicit(&observed.workers[worker].told, false, memory_order_relaxed);
	}
	if (observed.before[ctx].post)
		observed.before[ctx].post(task, ctx);
	if (us > 0 && !atomic_load_explicit(&observed.workers[worker].told, memory_order_relaxed))
		heddle_estimate_executed(task, worker, heddle_clock_kernel_us(task, us));
}

void observe_told(int worker)
{
	atomic_store_explicit(&observed.workers[worker].told, true, memory_order_relaxed);
}

void observe(unsigned ctx)
{
	struct starpu_sched_policy *policy;

	if (ctx >= STARPU_NMAX_SCHED_CTXS)
		return;
	policy = starpu_sched_ctx_get_sched_policy(ctx);
	if (!policy || policy->post_exec_hook == observe_post)
		return;
	pthread_mutex_lock(&observed.mutex);
	if (policy->post_exec_hook != observe_post) {
		observed.before[ctx] =
		    (struct hooks){policy->pre_exec_hook, policy->post_exec_hook};
		atomic_thread_fence(memory_order_seq_cst);
		policy->pre_exec_hook = observe_pre;
		policy->post_exec_hook = observe_post;
	}
	pthread_mutex_unlock(&observed.mutex);
}

void observe_task(const struct starpu_task *task)
{
	unsigned ctx = task->sched_ctx;

	if (!starpu_is_initialized())
		return;
	if (ctx == STARPU_NMAX_SCHED_CTXS)
		ctx = starpu_sched_ctx_get_context();
	/* Without one of its own it goes to the initial context. */
	observe(ctx == STARPU_NMAX_SCHED_CTXS ? 0 : ctx);
}
