/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "config.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "support/message.h"
#include "tools/common/json_file.h"

int json_file_read(const char *path, json_t **root)
{
	FILE *file = strcmp(path, "-") ? fopen(path, "r") : stdin;
	json_error_t where;
	json_t *read;
	int error = 0;

	if (!*path)
		return heddle_refuse(-ENOENT, "a file without a name: %s", strerror(ENOENT));
	/* For jansson a folder is a file without contents. */
	if (!file || (ungetc(getc(file), file) == EOF && ferror(file)))
		error = heddle_refuse(-errno, "%s: %s", path, strerror(errno));
	else if (feof(file))
		error = heddle_refuse(-EINVAL, "%s: it is empty", path);
	else if ((read = json_loadf(file, JSON_REJECT_DUPLICATES, &where)))
		*root = read;
	else
		error = heddle_refuse(-EINVAL, "%s: line %d, column %d: %s", path, where.line,
		                      where.column, where.text);
	if (file && file != stdin)
		fclose(file);
	return error;
}
