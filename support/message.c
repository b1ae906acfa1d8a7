/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "config.h"

#include <stdarg.h>
#include <stdio.h>

#include "support/message.h"
#include "support/variables.h"

void heddle_message_clean(char *text)
{
	for (; *text; text++)
		if (((unsigned char)*text < ' ' && *text != '\n' && *text != '\t') || *text == 0x7f)
			*text = '?';
}

static void message_print(int level, const char *format, va_list arguments)
{
	char line[1024];

	if (heddle_variable_number(HEDDLE_VARIABLE_VERBOSE) < level)
		return;
	/* One write a message, so that messages of several threads do not mix. */
	vsnprintf(line, sizeof(line), format, arguments);
	heddle_message_clean(line);
	fprintf(stderr, "heddle: %s\n", line);
}

int heddle_refuse(int error, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	message_print(1, format, arguments);
	va_end(arguments);
	return error;
}

void heddle_warn(const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	message_print(1, format, arguments);
	va_end(arguments);
}

void heddle_explain(const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	message_print(2, format, arguments);
	va_end(arguments);
}
