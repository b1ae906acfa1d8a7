/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "config.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "partition/loop/rates.h"
#include "support/message.h"

/* Blocks of a worker that say something of its rate. */
#define ENOUGH 3
/* What strategies take for a rate or a time (heddle/strategy.h). */
#define MOST 1e18

static bool record_is_of(const struct heddle_profile_record *record, const char *device,
                         size_t bytes)
{
	const struct heddle_profile_field *where = heddle_profile_record_field(record, "device");
	const struct heddle_profile_field *what = heddle_profile_record_field(record, "bytes");

	return !strcmp(record->kind, "loop") && where && !where->n &&
	       !strcmp(where->text, device) && what && what->n == 1 && what->numbers[0] == bytes;
}

static bool rate_valid(const struct loop_rate *rate)
{
	return rate->pace >= 1 / MOST && rate->pace <= MOST && rate->start_us >= 0 &&
	       rate->start_us <= MOST;
}

int loop_rates_find(const struct heddle_profile *profile, const char *device, size_t bytes,
                    const char *path, struct loop_rate *rate)
{
	for (size_t r = 0; r < profile->n; r++) {
		const struct heddle_profile_record *record = profile->records[r];
		const struct heddle_profile_field *start =
		    heddle_profile_record_field(record, "start");
		struct loop_rate found;

		if (!record_is_of(record, device, bytes))
			continue;
		/* A pace of 0 is not valid, but a start of 0 is. */
		found.pace =
		    heddle_profile_field_median(heddle_profile_record_field(record, "pace"));
		found.start_us = start && start->n ? heddle_profile_field_median(start) : NAN;
		if (!rate_valid(&found)) {
			heddle_warn("%s: the loop's rate on \"%s\" for %zu bytes makes no sense; "
			            "it is not used",
			            path, device, bytes);
			return -ENOENT;
		}
		*rate = found;
		return 0;
	}
	return -ENOENT;
}

int loop_rates_mean(const struct heddle_block_time *times, unsigned n, struct loop_rate *rate,
                    unsigned *blocks)
{
	struct loop_rate sum = {0};
	unsigned workers = 0;

	*blocks = 0;
	for (unsigned w = 0; w < n; w++) {
		/* Blocks of one size do not tell the start from the pace. */
		if (times[w].count < ENOUGH || !times[w].start_known)
			continue;
		sum.start_us += times[w].start_us;
		sum.pace += times[w].pace;
		*blocks += times[w].count;
		workers++;
	}
	if (!workers)
		return -ENOENT;
	*rate = (struct loop_rate){sum.start_us / workers, sum.pace / workers};
	return 0;
}

int loop_rates_record(const char *device, size_t bytes, const struct loop_rate *rate,
                      unsigned blocks, double at, struct heddle_profile_record *record)
{
	if (!rate_valid(rate))
		return -EINVAL;
	heddle_profile_record_init(record, "loop");
	heddle_profile_record_text(record, "device", device);
	heddle_profile_record_number(record, "bytes", bytes);
	heddle_profile_record_results(record);
	heddle_profile_record_number(record, "pace", rate->pace);
	heddle_profile_record_number(record, "start", rate->start_us);
	heddle_profile_record_number(record, "samples", blocks);
	heddle_profile_record_number(record, "at", at);
	return 0;
}
