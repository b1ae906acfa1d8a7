/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "config.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "partition/kernel/conditions.h"

static bool in_name(char c)
{
	return isalnum((unsigned char)c) || c == '_';
}

static size_t name_length(const char *text)
{
	size_t n = 0;

	while (in_name(text[n]))
		n++;
	return n;
}

/* Behind blanks, comments and ends of lines that go on. */
static const char *skip_blanks(const char *text)
{
	for (;;) {
		const char *end = text[0] == '/' && text[1] == '*' ? strstr(text + 2, "*/") : NULL;

		if (end)
			text = end + 2;
		else if (text[0] == '\\' && text[1] == '\n')
			text += 2;
		else if (*text == ' ' || *text == '\t')
			text++;
		else
			return text;
	}
}

static bool is_word(const char *text, size_t length, const char *word)
{
	return strlen(word) == length && !strncmp(text, word, length);
}

/* The word of a directive on a line, and its length; NULL: the line has none. Before it stands
 * nothing but blanks, behind a comment perhaps, which may have begun on another line. */
static const char *directive(const char *line, size_t *length)
{
	const char *sharp = line + strcspn(line, "#\n"), *before = sharp;

	while (before > line && (before[-1] == ' ' || before[-1] == '\t'))
		before--;
	if (*sharp != '#' || (before > line && (before - line < 2 || strncmp(before - 2, "*/", 2))))
		return NULL;
	line = skip_blanks(sharp + 1);
	*length = name_length(line);
	return line;
}

static const char *next_line(const char *line)
{
	const char *end = strchr(line, '\n');

	return end ? end + 1 : line + strlen(line);
}

static bool source_defines(const char *source, const char *name, size_t length)
{
	for (const char *line = source; *line; line = next_line(line)) {
		size_t n = 0;
		const char *word = directive(line, &n);

		if (!word || !is_word(word, n, "define"))
			continue;
		word = skip_blanks(word + n);
		if (name_length(word) == length && !strncmp(word, name, length))
			return true;
	}
	return false;
}

static bool options_define(const char *options, const char *name, size_t length)
{
	const char *at = options;

	while ((at = strstr(at, "-D"))) {
		at = skip_blanks(at + 2);
		if (name_length(at) == length && !strncmp(at, name, length))
			return true;
	}
	return false;
}

/* The first foreign name from `text` to the end of its line; lines may be continued. */
static const char *line_foreign(const char *text, const char *source, const char *options,
                                size_t *length)
{
	while (*text && *text != '\n') {
		*length = name_length(text);
		if (*text == '\\' && text[1] == '\n') {
			text += 2;
		} else if (!*length) {
			text++;
		} else if (isdigit((unsigned char)*text) || is_word(text, *length, "defined") ||
		           source_defines(source, text, *length) ||
		           options_define(options, text, *length)) {
			text += *length;
		} else {
			return text;
		}
	}
	return NULL;
}

static bool is_condition(const char *word, size_t length)
{
	static const char *const conditions[] = {"if",   "ifdef",   "ifndef",
	                                         "elif", "elifdef", "elifndef"};
	bool any = false;

	for (size_t i = 0; i < sizeof(conditions) / sizeof(conditions[0]); i++)
		any = any || is_word(word, length, conditions[i]);
	return any;
}

bool conditions_foreign(const char *source, const char *options, char *name, size_t size)
{
	for (const char *line = source; *line; line = next_line(line)) {
		size_t n = 0;
		const char *word = directive(line, &n), *found;

		if (!word || !is_condition(word, n))
			continue;
		found = line_foreign(word + n, source, options, &n);
		if (found) {
			snprintf(name, size, "%.*s", (int)n, found);
			return true;
		}
	}
	return false;
}

bool conditions_includes(const char *source, const char *options)
{
	bool any = strstr(options, "-include") || strstr(options, "-imacros");

	for (const char *line = source; *line && !any; line = next_line(line)) {
		size_t n = 0;
		const char *word = directive(line, &n);

		any = word && (is_word(word, n, "include") || is_word(word, n, "import") ||
		               is_word(word, n, "include_next"));
	}
	return any;
}
