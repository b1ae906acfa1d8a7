/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "support/message.h"
#include "support/output.h"

/* Whether a file can be made in the folder of a path. */
static int folder_check(const char *path)
{
	const char *slash = strrchr(path, '/');
	/* The slash stays: it is the root's name. */
	char *folder = slash ? strndup(path, (size_t)(slash - path) + 1) : strdup(".");
	int error = folder ? 0 : -ENOMEM;

	if (!error && access(folder, W_OK | X_OK))
		error = -errno;
	free(folder);
	return error;
}

/* Pipes and devices are left alone: to look at them would be to open them. */
static int path_check(const char *path)
{
	struct stat about;

	if (stat(path, &about))
		return errno == ENOENT ? folder_check(path) : -errno;
	if (S_ISDIR(about.st_mode))
		return -EISDIR;
	return S_ISREG(about.st_mode) && access(path, W_OK) ? -errno : 0;
}

int heddle_output_check(const char *path)
{
	int error = path && strcmp(path, "-") ? path_check(path) : 0;

	return error ? heddle_refuse(error, "%s: %s", path, strerror(-error)) : 0;
}
