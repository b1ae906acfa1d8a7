/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * When a block is late, and how it is shared.
 */
#include "config.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>

#include "partition/loop/late.h"
#include "tests/unit/test.h"

static void test_late(void **state)
{
	/* Overdue by its own time, by the time to compute it again, and by the least. */
	assert_false(loop_late_is(200, 100, 0, 0));
	assert_true(loop_late_is(201, 100, 0, 0));
	assert_false(loop_late_is(399, 100, 300, 0));
	assert_true(loop_late_is(401, 100, 300, 0));
	assert_false(loop_late_is(1099, 100, 300, 1000));
	assert_true(loop_late_is(1101, 100, 300, 1000));
	/* Nothing is known. */
	assert_false(loop_late_is(999, 0, 0, 1000));
	assert_true(loop_late_is(1001, 0, 0, 1000));
}

static void test_pieces(void **state)
{
	/* Half of a share. */
	assert_int_equal(loop_late_piece(1000, 1, 4, 4, 4, 1), 125);
	assert_int_equal(loop_late_piece(1000, 3, 4, 2, 2, 1), 375);
	/* An unknown rate is the mean of the others. */
	assert_int_equal(loop_late_piece(1200, 0, 4, 2, 3, 1), 200);
	assert_int_equal(loop_late_piece(1000, 0, 0, 0, 5, 1), 100);
	/* Multiples, or all. */
	assert_int_equal(loop_late_piece(1000, 1, 4, 4, 4, 100), 200);
	assert_int_equal(loop_late_piece(1000, 1, 1000, 1000, 1000, 64), 64);
	assert_int_equal(loop_late_piece(50, 1, 4, 4, 4, 64), 50);
	assert_int_equal(loop_late_piece(1, 1, 4, 4, 4, 1), 1);
	assert_int_equal(loop_late_piece(SIZE_MAX, 1, 1, 1, 1, SIZE_MAX), SIZE_MAX);
	assert_int_equal(loop_late_piece(0, 1, 1, 1, 1, 1), 0);
}

static void test_parts(void **state)
{
	/* An eighth, but 50 us or more. */
	assert_int_equal(loop_late_part(800, 400, 0, 1), 100);
	assert_int_equal(loop_late_part(800, 4000, 0, 1), 100);
	assert_int_equal(loop_late_part(800, 200, 0, 1), 200);
	assert_int_equal(loop_late_part(800, 99, 0, 1), 404);
	assert_int_equal(loop_late_part(800, 50, 0, 1), 800);
	assert_int_equal(loop_late_part(800, 0, 0, 1), 800);
	/* Twenty starts. */
	assert_int_equal(loop_late_part(800, 4000, 10, 1), 100);
	assert_int_equal(loop_late_part(800, 4000, 100, 1), 400);
	assert_int_equal(loop_late_part(800, 4000, 300, 1), 800);
	/* Multiples, or all. */
	assert_int_equal(loop_late_part(800, 400, 0, 64), 128);
	assert_int_equal(loop_late_part(5, 400, 0, 1), 1);
	assert_int_equal(loop_late_part(5, 400, 0, 4), 4);
	assert_int_equal(loop_late_part(5, 400, 0, 8), 5);
	assert_int_equal(loop_late_part(1, 1e18, 0, 1), 1);
	assert_int_equal(loop_late_part(0, 400, 0, 1), 0);
	assert_int_equal(loop_late_part(SIZE_MAX, 0, 0, SIZE_MAX - 1), SIZE_MAX);

	/* Eight times as long as expected, and the rest is not short. */
	assert_true(fabs(loop_late_rest_us(800, 100, 401, 400) - 2807) < 1e-9);
	assert_true(loop_late_rest_us(800, 100, 400, 400) == 0);
	assert_true(fabs(loop_late_rest_us(800, 400, 1601, 400) - 1601) < 1e-9);
	assert_true(loop_late_rest_us(8, 7, 600, 50) == 0);
	assert_true(loop_late_rest_us(8, 7, 700, 50) == 0);
	assert_true(fabs(loop_late_rest_us(8, 7, 707, 50) - 101) < 1e-9);
	assert_true(loop_late_rest_us(800, 0, 1e9, 400) == 0);
}

/* Workers that take pieces one after the other, as they are free, are done at nearly the same
 * time. */
static void test_balance(void **state)
{
	unsigned seed = test_seed();

	for (int round = 0; round < 1000; round++) {
		enum { MOST = 20 };
		size_t n = 1000 + rand_r(&seed) % 1000000, left = n, given = 0;
		size_t unit = 1 + n / 32 / MOST;
		unsigned workers = 1 + rand_r(&seed) % MOST;
		double rates[MOST], ends[MOST] = {0}, sum = 0, slowest = 1e300, last = 0;

		for (unsigned w = 0; w < workers; w++) {
			rates[w] = 1 + rand_r(&seed) % 50;
			sum += rates[w];
			slowest = rates[w] < slowest ? rates[w] : slowest;
		}
		while (left) {
			unsigned first = 0;
			size_t piece;

			for (unsigned w = 1; w < workers; w++)
				if (ends[w] < ends[first])
					first = w;
			piece = loop_late_piece(left, rates[first], sum, workers, workers, unit);
			assert_in_range(piece, 1, left);
			ends[first] += piece / rates[first];
			given += piece;
			left -= piece;
		}
		assert_int_equal(given, n);
		for (unsigned w = 0; w < workers; w++)
			last = ends[w] > last ? ends[w] : last;
		/* The last to end began while all others computed. */
		assert_true(last <= n / sum + unit / slowest + 1e-6);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_late),
	    cmocka_unit_test(test_pieces),
	    cmocka_unit_test(test_parts),
	    cmocka_unit_test(test_balance),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
