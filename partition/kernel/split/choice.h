/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Who computes the launches of one kernel that are alike: one device, the split in use, or another
 * one that may be better. What launches took decides; estimates (partition/kernel/split/split.h)
 * say what to try.
 */
#ifndef HEDDLE_KERNEL_CHOICE_H
#define HEDDLE_KERNEL_CHOICE_H

#include "partition/kernel/split/arms.h"

enum { KERNEL_TRIED = 16 };

/** Splits go by the kernel's numbers of devices. A structure of zeros knows nothing. */
struct kernel_choice {
	struct bandit arms;
	bool cut;                      /**< there is a split, or it is known that there is none */
	unsigned changes;              /**< what was known of devices when it was found, */
	double held[SPLIT_MAXDEVICES]; /**< and the bytes of what is read that they held */
	size_t share[SPLIT_MAXDEVICES], candidate[SPLIT_MAXDEVICES]; /**< in use; perhaps better */
	double shared_us, candidate_us; /**< predicted; INFINITY: none */
	/** Sets of devices that were tried, a bit for each number; SPLIT_MAXDEVICES: the linear
	 * split. */
	unsigned ntried, tried[KERNEL_TRIED];
	unsigned decided; /**< launches by the latest search for a split */
	unsigned drawn;   /**< where random numbers are */
};

/** The problem of splitting a launch among the devices that may take part, and its solution. */
struct sharing {
	struct split_problem problem;
	unsigned numbers[SPLIT_MAXDEVICES]; /**< of the devices, in the kernel */
	size_t share[SPLIT_MAXDEVICES];
};

/** Rounds shares so that rows stay whole. A device may lose its share. */
void sharing_round(struct sharing *sharing, size_t row);

/** Chooses an arm, and sets the launch's shares by it.
 * @param row groups that are not cut apart, above 0
 * @param shared whether several devices may have a share
 * @param changes another number whenever what is known of devices has changed
 * @param[out] predicted_us what the launch will take
 * @return the arm, of which bandit_measured() is to be told */
unsigned kernel_choice_make(struct kernel_choice *choice, struct sharing *sharing, size_t row,
                            bool shared, unsigned changes, double *predicted_us);

#endif
