/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Numbers under a locale whose decimal point is a comma: profiles are read and written,
 * specifications and variables understood as ever.
 */
#include "config.h"

#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <heddle/strategy.h>

#include "estimator/profile.h"
#include "support/number.h"
#include "estimator/platform.h"
#include "support/variables.h"
#include "tests/unit/test.h"

static char folder[] = "/tmp/heddle-numbers-XXXXXX";

static void put(const char *name, const char *text)
{
	char path[64];
	FILE *stream;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	stream = fopen(path, "w");
	assert_non_null(stream);
	fputs(text, stream);
	assert_int_equal(fclose(stream), 0);
}

/* Makes such a locale, of nothing that a system may lack, and takes it. */
static bool locale_take(void)
{
	char command[256];

	put("comma", "LC_NUMERIC\ndecimal_point \",\"\nthousands_sep \"\"\ngrouping -1\n"
	             "END LC_NUMERIC\n");
	put("charmap", "<code_set_name> ASCII7\n<mb_cur_min> 1\n<mb_cur_max> 1\nCHARMAP\n"
	               "<U0000>..<U007F> /x00 ascii\nEND CHARMAP\n");
	snprintf(command, sizeof(command),
	         "cd %s && localedef -c -f ./charmap -i ./comma ./xx_XX >localedef.log 2>&1",
	         folder);
	if (system(command) < 0)
		return false;
	setenv("LOCPATH", folder, 1);
	return setlocale(LC_NUMERIC, "xx_XX") && localeconv()->decimal_point[0] == ',';
}

static void test_the_program_keeps_its_locale(void **state)
{
	char text[8], *end;

	assert_true(heddle_number_parse("1.5", &end) == 1.5 && !*end);
	snprintf(text, sizeof(text), "%g", 1.5);
	assert_string_equal(text, "1,5");
}

static void test_profile(void **state)
{
	static const char line[] = "task n=0.125 : us=1.5,2.5\n";
	struct heddle_profile profile = {0};
	unsigned skipped;
	char *printed;
	size_t n;
	FILE *out = open_memstream(&printed, &n);

	assert_int_equal(heddle_profile_parse(&profile, line, strlen(line), "it", &skipped), 0);
	assert_int_equal(skipped, 0);
	assert_int_equal(profile.n, 1);
	assert_non_null(out);
	assert_int_equal(heddle_profile_print(&profile, out), 0);
	fclose(out);
	assert_string_equal(printed, line);
	free(printed);
	heddle_profile_free(&profile);
}

static void test_specifications(void **state)
{
	struct heddle_strategy_problem problem = {.n = 100, .nworkers = 1};
	struct heddle_strategy *blocks;
	struct heddle_platform platform;

	assert_int_equal(heddle_strategy_create("hdss:change=0.25", &problem, &blocks), 0);
	heddle_strategy_destroy(blocks);
	assert_int_equal(heddle_platform_parse("2cpu=0.5+gpu1.5", &platform), 0);
	assert_true(platform.core_rate == 0.5);
	setenv("HEDDLE_TASK", "12.5", 1);
	assert_true(heddle_variable_number(HEDDLE_VARIABLE_TASK) == 12.5);
	unsetenv("HEDDLE_TASK");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_the_program_keeps_its_locale),
	    cmocka_unit_test(test_profile),
	    cmocka_unit_test(test_specifications),
	};
	char command[64];
	int failed;

	if (!mkdtemp(folder))
		return 99;
	failed = locale_take() ? cmocka_run_group_tests(tests, NULL, NULL) : 77;
	snprintf(command, sizeof(command), "rm -rf %s", folder);
	return system(command) ? 99 : failed;
}
