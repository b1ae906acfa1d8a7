/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The tables of `heddle info`, as JSON, as text and as pages of the manual. They need no StarPU.
 */
#ifndef HEDDLE_INFO_H
#define HEDDLE_INFO_H

#include <jansson.h>

/** A table: as an array of objects, one for each row, and that array printed as text. */
struct info_table {
	const char *name;
	json_t *(*json)(void);
	void (*print)(const json_t *rows);
};

enum { INFO_POLICIES, INFO_STRATEGIES, INFO_VARIABLES, INFO_NTABLES };
extern const struct info_table info_tables[INFO_NTABLES];

/** Prints the manual's page of the variables (Markdown). */
void info_print_manual(void);

/** Prints the man page heddle(7): policies, strategies and variables (roff). */
void info_print_man_page(void);

#endif
