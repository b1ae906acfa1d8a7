/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Messages about variables that Heddle does not know, and values that it cannot use.
 */
#include "config.h"

#include <errno.h>
#include <string.h>

#include "support/message.h"
#include "support/name.h"
#include "support/variables.h"

#define PREFIX "HEDDLE_"

static const char *nearest_name(const char *entry, size_t length)
{
	size_t nearest = 0, distance = 64;

	for (size_t v = 0; v < HEDDLE_NVARIABLES; v++) {
		size_t d = heddle_name_distance(entry, length, heddle_variable_table[v].name);

		if (d < distance) {
			distance = d;
			nearest = v;
		}
	}
	return heddle_variable_table[nearest].name;
}

static int variable_check(const char *entry, size_t length)
{
	char values[128], meant[HEDDLE_NAME_MEANT];
	size_t prefix = strlen(PREFIX);
	const char *nearest;
	bool near;

	for (size_t v = 0; v < HEDDLE_NVARIABLES; v++) {
		const struct heddle_variable_row *row = &heddle_variable_table[v];

		if (strlen(row->name) != length || strncmp(row->name, entry, length))
			continue;
		if (heddle_variable_valid(row, entry + length + 1))
			return 0;
		heddle_variable_values(row, values, sizeof(values));
		return heddle_refuse(-EINVAL, "%s=%s: not a value (%s)", row->name,
		                     entry + length + 1, values);
	}
	nearest = nearest_name(entry, length);
	near = *heddle_name_meant(entry + prefix, length - prefix, nearest + prefix, meant);
	heddle_warn("%.*s is not a variable of Heddle%s%s%s (heddle info --variables lists them)",
	            (int)length, entry, near ? "; did you mean " : "", near ? nearest : "",
	            near ? "?" : "");
	return 0;
}

int heddle_variables_check(char *const *environment)
{
	int status = 0;

	for (; *environment; environment++) {
		const char *equals = strchr(*environment, '=');

		if (!equals || strncmp(*environment, PREFIX, strlen(PREFIX)))
			continue;
		if (variable_check(*environment, equals - *environment))
			status = -EINVAL;
	}
	return status;
}
