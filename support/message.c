/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "config.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "support/message.h"
#include "support/variables.h"

void heddle_message_clean(char *text)
{
	for (; *text; text++)
		if (((unsigned char)*text < ' ' && *text != '\n' && *text != '\t') || *text == 0x7f)
			*text = '?';
}

/* A message without its beginning and its end. */
struct text {
	char line[1024];
};

/* This thread's last refusal. */
static __thread struct text refusal;
static __thread bool refused;

static struct text text_make(const char *format, va_list arguments)
{
	struct text text;

	vsnprintf(text.line, sizeof(text.line), format, arguments);
	heddle_message_clean(text.line);
	return text;
}

/* One write a message, so that messages of several threads do not mix. */
static void text_print(int level, const struct text *text)
{
	if (heddle_variable_number(HEDDLE_VARIABLE_VERBOSE) >= level)
		fprintf(stderr, "heddle: %s\n", text->line);
}

static void message_print(int level, const char *format, va_list arguments)
{
	struct text text;

	if (heddle_variable_number(HEDDLE_VARIABLE_VERBOSE) < level)
		return;
	text = text_make(format, arguments);
	text_print(level, &text);
}

int heddle_refuse(int error, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	refusal = text_make(format, arguments);
	va_end(arguments);
	refused = true;
	text_print(1, &refusal);
	return error;
}

const char *heddle_refusal_take(void)
{
	bool any = refused;

	refused = false;
	return any ? refusal.line : NULL;
}

char *heddle_refusal_copy(void)
{
	return refused ? strdup(refusal.line) : NULL;
}

void heddle_refusal_set(const char *text)
{
	snprintf(refusal.line, sizeof(refusal.line), "%s", text);
	refused = true;
}

void heddle_warn(const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	message_print(1, format, arguments);
	va_end(arguments);
}

void heddle_wait_explain(const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	message_print(isatty(STDERR_FILENO) ? 1 : 2, format, arguments);
	va_end(arguments);
}

void heddle_explain(const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	message_print(2, format, arguments);
	va_end(arguments);
}
