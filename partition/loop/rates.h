/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Rates of loops in profiles: a record
 *
 *	loop device="cuda NVIDIA H200" bytes=20 : at=… samples=31 pace=0.00024 start=9.1
 *
 * says that blocks of n iterations, each touching so many bytes, took start + n pace
 * microseconds there. The latest runs' numbers are kept; their median counts.
 */
#ifndef HEDDLE_LOOP_RATES_H
#define HEDDLE_LOOP_RATES_H

#include <stddef.h>

#include "estimator/block_time.h"
#include "estimator/profile.h"

struct loop_rate {
	double start_us;
	double pace; /* microseconds an iteration, above 0 */
};

/** What a profile says of a device.
 * @param path of the profile, for messages about numbers that make no sense
 * @return 0; -ENOENT, also for such. */
int loop_rates_find(const struct heddle_profile *profile, const char *device, size_t bytes,
                    const char *path, struct loop_rate *rate);

/** The mean over some workers of what their blocks took.
 * @param[out] blocks how many that were
 * @return 0; -ENOENT when none has had enough. */
int loop_rates_mean(const struct heddle_block_time *times, unsigned n, struct loop_rate *rate,
                    unsigned *blocks);

/** Makes the record of a rate.
 * @param at seconds since 1970
 * @return 0; -EINVAL for a rate that is none. */
int loop_rates_record(const char *device, size_t bytes, const struct loop_rate *rate,
                      unsigned blocks, double at, struct heddle_profile_record *record);

#endif
