/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "config.h"

#include <glob.h>
#include <limits.h>
#include <stdio.h>

#include "support/sysfs.h"

bool heddle_sysfs_has_cores(const char *root)
{
	char pattern[PATH_MAX];
	glob_t found;
	bool some;

	if (snprintf(pattern, sizeof(pattern), "%s/sys/devices/system/cpu/cpu[0-9]*/topology",
	             root) >= (int)sizeof(pattern))
		return false;
	some = !glob(pattern, GLOB_NOSORT, NULL, &found);
	globfree(&found);
	return some;
}
