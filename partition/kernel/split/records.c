/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "config.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "partition/kernel/split/records.h"

/* ---- reading ---- */

static bool text_is(const struct heddle_profile_record *record, const char *key, const char *text)
{
	const struct heddle_profile_field *field = heddle_profile_record_field(record, key);

	return field && !field->n && !strcmp(field->text, text);
}

/* 0 where there is no such field. */
static double median(const struct heddle_profile_record *record, const char *key)
{
	return heddle_profile_field_median(heddle_profile_record_field(record, key));
}

/* A device's name is cut as records cut it. */
static bool is_of(const struct heddle_profile_record *record, const char *kind,
                  const struct kernel_records_key *key)
{
	char device[HEDDLE_PROFILE_TEXT];

	snprintf(device, sizeof(device), "%s", key->device);
	return !strcmp(record->kind, kind) && text_is(record, "source", key->source) &&
	       text_is(record, "device", device) && median(record, "units") == key->units;
}

static int by_age(const void *a, const void *b)
{
	double x = median(*(const struct heddle_profile_record *const *)a, "at");
	double y = median(*(const struct heddle_profile_record *const *)b, "at");

	return x < y ? -1 : x > y;
}

static double rate_of(double rate)
{
	return rate > 0 && isfinite(rate) ? rate : 0;
}

int kernel_records_find(const struct heddle_profile *profile, const struct kernel_records_key *key,
                        struct kernel_records_known *known)
{
	const struct heddle_profile_record **points = calloc(profile->n + 1, sizeof(*points));
	size_t n = 0;

	*known = (struct kernel_records_known){0};
	if (!points)
		return -ENOMEM;
	for (size_t r = 0; r < profile->n; r++) {
		const struct heddle_profile_record *record = profile->records[r];

		if (is_of(record, "kernel", key))
			points[n++] = record;
		if (is_of(record, "transfer", key)) {
			known->in_rate = rate_of(median(record, "in"));
			known->out_rate = rate_of(median(record, "out"));
		}
	}
	/* The latest last: they replace what is near them. */
	qsort(points, n, sizeof(*points), by_age);
	for (size_t p = 0; p < n; p++)
		kernel_table_measured(&known->table, median(points[p], "groups"),
		                      median(points[p], "us"), 1);
	free(points);
	return known->table.npoints ? 0 : -ENOENT;
}

/* ---- writing ---- */

static void key_put(struct heddle_profile_record *record, const char *kind,
                    const struct kernel_records_key *key)
{
	heddle_profile_record_init(record, kind);
	heddle_profile_record_text(record, "source", key->source);
	heddle_profile_record_text(record, "device", key->device);
	heddle_profile_record_number(record, "units", key->units);
}

static int point_put(struct heddle_profile *profile, const struct kernel_records_key *key,
                     const struct kernel_point *point, double at)
{
	struct heddle_profile_record record;

	key_put(&record, "kernel", key);
	heddle_profile_record_number(&record, "groups", point->groups);
	heddle_profile_record_results(&record);
	heddle_profile_record_number(&record, "us", point->us);
	heddle_profile_record_number(&record, "samples", 1);
	heddle_profile_record_number(&record, "at", at);
	return heddle_profile_add(profile, &record);
}

static bool point_known(const struct kernel_table *table, const struct kernel_point *point)
{
	for (unsigned p = 0; p < table->npoints; p++)
		if (table->points[p].groups == point->groups && table->points[p].us == point->us)
			return true;
	return false;
}

static int rates_put(struct heddle_profile *profile, const struct kernel_records_key *key,
                     const struct kernel_records_known *now, double at)
{
	struct heddle_profile_record record;

	key_put(&record, "transfer", key);
	heddle_profile_record_results(&record);
	if (now->in_rate > 0)
		heddle_profile_record_number(&record, "in", now->in_rate);
	if (now->out_rate > 0)
		heddle_profile_record_number(&record, "out", now->out_rate);
	heddle_profile_record_number(&record, "at", at);
	return heddle_profile_add(profile, &record);
}

int kernel_records_add(struct heddle_profile *profile, const struct kernel_records_key *key,
                       const struct kernel_records_known *before,
                       const struct kernel_records_known *now, double at)
{
	bool rates = now->in_rate != before->in_rate || now->out_rate != before->out_rate;
	int error = rates ? rates_put(profile, key, now, at) : 0;

	for (unsigned p = 0; p < now->table.npoints && !error; p++)
		if (!point_known(&before->table, &now->table.points[p]))
			error = point_put(profile, key, &now->table.points[p], at);
	return error;
}
