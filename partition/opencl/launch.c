/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * NDRanges: enqueued with the arguments of that moment, and computed by all devices or at home.
 */
#include "config.h"

#include "partition/opencl/layer.h"

#include <stdlib.h>
#include <string.h>

#include "support/message.h"

/* ---- checks ---- */

/* Says why a launch is refused, once of each kernel: many programs do not. */
static void refuse(const struct kernel *kernel, const char *who, cl_int error)
{
	static const struct {
		cl_int error;
		const char *why;
	} reasons[] = {
	    {CL_INVALID_KERNEL_ARGS, ": an argument is not set"},
	    {CL_INVALID_WORK_DIMENSION, ": it has no dimension, or too many"},
	    {CL_INVALID_GLOBAL_WORK_SIZE, ": it has no work-items"},
	    {CL_INVALID_WORK_GROUP_SIZE, ": the size of its groups"},
	    {CL_INVALID_WORK_ITEM_SIZE, ": the size of its groups"},
	    {CL_INVALID_EVENT_WAIT_LIST, ": an event that it waits for"},
	    {CL_OUT_OF_RESOURCES, ": it needs too many resources"},
	};
	const char *why = "";

	for (size_t r = 0; r < sizeof(reasons) / sizeof(*reasons); r++)
		if (reasons[r].error == error)
			why = reasons[r].why;
	if (!atomic_exchange(&kernel->record->told, true))
		heddle_warn("%s refuses a launch of kernel %s%s (OpenCL's error %d)", who,
		            kernel->record->name, why, error);
}

static cl_int arguments_check(const struct kernel *kernel)
{
	for (cl_uint a = 0; a < kernel->narguments; a++)
		if (!kernel->arguments[a].setting)
			return CL_INVALID_KERNEL_ARGS;
	return CL_SUCCESS;
}

/* Whether the program may have groups of several sizes. */
static bool uneven_allowed(const struct program *program)
{
	const char *standard = program->options ? strstr(program->options, "-cl-std=CL") : NULL;

	return standard && standard[10] >= '2' &&
	       !strstr(program->options, "-cl-uniform-work-group-size");
}

/* Home's driver has the last word where it or another device says that groups are too large: some
 * drivers compute more than they say. */
static cl_int groups_check(struct launch *launch)
{
	size_t items = 1;

	launch->even = true;
	for (unsigned d = 0; d < launch->dimensions; d++) {
		if (!launch->local[d])
			return CL_INVALID_WORK_GROUP_SIZE;
		if (launch->local[d] > launch->global[d] || launch->local[d] > layer_item_limit(d))
			launch->large = true;
		if (launch->global[d] % launch->local[d])
			launch->even = false;
		items *= launch->local[d];
	}
	if (items > launch->kernel->most)
		launch->large = true;
	return launch->even || uneven_allowed(launch->kernel->program) ? CL_SUCCESS
	                                                               : CL_INVALID_WORK_GROUP_SIZE;
}

static cl_int range_take(struct launch *launch, cl_uint dimensions, const size_t *offset,
                         const size_t *global, const size_t *local)
{
	const size_t *required = launch->kernel->required;

	if (!dimensions || dimensions > 3)
		return CL_INVALID_WORK_DIMENSION;
	launch->dimensions = dimensions;
	launch->chosen = local || required[0];
	launch->even = true;
	for (unsigned d = 0; d < 3; d++) {
		bool used = d < dimensions;

		launch->global[d] = used && global ? global[d] : !used;
		launch->offset[d] = used && offset ? offset[d] : 0;
		launch->local[d] = !used ? 1 : local ? local[d] : required[d];
		if (!launch->global[d])
			return CL_INVALID_GLOBAL_WORK_SIZE;
		if (local && required[0] && launch->local[d] != required[d])
			return CL_INVALID_WORK_GROUP_SIZE;
	}
	return launch->chosen ? groups_check(launch) : CL_SUCCESS;
}

/* ---- computing at home ---- */

static cl_int home_arguments(const struct launch *launch)
{
	cl_int error = CL_SUCCESS;

	for (cl_uint a = 0; a < launch->kernel->narguments && !error; a++) {
		const struct argument *argument = &launch->arguments[a];
		struct memory *memory = argument->memory;

		if (memory && memory->whole->at_host) {
			cl_ulong begin = clock_ns();

			error = memory_to_home(memory);
			record_loss(launch->kernel->record, clock_ns() - begin);
		}
		/* Most launches have most of the arguments of the one before. */
		if (error || argument->setting == launch->kernel->launched[a])
			continue;
		error = real->clSetKernelArg(launch->kernel->launch, a, argument->bytes,
		                             memory ? &memory->home : argument->value);
		launch->kernel->launched[a] = error ? 0 : argument->setting;
	}
	return error;
}

static cl_int home_run(struct event *event)
{
	struct launch *launch = event->launch;
	cl_int error = home_arguments(launch);

	if (!error)
		error = real->clEnqueueNDRangeKernel(
		    passed_place(event), launch->kernel->launch, launch->dimensions, launch->offset,
		    launch->global, launch->chosen ? launch->local : NULL, HOME_EVENTS(event));
	if (error)
		refuse(launch->kernel, "the device", error);
	return error;
}

/* ---- launches ---- */

void launch_drop(struct launch *launch)
{
	arguments_drop(launch->arguments, launch->kernel->narguments);
	kernel_release(launch->kernel);
}

size_t launch_items(const struct launch *launch)
{
	return launch->global[0] * launch->global[1] * launch->global[2];
}

/* Home computes it if there is no reason to split it, and if it has all data. */
static bool launch_quick(struct event *event)
{
	struct launch *launch = event->launch;

	launch->brief = record_short(launch->kernel->record, launch_items(launch));
	launch->reason = split_refuse(launch);
	for (cl_uint a = 0; launch->reason && a < launch->kernel->narguments; a++)
		if (launch->arguments[a].memory && launch->arguments[a].memory->whole->at_host)
			return false;
	return launch->reason;
}

static cl_int launch_run(struct event *event)
{
	struct launch *launch = event->launch;
	cl_int error = CL_SUCCESS;

	if (!launch->reason) {
		cl_ulong begin = clock_ns();

		error = split_launch(launch, &launch->reason);
		if (!launch->reason) {
			record_split(launch->kernel->record, launch_items(launch),
			             clock_ns() - begin, launch->crossing_ns);
			return error;
		}
	}
	split_rest();
	return home_run(event);
}

void launch_ended(const struct event *event)
{
	const struct launch *launch = event->launch;

	record_whole(launch->kernel->record, launch->reason, launch_items(launch), event->home_ns);
}

/* An event with a launch that has the kernel's arguments as they are. */
static cl_int launch_make(struct queue *queue, cl_command_type type, cl_kernel id,
                          struct event **made)
{
	struct kernel *kernel = layer_object(id, KERNEL);
	struct launch *launch;
	cl_int error;

	if (!kernel)
		return CL_INVALID_KERNEL;
	if (kernel->program->context != queue->context)
		return CL_INVALID_CONTEXT;
	error = arguments_check(kernel);
	if (error) {
		refuse(kernel, "Heddle", error);
		return error;
	}
	*made =
	    event_make(queue->context, queue, type,
	               sizeof(*launch) + arguments_bytes(kernel->arguments, kernel->narguments));
	if (!*made)
		return CL_OUT_OF_HOST_MEMORY;
	launch = (*made)->launch = (struct launch *)(*made)->room;
	object_retain(kernel);
	launch->kernel = kernel;
	arguments_copy(kernel->arguments, kernel->narguments, launch->arguments);
	return CL_SUCCESS;
}

static cl_int launch_enqueue(struct queue *queue, cl_command_type type, cl_kernel kernel,
                             cl_uint dimensions, const size_t *offset, const size_t *global,
                             const size_t *local, cl_uint nwaits, const cl_event *waits,
                             cl_event *given)
{
	struct event *event;
	cl_int error = launch_make(queue, type, kernel, &event);

	if (error)
		return error;
	prepare_watch();
	error = range_take(event->launch, dimensions, offset, global, local);
	if (!error)
		error = waits_check(queue->context, nwaits, waits);
	if (error) {
		refuse(event->launch->kernel, "Heddle", error);
		event_release(event);
		return error;
	}
	event->run = launch_run;
	event->quick = launch_quick;
	event->tells = true;
	event->urgent = event->launch->large;
	return event_enqueue(event, nwaits, waits, false, given);
}

static cl_int CL_API_CALL enqueue_range(cl_command_queue id, cl_kernel kernel, cl_uint dimensions,
                                        const size_t *offset, const size_t *global,
                                        const size_t *local, cl_uint nwaits, const cl_event *waits,
                                        cl_event *event)
{
	struct queue *queue = layer_object(id, QUEUE);

	if (!queue)
		return real->clEnqueueNDRangeKernel(id, kernel, dimensions, offset, global, local,
		                                    nwaits, waits, event);
	return launch_enqueue(queue, CL_COMMAND_NDRANGE_KERNEL, kernel, dimensions, offset, global,
	                      local, nwaits, waits, event);
}

static cl_int CL_API_CALL enqueue_task(cl_command_queue id, cl_kernel kernel, cl_uint nwaits,
                                       const cl_event *waits, cl_event *event)
{
	struct queue *queue = layer_object(id, QUEUE);
	const size_t one = 1;

	if (!queue)
		return real->clEnqueueTask(id, kernel, nwaits, waits, event);
	return launch_enqueue(queue, CL_COMMAND_TASK, kernel, 1, NULL, &one, &one, nwaits, waits,
	                      event);
}

void launch_functions(cl_icd_dispatch *table)
{
	table->clEnqueueNDRangeKernel = enqueue_range;
	table->clEnqueueTask = enqueue_task;
}
