/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A task begins and ends. What it took is a sample for the estimator, and moves the waiting tasks
 * of its type to where the new estimate puts them.
 */
#include "config.h"

#include <math.h>
#include <stdlib.h>

#include "support/clock_starpu.h"
#include "sched_policies/ready.h"

/* With one class of devices, tasks are measured for later runs alone: the first
 * ones, then one in so many. */
#define SAMPLES_FIRST 64
#define SAMPLES_EVERY 32
/* A worker reports an estimate that has changed by less than a factor of two at most so often, us:
 * times of short tasks go up and down. */
#define REPORT_EVERY 10000
/* Gaps between tasks that their mean remembers, and samples of cores. */
#define GAPS 16

/* The hooks around execution also see tasks that never came through the policy:
 * pinned ones, above all, and those of a context without a policy that shares a worker. */
static bool is_foreign(const struct starpu_task *task, unsigned ctx)
{
	return task->execute_on_a_specific_worker || task->sched_ctx != ctx;
}

/* Whether the time of the task that a worker runs now is wanted. */
static bool is_sample(const struct ready_context *c, const struct ready_worker *worker)
{
	return c->choosing || worker->accelerator || worker->done < SAMPLES_FIRST ||
	       worker->done % SAMPLES_EVERY == 0;
}

/* ---- tasks of cores, where there are no others ---- */

void ready_sample_choose(struct ready_context *c, unsigned id, const struct starpu_task *task)
{
	struct ready_worker *worker = &c->workers[id];
	unsigned n = worker->taken++;

	if (n >= SAMPLES_FIRST && n % SAMPLES_EVERY)
		return;
	/* The last one may have ended elsewhere. */
	if (!worker->sample)
		atomic_fetch_add_explicit(&c->samples, 1, memory_order_relaxed);
	worker->sample = task;
}

/* Whether the task that begins or ends now is one of them. */
static bool is_plain(const struct ready_context *c, const struct starpu_task *task)
{
	int id;

	if (c->cores_only || !c->others_where)
		return c->cores_only;
	id = starpu_worker_get_id();
	return id >= 0 && c->workers[id].plain == task;
}

/* The worker that begins or ends a task now, if its time is wanted; else NULL. Mostly that is known
 * without the worker's number. */
static struct ready_worker *core_samples(struct ready_context *c, const struct starpu_task *task)
{
	int id;

	if (!atomic_load_explicit(&c->samples, memory_order_relaxed))
		return NULL;
	id = starpu_worker_get_id();
	return id >= 0 && c->workers[id].sample == task ? &c->workers[id] : NULL;
}

static void core_begins(struct ready_context *c, struct starpu_task *task)
{
	struct ready_worker *worker = core_samples(c, task);

	if (!worker)
		return;
	/* Its data may be gone when it has ended. */
	heddle_estimate_key(task);
	worker->start_us[0] = starpu_timing_now();
}

static void core_ends(struct ready_context *c, struct starpu_task *task)
{
	struct ready_worker *worker = core_samples(c, task);
	double mean_us = atomic_load_explicit(&c->core_us, memory_order_relaxed), us;

	if (!worker)
		return;
	us = heddle_clock_kernel_us(task, starpu_timing_now() - worker->start_us[0]);
	worker->sample = NULL;
	atomic_fetch_sub_explicit(&c->samples, 1, memory_order_relaxed);
	atomic_store_explicit(&c->core_us, mean_us > 0 ? mean_us + (us - mean_us) / GAPS : us,
	                      memory_order_relaxed);
	heddle_estimate_executed(task, worker - c->workers, us);
	ready_cores_took(c, us);
}

/* Time of the task that ends now. A driver begins the next task of a device while one
 * runs there: it has the device from the other's end. */
static double task_us(struct ready_worker *worker)
{
	double now_us = starpu_timing_now();
	double since_us = worker->start_us[worker->done % READY_PIPELINE];

	if (since_us < worker->done_us)
		since_us = worker->done_us;
	worker->done_us = now_us;
	return now_us - since_us;
}

/* Whether a task that ends is one that the worker began. What it began before that has
 * ended, or will end elsewhere. */
static bool ends_here(struct ready_worker *worker, const struct starpu_task *task)
{
	unsigned i = worker->done;

	while (i != worker->begun && worker->running[i % READY_PIPELINE] != task)
		i++;
	if (i == worker->begun)
		return false;
	worker->done = i;
	return true;
}

/* ---- samples ---- */

/* Whether the estimate of a type on a worker's class is about what the worker published last:
 * costs are steps of 9 %, and times on the border of two go to and fro. */
static bool published_already(const struct ready_worker *worker, unsigned long type,
                              const struct heddle_estimate *estimate)
{
	size_t place = ready_type_place(type, READY_PUBLISHED);
	int change;

	if (estimate->source <= HEDDLE_ESTIMATE_NEIGHBOURS || worker->published[place].type != type)
		return false;
	if (estimate->us >= worker->published[place].least_us &&
	    estimate->us <= worker->published[place].most_us)
		return true;
	change = abs(worker->published[place].cost - heddle_pool_cost(estimate->us));
	return change <= 1 || (change < heddle_pool_cost(2) - heddle_pool_cost(1) &&
	                       worker->done_us < worker->published[place].at_us + REPORT_EVERY);
}

static void published_note(struct ready_worker *worker, unsigned long type,
                           const struct heddle_estimate *estimate)
{
	size_t place = ready_type_place(type, READY_PUBLISHED);

	worker->published[place].type = type;
	worker->published[place].cost = heddle_pool_cost(estimate->us);
	worker->published[place].least_us = heddle_pool_us(worker->published[place].cost - 1);
	worker->published[place].most_us = heddle_pool_us(worker->published[place].cost + 1);
	worker->published[place].at_us = worker->done_us;
}

/* Takes the mutex, to report; under heddle nobody waits for it, but for the end of a trial.
 * @return whether it was to be had */
static bool report_begin(struct ready_context *c, unsigned id)
{
	const struct ready_worker *worker = &c->workers[id];

	if (c->plan && !worker->trial)
		return !STARPU_PTHREAD_MUTEX_TRYLOCK(&c->mutex);
	ready_lock(c, id);
	return true;
}

/* A worker has run a task of the policy.
 * @param classes of which a model may be asked */
static void task_measured(struct ready_context *c, struct starpu_task *task, unsigned id, double us,
                          unsigned classes)
{
	struct heddle_estimate estimates[HEDDLE_POOL_CLASSES];
	struct ready_worker *worker = &c->workers[id];
	unsigned long type;

	heddle_estimate_executed(task, id, us);
	if (!c->choosing)
		return;
	type = heddle_estimate_all(task, c->nclasses, classes, estimates);
	if (!type || (!worker->trial && published_already(worker, type, &estimates[worker->class])))
		return;
	if (!report_begin(c, id))
		return; /* the next one reports */
	published_note(worker, type, &estimates[worker->class]);
	ready_type_measured(c, id, type, us, estimates);
	STARPU_PTHREAD_MUTEX_UNLOCK(&c->mutex);
}

/* An accelerator has ended a task, that took it so long. What else has passed since the end of the
 * one before is a gap, unless it found nothing to do meanwhile. What it took to choose the task
 * does not count: where cores rest, that is next to nothing. */
static void gap_note(struct ready_context *c, struct ready_worker *worker, double before_us,
                     double us)
{
	_Atomic double *gap_us = &c->gap_us[worker->class];
	double mean_us = atomic_load_explicit(gap_us, memory_order_relaxed);
	double this_us = fmax(0, worker->done_us - before_us - us - worker->choosing_us);

	if (!c->plan || !worker->accelerator)
		return;
	if (!worker->rested && before_us > 0)
		atomic_store_explicit(gap_us, mean_us + (this_us - mean_us) / GAPS,
		                      memory_order_relaxed);
	worker->rested = false;
	worker->choosing_us = 0;
}

/* An accelerator has ended a task. From when it had taken the task, and ended the one before, until
 * the task began, it waited for its inputs. */
static void wait_note(struct ready_context *c, const struct ready_worker *worker, double before_us)
{
	unsigned i = worker->done % READY_PIPELINE;
	_Atomic double *wait_us = &c->wait_us[worker->class];
	double mean_us, this_us;

	if (!c->plan || !worker->accelerator)
		return;
	mean_us = atomic_load_explicit(wait_us, memory_order_relaxed);
	this_us = fmax(0, worker->start_us[i] - fmax(worker->taken_us[i], before_us));
	atomic_store_explicit(wait_us, mean_us + (this_us - mean_us) / GAPS, memory_order_relaxed);
}

/* A worker has ended a task, perhaps the last one that it has started. The clock is read only then.
 * @param since_us 0: it rests from now on; else any time before */
static void rests_note(const struct ready_context *c, struct ready_worker *worker, double since_us)
{
	if (c->plan && worker->done == worker->started)
		atomic_store_explicit(&worker->rests_since_us,
		                      since_us > 0 ? since_us : starpu_timing_now(),
		                      memory_order_relaxed);
}

/* The same of one that cores alone can run, where there are no others. */
static void plain_ended(struct ready_context *c, struct starpu_task *task)
{
	struct ready_worker *worker;

	core_ends(c, task);
	if (!c->plan)
		return;
	worker = &c->workers[starpu_worker_get_id_check()];
	worker->plain = NULL;
	rests_note(c, worker, 1); /* a look at the clock would take as long as all this */
}

/* A task has ended.
 * @param data its data are there */
static void task_ended(struct ready_context *c, struct starpu_task *task, bool data)
{
	struct ready_worker *worker;
	int id;

	/* StarPU also tells of tasks of contexts without a policy: not counted here. */
	if (task->sched_ctx == c->id)
		ready_cores_ended(c, task);
	if (!is_foreign(task, c->id) && is_plain(c, task)) {
		plain_ended(c, task);
		return;
	}
	id = starpu_worker_get_id();
	if (id < 0) /* the program has ended it (starpu_task_end_dep_release()) */
		return;
	worker = &c->workers[id];
	if (is_foreign(task, c->id)) {
		worker->idle_since_us = 0;
		rests_note(c, worker, 0);
		return;
	}
	if (!ends_here(worker, task))
		return;
	if (is_sample(c, worker)) {
		double before_us = worker->done_us;
		double us = heddle_clock_kernel_us(task, task_us(worker));

		wait_note(c, worker, before_us);
		gap_note(c, worker, before_us, us);
		task_measured(c, task, id, us, data ? ready_task_classes(c, task) : 0);
		ready_queue_done(c, worker, us);
	}
	worker->done++;
	rests_note(c, worker, 0);
}

/* ---- tasks of whose end StarPU does not tell ---- */

/* What such a task calls at its end, as any task does. */
struct callback {
	void (*func)(void *); /* its own */
	void *arg;
	void (*called)(void *); /* its own, or else that of its codelet */
};

static struct callback silent_restore(struct starpu_task *task)
{
	struct callback *own = task->callback_arg, before = *own;

	free(own);
	task->callback_func = before.func;
	task->callback_arg = before.arg;
	return before;
}

/* By now the program may have freed the codelet. */
static void silent_ended(void *arg)
{
	struct starpu_task *task = starpu_task_get_current();
	struct callback before = silent_restore(task);

	(void)arg;
	task_ended(ready_context(task->sched_ctx), task, false);
	if (before.called)
		before.called(before.arg);
}

/* Without memory nobody hears of its end. */
static void silent_begins(struct starpu_task *task)
{
	struct callback *own = malloc(sizeof(*own));

	if (!own)
		return;
	*own =
	    (struct callback){task->callback_func, task->callback_arg,
	                      task->callback_func ? task->callback_func : task->cl->callback_func};
	task->callback_func = silent_ended;
	task->callback_arg = own;
}

/* ---- hooks ---- */

void ready_pre_exec(struct starpu_task *task, unsigned ctx)
{
	struct ready_context *c = ready_context(ctx);
	struct ready_worker *worker;
	unsigned id;

	if (!is_foreign(task, ctx) && is_plain(c, task)) {
		core_begins(c, task);
		return;
	}
	id = starpu_worker_get_id_check();
	worker = &c->workers[id];
	if (!is_foreign(task, ctx)) {
		if (is_sample(c, worker)) {
			/* Its data may be gone when it has ended. */
			heddle_estimate_key(task);
			worker->start_us[worker->begun % READY_PIPELINE] = starpu_timing_now();
		}
		worker->running[worker->begun++ % READY_PIPELINE] = task;
		/* The oldest ended elsewhere. */
		if (worker->begun - worker->done > READY_PIPELINE)
			worker->done = worker->begun - READY_PIPELINE;
		ready_queue_running(worker, task);
		if (policy_is_silent(task))
			silent_begins(task);
		return;
	}
	if (task->sched_ctx == ctx)
		ready_cores_passed(c, task);
	ready_pass_on(c, id);
}

void ready_post_exec(struct starpu_task *task, unsigned ctx)
{
	/* A program's own task of such a name: its end is told here. */
	if (task->callback_func == silent_ended)
		silent_restore(task);
	task_ended(ready_context(ctx), task, true);
}
