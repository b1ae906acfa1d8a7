/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "config.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "partition/loop/rates.h"
#include "tests/unit/test.h"

/* As a loop keeps a rate. */
static int add(struct heddle_profile *profile, const char *device, size_t bytes,
               const struct loop_rate *rate, unsigned blocks, double at)
{
	struct heddle_profile_record record;
	int error = loop_rates_record(device, bytes, rate, blocks, at, &record);

	return error ? error : heddle_profile_add(profile, &record);
}

static void test_kept_and_found(void **state)
{
	struct heddle_profile profile = {0};
	struct loop_rate rate = {12.5, 0.25}, found;

	assert_int_equal(loop_rates_find(&profile, "cpu", 20, "-", &found), -ENOENT);
	assert_int_equal(add(&profile, "cpu", 20, &rate, 7, 1000), 0);
	assert_int_equal(loop_rates_find(&profile, "cpu", 20, "-", &found), 0);
	assert_true(found.pace == 0.25 && found.start_us == 12.5);
	assert_int_equal(loop_rates_find(&profile, "cuda", 20, "-", &found), -ENOENT);
	assert_int_equal(loop_rates_find(&profile, "cpu", 24, "-", &found), -ENOENT);
	heddle_profile_free(&profile);
}

/* One run that was disturbed does not count. */
static void test_median(void **state)
{
	static const double paces[] = {1, 1.25, 500, 1.5, 1.25};
	struct heddle_profile profile = {0};
	struct loop_rate found;

	for (int i = 0; i < 5; i++)
		assert_int_equal(add(&profile, "cpu", 4, &(struct loop_rate){3, paces[i]}, 5, i),
		                 0);
	assert_int_equal(loop_rates_find(&profile, "cpu", 4, "-", &found), 0);
	assert_true(found.pace == 1.25 && found.start_us == 3);
	heddle_profile_free(&profile);
}

static void test_senseless(void **state)
{
	static const char *const lines[] = {
	    "loop device=\"cpu\" bytes=4 : pace=0 start=1",
	    "loop device=\"cpu\" bytes=4 : pace=-1 start=1",
	    "loop device=\"cpu\" bytes=4 : pace=1 start=-1",
	    "loop device=\"cpu\" bytes=4 : pace=1",
	    "loop device=\"cpu\" bytes=4 : start=1",
	    "loop device=\"cpu\" bytes=4 : pace=1e-320 start=1",
	    "loop device=\"cpu\" bytes=4 : pace=\"fast\" start=1",
	    "loop device=\"cpu\" bytes=\"4\" : pace=1 start=1",
	    "loop device=4 bytes=4 : pace=1 start=1",
	    "loop bytes=4 : pace=1 start=1",
	    "task device=\"cpu\" bytes=4 : pace=1 start=1",
	};
	struct loop_rate none[] = {{0, 0}, {0, -1}, {-1, 1}, {NAN, 1}, {0, NAN}, {0, INFINITY}};
	struct loop_rate found = {42, 42};

	for (size_t i = 0; i < sizeof(lines) / sizeof(*lines); i++) {
		struct heddle_profile profile = {0};

		assert_int_equal(
		    heddle_profile_parse(&profile, lines[i], strlen(lines[i]), "-", NULL), 0);
		assert_int_equal(loop_rates_find(&profile, "cpu", 4, "-", &found), -ENOENT);
		assert_true(found.pace == 42);
		heddle_profile_free(&profile);
	}
	for (size_t i = 0; i < sizeof(none) / sizeof(*none); i++) {
		struct heddle_profile profile = {0};

		assert_int_equal(add(&profile, "cpu", 4, &none[i], 5, 0), -EINVAL);
		heddle_profile_free(&profile);
	}
}

/* Workers that had hardly a block, or blocks of one size alone, say nothing. */
static void test_mean(void **state)
{
	struct heddle_block_time times[] = {
	    {.start_us = 2, .pace = 1, .count = 5, .start_known = true},
	    {.start_us = 4, .pace = 3, .count = 3, .start_known = true},
	    {.start_us = 900, .pace = 900, .count = 2, .start_known = true},
	    {.pace = 900, .count = 9}, /* all of one size */
	};
	struct loop_rate mean;
	unsigned blocks;

	assert_int_equal(loop_rates_mean(times, 4, &mean, &blocks), 0);
	assert_true(mean.start_us == 3 && mean.pace == 2);
	assert_int_equal(blocks, 8);
	assert_int_equal(loop_rates_mean(times + 2, 2, &mean, &blocks), -ENOENT);
	assert_int_equal(loop_rates_mean(times, 0, &mean, &blocks), -ENOENT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_kept_and_found),
	    cmocka_unit_test(test_median),
	    cmocka_unit_test(test_senseless),
	    cmocka_unit_test(test_mean),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
