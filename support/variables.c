/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "config.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/number.h"
#include "support/variables.h"

const struct heddle_variable_row heddle_variable_table[] = {
#define VARIABLE(id, type, value, least, most, unit, doc)                                          \
	{"HEDDLE_" #id, HEDDLE_TYPE_##type, value, least, most, unit, doc},
#include "support/variables.def"
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
	double parsed = heddle_number_parse(text, &end);

	if (end == text || *end || !isfinite(parsed))
		return false;
	*number = parsed;
	return true;
}

/* Whether a text is one of the words in "this or that". */
static bool is_choice(const char *words, const char *text)
{
	static const char between[] = " or ";
	const char *end;

	for (; (end = strstr(words, between)); words = end + strlen(between))
		if (strlen(text) == (size_t)(end - words) && !strncmp(words, text, end - words))
			return true;
	return !strcmp(words, text);
}

static bool number_valid(const struct heddle_variable_row *row, const char *text, double *number)
{
	return number_parse(text, number) && *number >= row->least && *number <= row->most &&
	       (row->type == HEDDLE_TYPE_REAL || *number == floor(*number));
}

bool heddle_variable_valid(const struct heddle_variable_row *row, const char *text)
{
	double number;

	if (row->type == HEDDLE_TYPE_TEXT)
		return true;
	if (row->type == HEDDLE_TYPE_CHOICE)
		return is_choice(row->unit, text);
	return !strcmp(text, row->value) || number_valid(row, text, &number);
}

void heddle_variable_values(const struct heddle_variable_row *row, char *text, size_t size)
{
	struct heddle_numbers numbers;
	double number;
	bool word = !number_parse(row->value, &number);

	if (row->type == HEDDLE_TYPE_TEXT || row->type == HEDDLE_TYPE_CHOICE) {
		snprintf(text, size, "%s", row->unit);
	} else if (row->type == HEDDLE_TYPE_FLAG) {
		snprintf(text, size, "0 or 1");
	} else {
		heddle_numbers_begin(&numbers);
		snprintf(text, size, "%s%s%.10g to %.10g%s%s", word ? row->value : "",
		         word ? " or " : "", row->least, row->most, *row->unit ? " " : "",
		         row->unit);
		heddle_numbers_end(&numbers);
	}
}

double heddle_variable_number(enum heddle_variable variable)
{
	const struct heddle_variable_row *row = &heddle_variable_table[variable];
	double number = 0;

	if (!number_valid(row, heddle_variable_text(variable), &number))
		number_parse(row->value, &number);
	return number;
}
