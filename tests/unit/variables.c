/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "support/variables.h"
#include "tests/unit/test.h"

static void test_defaults_are_valid(void **state)
{
	for (int v = 0; v < HEDDLE_NVARIABLES; v++) {
		const struct heddle_variable_row *row = &heddle_variable_table[v];

		assert_true(heddle_variable_valid(row, row->value));
		assert_int_equal(strncmp(row->name, "HEDDLE_", 7), 0);
		assert_true(strlen(row->doc) > 10);
	}
}

static bool valid(enum heddle_variable variable, const char *text)
{
	return heddle_variable_valid(&heddle_variable_table[variable], text);
}

static void test_types(void **state)
{
	struct heddle_variable_row real = {
	    .type = HEDDLE_TYPE_REAL, .value = "0", .least = -1, .most = 1e300};
	char values[40];

	assert_true(valid(HEDDLE_VARIABLE_PIN, "1"));
	assert_false(valid(HEDDLE_VARIABLE_PIN, "2"));
	assert_false(valid(HEDDLE_VARIABLE_PIN, "0.5"));
	assert_true(valid(HEDDLE_VARIABLE_DEPTH, "12"));
	assert_false(valid(HEDDLE_VARIABLE_DEPTH, "-1"));
	assert_false(valid(HEDDLE_VARIABLE_DEPTH, "1.5"));
	assert_false(valid(HEDDLE_VARIABLE_DEPTH, ""));
	assert_true(heddle_variable_valid(&real, "-0.5"));
	assert_false(heddle_variable_valid(&real, "-2"));
	assert_false(heddle_variable_valid(&real, "1e999"));
	assert_false(heddle_variable_valid(&real, "nan"));
	assert_false(heddle_variable_valid(&real, "0.5x"));
	assert_true(valid(HEDDLE_VARIABLE_FPGA_TIME, "wall"));
	assert_true(valid(HEDDLE_VARIABLE_FPGA_TIME, "modelled"));
	assert_false(valid(HEDDLE_VARIABLE_FPGA_TIME, "model"));
	assert_false(valid(HEDDLE_VARIABLE_FPGA_TIME, ""));
	assert_false(valid(HEDDLE_VARIABLE_FPGA_TIME, "wall or modelled"));
	assert_true(valid(HEDDLE_VARIABLE_KERNEL_BUSES, "find"));
	assert_true(valid(HEDDLE_VARIABLE_KERNEL_BUSES, "16"));
	assert_false(valid(HEDDLE_VARIABLE_KERNEL_BUSES, "17"));
	assert_false(valid(HEDDLE_VARIABLE_KERNEL_BUSES, "found"));
	assert_false(valid(HEDDLE_VARIABLE_DEPTH, "find"));
	heddle_variable_values(&heddle_variable_table[HEDDLE_VARIABLE_KERNEL_BUSES], values,
	                       sizeof(values));
	assert_string_equal(values, "find or 0 to 16");
	heddle_variable_values(&heddle_variable_table[HEDDLE_VARIABLE_DEPTH], values,
	                       sizeof(values));
	assert_string_equal(values, "0 to 64 blocks or tasks");
}

/* A depth of 2^32 - 1 once divided by zero, and one of 2^40 was cut off. */
static void test_ranges(void **state)
{
	assert_true(valid(HEDDLE_VARIABLE_DEPTH, "64"));
	assert_false(valid(HEDDLE_VARIABLE_DEPTH, "4294967295"));
	assert_false(valid(HEDDLE_VARIABLE_DEPTH, "1e300"));
	assert_false(valid(HEDDLE_VARIABLE_PARTS, "1e300"));
	assert_false(valid(HEDDLE_VARIABLE_TASK, "-1"));
	setenv("HEDDLE_DEPTH", "4294967295", 1);
	assert_int_equal(heddle_variable_number(HEDDLE_VARIABLE_DEPTH), 2);
	unsetenv("HEDDLE_DEPTH");
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
	unsetenv("HEDDLE_KERNEL_BUSES");
	assert_int_equal(heddle_variable_number(HEDDLE_VARIABLE_KERNEL_BUSES), 0);
	setenv("HEDDLE_KERNEL_BUSES", "3", 1);
	assert_int_equal(heddle_variable_number(HEDDLE_VARIABLE_KERNEL_BUSES), 3);
	unsetenv("HEDDLE_KERNEL_BUSES");
}

static void test_check(void **state)
{
	char *good[] = {"HOME=/", "HEDDLE_DEPTH=3", "HEDDLEX=1", NULL};
	char *unknown[] = {"HEDDLE_DEPHT=3", NULL};
	char *malformed[] = {"HEDDLE_PIN=maybe", NULL};

	assert_true(valid(HEDDLE_VARIABLE_PREFETCH, "auto"));
	assert_false(valid(HEDDLE_VARIABLE_PREFETCH, "many"));
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
	    cmocka_unit_test(test_ranges),
	    cmocka_unit_test(test_environment_wins),
	    cmocka_unit_test(test_check),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
