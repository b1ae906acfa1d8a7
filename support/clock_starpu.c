/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "config.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>

#ifdef HEDDLE_USE_OPENCL
#include <starpu_opencl.h>

#include "fpga/events.h"
#endif
#include "support/clock_starpu.h"
#include "support/message.h"
#include "support/variables.h"

static const char *const names[] = {
    [HEDDLE_CLOCK_WALL] = "wall",
    [HEDDLE_CLOCK_MODELLED] = "modelled",
};

/* What a worker's latest tasks said; its thread's alone. A driver may begin a device's
 * next task before it is done with the one before. */
#define LATEST 4
static struct {
	unsigned next;
	struct said {
		const struct starpu_task *task;
		const struct starpu_codelet *codelet; /* StarPU uses the memory of tasks again */
		double wall_us, modelled_us;
	} latest[LATEST];
} __attribute__((aligned(64))) workers[STARPU_NMAXWORKERS];

static enum heddle_clock chosen;

const char *heddle_clock_name(enum heddle_clock clock)
{
	return names[clock];
}

static void choose(void)
{
	if (!strcmp(heddle_variable_text(HEDDLE_VARIABLE_FPGA_TIME), names[HEDDLE_CLOCK_MODELLED]))
		chosen = HEDDLE_CLOCK_MODELLED;
}

enum heddle_clock heddle_clock(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, choose);
	return chosen;
}

int heddle_clock_check(void)
{
	const char *text = heddle_variable_text(HEDDLE_VARIABLE_FPGA_TIME);

	if (!strcmp(text, names[HEDDLE_CLOCK_WALL]) || !strcmp(text, names[HEDDLE_CLOCK_MODELLED]))
		return 0;
	return heddle_refuse(-EINVAL, "HEDDLE_FPGA_TIME=%s: not a value (wall or modelled)", text);
}

/* NULL: none. */
static struct said *said_find(int worker, const struct starpu_task *task)
{
	struct said *latest = workers[worker].latest;

	for (int i = 0; i < LATEST; i++)
		if (latest[i].task == task && latest[i].codelet == task->cl)
			return &latest[i];
	return NULL;
}

void heddle_clock_simulated(double wall_us, double modelled_us)
{
	struct starpu_task *task = starpu_task_get_current();
	int worker = starpu_worker_get_id();
	struct said *said;

	if (heddle_clock() == HEDDLE_CLOCK_WALL || !task || worker < 0)
		return;
	said = said_find(worker, task);
	if (!said)
		said = &workers[worker].latest[workers[worker].next++ % LATEST];
	*said = (struct said){task, task->cl, wall_us, modelled_us};
}

bool heddle_clock_said(struct starpu_task *task, double *wall_us, double *modelled_us)
{
	struct said *said = NULL;
	int worker;

	if (heddle_clock() != HEDDLE_CLOCK_MODELLED)
		return false;
	worker = starpu_worker_get_id();
	if (worker >= 0)
		said = said_find(worker, task);
	if (!said)
		return false;
	*wall_us = said->wall_us;
	*modelled_us = said->modelled_us;
	*said = (struct said){0};
	return true;
}

double heddle_clock_board_us(int worker)
{
#ifdef HEDDLE_USE_OPENCL
	cl_device_id device;
	cl_ulong ns;

	if (starpu_worker_get_type(worker) == STARPU_OPENCL_WORKER) {
		starpu_opencl_get_device(starpu_worker_get_devid(worker), &device);
		if (!clGetDeviceInfo(device, CL_DEVICE_MODELLED_HEDDLE, sizeof(ns), &ns, NULL))
			return ns * 1e-3;
	}
#endif
	return -1;
}
