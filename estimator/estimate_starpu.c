/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The estimator as policies and applications see it.
 *
 * A *slot* is what is known of the tasks of one codelet with one set of
 * parameters. Slots are found through a hash table that is read without locks;
 * they live in one array, never move and never go, so that a task can carry the
 * address of its own in sched_data. Programs whose every task has parameters of
 * its own are bounded: a codelet with many slots takes parameters that are nearly
 * equal for equal, and when the array is full tasks share the codelet's first.
 *
 * What a slot believes is published in atomic variables. A sample touches its
 * slot alone. What it lets conclude about other slots is computed by the codelet's
 * history, under its mutex, when such a slot is next asked and enough is new.
 */
#include "config.h"

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "estimator/history.h"
#include "estimator/robust.h"
#include "private/estimate_starpu.h"
#include "private/message.h"

_Static_assert(HEDDLE_DEVICE_CLASSES <= HEDDLE_HISTORY_CLASSES, "no place for all classes");
_Static_assert(HEDDLE_PARAMS_MAX <= HEDDLE_HISTORY_DIMENSIONS, "no place for all parameters");

#define MAX_SLOTS 16384
#define MAX_CODELETS 1024
#define BUCKETS 16384
/* From so many slots of a codelet on, parameters are rounded to 1/16 octave. */
#define MANY_SLOTS 1024
/* From here on, samples of the same parameters count little for others. */
#define BELIEF_CHANGED 0.1

/* What a slot believes of a class. */
struct cell {
	struct heddle_robust measured; /* under the slot's flag */
	_Atomic double us;
	atomic_uint source;
	atomic_uint samples;
	double told_us; /* to the history; under the slot's flag */
};

struct slot {
	struct slot *_Atomic next; /* in its bucket */
	struct codelet *codelet;
	uint64_t hash;
	bool stated;          /* by heddle_task_params() */
	unsigned categorical; /* bit i: values[i] stands for a word */
	unsigned n;           /* values */
	size_t point;         /* in the codelet's history */
	atomic_flag busy;
	atomic_uint news; /* of the codelet, when predictions were last made */
	double values[HEDDLE_HISTORY_DIMENSIONS];
	struct cell cells[HEDDLE_DEVICE_CLASSES];
};

struct codelet {
	char *name; /* NULL: known by its address alone */
	const struct starpu_codelet *cl;
	pthread_mutex_t mutex;
	struct heddle_history history; /* under the mutex */
	atomic_uint nslots;
	atomic_uint news; /* how much was learned */
	struct slot *_Atomic first;
};

/* Which codelet a StarPU codelet is; several may share a name. */
struct alias {
	struct alias *_Atomic next;
	const struct starpu_codelet *cl;
	struct codelet *codelet;
};

static struct {
	pthread_once_t once;
	pthread_mutex_t mutex; /* of whoever adds something */
	struct slot *slots;
	atomic_size_t nslots;
	struct slot *_Atomic buckets[BUCKETS];
	struct alias *_Atomic aliases[256];
	struct codelet *codelets[MAX_CODELETS];
	unsigned ncodelets;
} table = {.once = PTHREAD_ONCE_INIT, .mutex = PTHREAD_MUTEX_INITIALIZER};

/* Reserved once; pages come as slots are used. */
static void table_init(void)
{
	void *area = mmap(NULL, MAX_SLOTS * sizeof(struct slot), PROT_READ | PROT_WRITE,
	                  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	table.slots = area == MAP_FAILED ? NULL : area;
}

static uint64_t mix(uint64_t hash, uint64_t value)
{
	hash = (hash ^ value) * 0x9e3779b97f4a7c15u;
	return hash ^ hash >> 32;
}

/* ---- codelets ---- */

static const char *codelet_name(const struct starpu_codelet *cl)
{
	return cl->name ? cl->name : cl->model ? cl->model->symbol : NULL;
}

static bool codelet_is(const struct codelet *codelet, const struct starpu_codelet *cl)
{
	const char *name = codelet_name(cl);

	if (!name || !codelet->name)
		return !name && codelet->cl == cl;
	return !strcmp(name, codelet->name);
}

/* The mutex is held. */
static struct codelet *codelet_create(const struct starpu_codelet *cl)
{
	const char *name = codelet_name(cl);
	struct codelet *codelet;

	if (table.ncodelets == MAX_CODELETS)
		return NULL;
	codelet = calloc(1, sizeof(*codelet));
	if (!codelet)
		return NULL;
	codelet->cl = cl;
	codelet->name = name ? strdup(name) : NULL;
	if (name && !codelet->name) {
		free(codelet);
		return NULL;
	}
	pthread_mutex_init(&codelet->mutex, NULL);
	return table.codelets[table.ncodelets++] = codelet;
}

static struct codelet *codelet_add(const struct starpu_codelet *cl, struct alias *_Atomic *bucket)
{
	struct codelet *codelet = NULL;
	struct alias *alias;

	pthread_mutex_lock(&table.mutex);
	for (unsigned c = 0; !codelet && c < table.ncodelets; c++)
		if (codelet_is(table.codelets[c], cl))
			codelet = table.codelets[c];
	if (!codelet)
		codelet = codelet_create(cl);
	alias = codelet ? malloc(sizeof(*alias)) : NULL;
	if (alias) {
		alias->cl = cl;
		alias->codelet = codelet;
		atomic_init(&alias->next, atomic_load(bucket));
		atomic_store(bucket, alias);
	}
	pthread_mutex_unlock(&table.mutex);
	return codelet;
}

/* A codelet that was freed may leave its address to another: the name decides. */
static struct codelet *codelet_find(const struct starpu_codelet *cl)
{
	struct alias *_Atomic *bucket = &table.aliases[mix(1, (uintptr_t)cl) & 255];
	struct alias *alias = atomic_load_explicit(bucket, memory_order_acquire);

	while (alias && (alias->cl != cl || !codelet_is(alias->codelet, cl)))
		alias = atomic_load_explicit(&alias->next, memory_order_acquire);
	return alias ? alias->codelet : codelet_add(cl, bucket);
}

/* ---- slots ---- */

/* Sizes of data are called after the data's place. */
static int default_dimensions(struct codelet *codelet, const struct slot *slot, double *values)
{
	for (unsigned i = 0; i < slot->n; i++) {
		char name[] = {'b', 'y', 't', 'e', 's', '0' + i, 0};
		unsigned d;
		int error = heddle_history_dimension(&codelet->history, name, false, &d);

		if (error)
			return error;
		values[d] = slot->values[i];
	}
	return 0;
}

/* The point of a new slot. A task that states nothing is told by the sizes of its
 * data as far as there are dimensions left. */
static int point_add(struct codelet *codelet, struct slot *slot)
{
	double values[HEDDLE_HISTORY_DIMENSIONS];
	int error;

	for (unsigned d = 0; d < HEDDLE_HISTORY_DIMENSIONS; d++)
		values[d] = NAN;
	pthread_mutex_lock(&codelet->mutex);
	if (slot->stated)
		memcpy(values, slot->values, sizeof(values));
	else
		default_dimensions(codelet, slot, values);
	error = heddle_history_add(&codelet->history, values, &slot->point);
	pthread_mutex_unlock(&codelet->mutex);
	return error;
}

static bool slot_is(const struct slot *slot, const struct slot *wanted)
{
	return slot->hash == wanted->hash && slot->codelet == wanted->codelet &&
	       slot->stated == wanted->stated && slot->n == wanted->n &&
	       !memcmp(slot->values, wanted->values, slot->n * sizeof(*slot->values));
}

static struct slot *slot_look(const struct slot *wanted)
{
	struct slot *slot =
	    atomic_load_explicit(&table.buckets[wanted->hash % BUCKETS], memory_order_acquire);

	while (slot && !slot_is(slot, wanted))
		slot = atomic_load_explicit(&slot->next, memory_order_acquire);
	return slot;
}

static struct slot *slot_add(const struct slot *wanted)
{
	struct slot *_Atomic *bucket = &table.buckets[wanted->hash % BUCKETS];
	size_t n;
	struct slot *slot;

	pthread_mutex_lock(&table.mutex);
	slot = slot_look(wanted);
	n = atomic_load(&table.nslots);
	if (!slot && table.slots && n < MAX_SLOTS) {
		slot = &table.slots[n];
		slot->codelet = wanted->codelet;
		slot->hash = wanted->hash;
		slot->stated = wanted->stated;
		slot->n = wanted->n;
		slot->categorical = wanted->categorical;
		memcpy(slot->values, wanted->values, sizeof(slot->values));
		if (point_add(slot->codelet, slot)) {
			slot = NULL;
		} else {
			atomic_store(&table.nslots, n + 1);
			atomic_fetch_add(&slot->codelet->nslots, 1);
			if (!atomic_load(&slot->codelet->first))
				atomic_store(&slot->codelet->first, slot);
			atomic_store(&slot->next, atomic_load(bucket));
			atomic_store_explicit(bucket, slot, memory_order_release);
		}
	}
	pthread_mutex_unlock(&table.mutex);
	return slot;
}

static uint64_t slot_hash(const struct slot *slot)
{
	uint64_t hash = mix(slot->stated + 2 * slot->n, (uintptr_t)slot->codelet);

	for (unsigned i = 0; i < slot->n; i++) {
		uint64_t bits;

		memcpy(&bits, &slot->values[i], sizeof(bits));
		hash = mix(hash, bits);
	}
	return hash;
}

static double rounded(double value)
{
	double magnitude = fabs(value);

	if (!(magnitude > 0))
		return value;
	return copysign(exp2(round(16 * log2(magnitude)) / 16), value);
}

/* The slot of a codelet and values, made if there is none; the codelet's first
 * when there is no room, NULL when there is not even that. */
static struct slot *slot_find(struct slot *wanted)
{
	struct codelet *codelet = wanted->codelet;
	struct slot *slot;

	wanted->hash = slot_hash(wanted);
	slot = slot_look(wanted);
	if (slot)
		return slot;
	if (atomic_load(&codelet->nslots) >= MANY_SLOTS) {
		for (unsigned i = 0; i < wanted->n; i++)
			if (!(wanted->categorical >> i & 1))
				wanted->values[i] = rounded(wanted->values[i]);
		wanted->hash = slot_hash(wanted);
	}
	slot = slot_look(wanted);
	if (!slot)
		slot = slot_add(wanted);
	return slot ? slot : atomic_load(&codelet->first);
}

static bool is_slot(const void *pointer)
{
	size_t n = atomic_load_explicit(&table.nslots, memory_order_acquire);
	uintptr_t offset = (uintptr_t)pointer - (uintptr_t)table.slots;

	return pointer && offset < n * sizeof(struct slot) && offset % sizeof(struct slot) == 0;
}

/* The sizes of a task's data, the last one with all that have no place. */
static struct slot *default_slot(struct starpu_task *task)
{
	unsigned nbuffers = STARPU_TASK_GET_NBUFFERS(task);
	struct slot wanted;

	wanted.codelet = codelet_find(task->cl);
	if (!wanted.codelet)
		return NULL;
	wanted.stated = false;
	wanted.categorical = 0;
	wanted.n = nbuffers < HEDDLE_HISTORY_DIMENSIONS ? nbuffers : HEDDLE_HISTORY_DIMENSIONS;
	for (unsigned i = 0; i < nbuffers; i++) {
		double size = starpu_data_get_size(STARPU_TASK_GET_HANDLE(task, i));

		if (i < HEDDLE_HISTORY_DIMENSIONS)
			wanted.values[i] = size;
		else
			wanted.values[HEDDLE_HISTORY_DIMENSIONS - 1] += size;
	}
	return slot_find(&wanted);
}

static struct slot *task_slot(struct starpu_task *task)
{
	if (!task->cl)
		return NULL;
	if (is_slot(task->sched_data))
		return task->sched_data;
	pthread_once(&table.once, table_init);
	return default_slot(task);
}

/* ---- parameters that a task states ---- */

static int param_value(struct codelet *codelet, const struct heddle_param *param,
                       struct slot *wanted)
{
	double *values = wanted->values;
	struct heddle_history *history = &codelet->history;
	const char *name = codelet->name ? codelet->name : "codelet without a name";
	unsigned d;
	int error = heddle_history_dimension(history, param->name, param->text, &d);

	if (error == -ENOSPC)
		return heddle_refuse(-EINVAL, "%s: parameter %s is one more than %d", name,
		                     param->name, HEDDLE_PARAMS_MAX);
	if (error)
		return heddle_refuse(error, "%s: \"%s\" is no name for a %s", name, param->name,
		                     param->text ? "category" : "number");
	if (!isnan(values[d]))
		return heddle_refuse(-EINVAL, "%s: parameter %s is stated twice", name,
		                     param->name);
	if (param->text) {
		wanted->categorical |= 1u << d;
		error = heddle_history_word(history, param->text, &values[d]);
		return error ? heddle_refuse(error, "%s: %s: \"%.80s\" is no word for a category",
		                             name, param->name, param->text)
		             : 0;
	}
	if (!isfinite(param->number))
		return heddle_refuse(-EINVAL, "%s: %s is not a finite number", name, param->name);
	/* There is one zero. */
	values[d] = param->number + 0.0;
	return 0;
}

static int params_values(const struct heddle_param *params, unsigned n, struct slot *wanted)
{
	struct codelet *codelet = wanted->codelet;
	int error = 0;

	for (unsigned d = 0; d < HEDDLE_HISTORY_DIMENSIONS; d++)
		wanted->values[d] = NAN;
	pthread_mutex_lock(&codelet->mutex);
	for (unsigned i = 0; i < n && !error; i++)
		error = param_value(codelet, &params[i], wanted);
	pthread_mutex_unlock(&codelet->mutex);
	return error;
}

HEDDLE_API int heddle_task_params(struct starpu_task *task, const struct heddle_param *params,
                                  unsigned n)
{
	struct slot wanted = {.stated = true, .n = HEDDLE_HISTORY_DIMENSIONS};
	struct slot *slot;
	int error;

	if (!task->cl)
		return heddle_refuse(-EINVAL, "heddle_task_params(): the task has no codelet yet");
	if (n > HEDDLE_PARAMS_MAX)
		return heddle_refuse(-EINVAL,
		                     "heddle_task_params(): %u parameters are more than %d", n,
		                     HEDDLE_PARAMS_MAX);
	if (task->sched_data && !is_slot(task->sched_data))
		return heddle_refuse(-EBUSY,
		                     "heddle_task_params(): the task's sched_data is in use");
	pthread_once(&table.once, table_init);
	wanted.codelet = codelet_find(task->cl);
	if (!wanted.codelet)
		return heddle_refuse(-ENOMEM, "heddle_task_params(): no room for the codelet");
	error = params_values(params, n, &wanted);
	if (error)
		return error;
	slot = slot_find(&wanted);
	if (!slot)
		return heddle_refuse(-ENOMEM, "heddle_task_params(): no memory");
	task->sched_data = slot;
	return 0;
}

/* ---- what is believed ---- */

static void cell_publish(struct cell *cell, double us, enum heddle_estimate_source source)
{
	atomic_store_explicit(&cell->us, us, memory_order_relaxed);
	atomic_store_explicit(&cell->source, source, memory_order_release);
}

static enum heddle_estimate_source cell_source(struct cell *cell)
{
	return atomic_load_explicit(&cell->source, memory_order_acquire);
}

/* Fills the cells of which nothing is known from what is known of others. */
static void predict(struct slot *slot)
{
	struct codelet *codelet = slot->codelet;
	double us[HEDDLE_HISTORY_CLASSES];

	atomic_store(&slot->news, atomic_load(&codelet->news));
	for (unsigned c = 0; c < HEDDLE_HISTORY_CLASSES; c++)
		us[c] = cell_source(&slot->cells[c]) > HEDDLE_ESTIMATE_NEIGHBOURS
		            ? atomic_load(&slot->cells[c].us)
		            : 0;
	heddle_history_predict(&codelet->history, codelet->history.points[slot->point].values,
	                       HEDDLE_KNN_K, slot->point, us);
	for (unsigned c = 0; c < HEDDLE_DEVICE_CLASSES; c++)
		if (us[c] && cell_source(&slot->cells[c]) <= HEDDLE_ESTIMATE_NEIGHBOURS)
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
	if (!atomic_flag_test_and_set_explicit(&slot->busy, memory_order_acquire)) {
		predict(slot);
		atomic_flag_clear_explicit(&slot->busy, memory_order_release);
	}
	pthread_mutex_unlock(&codelet->mutex);
}

static void estimate_read(struct slot *slot, unsigned class, struct heddle_estimate *estimate)
{
	struct cell *cell = &slot->cells[class];

	estimate->source = cell_source(cell);
	estimate->us = atomic_load_explicit(&cell->us, memory_order_relaxed);
	estimate->samples = atomic_load_explicit(&cell->samples, memory_order_relaxed);
}

HEDDLE_API void heddle_estimate_all(struct starpu_task *task, unsigned n,
                                    struct heddle_estimate *estimates)
{
	struct slot *slot = task_slot(task);
	bool unknown = false;

	for (unsigned c = 0; c < n; c++) {
		estimates[c] = (struct heddle_estimate){0};
		if (slot && c < HEDDLE_DEVICE_CLASSES)
			estimate_read(slot, c, &estimates[c]);
		unknown = unknown || estimates[c].source <= HEDDLE_ESTIMATE_NEIGHBOURS;
	}
	if (!slot || !unknown)
		return;
	refresh(slot);
	for (unsigned c = 0; c < n && c < HEDDLE_DEVICE_CLASSES; c++)
		estimate_read(slot, c, &estimates[c]);
}

HEDDLE_API void heddle_estimate(struct starpu_task *task, unsigned class,
                                struct heddle_estimate *estimate)
{
	struct slot *slot = task_slot(task);

	*estimate = (struct heddle_estimate){0};
	if (!slot || class >= HEDDLE_DEVICE_CLASSES)
		return;
	estimate_read(slot, class, estimate);
	if (estimate->source > HEDDLE_ESTIMATE_NEIGHBOURS)
		return;
	refresh(slot);
	estimate_read(slot, class, estimate);
}

HEDDLE_API double heddle_estimate_speedup(struct starpu_task *task, unsigned class,
                                          unsigned reference)
{
	unsigned n = 1 + (class > reference ? class : reference);
	struct heddle_estimate estimates[HEDDLE_DEVICE_CLASSES];

	if (n > HEDDLE_DEVICE_CLASSES)
		return NAN;
	heddle_estimate_all(task, n, estimates);
	if (!estimates[class].us || !estimates[reference].us)
		return NAN;
	return estimates[reference].us / estimates[class].us;
}

/* Tells other parameters what was learned of these, unless it is hardly new. */
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

HEDDLE_API void heddle_estimate_executed(struct starpu_task *task, int worker, double us)
{
	unsigned class = heddle_device_class(worker);
	struct slot *slot = us > 0 ? task_slot(task) : NULL;
	struct cell *cell;

	/* Another worker is at it: one sample more or less does not matter. */
	if (!slot || atomic_flag_test_and_set_explicit(&slot->busy, memory_order_acquire))
		return;
	cell = &slot->cells[class];
	heddle_robust_add(&cell->measured, us);
	atomic_fetch_add_explicit(&cell->samples, 1, memory_order_relaxed);
	us = heddle_robust_us(&cell->measured);
	cell_publish(cell, us, HEDDLE_ESTIMATE_ONLINE);
	tell(slot, class, us);
	atomic_flag_clear_explicit(&slot->busy, memory_order_release);
}

HEDDLE_API const char *heddle_estimate_source_name(enum heddle_estimate_source source)
{
	static const char *const names[] = {"nothing", "neighbours", "model", "profile", "online"};

	return names[source];
}
