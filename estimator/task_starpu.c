/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Which slot a task belongs to: by the parameters that it states, or by the sizes of its data.
 */
#include "config.h"

#include <errno.h>
#include <math.h>

#include "estimator/table_starpu.h"
#include "support/message.h"

_Static_assert(HEDDLE_PARAMS_MAX <= HEDDLE_HISTORY_DIMENSIONS, "no place for all parameters");

/* What the codelet's model says of the task, as for StarPU's multiple regressions.
 * @return whether it says anything of use */
static bool model_values(struct starpu_task *task, struct estimate_slot *wanted)
{
	struct starpu_perfmodel *model = task->cl->model;
	double given[HEDDLE_PARAMS_MAX];

	if (!model || !model->parameters || !model->nparameters ||
	    !estimate_model_dimensions(wanted->codelet, model))
		return false;
	model->parameters(task, given);
	wanted->stated = true;
	wanted->n = HEDDLE_HISTORY_DIMENSIONS;
	for (unsigned d = 0; d < HEDDLE_HISTORY_DIMENSIONS; d++)
		wanted->values[d] = NAN;
	for (unsigned i = 0; i < model->nparameters; i++) {
		if (!isfinite(given[i]))
			return false;
		wanted->values[wanted->codelet->model_dimensions[i]] = given[i] + 0.0;
	}
	return true;
}

/* The sizes of a task's data, the last one with all that have no place. */
static void data_values(struct starpu_task *task, struct estimate_slot *wanted)
{
	unsigned nbuffers = STARPU_TASK_GET_NBUFFERS(task);

	wanted->stated = false;
	wanted->n = nbuffers < HEDDLE_HISTORY_DIMENSIONS ? nbuffers : HEDDLE_HISTORY_DIMENSIONS;
	for (unsigned i = 0; i < nbuffers; i++) {
		double size = starpu_data_get_size(STARPU_TASK_GET_HANDLE(task, i));

		if (i < HEDDLE_HISTORY_DIMENSIONS)
			wanted->values[i] = size;
		else
			wanted->values[HEDDLE_HISTORY_DIMENSIONS - 1] += size;
	}
}

/* Of a task that states nothing itself. */
static struct estimate_slot *default_slot(struct starpu_task *task)
{
	struct estimate_slot wanted;

	wanted.codelet = estimate_codelet_find(task->cl);
	if (!wanted.codelet)
		return NULL;
	wanted.categorical = 0;
	if (!model_values(task, &wanted))
		data_values(task, &wanted);
	return estimate_slot_find(&wanted);
}

/* Threads that ask about a task at once come to the same answer. */
struct estimate_slot *estimate_slot_of(struct starpu_task *task)
{
	void *data = __atomic_load_n(&task->sched_data, __ATOMIC_RELAXED);
	struct estimate_slot *slot;

	if (!task->cl)
		return NULL;
	if (estimate_is_slot(data))
		return data;
	slot = default_slot(task);
	if (slot && !data)
		__atomic_store_n(&task->sched_data, slot, __ATOMIC_RELAXED);
	return slot;
}

struct estimate_slot *estimate_slot_of_executed(struct starpu_task *task)
{
	if (!task->cl)
		return NULL;
	if (estimate_is_slot(task->sched_data))
		return task->sched_data;
	return STARPU_TASK_GET_NBUFFERS(task) ? NULL : default_slot(task);
}

static int param_value(struct estimate_codelet *codelet, const struct heddle_param *param,
                       struct estimate_slot *wanted)
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

static int params_values(const struct heddle_param *params, unsigned n,
                         struct estimate_slot *wanted)
{
	struct estimate_codelet *codelet = wanted->codelet;
	int error = 0;

	for (unsigned d = 0; d < HEDDLE_HISTORY_DIMENSIONS; d++)
		wanted->values[d] = NAN;
	pthread_mutex_lock(&codelet->mutex);
	for (unsigned i = 0; i < n && !error; i++)
		error = param_value(codelet, &params[i], wanted);
	pthread_mutex_unlock(&codelet->mutex);
	return error;
}

int estimate_slot_state(struct starpu_task *task, const struct heddle_param *params, unsigned n)
{
	struct estimate_slot wanted = {.stated = true, .n = HEDDLE_HISTORY_DIMENSIONS};
	struct estimate_slot *slot;
	int error;

	if (!task->cl)
		return heddle_refuse(-EINVAL, "heddle_task_params(): the task has no codelet yet");
	if (n > HEDDLE_PARAMS_MAX)
		return heddle_refuse(-EINVAL,
		                     "heddle_task_params(): %u parameters are more than %d", n,
		                     HEDDLE_PARAMS_MAX);
	if (task->sched_data && !estimate_is_slot(task->sched_data))
		return heddle_refuse(-EBUSY,
		                     "heddle_task_params(): the task's sched_data is in use");
	wanted.codelet = estimate_codelet_find(task->cl);
	if (!wanted.codelet)
		return heddle_refuse(-ENOMEM, "heddle_task_params(): no room for the codelet");
	error = params_values(params, n, &wanted);
	if (error)
		return error;
	slot = estimate_slot_find(&wanted);
	if (!slot)
		return heddle_refuse(-ENOMEM, "heddle_task_params(): no memory");
	task->sched_data = slot;
	return 0;
}
