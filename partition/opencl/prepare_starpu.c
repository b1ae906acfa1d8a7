/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * What a kernel's first split launch needs, done by a thread while home goes on: StarPU starts, the
 * analysis is asked, compilers run, devices are tried. The thread launches the kernel on copies of
 * its buffers, whose results nobody reads.
 *
 * exit() takes drivers and compilers down. It must not do so below the thread, so the main thread's
 * end waits for it, and the thread begins nothing new.
 */
#include "config.h"

/* It says which OpenCL the headers are for. */
#include "partition/opencl/split.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LAUNCHES = 3 };                            /* at most; compilers may run in the first ones */
static const cl_ulong ENOUGH_NS = 500000000;      /* no further ones after that time */
static const size_t MOST_BYTES = (size_t)1 << 30; /* of all copies */

static struct {
	struct record *record;
	struct split_kernel split;
	struct argument *arguments;
	pthread_t thread;
	pid_t process;
	bool begun; /* and not joined */
	atomic_bool left;
	pthread_mutex_t mutex; /* guards `begun`, and `left` against a thread that begins */
} work = {.mutex = PTHREAD_MUTEX_INITIALIZER};

/* Where the copy of an argument's data is; NULL: it is no data. */
static void **data_of(unsigned a)
{
	struct heddle_kernel_argument *argument = &work.split.kernel.arguments[a];

	return argument->type == HEDDLE_KERNEL_HOST    ? &argument->pointer
	       : argument->type == HEDDLE_KERNEL_IMAGE ? &work.split.of[a].image.pixels
	                                               : NULL;
}

static void work_free(void)
{
	for (unsigned a = 0; a < work.split.kernel.narguments; a++)
		if (data_of(a))
			free(*data_of(a));
	arguments_drop(work.arguments, work.split.kernel.narguments);
	free(work.arguments);
	work.arguments = NULL;
}

static void *work_do(void *unused)
{
	struct record *record = work.record;
	struct heddle_kernel_stats stats;
	cl_ulong begin = clock_ns();
	const char *reason;
	int status = 0;

	layer_inside = true;
	reason = split_start();
	if (!reason && !work.left)
		reason = split_analyse(record, &work.split.kernel);
	for (int l = 0;
	     !reason && !status && !work.left && l < LAUNCHES && clock_ns() - begin < ENOUGH_NS;
	     l++)
		status = heddle_kernel_run(&work.split.kernel, &stats);
	work_free();
	record_prepared(record, clock_ns() - begin);
	return NULL;
}

/* A copy of a buffer's or an image's data. @return NULL: no memory */
static void *copy_of(struct memory *memory)
{
	size_t page = 4096, bytes = memory_bytes(memory);
	void *copy = aligned_alloc(page, (bytes + page - 1) / page * page);
	cl_int error = CL_SUCCESS;
	cl_ulong begin = clock_ns();

	if (!copy)
		return NULL;
	if (memory->whole->at_host) {
		error = memory_fetch(memory, 0, bytes);
		if (!error)
			memcpy(copy, memory_host(memory), bytes);
	} else if (memory->image)
		error = image_read(memory, copy);
	else
		error = real->clEnqueueReadBuffer(memory->context->queue, memory->home, CL_TRUE, 0,
		                                  bytes, copy, 0, NULL, NULL);
	if (!error && !memory->whole->at_host && !memory->whole->shared)
		record_crossed(bytes, clock_ns() - begin);
	if (!error)
		return copy;
	free(copy);
	return NULL;
}

static bool copies_make(const struct launch *launch)
{
	size_t bytes = 0;
	bool made = true;

	for (unsigned a = 0; a < work.split.kernel.narguments; a++) {
		struct heddle_kernel_argument *argument = &work.split.kernel.arguments[a];

		if (argument->type == HEDDLE_KERNEL_VALUE)
			argument->pointer = work.arguments[a].value;
		if (!data_of(a))
			continue;
		argument->keep = false;
		bytes += memory_bytes(launch->arguments[a].memory);
		*data_of(a) =
		    made && bytes <= MOST_BYTES ? copy_of(launch->arguments[a].memory) : NULL;
		made = made && *data_of(a);
	}
	return made;
}

/* Starts the thread, which gets no signals, unless the process ends. */
static bool thread_begin(void)
{
	sigset_t all, before;

	sigfillset(&all);
	pthread_mutex_lock(&work.mutex);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	work.begun = !work.left && !pthread_create(&work.thread, NULL, work_do, NULL);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	pthread_mutex_unlock(&work.mutex);
	return work.begun;
}

const char *prepare_begin(const struct launch *launch)
{
	struct record *record = launch->kernel->record;
	cl_ulong begin = clock_ns();
	cl_uint n;

	prepare_end();
	work.record = record;
	split_fill(launch, &work.split);
	n = work.split.kernel.narguments;
	work.arguments = malloc(arguments_bytes(launch->arguments, n) + 1);
	/* Without copies the kernel's arguments are still the program's. */
	if (!work.arguments)
		return record->refusal = "there is no memory for trials";
	arguments_copy(launch->arguments, n, work.arguments);
	if (!copies_make(launch)) {
		work_free();
		return record->refusal = "there is no memory for trials";
	}
	record_copied(clock_ns() - begin);
	atomic_store(&record->preparing, true);
	work.process = getpid();
	if (thread_begin())
		return "it is being compiled for all devices";
	work_free();
	atomic_store(&record->preparing, false);
	return work.left ? "the program ends" : (record->refusal = "there is no thread for trials");
}

bool prepare_running(void)
{
	return work.begun && atomic_load(&work.record->preparing);
}

bool prepare_ours(void)
{
	return !work.begun || work.process == getpid();
}

void prepare_end(void)
{
	pthread_mutex_lock(&work.mutex);
	if (work.begun)
		pthread_join(work.thread, NULL);
	work.begun = false;
	pthread_mutex_unlock(&work.mutex);
}

/* ---- the end of the process ---- */

/* glibc: exit() calls the function before those of atexit() and before destructors. So does the end
 * of a thread: without the main thread nothing is prepared any more, which does no harm. */
extern int __cxa_thread_atexit_impl(void (*function)(void *), void *with, void *object)
    __attribute__((weak));
extern char __dso_handle __attribute__((visibility("hidden")));

static void leave(void *unused)
{
	if (!prepare_ours())
		return;
	work.left = true;
	prepare_end();
}

void prepare_watch(void)
{
	static __thread bool watched;

	if (watched)
		return;
	watched = true;
	if (gettid() == getpid() && __cxa_thread_atexit_impl)
		__cxa_thread_atexit_impl(leave, NULL, &__dso_handle);
}
