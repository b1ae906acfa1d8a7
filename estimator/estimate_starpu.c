/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * What is believed of tasks, and how samples change it.
 */
#include "config.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "estimator/slots.h"
#include "support/message.h"
#include "support/variables.h"

/* A belief that changed less is not news to tasks with other parameters. */
#define BELIEF_CHANGED 0.1
/* A first sample so many times above what neighbours say wants another one. */
#define SURPRISE 8
/* What earlier runs measured counts as so many samples of this one. */
#define PRIOR_SAMPLES 2

static const char *const source_names[] = {
    [HEDDLE_ESTIMATE_NOTHING] = "nothing", [HEDDLE_ESTIMATE_NEIGHBOURS] = "neighbours",
    [HEDDLE_ESTIMATE_MODEL] = "model",     [HEDDLE_ESTIMATE_PROFILE] = "profile",
    [HEDDLE_ESTIMATE_ONLINE] = "online",
};

#define NSOURCES (sizeof(source_names) / sizeof(source_names[0]))

const char *heddle_estimate_source_name(enum heddle_estimate_source source)
{
	return source_names[source];
}

/* ---- which sources may be used ---- */

static struct {
	pthread_once_t once;
	unsigned allowed; /* bit s: source s */
	struct heddle_history_rule rule;
} sources = {.once = PTHREAD_ONCE_INIT};

static void source_allow(const char *name, size_t length)
{
	for (unsigned s = 0; s < NSOURCES; s++)
		if (strlen(source_names[s]) == length && !strncmp(source_names[s], name, length)) {
			sources.allowed |= 1u << s;
			return;
		}
	if (length)
		heddle_warn("HEDDLE_ESTIMATE: \"%.*s\" is no source of estimates (online, profile, "
		            "model, neighbours, nothing)",
		            (int)length, name);
}

/* How neighbours predict. */
static void rule_read(void)
{
	const char *text = heddle_variable_text(HEDDLE_VARIABLE_NEIGHBOURS);

	sources.rule = HEDDLE_HISTORY_FIT;
	if (!strcmp(text, "mean"))
		sources.rule = HEDDLE_HISTORY_PUBLISHED;
	else if (strcmp(text, "fit"))
		heddle_warn("HEDDLE_NEIGHBOURS=%s is neither \"fit\" nor \"mean\"", text);
}

static void sources_read(void)
{
	const char *text = heddle_variable_text(HEDDLE_VARIABLE_ESTIMATE);

	rule_read();
	for (size_t length; *text; text += length + (text[length] == ',')) {
		length = strcspn(text, ",");
		source_allow(text, length);
	}
}

bool source_allowed(enum heddle_estimate_source source)
{
	pthread_once(&sources.once, sources_read);
	return sources.allowed >> source & 1;
}

/* ---- cells ---- */

static void cell_publish(struct cell *cell, double us, enum heddle_estimate_source source)
{
	atomic_store_explicit(&cell->us, us, memory_order_relaxed);
	atomic_store_explicit(&cell->source, source, memory_order_release);
}

static enum heddle_estimate_source cell_source(struct cell *cell)
{
	return atomic_load_explicit(&cell->source, memory_order_acquire);
}

/* The median of what was measured, together with what earlier runs say until
 * there is enough. */
static double cell_median(const struct cell *cell)
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

/* ---- what follows from other parameters and devices ---- */

/* What earlier runs measured came into the history without the slot's doing.
 * The slot's flag and the codelet's mutex are held. */
static void adopt_profile(struct slot *slot, const struct heddle_history_point *point)
{
	for (unsigned c = 0; c < HEDDLE_DEVICE_CLASSES; c++) {
		struct cell *cell = &slot->cells[c];

		if (cell_source(cell) > HEDDLE_ESTIMATE_NEIGHBOURS || cell->measured.count ||
		    !(point->us[c] > 0))
			continue;
		cell->prior_us = cell->told_us = point->us[c];
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
static void predict(struct slot *slot)
{
	struct codelet *codelet = slot->codelet;
	const struct heddle_history_point *point = &codelet->history.points[slot->point];
	double us[HEDDLE_HISTORY_CLASSES];

	atomic_store(&slot->news, atomic_load(&codelet->news));
	adopt_profile(slot, point);
	if (!source_allowed(HEDDLE_ESTIMATE_NEIGHBOURS))
		return;
	for (unsigned c = 0; c < HEDDLE_HISTORY_CLASSES; c++)
		us[c] = c < HEDDLE_DEVICE_CLASSES &&
		                cell_source(&slot->cells[c]) > HEDDLE_ESTIMATE_NEIGHBOURS
		            ? atomic_load(&slot->cells[c].us)
		            : 0;
	codelet->history.wide = wide_classes();
	heddle_history_predict(&codelet->history, point->values, sources.rule, slot->point, us);
	for (unsigned c = 0; c < HEDDLE_DEVICE_CLASSES; c++)
		if (us[c] > 0 && cell_source(&slot->cells[c]) <= HEDDLE_ESTIMATE_NEIGHBOURS)
			cell_publish(&slot->cells[c], us[c], HEDDLE_ESTIMATE_NEIGHBOURS);
}

/* Predictions are made anew when an eighth more is known than last time: so many
 * new things only cost the logarithm of their number. */
static void refresh(struct slot *slot)
{
	struct codelet *codelet = slot->codelet;
	unsigned news = atomic_load_explicit(&codelet->news, memory_order_relaxed);
	unsigned seen = atomic_load_explicit(&slot->news, memory_order_relaxed);

	if (news == seen || news - seen < seen / 8 || pthread_mutex_trylock(&codelet->mutex))
		return;
	/* A sample may come meanwhile: it must not be overwritten. */
	if (slot_seize(slot)) {
		predict(slot);
		slot_release(slot);
	}
	pthread_mutex_unlock(&codelet->mutex);
}

/* Tells other parameters what was learned of these, unless it is hardly new. The
 * slot's flag is held. */
static void tell(struct slot *slot, unsigned class, double us)
{
	struct codelet *codelet = slot->codelet;
	struct cell *cell = &slot->cells[class];

	if (fabs(us - cell->told_us) <= BELIEF_CHANGED * cell->told_us)
		return;
	pthread_mutex_lock(&codelet->mutex);
	heddle_history_set(&codelet->history, slot->point, class, us);
	pthread_mutex_unlock(&codelet->mutex);
	cell->told_us = us;
	atomic_fetch_add(&codelet->news, 1);
	/* Its own other classes follow. */
	atomic_store(&slot->news, 0);
}

/* Asks StarPU's model once: later this run's own samples say more. */
static void ask_model(struct slot *slot, struct starpu_task *task, unsigned class)
{
	struct cell *cell = &slot->cells[class];
	double us;

	if (!task->cl->model ||
	    atomic_load_explicit(&slot->modelled, memory_order_relaxed) >> class & 1 ||
	    !source_allowed(HEDDLE_ESTIMATE_MODEL) ||
	    atomic_fetch_or(&slot->modelled, 1u << class) >> class & 1)
		return;
	us = model_us(task, class);
	if (!(us > 0) || !slot_seize(slot))
		return;
	if (cell_source(cell) <= HEDDLE_ESTIMATE_NEIGHBOURS) {
		cell_publish(cell, us, HEDDLE_ESTIMATE_MODEL);
		tell(slot, class, us);
	}
	slot_release(slot);
}

/* Of the first task, the sizes of its data: how times grow with parameters is expected to
 * follow them. What has no place counts with the last. */
static void sizes_note(struct slot *slot, struct starpu_task *task)
{
	unsigned nbuffers = STARPU_TASK_GET_NBUFFERS(task);
	double sizes[HEDDLE_HISTORY_SIZES] = {0};

	if (atomic_load_explicit(&slot->sized, memory_order_relaxed) ||
	    atomic_exchange(&slot->sized, true))
		return;
	for (unsigned i = 0; i < nbuffers; i++)
		sizes[i < HEDDLE_HISTORY_SIZES ? i : HEDDLE_HISTORY_SIZES - 1] +=
		    starpu_data_get_size(STARPU_TASK_GET_HANDLE(task, i));
	pthread_mutex_lock(&slot->codelet->mutex);
	memcpy(slot->codelet->history.points[slot->point].sizes, sizes, sizeof(sizes));
	pthread_mutex_unlock(&slot->codelet->mutex);
}

/* ---- asking ---- */

static bool estimate_read(struct slot *slot, unsigned class, struct heddle_estimate *estimate)
{
	struct cell *cell = &slot->cells[class];

	estimate->source = cell_source(cell);
	estimate->us = atomic_load_explicit(&cell->us, memory_order_relaxed);
	estimate->samples = atomic_load_explicit(&cell->samples, memory_order_relaxed);
	estimate->first = atomic_load_explicit(&cell->first, memory_order_relaxed);
	return estimate->source > HEDDLE_ESTIMATE_NEIGHBOURS;
}

unsigned long heddle_estimate_key(struct starpu_task *task)
{
	return (uintptr_t)slot_of_task(task);
}

/* @return how many classes have more than a prediction */
static unsigned estimates_read(struct slot *slot, unsigned n, struct heddle_estimate *estimates)
{
	unsigned known = 0;

	memset(estimates, 0, n * sizeof(*estimates));
	for (unsigned c = 0; slot && c < n && c < HEDDLE_DEVICE_CLASSES; c++)
		known += estimate_read(slot, c, &estimates[c]);
	return known;
}

unsigned long heddle_estimate_all(struct starpu_task *task, unsigned n,
                                  struct heddle_estimate *estimates)
{
	struct slot *slot = slot_of_task(task);
	unsigned known = estimates_read(slot, n, estimates);
	unsigned classes = n < HEDDLE_DEVICE_CLASSES ? n : HEDDLE_DEVICE_CLASSES;

	if (!slot)
		return 0;
	sizes_note(slot, task);
	if (known == classes)
		return (uintptr_t)slot;
	refresh(slot);
	for (unsigned c = 0; c < classes; c++)
		if (!estimate_read(slot, c, &estimates[c]))
			ask_model(slot, task, c);
	refresh(slot);
	estimates_read(slot, n, estimates);
	return (uintptr_t)slot;
}

void heddle_estimate_known(unsigned long key, unsigned n, struct heddle_estimate *estimates)
{
	estimates_read((struct slot *)(uintptr_t)key, n, estimates);
}

void heddle_estimate(struct starpu_task *task, unsigned class, struct heddle_estimate *estimate)
{
	struct slot *slot = slot_of_task(task);

	*estimate = (struct heddle_estimate){0};
	if (!slot || class >= HEDDLE_DEVICE_CLASSES || estimate_read(slot, class, estimate))
		return;
	sizes_note(slot, task);
	refresh(slot);
	if (estimate_read(slot, class, estimate))
		return;
	ask_model(slot, task, class);
	estimate_read(slot, class, estimate);
}

/* ---- telling ---- */

static void save_at_exit(void)
{
	heddle_estimate_save();
}

static void exit_watch(void)
{
	atexit(save_at_exit);
}

/* Whether this is the codelet's first sample on a class: it often carries the
 * loading of a kernel, or the first touch of memory. */
static bool first_on_class(struct codelet *codelet, unsigned class)
{
	if (atomic_load_explicit(&codelet->sampled, memory_order_relaxed) >> class & 1)
		return false;
	return !(atomic_fetch_or(&codelet->sampled, 1u << class) >> class & 1);
}

/* The same of one accelerator: each of them loads its kernels itself. */
static bool first_on_accelerator(struct codelet *codelet, int worker)
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
static bool doubtful(struct slot *slot, unsigned class, double us)
{
	struct cell *cell = &slot->cells[class];
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

/* Keeps a sample. An accelerator's first one counts as long as there is no other.
 * @return whether it does */
static bool sample_keep(struct cell *cell, bool first, double us)
{
	unsigned samples = atomic_fetch_add_explicit(&cell->samples, 1, memory_order_relaxed);
	bool none = !samples || atomic_load_explicit(&cell->first, memory_order_relaxed);

	if (first && !none)
		return false;
	if (!first && none)
		cell->measured.count = 0;
	atomic_store_explicit(&cell->first, first, memory_order_relaxed);
	heddle_robust_add(&cell->measured, us);
	return true;
}

/* The slot's flag is held. */
static void sample_add(struct slot *slot, unsigned class, int worker, double us)
{
	struct cell *cell = &slot->cells[class];
	bool first = first_on_accelerator(slot->codelet, worker);
	bool counts = sample_keep(cell, first, us);

	first |= first_on_class(slot->codelet, class);
	if (!counts || !source_allowed(HEDDLE_ESTIMATE_ONLINE) || doubtful(slot, class, us))
		return;
	us = cell_median(cell);
	cell_publish(cell, us, HEDDLE_ESTIMATE_ONLINE);
	if (!first)
		tell(slot, class, us);
}

void heddle_estimate_executed(struct starpu_task *task, int worker, double us)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	unsigned class = heddle_device_class(worker);
	struct slot *slot = us > 0 && isfinite(us) ? slot_of_executed_task(task) : NULL;

	observe_told(worker);
	/* Another worker is at it: one sample more or less does not matter. */
	if (!slot || !slot_seize(slot))
		return;
	pthread_once(&once, exit_watch);
	sample_add(slot, class, worker, us);
	slot_release(slot);
}
