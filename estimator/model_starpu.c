/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The estimator as a performance model of StarPU: what to expect of a task where nothing is known,
 * and submission that waits for first times.
 */
#include "config.h"

#include <math.h>
#include <string.h>
#include <time.h>

#include "estimator/cold.h"
#include "estimator/table_starpu.h"
#include "support/starpu_compat.h"

/* As long as nothing is known, an accelerator counts as so many cores, an OpenCL device of the
 * machine's own cores as one, whose first run compiles the kernel for so long, us. */
#define ACCELERATOR 13
#define LOAD 200000

static double running_us(struct estimate_codelet *codelet, unsigned class)
{
	unsigned long since = atomic_load(&codelet->running_us[class]);

	if (!since || atomic_load_explicit(&codelet->sampled, memory_order_relaxed) >> class & 1)
		return 0;
	return fmax(0, starpu_timing_now() - since);
}

/* The worker that an architecture of StarPU stands for; -1 for several at once. */
static int arch_worker(const struct starpu_perfmodel_arch *arch)
{
	if (arch->ndevices != 1 || arch->devices[0].ncores > 1)
		return -1;
	/* All cores are one architecture. */
	if (arch->devices[0].type == STARPU_CPU_WORKER)
		return starpu_worker_get_by_type(STARPU_CPU_WORKER, 0);
	return starpu_worker_get_by_devid(arch->devices[0].type, arch->devices[0].devid);
}

/* Whether the task's time on a class has been measured, or the time of another task of its codelet.
 */
static bool is_measured(struct estimate_slot *slot, unsigned class,
                        const struct heddle_estimate *estimate)
{
	return (estimate->source > HEDDLE_ESTIMATE_NEIGHBOURS && !estimate->first) ||
	       (slot && atomic_load(&slot->codelet->measured) >> class & 1);
}

static bool class_is_slow(unsigned class)
{
	return !strncmp(heddle_device_class_name(class), "cpu", 3) ||
	       estimate_class_is_cores(class);
}

static void cold_classes(struct starpu_task *task, struct cold_class *classes, unsigned n)
{
	struct heddle_estimate estimates[HEDDLE_DEVICE_CLASSES];
	struct estimate_slot *slot = estimate_slot_of(task);

	heddle_estimate_all(task, n, estimates);
	for (unsigned c = 0; c < n; c++) {
		bool is_core = !strncmp(heddle_device_class_name(c), "cpu", 3);
		bool is_cores = !is_core && estimate_class_is_cores(c);

		classes[c] = (struct cold_class){
		    .us = estimates[c].us,
		    .first = estimates[c].first,
		    .speed = is_core || is_cores ? 1 : ACCELERATOR,
		    .load = is_cores ? LOAD : 0,
		    .measured = is_measured(slot, c, &estimates[c]),
		    .running_us = slot ? running_us(slot->codelet, c) : 0,
		};
	}
}

/* Whether StarPU's policy is to try a class with this task. It would do so with all tasks that come
 * before the first one has run. */
static bool is_to_try(struct starpu_task *task, const struct cold_class *classes, unsigned n,
                      unsigned class)
{
	struct estimate_slot *slot = estimate_slot_of(task);
	double us = cold_trial(classes, n, class);
	unsigned long now = 1 + starpu_timing_now(), begun = 0;

	if (!slot || isinf(us))
		return false;
	if (atomic_compare_exchange_strong(&slot->codelet->begun_us, &begun, now))
		begun = now;
	if (begun > now) { /* StarPU was started again, and its clock */
		begun = now;
		atomic_store(&slot->codelet->begun_us, now);
	}
	if (!cold_try(us, atomic_load(&slot->codelet->tried_us), fmax(0, (double)now - begun)))
		return false;
	atomic_fetch_add(&slot->codelet->tried_us, us);
	return true;
}

/* Of tasks that it has no expected time of StarPU's dmda gives an OpenCL device 12 times as many as
 * a core, whatever it is, and decides on all that are ready before one has run. */
static double expected_us(struct starpu_task *task, unsigned class, bool tries)
{
	struct cold_class classes[HEDDLE_DEVICE_CLASSES];
	unsigned n = heddle_device_classes();
	double bytes = 0;

	cold_classes(task, classes, n);
	if (tries && is_to_try(task, classes, n, class))
		return NAN;
	for (unsigned i = 0; i < STARPU_TASK_GET_NBUFFERS(task); i++)
		bytes += starpu_data_get_size(STARPU_TASK_GET_HANDLE(task, i));
	return cold_expect(classes, n, class, bytes);
}

/* ---- submission that waits for first times ---- */

/* Where no task has ended for so long, none may before the submitting thread goes on. */
#define PATIENCE_NS 200000000
/* A kernel that submits tasks waits if so many cores leave enough others. */
#define CORES_TO_WAIT 3
/* Where a task is not to run it is expected to take so many times as long. */
#define AVOID 10

static struct {
	starpu_pthread_mutex_t mutex;
	starpu_pthread_cond_t ended;
	atomic_uint waiting; /* threads */
} held = {.mutex = STARPU_PTHREAD_MUTEX_INITIALIZER, .ended = STARPU_PTHREAD_COND_INITIALIZER};

/* What is decided for the task that a thread places. */
struct decision {
	unsigned long job;
	bool decided;   /* so nothing is tried by chance */
	bool fast;      /* the task is for the fastest classes */
	unsigned class; /* where it is tried */
	double us;      /* to expect there; 0: it is not tried */
};

/* Threads of a simulation have it in common: it is set after the last wait. */
static _Thread_local struct decision now;

void estimate_ended(struct estimate_codelet *codelet, int worker)
{
	if (!atomic_load_explicit(&codelet->asked, memory_order_relaxed) ||
	    atomic_load_explicit(&codelet->learned, memory_order_relaxed))
		return;
	if (starpu_worker_get_type(worker) == STARPU_CPU_WORKER)
		atomic_fetch_add(&codelet->trials_ended, 1);
	atomic_fetch_add(&codelet->ended, 1);
	if (!atomic_load(&held.waiting))
		return;
	starpu_pthread_mutex_lock(&held.mutex);
	starpu_pthread_cond_broadcast(&held.ended);
	starpu_pthread_mutex_unlock(&held.mutex);
}

/* In simulated time SimGrid tells where all wait for each other. */
static int held_look(const struct timespec *until)
{
#ifdef HEDDLE_USE_SIMGRID
	(void)until;
	return starpu_pthread_cond_wait(&held.ended, &held.mutex);
#else
	return starpu_pthread_cond_timedwait(&held.ended, &held.mutex, until);
#endif
}

/* Waits until a task of the codelet has ended. @return whether one has */
static bool wait_for_end(struct estimate_codelet *codelet, unsigned ended)
{
	struct timespec until;
	int error = 0;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_nsec += PATIENCE_NS;
	until.tv_sec += until.tv_nsec / 1000000000;
	until.tv_nsec %= 1000000000;
	starpu_worker_relax_on();
	starpu_pthread_mutex_lock(&held.mutex);
	atomic_fetch_add(&held.waiting, 1);
	while (atomic_load(&codelet->ended) == ended && !error)
		error = held_look(&until);
	atomic_fetch_sub(&held.waiting, 1);
	starpu_pthread_mutex_unlock(&held.mutex);
	starpu_worker_relax_off();
	return !error;
}

/* In a kernel on a core, which only holds up that core. */
static bool in_kernel(void)
{
	const struct starpu_task *current = starpu_task_get_current();

	return starpu_worker_get_type(starpu_worker_get_id()) == STARPU_CPU_WORKER && current &&
	       current->status == STARPU_TASK_RUNNING;
}

/* Only dmda and its like are known to ask for times without a lock that workers want. */
static bool may_wait(const struct starpu_task *task)
{
	const struct starpu_sched_policy *policy =
	    starpu_sched_ctx_get_sched_policy(task->sched_ctx);

	return policy && policy->policy_name && !strncmp(policy->policy_name, "dm", 2) &&
	       (starpu_worker_get_id() < 0 ||
	        (in_kernel() && starpu_cpu_worker_get_count() >= CORES_TO_WAIT));
}

static enum cold_next flood_next(struct starpu_task *task, struct estimate_slot *slot,
                                 struct decision *decision)
{
	struct estimate_codelet *codelet = slot->codelet;
	struct cold_class classes[HEDDLE_DEVICE_CLASSES];
	unsigned n = heddle_device_classes(), able = atomic_load(&codelet->able);
	unsigned trials = atomic_load(&codelet->trials);
	unsigned ended = atomic_load(&codelet->trials_ended);
	unsigned asked = atomic_load(&codelet->asked) - 1;
	struct cold_flood flood = {
	    .trials = trials,
	    .trials_ended = ended < trials ? ended : trials,
	    .same = atomic_load(&codelet->tried) == slot,
	    .ran_us = fmax(0, starpu_timing_now() - atomic_load(&codelet->asked_us)),
	};

	ended = atomic_load(&codelet->ended) + flood.trials - flood.trials_ended;
	flood.waiting = asked > ended ? asked - ended : 0;
	cold_classes(task, classes, n);
	for (unsigned c = 0; c < n; c++)
		if (!(able >> c & 1))
			classes[c].speed = 0;
	for (int w = 0; w < (int)starpu_worker_get_count(); w++)
		classes[heddle_device_class(w)].workers += w != starpu_worker_get_id();
	return cold_flood(classes, n, &flood, &decision->class, &decision->us);
}

/* A task is about to be placed. Others may have to end before it is known how. */
static struct decision flood_decide(struct starpu_task *task, struct estimate_slot *slot)
{
	struct estimate_codelet *codelet = slot->codelet;
	struct decision decision = {0};
	bool waits = may_wait(task);
	enum cold_next next;
	unsigned ended;

	do {
		ended = atomic_load(&codelet->ended);
		next = flood_next(task, slot, &decision);
	} while (next == COLD_WAIT && waits && wait_for_end(codelet, ended));
	if (next == COLD_TRY) {
		atomic_fetch_add(&codelet->trials, 1);
		atomic_store(&codelet->tried, slot);
	}
	if (next == COLD_KNOWN || (next == COLD_WAIT && waits))
		atomic_store(&codelet->learned, true);
	/* Who may not wait begins nothing more on classes that are being tried. */
	decision.fast =
	    next == COLD_GO || (next == COLD_WAIT && !waits && atomic_load(&codelet->trials));
	decision.decided = decision.fast || next == COLD_TRY;
	return decision;
}

static void flood(struct starpu_task *task, struct estimate_slot *slot, unsigned class)
{
	struct estimate_codelet *codelet = slot->codelet;
	unsigned long job = starpu_task_get_job_id(task);

	if (now.job != job) {
		struct decision decision = {0};

		/* Of the first one it is not known yet where it may run. */
		if (!atomic_fetch_add(&codelet->asked, 1)) {
			HELGRIND_ATOMIC(held.waiting);
			atomic_store(&codelet->asked_us, starpu_timing_now());
		} else {
			decision = flood_decide(task, slot);
		}
		now = decision;
		now.job = job;
	}
	atomic_fetch_or(&codelet->able, 1u << class);
}

double heddle_estimate_cost(struct starpu_task *task, struct starpu_perfmodel_arch *arch,
                            unsigned implementation)
{
	struct heddle_estimate estimate;
	struct estimate_slot *slot;
	int worker = arch_worker(arch);
	unsigned class;

	estimate_observe(task->sched_ctx);
	if (worker < 0)
		return NAN;
	class = heddle_device_class(worker);
	slot = estimate_slot_of(task);
	/* A program may ask about a task that it has not submitted. */
	if (slot && task->status != STARPU_TASK_INIT &&
	    !atomic_load_explicit(&slot->codelet->learned, memory_order_relaxed))
		flood(task, slot, class);
	else
		now = (struct decision){0};
	if (now.us > 0)
		return class == now.class ? now.us : AVOID * now.us;
	heddle_estimate(task, class, &estimate);
	if (estimate.us > 0 && !estimate.first)
		return estimate.us;
	return expected_us(task, class, !now.decided) *
	       (now.fast && class_is_slow(class) ? AVOID : 1);
}
