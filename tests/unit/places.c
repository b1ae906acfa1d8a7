/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Where files are that were installed elsewhere than configure said.
 */
#include "config.h"

#include <stdlib.h>

#include "support/place.h"
#include "tests/unit/test.h"

static void test_moved(void **state)
{
	static const struct {
		const char *here, *prefix, *known, *wanted, *place;
	} cases[] = {
	    {"/opt/h/bin", "/usr", "/usr/bin", "/usr/share/x", "/opt/h/share/x"},
	    {"/usr/bin", "/usr", "/usr/bin", "/usr/libexec/x", "/usr/libexec/x"},
	    {"/h/build/.libs", "", "/.libs", "/bin/x", "/h/build/bin/x"},
	    /* Not there, elsewhere than the prefix, no longer a folder's name. */
	    {"/opt/h/sbin/x", "/usr", "/usr/bin", "/usr/share/x", NULL},
	    {"/bin", "/usr", "/usr/lib/x86/bin", "/usr/share/x", NULL},
	    {"/opt/h/bin", "/usr", "/bin", "/usr/share/x", NULL},
	    {"/opt/h/bin", "/usr", "/usr/bin", "/var/x", NULL},
	    {"/opt/h/bin", "/us", "/usr/bin", "/usr/share/x", NULL},
	};

	for (size_t c = 0; c < sizeof(cases) / sizeof(*cases); c++) {
		char *place = heddle_place_moved(cases[c].here, cases[c].prefix, cases[c].known,
		                                 cases[c].wanted);

		if (cases[c].place)
			assert_string_equal(place, cases[c].place);
		else
			assert_null(place);
		free(place);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_moved)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
