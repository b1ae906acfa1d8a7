/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * What `heddle info` knows without StarPU: the tables, as JSON and as text.
 */
#ifndef HEDDLE_INFO_H
#define HEDDLE_INFO_H

#include <jansson.h>

/** Arrays of objects, one a row of the table. */
json_t *info_policies(void);
json_t *info_strategies(void);
json_t *info_variables(void);

/** The same in words, on standard output. */
void info_print_policies(const json_t *policies);
void info_print_strategies(const json_t *strategies);
void info_print_variables(const json_t *variables);

/** The page of the variables in the manual (Markdown), on standard output. */
void info_print_manual(void);

/** The man page heddle(7): policies, strategies and variables (roff), on standard output. */
void info_print_man_page(void);

#endif
