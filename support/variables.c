/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "config.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "private/message.h"
#include "private/name.h"
#include "private/variables.h"

#define PREFIX "HEDDLE_"

const struct heddle_variable_row heddle_variable_table[] = {
#define VARIABLE(id, type, value, unit, doc) {PREFIX #id, HEDDLE_TYPE_##type, value, unit, doc},
#include "private/variables.def"
#undef VARIABLE
};

bool heddle_variable_is_set(enum heddle_variable variable)
{
	return getenv(heddle_variable_table[variable].name) != NULL;
}

const char *heddle_variable_text(enum heddle_variable variable)
{
	const char *text = getenv(heddle_variable_table[variable].name);

	return text ? text : heddle_variable_table[variable].value;
}

static bool number_parse(const char *text, double *number)
{
	char *end;
	double parsed = strtod(text, &end);

	if (end == text || *end || !isfinite(parsed))
		return false;
	*number = parsed;
	return true;
}

bool heddle_variable_valid(enum heddle_variable_type type, const char *text)
{
	double number;

	if (type == HEDDLE_TYPE_TEXT)
		return true;
	if (!number_parse(text, &number))
		return false;
	if (type == HEDDLE_TYPE_REAL)
		return true;
	if (number < 0 || number != floor(number))
		return false;
	return type == HEDDLE_TYPE_INTEGER || number <= 1;
}

double heddle_variable_number(enum heddle_variable variable)
{
	const struct heddle_variable_row *row = &heddle_variable_table[variable];
	const char *text = heddle_variable_text(variable);
	double number = 0;

	number_parse(heddle_variable_valid(row->type, text) ? text : row->value, &number);
	return number;
}

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
	for (size_t v = 0; v < HEDDLE_NVARIABLES; v++) {
		const struct heddle_variable_row *row = &heddle_variable_table[v];

		if (strlen(row->name) != length || strncmp(row->name, entry, length))
			continue;
		if (heddle_variable_valid(row->type, entry + length + 1))
			return 0;
		return heddle_refuse(-EINVAL, "%s=%s: not a value (%s)", row->name,
				     entry + length + 1, row->unit);
	}
	heddle_warn("%.*s is not a variable of Heddle; did you mean %s? "
		    "(heddle info --variables lists them)",
		    (int)length, entry, nearest_name(entry, length));
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
