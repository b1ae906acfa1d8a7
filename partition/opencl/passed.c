/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Commands that home has been given and that have not ended yet. Nobody waits for them before the
 * next ones are given to home. The engine's mutex is held in all functions.
 *
 * A real queue computes in order, so when one of its commands has ended, those before it have, too.
 * That tells of commands without an event. It stands for two of home's queues, of which one tells
 * times; where the commands change from one to the other, they wait.
 */
#include "config.h"

#include "partition/opencl/layer.h"

#include <stdlib.h>

/* Queues that have such commands. */
static struct queue *queues;
/* How often the next command of each queue was told to look. */
static atomic_uint hurries;

struct event *passed_first(void)
{
	return queues ? queues->passed : NULL;
}

static bool is_awaited(const struct memory *memory)
{
	return memory && (memory->awaited || memory->whole->awaited);
}

bool passed_wanted(const struct event *event)
{
	const struct launch *launch = event->launch;
	bool wanted = event->callbacks;

	if (wanted || !memories_awaited())
		return wanted;
	for (unsigned m = 0; m < 2; m++)
		wanted = wanted || is_awaited(event->memory[m]);
	for (cl_uint a = 0; launch && a < launch->kernel->narguments; a++)
		wanted = wanted || is_awaited(launch->arguments[a].memory);
	return wanted;
}

struct event *passed_watched(void)
{
	for (struct queue *queue = queues; queue; queue = queue->next)
		for (struct event *event = queue->passed; event; event = event->next)
			if (passed_wanted(event))
				return event;
	return NULL;
}

cl_event *passed_send(struct event *event)
{
	event->sent = true;
	event->timed = event->timed || event->queue->properties & CL_QUEUE_PROFILING_ENABLE;
	return event->timed || event->wanted || event->look ? &event->home : NULL;
}

struct event *passed_known(const struct queue *queue)
{
	struct event *event = queue->passed;

	while (event && !event->home)
		event = event->next;
	return event;
}

void passed_hurry(void)
{
	atomic_fetch_add_explicit(&hurries, 1, memory_order_relaxed);
}

/* Home's queue for a launch that is measured, or not; the latter's if there is no other. */
static cl_command_queue queue_for(struct queue *queue, bool sampled)
{
	cl_int error;

	if (!sampled || queue->properties & CL_QUEUE_PROFILING_ENABLE)
		return queue->plain;
	if (!queue->timed)
		queue->timed =
		    real->clCreateCommandQueue(queue->context->home, layer_devices()->ids[0],
		                               CL_QUEUE_PROFILING_ENABLE, &error);
	return queue->timed ? queue->timed : queue->plain;
}

/* The event of the last command that home has of a queue. */
static cl_int last_take(const struct queue *queue, cl_event *last)
{
	if (!queue->passed_last->home)
		return real->clEnqueueMarkerWithWaitList(queue->home, 0, NULL, last);
	*last = queue->passed_last->home;
	return real->clRetainEvent(*last);
}

/* Nothing is waited for by a command that is not quick: it begins when home has nothing to do. */
static void place_choose(struct event *event)
{
	const struct launch *launch = event->launch;
	struct queue *queue = event->queue;
	bool sampled = record_sample(launch->kernel->record, launch->brief);
	cl_command_queue to = queue_for(queue, sampled);

	if (to != queue->home && queue->passed) {
		if (last_take(queue, &event->follows)) {
			event->follows = NULL;
			return;
		}
		/* A queue that nobody flushes need not begin. */
		real->clFlush(queue->home);
	}
	event->timed = sampled && to == queue->timed;
	event->to = to;
}

cl_command_queue passed_place(struct event *event)
{
	if (!event->placed)
		place_choose(event);
	event->placed = true;
	return event->to ? event->to : event->queue->home;
}

cl_int passed_waits(struct event *event)
{
	struct queue *queue = event->queue;
	unsigned now = atomic_load_explicit(&hurries, memory_order_relaxed);
	bool needed;

	event->look = ++queue->unlooked >= PASSED_LOOK || queue->hurries != now;
	if (event->look)
		queue->unlooked = 0;
	queue->hurries = now;
	/* Most commands wait for the one before them in their queue alone, as home does anyway. */
	if (event->launch)
		passed_place(event);
	needed = event->follows;
	for (unsigned w = 0; !needed && w < event->nwaits; w++)
		needed = event->waits[w]->queue != event->queue || event->ngiven;
	if (needed) {
		event->after = malloc((event->nwaits + 1) * sizeof(*event->after));
		if (!event->after)
			return CL_OUT_OF_HOST_MEMORY;
	}
	if (event->follows)
		event->after[event->nafter++] = event->follows;
	for (unsigned w = 0; w < event->nwaits; w++) {
		const struct event *before = event->waits[w];

		if (!event_passed(before) || (before->queue == event->queue && w >= event->ngiven))
			continue;
		/* A queue that nobody flushes need not begin. */
		if (before->queue != event->queue)
			real->clFlush(before->queue->home);
		event->after[event->nafter++] = before->home;
	}
	return CL_SUCCESS;
}

void passed_add(struct event *event)
{
	struct queue *queue = event->queue;

	if (event->to && event->to != queue->home) {
		queue->home = event->to;
		queue->both = true;
	}
	event->passed = true;
	event->next = NULL;
	if (queue->passed) {
		queue->passed_last->next = event;
	} else {
		queue->passed = event;
		queue->next = queues;
		queues = queue;
	}
	queue->passed_last = event;
}

static struct event *passed_take(struct queue *queue)
{
	struct event *event = queue->passed;
	struct queue **at = &queues;

	queue->passed = event->next;
	event->next = NULL;
	if (queue->passed)
		return event;
	queue->unlooked = 0;
	while (*at != queue)
		at = &(*at)->next;
	*at = queue->next;
	return event;
}

/* Home's clock is another one. It began to count when the engine did, and its commands do not
 * overlap. */
static void times_take(struct event *event)
{
	cl_ulong times[NSTEPS], begin = event->ns[STEP_SUBMITTED];
	bool all = event->queue->properties & CL_QUEUE_PROFILING_ENABLE;

	times[STEP_QUEUED] = 0;
	for (int t = all ? STEP_QUEUED : STEP_STARTED; t < NSTEPS; t++)
		if (real->clGetEventProfilingInfo(event->home, CL_PROFILING_COMMAND_QUEUED + t,
		                                  sizeof(times[t]), &times[t], NULL))
			return;
	if (times[STEP_STARTED] < times[STEP_QUEUED] || times[STEP_ENDED] < times[STEP_STARTED])
		return;
	event->home_ns = times[STEP_ENDED] - times[STEP_STARTED];
	if (!all)
		return;
	begin += times[STEP_STARTED] - times[STEP_QUEUED];
	if (begin < event->queue->ended_ns)
		begin = event->queue->ended_ns;
	event->ns[STEP_STARTED] = begin;
	event->ns[STEP_ENDED] = event->queue->ended_ns = begin + event->home_ns;
}

cl_int passed_status(const struct event *event)
{
	cl_int status = CL_COMPLETE;

	if (event->home && real->clGetEventInfo(event->home, CL_EVENT_COMMAND_EXECUTION_STATUS,
	                                        sizeof(status), &status, NULL))
		return CL_OUT_OF_RESOURCES;
	return status < event->status ? status : event->status;
}

struct event *passed_end(struct queue *queue)
{
	struct event *event = passed_take(queue);

	event->ns[STEP_STARTED] = event->ns[STEP_SUBMITTED];
	event_reach(event, STEP_ENDED);
	if (event->home && event->timed)
		times_take(event);
	if (event->launch)
		launch_ended(event);
	return event;
}
