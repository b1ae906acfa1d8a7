/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Estimates: what is known of a task's slot on each class of devices, how samples change it, and
 * how samples are taken under policies that take none. Only the policy
 * learns from StarPU how long a task took, through two hooks around the execution. In each context
 * these are replaced by ones that look at the clock and then call the policy's.
 */
#include "config.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "estimator/cold.h"
#include "estimator/table_starpu.h"
#include "support/clock_starpu.h"
#include "support/message.h"
#include "support/starpu_compat.h"

/* A time that changed less is not news to tasks with other parameters. */
#define CHANGED 0.1
/* A first sample so many times above what neighbours say wants another one. */
#define SURPRISE 8
/* As long as nothing is known, an accelerator counts as so many cores, an OpenCL device of the
 * machine's own cores as one, whose first run compiles the kernel for so long, us. */
#define ACCELERATOR 13
#define LOAD 200000
/* What earlier runs measured counts as so many samples of this one. */
#define PRIOR_SAMPLES 2

/* ---- cells ---- */

static void cell_publish(struct estimate_cell *cell, double us, enum heddle_estimate_source source)
{
	atomic_store_explicit(&cell->us, us, memory_order_relaxed);
	atomic_store_explicit(&cell->source, source, memory_order_release);
}

static enum heddle_estimate_source cell_source(struct estimate_cell *cell)
{
	return atomic_load_explicit(&cell->source, memory_order_acquire);
}

/* The median of what was measured, together with what earlier runs say until
 * there is enough. */
static double cell_median(const struct estimate_cell *cell)
{
	double values[HEDDLE_ROBUST_RECENT + PRIOR_SAMPLES];
	unsigned n = cell->measured.count;

	if (!(cell->prior_us > 0) || n >= HEDDLE_ROBUST_RECENT)
		return heddle_robust_us(&cell->measured);
	memcpy(values, cell->measured.recent, n * sizeof(*values));
	for (unsigned i = 0; i < PRIOR_SAMPLES; i++)
		values[n++] = cell->prior_us;
	return heddle_robust_median(values, n);
}

/* How far a median may be off: twice its standard error, about. */
static double cell_spread(const struct estimate_cell *cell)
{
	const double *us = cell->measured.sorted;
	unsigned n = cell->measured.count;

	n = n < HEDDLE_ROBUST_RECENT ? n : HEDDLE_ROBUST_RECENT;
	if (n < HEDDLE_HISTORY_SAMPLES)
		return 0;
	return us[n - 1] > us[0] ? log(us[n - 1] / us[0]) / sqrt(n) : 0;
}

/* ---- what follows from other parameters and devices ---- */

/* What earlier runs measured came into the history without the slot's doing.
 * The slot's flag and the codelet's mutex are held. */
static void adopt_profile(struct estimate_slot *slot, const struct heddle_history_point *point)
{
	for (unsigned c = 0; c < HEDDLE_DEVICE_CLASSES; c++) {
		struct estimate_cell *cell = &slot->cells[c];

		if (cell_source(cell) > HEDDLE_ESTIMATE_NEIGHBOURS || cell->measured.count ||
		    !(point->us[c] > 0))
			continue;
		cell->prior_us = cell->history_us = point->us[c];
		cell_publish(cell, point->us[c], HEDDLE_ESTIMATE_PROFILE);
	}
}

/* Bit c: class c is none of cores. */
static unsigned wide_classes(void)
{
	unsigned wide = 0;

	for (unsigned c = 0; c < heddle_device_classes(); c++)
		if (strncmp(heddle_device_class_name(c), "cpu", 3))
			wide |= 1u << c;
	return wide;
}

/* Fills the cells of which nothing is known from what is known of others. */
static void predict(struct estimate_slot *slot)
{
	struct estimate_codelet *codelet = slot->codelet;
	const struct heddle_history_point *point = &codelet->history.points[slot->point];
	double us[HEDDLE_HISTORY_CLASSES];

	atomic_store(&slot->news, atomic_load(&codelet->news));
	adopt_profile(slot, point);
	if (!estimate_source_allowed(HEDDLE_ESTIMATE_NEIGHBOURS))
		return;
	for (unsigned c = 0; c < HEDDLE_HISTORY_CLASSES; c++)
		us[c] = c < HEDDLE_DEVICE_CLASSES &&
		                cell_source(&slot->cells[c]) > HEDDLE_ESTIMATE_NEIGHBOURS
		            ? atomic_load(&slot->cells[c].us)
		            : 0;
	codelet->history.wide = wide_classes();
	heddle_history_predict(&codelet->history, point->values, estimate_rule(), slot->point, us);
	for (unsigned c = 0; c < HEDDLE_DEVICE_CLASSES; c++)
		if (us[c] > 0 && cell_source(&slot->cells[c]) <= HEDDLE_ESTIMATE_NEIGHBOURS)
			cell_publish(&slot->cells[c], us[c], HEDDLE_ESTIMATE_NEIGHBOURS);
}

/* Predictions are made anew when an eighth more is known than last time: so many
 * new things only cost the logarithm of their number. */
static void refresh(struct estimate_slot *slot)
{
	struct estimate_codelet *codelet = slot->codelet;
	unsigned news = atomic_load_explicit(&codelet->news, memory_order_relaxed);
	unsigned seen = atomic_load_explicit(&slot->news, memory_order_relaxed);

	if (news == seen || news - seen < seen / 8 || pthread_mutex_trylock(&codelet->mutex))
		return;
	/* A sample may come meanwhile: it must not be overwritten. */
	if (estimate_slot_seize(slot)) {
		predict(slot);
		estimate_slot_release(slot);
	}
	pthread_mutex_unlock(&codelet->mutex);
}

/* Adds to the history what was learned of a slot, unless it is hardly new. The slot's flag is
 * held. */
static void history_add(struct estimate_slot *slot, unsigned class, double us)
{
	struct estimate_codelet *codelet = slot->codelet;
	struct estimate_cell *cell = &slot->cells[class];

	if (fabs(us - cell->history_us) <= CHANGED * cell->history_us)
		return;
	pthread_mutex_lock(&codelet->mutex);
	heddle_history_set(&codelet->history, slot->point, class, us);
	pthread_mutex_unlock(&codelet->mutex);
	cell->history_us = us;
	atomic_fetch_add(&codelet->news, 1);
	/* Its own other classes follow. */
	atomic_store(&slot->news, 0);
}

/* Asks StarPU's model once: later this run's own samples say more. */
static void ask_model(struct estimate_slot *slot, struct starpu_task *task, unsigned class)
{
	struct estimate_cell *cell = &slot->cells[class];
	double us;

	if (atomic_load_explicit(&slot->modelled, memory_order_relaxed) >> class & 1 ||
	    !estimate_model_counts(task->cl->model) ||
	    atomic_fetch_or(&slot->modelled, 1u << class) >> class & 1)
		return;
	us = estimate_model_us(task, estimate_class_worker(class));
	if (!(us > 0) || !estimate_slot_seize(slot))
		return;
	if (cell_source(cell) <= HEDDLE_ESTIMATE_NEIGHBOURS) {
		cell_publish(cell, us, HEDDLE_ESTIMATE_MODEL);
		history_add(slot, class, us);
	}
	estimate_slot_release(slot);
}

double heddle_estimate_apart(struct starpu_task *task, int worker)
{
	bool asks = estimate_model_counts(task->cl->model);
	struct estimate_slot *slot = estimate_slot_of(task);
	double us = slot ? estimate_profile_us(slot, worker) : 0;

	return us <= 0 && asks ? estimate_model_us(task, worker) : us;
}

/* Of the first task, the sizes of its data and the operations that it states: how times grow with
 * parameters is expected to follow them. What has no place counts with the last. */
static void first_work_note(struct estimate_slot *slot, struct starpu_task *task)
{
	unsigned nbuffers = STARPU_TASK_GET_NBUFFERS(task);
	double sizes[HEDDLE_HISTORY_SIZES] = {0};

	if (atomic_exchange(&slot->sized, true))
		return;
	for (unsigned i = 0; i < nbuffers; i++)
		sizes[i < HEDDLE_HISTORY_SIZES ? i : HEDDLE_HISTORY_SIZES - 1] +=
		    starpu_data_get_size(STARPU_TASK_GET_HANDLE(task, i));
	pthread_mutex_lock(&slot->codelet->mutex);
	memcpy(slot->codelet->history.points[slot->point].sizes, sizes, sizeof(sizes));
	slot->codelet->history.points[slot->point].operations = fmax(task->flops, 0);
	pthread_mutex_unlock(&slot->codelet->mutex);
}

static inline void work_note(struct estimate_slot *slot, struct starpu_task *task)
{
	if (!atomic_load_explicit(&slot->sized, memory_order_relaxed))
		first_work_note(slot, task);
}

/* ---- asking ---- */

static inline bool estimate_read(struct estimate_slot *slot, unsigned class,
                                 struct heddle_estimate *estimate)
{
	struct estimate_cell *cell = &slot->cells[class];

	estimate->source = cell_source(cell);
	estimate->us = atomic_load_explicit(&cell->us, memory_order_relaxed);
	estimate->samples = atomic_load_explicit(&cell->samples, memory_order_relaxed);
	estimate->first = atomic_load_explicit(&cell->first, memory_order_relaxed);
	return estimate->source > HEDDLE_ESTIMATE_NEIGHBOURS;
}

unsigned long heddle_estimate_key(struct starpu_task *task)
{
	return (uintptr_t)estimate_slot_of(task);
}

uint64_t heddle_estimate_name(unsigned long key)
{
	struct estimate_slot *slot = (struct estimate_slot *)key; /* NOLINT: it was one */

	return slot ? estimate_slot_name(slot) : 0;
}

/* @return bit c: class c has more than a prediction */
static unsigned estimates_read(struct estimate_slot *slot, unsigned n,
                               struct heddle_estimate *estimates)
{
	unsigned known = 0, classes = n < HEDDLE_DEVICE_CLASSES ? n : HEDDLE_DEVICE_CLASSES;

	if (!slot)
		classes = 0;
	for (unsigned c = 0; c < classes; c++)
		known |= (unsigned)estimate_read(slot, c, &estimates[c]) << c;
	for (unsigned c = classes; c < n; c++)
		estimates[c] = (struct heddle_estimate){0};
	return known;
}

unsigned long heddle_estimate_all(struct starpu_task *task, unsigned n, unsigned wanted,
                                  struct heddle_estimate *estimates)
{
	struct estimate_slot *slot = estimate_slot_of(task);
	unsigned known = estimates_read(slot, n, estimates);
	unsigned classes = n < HEDDLE_DEVICE_CLASSES ? n : HEDDLE_DEVICE_CLASSES;

	if (!slot)
		return 0;
	work_note(slot, task);
	wanted &= (1u << classes) - 1;
	if (!(wanted & ~known))
		return (uintptr_t)slot;
	refresh(slot);
	for (unsigned c = 0; c < classes; c++)
		if (wanted >> c & 1 && !estimate_read(slot, c, &estimates[c]))
			ask_model(slot, task, c);
	refresh(slot);
	estimates_read(slot, n, estimates);
	return (uintptr_t)slot;
}

void heddle_estimate_known(unsigned long key, unsigned n, struct heddle_estimate *estimates)
{
	struct estimate_slot *slot = (struct estimate_slot *)(uintptr_t)key;
	unsigned classes = n < HEDDLE_DEVICE_CLASSES ? n : HEDDLE_DEVICE_CLASSES;

	if (estimates_read(slot, n, estimates) == (1u << classes) - 1 || !slot)
		return;
	refresh(slot);
	estimates_read(slot, n, estimates);
}

void heddle_estimate_spreads(unsigned long key, unsigned n, double *spreads)
{
	struct estimate_slot *slot = (struct estimate_slot *)(uintptr_t)key;

	for (unsigned c = 0; c < n; c++)
		spreads[c] =
		    slot && c < HEDDLE_DEVICE_CLASSES
		        ? atomic_load_explicit(&slot->cells[c].spread, memory_order_relaxed)
		        : 0;
}

void heddle_estimate(struct starpu_task *task, unsigned class, struct heddle_estimate *estimate)
{
	struct estimate_slot *slot = estimate_slot_of(task);

	*estimate = (struct heddle_estimate){0};
	if (!slot || class >= HEDDLE_DEVICE_CLASSES || estimate_read(slot, class, estimate))
		return;
	work_note(slot, task);
	refresh(slot);
	if (estimate_read(slot, class, estimate))
		return;
	ask_model(slot, task, class);
	estimate_read(slot, class, estimate);
}

/* ---- samples ---- */

struct hooks {
	void (*pre)(struct starpu_task *task, unsigned ctx);
	void (*post)(struct starpu_task *task, unsigned ctx);
};

static struct {
	pthread_mutex_t mutex;
	struct hooks before[STARPU_NMAX_SCHED_CTXS]; /* the policy's own */
	struct {
		double start_us;      /* of the task under way; 0: none that is looked at */
		double thread_us;     /* the worker's thread had taken, where that counts */
		bool disturbed;       /* the task under way did not have its core for itself */
		atomic_bool reported; /* its policy reported it */
		/* The type of that task, and since when it runs. */
		struct estimate_slot *_Atomic slot;
		atomic_ulong since_us;
	} __attribute__((aligned(64))) workers[STARPU_NMAXWORKERS];
	bool undisturbed;
} observed = {.mutex = PTHREAD_MUTEX_INITIALIZER};

/* Whether this is the codelet's first sample on a class: it often carries the
 * loading of a kernel, or the first touch of memory. */
static bool first_on_class(struct estimate_codelet *codelet, unsigned class)
{
	if (atomic_load_explicit(&codelet->sampled, memory_order_relaxed) >> class & 1)
		return false;
	return !(atomic_fetch_or(&codelet->sampled, 1u << class) >> class & 1);
}

/* The same of one accelerator: each of them loads its kernels itself. */
static bool first_on_accelerator(struct estimate_codelet *codelet, int worker)
{
	atomic_ulong *ran = &codelet->ran[worker / 64];
	unsigned long bit = 1UL << worker % 64;

	if (starpu_worker_get_type(worker) == STARPU_CPU_WORKER ||
	    atomic_load_explicit(ran, memory_order_relaxed) & bit)
		return false;
	return !(atomic_fetch_or(ran, bit) & bit);
}

/* Whether the first sample of a cell is so far above what neighbours say that
 * another one is to confirm it: of these parameters, or an equally surprising one
 * of others. */
static bool doubtful(struct estimate_slot *slot, unsigned class, double us)
{
	struct estimate_cell *cell = &slot->cells[class];
	atomic_uint *surprised = &slot->codelet->surprised;
	bool surprising = cell->measured.count == 1 &&
	                  cell_source(cell) == HEDDLE_ESTIMATE_NEIGHBOURS &&
	                  us > SURPRISE * atomic_load(&cell->us);

	if (surprising)
		return !(atomic_fetch_or(surprised, 1u << class) >> class & 1);
	if (atomic_load_explicit(surprised, memory_order_relaxed) >> class & 1)
		atomic_fetch_and(surprised, ~(1u << class));
	return false;
}

/* Where disturbances are to be left out, the least sample counts: of those without, as soon as
 * there is one. @return whether it counts */
static bool undisturbed_keep(struct estimate_cell *cell, bool disturbed, double us)
{
	if (cell->measured.count) {
		if (disturbed && !cell->disturbed)
			return false;
		if (disturbed == cell->disturbed)
			us = fmin(us, heddle_robust_us(&cell->measured));
	}
	cell->measured.count = 0;
	cell->disturbed = disturbed;
	heddle_robust_add(&cell->measured, us);
	return true;
}

/* Keeps a sample. An accelerator's first one counts as long as there is no other.
 * @return whether it does */
static bool sample_keep(struct estimate_cell *cell, bool first, bool disturbed, double us)
{
	unsigned samples = atomic_fetch_add_explicit(&cell->samples, 1, memory_order_relaxed);
	bool none = !samples || atomic_load_explicit(&cell->first, memory_order_relaxed);

	if (first && !none)
		return false;
	if (!first && none)
		cell->measured.count = 0;
	atomic_store_explicit(&cell->first, first, memory_order_relaxed);
	if (observed.undisturbed)
		return undisturbed_keep(cell, disturbed, us);
	heddle_robust_add(&cell->measured, us);
	return true;
}

void estimate_device_add(struct estimate_device *device, double us)
{
	device->samples++;
	device->sum_us += us;
	device->least_us = fmin(device->least_us, us);
	device->most_us = fmax(device->most_us, us);
}

/* Keeps a sample of one accelerator, where there is memory. */
static void device_keep(struct estimate_slot *slot, unsigned class, int worker, bool first,
                        double us)
{
	unsigned number = starpu_worker_get_devid(worker), i = 0;
	struct estimate_device *device;

	while (i < slot->ndevices &&
	       (slot->devices[i].class != class || slot->devices[i].number != number))
		i++;
	if (i == slot->ndevices) {
		device = realloc(slot->devices, (i + 1) * sizeof(*device));
		if (!device)
			return;
		slot->devices = device;
		slot->devices[slot->ndevices++] = (struct estimate_device){
		    .class = class, .number = number, .least_us = INFINITY};
	}
	device = &slot->devices[i];
	if (first)
		device->first_us = us;
	else
		estimate_device_add(device, us);
}

/* The slot's flag is held. */
static void sample_add(struct estimate_slot *slot, unsigned class, int worker, double us)
{
	struct estimate_cell *cell = &slot->cells[class];
	bool first = first_on_accelerator(slot->codelet, worker);
	bool counts = sample_keep(cell, first, observed.workers[worker].disturbed, us);

	if (starpu_worker_get_type(worker) != STARPU_CPU_WORKER)
		device_keep(slot, class, worker, first, us);
	first |= first_on_class(slot->codelet, class);
	if (!counts || !estimate_source_allowed(HEDDLE_ESTIMATE_ONLINE) ||
	    doubtful(slot, class, us))
		return;
	us = cell_median(cell);
	atomic_store_explicit(&cell->spread, cell_spread(cell), memory_order_relaxed);
	cell_publish(cell, us, HEDDLE_ESTIMATE_ONLINE);
	if (first)
		return;
	atomic_fetch_or_explicit(&slot->codelet->told, 1u << class, memory_order_relaxed);
	history_add(slot, class, us);
}

static void samples_begin(void)
{
	for (unsigned w = 0; w < STARPU_NMAXWORKERS; w++)
		HELGRIND_ATOMIC(observed.workers[w].reported);
	estimate_watch_exit();
}

void heddle_estimate_executed(struct starpu_task *task, int worker, double us)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	unsigned class = heddle_device_class(worker);
	struct estimate_slot *slot =
	    us > 0 && isfinite(us) ? estimate_slot_of_executed(task) : NULL;

	pthread_once(&once, samples_begin);
	atomic_store_explicit(&observed.workers[worker].reported, true, memory_order_relaxed);
	if (!slot)
		return;
	/* Another worker is at it: one sample more or less does not matter. */
	if (!estimate_slot_seize(slot))
		return;
	sample_add(slot, class, worker, us);
	estimate_slot_release(slot);
}

/* ---- samples under other policies ---- */

/* Only tasks that state parameters, or whose codelet has the estimator for its model. */
static bool looked_at(const struct starpu_task *task)
{
	return estimate_is_slot(task->sched_data) || estimate_model_is_ours(task->cl->model);
}

void heddle_estimate_undisturbed(void)
{
	observed.undisturbed = true;
}

/* Where the worker's thread takes a task's time, what it has taken; else 0. */
static double thread_us(int worker)
{
	struct timespec time;

	if (!observed.undisturbed || starpu_worker_get_type(worker) != STARPU_CPU_WORKER ||
	    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time))
		return 0;
	return starpu_timing_timespec_to_us(&time);
}

/* A thread that has its core for itself takes as long as passes, nearly: interrupts do not count. A
 * virtual machine's host may tell late that it took the core away. That time is then missing
 * from another task's, which seems to be shorter than it was. */
#define CORE_KEPT 0.995

/* How long the task under way took. */
static double task_us(int worker)
{
	double us = starpu_timing_now() - observed.workers[worker].start_us;
	double own_us = thread_us(worker) - observed.workers[worker].thread_us;

	observed.workers[worker].disturbed = own_us > 0 && own_us < CORE_KEPT * us;
	/* A clock that counts in ticks may say more than has passed. */
	return own_us > 0 ? fmin(own_us, us) : us;
}

static void running_note(int worker, struct estimate_slot *slot)
{
	atomic_store(&observed.workers[worker].since_us, starpu_timing_now());
	atomic_store(&observed.workers[worker].slot, slot);
}

/* For how long a worker of a class has been at a task of this type, or of any type of the codelet;
 * 0: it is not at one. */
static double running_us(unsigned worker, unsigned class, const struct estimate_slot *slot,
                         bool any)
{
	struct estimate_slot *other = atomic_load(&observed.workers[worker].slot);

	if (!other || (any ? other->codelet != slot->codelet : other != slot) ||
	    heddle_device_class(worker) != class)
		return 0;
	return fmax(0, starpu_timing_now() - atomic_load(&observed.workers[worker].since_us));
}

/* Until one has ended on a class it is all that is known of it that tasks have been running. */
static double running_first_us(const struct estimate_slot *slot, unsigned class)
{
	double longest = 0;

	if (!(atomic_load_explicit(&slot->codelet->sampled, memory_order_relaxed) >> class & 1))
		for (unsigned w = 0; w < starpu_worker_get_count(); w++)
			longest = fmax(longest, running_us(w, class, slot, true));
	return longest;
}

/* A task's time on a class whose time is known, where tasks of this type may be unequal. */
static double unequal_us(const struct estimate_slot *slot, unsigned class,
                         const struct heddle_estimate *known)
{
	double spread = atomic_load_explicit(&slot->cells[class].spread, memory_order_relaxed);
	double overdue_us = 0;
	unsigned overdue = 0;

	for (unsigned w = 0; w < starpu_worker_get_count(); w++) {
		double us = running_us(w, class, slot, false);

		overdue += us > known->us;
		overdue_us += us > known->us ? us : 0;
	}
	return cold_unequal(known->us, known->samples, spread, overdue, overdue_us);
}

static void observe_pre(struct starpu_task *task, unsigned ctx)
{
	int worker = starpu_worker_get_id();
	struct estimate_slot *slot;

	if (observed.before[ctx].pre)
		observed.before[ctx].pre(task, ctx);
	/* Its data are sure to be there now. */
	slot = worker >= 0 && looked_at(task) ? estimate_slot_of(task) : NULL;
	if (!slot)
		return;
	running_note(worker, slot);
	observed.workers[worker].thread_us = thread_us(worker);
	observed.workers[worker].start_us = starpu_timing_now();
}

static void observe_post(struct starpu_task *task, unsigned ctx)
{
	int worker = starpu_worker_get_id();
	double us = 0;

	if (worker >= 0)
		atomic_store(&observed.workers[worker].slot, NULL);
	if (worker >= 0 && observed.workers[worker].start_us && looked_at(task)) {
		us = task_us(worker);
		observed.workers[worker].start_us = 0;
		atomic_store_explicit(&observed.workers[worker].reported, false,
		                      memory_order_relaxed);
	}
	if (observed.before[ctx].post)
		observed.before[ctx].post(task, ctx);
	if (us > 0 &&
	    !atomic_load_explicit(&observed.workers[worker].reported, memory_order_relaxed))
		heddle_estimate_executed(task, worker, heddle_clock_kernel_us(task, us));
	if (worker >= 0)
		observed.workers[worker].disturbed = false;
}

static void observe(unsigned ctx)
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

static void observe_task(const struct starpu_task *task)
{
	unsigned ctx = task->sched_ctx;

	if (!starpu_is_initialized())
		return;
	if (ctx == STARPU_NMAX_SCHED_CTXS)
		ctx = starpu_sched_ctx_get_context();
	/* Without one of its own it goes to the initial context. */
	observe(ctx == STARPU_NMAX_SCHED_CTXS ? 0 : ctx);
}

int heddle_task_params(struct starpu_task *task, const struct heddle_param *params, unsigned n)
{
	int error = estimate_slot_state(task, params, n);

	if (!error)
		observe_task(task);
	return error;
}

/* ---- the estimator as a performance model of StarPU ---- */

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

static void cold_classes(struct estimate_slot *slot, const struct heddle_estimate *estimates,
                         struct cold_class *classes, unsigned n)
{
	for (unsigned c = 0; c < n; c++) {
		bool is_core = !strncmp(heddle_device_class_name(c), "cpu", 3);
		bool is_cores = !is_core && estimate_class_is_cores(c);

		classes[c] = (struct cold_class){
		    .us = estimates[c].us,
		    .first = estimates[c].first,
		    .speed = is_core || is_cores ? 1 : ACCELERATOR,
		    .load = is_cores ? LOAD : 0,
		    .running_us = slot ? running_first_us(slot, c) : 0,
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

	if (!slot || isinf(us) ||
	    atomic_load_explicit(&slot->codelet->probed, memory_order_relaxed))
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
static double expected_us(struct starpu_task *task, unsigned class)
{
	struct heddle_estimate estimates[HEDDLE_DEVICE_CLASSES];
	struct cold_class classes[HEDDLE_DEVICE_CLASSES];
	struct estimate_slot *slot = estimate_slot_of(task);
	unsigned n = heddle_device_classes();
	double bytes = 0;

	if (slot)
		atomic_store_explicit(&slot->codelet->places, true, memory_order_relaxed);
	heddle_estimate_all(task, n, ~0u, estimates);
	cold_classes(slot, estimates, classes, n);
	if (is_to_try(task, classes, n, class))
		return NAN;
	for (unsigned i = 0; i < STARPU_TASK_GET_NBUFFERS(task); i++)
		bytes += starpu_data_get_size(STARPU_TASK_GET_HANDLE(task, i));
	return cold_expect(classes, n, class, bytes);
}

unsigned heddle_estimate_ahead(unsigned long key, const unsigned *workers, bool *probe)
{
	struct heddle_estimate estimates[HEDDLE_DEVICE_CLASSES];
	struct cold_class classes[HEDDLE_DEVICE_CLASSES];
	struct estimate_slot *slot = (struct estimate_slot *)key; /* NOLINT: it was one */
	unsigned n = heddle_device_classes(), ahead;
	bool may = *probe;

	*probe = false;
	if (!slot || !atomic_load_explicit(&slot->codelet->places, memory_order_relaxed))
		return UINT_MAX;
	heddle_estimate_known(key, n, estimates);
	cold_classes(slot, estimates, classes, n);
	for (unsigned c = 0; c < n; c++) {
		classes[c].workers = workers[c];
		/* Tasks with other parameters have told, too. */
		classes[c].first &=
		    !(atomic_load_explicit(&slot->codelet->told, memory_order_relaxed) >> c & 1);
	}
	ahead = cold_ahead(classes, n, probe);
	*probe &= may;
	if (*probe)
		atomic_store_explicit(&slot->codelet->probed, true, memory_order_relaxed);
	return ahead;
}

double heddle_estimate_cost(struct starpu_task *task, struct starpu_perfmodel_arch *arch,
                            unsigned implementation)
{
	struct heddle_estimate estimate;
	int worker = arch_worker(arch);
	unsigned class;

	observe(task->sched_ctx);
	if (worker < 0)
		return NAN;
	class = heddle_device_class(worker);
	heddle_estimate(task, class, &estimate);
	if (!(estimate.us > 0) || estimate.first)
		return expected_us(task, class);
	/* One that takes much longer than others does harm on a slow device only. */
	if (arch->devices[0].type != STARPU_CPU_WORKER || heddle_device_classes() == 1)
		return estimate.us;
	return unequal_us(estimate_slot_of(task), class, &estimate);
}

int heddle_estimate_task(struct starpu_task *task, int worker, struct heddle_estimate *estimate)
{
	if (!starpu_is_initialized() || worker < 0 || worker >= (int)starpu_worker_get_count())
		return heddle_refuse(-EINVAL, "heddle_estimate_task(): there is no worker %d",
		                     worker);
	if (!task->cl)
		return heddle_refuse(-EINVAL, "heddle_estimate_task(): the task has no codelet");
	heddle_estimate(task, heddle_device_class(worker), estimate);
	return 0;
}
