/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "partition/loop/ranges.h"
#include "partition/loop/window.h"
#include "tests/unit/test.h"

static void test_in_order(void **state)
{
	struct loop_ranges ranges;
	struct loop_range range;

	loop_ranges_init(&ranges, 10);
	range = loop_ranges_take(&ranges, 4);
	assert_int_equal(range.start, 0);
	assert_int_equal(range.n, 4);
	range = loop_ranges_take(&ranges, 100);
	assert_int_equal(range.start, 4);
	assert_int_equal(range.n, 6);
	assert_int_equal(loop_ranges_remaining(&ranges), 0);
	assert_int_equal(loop_ranges_take(&ranges, 1).n, 0);
	loop_ranges_fini(&ranges);
}

static void test_returned_first(void **state)
{
	struct loop_ranges ranges;
	struct loop_range lost, range;

	loop_ranges_init(&ranges, 100);
	lost = loop_ranges_take(&ranges, 30);
	loop_ranges_take(&ranges, 30);
	lost.attempts++;
	assert_int_equal(loop_ranges_return(&ranges, lost), 0);
	assert_int_equal(loop_ranges_remaining(&ranges), 70);
	range = loop_ranges_take(&ranges, 20);
	assert_int_equal(range.start, 0);
	assert_int_equal(range.n, 20);
	assert_int_equal(range.attempts, 1);
	range = loop_ranges_take(&ranges, 20);
	assert_int_equal(range.start, 20);
	assert_int_equal(range.n, 10);
	range = loop_ranges_take(&ranges, 20);
	assert_int_equal(range.start, 60);
	assert_int_equal(range.attempts, 0);
	loop_ranges_fini(&ranges);
}

static void test_each_once(void **state)
{
	unsigned seed = time(NULL);
	enum { N = 5000 };
	unsigned char count[N];

	print_message("seed %u\n", seed);
	for (int round = 0; round < 200; round++) {
		struct loop_ranges ranges;
		struct loop_range range;

		memset(count, 0, sizeof(count));
		loop_ranges_init(&ranges, N);
		while ((range = loop_ranges_take(&ranges, 1 + rand_r(&seed) % 300)).n) {
			if (rand_r(&seed) % 3 == 0) {
				assert_int_equal(loop_ranges_return(&ranges, range), 0);
				continue;
			}
			for (size_t i = 0; i < range.n; i++)
				count[range.start + i]++;
		}
		for (size_t i = 0; i < N; i++)
			assert_int_equal(count[i], 1);
		loop_ranges_fini(&ranges);
	}
}

static void test_windows(void **state)
{
	struct loop_window window = loop_window(10, 5, 1, 0, 100);

	assert_int_equal(window.first, 10);
	assert_int_equal(window.count, 5);
	window = loop_window(0, 5, 2, 3, 100);
	assert_int_equal(window.first, 0);
	assert_int_equal(window.count, 13);
	window = loop_window(45, 5, 2, 3, 100);
	assert_int_equal(window.first, 87);
	assert_int_equal(window.count, 13);
	window = loop_window(0, 50, 2, 1000, 100);
	assert_int_equal(window.first, 0);
	assert_int_equal(window.count, 100);
}

static void test_allocations(void **state)
{
	for (size_t count = 1; count < 5000; count++) {
		size_t room = loop_window_allocation(count, 1 << 20);

		assert_true(room >= count);
		assert_true(room * 4 <= count * 5 || room < 8);
	}
	assert_int_equal(loop_window_allocation(1000, 1001), 1001);
}

static void test_room(void **state)
{
	struct loop_footprint footprint = {.shared = 100, .fixed = 10, .per_iteration = 3};

	assert_int_equal(loop_footprint_room(&footprint, 220, 3), 10);
	assert_int_equal(loop_footprint_room(&footprint, 139, 3), 1);
	assert_int_equal(loop_footprint_room(&footprint, 138, 3), 0);
	assert_int_equal(loop_footprint_room(&footprint, 138, 2), 3);
	assert_int_equal(loop_footprint_room(&footprint, 99, 1), 0);
	footprint.per_iteration = 0;
	assert_int_equal(loop_footprint_room(&footprint, 110, 1), SIZE_MAX);
	assert_int_equal(loop_footprint_room(&footprint, 109, 1), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_in_order),    cmocka_unit_test(test_returned_first),
	    cmocka_unit_test(test_each_once),   cmocka_unit_test(test_windows),
	    cmocka_unit_test(test_allocations), cmocka_unit_test(test_room),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
