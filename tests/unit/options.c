/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Command lines as tables: each kind of option reaches its variable, and what is wrong ends the
 * program with status 2.
 */
#include "config.h"

#include <stdarg.h>
#include <setjmp.h>
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "support/options.h"

struct values {
	bool flag, unset;
	unsigned count;
	size_t size;
	float single;
	double real;
	enum { NONE, RED, GREEN } colour;
	const char *text;
	char *parsed, *argument;
	unsigned looked;
};

static const char *const colours[] = {[RED] = "red", [GREEN] = "green"};

static void parse_upper(void *data, char *text, struct argp_state *state)
{
	if (*text == '!')
		argp_error(state, "--parsed %s: no", text);
	((struct values *)data)->parsed = text;
}

static error_t take_argument(void *data, int key, char *text, struct argp_state *state)
{
	if (key != ARGP_KEY_ARG)
		return ARGP_ERR_UNKNOWN;
	((struct values *)data)->argument = text;
	return 0;
}

static void look(void *data, struct argp_state *state)
{
	((struct values *)data)->looked++;
}

static const struct option_row first[] = {
    {"flag", NULL, "a flag", SETS(struct values, flag, true)},
    {"no-unset", NULL, "a flag", SETS(struct values, unset, false), .letter = 'u'},
    {"count", "N", "a number", NUMBER(struct values, count, 1, 4096)},
    {"number", "N", NULL, NUMBER(struct values, count, 1, 4096)},
    {"size", "N", "a number", NUMBER(struct values, size, 0, UINT64_MAX), .letter = 's'},
    {"colour", "NAME", "a name", NAMED(struct values, colour, colours)},
    {0},
};

static const struct option_row second[] = {
    {"single", "X", "a number", REAL(struct values, single, -1, 1)},
    {"real", "X", "a number", REAL(struct values, real, -1, 1)},
    {"text", "TEXT", "a text", TEXT(struct values, text)},
    {"parsed", "TEXT", "a text", PARSED(parse_upper)},
    {0},
};

static struct values parse(const char *line)
{
	static char words[256];
	struct values values = {.unset = true}, others = {0};
	struct option_set child = {.rows = second, .data = &others, .check = look};
	struct option_set set = {.rows = first,
	                         .data = &values,
	                         .argument = take_argument,
	                         .check = look,
	                         .next = &child};
	const struct option_program program = {.name = "test"};
	char *argv[32] = {"test"}, *rest = words, *word;
	int argc = 1;

	snprintf(words, sizeof(words), "%s", line);
	while ((word = strsep(&rest, " ")) && *word)
		argv[argc++] = word;
	options_parse(&program, &set, argc, argv);
	values.single = others.single;
	values.real = others.real;
	values.text = others.text;
	values.parsed = others.parsed;
	values.looked += others.looked;
	return values;
}

static void test_kinds(void **state)
{
	struct values values = parse("--flag -u --number=2K --size 18446744073709551615 --colour "
	                             "green --single -0.5 --real 1e-3 --text some --parsed x word");

	assert_true(values.flag && !values.unset);
	assert_int_equal(values.count, 2048);
	assert_true(values.size == UINT64_MAX);
	assert_int_equal(values.colour, GREEN);
	assert_true(values.single == -0.5f && values.real == 1e-3);
	assert_string_equal(values.text, "some");
	assert_string_equal(values.parsed, "x");
	assert_string_equal(values.argument, "word");
	assert_int_equal(values.looked, 2);
	assert_true(parse("").unset);
}

static void test_refused(void **state)
{
	static const char *const lines[] = {
	    "--count 0",  "--count 5K", "--count 1.5", "--count -1", "--colour blue",
	    "--single 2", "--real nan", "--parsed !",  "--none",     "--flag=1",
	};

	for (size_t l = 0; l < sizeof(lines) / sizeof(*lines); l++) {
		pid_t child = fork();
		int status;

		if (!child) {
			fclose(stderr);
			parse(lines[l]);
			_exit(0);
		}
		assert_int_equal(waitpid(child, &status, 0), child);
		if (!WIFEXITED(status) || WEXITSTATUS(status) != 2)
			fail_msg("%s: status %d", lines[l], status);
	}
}

/* A table that is too long, or one too many, does not write over what lies behind. */
static void test_too_many(void **state)
{
	static struct option_row rows[34];
	static struct values values;
	static const struct option_program program = {.name = "test"};
	struct option_set sets[4] = {{0}};

	for (int r = 0; r < 33; r++)
		rows[r] = (struct option_row){"flag", NULL, "a flag",
		                              SETS(struct values, flag, true), .letter = 33 + r};
	for (int s = 0; s < 4; s++)
		sets[s] = (struct option_set){
		    .rows = first, .data = &values, .next = s < 3 ? &sets[s + 1] : NULL};
	for (int many = 0; many < 2; many++) {
		char *argv[] = {"test", NULL};
		struct option_set set = {.rows = rows, .data = &values};
		pid_t child = fork();
		int status;

		if (!child) {
			fclose(stderr);
			options_parse(&program, many ? sets : &set, 1, argv);
			_exit(0);
		}
		assert_int_equal(waitpid(child, &status, 0), child);
		assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
	}
}

static void test_number(void **state)
{
	uint64_t number = 5;

	assert_int_equal(options_number("3K", 0, UINT64_MAX, &number), 0);
	assert_true(number == 3072);
	assert_int_equal(options_number("16777216T", 0, UINT64_MAX, &number), -ERANGE);
	assert_int_equal(options_number("16777215T", 0, UINT64_MAX, &number), 0);
	assert_int_equal(options_number("18446744073709551616", 0, UINT64_MAX, &number), -ERANGE);
	assert_int_equal(options_number("2", 3, 4, &number), -ERANGE);
	assert_int_equal(options_number("5", 3, 4, &number), -ERANGE);
	assert_int_equal(options_number("", 0, 9, &number), -EINVAL);
	assert_int_equal(options_number(" 1", 0, 9, &number), -EINVAL);
	assert_int_equal(options_number("-1", 0, 9, &number), -EINVAL);
	assert_int_equal(options_number("1KK", 0, UINT64_MAX, &number), -EINVAL);
	assert_int_equal(options_number("1.5", 0, 9, &number), -EINVAL);
}

static void test_real(void **state)
{
	double number;

	assert_int_equal(options_real("-0.5", -1, 1, &number), 0);
	assert_true(number == -0.5);
	assert_int_equal(options_real("nan", -1, 1, &number), -EINVAL);
	assert_int_equal(options_real("inf", -1, 1, &number), -EINVAL);
	assert_int_equal(options_real("1x", -1, 1, &number), -EINVAL);
	assert_int_equal(options_real("", -1, 1, &number), -EINVAL);
	assert_int_equal(options_real("1.01", -1, 1, &number), -ERANGE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_kinds),    cmocka_unit_test(test_refused),
	    cmocka_unit_test(test_too_many), cmocka_unit_test(test_number),
	    cmocka_unit_test(test_real),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
