/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "config.h"

#include <stdio.h>
#include <starpu.h>
#include <heddle/heddle.h>

#include "tests/unit/test.h"

static void test_own_starpu_matches(void **state)
{
	assert_int_equal(heddle_starpu_check(), 0);
}

static void test_version(void **state)
{
	char headers[64];

	assert_string_equal(heddle_version(), PACKAGE_VERSION);
	snprintf(headers, sizeof(headers), "%d.%d.%d", HEDDLE_VERSION_MAJOR, HEDDLE_VERSION_MINOR,
		 HEDDLE_VERSION_PATCH);
	assert_string_equal(headers, PACKAGE_VERSION);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_own_starpu_matches),
		cmocka_unit_test(test_version),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
