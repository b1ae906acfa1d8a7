/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Performance tables of kernels in profiles (estimator/profile.h).
 */
#ifndef HEDDLE_KERNEL_RECORDS_H
#define HEDDLE_KERNEL_RECORDS_H

#include "estimator/profile.h"
#include "partition/kernel/split/table.h"

/* A record
 *
 *	kernel device="opencl NVIDIA H200" groups=4096 source="9f…" units=132 : at=… us=83.1 …
 *
 * says how long a device with so many compute units computed so many work-groups of the kernel
 * whose source, options and prologue have that hash. A record
 *
 *	transfer device=… source=… units=… : at=… in=11800 out=12100 …
 *
 * says how fast its data crossed, in bytes per microsecond. As in all records, the numbers of the
 * latest runs are stored, and the median counts. */

/** What is measured, and where. */
struct kernel_records_key {
	const char *source; /**< hash of the kernel */
	const char *device;
	unsigned units; /**< compute units of the device */
};

/** What is known of a kernel on a device. */
struct kernel_records_known {
	struct kernel_table table;
	double in_rate, out_rate; /**< bytes per microsecond; 0: not known */
};

/** Reads what a profile has. Numbers that make no sense are left out.
 * @param[out] known filled with what was found, else with zeros
 * @return 0; -ENOENT where the table would be empty; -ENOMEM */
int kernel_records_find(const struct heddle_profile *profile, const struct kernel_records_key *key,
                        struct kernel_records_known *known);

/** Adds what differs from what was known when the run began.
 * @param at seconds since 1970
 * @return 0; -ENOMEM */
int kernel_records_add(struct heddle_profile *profile, const struct kernel_records_key *key,
                       const struct kernel_records_known *before,
                       const struct kernel_records_known *now, double at);

#endif
