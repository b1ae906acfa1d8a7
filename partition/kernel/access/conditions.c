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
#include "partition/kernel/access/options.h"
#include "partition/kernel/access/source_text.h"

/* ---- names ---- */

/* The next name of a line, numbers left out. @return NULL: there is none */
static const char *name_next(const char *text, size_t *length)
{
	while (*text && *text != '\n') {
		*length = source_name_length(text);
		if (*length && !isdigit((unsigned char)*text))
			return text;
		text += *length ? *length : 1;
	}
	return NULL;
}

static bool begins_with_any(const char *text, const char *const *beginnings)
{
	for (; *beginnings; beginnings++)
		if (!strncmp(text, *beginnings, strlen(*beginnings)))
			return true;
	return false;
}

/* A name that a compiler may have defined as it likes. */
static bool is_reserved(const char *name, size_t length)
{
	static const char *const beginnings[] = {"__",       "cl_",      "CL_", "cles_",
	                                         "FP_FAST_", "FP_ILOGB", NULL};
	static const char *const words[] = {"linux", "unix", "i386", NULL};

	return begins_with_any(name, beginnings) ||
	       (name[0] == '_' && isupper((unsigned char)name[1])) ||
	       source_is_any(name, length, words);
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

	return begins_with_any(name, beginnings) || source_is_any(name, length, words);
}

/* Reserved names that mean the same to every compiler. */
static bool is_language(const char *name, size_t length)
{
	static const char *const words[] = {"__kernel",         "__global",
	                                    "__local",          "__constant",
	                                    "__private",        "__generic",
	                                    "__read_only",      "__write_only",
	                                    "__read_write",     "__attribute__",
	                                    "__attribute",      "__inline",
	                                    "__inline__",       "__restrict",
	                                    "__restrict__",     "__const",
	                                    "__const__",        "__volatile",
	                                    "__volatile__",     "__signed",
	                                    "__signed__",       "__always_inline__",
	                                    "__noinline__",     "__aligned__",
	                                    "__packed__",       "__unused__",
	                                    "__builtin_expect", "__builtin_assume",
	                                    "__VA_ARGS__",      "_Bool",
	                                    "_Static_assert",   NULL};

	return source_is_any(name, length, words);
}

/* Names whose meaning changes from place to place, or that no compiler tells, and those that the
 * launches of ranges define (partition/kernel/access/ndrange.h). */
static bool is_unclear(const char *name, size_t length)
{
	static const char *const beginnings[] = {"__builtin", "__has_", "get_",
	                                         "heddle",    "HEDDLE", NULL};
	static const char *const words[] = {"__COUNTER__",       "__LINE__",      "__FILE__",
	                                    "__DATE__",          "__TIME__",      "__TIMESTAMP__",
	                                    "__INCLUDE_LEVEL__", "__BASE_FILE__", "__FILE_NAME__",
	                                    "_Pragma",           "__pragma",      NULL};

	return begins_with_any(name, beginnings) || source_is_any(name, length, words);
}

/* ---- what is asked ---- */

/* A source and its options; copies. */
struct walk {
	char *code, *options;
	bool pastes;         /* it makes names of parts */
	char no_parts[2048]; /* reserved names that are no parts, a line each */
	FILE *asked;
	char *why;
	size_t size;
};

/* Whether a line is `#define NAME` or `#undef NAME`, as `directive` says. */
static bool is_about(const char *line, const char *directive, const char *name, size_t length)
{
	size_t n = 0;
	const char *word = source_directive(line, &n);

	if (!word || !source_is_word(word, n, directive))
		return false;
	word = source_skip_blanks(word + n);
	return source_name_length(word) == length && !strncmp(word, name, length);
}

static bool source_has(const char *code, const char *directive, const char *name, size_t length)
{
	for (; *code; code = source_next_line(code))
		if (is_about(code, directive, name, length))
			return true;
	return false;
}

/* Whether the source or an option does. */
static bool is_defined(const struct walk *walk, const char *name, size_t length)
{
	return source_has(walk->code, "define", name, length) ||
	       kernel_options_define(walk->options, name, length);
}

static bool is_foreign(const char *name, size_t length)
{
	return is_reserved(name, length) || is_standard(name, length);
}

static int refuse(const struct walk *walk, const char *where, const char *name, size_t length)
{
	snprintf(walk->why, walk->size,
	         "devices may compile different code, since its %s %.*s, which compilers define",
	         where, (int)length, name);
	return -ENOTSUP;
}

/* Whether a name is the end of one that is made of parts, as INT_MAX of `type##_MAX`. No compiler
 * has such a name but those of limits, which are the same everywhere. */
static bool ends_limit(const char *line, const char *name, size_t length)
{
	static const char *const words[] = {"_MAX",     "_MIN",     "_EPSILON", "_DIG", "_MANT_DIG",
	                                    "_MAX_EXP", "_MIN_EXP", "_RADIX",   NULL};

	while (name > line && strchr(" \t", name[-1]))
		name--;
	return name - line >= 2 && name[-1] == '#' && name[-2] == '#' &&
	       source_is_any(source_skip_blanks(name), length, words);
}

/* Whether "##" is in front of a name, which makes it a part of another, or "#". */
static bool follows_paste(const char *line, const char *name)
{
	while (name > line && strchr(" \t", name[-1]))
		name--;
	return name > line && name[-1] == '#';
}

/* Whether "##" is behind a name. */
static bool precedes_paste(const char *end)
{
	end = source_skip_blanks(end);
	return end[0] == '#' && end[1] == '#';
}

/* Whether the source defines a macro with parameters and has its name in front of brackets alone,
 * so that it is no beginning of a name that is made of parts. */
static bool is_only_called(const struct walk *walk, const char *name, size_t length)
{
	static const char *const questions[] = {"ifdef", "ifndef", "undef", NULL};
	bool defined = false;
	size_t n;

	for (const char *line = walk->code; *line; line = source_next_line(line)) {
		const char *word = source_directive(line, &n);
		bool asks = word && source_is_any(word, n, questions);
		bool defines = is_about(line, "define", name, length);

		for (const char *at = line; !asks && (at = name_next(at, &n)); at += n) {
			const char *end = defines ? at + n : source_skip_blanks(at + n);

			if (n != length || strncmp(at, name, length))
				continue;
			if (*end != '(' || follows_paste(line, at))
				return false;
			defined |= defines;
			defines = false;
		}
	}
	return defined;
}

/* Whether the source or an option defines a name that begins with CL_, and no compiler has a longer
 * one: so what is made of it and other parts is no name of a compiler. */
static bool is_begun_by_nobody(const struct walk *walk, const char *name, size_t length)
{
	static const char *const theirs[] = {
	    "CL_COMPLETE",  "CL_KHRONOS", "CL_QUEUED",  "CL_RUNNING",
	    "CL_SUBMITTED", "CL_TARGET",  "CL_VERSION", NULL};

	if (strncmp(name, "CL_", 3))
		return false;
	for (const char *const *their = theirs; *their; their++) {
		size_t n = strlen(*their);

		if (!strncmp(name, *their, n < length ? n : length))
			return false;
	}
	return is_defined(walk, name, length);
}

/* Whether a line of a text begins with a name and ends there. */
static bool has_line(const char *text, const char *name, size_t length)
{
	for (; *text; text = source_next_line(text))
		if (!strncmp(text, name, length) && text[length] == '\n')
			return true;
	return false;
}

/* Whether what is made of a name and other parts may be a name of a compiler. */
static bool is_part(struct walk *walk, const char *name, size_t length)
{
	size_t used = strlen(walk->no_parts);

	if (!walk->pastes || has_line(walk->no_parts, name, length))
		return false;
	if (used + length + 2 > sizeof(walk->no_parts) ||
	    (!is_begun_by_nobody(walk, name, length) && !is_only_called(walk, name, length)))
		return true;
	snprintf(walk->no_parts + used, length + 2, "%.*s\n", (int)length, name);
	return false;
}

static const char HAS_BUILTIN[] = "__has_builtin";

/* The name, or the whole question `__has_builtin(NAME)`.
 * @param[out] n how long it is in the source */
static int builtin_ask(const struct walk *walk, const char *at, size_t *n)
{
	const char *name = source_skip_blanks(at + *n), *end;
	size_t length;

	if (*name != '(') {
		fprintf(walk->asked, "%s\n", HAS_BUILTIN);
		return 0;
	}
	name = source_skip_blanks(name + 1);
	length = source_name_length(name);
	end = source_skip_blanks(name + length);
	/* Some compilers look at what a macro stands for, others at its name. */
	if (!length || *end != ')' || is_defined(walk, name, length))
		return refuse(walk, "source asks for", at, *n);
	fprintf(walk->asked, "%s(%.*s)\n", HAS_BUILTIN, (int)length, name);
	*n = end - at;
	return 0;
}

/* Whether a condition has a macro of the source in front of brackets, which may make names. */
static bool calls_own(const struct walk *walk, const char *line)
{
	size_t n;

	for (; (line = name_next(line, &n)); line += n)
		if (*source_skip_blanks(line + n) == '(' && is_defined(walk, line, n))
			return true;
	return false;
}

/* Names of a condition. */
static int condition_ask(struct walk *walk, const char *line)
{
	bool calls = calls_own(walk, line);
	size_t n;

	for (; (line = name_next(line, &n)); line += n) {
		if (source_is_word(line, n, "defined"))
			continue;
		if (source_is_word(line, n, HAS_BUILTIN)) {
			int status = builtin_ask(walk, line, &n);

			if (status)
				return status;
			continue;
		}
		if (is_unclear(line, n) ||
		    (calls && is_reserved(line, n) && is_part(walk, line, n)))
			return refuse(walk, "source asks for", line, n);
		if (is_foreign(line, n) || !is_defined(walk, line, n))
			fprintf(walk->asked, "%.*s\n", (int)n, line);
	}
	return 0;
}

/* ---- names that parts make ---- */

/* Beginnings of names that a compiler may have defined, then whole names. Where a part is _, what
 * follows may be _ or a capital: the first stands for both. */
static const char *const made[] = {"__",       "cl_",   "CL_",  "cles_", "FP_FAST_",
                                   "FP_ILOGB", "linux", "unix", "i386"};

enum { MADE_N = sizeof(made) / sizeof(made[0]), MADE_LENGTH = 8, MADE_WORDS = 6 };

/* Whether a name is there that has letters [i] to [j] of a beginning; where j is its end, the name
 * may go on, but for words. */
struct parts {
	bool there[MADE_N][MADE_LENGTH][MADE_LENGTH + 1];
};

static void part_add(struct parts *parts, const char *name, size_t length, bool is_first)
{
	for (int m = 0; m < MADE_N; m++) {
		size_t end = strlen(made[m]);

		for (size_t i = 0, j; i < end; i++) {
			for (j = i; j < end && j - i < length; j++)
				if (name[j - i] != made[m][j])
					break;
			if (j - i < length && (j < end || m >= MADE_WORDS))
				continue;
			/* A whole beginning is what code_ask() looks at. */
			parts->there[m][i][j] |= i || (is_first && j < end);
		}
	}
}

/* Whether a line defines a macro that makes a name of a parameter and what follows it. */
static bool begins_with_parameter(const char *line)
{
	const char *next = source_next_line(line), *parameters, *end;
	size_t n, length;

	parameters = source_directive(line, &n);
	if (!parameters || !source_is_word(parameters, n, "define"))
		return false;
	parameters = source_skip_blanks(parameters + n);
	parameters += source_name_length(parameters);
	end = *parameters == '(' ? parameters + strcspn(parameters, ")\n") : parameters;
	for (const char *at = end; (at = name_next(at, &n)) && at < next; at += n) {
		if (follows_paste(line, at) || !precedes_paste(at + n))
			continue;
		if (source_is_word(at, n, "__VA_ARGS__"))
			return true;
		for (const char *p = parameters; (p = name_next(p, &length)) && p < end;
		     p += length)
			if (length == n && !strncmp(at, p, n))
				return true;
	}
	return false;
}

/* Whether a line defines a macro that stands for nothing, and another line has it. */
static bool has_nothing(const struct walk *walk, const char *line)
{
	static const char *const others[] = {"if",      "ifdef",    "ifndef", "elif", "define",
	                                     "elifdef", "elifndef", "undef",  NULL};
	const char *name = source_directive(line, &(size_t){0}), *body;
	size_t length, n;

	name = source_skip_blanks(name + strlen("define"));
	length = source_name_length(name);
	body = name + length;
	if (*body == '(')
		body += strcspn(body, ")\n") + 1;
	if (!strchr("\n", *source_skip_blanks(body)))
		return false;
	for (line = walk->code; *line; line = source_next_line(line)) {
		const char *at = source_directive(line, &n);

		/* Its own name, or what a condition asks for. */
		at = at && source_is_any(at, n, others) ? source_skip_blanks(at + n) : line;
		if (at != line && source_name_length(at) == length && !strncmp(at, name, length))
			continue;
		for (; (at = name_next(at, &n)); at += n)
			if (n == length && !strncmp(at, name, length))
				return true;
	}
	return false;
}

/* Whether parameters of macros may stand for nothing. */
static bool has_empty_parameters(const struct walk *walk)
{
	const char *code = walk->code, *name;
	size_t n;

	for (const char *at = code; (at = strpbrk(at, "(,")); at++) {
		const char *next = at + 1 + strspn(at + 1, " \t\v\f\n");

		if (*next == ',' || (*next == ')' && *at == ','))
			return true;
		if (*next != ')')
			continue;
		for (name = at; name > code && strchr(" \t\n", name[-1]);)
			name--;
		for (n = 0; name > code && source_in_name(name[-1]); n++)
			name--;
		if (source_has(code, "define", name, n))
			return true;
	}
	for (const char *line = code; *line; line = source_next_line(line)) {
		const char *word = source_directive(line, &n);

		if (word && source_is_word(word, n, "define") && has_nothing(walk, line))
			return true;
	}
	return strstr(walk->options, "= ") || strstr(code, "__VA_ARGS__") ||
	       (*walk->options && walk->options[strlen(walk->options) - 1] == '=');
}

/* Adds all names and numbers of a text. */
static void parts_add(struct parts *parts, const char *text, bool any, bool empty)
{
	for (const char *line = text, *end; *line; line = end) {
		end = source_next_line(line);
		for (const char *at = line; at < end;) {
			size_t n = source_name_length(at);
			bool behind = follows_paste(line, at);

			if (n)
				part_add(parts, at, n,
				         any ? empty || !behind
				             : !behind && precedes_paste(at + n));
			at += n ? n : 1;
		}
	}
}

/* Whether names of the source, one behind the other, may make one that a compiler has defined, as
 * c and l_khr_fp64 do. */
static int made_refuse(const struct walk *walk)
{
	struct parts parts = {0};
	char *copy = strdup(walk->options), *rest = copy, *definition;
	bool any = strstr(walk->options, "##"), empty = has_empty_parameters(walk);

	if (!copy)
		return -ENOMEM;
	for (const char *line = walk->code; !any && *line; line = source_next_line(line))
		any = begins_with_parameter(line);
	while ((definition = kernel_option_definition_take(&rest)))
		parts_add(&parts, definition, any, empty);
	free(copy);
	parts_add(&parts, walk->code, any, empty);
	for (int m = 0; m < MADE_N; m++) {
		bool reached[MADE_LENGTH + 1] = {true};
		size_t end = strlen(made[m]);

		/* A word of more than two parts would be one of single letters. */
		for (size_t i = 0; i < end; i++)
			for (size_t j = i + 1; reached[i] && j <= end; j++)
				if (m < MADE_WORDS || !i || j == end)
					reached[j] |= parts.there[m][i][j];
		if (reached[end]) {
			snprintf(walk->why, walk->size,
			         "devices may compile different code, since its source may make a "
			         "name of parts that begins with %s, which compilers define",
			         made[m]);
			return -ENOTSUP;
		}
	}
	return 0;
}

/* Names of other code. Where names are made of parts, the parts are not the names. */
static int code_ask(struct walk *walk, const char *line, const char *where)
{
	const char *begin = line;
	size_t n;

	for (; (line = name_next(line, &n)); line += n) {
		if (!is_reserved(line, n) || is_language(line, n) || ends_limit(begin, line, n))
			continue;
		if (is_unclear(line, n) || is_part(walk, line, n))
			return refuse(walk, where, line, n);
		fprintf(walk->asked, "%.*s\n", (int)n, line);
	}
	return 0;
}

/* ---- groups of lines that a condition keeps or leaves out ---- */

enum { MAXDEPTH = 64 };

struct group {
	bool outside; /* it is left out as a whole */
	bool taken;   /* one of its branches is what all compilers take */
	bool skipped; /* the present branch is left out */
};

static bool begins_group(const char *word, size_t n)
{
	static const char *const words[] = {"if", "ifdef", "ifndef", NULL};

	return source_is_any(word, n, words);
}

static bool begins_branch(const char *word, size_t n)
{
	static const char *const words[] = {"elif", "elifdef", "elifndef", "else", NULL};

	return source_is_any(word, n, words);
}

/* Whether a line says nothing of what is computed, or ends the compilation. */
static bool is_idle(const char *line)
{
	size_t n = 0;
	const char *word = source_directive(line, &n);

	if (!word)
		return strchr("\n", *source_skip_blanks(line));
	if (source_is_word(word, n, "pragma")) {
		word = source_skip_blanks(word + n);
		n = source_name_length(word);
		return source_is_word(word, n, "OPENCL") || source_is_word(word, n, "unroll");
	}
	return !n || source_is_word(word, n, "error") || source_is_word(word, n, "warning") ||
	       begins_group(word, n) || begins_branch(word, n) || source_is_word(word, n, "endif");
}

/* Behind a group of idle lines, which begins here. @return NULL: it is none */
static const char *idle_group_end(const char *line)
{
	unsigned depth = 0;

	for (; *line && is_idle(line); line = source_next_line(line)) {
		size_t n = 0;
		const char *word = source_directive(line, &n);

		depth += word && begins_group(word, n);
		if (word && source_is_word(word, n, "endif") && !--depth)
			return source_next_line(line);
	}
	return NULL;
}

/* Whether a line in front of a place, in no group, defines a name. */
static bool defined_before(const struct walk *walk, const char *place, const char *name,
                           size_t length)
{
	unsigned depth = 0;

	for (const char *line = walk->code; line < place; line = source_next_line(line)) {
		size_t n = 0;
		const char *word = source_directive(line, &n);

		if (!depth && is_about(line, "define", name, length))
			return true;
		depth += word && begins_group(word, n);
		depth -= word && depth && source_is_word(word, n, "endif");
	}
	return false;
}

/* Whether an option or a line in front of a place defines a name, and nothing undefines it. */
static bool stays_defined(const struct walk *walk, const char *place, const char *name,
                          size_t length)
{
	bool given =
	    !is_foreign(name, length) && kernel_options_define(walk->options, name, length);

	if (!given &&
	    (strstr(walk->code, "pop_macro") || !defined_before(walk, place, name, length)))
		return false;
	return !source_has(walk->code, "undef", name, length);
}

/* Whether nothing follows on a line. */
static bool line_ends(const char *at)
{
	at = source_skip_blanks(at);
	return !*at || *at == '\n';
}

/* Of a question whether an option or the source defines a name, which begins at `*at` with the
 * name. @return 1: all compilers say yes; 0: all say no; -1: that is not clear */
static int name_decide(const struct walk *walk, const char *place, bool negative, const char **at)
{
	size_t length = source_name_length(*at);
	const char *name = *at;

	*at += length;
	return length && stays_defined(walk, place, name, length) ? !negative : -1;
}

/* Of "defined" and "!defined", with "&&" between: one that says no is enough.
 * @return as decide() */
static int terms_decide(const struct walk *walk, const char *place, const char *at)
{
	int decision = 1;

	for (;;) {
		bool negative = *at == '!', bracket;
		size_t length;
		int term;

		at = source_skip_blanks(at + negative);
		length = source_name_length(at);
		if (!source_is_word(at, length, "defined"))
			return -1;
		at = source_skip_blanks(at + length);
		bracket = *at == '(';
		at = source_skip_blanks(at + bracket);
		term = name_decide(walk, place, negative, &at);
		at = source_skip_blanks(at);
		if (bracket && *at != ')')
			return -1;
		at = source_skip_blanks(at + bracket);
		decision = !term || !decision ? 0 : term < 0 ? -1 : decision;
		if (!*at || *at == '\n')
			return decision;
		if (at[0] != '&' || at[1] != '&')
			return -1;
		at = source_skip_blanks(at + 2);
	}
}

/* Of `#if 0` and questions whether an option or the source defines names.
 * @return 1: all compilers take the branch; 0: none does; -1: that is not clear */
static int decide(const struct walk *walk, const char *word, size_t n)
{
	static const char *const positive[] = {"ifdef", "elifdef", NULL};
	static const char *const negative[] = {"ifndef", "elifndef", NULL};
	const char *at = source_skip_blanks(word + n);
	bool is_negative = source_is_any(word, n, negative);
	int decision;

	if (is_negative || source_is_any(word, n, positive)) {
		decision = name_decide(walk, word, is_negative, &at);
		return line_ends(at) ? decision : -1;
	}
	if ((*at == '0' || *at == '1') && line_ends(at + 1))
		return *at == '1';
	return terms_decide(walk, word, at);
}

static int branch_begin(struct walk *walk, struct group *group, const char *word, size_t n)
{
	int decision = 1;

	group->skipped = group->outside || group->taken;
	if (group->skipped)
		return 0;
	if (!source_is_word(word, n, "else"))
		decision = decide(walk, word, n);
	group->taken = decision > 0;
	group->skipped = !decision;
	return decision < 0 ? condition_ask(walk, word + n) : 0;
}

/* ---- lines ---- */

/* Whether a line defines a name that the source has nowhere else. Where names are made of parts
 * it may have it. */
static bool defines_unused(const struct walk *walk, const char *word, size_t n)
{
	const char *name = source_skip_blanks(word + n);
	size_t length = source_name_length(name);
	char *copy, *rest, *definition;
	bool found = false;

	if (!source_is_word(word, n, "define") || walk->pastes || is_foreign(name, length))
		return false;
	for (const char *line = walk->code; !found && *line; line = source_next_line(line))
		for (const char *at = line; !found && (at = name_next(at, &n)); at += n)
			found = at != name && n == length && !strncmp(at, name, length);
	copy = rest = strdup(walk->options);
	while (copy && !found && (definition = kernel_option_definition_take(&rest)))
		for (const char *at = definition; !found && (at = name_next(at, &n)); at += n)
			found = n == length && !strncmp(at, name, length);
	free(copy);
	return copy && !found;
}

static int directive_ask(struct walk *walk, const char *word, size_t n)
{
	static const char *const harmless[] = {"pragma", "error", "warning", "line", NULL};
	static const char *const includes[] = {"include", "import", "include_next", "embed", NULL};

	if (source_is_any(word, n, includes)) {
		snprintf(walk->why, walk->size,
		         "it includes a file that is in no folder of -I, or by other means than "
		         "#include with a name");
		return -ENOTSUP;
	}
	if (source_is_any(word, n, harmless) || defines_unused(walk, word, n))
		return 0;
	if (source_is_word(word, n, "define")) {
		word = source_skip_blanks(word + n);
		n = source_name_length(word);
		/* The same for compilers that do not know the question, of which others ask. */
		if (source_is_word(word, n, HAS_BUILTIN)) {
			fprintf(walk->asked, "%s\n", HAS_BUILTIN);
			word += n;
			n = source_name_length(word);
		}
		/* This is no part of a name. */
		if (is_reserved(word, n) && !is_language(word, n) && !is_unclear(word, n)) {
			fprintf(walk->asked, "%.*s\n", (int)n, word);
			word += n;
		}
	}
	return code_ask(walk, word, "source has");
}

static int source_ask(struct walk *walk)
{
	struct group groups[MAXDEPTH] = {{0}};
	unsigned depth = 0;
	int status = 0;

	for (const char *line = walk->code, *next; !status && *line; line = next) {
		struct group *group = &groups[depth];
		size_t n = 0;
		const char *word = source_directive(line, &n);

		next = source_next_line(line);
		if (word && begins_group(word, n)) {
			const char *end = group->skipped ? NULL : idle_group_end(line);

			if (end || depth + 1 == MAXDEPTH) {
				next = end ? end : next;
				status = end ? 0 : -EINVAL;
				continue;
			}
			groups[++depth] = (struct group){.outside = group->skipped};
			status = branch_begin(walk, &groups[depth], word, n);
		} else if (word && begins_branch(word, n) && depth) {
			status = branch_begin(walk, group, word, n);
		} else if (word && source_is_word(word, n, "endif") && depth) {
			depth--;
		} else if (!group->skipped) {
			status = word ? directive_ask(walk, word, n)
			              : code_ask(walk, line, "source has");
		}
	}
	if (status == -EINVAL) {
		snprintf(walk->why, walk->size, "its conditions are in each other too deep");
		status = -ENOTSUP;
	}
	return status;
}

/* Definitions among the options are code as well. */
static int definitions_ask(struct walk *walk)
{
	char *copy = strdup(walk->options), *rest = copy, *definition;
	int status = copy ? 0 : -ENOMEM;

	while (!status && (definition = kernel_option_definition_take(&rest)))
		status = code_ask(walk, definition, "options have");
	free(copy);
	return status;
}

/* Leaves one of each. */
static void names_unite(char *names)
{
	char *to = names;

	for (char *at = names, *end; *at; at = end) {
		bool known = false;

		end = strchr(at, '\n') + 1;
		for (char *other = names; other < to && !known; other = strchr(other, '\n') + 1)
			known = !strncmp(other, at, end - at);
		if (known)
			continue;
		memmove(to, at, end - at);
		to += end - at;
	}
	*to = '\0';
}

int kernel_conditions_ask(const char *source, const char *options, char **asked, char *why,
                          size_t size)
{
	struct walk walk = {
	    .code = strdup(source), .options = strdup(options), .why = why, .size = size};
	char *names = NULL;
	size_t length;
	int status = 0;

	walk.asked = open_memstream(&names, &length);
	if (!walk.code || !walk.options || !walk.asked) {
		status = -ENOMEM;
	} else if (source_has_trigraphs(source)) {
		snprintf(why, size, "it has trigraphs");
		status = -ENOTSUP;
	} else {
		source_lines_join(walk.code);
		source_unrolling_operators_blank(walk.code);
		source_comments_blank(walk.code);
		walk.pastes =
		    strstr(walk.code, "##") || strstr(walk.code, "%:#") || strstr(options, "##");
		status = walk.pastes ? made_refuse(&walk) : 0;
		if (!status)
			status = definitions_ask(&walk);
		if (!status)
			status = source_ask(&walk);
	}
	if (walk.asked && fclose(walk.asked) && !status)
		status = -ENOMEM;
	free(walk.code);
	free(walk.options);
	if (status) {
		free(names);
		return status;
	}
	names_unite(names);
	*asked = names;
	return 0;
}
