/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Numbers in files, specifications and variables: with a point, whatever the locale that a
 * program has chosen (a German one has 1,5, which would neither be read back nor fit into a
 * CSV file).
 */
#ifndef HEDDLE_SUPPORT_NUMBER_H
#define HEDDLE_SUPPORT_NUMBER_H

#include <locale.h>

/** strtod() with a point. */
double heddle_number_parse(const char *text, char **end);

struct heddle_numbers {
	locale_t plain, before;
};

/** From here to heddle_numbers_end() this thread prints and reads numbers with a point.
 * Where there is no memory for that, they are as the program has them. */
void heddle_numbers_begin(struct heddle_numbers *numbers);
void heddle_numbers_end(struct heddle_numbers *numbers);

#endif
