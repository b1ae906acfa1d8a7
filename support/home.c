/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "config.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "support/home.h"

int heddle_home_find(char *path, size_t size, const char **variable)
{
	static const struct {
		const char *variable, *below;
	} places[] = {{"STARPU_PERF_MODEL_DIR", ""},
	              {"XDG_CACHE_HOME", "/.starpu/sampling"},
	              {"STARPU_HOME", "/.starpu/sampling"},
	              {"HOME", "/.starpu/sampling"}};

	for (size_t p = 0; p < sizeof(places) / sizeof(*places); p++) {
		const char *place = getenv(places[p].variable);

		if (!place)
			continue;
		if (variable)
			*variable = places[p].variable;
		if (!*place)
			return -ENOENT;
		return (size_t)snprintf(path, size, "%s%s", place, places[p].below) < size
		           ? 0
		           : -ENAMETOOLONG;
	}
	return -ENOENT;
}

int heddle_home_check(char *path, size_t size, const char **variable)
{
	char above[PATH_MAX], *slash;
	struct stat status;
	int error = heddle_home_find(path, size, variable);

	if (error || snprintf(above, sizeof(above), "%s/bus", path) >= (int)sizeof(above))
		return error == -ENOENT ? 0 : -ENAMETOOLONG;
	if (!stat(above, &status))
		return 0;
	/* What is to be made is made in the nearest folder above that is there. */
	while (stat(above, &status)) {
		if (errno != ENOENT)
			return -errno;
		slash = strrchr(above, '/');
		if (!slash || slash == above)
			strcpy(above, slash ? "/" : ".");
		else
			*slash = 0;
	}
	if (!S_ISDIR(status.st_mode))
		return -ENOTDIR;
	return access(above, W_OK | X_OK) ? -errno : 0;
}
