/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * What blocks are believed to take, against values worked out by hand.
 */
#include "config.h"

#include <errno.h>
#include <math.h>

#include "estimator/block_time.h"
#include "estimator/rate_fit.h"
#include "tests/unit/test.h"

static void assert_near(double is, double should)
{
	if (fabs(is - should) > 1e-6 * fabs(should))
		fail_msg("%.9g instead of %.9g", is, should);
}

static void test_line(void **state)
{
	struct heddle_line line = {0};
	double slope, intercept;

	assert_int_equal(heddle_line_fit(&line, &slope, &intercept), -EDOM);
	heddle_line_add(&line, 3, 5);
	heddle_line_add(&line, 3, 7);
	assert_int_equal(heddle_line_fit(&line, &slope, &intercept), -EDOM);
	/* Means 2 and 2; slope ((-1)(-1) + 0 + 0) / 2. */
	line = (struct heddle_line){0};
	heddle_line_add(&line, 1, 1);
	heddle_line_add(&line, 2, 3);
	heddle_line_add(&line, 3, 2);
	assert_int_equal(heddle_line_fit(&line, &slope, &intercept), 0);
	assert_near(slope, 0.5);
	assert_near(intercept, 1);
}

/* HDSS's curve, rate = 2 ln(n) + 1, through four sizes. */
static void test_logarithm(void **state)
{
	struct heddle_line line = {0};
	double slope, intercept;

	for (double n = 128; n <= 1024; n *= 2)
		heddle_line_add(&line, log(n), 2 * log(n) + 1);
	assert_int_equal(heddle_line_fit(&line, &slope, &intercept), 0);
	assert_near(slope, 2);
	assert_near(intercept, 1);
}

static void test_two_sizes(void **state)
{
	struct heddle_block_time t = {0};

	heddle_block_time_add(&t, 100, 60, true, true);
	assert_false(t.start_known);
	assert_near(heddle_block_time_us(&t, 100), 60);
	heddle_block_time_add(&t, 1000, 150, true, true);
	assert_true(t.start_known);
	assert_near(t.start_us, 50);
	assert_near(t.pace, 0.1);
	assert_near(heddle_block_time_us(&t, 500), 100);
	assert_near(heddle_block_time_fit(&t, 100), 500);
	assert_near(heddle_block_time_fit(&t, 40) + 1, 1);
}

/* A block that took 500 times as long is believed at once: its iterations may cost so much. The
 * short blocks that follow tell soon if they do not. */
static void test_slow_block(void **state)
{
	struct heddle_block_time t = {0};

	for (int i = 0; i < 5; i++)
		heddle_block_time_add(&t, 100, 10, true, true);
	heddle_block_time_add(&t, 100, 5000, true, true);
	assert_true(t.pace > 10 && t.pace < 50);
	for (int i = 0; i < 20; i++)
		heddle_block_time_add(&t, 10, 1, true, true);
	assert_true(t.pace < 1);
	/* Not robust: the latest block is all there is. */
	heddle_block_time_add(&t, 100, 20, false, false);
	assert_near(t.pace, 0.2);
}

/* A worker at half its speed is believed to be so after some blocks. */
static void test_follows(void **state)
{
	struct heddle_block_time t = {0};

	for (int i = 0; i < 10; i++)
		heddle_block_time_add(&t, 100, 10, true, true);
	for (int i = 0; i < 4; i++)
		heddle_block_time_add(&t, 100, 20, true, true);
	assert_true(t.pace > 0.17 && t.pace < 0.2);
}

/* In a pipeline two blocks may end shortly after each other: the sum counts. */
static void test_uneven_ends(void **state)
{
	struct heddle_block_time t = {0};

	for (int i = 0; i < 20; i++)
		heddle_block_time_add(&t, 100, i % 2 ? 18 : 2, true, true);
	assert_true(t.pace > 0.08 && t.pace < 0.13);
}

/* No noise makes the start longer than the shortest block, or the pace
 * negative. */
static void test_start_bounds(void **state)
{
	struct heddle_block_time t = {0};

	heddle_block_time_add(&t, 100, 10, true, true);
	heddle_block_time_add(&t, 1000, 10.001, true, true);
	assert_true(t.start_us < 10 && t.pace > 0);
	heddle_block_time_add(&t, 1000, 5, true, true);
	assert_true(t.start_us >= 0 && t.start_us < 5 && t.pace > 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_line),         cmocka_unit_test(test_logarithm),
	    cmocka_unit_test(test_two_sizes),    cmocka_unit_test(test_slow_block),
	    cmocka_unit_test(test_follows),      cmocka_unit_test(test_uneven_ends),
	    cmocka_unit_test(test_start_bounds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
