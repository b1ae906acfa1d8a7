/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * NDRanges as Heddle's kernels. StarPU starts with the first one that may be split. The engine
 * calls one function at a time.
 */
#include "config.h"

/* It says which OpenCL the headers are for. */
#include "partition/opencl/layer.h"

#include <errno.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#include <heddle/kernel.h>

#include "support/message.h"
#include "support/variables.h"

enum { RETRY = 64 }; /* launches at home between two that are split though that was slower */

static pid_t process; /* that has started StarPU */
static atomic_bool started;
static const char *no_start; /* why StarPU does not run; NULL: it does, or was not asked */

/* ---- StarPU ---- */

static const char *starpu_begin(void)
{
	struct starpu_conf conf;

	if (starpu_is_initialized())
		return "the program uses StarPU itself";
	starpu_conf_init(&conf);
	conf.ncpus = 0;
	conf.ncuda = 0;
	conf.catch_signals = 0;
	if (starpu_init(&conf))
		return "StarPU does not start";
	if (starpu_opencl_worker_get_count() < 2) {
		starpu_shutdown();
		return "StarPU has less than two OpenCL devices";
	}
	return NULL;
}

/* @return why there is no StarPU; NULL: it runs */
static const char *starpu_need(void)
{
	if (started && process != getpid())
		return "the process was forked from one that computes";
	if (started || no_start)
		return no_start;
	layer_inside = true;
	no_start = starpu_begin();
	layer_inside = false;
	process = getpid();
	started = !no_start;
	return no_start;
}

void split_changed(const void *memory, size_t bytes)
{
	if (started)
		heddle_kernels_changed(memory, bytes);
}

void split_end(void)
{
	if (!started || process != getpid())
		return;
	layer_inside = true;
	heddle_kernels_unload();
	starpu_shutdown();
	started = false;
}

/* ---- what can be split ---- */

static const char *arguments_refuse(const struct launch *launch)
{
	cl_uint n = launch->kernel->narguments;

	if (n > HEDDLE_KERNEL_MAXARGUMENTS)
		return "it has too many arguments";
	for (cl_uint a = 0; a < n; a++) {
		const struct memory *memory = launch->arguments[a].memory;

		if (memory && memory->whole != memory)
			return "an argument is a part of a buffer";
		for (cl_uint b = 0; memory && b < a; b++)
			if (launch->arguments[b].memory == memory)
				return "one buffer is two arguments";
	}
	return NULL;
}

/* What a launch itself says. */
static const char *launch_refuse(const struct launch *launch)
{
	const struct program *program = launch->kernel->program;

	if (layer_devices()->n < 2)
		return "there is one device";
	if (program->refusal)
		return program->refusal;
	if (!program->text)
		return "its program was not built of source";
	if (!launch->even)
		return "its groups are not of one size";
	return arguments_refuse(launch);
}

/* Whether it pays. HEDDLE_OPENCL_AFTER=0 does not ask. */
static const char *speed_refuse(const struct record *record)
{
	double after_ns = heddle_variable_number(HEDDLE_VARIABLE_OPENCL_AFTER) * 1e6;

	if (after_ns <= 0)
		return NULL;
	if (record->home_ns < after_ns)
		return "it has not run for long yet";
	if (record->split_rate > 0 && record->home_rate > 0 &&
	    record->split_rate > record->home_rate && (record->split + record->whole) % RETRY)
		return "one device was faster";
	return NULL;
}

/* ---- launching ---- */

static void argument_fill(const struct argument *from, struct heddle_kernel_argument *to)
{
	struct memory *memory = from->memory;

	to->bytes = from->bytes;
	to->pointer = from->value;
	to->type = from->value ? HEDDLE_KERNEL_VALUE : HEDDLE_KERNEL_LOCAL;
	if (!memory)
		return;
	to->type = HEDDLE_KERNEL_HOST;
	to->mode = memory->flags & CL_MEM_READ_ONLY ? STARPU_R : STARPU_RW;
	to->pointer = memory->host;
	to->bytes = memory->bytes;
	to->keep = true;
}

static cl_int kernel_fill(const struct launch *launch, struct heddle_kernel *kernel)
{
	const struct record *record = launch->kernel->record;
	cl_int error = CL_SUCCESS;

	memset(kernel, 0, sizeof(*kernel));
	kernel->source = record->text;
	kernel->name = record->name;
	kernel->options = record->options;
	kernel->dimensions = launch->dimensions;
	for (unsigned d = 0; d < launch->dimensions; d++) {
		kernel->global[d] = launch->global[d];
		kernel->local[d] = launch->chosen ? launch->local[d] : 0;
		kernel->offset[d] = launch->offset[d];
	}
	kernel->split = HEDDLE_KERNEL_ALWAYS;
	kernel->narguments = launch->kernel->narguments;
	for (unsigned a = 0; a < kernel->narguments && !error; a++) {
		if (launch->arguments[a].memory)
			error = memory_host_make(launch->arguments[a].memory);
		argument_fill(&launch->arguments[a], &kernel->arguments[a]);
	}
	return error;
}

/* Asks the analysis, the first time.
 * @return why the kernel is not split; NULL: it is */
static const char *analysis_refuse(struct record *record, const struct heddle_kernel *kernel)
{
	struct heddle_kernel_access accesses[HEDDLE_KERNEL_MAXARGUMENTS];
	const char *refusal = NULL;

	if (record->asked)
		return record->refusal;
	record->asked = true;
	if (heddle_kernel_classes(kernel, accesses, &refusal))
		refusal = "Heddle refuses its arguments";
	/* The text goes with StarPU, the report comes later. */
	record->refusal = refusal ? strdup(refusal) : NULL;
	return refusal && !record->refusal ? "no memory" : record->refusal;
}

static cl_int memories_to_host(const struct launch *launch)
{
	cl_int error = CL_SUCCESS;

	for (cl_uint a = 0; a < launch->kernel->narguments && !error; a++)
		if (launch->arguments[a].memory)
			error = memory_to_host(launch->arguments[a].memory);
	return error;
}

/* Heddle knows itself what it changes; home is to be told. */
static void memories_changed(const struct launch *launch)
{
	for (cl_uint a = 0; a < launch->kernel->narguments; a++) {
		struct memory *memory = launch->arguments[a].memory;

		if (memory && !(memory->flags & CL_MEM_READ_ONLY))
			memory->changed = true;
	}
}

static cl_int run(const struct launch *launch, const struct heddle_kernel *kernel,
                  const char **reason)
{
	struct heddle_kernel_stats stats;
	struct record *record = launch->kernel->record;
	int status;

	if (memories_to_host(launch)) {
		*reason = "the host has no memory for it";
		return CL_SUCCESS;
	}
	stats.nworkers = 0;
	status = heddle_kernel_run(kernel, &stats);
	memories_changed(launch);
	/* Where no part was computed, all data is as it was: home can compute it. */
	if (status && !stats.nworkers) {
		*reason = record->refusal = status == -EINVAL ? "Heddle refuses its arguments"
		                                              : "no device computes parts of it";
		return CL_SUCCESS;
	}
	return status == -ENOMEM ? CL_OUT_OF_HOST_MEMORY
	       : status          ? CL_OUT_OF_RESOURCES
	                         : CL_SUCCESS;
}

cl_int split_launch(struct launch *launch, const char **reason)
{
	struct record *record = launch->kernel->record;
	struct heddle_kernel kernel;
	cl_int error;

	*reason = record->refusal ? record->refusal : launch_refuse(launch);
	if (!*reason)
		*reason = speed_refuse(record);
	if (!*reason)
		*reason = starpu_need();
	if (*reason)
		return CL_SUCCESS;
	error = kernel_fill(launch, &kernel);
	if (error) {
		*reason = "the host has no memory for it";
		return CL_SUCCESS;
	}
	layer_inside = true;
	*reason = analysis_refuse(record, &kernel);
	if (!*reason)
		error = run(launch, &kernel, reason);
	layer_inside = false;
	return error;
}
