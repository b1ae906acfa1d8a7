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

static const struct {
	const char *variable, *below;
} places[HEDDLE_HOME_PLACES] = {{"STARPU_PERF_MODEL_DIR", ""},
                                {"XDG_CACHE_HOME", "/.starpu/sampling"},
                                {"STARPU_HOME", "/.starpu/sampling"},
                                {"HOME", "/.starpu/sampling"}};

int heddle_home_place(unsigned k, char *path, size_t size)
{
	const char *place = getenv(places[k].variable);

	if (!place || !*place)
		return -ENOENT;
	return (size_t)snprintf(path, size, "%s%s", place, places[k].below) < size ? 0
	                                                                           : -ENAMETOOLONG;
}

int heddle_home_find(char *path, size_t size, const char **variable)
{
	for (unsigned k = 0; k < HEDDLE_HOME_PLACES; k++) {
		if (!getenv(places[k].variable))
			continue;
		if (variable)
			*variable = places[k].variable;
		return heddle_home_place(k, path, size);
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
