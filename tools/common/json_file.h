/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * JSON files of the user's.
 */
#ifndef HEDDLE_TOOLS_COMMON_JSON_FILE_H
#define HEDDLE_TOOLS_COMMON_JSON_FILE_H

#include <jansson.h>

/** Reads a file; "-": standard input. No object may have a key twice.
 * @param[out] root to be released by json_decref()
 * @return 0; after a message that names the file, and the line, -EINVAL or what the system says */
int json_file_read(const char *path, json_t **root);

#endif
