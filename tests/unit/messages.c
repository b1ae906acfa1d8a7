/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * What was refused is known in the thread where it was, once, also where nothing is printed.
 */
#include "config.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "support/message.h"
#include "tests/unit/test.h"

static void test_taken_once(void **state)
{
	setenv("HEDDLE_VERBOSE", "0", 1);
	assert_null(heddle_refusal_take());
	assert_null(heddle_refusal_copy());
	assert_int_equal(heddle_refuse(-EINVAL, "array %d", 1), -EINVAL);
	assert_int_equal(heddle_refuse(-ERANGE, "array %d\033", 2), -ERANGE);
	heddle_warn("not a refusal");
	assert_string_equal(heddle_refusal_take(), "array 2?");
	assert_null(heddle_refusal_take());
}

static void *other(void *copy)
{
	if (heddle_refusal_take())
		return "the other thread's";
	heddle_refuse(-EIO, "here");
	*(char **)copy = heddle_refusal_copy();
	return NULL;
}

static void test_threads(void **state)
{
	char *copy = NULL;
	void *wrong;
	pthread_t thread;

	heddle_refuse(-EIO, "there");
	assert_int_equal(pthread_create(&thread, NULL, other, &copy), 0);
	assert_int_equal(pthread_join(thread, &wrong), 0);
	assert_null(wrong);
	assert_string_equal(copy, "here");
	assert_string_equal(heddle_refusal_take(), "there");
	heddle_refusal_set(copy);
	assert_string_equal(heddle_refusal_take(), "here");
	free(copy);
}

static void test_long(void **state)
{
	char text[5000];

	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = 0;
	heddle_refuse(-EIO, "%s", text);
	assert_int_equal(strspn(heddle_refusal_take(), "x"), 1023);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_taken_once),
	    cmocka_unit_test(test_threads),
	    cmocka_unit_test(test_long),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
