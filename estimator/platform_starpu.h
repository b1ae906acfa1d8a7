/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The simulated machine of this process, as HEDDLE_PLATFORM describes it, where
 * StarPU runs on SimGrid.
 */
#ifndef HEDDLE_ESTIMATOR_PLATFORM_STARPU_H
#define HEDDLE_ESTIMATOR_PLATFORM_STARPU_H

#include <starpu.h>
#include <heddle/kind.h>

#include "estimator/platform.h"

/** Model of every codelet of a loop under SimGrid: the duration of the task is
 * what the platform says of its block (the task's cl_arg, a struct heddle_block).
 * HEDDLE_PLATFORM is read once; without it, and for accelerators it does not
 * describe, the machine is taken to have StarPU's number of cores and GPUs of
 * 10 cores each. */
extern struct starpu_perfmodel heddle_platform_model;

/** The platform of this process; NULL where HEDDLE_PLATFORM is not set, malformed (a
 * message has said so), or a calibrated machine, which StarPU's own models describe. */
const struct heddle_platform *heddle_platform_current(void);

/** Kind of a worker as outputs name it: StarPU's type of worker, or "fpga" for an OpenCL
 * accelerator and for one that the simulated platform calls so. */
enum heddle_kind heddle_worker_kind(int worker);

#endif
