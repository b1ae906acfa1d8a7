/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "config.h"

#include "tools/common/help.h"

char *help_extra(int key, const char *text, int extra, void (*print)(FILE *out))
{
	char *made = NULL;
	size_t size;
	FILE *out;

	if (key != extra)
		return (char *)text;
	out = open_memstream(&made, &size);
	if (!out)
		return NULL;
	print(out);
	fclose(out);
	return made;
}
