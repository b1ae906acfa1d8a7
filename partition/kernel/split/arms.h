/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The two choices of a launch that are bandits (estimator/bandit.h): who computes it, one device
 * alone or a split among several; and into how many chunks one device's launch is cut.
 */
#ifndef HEDDLE_KERNEL_ARMS_H
#define HEDDLE_KERNEL_ARMS_H

#include "estimator/bandit.h"
#include "partition/kernel/split/split.h"

/** Who computes: a device's number, the split in use, or a candidate that may be better. */
enum { KERNEL_ARM_SHARED = SPLIT_MAXDEVICES, KERNEL_ARM_CANDIDATE, KERNEL_ARMS };
extern const struct bandit_rules kernel_arms_rules;

/** Whether the candidate was pulled often enough to be compared with the split in use. */
bool kernel_candidate_known(const struct bandit *arms);

/** Whether the steps of the next launch are timed, if it pulls this arm. Timing costs some 30 us
 * on a GPU, which would make rarely pulled arms seem slow. So it is done for a device's first
 * launch, for a split's first ten, in which its tables settle, and for some later ones. */
bool kernel_arms_profiled(const struct bandit *arms, unsigned arm);

/** Chunks: arm a is 2^a of them. */
enum { KERNEL_CHUNKS_ARMS = 4, KERNEL_CHUNKS_MOST = 1 << (KERNEL_CHUNKS_ARMS - 1) };
extern const struct bandit_rules kernel_chunks_rules;

/** Takes in what a launch in so many chunks took.
 * @return whether it tells what the device takes: it had the best number of them by then */
bool kernel_chunks_measured(struct bandit *chunks, unsigned arm, double us);

#endif
