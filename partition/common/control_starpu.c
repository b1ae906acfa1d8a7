/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "config.h"

#include <sched.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "estimator/estimate_starpu.h"
#include "partition/common/control_starpu.h"
#include "partition/common/task_starpu.h"
#include "partition/common/workers_starpu.h"
#include "support/message.h"
#include "support/starpu_compat.h"

#ifdef HEDDLE_USE_SIMGRID
static double instant_cost(struct starpu_task *task, struct starpu_perfmodel_arch *arch,
                           unsigned implementation)
{
	return 1e-3;
}

struct starpu_perfmodel control_instant_model = {
    .type = STARPU_PER_ARCH,
    .arch_cost_function = instant_cost,
    .symbol = "heddle_control",
};
#endif

/* The node ends where its last part does. StarPU's dm, dmda and so on count the tasks of a worker
 * from their beginning there to their end: it ends for them now, and not again later. */
static void policy_done(struct starpu_task *task)
{
	struct starpu_sched_policy *policy = starpu_sched_ctx_get_sched_policy(task->sched_ctx);

	if (strncmp(work_policy_name(task->sched_ctx), "dm", 2) || !policy->post_exec_hook)
		return;
	policy->post_exec_hook(task, task->sched_ctx);
	task->where = STARPU_NOWHERE;
}

static void control_function(void *buffers[], void *arg)
{
	struct control *control = arg;
	struct starpu_task *task = starpu_task_get_current();
	bool node = task == control->task;

	control->start(control->work);
	if (node) /* else the work, and control, may be over */
		policy_done(task);
}

/* The control task's callback, after which StarPU knows nothing of the work. */
static void control_ended(void *arg)
{
	struct control *control = arg;
	bool detached;

	starpu_pthread_mutex_lock(&control->mutex);
	__atomic_store_n(&control->done, true, __ATOMIC_RELEASE);
	detached = control->detached;
	starpu_pthread_cond_broadcast(&control->ended);
	starpu_pthread_mutex_unlock(&control->mutex);
	if (detached)
		control->free(control->work);
}

const struct control *control_of(const struct starpu_task *task)
{
	return task->callback_func == control_ended ? task->callback_arg : NULL;
}

void control_init(struct control *control, void (*start)(void *work), void (*free)(void *work),
                  void *work)
{
	memset(control, 0, offsetof(struct control, handles));
	control->start = start;
	control->free = free;
	control->work = work;
	control->worker = -1;
	starpu_pthread_mutex_init(&control->mutex, NULL);
	starpu_pthread_cond_init(&control->ended, NULL);
}

void control_fini(struct control *control)
{
	starpu_pthread_mutex_destroy(&control->mutex);
	starpu_pthread_cond_destroy(&control->ended);
	free(control->message);
}

void control_data(struct control *control, starpu_data_handle_t handle,
                  enum starpu_data_access_mode mode)
{
	control->handles[control->ndata] = handle;
	control->modes[control->ndata++] = mode;
}

void control_may_here(struct control *control, bool alone)
{
	control->may_here = true;
	control->alone = alone;
}

void control_on_opencl(struct control *control, int worker)
{
	control->where_opencl = true;
	control->worker = worker;
}

static void codelet_complete(struct control *control, const char *name, unsigned sched_ctx)
{
	struct starpu_codelet *codelet = &control->codelet;

	*codelet =
	    (struct starpu_codelet){.name = name, .nbuffers = control->ndata, .specific_nodes = 1};
	for (unsigned i = 0; i < control->ndata; i++) {
		codelet->modes[i] = control->modes[i];
		codelet->nodes[i] = STARPU_MAIN_RAM;
	}
	if (control->where_opencl) {
		codelet->opencl_funcs[0] = control_function;
		return;
	}
	codelet->cpu_funcs[0] = control_function;
	/* A core is better, but StarPU's heteroprio wants every task to run on all kinds of worker
	 * there are: it ends the program otherwise. */
	if (!starpu_cpu_worker_get_count() || work_policy_is(sched_ctx, "heteroprio")) {
		codelet->cuda_funcs[0] = control_function;
		codelet->opencl_funcs[0] = control_function;
		if (heddle_compat_hip_funcs(codelet))
			heddle_compat_hip_funcs(codelet)[0] = control_function;
	}
#ifdef HEDDLE_USE_SIMGRID
	codelet->model = &control_instant_model;
	codelet->flags = STARPU_CODELET_SIMGRID_EXECUTE;
#endif
}

/* A task of the control's, with its data. */
static struct starpu_task *task_make(struct control *control, struct starpu_codelet *codelet,
                                     unsigned sched_ctx)
{
	struct starpu_task *task = starpu_task_create();

	task->cl = codelet;
	task->cl_arg = control;
	task->sched_ctx = sched_ctx;
	if (control->worker >= 0 && codelet == &control->codelet)
		work_task_pin(task, control->worker, 0);
	memcpy(task->handles, control->handles, control->ndata * sizeof(*control->handles));
	/* It has the name of the work, and lasts as long. */
	heddle_estimate_never(task);
	return task;
}

/* ---- a node that no worker runs ---- */

/* The node ends twice: when what began it has, and in control_end(). */
static void begin_ended(void *arg)
{
	struct control *control = arg;

	starpu_task_end_dep_release(control->task);
}

/* Start runs on a worker, in a task without dependences: the data is the node's already. */
static void begin_on_worker(struct control *control)
{
	struct starpu_task *task = task_make(control, &control->codelet, control->task->sched_ctx);

	int status;

	task->sequential_consistency = 0;
	task->callback_func = begin_ended;
	task->callback_arg = control;
	status = work_task_submit(task, control->codelet.name);
	if (!status)
		return; /* the node may have ended */
	control->status = status;
	control->start(control->work);
	begin_ended(control);
}

/* The node that this thread submits, until it is ready. */
static __thread struct control *submitting;

/* All that the node waits for is over; its data is being copied to main memory. */
static void node_ready(void *arg)
{
	struct control *control = arg;

	if (submitting == control)
		submitting = NULL;
	else
		begin_on_worker(control);
}

bool control_at_home(const struct control *control)
{
	int valid = 1;

	for (unsigned i = 0; i < control->ndata && valid; i++)
		starpu_data_query_status(control->handles[i], STARPU_MAIN_RAM, NULL, &valid, NULL);
	return valid;
}

static struct starpu_task *node_make(struct control *control, unsigned sched_ctx)
{
	struct starpu_task *task;

	control->node = control->codelet;
	control->node.where = STARPU_NOWHERE;
	task = task_make(control, &control->node, sched_ctx);
	task->prologue_callback_pop_func = node_ready;
	task->prologue_callback_pop_arg = control;
	starpu_task_end_dep_add(task, 1);
	return task;
}

static void node_begin(struct control *control)
{
	if (control_at_home(control)) {
		control->here = true;
		control->start(control->work);
		begin_ended(control);
	} else {
		begin_on_worker(control);
	}
}

/* If the node is not ready at once, another thread begins it, and may have ended it. */
static int node_submit(struct control *control, const char *name)
{
	struct control *outer = submitting;
	bool ready;
	int status;

	submitting = control;
	status = work_task_submit(control->task, name);
	ready = !submitting;
	submitting = outer;
	if (!status && ready)
		node_begin(control);
	return status;
}

bool control_is_here(const struct control *control)
{
	return control->may_here && control->alone && !control->ndata;
}

int control_submit(struct control *control, const char *what, const char *name, unsigned sched_ctx,
                   bool detached)
{
	struct starpu_task *task;
	int status;

	control->detached = detached;
	if (control_is_here(control)) {
		control->here = true;
		control->start(control->work);
		return 0;
	}
	codelet_complete(control, name, sched_ctx);
	task = control->may_here ? node_make(control, sched_ctx)
	                         : task_make(control, &control->codelet, sched_ctx);
	control->task = task;
	task->callback_func = control_ended;
	task->callback_arg = control;
	starpu_task_end_dep_add(task, 1);
	status = control->may_here ? node_submit(control, name) : work_task_submit(task, name);
	return status ? heddle_refuse(status, "%s %s: StarPU refuses its task: %s", what, name,
	                              strerror(-status))
	              : 0;
}

/* Heteroprio of StarPU 1.4 measures from what the worker did last, and ends the program when no
 * time has passed since then. In a simulation none has. */
static void let_time_pass(const struct control *control)
{
#ifdef HEDDLE_USE_SIMGRID
	if (HEDDLE_STARPU_14 && control->task &&
	    work_policy_is(control->task->sched_ctx, "heteroprio"))
		starpu_sleep(1e-6);
#endif
}

void control_end(struct control *control)
{
	let_time_pass(control);
	if (control->task)
		starpu_task_end_dep_release(control->task);
	else
		control_ended(control);
}

bool control_is_over(struct control *control)
{
	return __atomic_load_n(&control->done, __ATOMIC_ACQUIRE);
}

void control_say(struct control *control)
{
	char *message = heddle_refusal_copy(), *none = NULL;

	/* No mutex: that of the work may be held. */
	if (!__atomic_compare_exchange_n(&control->message, &none, message, false, __ATOMIC_ACQ_REL,
	                                 __ATOMIC_RELAXED))
		free(message);
}

int control_failed(const struct control *control, int status)
{
	if (status && control->message)
		heddle_refusal_set(control->message);
	return status;
}

void control_wait(struct control *control)
{
	starpu_pthread_mutex_lock(&control->mutex);
	while (!control_is_over(control))
		starpu_pthread_cond_wait(&control->ended, &control->mutex);
	starpu_pthread_mutex_unlock(&control->mutex);
}

/* Work ends late by more than it ends early. */
#define LATER 4

#ifdef HEDDLE_USE_SIMGRID
/* SimGrid 3.32 ends the program when a condition is waited for until a time. So the end is seen
 * this much late in a simulation. */
#define SIMULATED_LOOK_US 10

bool control_wait_for(struct control *control, double us)
{
	double until = starpu_timing_now() + us;

	while (!control_is_over(control) && starpu_timing_now() < until)
		starpu_sleep(SIMULATED_LOOK_US * 1e-6);
	return control_is_over(control);
}
#else
bool control_wait_for(struct control *control, double us)
{
	struct timespec until;
	int64_t ns;
	bool over;

	clock_gettime(CLOCK_REALTIME, &until);
	ns = until.tv_nsec + (int64_t)(us * 1e3);
	until.tv_sec += ns / 1000000000;
	until.tv_nsec = ns % 1000000000;
	starpu_pthread_mutex_lock(&control->mutex);
	while (!control_is_over(control) &&
	       !starpu_pthread_cond_timedwait(&control->ended, &control->mutex, &until))
		;
	over = control_is_over(control);
	starpu_pthread_mutex_unlock(&control->mutex);
	return over;
}
#endif

void control_wait_until(struct control *control, double end_us, double look_us)
{
	double left_us = end_us - look_us - starpu_timing_now();

	if (look_us > 0 && left_us > 0)
		control_wait_for(control, left_us);
	if (look_us > 0)
		end_us += LATER * look_us;
	while (look_us > 0 && !control_is_over(control) && starpu_timing_now() < end_us)
		sched_yield();
	control_wait(control);
}
