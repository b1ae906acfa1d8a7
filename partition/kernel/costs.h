/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * What sharing a kernel costs a device beyond what its table and the bus say: its part
 * begins late, since it is a task of its own, and takes longer, since the others use the same
 * memory. Learned from launches that were shared.
 */
#ifndef HEDDLE_KERNEL_COSTS_H
#define HEDDLE_KERNEL_COSTS_H

/** A structure of zeros knows nothing. */
struct costs {
	unsigned n;      /**< parts measured */
	double part_us;  /**< how late a part begins, microseconds */
	double slowdown; /**< how many times as long it takes, 1/2 to 8; 0: not known */
};

/** Takes in a part of a shared launch; what makes no sense is left out.
 * @param late_us from the launch's begin to the part's, 0 or more
 * @param alone_us what the part was expected to take if nobody else computed, above 0
 * @param us what it took */
void costs_measured(struct costs *costs, double late_us, double alone_us, double us);

#endif
