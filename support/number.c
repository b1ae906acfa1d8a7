/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "config.h"

#include <stdlib.h>

#include "support/number.h"

void heddle_numbers_begin(struct heddle_numbers *numbers)
{
	numbers->plain = newlocale(LC_ALL_MASK, "C", (locale_t)0);
	if (numbers->plain)
		numbers->before = uselocale(numbers->plain);
}

void heddle_numbers_end(struct heddle_numbers *numbers)
{
	if (!numbers->plain)
		return;
	uselocale(numbers->before);
	freelocale(numbers->plain);
}

double heddle_number_parse(const char *text, char **end)
{
	struct heddle_numbers numbers;
	double number;

	heddle_numbers_begin(&numbers);
	number = strtod(text, end);
	heddle_numbers_end(&numbers);
	return number;
}
