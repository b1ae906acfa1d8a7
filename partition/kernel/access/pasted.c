/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#include "config.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "partition/kernel/access/conditions.h"
#include "partition/kernel/access/pasted.h"
#include "partition/kernel/access/source_text.h"

bool kernel_pastes(const char *text)
{
	char *joined = strdup(text);
	bool pastes;

	if (!joined)
		return true;
	source_lines_join(joined);
	pastes = strstr(joined, "##") || strstr(joined, "%:");
	free(joined);
	return pastes;
}

/* ---- answers, in front of a source ---- */

/* Behind the answers. */
static const char *answers_end(const char *source)
{
	const char *end = strstr(source, "#line 1\n");

	return end && (*source == '#' || end == source) ? end : source;
}

/* Whether the answers are about a name. */
static bool is_answered(const char *source, const char *name, size_t length)
{
	const char *end = answers_end(source);

	for (const char *line = source; line < end; line = source_next_line(line)) {
		size_t n = 0;
		const char *word = source_directive(line, &n);

		word = word ? source_skip_blanks(word + n) : line;
		if (source_name_length(word) == length && !strncmp(word, name, length))
			return true;
	}
	return false;
}

/* ---- what the preprocessor reads ---- */

/* Stands in front of what a condition says. */
static const char condition_mark[] = "heddle_condition";

/* Prints the rest of a line as code. A macro at the end of the code in front of it does not take it
 * for its arguments. */
static void rest_show(FILE *out, const char *rest)
{
	fprintf(out, ";(%.*s);\n", (int)strcspn(rest, "\n"), rest);
}

/* Behind `defined NAME` or `defined(NAME)`; the text itself where neither is. */
static const char *defined_end(const char *text)
{
	size_t n = source_name_length(text);
	const char *at = source_skip_blanks(text + n);
	bool open = *at == '(';

	if (!source_is_word(text, n, "defined"))
		return text;
	if (open)
		at = source_skip_blanks(at + 1);
	n = source_name_length(at);
	if (!n || !open)
		return n ? at + n : text;
	at = source_skip_blanks(at + n);
	return *at == ')' ? at + 1 : text;
}

/* Prints the names that a condition uses. Whether those are defined that it asks for is of no
 * meaning: these are whole, so that who had to know was asked. */
static void names_show(FILE *out, const char *rest)
{
	fprintf(out, ";%s(", condition_mark);
	while (*rest && *rest != '\n') {
		const char *end = defined_end(rest);
		size_t n = source_name_length(rest);

		if (end != rest) {
			fputc('1', out);
			rest = end;
			continue;
		}
		n += !n;
		fwrite(rest, 1, n, out);
		rest += n;
	}
	fputs(");\n", out);
}

/* Prints what a condition says, and begins a group for the next one. @return whether it is one */
static bool condition_show(FILE *out, const char *word, size_t n)
{
	static const char *const questions[] = {"if", "elif", NULL};
	static const char *const others[] = {"ifdef", "ifndef", NULL};
	const size_t branch = *word == 'e' ? strlen("el") : 0;

	if (!source_is_any(word, n, questions) && !source_is_any(word, n, others))
		return false;
	if (source_is_any(word, n, questions))
		names_show(out, word + n);
	fprintf(out, "#%.*s\n#else\n", (int)strcspn(word + branch, "\n"), word + branch);
	return true;
}

/* Prints what the conditions of a group say. A later one is only asked if the branches in front of
 * it are left out: it stands in groups of these, where names mean the same. */
static void group_show(FILE *out, const char *line)
{
	static const char *const begins[] = {"if", "ifdef", "ifndef", NULL};
	unsigned depth = 0, shown = 0;

	for (; *line; line = source_next_line(line)) {
		size_t n = 0;
		const char *word = source_directive(line, &n);

		if (!word)
			continue;
		depth += source_is_any(word, n, begins);
		if (depth == 1)
			shown += condition_show(out, word, n);
		if (source_is_word(word, n, "endif") && !--depth)
			break;
	}
	while (shown--)
		fputs("#endif\n", out);
}

/* Prints what a pragma says as code: macros in it count, as in `#pragma pack(N)`. Its first names
 * do not, nor what stood in quotes. */
static void pragma_show(FILE *out, const char *word)
{
	static const char *const families[] = {"clang", "GCC", NULL};
	static const char *const plain[] = {"OPENCL", "unroll", NULL};
	size_t n = source_name_length(word);

	if (source_is_any(word, n, plain))
		return;
	if (source_is_any(word, n, families)) {
		word = source_skip_blanks(word + n);
		n = source_name_length(word);
	}
	rest_show(out, word + n);
}

/* Prints the definition of a macro that makes a text, which compilers may make in other ways. What
 * else it makes is left, as others may drop the text. */
static void text_macro_show(FILE *out, const char *define)
{
	const char *at = source_skip_blanks(define + strlen("define"));
	bool has_parameters;

	at += source_name_length(at);
	has_parameters = *at == '(';
	fprintf(out, "#%.*s", (int)(at - define), define);
	while (*at && *at != '\n') {
		if (at[0] != '#') {
			fputc(*at++, out);
		} else if (at[1] == '#') {
			fputs("##", out);
			at += strlen("##");
		} else {
			fputs(" " PASTED_TEXT " ", out);
			at = source_skip_blanks(at + 1);
			at += has_parameters ? source_name_length(at) : 0;
		}
	}
	fputc('\n', out);
}

/* Prints a line. One that ends the compilation, which tells where that is in the source, is left
 * out. Pragmas about names lack what stood in quotes, and the preprocessor fails. */
static void line_show(FILE *out, const char *line)
{
	static const char *const ends[] = {"error", "warning", NULL};
	static const char *const names[] = {"push_macro", "pop_macro", NULL};
	size_t n = 0;
	const char *word = source_directive(line, &n);

	if (word && source_is_any(word, n, ends))
		return;
	if (word && source_is_word(word, n, "pragma")) {
		word = source_skip_blanks(word + n);
		if (!source_is_any(word, source_name_length(word), names)) {
			pragma_show(out, word);
			return;
		}
	}
	if (word && source_is_word(word, n, "define") && source_makes_text(word))
		text_macro_show(out, word);
	else
		fprintf(out, "%.*s", (int)(source_next_line(line) - line), line);
}

/* A question about functions that compilers have. */
static const char has_builtin[] = "__has_builtin";

char *kernel_pasted_text(const char *source)
{
	static const char *const begins[] = {"if", "ifdef", "ifndef", NULL};
	char *copy = strdup(source), *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	if (copy && out) {
		source_lines_join(copy);
		source_comments_blank(copy);
		/* Answers ask for nothing. */
		fprintf(out, "%.*s", (int)(answers_end(copy) - copy), copy);
		/* Answers may ask for it. */
		if (!is_answered(copy, has_builtin, strlen(has_builtin)))
			fprintf(out, "#undef %s\n", has_builtin);
		for (const char *line = answers_end(copy); *line; line = source_next_line(line)) {
			size_t n = 0;
			const char *word = source_directive(line, &n);

			if (word && source_is_any(word, n, begins))
				group_show(out, line);
			line_show(out, line);
		}
	}
	if (out && fclose(out))
		copy = (free(copy), NULL);
	if (!copy) {
		free(text);
		return NULL;
	}
	free(copy);
	return text;
}

/* Macros that no list has. */
static const char *const built_in[] = {
    "__LINE__",
    "__FILE__",
    "__DATE__",
    "__TIME__",
    "__TIMESTAMP__",
    "__COUNTER__",
    "__INCLUDE_LEVEL__",
    "__BASE_FILE__",
    "__FILE_NAME__",
    "_Pragma",
    "__has_attribute",
    "__has_declspec_attribute",
    "__has_extension",
    "__has_feature",
    "__has_include",
    "__has_include_next",
    "__has_cpp_attribute",
    "__has_c_attribute",
    "__has_warning",
    "__is_identifier",
    "__has_constexpr_builtin",
    "__building_module",
    "__MODULE__",
    "__is_target_arch",
    "__is_target_vendor",
    "__is_target_os",
    "__is_target_environment",
    "__FLT_EVAL_METHOD__",
};

/* A compiler may have a macro in place of a function of the language. Such a name stands between
 * these then, so that it shows where it becomes part of another one. */
static const char painted[] = "heddle_paint_", painted_end[] = "_heddle";

/* Whether a line has a name. */
static bool line_has(const char *line, const char *name, size_t length)
{
	size_t n;

	for (; *line && *line != '\n'; line += n ? n : 1) {
		n = source_name_length(line);
		if (n == length && !strncmp(line, name, length))
			return true;
	}
	return false;
}

/* Whether conditions, or the answers to them, are about a name. */
static bool is_asked(const char *source, const char *name, size_t length)
{
	static const char *const asks[] = {"if", "ifdef", "ifndef", "elif", NULL};

	if (is_answered(source, name, length))
		return true;
	for (const char *line = source; *line; line = source_next_line(line)) {
		size_t n = 0;
		const char *word = source_directive(line, &n);

		if (word && source_is_any(word, n, asks) && line_has(word + n, name, length))
			return true;
	}
	return false;
}

static void functions_paint(FILE *out, const char *source,
                            bool (*is_function)(const char *name, size_t length))
{
	size_t n;

	for (const char *at = answers_end(source); *at; at += n ? n : 1) {
		n = source_name_length(at);
		if (n && is_function(at, n) && !is_asked(source, at, n))
			fprintf(out, "#ifndef %.*s\n#define %.*s %s%.*s%s\n#endif\n", (int)n, at,
			        (int)n, at, painted, (int)n, at, painted_end);
	}
}

char *kernel_pasted_prologue(const char *macros, const char *source,
                             bool (*is_function)(const char *name, size_t length))
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	if (!out)
		return NULL;
	for (const char *line = macros; *line; line = source_next_line(line)) {
		size_t n = 0;
		const char *word = source_directive(line, &n);

		if (!word || !source_is_word(word, n, "define"))
			continue;
		word = source_skip_blanks(word + n);
		fprintf(out, "#undef %.*s\n", (int)source_name_length(word), word);
	}
	for (size_t i = 0; i < sizeof(built_in) / sizeof(built_in[0]); i++)
		fprintf(out, "#undef %s\n", built_in[i]);
	functions_paint(out, source, is_function);
	if (fclose(out)) {
		free(text);
		return NULL;
	}
	return text;
}

/* ---- what it leaves ---- */

/* How many brackets are open behind a character. */
static unsigned brackets_count(unsigned open, char c)
{
	return c == '(' ? open + 1 : c == ')' && open ? open - 1 : open;
}

/* Whether a function's name has become part of another name. */
static bool has_function(const char *name, size_t length)
{
	const size_t begin = strlen(painted), end = strlen(painted_end);
	const char *at = memmem(name, length, painted, begin);

	return at && (at != name || length <= begin + end ||
	              memcmp(name + length - end, painted_end, end) ||
	              memmem(name + begin, length - begin, painted, begin));
}

/* Sets a name, without what stood around functions' names, or in front of those that are not
 * clear (kernel_conditions_presume()). */
static void name_set(char *name, size_t size, const char *at, size_t n)
{
	const char *const marks[] = {painted, painted_end, "heddle_unclear_"};

	snprintf(name, size, "%.*s", (int)n, at);
	for (int m = 0; m < 3; m++)
		for (char *mark; (mark = strstr(name, marks[m]));)
			memmove(mark, mark + strlen(marks[m]), strlen(mark + strlen(marks[m])) + 1);
}

bool kernel_pasted_unknown(const char *output, const char *source, char *name, size_t size)
{
	bool asks = false; /* a condition follows, or goes on */
	unsigned open = 0; /* its brackets */

	for (const char *at = output, *end; *at; at = end) {
		size_t n = source_name_length(at);

		end = n ? at + n : source_opaque_end(at);
		if (*at == '#' && (at == output || at[-1] == '\n')) /* a pragma */
			end = at + strcspn(at, "\n");
		if (asks && end == at) {
			open = brackets_count(open, *at);
			asks = open || *at != ')';
		}
		end += end == at;
		/* A text becomes another one behind a part, as in L##"x". */
		if (memmem(at, n, PASTED_TEXT, strlen(PASTED_TEXT))) {
			name_set(name, size, PASTED_TEXT, strlen(PASTED_TEXT));
			return true;
		}
		if (!n || isdigit((unsigned char)*at))
			continue;
		if (!asks && source_is_word(at, n, condition_mark)) {
			asks = true;
			open = 0;
			continue;
		}
		if (!has_function(at, n) &&
		    (!kernel_conditions_foreign(at, n, asks) || is_answered(source, at, n)))
			continue;
		name_set(name, size, at, n);
		return true;
	}
	return false;
}
