/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Tunables from the environment, by the table variables.def.
 */
#ifndef HEDDLE_SUPPORT_VARIABLES_H
#define HEDDLE_SUPPORT_VARIABLES_H

#include <stdbool.h>
#include <stddef.h>

enum heddle_variable {
#define VARIABLE(id, type, value, least, most, unit, doc) HEDDLE_VARIABLE_##id,
#include "support/variables.def"
#undef VARIABLE
	HEDDLE_NVARIABLES
};

enum heddle_variable_type {
	HEDDLE_TYPE_FLAG,
	HEDDLE_TYPE_INTEGER,
	HEDDLE_TYPE_REAL,
	HEDDLE_TYPE_CHOICE,
	HEDDLE_TYPE_TEXT
};

struct heddle_variable_row {
	const char *name; /**< as the environment names it */
	enum heddle_variable_type type;
	const char *value;  /**< the default */
	double least, most; /**< of a number; it may also be the default, if that is a word */
	const char *unit;
	const char *doc;
};

/** The table; HEDDLE_NVARIABLES rows. */
extern const struct heddle_variable_row heddle_variable_table[];

/** Value in force, as text: the environment's, or the default. */
const char *heddle_variable_text(enum heddle_variable variable);
/** Value in force of a FLAG, INTEGER or REAL variable; the default where the
 * environment's is malformed (heddle_variables_check() says so); 0 where it is a word. */
double heddle_variable_number(enum heddle_variable variable);
/** Whether the environment sets it. */
bool heddle_variable_is_set(enum heddle_variable variable);

/** Whether a text is a value that a row allows. */
bool heddle_variable_valid(const struct heddle_variable_row *row, const char *text);
/** What values a row allows: "0 to 64 blocks or tasks". */
void heddle_variable_values(const struct heddle_variable_row *row, char *text, size_t size);

/** Looks for HEDDLE_* names outside the table and for malformed values.
 * @param environment as environ(7)
 * @return 0; -EINVAL after a message that names the variable (unknown names only
 * warn, with the nearest known name, the first time). */
int heddle_variables_check(char *const *environment);
/** Looks for malformed values alone, in the process's environment. @return 0; -EINVAL after a
 * message for each. */
int heddle_values_check(void);

#endif
