/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * How many launches that nobody waits for may be under way.
 */
#include "config.h"

#include "partition/kernel/launch/ahead.h"
#include "tests/unit/test.h"

static void begin(struct ahead *ahead, unsigned n, unsigned usual)
{
	for (unsigned i = 0; i < n; i++) {
		assert_false(ahead_full(ahead, usual));
		ahead->n++;
	}
}

/* @return how often those who wait were told to look */
static unsigned end(struct ahead *ahead, unsigned n)
{
	unsigned looks = 0;

	for (unsigned i = 0; i < n; i++)
		looks += ahead_ended(ahead);
	return looks;
}

static void bounded(void **state)
{
	struct ahead ahead = {0};

	begin(&ahead, 100, 100);
	assert_true(ahead_full(&ahead, 100));
	assert_int_equal(end(&ahead, 49), 0);
	assert_false(ahead_few(&ahead));
	assert_int_equal(end(&ahead, 1), 1);
	assert_true(ahead_few(&ahead));
	begin(&ahead, 50, 100);
	assert_true(ahead_full(&ahead, 100));
	assert_int_equal(end(&ahead, 100), 2);
	assert_int_equal(ahead.n, 0);
}

static void one_at_a_time(void **state)
{
	struct ahead ahead = {0};

	begin(&ahead, 1, 1);
	assert_true(ahead_full(&ahead, 1));
	assert_false(ahead_few(&ahead));
	assert_int_equal(end(&ahead, 1), 1);
	assert_true(ahead_few(&ahead));
}

static void without_bound(void **state)
{
	struct ahead ahead = {0};

	begin(&ahead, 100000, 0);
	end(&ahead, 100000);
	begin(&ahead, 10, 10); /* which may change */
	assert_true(ahead_full(&ahead, 10));
}

/* Who gives up is few times held up, and the bound is back when most have ended. */
static void in_vain(void **state)
{
	struct ahead ahead = {0};
	unsigned waits = 0;

	for (unsigned i = 0; i < 200000; i++) {
		if (ahead_full(&ahead, 1024)) {
			waits++;
			ahead_give_up(&ahead);
			assert_true(ahead_few(&ahead));
			assert_false(ahead_full(&ahead, 1024));
		}
		ahead.n++;
	}
	assert_int_equal(waits, 8); /* 1024 * 2^8 > 200000 */
	end(&ahead, 200000 - 512);
	begin(&ahead, 512, 1024);
	assert_true(ahead_full(&ahead, 1024));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(bounded),
	    cmocka_unit_test(one_at_a_time),
	    cmocka_unit_test(without_bound),
	    cmocka_unit_test(in_vain),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
