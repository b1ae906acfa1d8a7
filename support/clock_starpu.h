/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The clock of this process, and what kernels said of it.
 */
#ifndef HEDDLE_SUPPORT_CLOCK_STARPU_H
#define HEDDLE_SUPPORT_CLOCK_STARPU_H

#include <stdbool.h>
#include <starpu.h>
#include <heddle/clock.h>

/** By HEDDLE_FPGA_TIME, which is read once. */
enum heddle_clock heddle_clock(void);

/** Whether HEDDLE_FPGA_TIME says something. @return 0; -EINVAL after a message. */
int heddle_clock_check(void);

/** What a task's kernel said with heddle_clock_simulated(); it is told once. On the worker
 * that ran the task.
 * @return false: nothing, or the clock is the wall's */
bool heddle_clock_said(struct starpu_task *task, double *wall_us, double *modelled_us);

/** What all that a worker's simulated board did so far takes on the board, kernels and
 * transfers one after the other, µs.
 * @return below 0: it is no such board */
double heddle_clock_board_us(int worker);

/** The time of a task's kernel: what it said, else `us`. */
static inline double heddle_clock_kernel_us(struct starpu_task *task, double us)
{
	double wall_us, modelled_us;

	return heddle_clock_said(task, &wall_us, &modelled_us) ? modelled_us : us;
}

#endif
