/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The performance table of one device for one kernel (how long it computes a number of
 * work-groups), and what sharing a kernel costs the device.
 */
#ifndef HEDDLE_KERNEL_TABLE_H
#define HEDDLE_KERNEL_TABLE_H

/* With fewer groups, devices do not slow down in proportion (J. Lee, M. Samadi, Y. Park and S.
 * Mahlke, "Transparent CPU-GPU collaboration for data-parallel kernels on heterogeneous systems",
 * PACT 2013, figure 7). So a table has up to 16 points, as theirs, and lines between them. */

#define KERNEL_TABLE_POINTS 16

struct kernel_point {
	double groups; /**< work-groups, above 0 */
	double us;     /**< computing them, transfers aside; 0 or more */
};

/** Points in ascending order of groups; a structure of zeros has none. */
struct kernel_table {
	unsigned npoints;
	struct kernel_point points[KERNEL_TABLE_POINTS];
};

/** Time of computing that many groups, microseconds; 0 for none. Beyond the ends the
 * nearest line goes on: towards few groups it never falls below the first point's
 * time per group, towards many the time never shrinks.
 * @param table with at least one point */
double kernel_table_time(const struct kernel_table *table, double groups);

/** Takes in a measured time. A point within half a range (1/16 of the largest known
 * number of groups) moves `weight` of the way; else a new one is added, for which the
 * point nearest to a neighbour goes where the table is full.
 * @param weight above 0, at most 1: the newest measurement alone counts
 * @return 0; -EINVAL when groups or us are no positive, finite numbers */
int kernel_table_measured(struct kernel_table *table, double groups, double us, double weight);

/** Multiplies all times. @param factor above 0 */
void kernel_table_scale(struct kernel_table *table, double factor);

/** What sharing a kernel costs a device beyond what its table and the bus say: its part begins
 * late, since it is a task of its own, and takes longer, since the others use the same memory.
 * A structure of zeros knows nothing. */
struct kernel_costs {
	unsigned n;      /**< parts measured */
	double part_us;  /**< how late a part begins, microseconds */
	double slowdown; /**< how many times as long it takes, 1/2 to 8; 0: not known */
};

/** Takes in a part of a shared launch; what makes no sense is left out.
 * @param late_us from the launch's begin to the part's, 0 or more
 * @param alone_us what the part takes by the estimate if nobody else computed, above 0
 * @param us what it took */
void kernel_costs_measured(struct kernel_costs *costs, double late_us, double alone_us, double us);

#endif
