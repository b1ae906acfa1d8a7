/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "config.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysinfo.h>
#include <starpu.h>
#include <starpu_scheduler.h>
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

/* Fourth parts of the machine's memory and swap can be had, five cannot: who wrote to
 * all of them would be ended by the system. */
static void test_more_than_there_is(void **state)
{
#ifndef HEDDLE_USE_SIMGRID
	struct sysinfo about;
	void *areas[5] = {NULL}, *more = areas;
	size_t bytes;
	unsigned n = 0;

	assert_int_equal(sysinfo(&about), 0);
	bytes = ((size_t)about.totalram + about.totalswap) * about.mem_unit / 4;
	if (starpu_init(NULL))
		skip();
	/* A container may have less. */
	while (bytes > 1 << 20 && heddle_malloc(&areas[0], bytes))
		bytes /= 2;
	heddle_free(areas[0], bytes);
	while (n < 5 && !heddle_malloc(&areas[n], bytes))
		n++;
	assert_in_range(n, 1, 4);
	assert_int_equal(heddle_malloc(&more, bytes), -ENOMEM);
	assert_ptr_equal(more, areas);
	heddle_free(areas[0], bytes);
	assert_int_equal(heddle_malloc(&areas[0], bytes), 0);
	assert_int_equal(heddle_malloc(&more, SIZE_MAX - 5), -ENOMEM);
	while (n--)
		heddle_free(areas[n], bytes);
	starpu_shutdown();
#endif
}

/* Starts StarPU, and asks which policy is at work. */
static void policy_check(struct starpu_conf *conf, const char *expected)
{
	if (starpu_init(conf))
		skip();
	assert_string_equal(starpu_sched_ctx_get_sched_policy(0)->policy_name, expected);
	starpu_shutdown();
}

/* A program that is linked with Heddle gets heddle, unless its user or itself wants another. */
static void test_default_policy(void **state)
{
	static struct starpu_sched_policy own;
	struct starpu_conf conf;

	unsetenv("STARPU_SCHED");
	policy_check(NULL, "heddle");
	assert_null(getenv("STARPU_SCHED"));
	assert_int_equal(starpu_conf_init(&conf), 0);
	policy_check(&conf, "heddle");
	assert_null(conf.sched_policy_name);
	assert_null(conf.sched_policy);
	conf.sched_policy_name = "eager";
	policy_check(&conf, "eager");
	assert_string_equal(conf.sched_policy_name, "eager");
	conf.sched_policy_name = NULL;
	for (struct starpu_sched_policy **p = starpu_sched_get_predefined_policies(); *p; p++)
		if (!strcmp((*p)->policy_name, "eager"))
			own = **p;
	own.policy_name = "own";
	conf.sched_policy = &own;
	policy_check(&conf, "own");
	setenv("STARPU_SCHED", "prio", 1);
	policy_check(NULL, "prio");
	assert_string_equal(getenv("STARPU_SCHED"), "prio");
	unsetenv("STARPU_SCHED");
}

/* An empty STARPU_SCHED is none, also where starpu_conf_init() has taken it over. */
static void test_empty_policy(void **state)
{
	struct starpu_conf conf;

	setenv("STARPU_SCHED", "", 1);
	policy_check(NULL, "heddle");
	assert_int_equal(starpu_conf_init(&conf), 0);
	policy_check(&conf, "heddle");
	conf.sched_policy_name = "prio";
	policy_check(&conf, "prio");
	assert_null(conf.sched_policy);
	conf.sched_policy_name = "gss";
	policy_check(&conf, "gss");
	assert_string_equal(getenv("STARPU_SCHED"), "");
	unsetenv("STARPU_SCHED");
}

/* How often somebody changed a variable of StarPU's. Drivers have their own. */
static unsigned changes;

static void change_count(const char *name)
{
	changes += !strncmp(name, "STARPU_", strlen("STARPU_"));
}

int setenv(const char *name, const char *value, int overwrite)
{
	int (*next)(const char *, const char *, int) = dlsym(RTLD_NEXT, "setenv");

	change_count(name);
	return next(name, value, overwrite);
}

int unsetenv(const char *name)
{
	int (*next)(const char *) = dlsym(RTLD_NEXT, "unsetenv");

	change_count(name);
	return next(name);
}

/* Other threads of the program may read the environment while StarPU starts, or fails to. */
static void test_environment_stays(void **state)
{
	struct starpu_conf conf;

	unsetenv("STARPU_SCHED");
	assert_int_equal(starpu_conf_init(&conf), 0);
	changes = 0;
	policy_check(NULL, "heddle");
	policy_check(&conf, "heddle");
	assert_int_equal(changes, 0);
	setenv("STARPU_NCPU", "0", 1);
	conf.ncuda = conf.nopencl = 0;
	assert_int_equal(changes, 1);
	assert_int_equal(starpu_init(&conf), -ENODEV);
	assert_int_equal(changes, 1);
	assert_null(getenv("STARPU_SCHED"));
	assert_null(conf.sched_policy);
	unsetenv("STARPU_NCPU");
}

/* Who starts StarPU a second time changes nothing, and is told nothing of policies. */
static void test_second_start(void **state)
{
	struct starpu_conf conf;

	unsetenv("STARPU_SCHED");
	assert_int_equal(starpu_conf_init(&conf), 0);
	conf.sched_policy_name = "eager";
	if (starpu_init(&conf))
		skip();
	policy_check(NULL, "eager");
	starpu_shutdown();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_own_starpu_matches), cmocka_unit_test(test_version),
	    cmocka_unit_test(test_more_than_there_is), cmocka_unit_test(test_default_policy),
	    cmocka_unit_test(test_empty_policy),       cmocka_unit_test(test_environment_stays),
	    cmocka_unit_test(test_second_start),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
