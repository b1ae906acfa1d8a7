/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * How many work-groups of one kernel each of several unequal devices computes, so that all have
 * delivered their results as early as possible. Work-groups have flat numbers; device after device
 * takes a range of them. Times are in microseconds, bandwidths in bytes per microsecond (MB/s).
 */
#ifndef HEDDLE_KERNEL_SPLIT_H
#define HEDDLE_KERNEL_SPLIT_H

#include <stdbool.h>
#include <stddef.h>

#include "partition/kernel/split/table.h"

/* From J. Lee, M. Samadi, Y. Park and S. Mahlke, "Transparent CPU-GPU collaboration for
 * data-parallel kernels on heterogeneous systems" (SKMD), PACT 2013, section III-C: performance
 * tables, transfers one after the other on each bus, the cost of merging scattered results, and
 * Algorithm 1. */

#define SPLIT_MAXDEVICES 16
#define SPLIT_MAXBUSES 16
/** Index of the bus of a device that works in the host's memory. */
#define SPLIT_NO_BUS (-1)

struct split_device {
	char name[64];
	int bus; /**< index of the bus that its data crosses, or SPLIT_NO_BUS */
	struct kernel_table table;
	/** Bytes of its input that it holds already: those of its first groups, so more groups cost
	 * what they read. 0 or above. */
	double held;
	/** When others have a share too, the device begins so much later: its part is a task
	 * more. 0 or above. */
	double part_us;
	/** And computes and transfers so many times as long, since devices share memory and
	 * cores; 0: as alone. */
	double slowdown;
};

/** What several devices may share: transfers follow each other on it. */
struct split_bus {
	char name[64];
	double in, out;    /**< bandwidth to the devices and back, above 0 */
	double latency_us; /**< of each transfer */
	bool duplex;       /**< results cross while inputs do */
};

/** Bytes that concern a device that computes a number of groups. */
struct split_bytes {
	double per_group;
	double fixed; /**< whatever their number, above 0 */
};

struct split_problem {
	size_t groups;              /**< work-groups of the launch */
	struct split_bytes in, out; /**< to and from a device with a bus */
	/** Results that have to be merged, of a device with a bus that did not compute all groups;
	 * none of a contiguous kernel. */
	struct split_bytes merge;
	double merge_bandwidth; /**< of sorting them in; 0: nothing to merge */
	unsigned ndevices, nbuses;
	struct split_device devices[SPLIT_MAXDEVICES];
	struct split_bus buses[SPLIT_MAXBUSES];
};

/** What a split is predicted to take. */
struct split_times {
	double us;                      /**< until everything is merged */
	double merge_us;                /**< of it, after the last device has delivered */
	double in_us[SPLIT_MAXDEVICES]; /**< when the device's input has arrived */
	double computed_us[SPLIT_MAXDEVICES];
	double finish_us[SPLIT_MAXDEVICES]; /**< when its results are in main memory; 0: no share */
	/** Devices with a share, in the order in which their inputs are to be sent. */
	unsigned norder;
	unsigned order[SPLIT_MAXDEVICES];
};

/** Puts a problem's next device on a bus, whose bandwidths are the means of its devices'.
 * @param at the device; those before it are on their buses
 * @param bus below nbuses
 * @param in, out what was measured of the device, above 0 */
void split_bus_join(struct split_problem *problem, unsigned at, unsigned bus, double in,
                    double out);

/** Makes a problem what it is for SKMD if the kernel is not contiguous (section III-B): all of the
 * inputs cross to each device with a bus, all of the outputs cross back and are merged.
 * @param in, out bytes of all inputs and outputs */
void split_scatter(struct split_problem *problem, double in, double out);

/** Predicts a split. Inputs are sent to the devices of a bus in the order of what
 * remains to be done after the transfer, most first; results come back in the order
 * in which they are ready.
 * @param share groups of each device
 * @param[out] times
 * @return the time until everything is merged */
double split_estimate(const struct split_problem *problem, const size_t *share,
                      struct split_times *times);

/** Predicts what one device takes for some of the groups while nobody else computes, transfers
 * included. */
double split_alone(const struct split_problem *problem, unsigned device, double groups);

enum split_method {
	/** SPLIT_PAPER in few, large steps, and sets of devices that would end together;
	 * then groups move between any two devices, in steps that halve, as long as that
	 * helps. The best end of these searches counts. */
	SPLIT_HEDDLE,
	/** Algorithm 1: from the fastest device to the others, 1/2048 of the groups at a
	 * time. Where the printed algorithm and the text differ, the text counts: the
	 * slowest device decides a split's time, the time to beat is the parent's. */
	SPLIT_PAPER,
	/** SKMD as published: Algorithm 1, for a problem with the costs that SKMD has
	 * (split_scatter()). */
	SPLIT_PUBLISHED,
	/** In proportion to each device's speed with all groups, whatever the transfers
	 * cost: the paper's baseline. */
	SPLIT_LINEAR,
	/** All to the device that is fastest alone. */
	SPLIT_SINGLE,
	/** The best of all splits in multiples of groups / split_optimum_steps(); to
	 * judge the others by. Up to some tenths of a second. */
	SPLIT_OPTIMUM,
	SPLIT_NMETHODS
};

/** NULL for a number that is none. */
const char *split_method_name(enum split_method method);

/** Chooses the shares. Of SPLIT_HEDDLE and SPLIT_PAPER the result is never predicted to
 * be worse than the best single device.
 * @param problem at least one device, each with a point in its table
 * @param[out] share groups of each device; they add up to problem->groups
 * @return the predicted time, as split_estimate() */
double split_decide(const struct split_problem *problem, enum split_method method, size_t *share);

/** Makes a problem what it would be if sharing cost nothing: each device has a bus of its own, and
 * nobody slows others down. */
void split_hopeful(const struct split_problem *problem, struct split_problem *hopeful);

/** A split among some devices by which all end together, if each has a bus of its own.
 * @param set of them, a bit each; at least one
 * @return what it takes then */
double split_among(const struct split_problem *problem, unsigned set, size_t *share);

/** Into how many steps SPLIT_OPTIMUM cuts the groups: as many as leave some ten
 * thousand splits to try. */
size_t split_optimum_steps(unsigned ndevices);

/** Whether a problem makes sense.
 * @return 0; -EINVAL after a message that names the device or the bus. */
int split_check(const struct split_problem *problem);

#endif
