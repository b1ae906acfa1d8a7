/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Parts of a --help text that are made when it is printed.
 */
#ifndef HEDDLE_TOOLS_COMMON_HELP_H
#define HEDDLE_TOOLS_COMMON_HELP_H

#include <argp.h>
#include <stdio.h>

/** For an argp help filter, which gets key and text: the text of the key `extra` is what print()
 * prints, other texts stay. @return the text; NULL: no memory. */
char *help_extra(int key, const char *text, int extra, void (*print)(FILE *out));

/** The children of an argp whose -h helps, as --help does. */
extern const struct argp_child help_short[];

#endif
