/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "private/variables.h"
#include "tests/unit/test.h"

static void test_defaults_are_valid(void **state)
{
	for (int v = 0; v < HEDDLE_NVARIABLES; v++) {
		const struct heddle_variable_row *row = &heddle_variable_table[v];

		assert_true(heddle_variable_valid(row->type, row->value));
		assert_int_equal(strncmp(row->name, "HEDDLE_", 7), 0);
		assert_true(strlen(row->doc) > 10);
	}
}

static void test_types(void **state)
{
	assert_true(heddle_variable_valid(HEDDLE_TYPE_FLAG, "1"));
	assert_false(heddle_variable_valid(HEDDLE_TYPE_FLAG, "2"));
	assert_true(heddle_variable_valid(HEDDLE_TYPE_INTEGER, "12"));
	assert_false(heddle_variable_valid(HEDDLE_TYPE_INTEGER, "-1"));
	assert_false(heddle_variable_valid(HEDDLE_TYPE_INTEGER, "1.5"));
	assert_false(heddle_variable_valid(HEDDLE_TYPE_INTEGER, ""));
	assert_true(heddle_variable_valid(HEDDLE_TYPE_REAL, "-0.5"));
	assert_false(heddle_variable_valid(HEDDLE_TYPE_REAL, "1e999"));
	assert_false(heddle_variable_valid(HEDDLE_TYPE_REAL, "0.5x"));
}

static void test_environment_wins(void **state)
{
	unsetenv("HEDDLE_DEPTH");
	assert_false(heddle_variable_is_set(HEDDLE_VARIABLE_DEPTH));
	assert_int_equal(heddle_variable_number(HEDDLE_VARIABLE_DEPTH), 2);
	setenv("HEDDLE_DEPTH", "5", 1);
	assert_true(heddle_variable_is_set(HEDDLE_VARIABLE_DEPTH));
	assert_int_equal(heddle_variable_number(HEDDLE_VARIABLE_DEPTH), 5);
	setenv("HEDDLE_DEPTH", "many", 1);
	assert_int_equal(heddle_variable_number(HEDDLE_VARIABLE_DEPTH), 2);
	unsetenv("HEDDLE_DEPTH");
}

static void test_check(void **state)
{
	char *good[] = {"HOME=/", "HEDDLE_DEPTH=3", "HEDDLEX=1", NULL};
	char *unknown[] = {"HEDDLE_DEPHT=3", NULL};
	char *malformed[] = {"HEDDLE_PIN=maybe", NULL};

	setenv("HEDDLE_VERBOSE", "0", 1);
	assert_int_equal(heddle_variables_check(good), 0);
	assert_int_equal(heddle_variables_check(unknown), 0);
	assert_int_equal(heddle_variables_check(malformed), -EINVAL);
	unsetenv("HEDDLE_VERBOSE");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_defaults_are_valid),
		cmocka_unit_test(test_types),
		cmocka_unit_test(test_environment_wins),
		cmocka_unit_test(test_check),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
