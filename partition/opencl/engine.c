/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Commands and events. Commands of all queues wait in one list. Whichever thread has time runs the
 * first one that may run: a thread that waits for an event, one that enqueues a command which home
 * does without further ado, or the engine's own. One command runs at a time, so what commands touch
 * needs no lock. What home does has run when home has got it. Other commands begin when home has
 * nothing to do. A third thread calls the program's functions, lest they hold up commands, or are
 * called by a thread that the program has let wait with locks of its own.
 */
#include "config.h"

#include "partition/opencl/layer.h"

#include <signal.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

/* A function that the program wants called. */
struct callback {
	struct callback *next;
	struct event *event; /* with a reference, once it is due */
	cl_int state, status;
	void(CL_CALLBACK *function)(cl_event, cl_int, void *);
	void *data;
};

static struct {
	pthread_mutex_t mutex;
	pthread_cond_t changed; /* a command was enqueued or has ended */
	pthread_cond_t work;    /* the engine's own thread has something to do */
	pthread_cond_t called;  /* a function is to be called */
	unsigned waiting;       /* threads that wait for a change */
	struct event *first, **end;
	struct event *ended; /* by `next`: to be released by who unlocks */
	bool busy, stopped;
	pid_t worker, caller; /* whose process has the thread; 0: nobody's */
	struct callback *due, **due_end;
} engine = {.mutex = PTHREAD_MUTEX_INITIALIZER,
            .changed = PTHREAD_COND_INITIALIZER,
            .work = PTHREAD_COND_INITIALIZER,
            .called = PTHREAD_COND_INITIALIZER,
            .end = &engine.first,
            .due_end = &engine.due};

cl_ulong clock_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000000000ULL + now.tv_nsec;
}

/* ---- memory of events ---- */

/* A program that waits for many launches at once has many events freed at once. malloc() hands few
 * of such pieces out again without much ado. Sanitizers are to see each one freed. */
#ifdef __SANITIZE_ADDRESS__
enum { FREE = 0 };
#else
enum { FREE = 2 * PASSED_LOOK };
#endif
enum { PIECE_BYTES = 128, PIECES = 16 };

struct piece {
	struct piece *next;
};
static struct piece *pieces[PIECES + 1]; /* by size */
static unsigned nfree;
static pthread_mutex_t pieces_mutex = PTHREAD_MUTEX_INITIALIZER;

/* @return zeros */
static struct event *event_allocate(size_t bytes)
{
	unsigned size = (bytes + PIECE_BYTES - 1) / PIECE_BYTES;
	struct piece *piece = NULL;
	struct event *event;

	if (size > PIECES)
		return object_make(EVENT, bytes);
	pthread_mutex_lock(&pieces_mutex);
	piece = pieces[size];
	if (piece) {
		pieces[size] = piece->next;
		nfree--;
	}
	pthread_mutex_unlock(&pieces_mutex);
	event = piece ? (void *)piece : malloc(size * PIECE_BYTES);
	if (!event)
		return NULL;
	object_begin(event, EVENT, bytes);
	event->pieces = size;
	return event;
}

static void event_free(struct event *event)
{
	unsigned size = event->pieces;
	struct piece *piece = (struct piece *)event;

	pthread_mutex_lock(&pieces_mutex);
	if (size && nfree < FREE) {
		piece->next = pieces[size];
		pieces[size] = piece;
		nfree++;
		piece = NULL;
	}
	pthread_mutex_unlock(&pieces_mutex);
	free(piece);
}

/* ---- threads ---- */

/* Starts a thread that gets no signals. The mutex is held. */
static void thread_start(pid_t *process, void *(*function)(void *))
{
	sigset_t all, before;
	pthread_t thread;

	if (*process == getpid())
		return;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	if (!pthread_create(&thread, NULL, function, NULL)) {
		pthread_detach(thread);
		*process = getpid();
	}
	pthread_sigmask(SIG_SETMASK, &before, NULL);
}

static void *engine_serve(void *unused);

/* Wakes those who wait for a change, and the engine's own thread if commands are left: in most
 * programs home has them all. The mutex is held. */
static void engine_tell(void)
{
	if (engine.waiting)
		pthread_cond_broadcast(&engine.changed);
	if (engine.first)
		pthread_cond_signal(&engine.work);
}

/* Has the engine's own thread wait for commands whose ends the program wants to be told. The mutex
 * is held. */
static void engine_wake(void)
{
	thread_start(&engine.worker, engine_serve);
	pthread_cond_signal(&engine.work);
}

/* ---- the program's functions ---- */

static void *callbacks_serve(void *unused)
{
	pthread_mutex_lock(&engine.mutex);
	for (;;) {
		struct callback *callback = engine.due;

		if (!callback) {
			pthread_cond_wait(&engine.called, &engine.mutex);
			continue;
		}
		engine.due = callback->next;
		if (!engine.due)
			engine.due_end = &engine.due;
		pthread_mutex_unlock(&engine.mutex);
		callback->function((cl_event)callback->event, callback->status, callback->data);
		event_release(callback->event);
		free(callback);
		pthread_mutex_lock(&engine.mutex);
	}
	return NULL;
}

/* Has the functions called that wait for a state that an event has reached. The mutex is held. */
static void callbacks_send(struct event *event)
{
	struct callback **at = &event->callbacks, *callback;

	while ((callback = *at)) {
		if (callback->state < event->status) {
			at = &callback->next;
			continue;
		}
		*at = callback->next;
		callback->next = NULL;
		callback->status = event->status < 0 ? event->status : callback->state;
		object_retain(event);
		*engine.due_end = callback;
		engine.due_end = &callback->next;
		thread_start(&engine.caller, callbacks_serve);
		pthread_cond_signal(&engine.called);
	}
}

cl_int event_call(struct event *event, cl_int state,
                  void(CL_CALLBACK *function)(cl_event, cl_int, void *), void *data)
{
	struct callback *callback = calloc(1, sizeof(*callback)), **end;

	if (!callback)
		return CL_OUT_OF_HOST_MEMORY;
	callback->event = event;
	callback->state = state;
	callback->function = function;
	callback->data = data;
	pthread_mutex_lock(&engine.mutex);
	for (end = &event->callbacks; *end; end = &(*end)->next)
		;
	*end = callback;
	callbacks_send(event);
	if (event_passed(event))
		engine_wake();
	pthread_mutex_unlock(&engine.mutex);
	return CL_SUCCESS;
}

void engine_watch(void)
{
	pthread_mutex_lock(&engine.mutex);
	engine_wake();
	pthread_mutex_unlock(&engine.mutex);
}

/* ---- events ---- */

struct event *event_make(struct context *context, struct queue *queue, cl_command_type type,
                         size_t room)
{
	struct event *event =
	    event_allocate(room ? offsetof(struct event, room) + room : sizeof(*event));

	if (!event)
		return NULL;
	object_retain(context);
	if (queue)
		object_retain(queue);
	event->context = context;
	event->queue = queue;
	event->type = type;
	event->status = queue ? CL_QUEUED : CL_SUBMITTED;
	return event;
}

void event_reach(struct event *event, unsigned step)
{
	if (event->queue->properties & CL_QUEUE_PROFILING_ENABLE)
		event->ns[step] = clock_ns();
}

/* Forgets what an event waited for. */
static void waits_drop(struct event *event)
{
	for (unsigned w = 0; w < event->nwaits; w++)
		event_release(event->waits[w]);
	if (event->waits != &event->wait)
		free(event->waits);
	event->waits = NULL;
	event->nwaits = 0;
}

/* Releases what a command worked on. */
static void command_drop(struct event *event)
{
	for (unsigned m = 0; m < 2; m++)
		if (event->memory[m])
			memory_release(event->memory[m]);
	event->memory[0] = event->memory[1] = NULL;
	if (event->launch)
		launch_drop(event->launch);
	event->launch = NULL;
	free(event->own);
	event->own = NULL;
	if (event->follows)
		real->clReleaseEvent(event->follows);
	event->follows = NULL;
	waits_drop(event);
}

void event_release(struct event *event)
{
	if (!object_release(event))
		return;
	while (event->callbacks) {
		struct callback *callback = event->callbacks;

		event->callbacks = callback->next;
		free(callback);
	}
	command_drop(event);
	if (event->home)
		real->clReleaseEvent(event->home);
	free(event->after);
	if (event->queue)
		queue_release(event->queue);
	context_release(event->context);
	event_free(event);
}

cl_int waits_check(const struct context *context, cl_uint n, const cl_event *list)
{
	if (!n != !list)
		return CL_INVALID_EVENT_WAIT_LIST;
	for (cl_uint e = 0; e < n; e++) {
		struct event *event = layer_object(list[e], EVENT);

		if (!event)
			return CL_INVALID_EVENT_WAIT_LIST;
		if (event->context != context)
			return CL_INVALID_CONTEXT;
	}
	return CL_SUCCESS;
}

/* Lets go of the mutex, and of commands that have ended. */
static void engine_unlock(void)
{
	struct event *event = engine.ended;

	engine.ended = NULL;
	pthread_mutex_unlock(&engine.mutex);
	while (event) {
		struct event *next = event->next;

		command_drop(event);
		event_release(event);
		event = next;
	}
}

/* ---- running. The mutex is held unless a comment says otherwise. ---- */

static void status_set(struct event *event, cl_int status)
{
	event->status = status;
	callbacks_send(event);
}

/* Whether all that a command waits for have ended, or are home's. */
static bool event_ready(const struct event *event)
{
	for (unsigned w = 0; w < event->nwaits; w++)
		if (event->waits[w]->status > CL_COMPLETE && !event_passed(event->waits[w]))
			return false;
	return true;
}

static bool event_hopeless(const struct event *event)
{
	for (unsigned w = 0; w < event->ngiven; w++)
		if (event->waits[w]->status < 0)
			return true;
	return false;
}

/* Where the first command is in the list that may run; NULL: none may. */
static struct event **ready_find(void)
{
	struct event **at = &engine.first;

	while (*at && !event_ready(*at))
		at = &(*at)->next;
	return *at ? at : NULL;
}

static struct event *ready_take(struct event **at)
{
	struct event *event = *at;

	*at = event->next;
	if (engine.end == &event->next)
		engine.end = at;
	event->next = NULL;
	return event;
}

/* A command has left its queue. */
static void queue_leave(struct queue *queue, struct event *event)
{
	if (event->later)
		event->later->beside = event->beside;
	else
		queue->first = event->beside;
	if (event->beside)
		event->beside->later = event->later;
	if (queue->last == event)
		queue->last = NULL;
	if (queue->barrier == event)
		queue->barrier = NULL;
}

/* A command has ended. The list's reference goes with the mutex. */
static void command_end(struct event *event, cl_int status)
{
	queue_leave(event->queue, event);
	status_set(event, status < 0 ? status : CL_COMPLETE);
	event->next = engine.ended;
	engine.ended = event;
	engine_tell();
}

/* A command of home's has ended, and so have those before it in its queue. Drivers take their time
 * to tell an event's status, so none is asked twice. */
static void passed_reap(struct event *until, cl_int status)
{
	while (event_passed(until)) {
		struct event *event = passed_end(until->queue);

		command_end(event, event == until ? status : passed_status(event));
	}
}

/* Waits for home. The mutex is not held meanwhile. */
static void passed_wait(struct event *event)
{
	object_retain(event);
	engine_unlock();
	if (event->home)
		real->clWaitForEvents(1, &event->home);
	else
		real->clFinish(event->queue->home);
	pthread_mutex_lock(&engine.mutex);
	if (event_passed(event))
		passed_reap(event, passed_status(event));
	pthread_mutex_unlock(&engine.mutex);
	event_release(event);
	pthread_mutex_lock(&engine.mutex);
}

/* Reaps what has ended though nobody waits for it. @return whether there was any */
static bool passed_look(struct queue *queue)
{
	struct event *event;
	cl_int status;
	bool any = false;

	while ((event = passed_known(queue)) && (status = passed_status(event)) <= CL_COMPLETE) {
		passed_reap(event, status);
		any = true;
	}
	return any;
}

/* Runs a command, or hands it to home. The mutex is not held meanwhile. */
static cl_int command_run(struct event *event, bool quick)
{
	cl_int error = quick ? passed_waits(event) : CL_SUCCESS;

	while (!quick && passed_first())
		passed_wait(passed_first());
	event_reach(event, STEP_SUBMITTED);
	event->ns[STEP_STARTED] = event->ns[STEP_SUBMITTED];
	status_set(event, CL_SUBMITTED);
	if (error || event_hopeless(event))
		return error ? error : CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST;
	if (!quick)
		status_set(event, CL_RUNNING);
	engine_unlock();
	error = event->run ? event->run(event) : CL_SUCCESS;
	pthread_mutex_lock(&engine.mutex);
	return error;
}

/* Runs a command, if nobody runs one and one may run. The mutex is not held meanwhile.
 * @param any else only one that home does
 * @return whether it did */
static bool engine_step(bool any)
{
	struct event **at, *event;
	cl_int error;
	bool quick;

	if (engine.busy || engine.stopped || !(at = ready_find()))
		return false;
	quick = (*at)->quick && (*at)->quick(*at);
	if (!quick && !any)
		return false;
	event = ready_take(at);
	engine.busy = true;
	error = command_run(event, quick);
	engine.busy = false;
	if (!error && event->sent) {
		passed_add(event);
		if (event->flushed)
			real->clFlush(event->queue->home);
		if (passed_wanted(event))
			engine_wake();
		if (event->look)
			passed_look(event->queue);
		engine_tell();
	} else {
		event_reach(event, STEP_ENDED);
		command_end(event, error);
	}
	return true;
}

static void *engine_serve(void *unused)
{
	struct event *event;

	pthread_mutex_lock(&engine.mutex);
	for (;;) {
		if (engine_step(true))
			continue;
		event = passed_watched();
		if (event) {
			passed_wait(event);
			continue;
		}
		if (engine.ended) {
			engine_unlock();
			pthread_mutex_lock(&engine.mutex);
			continue;
		}
		pthread_cond_wait(&engine.work, &engine.mutex);
	}
	return NULL;
}

/* Waits for a change. Commands that have ended do not wait to be released. */
static void change_wait(void)
{
	if (engine.ended) {
		engine_unlock();
		pthread_mutex_lock(&engine.mutex);
		return;
	}
	engine.waiting++;
	pthread_cond_wait(&engine.changed, &engine.mutex);
	engine.waiting--;
}

/* Waits until a command has ended, or home has it. */
static void sent_wait(struct event *event)
{
	while (event->status > CL_COMPLETE && !event_passed(event))
		if (!engine_step(true))
			change_wait();
}

static void wait_for(struct event *event)
{
	sent_wait(event);
	if (event_passed(event))
		passed_wait(event);
}

bool engine_stop(void)
{
	struct timespec limit;
	bool idle;

	clock_gettime(CLOCK_REALTIME, &limit);
	limit.tv_sec += 10;
	pthread_mutex_lock(&engine.mutex);
	engine.stopped = true;
	engine.waiting++;
	while (engine.busy && !pthread_cond_timedwait(&engine.changed, &engine.mutex, &limit))
		;
	engine.waiting--;
	idle = !engine.busy;
	/* Nobody waits for what has not ended. */
	while (idle && passed_first() && passed_look(passed_first()->queue))
		;
	pthread_mutex_unlock(&engine.mutex);
	return idle;
}

/* ---- enqueuing ---- */

static void waits_add(struct event *event, struct event *before)
{
	object_retain(before);
	event->waits[event->nwaits++] = before;
}

static bool holds_all(const struct event *event)
{
	return event->type == CL_COMMAND_MARKER || event->type == CL_COMMAND_BARRIER;
}

/* What a command waits for beside the program's list: in a queue in order, for the one before it;
 * else for a barrier; markers and barriers that have no list, for all. */
static void queue_waits_add(struct event *event)
{
	struct queue *queue = event->queue;

	if (!(queue->properties & CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE)) {
		if (queue->last)
			waits_add(event, queue->last);
		return;
	}
	if (queue->barrier)
		waits_add(event, queue->barrier);
	if (!holds_all(event) || event->ngiven)
		return;
	for (struct event *other = queue->first; other; other = other->beside)
		if (other != queue->barrier)
			waits_add(event, other);
}

static cl_int waits_make(struct event *event, cl_uint nwaits, const cl_event *waits)
{
	size_t most = nwaits + 1;

	for (struct event *other = event->queue->first; holds_all(event) && other;
	     other = other->beside)
		most++;
	event->waits = most > 1 ? malloc(most * sizeof(struct event *)) : &event->wait;
	if (!event->waits)
		return CL_OUT_OF_HOST_MEMORY;
	for (cl_uint w = 0; w < nwaits; w++)
		waits_add(event, (struct event *)waits[w]);
	event->ngiven = nwaits;
	queue_waits_add(event);
	return CL_SUCCESS;
}

static void queue_enter(struct event *event)
{
	struct queue *queue = event->queue;

	event->beside = queue->first;
	if (queue->first)
		queue->first->later = event;
	queue->first = queue->last = event;
	if (event->type == CL_COMMAND_BARRIER)
		queue->barrier = event;
	*engine.end = event;
	engine.end = &event->next;
}

/* Runs what home does, and leaves the rest to the engine's thread. */
static void engine_go(void)
{
	while (engine_step(false))
		;
	if (!engine.first)
		return;
	thread_start(&engine.worker, engine_serve);
	engine_tell();
}

/* Runs commands, or lets others run them, until one has ended or home has it, or until the ones
 * left wait for the program. */
static void sent_urge(struct event *event)
{
	while (event->status > CL_COMPLETE && !event_passed(event)) {
		if (engine_step(true))
			continue;
		if (!engine.busy)
			break;
		change_wait();
	}
}

/* The error that enqueuing a command returns. */
static cl_int enqueue_error(const struct event *event, bool blocking)
{
	if (event->status >= 0 || (!blocking && !event->tells))
		return CL_SUCCESS;
	return !blocking && event->status == CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST
	           ? CL_SUCCESS
	           : event->status;
}

cl_int event_enqueue(struct event *event, cl_uint nwaits, const cl_event *waits, bool blocking,
                     cl_event *given)
{
	cl_int error;

	pthread_mutex_lock(&engine.mutex);
	error = waits_make(event, nwaits, waits);
	if (error) {
		pthread_mutex_unlock(&engine.mutex);
		event_release(event);
		return error;
	}
	event_reach(event, STEP_QUEUED);
	event->wanted = given || blocking;
	queue_enter(event);
	object_retain(event);
	if (blocking)
		wait_for(event);
	else
		engine_go();
	if (event->urgent)
		sent_urge(event);
	error = enqueue_error(event, blocking);
	engine_unlock();
	if (given && (blocking || !error))
		*given = (cl_event)event;
	else
		event_release(event);
	return error;
}

void event_end(struct event *event, cl_int status)
{
	pthread_mutex_lock(&engine.mutex);
	status_set(event, status);
	engine_tell();
	/* Who waits for it may not be waiting for anything himself. */
	engine_go();
	engine_unlock();
}

cl_int event_wait(struct event *event)
{
	cl_int status;

	pthread_mutex_lock(&engine.mutex);
	wait_for(event);
	status = event->status;
	engine_unlock();
	return status;
}

cl_int event_status(struct event *event)
{
	cl_int status;

	pthread_mutex_lock(&engine.mutex);
	status = event_passed(event) ? passed_status(event) : event->status;
	if (status <= CL_COMPLETE)
		passed_reap(event, status);
	engine_unlock();
	return status;
}

cl_int queue_flush(struct queue *queue)
{
	cl_command_queue home;

	pthread_mutex_lock(&engine.mutex);
	/* The latest first: an earlier call has told those behind one that was told. */
	for (struct event *event = queue->first; event && !event->flushed; event = event->beside)
		event->flushed = true;
	home = queue->home;
	pthread_mutex_unlock(&engine.mutex);
	return real->clFlush(home);
}

cl_int queue_finish(struct queue *queue)
{
	struct event *event;
	cl_int error;

	if (queue->properties & CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE) {
		event = event_make(queue->context, queue, CL_COMMAND_MARKER, 0);
		return event ? event_enqueue(event, 0, NULL, true, NULL) : CL_OUT_OF_HOST_MEMORY;
	}
	pthread_mutex_lock(&engine.mutex);
	/* In order, the latest ends last. */
	event = queue->first;
	if (event) {
		object_retain(event);
		sent_wait(event);
	}
	engine_unlock();
	/* Also what kernels print is to be there. */
	error = real->clFinish(queue->home);
	if (!error && atomic_exchange(&queue->both, false)) {
		error = real->clFinish(queue->plain);
		if (!error && queue->timed)
			error = real->clFinish(queue->timed);
	}
	if (!event)
		return error;
	pthread_mutex_lock(&engine.mutex);
	if (event_passed(event))
		passed_reap(event, passed_status(event));
	engine_unlock();
	event_release(event);
	return error;
}
