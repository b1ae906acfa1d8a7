/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The early exit that SKMD puts into kernels, put into their source: the text is gone
 * through as far as it takes to find the kernel outside of any function, with its
 * parameters and its body.
 */
#include "config.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "partition/kernel/ndrange.h"

/* ---- going through C ---- */

/* Behind a comment, a text in quotes or a line of the preprocessor that begins here;
 * `at` itself where none does. */
static const char *skip_opaque(const char *at, bool line_begins)
{
	const char *end;

	if (at[0] == '/' && at[1] == '/')
		return at + strcspn(at, "\n");
	if (at[0] == '/' && at[1] == '*') {
		end = strstr(at + 2, "*/");
		return end ? end + 2 : at + strlen(at);
	}
	if (*at == '#' && line_begins) {
		while (*at && *at != '\n')
			at += at[0] == '\\' && at[1] ? 2 : 1;
		return at;
	}
	if (*at == '"' || *at == '\'') {
		char quote = *at++;

		while (*at && *at != quote)
			at += at[0] == '\\' && at[1] ? 2 : 1;
		return *at ? at + 1 : at;
	}
	return at;
}

static bool in_word(char c)
{
	return isalnum((unsigned char)c) || c == '_';
}

/* Behind blanks and what is opaque. */
static const char *skip_blanks(const char *at)
{
	const char *end;

	while (*at) {
		end = isspace((unsigned char)*at) ? at + 1 : skip_opaque(at, false);
		if (end == at)
			break;
		at = end;
	}
	return at;
}

/* The bracket that closes the one at `at`; NULL: none does. */
static const char *closing(const char *at)
{
	int depth = 0;

	while (*at) {
		const char *end = skip_opaque(at, false);

		if (end != at) {
			at = end;
			continue;
		}
		depth += (*at == '(') - (*at == ')');
		if (!depth)
			return at;
		at++;
	}
	return NULL;
}

/* The next place outside of functions where the name is followed by a bracket; NULL: none.
 * @param[in,out] depth of braces at `at` */
static const char *name_find(const char *at, const char *name, int *depth)
{
	size_t length = strlen(name);
	bool line_begins = true;

	while (*at) {
		const char *end = skip_opaque(at, line_begins);

		if (end != at) {
			at = end;
			continue;
		}
		if (in_word(*at)) {
			for (end = at; in_word(*end); end++)
				;
			if (!*depth && (size_t)(end - at) == length && !strncmp(at, name, length) &&
			    *skip_blanks(end) == '(')
				return at;
			at = end;
			line_begins = false;
			continue;
		}
		*depth += (*at == '{') - (*at == '}');
		line_begins = *at == '\n' || (line_begins && isspace((unsigned char)*at));
		at++;
	}
	return NULL;
}

/* ---- the kernel ---- */

static void copy(FILE *out, const char *from, const char *end)
{
	fwrite(from, 1, end - from, out);
}

static bool no_parameters(const char *open, const char *close)
{
	const char *first = skip_blanks(open + 1);

	return first == close || (!strncmp(first, "void", 4) && skip_blanks(first + 4) == close);
}

/* A declaration or definition, from its name on.
 * @param[out] body whether it was a definition
 * @return where the text goes on; NULL: it makes no sense */
static const char *kernel_print(FILE *out, const char *at, bool *body)
{
	const char *open = strchr(at, '('), *close = closing(open), *brace;

	if (!close)
		return NULL;
	if (no_parameters(open, close)) {
		copy(out, at, open + 1);
		fputs("ulong heddle_first, ulong heddle_last", out);
	} else {
		copy(out, at, close);
		fputs(", ulong heddle_first, ulong heddle_last", out);
	}
	brace = skip_blanks(close + 1);
	*body = *brace == '{';
	if (!*body) {
		fputc(')', out);
		return close + 1;
	}
	copy(out, close, brace + 1);
	fputs(" if (heddle_skips(heddle_first, heddle_last)) return;", out);
	return brace + 1;
}

char *ndrange_exit_source(const char *source, const char *name)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);
	unsigned bodies = 0;
	int depth = 0;
	const char *at = source, *found;

	while (out && at && (found = name_find(at, name, &depth))) {
		bool body = false;

		copy(out, at, found);
		at = kernel_print(out, found, &body);
		bodies += body;
		depth += body;
	}
	if (at && out)
		fputs(at, out);
	if (!out || fclose(out) || !at || !bodies) {
		free(text);
		return NULL;
	}
	return text;
}
