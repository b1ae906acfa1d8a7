/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * What the files of the estimator share. A slot is what is known of a task type: the tasks of one
 * codelet with one set of parameters. Slots are found through a hash table without locks, never
 * move and never go, so that a task can carry the address of its own in sched_data. Estimates are
 * published in atomic variables. A sample changes its slot alone; what follows for other slots the
 * codelet's history computes, under its mutex, when such a slot is next asked.
 */
#ifndef HEDDLE_ESTIMATOR_TABLE_STARPU_H
#define HEDDLE_ESTIMATOR_TABLE_STARPU_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "estimator/history.h"
#include "estimator/robust.h"
#include "estimator/estimate_starpu.h"
#include "support/helgrind.h"

/** What is known of a slot on a class. */
struct estimate_cell {
	/* Under the slot's flag. */
	struct heddle_robust measured;
	bool disturbed;    /* all of them were: heddle_estimate_undisturbed() */
	double prior_us;   /* from earlier runs; 0: none */
	double history_us; /* as the history has it */
	unsigned saved;    /* samples that are in the profile */
	/* Published. */
	_Atomic double us;
	_Atomic double spread; /* how far it may be off, as a logarithm */
	atomic_uint source;
	atomic_uint samples;
	atomic_bool first; /* all of them are a worker's first of the codelet */
};

/** What this run measured on an accelerator; under the slot's flag. */
struct estimate_device {
	unsigned class, number;
	double first_us; /* of the first task of the codelet, if it was of this type; or 0 */
	unsigned samples, saved; /* of others */
	double sum_us, least_us, most_us;
};

/** What earlier runs measured on one, which differs from others of its class. */
struct estimate_known_device {
	uint64_t type; /* estimate_slot_name() */
	unsigned class, number;
	double us;
};

/** What is known of a task type. */
struct estimate_slot {
	struct estimate_slot *_Atomic next; /* in its bucket */
	struct estimate_codelet *codelet;
	uint64_t hash;
	bool stated;          /* by heddle_task_params() */
	uint32_t kind;        /* what StarPU's model tells apart beside the values; or 0 */
	unsigned categorical; /* bit i: values[i] stands for a word */
	unsigned n;           /* values */
	size_t point;         /* in the codelet's history */
	atomic_flag busy;
	atomic_bool sized;    /* the history knows its tasks' work */
	atomic_uint news;     /* of the codelet, when predictions were last made */
	atomic_uint modelled; /* bit c: StarPU's model was asked about class c */
	double values[HEDDLE_HISTORY_DIMENSIONS];
	struct estimate_cell cells[HEDDLE_DEVICE_CLASSES];
	struct estimate_device *devices; /* that have run one */
	unsigned ndevices;
};

/** Takes a slot's flag. @return whether it was free */
static inline bool estimate_slot_seize(struct estimate_slot *slot)
{
	if (atomic_flag_test_and_set_explicit(&slot->busy, memory_order_acquire))
		return false;
	HELGRIND_TAKE_OVER(&slot->busy);
	return true;
}

static inline void estimate_slot_release(struct estimate_slot *slot)
{
	HELGRIND_HAND_OVER(&slot->busy);
	atomic_flag_clear_explicit(&slot->busy, memory_order_release);
}

struct estimate_codelet {
	char *name; /* NULL: known by its address alone */
	const struct starpu_codelet *cl;
	pthread_mutex_t mutex;
	struct heddle_history history;       /* under the mutex */
	unsigned loaded;                     /* classes whose profile is in the history */
	struct estimate_known_device *known; /* likewise, and where it ends */
	atomic_size_t nknown;                /* changes under the mutex */
	atomic_uint nslots;
	atomic_uint news;                                 /* how much was learned */
	atomic_uint sampled;                              /* bit c: on class c */
	atomic_uint told;                                 /* bit c: not only the first time on it */
	atomic_ulong ran[(STARPU_NMAXWORKERS + 63) / 64]; /* bit w: on worker w */
	atomic_ulong begun_us; /* when a trial was first thought of; 0: never */
	atomic_ulong tried_us; /* so long trials may have taken */
	atomic_bool places;    /* a policy of StarPU's places its tasks by estimates */
	atomic_bool probed;    /* a loop tries cores with small tasks */
	atomic_uint surprised; /* bit c: its last sample there was set aside */
	struct estimate_slot *_Atomic first;
	/* Where the parameters go that its model states, once they are found. */
	atomic_uint model_state;
	unsigned model_dimensions[HEDDLE_PARAMS_MAX];
};

/* ---- table_starpu.c ---- */

/** Whether that is a slot: whatever may stand in sched_data. */
bool estimate_is_slot(const void *pointer);

/** The slot of a task, by the parameters it stated or by default, which it
 * carries from now on; NULL when there is none. */
struct estimate_slot *estimate_slot_of(struct starpu_task *task);

/** The same after a task was executed, when its data may be gone; NULL for a task
 * with data of which estimate_slot_of() was not asked before. */
struct estimate_slot *estimate_slot_of_executed(struct starpu_task *task);

/** heddle_estimate_name() of a slot. */
uint64_t estimate_slot_name(struct estimate_slot *slot);

/** heddle_task_params(), but for the samples. */
int estimate_slot_state(struct starpu_task *task, const struct heddle_param *params, unsigned n);

/** Has the samples of this process saved when it ends. */
void estimate_watch_exit(void);

/* ---- estimate_starpu.c ---- */

/** Adds a sample of an accelerator. The slot's flag is held. */
void estimate_device_add(struct estimate_device *device, double us);

/* ---- sources_starpu.c ---- */

/** Whether HEDDLE_ESTIMATE lets estimates come from there. */
bool estimate_source_allowed(enum heddle_estimate_source source);

/** How neighbours predict (HEDDLE_NEIGHBOURS). */
struct heddle_history_rule estimate_rule(void);

/** Puts what earlier runs measured into a codelet's history, for classes of which that is not yet
 * done. May read a file: no lock is held. */
void estimate_profile_load(struct estimate_codelet *codelet);

/** Adds the new samples of a class to the codelet's profile. The slot's flag is held. */
void estimate_profile_add(struct estimate_slot *slot, unsigned class);

/** What earlier runs measured of a slot's tasks on one accelerator, where those of its class
 * differ, us; 0: nothing. */
double estimate_profile_us(struct estimate_slot *slot, int worker);

/** Whether a model tells times: one of StarPU, where they are a source of estimates. */
bool estimate_model_counts(const struct starpu_perfmodel *model);

/** What StarPU's model says of a task on a worker, µs; 0: nothing, or not calibrated.
 * @param worker below 0: there is none */
double estimate_model_us(struct starpu_task *task, int worker);

/** Whether a model is the estimator itself. */
bool estimate_model_is_ours(const struct starpu_perfmodel *model);

/** A number that differs for tasks of a codelet that StarPU tells apart by more than numbers: by
 * the shapes of their data or a function of the model, for the footprint or for times. */
uint32_t estimate_model_kind(struct starpu_task *task);

/* ---- device_class_starpu.c ---- */

/** A worker of a class. */
int estimate_class_worker(unsigned class);

/** Whether a class is an OpenCL device that is the machine's own cores (PoCL). */
bool estimate_class_is_cores(unsigned class);

/** The class of that name, -1 when no worker is of it. */
int estimate_class_find(const char *name);

#endif
