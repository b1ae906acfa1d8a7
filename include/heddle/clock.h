/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Which clock decisions and reports use.
 *
 * The default is wall time. HEDDLE_FPGA_TIME=modelled selects modelled time: a kernel on a
 * simulated FPGA then counts with the time that the modelled board would take.
 * - Loops under a block strategy run in modelled time. Each worker has a time line, on which
 *   its blocks follow each other. A worker gets its next block when no other worker can end a
 *   block earlier. All reported times are on these time lines.
 * - The estimator uses the modelled times of kernels. Tasks start in wall time.
 * - The run itself takes at least as long as the simulation.
 *
 * A kernel on a simulated device calls heddle_clock_simulated(). Heddle's own codelets do.
 */
#ifndef HEDDLE_CLOCK_H
#define HEDDLE_CLOCK_H

#ifdef __cplusplus
extern "C" {
#endif

/** A clock. */
enum heddle_clock {
	HEDDLE_CLOCK_WALL,    /**< measured time */
	HEDDLE_CLOCK_MODELLED /**< time that a simulated device's board would take */
};

/** Returns the name of a clock. Any thread may call it at any time.
 * @param clock a value of the enumeration; the effect of others is undefined
 * @return "wall" or "modelled", a constant string; all outputs use these names */
const char *heddle_clock_name(enum heddle_clock clock);

/** Reports how long a simulated device would have taken for the current task. A kernel calls
 * it at its end, on the worker that runs it. A second call in a task replaces the first. The
 * call has no effect in wall time or outside a task.
 * @param wall_us wall time that the simulation took, microseconds, 0 or more
 * @param modelled_us time that the device would have taken, microseconds, 0 or more */
void heddle_clock_simulated(double wall_us, double modelled_us);

#ifdef __cplusplus
}
#endif
#endif
