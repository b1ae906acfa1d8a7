/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Whether launches of unchanged OpenCL programs are split, by what splits cost.
 */
#include "config.h"

#include "partition/opencl/layer.h"
#include "tests/unit/test.h"

enum { ITEMS = 1000 };
static const double SHARE = 0.1;

/* A kernel whose launches took a millisecond each at home, a hundred times. */
static struct record *record_of(const char *name)
{
	struct record *record = record_find(name, "text", "");

	assert_non_null(record);
	for (int i = 0; i < 100; i++)
		record_whole(record, "it has not run for long yet", ITEMS, 1000000);
	return record;
}

/* The first split may cost what the kernel's time at home allows. */
static void data_that_crosses_counts(void **state)
{
	struct record *record = record_of("first");

	assert_true(record_split_pays(record, ITEMS, 0, SHARE));
	assert_true(record_split_pays(record, ITEMS, 8e6, SHARE));
	assert_false(record_split_pays(record, ITEMS, 10e6, SHARE));
}

/* A split that is faster pays also where data crosses first, while that takes less than it gains,
 * or trials may cost as much. */
static void faster_splits(void **state)
{
	struct record *record = record_of("faster");

	for (unsigned i = 0; i <= SPLIT_TRIALS; i++)
		record_split(record, ITEMS, 600000, 0);
	assert_true(record_split_pays(record, ITEMS, 0, 0));
	assert_true(record_split_pays(record, ITEMS, 390000, 0));
	assert_false(record_split_pays(record, ITEMS, 410000, 0));
	assert_true(record_split_pays(record, ITEMS, 410000, SHARE));
	assert_false(record_split_pays(record, ITEMS, 11e6, SHARE));
}

/* What crossed for one launch need not cross for the next one. */
static void crossing_is_no_part_of_the_speed(void **state)
{
	struct record *record = record_of("crossed");

	for (unsigned i = 0; i <= SPLIT_TRIALS; i++)
		record_split(record, ITEMS, 5600000, 5000000);
	assert_true(record_split_pays(record, ITEMS, 0, 0));
	/* But it was lost. */
	assert_float_equal(record->lost_ns, (SPLIT_TRIALS + 1) * 4600000.0, 1);
}

/* The latest count more; little data tells nothing. */
static void crossing_takes_as_long_as_before(void **state)
{
	const size_t bytes = 4 << 20;

	assert_float_equal(record_crossing_ns(8000), 1000, 1e-9);
	record_crossed(4096, 50000);
	assert_float_equal(record_crossing_ns(8000), 1000, 1e-9);
	/* The first one is slow, as memory is new; it is forgotten. */
	record_crossed(bytes, 8 * bytes);
	assert_float_equal(record_crossing_ns(8000), 64000, 1e-9);
	record_crossed(bytes, 4 * bytes);
	assert_float_equal(record_crossing_ns(8000), 56000, 1e-9);
	for (int i = 0; i < 50; i++)
		record_crossed(bytes, bytes / 4);
	assert_float_equal(record_crossing_ns(8000), 2000, 1);
	assert_float_equal(record_crossing_ns(0), 0, 0);
}

/* Few launches are measured, the others took as long. */
static void some_are_measured(void **state)
{
	struct record *record = record_find("sampled", "text", "");
	double before = record_home_ns();
	unsigned measured = 0;

	for (int i = 0; i < 1600; i++) {
		bool sample = record_sample(record, record_short(record, ITEMS));

		measured += sample;
		record_whole(record, "its launches are short", ITEMS, sample ? 50000 : 0);
	}
	assert_true(measured > 20 && measured < 40);
	assert_float_equal(record->home_ns, 1600 * 50000.0, 1);
	assert_float_equal(record_home_ns() - before, 1600 * 50000.0, 1);
	/* A kernel that becomes slower is found out. */
	measured = 0;
	for (int i = 0; i < 1600; i++) {
		bool sample = record_sample(record, record_short(record, ITEMS));

		measured += sample;
		record_whole(record, "its launches are short", ITEMS, sample ? 500000 : 0);
	}
	assert_float_equal(record->home_rate * ITEMS, 500000, 1);
	assert_false(record_short(record, ITEMS));
	/* What may be split is measured more often. */
	assert_true(measured > 80 && measured < 120);
}

/* What a preparation takes from home: all of the time of its copies, and a part of the rest. */
static void preparations_cost(void **state)
{
	struct record *record = record_of("prepared");
	double before = record_prepare_ns(false, 0), shared = record_prepare_ns(true, 0);

	assert_float_equal(record_prepare_ns(false, 7e6) - before, 7e6, 1);
	record_copied(2000000);
	assert_float_equal(record_prepare_ns(false, 0) - before, 2e6, 1);
	/* One that took a second: the next one is expected to take as long. */
	record_prepared(record, 1000000000);
	assert_true(record->prepared);
	assert_true(record_prepare_ns(false, 0) < before);
	assert_true(record_prepare_ns(true, 0) > shared);
	assert_true(record_prepare_ns(true, 0) > record_prepare_ns(false, 0));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(data_that_crosses_counts),
	    cmocka_unit_test(faster_splits),
	    cmocka_unit_test(crossing_is_no_part_of_the_speed),
	    cmocka_unit_test(crossing_takes_as_long_as_before),
	    cmocka_unit_test(some_are_measured),
	    cmocka_unit_test(preparations_cost),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
