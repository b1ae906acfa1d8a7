/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * What is expected of devices that have not run a codelet, by hand.
 */
#include "config.h"

#include <limits.h>
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

	expect(cold, CORE, 1e6, 8000);
	expect(cold, GPU, 1e6, 100);
	expect(cold, POCL, 1e6, 13000);
	expect(cold, CORE, 0, 80);
	expect(cores, CORE, 1e6, 1000);
	expect(cores, POCL, 1e6, 6000);
	assert_true(isinf(cold_trial(cold, CLASSES, CORE)));
	assert_true(isinf(cold_trial(cold, CLASSES, GPU)));
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

/* A core has been at a task for longer than the accelerator's time says. */
static void test_running(void **state)
{
	struct cold_class classes[CLASSES] = {cold[CORE], cold[GPU], cold[POCL]};

	classes[GPU].us = 7;
	classes[CORE].running_us = 30;
	expect(classes, CORE, 0, 70);
	classes[CORE].running_us = 6000;
	expect(classes, CORE, 0, 12000);
	expect(classes, GPU, 0, 7);
	classes[CORE].us = 90;
	expect(classes, CORE, 0, 90);
	/* The accelerator may be loading the kernel. */
	classes[GPU].us = 0;
	classes[GPU].running_us = 100000;
	expect(classes, GPU, 0, 9);
}

/* A first run counts where nothing else is known, or where it is short. Without a second one it is
 * not known what is to come. */
static void test_first(void **state)
{
	struct cold_class classes[CLASSES] = {cold[CORE], cold[GPU], cold[POCL]};

	classes[POCL].us = 9000;
	classes[POCL].first = true;
	expect(classes, POCL, 0, 9000);
	classes[CORE].us = 70;
	expect(classes, POCL, 0, 5070);
	classes[POCL].us = 20;
	expect(classes, POCL, 0, 20);
}

/* A class is tried as long as it may be better than believed: with short tasks at once, with long
 * ones after long work. */
static void test_try(void **state)
{
	struct cold_class classes[CLASSES] = {cold[CORE], cold[GPU], cold[POCL]};

	classes[GPU].us = 100;
	assert_true(fabs(cold_trial(classes, CLASSES, CORE) - 5000) < 1e-6);
	assert_true(fabs(cold_trial(classes, CLASSES, POCL) - 10000) < 1e-6);
	assert_true(isinf(cold_trial(classes, CLASSES, GPU)));
	classes[GPU].first = true;
	assert_true(isinf(cold_trial(classes, CLASSES, CORE)));
	classes[GPU].first = false;
	classes[CORE].us = 50;
	assert_true(isinf(cold_trial(classes, CLASSES, CORE)));
	/* A core is the faster one. PoCL is loaded after a first run, but not known. */
	assert_true(fabs(cold_trial(classes, CLASSES, POCL) - 5250) < 1e-6);
	classes[POCL] = (struct cold_class){.us = 9000, .first = true, .speed = 1, .load = 5000};
	assert_true(fabs(cold_trial(classes, CLASSES, POCL) - 250) < 1e-6);
	classes[POCL].first = false;
	assert_true(isinf(cold_trial(classes, CLASSES, POCL)));
}

static void test_budget(void **state)
{
	assert_false(cold_try(INFINITY, 0, 1e12));
	assert_true(cold_try(5000, 0, 0));
	assert_false(cold_try(5000, 20000, 0));
	assert_false(cold_try(200000, 0, 700000));
	assert_true(cold_try(200000, 0, 800000));
	assert_false(cold_try(200000, 200000, 800000));
}

/* Until all classes are known the fastest devices alone are kept busy, and small tasks are to tell
 * of the others. */
static void test_ahead(void **state)
{
	struct cold_class classes[CLASSES] = {cold[CORE], cold[GPU], cold[POCL]};
	bool probe;

	classes[CORE].workers = 15;
	assert_int_equal(cold_ahead(classes, CLASSES, &probe), UINT_MAX);
	assert_false(probe);
	classes[GPU].workers = 2;
	assert_int_equal(cold_ahead(classes, CLASSES, &probe), 2 * 4);
	assert_true(probe);
	classes[CORE].us = 9;
	assert_int_equal(cold_ahead(classes, CLASSES, &probe), 2 * 4);
	assert_false(probe);
	classes[GPU].us = 7;
	classes[GPU].first = true;
	assert_int_equal(cold_ahead(classes, CLASSES, &probe), 2 * 4);
	classes[GPU].first = false;
	/* All know: all are to be busy for twice as long as a core takes. PoCL may never have a
	 * task. */
	classes[POCL].workers = 1;
	assert_int_equal(cold_ahead(classes, CLASSES, &probe), ceil(2 * (15 + 2 * 9. / 7)));
	assert_false(probe);
	classes[CORE].us = 1;
	assert_int_equal(cold_ahead(classes, CLASSES, &probe), 2 * (15 * 7 + 2));
}

/* Tasks that run for longer than known count before they end, less when more is known. */
static void test_unequal(void **state)
{
	assert_float_equal(cold_unequal(100, 20, 0, 0, 0), 100, 1e-9);
	assert_float_equal(cold_unequal(100, 0, 0, 1, 900), 500, 1e-9);
	assert_float_equal(cold_unequal(100, 20, 0, 1, 900), 200, 1e-9);
	assert_float_equal(cold_unequal(100, 20, log(2), 0, 0), 200, 1e-9);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_nothing), cmocka_unit_test(test_other),
	    cmocka_unit_test(test_first),   cmocka_unit_test(test_try),
	    cmocka_unit_test(test_budget),  cmocka_unit_test(test_running),
	    cmocka_unit_test(test_ahead),   cmocka_unit_test(test_unequal),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
