/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "config.h"

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "support/cgroup.h"
#include "support/name.h"

/* The number in a file; SIZE_MAX: there is none, or "max". */
static size_t limit_read(const char *path)
{
	FILE *file = fopen(path, "r");
	uintmax_t bytes;
	bool found;

	if (!file)
		return SIZE_MAX;
	found = fscanf(file, "%ju", &bytes) == 1;
	fclose(file);
	return found && bytes < SIZE_MAX ? bytes : SIZE_MAX;
}

/* Of a group and all that it is in. In a container the group's path may be one outside,
 * which is not there: then what is above it still counts.
 * @param folder where the hierarchy is @param group its path, begins with "/"; is cut */
static size_t limit_upwards(const char *folder, char *group, const char *name)
{
	size_t least = SIZE_MAX, length = strlen(group);
	char path[PATH_MAX];

	while (length && group[length - 1] == '/')
		group[--length] = '\0';
	for (char *end = group + length; end; end = strrchr(group, '/')) {
		size_t limit = SIZE_MAX;

		*end = '\0';
		if (snprintf(path, sizeof(path), "%s%s/%s", folder, group, name) <
		    (int)sizeof(path))
			limit = limit_read(path);
		if (limit < least)
			least = limit;
	}
	return least;
}

/* A line of /proc/self/cgroup: NUMBER:CONTROLLERS:PATH, without controllers for version 2. */
static size_t limit_of_line(const char *root, char *line)
{
	char *controllers = strchr(line, ':'), *group, folder[PATH_MAX];
	bool old;

	line[strcspn(line, "\n")] = '\0';
	group = controllers ? strchr(controllers + 1, ':') : NULL;
	if (!group)
		return SIZE_MAX;
	*controllers++ = '\0';
	*group++ = '\0';
	old = heddle_name_listed(controllers, "memory");
	if (*controllers && !old)
		return SIZE_MAX;
	if (snprintf(folder, sizeof(folder), "%s/sys/fs/cgroup%s", root, old ? "/memory" : "") >=
	    (int)sizeof(folder))
		return SIZE_MAX;
	return limit_upwards(folder, group, old ? "memory.limit_in_bytes" : "memory.max");
}

size_t heddle_cgroup_memory(const char *root)
{
	char path[PATH_MAX], line[PATH_MAX + 256];
	size_t least = SIZE_MAX;
	FILE *file;

	if (snprintf(path, sizeof(path), "%s/proc/self/cgroup", root) >= (int)sizeof(path))
		return SIZE_MAX;
	file = fopen(path, "r");
	while (file && fgets(line, sizeof(line), file)) {
		size_t limit = limit_of_line(root, line);

		if (limit < least)
			least = limit;
	}
	if (file)
		fclose(file);
	return least;
}
