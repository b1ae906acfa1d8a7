/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The simulated machine of this process: durations of loops' blocks, and the
 * kind of each worker.
 */
#include "config.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <starpu.h>
#if defined(HEDDLE_USE_OPENCL) && !defined(HEDDLE_USE_SIMGRID)
#include <starpu_opencl.h>
#endif
#include <heddle/loop.h>

#include "support/kind.h"
#include "support/message.h"
#include "estimator/platform_starpu.h"
#include "support/variables.h"

/* What stands in for a machine that nobody described. */
#define UNDESCRIBED "0cpu+16gpu10"

static struct {
	pthread_once_t once;
	bool given;
	struct heddle_platform platform;
	double start_us; /* of the first loop; below 0: none yet */
	/* When each accelerator will have run all that it was given. */
	double free_us[HEDDLE_PLATFORM_MAXACCELERATORS];
} current = {.once = PTHREAD_ONCE_INIT, .start_us = -1};

/* The number of this rank in programs for SMPI, which alone have the function. */
int __attribute__((weak)) starpu_mpi_world_rank(void);

/* Several machines have commas between them. Ranks have them in turn. */
static void spec_copy(const char *specs, char *spec)
{
	unsigned n = 1, mine;

	for (const char *comma = specs; (comma = strchr(comma, ',')); comma++)
		n++;
	mine = n > 1 && starpu_mpi_world_rank ? starpu_mpi_world_rank() % n : 0;
	while (mine--)
		specs = strchr(specs, ',') + 1;
	snprintf(spec, HEDDLE_PLATFORM_MAXSPEC, "%.*s", (int)strcspn(specs, ","), specs);
}

static void current_read(void)
{
	char spec[HEDDLE_PLATFORM_MAXSPEC];

	spec_copy(heddle_variable_text(HEDDLE_VARIABLE_PLATFORM), spec);
	current.given =
	    *spec && !heddle_platform_parse(spec, &current.platform) && !*current.platform.host;
	if (!current.given)
		heddle_platform_parse(UNDESCRIBED, &current.platform);
}

const struct heddle_platform *heddle_platform_current(void)
{
	pthread_once(&current.once, current_read);
	return current.given ? &current.platform : NULL;
}

/* Since the first block of this process was thought about. SimGrid runs one
 * simulated thread at a time, so there is nothing to lock. */
static double elapsed_us(void)
{
	double now = starpu_timing_now();

	if (current.start_us < 0)
		current.start_us = now;
	return now - current.start_us;
}

static int block_accelerator(const struct starpu_perfmodel_arch *arch)
{
	int last = (int)current.platform.naccelerators - 1;

	if (arch->devices[0].type == STARPU_CPU_WORKER)
		return HEDDLE_PLATFORM_CORE;
	return arch->devices[0].devid < last ? arch->devices[0].devid : last;
}

/* StarPU asks how long a block takes when it hands it to the device, which may
 * still be busy with the one before; policies ask at any time. */
static double block_us(const struct starpu_task *task, int accelerator)
{
	const struct heddle_block *block = task->cl_arg;
	double begin_us = elapsed_us(), us;

	if (accelerator >= 0 && current.free_us[accelerator] > begin_us)
		begin_us = current.free_us[accelerator];
	us = heddle_platform_block_us(&current.platform, accelerator, block->n, block->total,
	                              begin_us);
	if (accelerator >= 0 && starpu_task_get_current() == task)
		current.free_us[accelerator] = begin_us + us;
	return us;
}

static double block_cost(struct starpu_task *task, struct starpu_perfmodel_arch *arch,
                         unsigned implementation)
{
	double us;

	heddle_platform_current();
	us = block_us(task, block_accelerator(arch));
	/* StarPU takes 0 for "unknown". */
	return us > 0 ? us : 1e-3;
}

struct starpu_perfmodel heddle_platform_model = {
    .type = STARPU_PER_ARCH,
    .symbol = "heddle_block",
    .arch_cost_function = block_cost,
};

/* FPGAs, simulated or not, are what OpenCL calls an accelerator. */
static bool is_accelerator(int device)
{
#if defined(HEDDLE_USE_OPENCL) && !defined(HEDDLE_USE_SIMGRID)
	cl_device_type type = 0;
	cl_device_id id;

	starpu_opencl_get_device(device, &id);
	return !clGetDeviceInfo(id, CL_DEVICE_TYPE, sizeof(type), &type, NULL) &&
	       (type & CL_DEVICE_TYPE_ACCELERATOR);
#else
	return false;
#endif
}

enum heddle_kind heddle_worker_kind(int worker)
{
	const struct heddle_platform *platform = heddle_platform_current();
	enum heddle_kind kind =
	    kind_of_starpu(starpu_worker_get_type_as_string(starpu_worker_get_type(worker)));
	int device = starpu_worker_get_devid(worker);

	if (kind == HEDDLE_KIND_CUDA && platform && device < (int)platform->naccelerators)
		return platform->accelerators[device].kind;
	if (kind == HEDDLE_KIND_OPENCL && is_accelerator(device))
		return HEDDLE_KIND_FPGA;
	return kind;
}
