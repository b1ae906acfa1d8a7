/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "config.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "support/message.h"
#include "support/progress.h"
#include "support/variables.h"

#define ERASE_LINE "\r\033[K"

static bool shown;

void heddle_progress(const char *format, ...)
{
	struct winsize size = {.ws_col = 0};
	char line[256];
	va_list arguments;

	if (!isatty(STDERR_FILENO) || heddle_variable_number(HEDDLE_VARIABLE_VERBOSE) < 1)
		return;
	va_start(arguments, format);
	vsnprintf(line, sizeof(line), format, arguments);
	va_end(arguments);
	heddle_message_clean(line);
	ioctl(STDERR_FILENO, TIOCGWINSZ, &size);
	if (size.ws_col && size.ws_col < strlen(line))
		line[size.ws_col - 1] = 0;
	/* The cursor goes back, so that a message begins its line. */
	fprintf(stderr, ERASE_LINE "%s\r", line);
	fflush(stderr);
	shown = true;
}

void heddle_progress_end(void)
{
	if (!shown)
		return;
	fputs(ERASE_LINE, stderr);
	fflush(stderr);
	shown = false;
}
