/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A buffer at a filter: its handles, its task or its function, and what may begin when it has
 * ended. Whoever ends an event begins the next ones, so that no thread is woken for that.
 */
#include "config.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "flow_private.h"
#include "estimator/estimate_starpu.h"
#include "partition/common/task_starpu.h"
#include "support/message.h"

/* Who serves other ranks, too, must not be away for long. */
#define GO_MOST 64

/* ---- events ---- */

/* The mutex is held. */
static struct flow_event *event_get(struct heddle_flow *flow)
{
	struct flow_event *event = flow->spare;

	if (!event)
		return malloc(sizeof(*event));
	flow->spare = event->next;
	return event;
}

static struct heddle_flow *flow_of(const struct flow_event *event)
{
	return event->port->filter->flow;
}

/* The mutex is held. */
static void note_error(struct heddle_flow *flow, int status)
{
	if (status && !flow->status)
		flow->status = status;
}

bool flow_is_over(const struct heddle_flow *flow)
{
	if (flow->inside || flow->starting)
		return false;
	if (flow->status)
		return !queues_under_way(flow->queues);
	return queues_state(flow->queues) != QUEUES_GO_ON;
}

/* Wakes who has something to do now. The mutex is held. */
static void flow_wake(struct heddle_flow *flow)
{
	for (unsigned f = 0; f < flow->nfilters; f++) {
		struct flow_filter *filter = &flow->filters[f];

		if (filter->group && queues_may(flow->queues, filter->group, true))
			starpu_pthread_cond_signal(&filter->work);
	}
	if (flow_is_over(flow))
		starpu_pthread_cond_signal(&flow->end);
}

/* The next event of a group. The mutex is held. */
static struct flow_event *event_take(struct heddle_flow *flow, unsigned group, bool start)
{
	struct queues_event taken;
	struct flow_event *event;

	if (flow->status || !queues_take(flow->queues, group, start, &taken))
		return NULL;
	if (queues_under_way(flow->queues) > flow->most_under_way)
		flow->most_under_way = queues_under_way(flow->queues);
	event = event_get(flow);
	if (!event) {
		note_error(flow, heddle_refuse(-ENOMEM, "no memory for a buffer's task"));
		queues_end(flow->queues, &taken, false, 0, -1);
		return NULL;
	}
	event->taken = taken;
	event->port = &flow->ports[taken.port];
	event->event = (struct heddle_event){.label = taken.label,
	                                     .stream = event->port->in->given,
	                                     .arg = flow->arg,
	                                     .worker = taken.worker,
	                                     .flow = flow};
	event->nin = event->nhandles = 0;
	event->lent = event->come = false;
	return event;
}

static void event_begin(struct flow_event *event);

/* Begins what group 0 can, also what that brings about. The mutex is held, but not meanwhile.
 * @return how many */
static unsigned begin(struct heddle_flow *flow, bool start, unsigned most)
{
	struct flow_event *event;
	unsigned n = 0;

	flow->inside++;
	while (n < most && (event = event_take(flow, 0, start || !flow->starting))) {
		n++;
		starpu_pthread_mutex_unlock(&flow->mutex);
		event_begin(event);
		starpu_pthread_mutex_lock(&flow->mutex);
	}
	flow->inside--;
	return n;
}

bool flow_go(struct heddle_flow *flow)
{
	bool more;

	starpu_pthread_mutex_lock(&flow->mutex);
	more = begin(flow, true, GO_MOST) == GO_MOST;
	flow->starting = false;
	flow_wake(flow);
	starpu_pthread_mutex_unlock(&flow->mutex);
	return more;
}

void flow_stop(struct heddle_flow *flow, int status)
{
	starpu_pthread_mutex_lock(&flow->mutex);
	note_error(flow, status);
	flow->starting = false;
	starpu_pthread_mutex_unlock(&flow->mutex);
}

void flow_start(struct heddle_flow *flow)
{
	starpu_pthread_mutex_lock(&flow->mutex);
	begin(flow, true, UINT_MAX);
	flow->starting = false;
	flow_wake(flow);
	starpu_pthread_mutex_unlock(&flow->mutex);
}

static void event_explain(const struct flow_event *event)
{
	char text[64];

	if (event->event.status)
		heddle_refuse(event->event.status, "filter %s, label %" PRIu64 ": %s",
		              event->port->filter->name, event->taken.label,
		              strerror_r(-event->event.status, text, sizeof(text)));
}

/* The event is over, and what it borrowed has gone back. Who ends it while begin() begins it leaves
 * to that what may begin now: events without tasks would otherwise call each other in a circle. */
static void event_over(struct flow_event *event, bool begun, bool sent, int worker)
{
	struct heddle_flow *flow = flow_of(event);
	int status = event->event.status;

	starpu_pthread_mutex_lock(&flow->mutex);
	note_error(flow, status);
	flow->calls += event->port->filter->given.function != NULL;
	status =
	    queues_end(flow->queues, &event->taken, sent && !status, event->event.label, worker);
	if (status)
		note_error(flow, heddle_refuse(status, "no memory for buffers that wait"));
	event->next = flow->spare;
	flow->spare = event;
	if (begun)
		begin(flow, false, UINT_MAX);
	if (flow->net)
		flow->net->changed(flow->net->arg);
	flow_wake(flow);
	starpu_pthread_mutex_unlock(&flow->mutex);
}

static void event_end(struct flow_event *event, bool begun, bool sent, int worker)
{
	struct heddle_flow *flow = flow_of(event);

	event_explain(event);
	if (!event->lent) {
		event_over(event, begun, sent, worker);
		return;
	}
	event->sent = sent;
	event->worker = worker;
	starpu_pthread_mutex_lock(&flow->mutex);
	flow->net->give_back(flow->net->arg, event);
	starpu_pthread_mutex_unlock(&flow->mutex);
}

void flow_event_over(struct flow_event *event)
{
	event_over(event, true, event->sent, event->worker);
}

/* It cannot begin. */
static void event_fail(struct flow_event *event, int status)
{
	event->event.status = status;
	event_end(event, false, false, -1);
}

/* ---- handles ---- */

static int handles_refuse(const struct flow_event *event, const struct flow_stream *stream,
                          const char *what)
{
	return heddle_refuse(-EINVAL, "stream %s, label %" PRIu64 ": its data has %s",
	                     flow_stream_name(stream), event->taken.label, what);
}

/* @param[out] home the rank where the data of a buffer lies; -1: it is here
 * @return 0; -EINVAL after a message */
static int home_find(const struct flow_event *event, const struct flow_stream *stream, int *home)
{
	const struct flow_net *net = flow_of(event)->net;
	int rank;

	*home = -1;
	if (!net || !stream || !stream->given->data)
		return 0;
	rank = stream->given->home(event->taken.label, event->event.arg);
	if (rank < HEDDLE_STREAM_EVERYWHERE || rank >= net->nranks)
		return heddle_refuse(
		    -EINVAL, "stream %s, label %" PRIu64 ": its data lies on rank %d, of %d ranks",
		    flow_stream_name(stream), event->taken.label, rank, net->nranks);
	*home = rank == net->rank ? -1 : rank;
	return 0;
}

static int homes_find(struct flow_event *event)
{
	int status = home_find(event, event->port->in, &event->loans[0].home);

	return status ? status : home_find(event, event->port->out, &event->loans[1].home);
}

static bool has_loans(const struct flow_event *event)
{
	return event->loans[0].home >= 0 || event->loans[1].home >= 0;
}

/* Adds those of one buffer. @return 0; a negative errno value */
static int handles_add(struct flow_event *event, const struct flow_stream *stream, uint32_t buffer,
                       const struct flow_loan *loan)
{
	starpu_data_handle_t *to = &event->handles[event->nhandles];
	int n = stream->nparts;

	if (stream->nparts)
		memcpy(to, &stream->handles[buffer * (size_t)n], n * sizeof(*to));
	else if (loan->home >= 0)
		memcpy(to, loan->handles, (n = loan->n) * sizeof(*to));
	else if (stream->given->data)
		n = stream->given->data(event->taken.label, to, event->event.arg);
	if (n > HEDDLE_STREAM_PARTS)
		return handles_refuse(event, stream, "too many handles");
	for (int h = 0; h < n; h++, event->nhandles++) {
		if (!to[h])
			return handles_refuse(event, stream, "no handle");
		for (unsigned o = 0; o < event->nhandles; o++)
			if (event->handles[o] == to[h])
				return handles_refuse(event, stream, "a handle twice");
	}
	return n < 0 ? n : 0;
}

static int handles_find(struct flow_event *event)
{
	const struct flow_port *port = event->port;
	int status = handles_add(event, port->in, event->taken.in, &event->loans[0]);

	event->nin = event->nhandles;
	return status || !port->out
	           ? status
	           : handles_add(event, port->out, event->taken.out, &event->loans[1]);
}

/* ---- codelets ---- */

static void task_measured(struct flow_worker *worker, const struct starpu_task *task)
{
	const struct starpu_profiling_task_info *info = task->profiling_info;
	double begin, end;

	worker->tasks++;
	if (!info)
		return;
	begin = starpu_timing_timespec_to_us((struct timespec *)&info->start_time);
	end = starpu_timing_timespec_to_us((struct timespec *)&info->end_time);
	/* On a device a task may be launched while the one before it runs. */
	worker->busy_us += fmax(0, end - fmax(begin, worker->finish_us));
	worker->finish_us = fmax(worker->finish_us, end);
}

static void task_ended(void *arg)
{
	struct flow_event *event = arg;
	int worker = starpu_worker_get_id();

	if (worker >= 0)
		task_measured(&flow_of(event)->workers[worker], event->task);
	event_end(event, true, true, worker);
}

static struct starpu_task *task_make(struct flow_event *event)
{
	const struct flow_filter *filter = event->port->filter;
	struct starpu_task *task = starpu_task_create();
	unsigned n = event->nin;

	task->cl = filter->given.codelet;
	task->cl_arg = &event->event;
	task->cl_arg_size = sizeof(event->event);
	memcpy(task->handles, event->handles, n * sizeof(*task->handles));
	for (unsigned c = 0; c < filter->nconstants; c++)
		task->handles[n++] = filter->given.constants[c];
	memcpy(&task->handles[n], &event->handles[event->nin],
	       (event->nhandles - event->nin) * sizeof(*task->handles));
	task->callback_func = task_ended;
	task->callback_arg = event;
	task->name = filter->name;
	if (filter->given.task)
		filter->given.task(task, &event->event);
	return task;
}

unsigned long flow_task_key(struct heddle_flow *flow, unsigned stream, uint64_t label,
                            uint32_t buffer)
{
	const struct flow_port *port = flow->ports;
	struct flow_event event;
	unsigned long key = 0;

	while (port < flow->ports + flow->nports &&
	       (port->in != &flow->streams[stream] || !port->filter->given.codelet))
		port++;
	if (port == flow->ports + flow->nports)
		return 0;
	event = (struct flow_event){.port = port, .taken = {.label = label, .in = buffer}};
	event.event = (struct heddle_event){.label = label,
	                                    .stream = port->in->given,
	                                    .arg = flow->arg,
	                                    .worker = -1,
	                                    .flow = flow};
	/* All buffers of a stream are of one size: that of the result may be any. */
	if (!homes_find(&event) && !has_loans(&event) && !handles_find(&event)) {
		struct starpu_task *task = task_make(&event);

		key = heddle_estimate_key(task);
		task->destroy = 0; /* nobody submits it */
		starpu_task_destroy(task);
	}
	return key;
}

static void task_begin(struct flow_event *event)
{
	int status = flow_port_check(event->port, event->nin, event->nhandles - event->nin);

	if (status) {
		event_fail(event, status);
		return;
	}
	event->task = task_make(event);
	status = work_task_submit(event->task, event->task->name);
	if (status)
		event_fail(event, status);
}

/* ---- functions ---- */

static enum starpu_data_access_mode handle_mode(const struct flow_event *event, unsigned handle)
{
	return handle < event->nin ? STARPU_R : STARPU_W;
}

/* The handles that are held are released, whatever the function says. */
static void function_run(struct flow_event *event, bool begun)
{
	struct heddle_event *seen = &event->event;
	unsigned held = atomic_load(&event->held);
	int result = seen->status;

	for (unsigned h = 0; h < event->nhandles && !result; h++) {
		void *pointer = starpu_data_handle_to_pointer(event->handles[h], STARPU_MAIN_RAM);

		if (h < event->nin)
			seen->in[h] = pointer;
		else
			seen->out[h - event->nin] = pointer;
	}
	if (!result)
		result = event->port->filter->given.function(seen);
	for (unsigned h = 0; h < event->nhandles; h++)
		if (held >> h & 1)
			starpu_data_release_on_node(event->handles[h], STARPU_MAIN_RAM);
	if (result < 0 && !seen->status)
		seen->status = result;
	event_end(event, begun, result != HEDDLE_EVENT_DROP, -1);
}

static void handle_acquired(void *arg)
{
	struct flow_event *event = arg;

	if (atomic_fetch_sub(&event->pending, 1) == 1)
		function_run(event, true);
}

/* Asks for all handles in main memory and does not wait for them. The last one to arrive runs the
 * function. */
static void function_begin(struct flow_event *event)
{
	unsigned n = event->nhandles;

	atomic_store(&event->pending, n + 1);
	atomic_store(&event->held, (1u << n) - 1);
	for (unsigned h = 0; h < n; h++) {
		int status =
		    starpu_data_acquire_on_node_cb(event->handles[h], STARPU_MAIN_RAM,
		                                   handle_mode(event, h), handle_acquired, event);

		if (status) {
			event->event.status = status;
			atomic_fetch_and(&event->held, ~(1u << h));
			atomic_fetch_sub(&event->pending, 1);
		}
	}
	if (atomic_fetch_sub(&event->pending, 1) == 1)
		function_run(event, false);
}

/* ---- data of other ranks ---- */

unsigned flow_event_writes(const struct flow_event *event, unsigned side)
{
	const struct starpu_codelet *codelet = event->port->filter->given.codelet;
	unsigned writes = 0;

	if (side)
		return (1u << HEDDLE_STREAM_PARTS) - 1;
	/* Of `in` alone a codelet may have STARPU_RW. */
	for (int b = 0; codelet && b < codelet->nbuffers && b < HEDDLE_STREAM_PARTS; b++)
		writes |= (unsigned)(codelet->modes[b] == STARPU_RW) << b;
	return writes;
}

/* The mutex is held. */
static void loans_ask(struct flow_event *event)
{
	const struct flow_net *net = flow_of(event)->net;

	event->lent = true;
	net->borrow(net->arg, event);
}

/* On a thread that may wait. */
static int loans_wait(struct flow_event *event)
{
	struct heddle_flow *flow = flow_of(event);

	starpu_pthread_mutex_lock(&flow->mutex);
	loans_ask(event);
	while (!event->come)
		starpu_pthread_cond_wait(&flow->come, &flow->mutex);
	starpu_pthread_mutex_unlock(&flow->mutex);
	return event->event.status;
}

/* The same on a thread that may wait. */
static void function_wait_and_run(struct flow_event *event)
{
	int status = homes_find(event);

	if (!status && has_loans(event))
		status = loans_wait(event);
	if (!status)
		status = handles_find(event);
	atomic_store(&event->held, 0);
	for (unsigned h = 0; h < event->nhandles && !status; h++) {
		status = starpu_data_acquire_on_node(event->handles[h], STARPU_MAIN_RAM,
		                                     handle_mode(event, h));
		if (!status)
			atomic_fetch_or(&event->held, 1u << h);
	}
	event->event.status = status;
	function_run(event, true);
}

void *flow_thread(void *arg)
{
	struct flow_filter *filter = arg;
	struct heddle_flow *flow = filter->flow;
	struct flow_event *event;

	starpu_pthread_mutex_lock(&flow->mutex);
	while (!flow->over) {
		event = event_take(flow, filter->group, true);
		if (!event) {
			starpu_pthread_cond_wait(&filter->work, &flow->mutex);
			continue;
		}
		/* There may be something for another thread. */
		flow_wake(flow);
		starpu_pthread_mutex_unlock(&flow->mutex);
		function_wait_and_run(event);
		starpu_pthread_mutex_lock(&flow->mutex);
	}
	starpu_pthread_mutex_unlock(&flow->mutex);
	return NULL;
}

/* The data is here. */
static void event_go(struct flow_event *event)
{
	int status = handles_find(event);

	if (status)
		event_fail(event, status);
	else if (event->port->filter->given.codelet)
		task_begin(event);
	else
		function_begin(event);
}

static void event_begin(struct flow_event *event)
{
	struct heddle_flow *flow = flow_of(event);
	int status = homes_find(event);

	if (status) {
		event_fail(event, status);
	} else if (!has_loans(event)) {
		event_go(event);
	} else {
		starpu_pthread_mutex_lock(&flow->mutex);
		loans_ask(event);
		starpu_pthread_mutex_unlock(&flow->mutex);
	}
}

void flow_event_go(struct flow_event *event)
{
	struct heddle_flow *flow = flow_of(event);
	int status = event->event.status;

	if (event->port->filter->group) {
		starpu_pthread_mutex_lock(&flow->mutex);
		event->come = true;
		starpu_pthread_cond_broadcast(&flow->come);
		starpu_pthread_mutex_unlock(&flow->mutex);
	} else if (status) {
		event_fail(event, status);
	} else {
		event_go(event);
	}
}

/* ---- what functions call ---- */

static int send_refused(const struct flow_event *event, const struct heddle_stream *stream,
                        const char *why)
{
	return heddle_refuse(-EINVAL, "filter %s, label %" PRIu64 ": a label for stream %s, %s",
	                     event->port->filter->name, event->taken.label,
	                     stream && stream->name ? stream->name : "without a name", why);
}

int heddle_event_send(struct heddle_event *seen, const struct heddle_stream *stream, uint64_t label)
{
	struct flow_event *event = (struct flow_event *)seen;
	struct heddle_flow *flow = seen->flow;
	const struct flow_stream *to = flow->streams;
	int status;

	while (to < flow->streams + flow->nstreams && to->given != stream)
		to++;
	if (to == flow->streams + flow->nstreams)
		status = send_refused(event, stream, "which is not one of the flow's");
	else if (to->nparts)
		status = send_refused(event, stream, "which wants data");
	else if (!to->read)
		status = send_refused(event, stream, "which nobody reads");
	else {
		starpu_pthread_mutex_lock(&flow->mutex);
		status = queues_send(flow->queues, to - flow->streams, label);
		starpu_pthread_mutex_unlock(&flow->mutex);
		if (status)
			heddle_refuse(status, "no memory for labels that wait");
	}
	if (status)
		seen->status = status;
	return status;
}
