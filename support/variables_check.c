/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Messages about variables that Heddle does not know, and values that it cannot use.
 */
#include "config.h"

#include <errno.h>
#include <stdatomic.h>
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

static const struct heddle_variable_row *row_find(const char *entry, size_t length)
{
	for (size_t v = 0; v < HEDDLE_NVARIABLES; v++)
		if (strlen(heddle_variable_table[v].name) == length &&
		    !strncmp(heddle_variable_table[v].name, entry, length))
			return &heddle_variable_table[v];
	return NULL;
}

static void unknown_warn(const char *entry, size_t length)
{
	char meant[HEDDLE_NAME_MEANT];
	const char *nearest = nearest_name(entry, length);
	size_t prefix = strlen(PREFIX);
	bool near = *heddle_name_meant(entry + prefix, length - prefix, nearest + prefix, meant);

	heddle_warn("%.*s is not a variable of Heddle%s%s%s (heddle info --variables lists them)",
	            (int)length, entry, near ? "; did you mean " : "", near ? nearest : "",
	            near ? "?" : "");
}

static int value_check(const struct heddle_variable_row *row, const char *text)
{
	char values[128];

	if (heddle_variable_valid(row, text))
		return 0;
	heddle_variable_values(row, values, sizeof(values));
	return heddle_refuse(-EINVAL, "%s=%s: not a value (%s)", row->name, text, values);
}

int heddle_values_check(void)
{
	int status = 0;

	for (unsigned v = 0; v < HEDDLE_NVARIABLES; v++)
		if (heddle_variable_is_set(v) &&
		    value_check(&heddle_variable_table[v], heddle_variable_text(v)))
			status = -EINVAL;
	return status;
}

int heddle_variables_check(char *const *environment)
{
	static atomic_bool warned;
	bool again = warned;
	int status = 0;

	for (; *environment; environment++) {
		const char *equals = strchr(*environment, '=');
		const struct heddle_variable_row *row;

		if (!equals || strncmp(*environment, PREFIX, strlen(PREFIX)))
			continue;
		row = row_find(*environment, equals - *environment);
		if (row && value_check(row, equals + 1))
			status = -EINVAL;
		if (row || again)
			continue;
		unknown_warn(*environment, equals - *environment);
		warned = true;
	}
	return status;
}
