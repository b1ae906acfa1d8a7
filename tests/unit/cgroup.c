/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Limits of memory of groups of processes, and whether there are cores, as files in a folder
 * of the test's own say.
 */
#include "config.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/cgroup.h"
#include "support/sysfs.h"
#include "tests/unit/test.h"

static char root[] = "/tmp/heddle-cgroup-XXXXXX";

/* A command in the folder. */
static void in_root(const char *command)
{
	char line[512];

	snprintf(line, sizeof(line), "cd %s && %s", root, command);
	assert_int_equal(system(line), 0);
}

static int begin(void **state)
{
	strcpy(root + strlen(root) - 6, "XXXXXX");
	if (!mkdtemp(root))
		return -1;
	in_root("mkdir -p proc/self sys/fs/cgroup/a/b sys/fs/cgroup/memory/a/b");
	return 0;
}

static int end(void **state)
{
	in_root("rm -r proc sys && rmdir $PWD");
	return 0;
}

static void test_nothing_is_known(void **state)
{
	assert_true(heddle_cgroup_memory(root) == SIZE_MAX);
	in_root("echo nonsense >proc/self/cgroup");
	assert_true(heddle_cgroup_memory(root) == SIZE_MAX);
	in_root("echo 0::/a/b >proc/self/cgroup");
	assert_true(heddle_cgroup_memory(root) == SIZE_MAX);
	in_root("echo max >sys/fs/cgroup/a/b/memory.max");
	assert_true(heddle_cgroup_memory(root) == SIZE_MAX);
}

static void test_version_2(void **state)
{
	in_root("echo 0::/a/b >proc/self/cgroup; echo 5000000000 >sys/fs/cgroup/a/b/memory.max");
	assert_true(heddle_cgroup_memory(root) == 5000000000);
	in_root("echo 4000 >sys/fs/cgroup/a/memory.max");
	assert_int_equal(heddle_cgroup_memory(root), 4000);
	in_root("echo 3000 >sys/fs/cgroup/memory.max");
	assert_int_equal(heddle_cgroup_memory(root), 3000);
	in_root("echo 2000 >sys/fs/cgroup/a/b/memory.max");
	assert_int_equal(heddle_cgroup_memory(root), 2000);
}

/* Within a container its group is the topmost one. */
static void test_topmost(void **state)
{
	in_root("echo 0::/ >proc/self/cgroup; echo 3000 >sys/fs/cgroup/memory.max");
	assert_int_equal(heddle_cgroup_memory(root), 3000);
	in_root("echo 0::/outside/of/it >proc/self/cgroup");
	assert_int_equal(heddle_cgroup_memory(root), 3000);
}

static void test_version_1(void **state)
{
	in_root("printf '5:cpu,cpuacct:/a\\n4:blkio,memory:/a/b\\n0::/\\n' >proc/self/cgroup");
	in_root("echo 7000 >sys/fs/cgroup/memory/a/b/memory.limit_in_bytes");
	/* Of other controllers' groups, or of version 2: not its limits. */
	in_root("echo 1 >sys/fs/cgroup/a/b/memory.max; echo 1 >sys/fs/cgroup/memory/memory.max");
	assert_int_equal(heddle_cgroup_memory(root), 7000);
	in_root("echo 6000 >sys/fs/cgroup/memory/memory.limit_in_bytes");
	assert_int_equal(heddle_cgroup_memory(root), 6000);
	in_root("printf '5:cpu,memory2:/a/b\\n' >proc/self/cgroup");
	assert_true(heddle_cgroup_memory(root) == SIZE_MAX);
}

static void test_cores(void **state)
{
	assert_false(heddle_sysfs_has_cores(root));
	in_root("mkdir -p sys/devices/system/cpu/cpufreq/topology");
	assert_false(heddle_sysfs_has_cores(root));
	in_root("mkdir sys/devices/system/cpu/cpu0 sys/devices/system/cpu/cpu12");
	assert_false(heddle_sysfs_has_cores(root));
	in_root("mkdir sys/devices/system/cpu/cpu12/topology");
	assert_true(heddle_sysfs_has_cores(root));
	assert_true(heddle_sysfs_has_cores(""));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup_teardown(test_nothing_is_known, begin, end),
	    cmocka_unit_test_setup_teardown(test_version_2, begin, end),
	    cmocka_unit_test_setup_teardown(test_topmost, begin, end),
	    cmocka_unit_test_setup_teardown(test_version_1, begin, end),
	    cmocka_unit_test_setup_teardown(test_cores, begin, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
