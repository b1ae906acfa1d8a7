/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * What a kernel's first split launch needs, done by a thread while home goes on: StarPU starts, the
 * analysis is asked, compilers run, devices are tried. The thread launches the kernel on copies of
 * its buffers, whose results nobody reads.
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
	struct heddle_kernel kernel;
	struct argument *arguments;
	pthread_t thread;
	pid_t process;
	bool begun; /* and not joined */
} work;

static void work_free(void)
{
	for (unsigned a = 0; a < work.kernel.narguments; a++)
		if (work.kernel.arguments[a].type == HEDDLE_KERNEL_HOST)
			free(work.kernel.arguments[a].pointer);
	arguments_drop(work.arguments, work.kernel.narguments);
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
	if (!reason)
		reason = split_analyse(record, &work.kernel);
	for (int l = 0; !reason && !status && l < LAUNCHES && clock_ns() - begin < ENOUGH_NS; l++)
		status = heddle_kernel_run(&work.kernel, &stats);
	work_free();
	record_prepared(record, clock_ns() - begin);
	return NULL;
}

/* A copy of a buffer's data. @return NULL: no memory */
static void *copy_of(struct memory *memory)
{
	size_t page = 4096;
	void *copy = aligned_alloc(page, (memory->bytes + page - 1) / page * page);

	if (copy && memory->at_host)
		memcpy(copy, memory->host, memory->bytes);
	else if (copy && real->clEnqueueReadBuffer(memory->context->queue, memory->home, CL_TRUE, 0,
	                                           memory->bytes, copy, 0, NULL, NULL)) {
		free(copy);
		return NULL;
	}
	return copy;
}

static bool copies_make(const struct launch *launch)
{
	size_t bytes = 0;
	bool made = true;

	for (unsigned a = 0; a < work.kernel.narguments; a++) {
		struct heddle_kernel_argument *argument = &work.kernel.arguments[a];

		if (argument->type == HEDDLE_KERNEL_VALUE)
			argument->pointer = work.arguments[a].value;
		if (argument->type != HEDDLE_KERNEL_HOST)
			continue;
		argument->keep = false;
		bytes += argument->bytes;
		argument->pointer =
		    made && bytes <= MOST_BYTES ? copy_of(launch->arguments[a].memory) : NULL;
		made = made && argument->pointer;
	}
	return made;
}

const char *prepare_begin(const struct launch *launch)
{
	struct record *record = launch->kernel->record;
	sigset_t all, before;

	prepare_end();
	work.record = record;
	split_fill(launch, &work.kernel);
	work.arguments = arguments_copy(launch->arguments, work.kernel.narguments);
	/* Without copies the kernel's arguments are still the program's. */
	if (!work.arguments)
		return record->refusal = "there is no memory for trials";
	if (!copies_make(launch)) {
		work_free();
		return record->refusal = "there is no memory for trials";
	}
	atomic_store(&record->preparing, true);
	work.process = getpid();
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	work.begun = !pthread_create(&work.thread, NULL, work_do, NULL);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (work.begun)
		return "it is being compiled for all devices";
	work_free();
	atomic_store(&record->preparing, false);
	return record->refusal = "there is no thread for trials";
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
	if (work.begun)
		pthread_join(work.thread, NULL);
	work.begun = false;
}
