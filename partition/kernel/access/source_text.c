/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "config.h"

#include <ctype.h>
#include <string.h>

#include "partition/kernel/access/source_text.h"

/* Behind the end of a line, which is one character or two different ones. `at` itself where no line
 * ends. */
static const char *skip_line_end(const char *at)
{
	static const char ends[] = "\n\r";

	if (!*at || !strchr(ends, *at))
		return at;
	return at + (at[1] && at[1] != at[0] && strchr(ends, at[1]) ? 2 : 1);
}

bool source_lines_join(char *text)
{
	char *to = text;

	for (const char *at = text; *at;) {
		const char *blanks = source_skip_blanks(at + 1), *end = skip_line_end(blanks);

		if (*at == '\\' && end > blanks) {
			at = end;
		} else {
			*to++ = *at == '\r' ? '\n' : *at;
			at++;
		}
	}
	*to = '\0';
	for (const char *at = text; (at = strchr(at, '\\')); at++)
		if (strchr("\n", *source_skip_blanks(at + 1)))
			return false;
	return true;
}

/* Behind a text in quotes, which ends with its line at the latest. */
static const char *skip_quoted(const char *at)
{
	char quote = *at++;

	while (*at && *at != '\n' && *at != quote)
		at += at[0] == '\\' && at[1] && at[1] != '\n' ? 2 : 1;
	return at + (*at == quote);
}

const char *source_opaque_end(const char *at)
{
	const char *end;

	if (at[0] == '/' && at[1] == '/')
		return at + strcspn(at, "\n");
	if (at[0] == '/' && at[1] == '*') {
		end = strstr(at + 2, "*/");
		return end ? end + 2 : at + strlen(at);
	}
	return *at == '"' || *at == '\'' ? skip_quoted(at) : at;
}

/* Whether compilers may read the rest of a directive as it is. */
static bool is_read_as_it_is(const char *line)
{
	static const char *const words[] = {"error", "warning", "pragma", NULL};
	size_t length = 0;
	const char *word = source_directive(line, &length);

	return word && source_is_any(word, length, words);
}

bool source_comments_blank(char *text)
{
	char *to = text, *line = text;
	bool same = true;

	for (const char *at = text, *end; *at; at = end) {
		end = source_opaque_end(at);
		if (end > at) {
			*to = '\0';
			same &= !memchr(at, '\n', end - at) || !is_read_as_it_is(line);
			*to++ = ' ';
			continue;
		}
		*to++ = *at;
		line = *at == '\n' ? to : line;
		end++;
	}
	*to = '\0';
	return same;
}

bool source_has_odd_characters(const char *code)
{
	for (const char *at = code; *at; at++)
		if (*at == '$' || *at == '\\' || (unsigned char)*at > 127 ||
		    (at[0] == '%' && at[1] == ':'))
			return true;
	return false;
}

bool source_has_trigraphs(const char *text)
{
	for (; (text = strstr(text, "??")); text++)
		if (text[2] && strchr("=/'()!<>-", text[2]))
			return true;
	return false;
}

bool source_in_name(char c)
{
	return isalnum((unsigned char)c) || c == '_';
}

size_t source_name_length(const char *text)
{
	size_t n = 0;

	while (source_in_name(text[n]))
		n++;
	return n;
}

bool source_is_word(const char *text, size_t length, const char *word)
{
	return strlen(word) == length && !strncmp(text, word, length);
}

bool source_is_any(const char *text, size_t length, const char *const *words)
{
	for (; *words; words++)
		if (source_is_word(text, length, *words))
			return true;
	return false;
}

const char *source_next_line(const char *line)
{
	const char *end = strchr(line, '\n');

	return end ? end + 1 : line + strlen(line);
}

bool source_makes_text(const char *definition)
{
	for (const char *at = definition; *at && *at != '\n'; at++) {
		if (at[0] == '#' && at[1] != '#')
			return true;
		at += *at == '#';
	}
	return false;
}

const char *source_skip_blanks(const char *text)
{
	return text + strspn(text, " \t\v\f");
}

const char *source_directive(const char *line, size_t *length)
{
	line = source_skip_blanks(line);
	if (*line != '#')
		return NULL;
	line = source_skip_blanks(line + 1);
	*length = source_name_length(line);
	return line;
}

/* Behind an operator that asks for a loop to be unrolled, as _Pragma("unroll 4"), which begins
 * here. @return NULL: it is something else */
static const char *unrolling_operator_end(const char *at)
{
	at = source_skip_blanks(at + strlen("_Pragma"));
	if (*at++ != '(')
		return NULL;
	at = source_skip_blanks(at);
	if (*at++ != '"')
		return NULL;
	at = source_skip_blanks(at);
	if (!source_is_word(at, source_name_length(at), "unroll"))
		return NULL;
	at += strcspn(at, "\"\\\n");
	if (*at++ != '"')
		return NULL;
	at = source_skip_blanks(at);
	return *at == ')' ? at + 1 : NULL;
}

bool source_unrolling_operators_blank(char *text)
{
	bool found = false;

	for (const char *at = text, *end, *behind; *at; at = end) {
		size_t n = source_name_length(at);

		end = n ? at + n : source_opaque_end(at);
		behind = source_is_word(at, n, "_Pragma") ? unrolling_operator_end(at) : NULL;
		if (behind) {
			memset(text + (at - text), ' ', behind - at);
			end = behind;
			found = true;
		}
		end += end == at;
	}
	return found;
}

void source_unrolling_blank(char *text)
{
	static const char *const words[] = {"unroll", "clang", NULL};
	size_t length;

	for (const char *line = text, *at; *line; line = source_next_line(line)) {
		at = source_directive(line, &length);
		if (!at || !source_is_word(at, length, "pragma"))
			continue;
		at = source_skip_blanks(at + length);
		length = source_name_length(at);
		if (source_is_any(at, length, words) &&
		    (*at == 'u' || !strncmp(source_skip_blanks(at + length), "loop", 4)))
			memset(text + (at - text), '_', length);
	}
	source_unrolling_operators_blank(text);
}
