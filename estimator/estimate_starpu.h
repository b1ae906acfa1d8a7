/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Estimates of how long a task takes on each class of devices, for policies. Workers that run a
 * task alike form a class: the CPU cores, all accelerators of one kind and one name. Estimates are
 * kept for each task type, that is, for each set of parameters that tasks of a codelet have
 * (heddle_task_params(); by default the sizes and shapes of the task's data, and what StarPU's
 * model tells apart). The table of types is bounded and never shrinks. After starpu_init(); any
 * thread, no lock need be held or free.
 */
#ifndef HEDDLE_ESTIMATOR_ESTIMATE_STARPU_H
#define HEDDLE_ESTIMATOR_ESTIMATE_STARPU_H

#include <stdint.h>
#include <starpu.h>
#include <heddle/estimate.h>

#define HEDDLE_DEVICE_CLASSES 8

/** Class of a worker. Where there are more than HEDDLE_DEVICE_CLASSES, the last
 * ones share one. */
unsigned heddle_device_class(int worker);

/** Number of classes seen so far; at most HEDDLE_DEVICE_CLASSES. Those of all
 * workers count once heddle_device_class() was asked about them. */
unsigned heddle_device_classes(void);

/** Name of a class, as profiles have it: kind and device ("cuda NVIDIA H200"). */
const char *heddle_device_class_name(unsigned class);

/** The estimate of a task on a class. Neither allocates nor makes system
 * calls, except at the first task with new parameters; takes some tens of
 * nanoseconds, the second time for a task less: it then carries, in sched_data if
 * that is NULL, where to look. */
void heddle_estimate(struct starpu_task *task, unsigned class, struct heddle_estimate *estimate);

/** A number that is the same for all tasks of a type: one codelet, one set of
 * parameters. It holds for the life of the process.
 * @return 0 where nothing is kept about the task */
unsigned long heddle_estimate_key(struct starpu_task *task);

/** The same for a type in all processes of the same program.
 * @param key heddle_estimate_key()
 * @return 0 where nothing is kept about the task */
uint64_t heddle_estimate_name(unsigned long key);

/** heddle_estimate() for all classes at once.
 * @param wanted bit k: class k can run the task; of others nothing is found out anew
 * @param[out] estimates room for `classes` of them
 * @return heddle_estimate_key() */
unsigned long heddle_estimate_all(struct starpu_task *task, unsigned classes, unsigned wanted,
                                  struct heddle_estimate *estimates);

/** The estimates of the tasks with a key, as they are now: after heddle_estimate_all() was asked
 * about one of them. Predictions are made anew where other tasks taught something. Waits for no
 * lock: it tries one.
 * @param key heddle_estimate_key(); of 0 nothing is known */
void heddle_estimate_known(unsigned long key, unsigned classes, struct heddle_estimate *estimates);

/** How far the times of heddle_estimate_known() may be off, as logarithms; 0: not known, or what
 * this run measured does not vary. */
void heddle_estimate_spreads(unsigned long key, unsigned classes, double *spreads);

/** How many tasks of a type StarPU's policy had better have at once, where heddle_estimate_cost()
 * tells it how long they take and that is not known yet: it places tasks when they are submitted,
 * and never again.
 * @param key heddle_estimate_key()
 * @param workers of each of HEDDLE_DEVICE_CLASSES classes, that may run them
 * @param[in,out] probe whether the caller would try a core with a small task, and whether it is
 * to: then the policy does not try it with a whole one
 * @return UINT_MAX: any number */
unsigned heddle_estimate_ahead(unsigned long key, const unsigned *workers, bool *probe);

/** What a task takes on one worker, where workers of a class may differ: as earlier runs measured
 * it on its device, if they found a difference, else as StarPU's model says.
 * @return us; 0: nothing is known, or may be (HEDDLE_ESTIMATE) */
double heddle_estimate_apart(struct starpu_task *task, int worker);

/** A task took so long on a worker, µs, from the start of its kernel to the end,
 * without transfers. For hooks after execution. Of a task that has data and states
 * no parameters heddle_estimate() must have been asked before: afterwards the data
 * may be gone. */
void heddle_estimate_executed(struct starpu_task *task, int worker, double us);

/** Nothing is measured of a task, nor known of it: its time is not that of its codelet. Before it
 * is submitted. */
void heddle_estimate_never(struct starpu_task *task);

/** From now on the estimator measures how long tasks take where nothing disturbs them: of all times
 * of a task on a class the least counts. Times on cores, under policies that do not measure by
 * themselves, are those of the workers' threads: what other programs compute on the core meanwhile
 * does not count. Those of tasks that had their core for themselves come before others. For kernels
 * that use no further threads; before the first task. */
void heddle_estimate_undisturbed(void);

#endif
