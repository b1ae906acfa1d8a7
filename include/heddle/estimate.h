/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * What tasks are believed to cost.
 *
 * Scheduling needs to know how much faster one processor runs a task than
 * another. That depends on the task's parameters, and is easier to predict than
 * the time itself (Teodoro et al., HPDC 2010, section 4). Heddle learns it while
 * programs run.
 *
 * Start with heddle_task_params(), which states what the time of a task depends
 * on; for a task that states nothing it is what the codelet's model states by its
 * field `parameters`, else the sizes of its data.
 */
#ifndef HEDDLE_ESTIMATE_H
#define HEDDLE_ESTIMATE_H

#include <stdbool.h>
#include <starpu.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Parameters of one task at the most. */
#define HEDDLE_PARAMS_MAX 8

/** One parameter of a task: a number, or a word out of several (a category). */
struct heddle_param {
	const char *name; /**< letters, digits and _, not starting with a digit;
	                       31 characters at most */
	double number;    /**< finite; of a category: not used */
	const char *text; /**< the word, 63 characters at most; NULL: a number */
};

/** Where an estimate comes from, the least trustworthy first. */
enum heddle_estimate_source {
	HEDDLE_ESTIMATE_NOTHING,    /**< no time is known */
	HEDDLE_ESTIMATE_NEIGHBOURS, /**< other parameters, or another class of devices */
	HEDDLE_ESTIMATE_MODEL,      /**< StarPU's performance model, calibrated */
	HEDDLE_ESTIMATE_PROFILE,    /**< earlier runs, these parameters and devices */
	HEDDLE_ESTIMATE_ONLINE      /**< this run, these parameters and devices */
};

/** What is believed of a task on a class of devices. */
struct heddle_estimate {
	double us; /**< time of its kernel, µs; 0: not known */
	enum heddle_estimate_source source;
	unsigned samples; /**< executions in this run, these parameters and devices */
	/** All of them were the first run of the codelet on an accelerator, which may
	 * carry the loading of its kernel: the next one may take much less. */
	bool first;
};

/** Name of a source: "nothing", "neighbours", "model", "profile", "online". */
const char *heddle_estimate_source_name(enum heddle_estimate_source source);

/** States what the time of a task depends on. Between starpu_task_create() and
 * its submission, when its codelet is set; under any policy. Nothing is to be
 * freed: the parameters are copied, equal ones once for all tasks. Takes the
 * task's field sched_data.
 * @param n of params, 0 to HEDDLE_PARAMS_MAX
 * @return 0; -EINVAL for parameters that make no sense, or that name more than
 * HEDDLE_PARAMS_MAX things for one codelet; -EBUSY when sched_data is in use;
 * -ENOMEM. A message says which. */
int heddle_task_params(struct starpu_task *task, const struct heddle_param *params, unsigned n);

/** What is believed of a task on a worker. The task has its codelet, data and
 * parameters; whether it was submitted does not matter.
 * @param worker StarPU's number
 * @param[out] estimate .source says where it comes from
 * @return 0; -EINVAL without a codelet or such a worker. */
int heddle_estimate_task(struct starpu_task *task, int worker, struct heddle_estimate *estimate);

/** The estimator as a performance model of StarPU, so that dmda and its like
 * place tasks by it, without calibration runs:
 *
 *	static struct starpu_perfmodel model = HEDDLE_ESTIMATE_MODEL("filter");
 *	static struct starpu_codelet codelet = {.model = &model, …};
 *
 * Its tasks are sampled under every policy, as those that state parameters are.
 * For a device of which nothing can be said yet it says so, and StarPU's policies
 * try it. Where StarPU simulates with SimGrid a model is the truth and not an
 * estimate: there this one cannot be used.
 * @param name of the codelet: of its profile, and in StarPU's traces */
#define HEDDLE_ESTIMATE_MODEL(name)                                                                \
	{                                                                                          \
		.type = STARPU_PER_ARCH, .arch_cost_function = heddle_estimate_cost,               \
		.symbol = (name),                                                                  \
	}

/** The cost function of HEDDLE_ESTIMATE_MODEL().
 * @return µs; NaN where nothing is known */
double heddle_estimate_cost(struct starpu_task *task, struct starpu_perfmodel_arch *arch,
                            unsigned implementation);

/** Adds what this process measured to the profiles of later ones. Done by itself
 * when a process exits; for those that never do.
 * @return 0; a negative errno value after a message. */
int heddle_estimate_save(void);

#ifdef __cplusplus
}
#endif
#endif
