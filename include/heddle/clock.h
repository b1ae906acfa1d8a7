/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Which time decisions and reports go by.
 *
 * It is the time on the wall, unless HEDDLE_FPGA_TIME=modelled: then the time that a
 * simulated device needs for its kernels counts as what the device that it stands for
 * would take. Loops under a block strategy run in modelled time altogether: each worker's
 * blocks follow each other on a time line of its own, a worker gets its next block when
 * no other one can end a block before, and all that is reported is on these time lines.
 * The run itself takes as long as the simulation does, and longer. What the estimator
 * learns of tasks is modelled time, too; when tasks begin is left to the wall.
 *
 * A kernel on a simulated device says so with heddle_clock_simulated(); those of
 * Heddle's own codelets do.
 */
#ifndef HEDDLE_CLOCK_H
#define HEDDLE_CLOCK_H

#ifdef __cplusplus
extern "C" {
#endif

enum heddle_clock { HEDDLE_CLOCK_WALL, HEDDLE_CLOCK_MODELLED };

/** "wall" or "modelled", as it stands in every output. */
const char *heddle_clock_name(enum heddle_clock clock);

/** Called by a kernel at its end, on its worker: of the time that it took, `wall_us` were
 * spent on simulating a device that would have taken `modelled_us`. Does nothing while the clock is
 * the wall's.
 * @param wall_us,modelled_us microseconds, 0 or more */
void heddle_clock_simulated(double wall_us, double modelled_us);

#ifdef __cplusplus
}
#endif
#endif
