/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The area bound of task graphs, against bounds that are known.
 */
#include "config.h"

#include <math.h>

#include "tools/bench/bound.h"
#include "test.h"

static void check(const struct bound_problem *problem, double us)
{
#ifdef HEDDLE_HAVE_GLPK
	if (fabs(bound_area_us(problem) - us) > 1e-6 * us)
		fail_msg("%g instead of %g", bound_area_us(problem), us);
#else
	assert_true(bound_area_us(problem) == 0);
#endif
}

/* Two classes: the tasks that the second speeds up most fill it. */
static void test_two_classes(void **state)
{
	const double tasks[] = {10, 20}, workers[] = {2, 1};
	const double us[] = {100, 10, 40, 20};
	const struct bound_problem problem = {2, 2, tasks, workers, us};

	/* The second does all of type 0 in 100, and x of type 1: 100 + 20 x = 40 (20 - x) / 2. */
	check(&problem, 100 + 20 * 7.5);
}

static void test_one_class(void **state)
{
	const double tasks[] = {3, 5}, workers[] = {4}, us[] = {1e6, 2e6};
	const struct bound_problem problem = {2, 1, tasks, workers, us};

	check(&problem, 13e6 / 4);
}

/* Tasks that only one class runs, others that no time is known of. */
static void test_somewhere(void **state)
{
	const double tasks[] = {8, 100}, workers[] = {1, 1, 2};
	const double us[] = {-1, 5, -1, 4, 4, 4};
	const double nowhere[] = {-1, 5, -1, -1, 0, -1};
	struct bound_problem problem = {2, 3, tasks, workers, us};

	check(&problem, (8 * 5 + 100 * 4) / 4.0);
	problem.us = nowhere;
	assert_true(bound_area_us(&problem) == 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_two_classes),
	    cmocka_unit_test(test_one_class),
	    cmocka_unit_test(test_somewhere),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
