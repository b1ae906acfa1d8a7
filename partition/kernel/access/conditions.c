/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "config.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "partition/kernel/access/conditions.h"

/* ---- options ---- */

#define BLANKS " \t\n\v\f\r"

/* Where an option ends: blanks in double quotes are its own. */
static const char *option_end(const char *option)
{
	bool quoted = false;

	for (; *option && (quoted || !strchr(BLANKS, *option)); option++)
		quoted ^= *option == '"';
	return option;
}

/* Whether there are quotes elsewhere than around the folder of -I. OpenCL knows no others.
 * Compilers remove them, or take them for the beginning of a string. */
static bool quotes_unclear(const char *options)
{
	const char *end;
	bool folder = false;

	for (options += strspn(options, BLANKS); *options; options = end + strspn(end, BLANKS)) {
		end = option_end(options);
		if (memchr(options, '"', end - options) && !folder && strncmp(options, "-I", 2))
			return true;
		folder = end - options == 2 && !strncmp(options, "-I", 2);
	}
	return false;
}

char *kernel_option_take(char **rest)
{
	char *option = *rest + strspn(*rest, BLANKS), *to = option;
	const char *end = option_end(option);

	if (!*option)
		return NULL;
	*rest += end - *rest + (*end != '\0');
	for (const char *from = option; from < end; from++)
		if (*from != '"')
			*to++ = *from;
	*to = '\0';
	return option;
}

/* The folder or definition of an option that may have it in the next word. */
static char *value_take(char *option, char **rest)
{
	return option[2] ? option + 2 : kernel_option_take(rest);
}

char *kernel_option_definition_take(char **rest)
{
	char *option;

	while ((option = kernel_option_take(rest))) {
		if (!strncmp(option, "-D", 2))
			return value_take(option, rest);
		if (!strncmp(option, "-I", 2))
			value_take(option, rest);
	}
	return NULL;
}

/* Whether the option is one whose meaning is known. Sources in C++ may have quotes that C does
 * not know, so they are not. */
static bool is_known(const char *option)
{
	static const char standard[] = "-cl-std=";

	if (!strncmp(option, standard, strlen(standard)))
		return !strncmp(option + strlen(standard), "CL", 2) &&
		       isdigit((unsigned char)option[strlen(standard) + 2]);
	return !strncmp(option, "-cl-", 4) || !strcmp(option, "-w") || !strcmp(option, "-Werror");
}

int kernel_options_check(const char *options, char *why, size_t size)
{
	char *copy, *rest, *option;
	int status = 0;

	if (quotes_unclear(options)) {
		snprintf(why, size,
		         "its options have quotes that are not around a folder of -I, which "
		         "compilers read in different ways");
		return -ENOTSUP;
	}
	copy = rest = strdup(options);
	if (!copy)
		return -ENOMEM;
	while (!status && (option = kernel_option_take(&rest))) {
		if (!strncmp(option, "-D", 2) || !strncmp(option, "-I", 2)) {
			value_take(option, &rest);
		} else if (!is_known(option)) {
			snprintf(why, size, "its option %s is none of -D, -I, -cl-..., -w, -Werror",
			         option);
			status = -ENOTSUP;
		}
	}
	free(copy);
	return status;
}

/* ---- code without what compilers leave out ---- */

/* Joins lines that end with a backslash (and blanks behind it). Ends of lines and "%:" get their
 * usual spelling. */
static void lines_join(char *text)
{
	char *to = text;

	for (const char *at = text; *at;) {
		const char *end = at + 1 + strspn(at + 1, " \t\v\f\r");

		if (*at == '\\' && (*end == '\n' || memchr(at, '\r', end - at))) {
			at = end + (*end == '\n');
		} else if (at[0] == '%' && at[1] == ':') {
			*to++ = '#';
			at += 2;
		} else {
			*to++ = *at == '\r' ? '\n' : *at;
			at++;
		}
	}
	*to = '\0';
}

/* Behind a text in quotes, which ends with its line at the latest. */
static const char *skip_quoted(const char *at)
{
	char quote = *at++;

	while (*at && *at != '\n' && *at != quote)
		at += at[0] == '\\' && at[1] && at[1] != '\n' ? 2 : 1;
	return at + (*at == quote);
}

/* Puts a blank for each comment and each text in quotes. */
static void comments_blank(char *text)
{
	char *to = text;

	for (const char *at = text, *end; *at; at = end) {
		end = at;
		if (at[0] == '/' && at[1] == '/')
			end = at + strcspn(at, "\n");
		else if (at[0] == '/' && at[1] == '*')
			end = strstr(at + 2, "*/") ? strstr(at + 2, "*/") + 2 : at + strlen(at);
		else if (*at == '"' || *at == '\'')
			end = skip_quoted(at);
		*to++ = end > at ? ' ' : *at;
		end += end == at;
	}
	*to = '\0';
}

static bool has_trigraphs(const char *text)
{
	for (; (text = strstr(text, "??")); text++)
		if (text[2] && strchr("=/'()!<>-", text[2]))
			return true;
	return false;
}

/* ---- names ---- */

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

static bool is_word(const char *text, size_t length, const char *word)
{
	return strlen(word) == length && !strncmp(text, word, length);
}

static bool is_any(const char *text, size_t length, const char *const *words)
{
	for (; *words; words++)
		if (is_word(text, length, *words))
			return true;
	return false;
}

static bool begins_with_any(const char *text, const char *const *beginnings)
{
	for (; *beginnings; beginnings++)
		if (!strncmp(text, *beginnings, strlen(*beginnings)))
			return true;
	return false;
}

/* The next name of a line, numbers left out. @return NULL: there is none */
static const char *name_next(const char *text, size_t *length)
{
	while (*text && *text != '\n') {
		*length = name_length(text);
		if (*length && !isdigit((unsigned char)*text))
			return text;
		text += *length ? *length : 1;
	}
	return NULL;
}

/* A name that a compiler may have defined as it likes. */
static bool is_reserved(const char *name, size_t length)
{
	static const char *const beginnings[] = {"__", "cl_", "CL_", "cles_", "FP_", NULL};
	static const char *const words[] = {"linux", "unix", "i386", NULL};

	return begins_with_any(name, beginnings) ||
	       (name[0] == '_' && isupper((unsigned char)name[1])) || is_any(name, length, words);
}

/* Names that OpenCL defines with the same value everywhere, and some that compilers may define as
 * macros. A source does not ask whether they are defined. */
static bool is_standard(const char *name, size_t length)
{
	static const char *const beginnings[] = {
	    "CLK_",  "FLT_",   "DBL_",  "HALF_",  "HUGE_VAL", "CHAR_",   "SCHAR_", "UCHAR_",
	    "SHRT_", "USHRT_", "INT_M", "UINT_M", "LONG_M",   "ULONG_M", "M_E",    "M_LOG",
	    "M_LN",  "M_PI",   "M_1_",  "M_2_",   "M_SQRT",   "ATOMIC_", NULL};
	static const char *const words[] = {
	    "NULL",     "NAN",       "INFINITY", "MAXFLOAT", "kernel_exec", "inline", "kernel",
	    "global",   "local",     "constant", "private",  "generic",     "half",   "bool",
	    "complex",  "imaginary", "vector",   "pixel",    "asm",         "typeof", "printf",
	    "restrict", "true",      "false",    NULL};

	return begins_with_any(name, beginnings) || is_any(name, length, words);
}

/* Reserved names that mean the same to every compiler. */
static bool is_language(const char *name, size_t length)
{
	static const char *const words[] = {
	    "__kernel",    "__global",          "__local",      "__constant",   "__private",
	    "__generic",   "__read_only",       "__write_only", "__read_write", "__attribute__",
	    "__attribute", "__inline",          "__inline__",   "__restrict",   "__restrict__",
	    "__const",     "__const__",         "__volatile",   "__volatile__", "__signed",
	    "__signed__",  "__always_inline__", "__noinline__", "__aligned__",  "__packed__",
	    "__unused__",  "__builtin_expect",  "__VA_ARGS__",  "_Bool",        "_Static_assert",
	    NULL};

	return is_any(name, length, words);
}

/* ---- lines ---- */

static const char *next_line(const char *line)
{
	const char *end = strchr(line, '\n');

	return end ? end + 1 : line + strlen(line);
}

static const char *skip_blanks(const char *text)
{
	return text + strspn(text, " \t\v\f");
}

/* The word of a directive on a line, and its length; NULL: the line has none. */
static const char *directive(const char *line, size_t *length)
{
	line = skip_blanks(line);
	if (*line != '#')
		return NULL;
	line = skip_blanks(line + 1);
	*length = name_length(line);
	return line;
}

static bool source_defines(const char *code, const char *name, size_t length)
{
	for (const char *line = code; *line; line = next_line(line)) {
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

/* The source and the options; copies. */
struct text {
	char *code, *options;
};

static bool options_define(const struct text *text, const char *name, size_t length)
{
	char *copy = strdup(text->options), *rest = copy, *definition;
	bool defined = false;

	while (copy && !defined && (definition = kernel_option_definition_take(&rest)))
		defined = name_length(definition) == length && !strncmp(definition, name, length);
	free(copy);
	return defined;
}

static bool is_own(const struct text *text, const char *name, size_t length)
{
	return !is_reserved(name, length) && !is_standard(name, length) &&
	       (source_defines(text->code, name, length) || options_define(text, name, length));
}

/* The first name of a condition that compilers may define. */
static const char *condition_foreign(const struct text *text, const char *line, size_t *length)
{
	while ((line = name_next(line, length))) {
		if (!is_word(line, *length, "defined") && !is_own(text, line, *length))
			return line;
		line += *length;
	}
	return NULL;
}

/* The first name of other code that compilers may define. */
static const char *code_foreign(const char *line, size_t *length)
{
	while ((line = name_next(line, length))) {
		if (is_reserved(line, *length) && !is_language(line, *length))
			return line;
		line += *length;
	}
	return NULL;
}

static int line_check(const struct text *text, const char *line, char *why, size_t size)
{
	static const char *const conditions[] = {"if",      "ifdef",    "ifndef", "elif",
	                                         "elifdef", "elifndef", NULL};
	static const char *const includes[] = {"include", "import", "include_next", "embed", NULL};
	static const char *const harmless[] = {"pragma", "error", "warning", "line", NULL};
	size_t n = 0;
	const char *word = directive(line, &n), *found;

	if (word && is_any(word, n, includes)) {
		snprintf(why, size, "it includes files");
		return -ENOTSUP;
	}
	if (word && is_any(word, n, harmless))
		return 0;
	if (word && is_any(word, n, conditions)) {
		found = condition_foreign(text, word + n, &n);
		if (found)
			snprintf(why, size,
			         "devices may compile different code, since its source asks "
			         "whether %.*s is defined",
			         (int)n, found);
	} else {
		found = code_foreign(line, &n);
		if (found)
			snprintf(why, size,
			         "devices may compile different code, since its source has %.*s, "
			         "which compilers define",
			         (int)n, found);
	}
	return found ? -ENOTSUP : 0;
}

/* Definitions among the options are code as well. */
static int definitions_check(const struct text *text, char *why, size_t size)
{
	char *copy = strdup(text->options), *rest = copy, *definition;
	const char *found = NULL;
	size_t n = 0;

	if (!copy)
		return -ENOMEM;
	while (!found && (definition = kernel_option_definition_take(&rest)))
		found = code_foreign(definition, &n);
	if (found)
		snprintf(why, size,
		         "devices may compile different code, since its options have %.*s, which "
		         "compilers define",
		         (int)n, found);
	free(copy);
	return found ? -ENOTSUP : 0;
}

int kernel_conditions_check(const char *source, const char *options, char *why, size_t size)
{
	struct text text = {strdup(source), strdup(options)};
	int status = text.code && text.options ? 0 : -ENOMEM;

	if (!status && has_trigraphs(source)) {
		snprintf(why, size, "it has trigraphs");
		status = -ENOTSUP;
	}
	if (!status) {
		lines_join(text.code);
		comments_blank(text.code);
		status = definitions_check(&text, why, size);
	}
	for (const char *line = text.code; !status && *line; line = next_line(line))
		status = line_check(&text, line, why, size);
	free(text.code);
	free(text.options);
	return status;
}
