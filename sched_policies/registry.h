/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The table of policies, as Heddle itself uses it. Pure.
 */
#ifndef HEDDLE_SCHED_POLICIES_REGISTRY_H
#define HEDDLE_SCHED_POLICIES_REGISTRY_H

#include <heddle/policy.h>

/* The table of policies.
 *
 * SELF_SCHEDULING(name, specification for ordinary tasks, documentation). For
 * loops the strategy is the one of that name with its own defaults. A stream of
 * tasks has no length known in advance, and a task is work for microseconds at
 * least: blocks start with one task and need not be multiples of anything.
 *
 * READY(name, documentation): policies that choose among ready tasks. A loop's
 * iterations are alike, there is nothing to choose: loops use hdss. */
#define POLICIES(SELF_SCHEDULING, READY)                                                           \
	SELF_SCHEDULING(hdss, "hdss:initial=1,factor=1",                                           \
	                "chunks by each worker's measured speed (HDSS)")                           \
	SELF_SCHEDULING(gss, "gss", "guided self-scheduling: chunks of 1/p of the ready tasks")    \
	SELF_SCHEDULING(css, "css", "chunks of one size")                                          \
	SELF_SCHEDULING(tss, "tss", "trapezoid self-scheduling: chunks that shrink linearly")      \
	SELF_SCHEDULING(fss, "fss",                                                                \
	                "factoring: batches of equal chunks, each half of what remains")           \
	SELF_SCHEDULING(linear, "linear:initial=1,step=1", "chunks that grow by a constant")       \
	SELF_SCHEDULING(exponential, "exponential:initial=1", "chunks that grow by a factor")      \
	SELF_SCHEDULING(static, "static", "equal shares of the ready tasks")                       \
	SELF_SCHEDULING(qilin, "qilin", "shares by speeds measured in a training run (Qilin)")     \
	SELF_SCHEDULING(axel, "axel", "shares by relative speeds known beforehand (Axel)")         \
	READY(heddle, "task graphs: a plan by speed, data and what is ahead")                      \
	READY(ddfcfs, "demand-driven, first come first served")                                    \
	READY(ddwrr, "demand-driven, the task that the processor speeds up most")                  \
	READY(odds, "ddwrr with queues as long as transfers and processing ask for (ODDS)")        \
	READY(skmd, "OpenCL kernels split over all devices (SKMD); tasks as under ddwrr")

/** Rows of heddle_policies(). */
#define POLICIES_N 15

/** The block strategy, as a specification, by which a policy of that name
 * schedules ordinary tasks; that of "gss" for any other name. */
const char *policies_tasks_strategy(const char *name);

#endif
