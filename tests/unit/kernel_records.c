/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Performance tables of kernels in profiles.
 */
#include "config.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "partition/kernel/split/records.h"
#include "tests/unit/test.h"

static const struct kernel_records_key key = {"a1", "opencl some device", 4};
static const struct kernel_records_known none;

static void kept_and_found(void **state)
{
	struct heddle_profile profile = {0};
	struct kernel_records_known known = {{2, {{100, 12}, {1000, 100}}}, 5000, 0}, found;
	struct kernel_records_key other[] = {key, key, key};

	assert_int_equal(kernel_records_find(&profile, &key, &found), -ENOENT);
	assert_int_equal(kernel_records_add(&profile, &key, &none, &known, 1000), 0);
	assert_int_equal(profile.n, 3);
	assert_int_equal(kernel_records_find(&profile, &key, &found), 0);
	assert_memory_equal(&found.table, &known.table, sizeof(known.table));
	assert_true(found.in_rate == 5000 && found.out_rate == 0);
	/* What has not changed is not added again. */
	assert_int_equal(kernel_records_add(&profile, &key, &found, &known, 2000), 0);
	known.table.points[1].us = 110;
	assert_int_equal(kernel_records_add(&profile, &key, &found, &known, 2000), 0);
	assert_int_equal(profile.n, 3);
	other[0].source = "a2";
	other[1].device = "opencl another";
	other[2].units = 8;
	for (int i = 0; i < 3; i++)
		assert_int_equal(kernel_records_find(&profile, &other[i], &found), -ENOENT);
	heddle_profile_free(&profile);
}

/* More points than a table holds, over many runs: the latest count where they are near. */
static void the_latest_count(void **state)
{
	struct heddle_profile profile = {0};
	struct kernel_records_known known = {{1, {{1000, 1}}}, 0, 0}, found;

	for (int run = 0; run < 40; run++) {
		known.table.points[0] = (struct kernel_point){1000 + run, run < 20 ? 50 : 80};
		assert_int_equal(kernel_records_add(&profile, &key, &none, &known, run), 0);
	}
	assert_int_equal(kernel_records_find(&profile, &key, &found), 0);
	assert_true(found.table.npoints <= KERNEL_TABLE_POINTS);
	assert_true(fabs(kernel_table_time(&found.table, 1020) - 80) < 8);
	heddle_profile_free(&profile);
}

/* The median of the runs. */
static void one_disturbed_run(void **state)
{
	static const double us[] = {10, 12, 900, 11, 12};
	struct heddle_profile profile = {0};
	struct kernel_records_known known = {{1, {{64, 0}}}, 0, 0}, found;

	for (int run = 0; run < 5; run++) {
		known.table.points[0].us = us[run];
		assert_int_equal(kernel_records_add(&profile, &key, &none, &known, run), 0);
	}
	assert_int_equal(kernel_records_find(&profile, &key, &found), 0);
	assert_int_equal(found.table.npoints, 1);
	assert_true(found.table.points[0].us == 12);
	heddle_profile_free(&profile);
}

static void the_senseless(void **state)
{
	static const char *const lines[] = {
	    "kernel source=\"a1\" device=\"opencl some device\" units=4 groups=8 : us=0",
	    "kernel source=\"a1\" device=\"opencl some device\" units=4 groups=8 : us=-1",
	    "kernel source=\"a1\" device=\"opencl some device\" units=4 groups=8 : us=\"slow\"",
	    "kernel source=\"a1\" device=\"opencl some device\" units=4 groups=8 : at=3",
	    "kernel source=\"a1\" device=\"opencl some device\" units=4 groups=0 : us=1",
	    "kernel source=\"a1\" device=\"opencl some device\" units=4 : us=1",
	    "kernel source=\"a1\" device=\"opencl some device\" groups=8 : us=1",
	    "kernel source=1 device=\"opencl some device\" units=4 groups=8 : us=1",
	    "kernel device=\"opencl some device\" units=4 groups=8 : us=1",
	    "task source=\"a1\" device=\"opencl some device\" units=4 groups=8 : us=1",
	    "transfer source=\"a1\" device=\"opencl some device\" units=4 : in=-5 out=\"x\"",
	};

	for (size_t i = 0; i < sizeof(lines) / sizeof(*lines); i++) {
		struct heddle_profile profile = {0};
		struct kernel_records_known found;

		assert_int_equal(
		    heddle_profile_parse(&profile, lines[i], strlen(lines[i]), "-", NULL), 0);
		assert_int_equal(profile.n, 1);
		assert_int_equal(kernel_records_find(&profile, &key, &found), -ENOENT);
		assert_true(found.in_rate == 0 && found.out_rate == 0);
		heddle_profile_free(&profile);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(kept_and_found),
	    cmocka_unit_test(the_latest_count),
	    cmocka_unit_test(one_disturbed_run),
	    cmocka_unit_test(the_senseless),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
