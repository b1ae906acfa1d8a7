/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "config.h"

#include <stdio.h>
#include <string.h>

#include "support/place.h"

/* What follows a prefix in a path; NULL: it is not below it. */
static const char *below(const char *path, const char *prefix)
{
	size_t length = strlen(prefix);

	return !strncmp(path, prefix, length) && path[length] == '/' ? path + length : NULL;
}

char *heddle_place_moved(const char *here, const char *prefix, const char *known,
                         const char *wanted)
{
	const char *end;
	size_t all = strlen(here), length;
	char *path;

	known = below(known, prefix);
	wanted = below(wanted, prefix);
	length = known ? strlen(known) : 0;
	end = here + all - length;
	if (!known || !wanted || all < length || strcmp(end, known))
		return NULL;
	return asprintf(&path, "%.*s%s", (int)(end - here), here, wanted) < 0 ? NULL : path;
}
