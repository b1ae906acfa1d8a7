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
	unsigned seed = test_seed();
	enum { N = 5000 };
	unsigned char count[N];

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

static void assert_window(struct loop_cut cut, size_t start, size_t n, size_t first, size_t count)
{
	struct loop_window window = loop_window(&cut, start, n);

	assert_int_equal(window.first, first);
	assert_int_equal(window.count, count);
}

static void test_windows(void **state)
{
	assert_window((struct loop_cut){.units = 100, .per_iteration = 1}, 10, 5, 10, 5);
	assert_window((struct loop_cut){.units = 100, .per_iteration = 2, .halo = 3}, 0, 5, 0, 13);
	assert_window((struct loop_cut){.units = 100, .per_iteration = 2, .halo = 3}, 45, 5, 87,
	              13);
	assert_window((struct loop_cut){.units = 100, .per_iteration = 2, .halo = 1000}, 0, 50, 0,
	              100);
}

/* Cuts of 100 units by entries of 4 and of 8 bytes. */
static void index_cuts(const uint32_t *entries, size_t n, uint64_t *wide, struct loop_cut cuts[2])
{
	for (size_t i = 0; i < n; i++)
		wide[i] = entries[i];
	for (int c = 0; c < 2; c++)
		cuts[c] = (struct loop_cut){.units = 100,
		                            .index = c ? (const void *)wide : entries,
		                            .index_bytes = c ? 8 : 4};
}

static void test_windows_by_index(void **state)
{
	static const uint32_t entries[] = {3, 3, 10, 10, 100};
	uint64_t wide[5];
	struct loop_cut cuts[2];

	index_cuts(entries, 5, wide, cuts);
	for (int c = 0; c < 2; c++) {
		assert_window(cuts[c], 0, 1, 3, 0);
		assert_window(cuts[c], 0, 2, 3, 7);
		assert_window(cuts[c], 1, 3, 3, 97);
		assert_window(cuts[c], 3, 1, 10, 90);
		assert_int_equal(loop_index_wrong(&cuts[c], 0, 4), SIZE_MAX);
		assert_int_equal(loop_index_wrong(&cuts[c], 4, 0), SIZE_MAX);
	}
}

/* A wrong index is found, and its windows lie in the array. */
static void test_wrong_indices(void **state)
{
	static const uint32_t falls[] = {0, 50, 40, 60, 90}, beyond[] = {0, 101, 101, 102, 90};
	uint64_t wide[5];
	struct loop_cut cuts[2];

	index_cuts(falls, 5, wide, cuts);
	for (int c = 0; c < 2; c++) {
		assert_int_equal(loop_index_wrong(&cuts[c], 0, 4), 2);
		assert_int_equal(loop_index_wrong(&cuts[c], 2, 2), SIZE_MAX);
		assert_window(cuts[c], 1, 1, 40, 0);
	}
	index_cuts(beyond, 5, wide, cuts);
	for (int c = 0; c < 2; c++) {
		assert_int_equal(loop_index_wrong(&cuts[c], 0, 4), 1);
		assert_int_equal(loop_index_wrong(&cuts[c], 2, 1), 2);
		assert_window(cuts[c], 0, 1, 0, 100);
		assert_window(cuts[c], 1, 2, 100, 0);
	}
	wide[1] = (uint64_t)-1;
	assert_int_equal(loop_index_wrong(&cuts[1], 0, 1), 1);
	assert_window(cuts[1], 0, 1, 0, 100);
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
	    cmocka_unit_test(test_in_order),         cmocka_unit_test(test_returned_first),
	    cmocka_unit_test(test_each_once),        cmocka_unit_test(test_windows),
	    cmocka_unit_test(test_windows_by_index), cmocka_unit_test(test_wrong_indices),
	    cmocka_unit_test(test_allocations),      cmocka_unit_test(test_room),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
