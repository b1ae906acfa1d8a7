/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The table of all that is known of tasks in this process.
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
#ifndef HEDDLE_ESTIMATOR_SLOTS_H
#define HEDDLE_ESTIMATOR_SLOTS_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "estimator/history.h"
#include "estimator/robust.h"
#include "estimator/estimate_starpu.h"
#include "support/helgrind.h"

/* What a slot believes of a class. */
struct cell {
	/* Under the slot's flag. */
	struct heddle_robust measured;
	double prior_us; /* from earlier runs; 0: none */
	double told_us;  /* to the history */
	unsigned saved;  /* samples that are in the profile */
	/* Published. */
	_Atomic double us;
	atomic_uint source;
	atomic_uint samples;
	atomic_bool first; /* all of them are a worker's first of the codelet */
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
	atomic_bool sized;    /* the history knows the sizes of its tasks' data */
	atomic_uint news;     /* of the codelet, when predictions were last made */
	atomic_uint modelled; /* bit c: StarPU's model was asked about class c */
	double values[HEDDLE_HISTORY_DIMENSIONS];
	struct cell cells[HEDDLE_DEVICE_CLASSES];
};

/** Takes a slot's flag. @return whether it was free */
static inline bool slot_seize(struct slot *slot)
{
	if (atomic_flag_test_and_set_explicit(&slot->busy, memory_order_acquire))
		return false;
	HELGRIND_TAKE_OVER(&slot->busy);
	return true;
}

static inline void slot_release(struct slot *slot)
{
	HELGRIND_HAND_OVER(&slot->busy);
	atomic_flag_clear_explicit(&slot->busy, memory_order_release);
}

struct codelet {
	char *name; /* NULL: known by its address alone */
	const struct starpu_codelet *cl;
	pthread_mutex_t mutex;
	struct heddle_history history; /* under the mutex */
	unsigned loaded;               /* classes whose profile is in the history */
	atomic_uint nslots;
	atomic_uint news;                                 /* how much was learned */
	atomic_uint sampled;                              /* bit c: on class c */
	atomic_ulong ran[(STARPU_NMAXWORKERS + 63) / 64]; /* bit w: on worker w */
	atomic_uint surprised; /* bit c: its last sample there was set aside */
	struct slot *_Atomic first;
	/* Where the parameters go that its model states, once they are found. */
	atomic_uint model_state;
	unsigned model_dimensions[HEDDLE_PARAMS_MAX];
};

/** What StarPU's codelet is to us; made if there is none, NULL without memory.
 * Those of one name are one. */
struct codelet *codelet_find(const struct starpu_codelet *cl);

/** Finds the dimensions of the parameters that a codelet's model states, once.
 * @return whether they can be used */
bool codelet_model_dimensions(struct codelet *codelet, const struct starpu_perfmodel *model);

/** The slot of a codelet and values, made if there is none. The codelet's first
 * when there is no room, NULL when there is not even that.
 * @param wanted codelet, stated, categorical, n and values; spoilt */
struct slot *slot_find(struct slot *wanted);

/** The slot of a task, by the parameters it stated or by default, which it
 * carries from now on; NULL when there is none. */
struct slot *slot_of_task(struct starpu_task *task);

/** The same after a task was executed, when its data may be gone; NULL for a task
 * with data of which slot_of_task() was not asked before. */
struct slot *slot_of_executed_task(struct starpu_task *task);

/** Whether that is a slot: whatever may stand in sched_data. */
bool slot_is_one(const void *pointer);

/** All slots: calls something with each. */
void slots_each(void (*call)(struct slot *slot, void *arg), void *arg);

/** All codelets. */
void codelets_each(void (*call)(struct codelet *codelet, void *arg), void *arg);

/** Puts what earlier runs measured into a codelet's history, for classes of which
 * that is not yet done. The codelet's mutex is held. */
void profile_load(struct codelet *codelet);

/** What StarPU's model says of a task on a class, µs; 0: nothing, or not calibrated. */
double model_us(struct starpu_task *task, unsigned class);

/** Whether HEDDLE_ESTIMATE lets estimates come from there. */
bool source_allowed(enum heddle_estimate_source source);

/** Whether a model is the estimator itself. */
bool model_is_ours(const struct starpu_perfmodel *model);

/** Takes samples of the tasks of a context from now on, whatever its policy. */
void observe(unsigned ctx);

/** The same of the context that a task will go to. */
void observe_task(const struct starpu_task *task);

/** A policy took its own sample of the task that ends on a worker. */
void observe_told(int worker);

/** A worker of a class. */
int device_class_worker(unsigned class);

/** The class of that name, -1 when no worker is of it. */
int device_class_find(const char *name);

#endif
