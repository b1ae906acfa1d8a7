/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Launches as Heddle's kernels: what split_starpu.c and prepare_starpu.c do for each other.
 */
#ifndef HEDDLE_OPENCL_SPLIT_H
#define HEDDLE_OPENCL_SPLIT_H

#include "partition/opencl/layer.h"

#include <heddle/kernel.h>

/** A launch as Heddle's kernel, and the structures that its arguments point to. */
struct split_kernel {
	struct heddle_kernel kernel;
	union {
		struct heddle_kernel_image image;
		struct heddle_kernel_sampler sampler;
	} of[HEDDLE_KERNEL_MAXARGUMENTS];
};

/** Starts StarPU, or wakes it. @return why there is none; NULL: it runs */
const char *split_start(void);
/** Describes a launch. Buffers and images have no pointers yet where the host has none of their
 * data. What is described stays where it is. */
void split_fill(const struct launch *launch, struct split_kernel *split);
/** Asks the analysis, the first time. @return why the kernel is not split; NULL: it is */
const char *split_analyse(struct record *record, const struct heddle_kernel *kernel);

/** Has a thread do what the first split of a kernel needs. The engine calls this, when home has
 * nothing to do.
 * @return why the launch is to be computed at home meanwhile */
const char *prepare_begin(const struct launch *launch);
bool prepare_running(void);
/** Whether the thread, if there is one, is this process's. */
bool prepare_ours(void);
/** Waits for that thread. */
void prepare_end(void);

#endif
