/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "config.h"

#include <errno.h>
#include <glob.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "support/home.h"
#include "support/message.h"
#include "tools/common/models.h"

#define LONGEST 4096

/* The k-th folder that may have models; "": not on this machine.
 * @return false: there are no more */
static bool folder_get(unsigned k, char folder[LONGEST])
{
	static const char *const installed[] = {
	    HEDDLE_STARPU_LIBDIR "/../share/starpu/perfmodels/sampling",
	    "/usr/share/starpu/perfmodels/sampling",
	};

	if (k >= HEDDLE_HOME_PLACES + sizeof(installed) / sizeof(*installed))
		return false;
	if (k >= HEDDLE_HOME_PLACES)
		snprintf(folder, LONGEST, "%s", installed[k - HEDDLE_HOME_PLACES]);
	else if (heddle_home_place(k, folder, LONGEST))
		*folder = 0;
	return true;
}

/* The folder with a machine's models. */
static int folder_find(const char *host, char folder[LONGEST])
{
	char platform[LONGEST + 128];
	struct stat status;

	for (unsigned k = 0; folder_get(k, folder); k++) {
		snprintf(platform, sizeof(platform), "%s/bus/%s.platform.v4.xml", folder, host);
		if (*folder && !stat(platform, &status))
			return 0;
	}
	return heddle_refuse(-ENOENT,
	                     "no models of a machine \"%s\" (bus/%s.platform.v4.xml) in "
	                     "STARPU_PERF_MODEL_DIR, .starpu/sampling of XDG_CACHE_HOME, "
	                     "STARPU_HOME or HOME, or among those that come with StarPU",
	                     host, host);
}

int models_check(const char *host)
{
	char folder[LONGEST];

	return folder_find(host, folder);
}

int models_file_copy(const char *from, const char *to)
{
	FILE *in = fopen(from, "r"), *out = fopen(to, "w");
	const char *failed = !in ? from : to;
	int status = in && out ? 0 : -errno;
	char bytes[65536];
	size_t length;

	while (!status && (length = fread(bytes, 1, sizeof(bytes), in)))
		if (fwrite(bytes, 1, length, out) < length)
			status = -EIO;
	if (in)
		fclose(in);
	if (out && fclose(out) && !status)
		status = -EIO;
	return status ? heddle_refuse(status, "%s: %s", failed, strerror(-status)) : 0;
}

/* Copies a file to the folder below `directory` that is called as its own. */
static int copy_below(const char *from, const char *folder, const char *directory)
{
	char to[2 * LONGEST];
	size_t begin = strlen(directory);

	snprintf(to, sizeof(to), "%s%s", directory, from + strlen(folder));
	/* The folders between. */
	for (char *slash = strchr(to + begin, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = 0;
		if (mkdir(to, 0777) && errno != EEXIST)
			return heddle_refuse(-errno, "%s: %s", to, strerror(errno));
		*slash = '/';
	}
	return models_file_copy(from, to);
}

static int copy_matching(const char *folder, const char *pattern, const char *host,
                         const char *directory)
{
	char path[2 * LONGEST];
	glob_t files;
	int status = 0;

	snprintf(path, sizeof(path), pattern, folder, host);
	if (glob(path, 0, NULL, &files))
		return 0;
	for (size_t f = 0; !status && f < files.gl_pathc; f++)
		status = copy_below(files.gl_pathv[f], folder, directory);
	globfree(&files);
	return status;
}

int models_copy(const char *host, const char *directory)
{
	char folder[LONGEST];
	int status = folder_find(host, folder);

	if (!status)
		status = copy_matching(folder, "%s/bus/%s.*", host, directory);
	if (!status)
		status = copy_matching(folder, "%s/codelets/*/*.%s", host, directory);
	return status;
}
