/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Estimates of task times.
 *
 * Scheduling needs to know how much faster one processor runs a task than another. This ratio
 * depends on the task's parameters, and is easier to predict than the time itself (Teodoro et
 * al., HPDC 2010, section 4). Heddle measures tasks while programs run.
 *
 * Start with heddle_task_params(), which states what a task's time depends on. For a task
 * without such parameters, Heddle uses those of the codelet's performance model (its field
 * `parameters`), otherwise the sizes of the task's data.
 */
#ifndef HEDDLE_ESTIMATE_H
#define HEDDLE_ESTIMATE_H

#include <stdbool.h>
#include <starpu.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Largest number of parameters of a codelet, and so of a task. */
#define HEDDLE_PARAMS_MAX 8

/** A parameter of a task: a number or a word (a category). */
struct heddle_param {
	/** 1 to 31 letters, digits and _, not starting with a digit; not one of the names that
	 * profiles use: "device", "us", "samples" and "at". */
	const char *name;
	double number;    /**< the number, finite; ignored if text is not NULL */
	const char *text; /**< the word, 1 to 63 characters; NULL: the parameter is a number */
};

/** The source of an estimate. A larger value is more reliable. */
enum heddle_estimate_source {
	HEDDLE_ESTIMATE_NOTHING,    /**< no estimate */
	HEDDLE_ESTIMATE_NEIGHBOURS, /**< tasks with other parameters, or on another device class */
	HEDDLE_ESTIMATE_MODEL,      /**< StarPU's calibrated performance model of the codelet */
	HEDDLE_ESTIMATE_PROFILE, /**< earlier runs, with these parameters, on this device class */
	HEDDLE_ESTIMATE_ONLINE   /**< this run, with these parameters, on this device class */
};

/** The estimate of a task on a device class. */
struct heddle_estimate {
	double us; /**< time of its kernel without transfers, microseconds; 0: no estimate */
	enum heddle_estimate_source source; /**< where it comes from */
	/** Executions in this run with these parameters on this device class. */
	unsigned samples;
	/** All samples were first runs of the codelet on an accelerator. Their times may include
	 * the loading of the kernel, so that the next one may be much shorter. */
	bool first;
};

/** Returns the name of a source. Any thread may call it at any time.
 * @param source a value of the enumeration; the effect of others is undefined
 * @return "nothing", "neighbours", "model", "profile" or "online", a constant string */
const char *heddle_estimate_source_name(enum heddle_estimate_source source);

/** States what the time of a task depends on. It works with every policy. It uses the task's
 * field sched_data. The parameters are copied, once for all tasks with equal ones; you free
 * nothing. Any thread may call it, between starpu_task_create() and the submission of the
 * task, after task->cl is set.
 * @param task the task, not yet submitted
 * @param params n parameters; may be NULL if n is 0
 * @param n number of parameters, 0 to HEDDLE_PARAMS_MAX
 * @return 0; a negative errno value after a message:
 * - -EINVAL: the task has no codelet; n is too large; a name or word is invalid; a number is
 *   not finite; a parameter is stated twice; a name was a number before and is a word now, or
 *   the other way round; the tasks of the codelet have more than HEDDLE_PARAMS_MAX different
 *   names
 * - -EBUSY: the program uses sched_data
 * - -ENOMEM: no memory, or no room for more codelets or sets of parameters */
int heddle_task_params(struct starpu_task *task, const struct heddle_param *params, unsigned n);

/** Estimates the time of a task on a worker. The task may be submitted or not. Any thread may
 * call it between starpu_init() and starpu_shutdown(), while the task exists.
 * @param task the task, with its codelet, data and parameters
 * @param worker StarPU's id of the worker
 * @param[out] estimate the estimate; its source may be HEDDLE_ESTIMATE_NOTHING
 * @return 0; -EINVAL after a message, if the task has no codelet or StarPU has no such worker
 * (before starpu_init() it has none) */
int heddle_estimate_task(struct starpu_task *task, int worker, struct heddle_estimate *estimate);

/** Initialises a performance model of StarPU that uses Heddle's estimates. With it, dmda and
 * similar policies need no calibration runs:
 *
 *	static struct starpu_perfmodel model = HEDDLE_ESTIMATE_MODEL("filter");
 *	static struct starpu_codelet codelet = {.model = &model, …};
 *
 * Heddle measures the tasks of such a codelet under every policy, as it does tasks with
 * parameters. If the model has no estimate for a device, it compares the device with those where
 * the time is known, or by the size of the data. The model does not work if StarPU simulates with
 * SimGrid, because a model then defines the times.
 * @param name name of the codelet, a string: for its profile and StarPU's traces */
#define HEDDLE_ESTIMATE_MODEL(name)                                                                \
	{                                                                                          \
		.type = STARPU_PER_ARCH, .arch_cost_function = heddle_estimate_cost,               \
		.symbol = (name),                                                                  \
	}

/** The cost function of HEDDLE_ESTIMATE_MODEL(). StarPU calls it, in any thread.
 * @param task the task
 * @param arch StarPU's architecture, which stands for one CPU core or one accelerator
 * @param implementation ignored: all implementations for an architecture count as one
 * @return microseconds; NaN if arch stands for several devices, or StarPU's policy had better try
 * the device now */
double heddle_estimate_cost(struct starpu_task *task, struct starpu_perfmodel_arch *arch,
                            unsigned implementation);

/** Writes to the profiles what this process measured and has not written yet. Heddle does so when a
 * process exits; call it in a process that never does. With HEDDLE_PROFILE=0, or if StarPU
 * simulates with SimGrid and HEDDLE_PROFILE is not set, no times are stored. Rates of
 * loops are stored with HEDDLE_WARM=1. Any thread may call it at any time.
 * @return 0; a negative errno value after a message, if a profile cannot be written (the
 * others are):
 * - -EINVAL: a codelet's name is empty, or a profile is not a regular file
 * - -ENOENT: no folder for profiles is known
 * - -ENAMETOOLONG: the path is too long
 * - -EFBIG: the file has more than 16 MiB
 * - -ENOMEM, or the error of the system that reading or writing caused */
int heddle_estimate_save(void);

#ifdef __cplusplus
}
#endif
#endif
