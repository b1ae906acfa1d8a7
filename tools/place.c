/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tools/place.h"

char *place_program_folder(void)
{
	char path[4096];
	ssize_t length = readlink("/proc/self/exe", path, sizeof(path) - 1);
	char *slash;

	if (length <= 0)
		return NULL;
	path[length] = 0;
	slash = strrchr(path, '/');
	*slash = 0;
	/* libtool keeps the programs of a build tree one folder down. */
	slash = strrchr(path, '/');
	if (slash && !strcmp(slash, "/.libs"))
		*slash = 0;
	return strdup(path);
}

/* The path that the format makes of folder and name, if something lies there. */
static char *existing(const char *format, const char *folder, const char *name, int mode)
{
	char path[8192];

	if (!folder)
		return NULL;
	snprintf(path, sizeof(path), format, folder, name, name);
	return access(path, mode) ? NULL : strdup(path);
}

char *place_app(const char *name)
{
	char *folder, *path;

	if (strchr(name, '/'))
		return existing("%s%s", "", name, X_OK);
	folder = place_program_folder();
	path = existing("%s/../apps/%s/%s", folder, name, X_OK);
	free(folder);
	if (!path)
		path = existing("%s/apps/%s", HEDDLE_PKGLIBEXECDIR, name, X_OK);
	return path;
}

char *place_data_file(const char *name)
{
	char *folder = place_program_folder();
	char *path = existing("%s/%s", folder, name, R_OK);

	free(folder);
	if (!path)
		path = existing("%s/%s", HEDDLE_PKGDATADIR, name, R_OK);
	return path;
}
