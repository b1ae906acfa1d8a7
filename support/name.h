/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Names: guessing which one was meant, and looking them up in a list.
 */
#ifndef HEDDLE_SUPPORT_NAME_H
#define HEDDLE_SUPPORT_NAME_H

#include <stdbool.h>
#include <stddef.h>

/** Edit distance (Levenshtein) between the first `length` characters of a text
 * and a name; 64 where either has 64 characters or more. */
size_t heddle_name_distance(const char *text, size_t length, const char *name);

/** "; did you mean NAME?" where the distance between both is at most half the length, else "".
 * @param room for it */
enum { HEDDLE_NAME_MEANT = 96 };
const char *heddle_name_meant(const char *text, size_t length, const char *name,
                              char room[HEDDLE_NAME_MEANT]);

/** Whether a name stands in a list separated by commas. */
bool heddle_name_listed(const char *list, const char *name);

#endif
