/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "config.h"

#include <stdio.h>
#include <string.h>

#include "support/name.h"

#define LONGEST 64

size_t heddle_name_distance(const char *text, size_t length, const char *name)
{
	size_t other = strlen(name), row[LONGEST];

	if (length >= LONGEST || other >= LONGEST)
		return LONGEST;
	for (size_t j = 0; j <= other; j++)
		row[j] = j;
	for (size_t i = 1; i <= length; i++) {
		size_t diagonal = row[0];

		row[0] = i;
		for (size_t j = 1; j <= other; j++) {
			size_t best = diagonal + (text[i - 1] != name[j - 1]);

			if (row[j] + 1 < best)
				best = row[j] + 1;
			if (row[j - 1] + 1 < best)
				best = row[j - 1] + 1;
			diagonal = row[j];
			row[j] = best;
		}
	}
	return row[other];
}

const char *heddle_name_meant(const char *text, size_t length, const char *name,
                              char room[HEDDLE_NAME_MEANT])
{
	*room = 0;
	if (2 * heddle_name_distance(text, length, name) <= length)
		snprintf(room, HEDDLE_NAME_MEANT, "; did you mean %s?", name);
	return room;
}

bool heddle_name_listed(const char *list, const char *name)
{
	size_t length = strlen(name);

	for (const char *at = list; at; at = strchr(at, ','), at += at != NULL)
		if (!strncmp(at, name, length) && (!at[length] || at[length] == ','))
			return true;
	return false;
}
