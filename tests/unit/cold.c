/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * What is expected of devices that have not run a codelet, by hand.
 */
#include "config.h"

#include <math.h>

#include "estimator/cold.h"
#include "tests/unit/test.h"

enum { CORE, GPU, POCL, CLASSES };

static const struct cold_class cold[CLASSES] = {
    [CORE] = {.speed = 1}, [GPU] = {.speed = 10}, [POCL] = {.speed = 1, .load = 5000}};

static void expect(const struct cold_class *classes, unsigned class, double bytes, double us)
{
	assert_true(fabs(cold_expect(classes, CLASSES, class, bytes) - us) < 1e-6);
}

/* Nothing is known of any class: its speed counts, and the data. Slower ones had better not begin
 * what may be long. */
static void test_nothing(void **state)
{
	struct cold_class cores[CLASSES] = {cold[CORE], cold[CORE], cold[POCL]};

	expect(cold, CORE, 1e6, 2000);
	expect(cold, GPU, 1e6, 100);
	expect(cold, POCL, 1e6, 7000);
	expect(cold, CORE, 0, 20);
	expect(cores, CORE, 1e6, 1000);
	expect(cores, POCL, 1e6, 6000);
	assert_false(cold_try(cold, CLASSES, CORE));
	assert_false(cold_try(cold, CLASSES, GPU));
}

/* What is known of one class goes for the others. */
static void test_other(void **state)
{
	struct cold_class classes[CLASSES] = {cold[CORE], cold[GPU], cold[POCL]};

	classes[CORE].us = 70;
	expect(classes, CORE, 1e9, 70);
	expect(classes, GPU, 1e9, 7);
	expect(classes, POCL, 1e9, 5070);
	classes[GPU].us = 3;
	expect(classes, CORE, 1e9, 70);
	expect(classes, POCL, 1e9, 5030);
}

/* A first run counts where nothing else is known, or where it is short. */
static void test_first(void **state)
{
	struct cold_class classes[CLASSES] = {cold[CORE], cold[GPU], cold[POCL]};

	classes[POCL].us = 9000;
	classes[POCL].first = true;
	expect(classes, POCL, 0, 9000);
	classes[CORE].us = 70;
	expect(classes, POCL, 0, 70);
	classes[POCL].us = 20;
	expect(classes, POCL, 0, 20);
}

/* Cores are tried with tasks that are short on an accelerator, whose time is sure. */
static void test_try(void **state)
{
	struct cold_class classes[CLASSES] = {cold[CORE], cold[GPU], cold[POCL]};

	classes[GPU].us = 100;
	assert_true(cold_try(classes, CLASSES, CORE));
	assert_false(cold_try(classes, CLASSES, GPU));
	classes[GPU].first = true;
	assert_false(cold_try(classes, CLASSES, CORE));
	classes[GPU].first = false;
	classes[GPU].us = 1000;
	assert_false(cold_try(classes, CLASSES, CORE));
	classes[GPU].us = 100;
	classes[CORE].us = 50;
	assert_false(cold_try(classes, CLASSES, CORE));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_nothing),
	    cmocka_unit_test(test_other),
	    cmocka_unit_test(test_first),
	    cmocka_unit_test(test_try),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
