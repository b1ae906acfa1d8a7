/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Whether a thread that submits a kernel launches it: where nothing speaks against it, and
 * each reason is enough not to.
 */
#include "config.h"

#include <string.h>

#include "partition/kernel/launch/direct.h"
#include "tests/unit/test.h"

static const struct kernel_direct_facts fair = {
    .allowed = true, .shares = true, .known = true, .at_home = true};

static void nothing_against_it(void **state)
{
	assert_null(kernel_direct_refusal(&fair));
}

static void one_reason_is_enough(void **state)
{
	struct kernel_direct_facts facts[6] = {fair, fair, fair, fair, fair, fair};
	const char *reasons[6];

	facts[0].allowed = false;
	facts[1].shares = false;
	facts[2].known = false;
	facts[3].on_worker = true;
	facts[4].at_home = false;
	facts[5].tasks_ready = 1;
	for (int i = 0; i < 6; i++) {
		reasons[i] = kernel_direct_refusal(&facts[i]);
		assert_non_null(reasons[i]);
		for (int k = 0; k < i; k++)
			assert_string_not_equal(reasons[i], reasons[k]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(nothing_against_it),
	    cmocka_unit_test(one_reason_is_enough),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
