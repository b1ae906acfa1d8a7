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
#include "partition/kernel/access/pasted.h"
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

/* Macros of what stands in front of a source (partition/kernel/access/ndrange.h). */
static bool is_own(const char *name)
{
	static const char *const beginnings[] = {
	    "HEDDLE_DIMENSIONS", "HEDDLE_GROUPS_",  "HEDDLE_OFFSET_", "HEDDLE_STATIC",
	    "heddle_has_",       "heddle_unclear_", PASTED_TEXT,      NULL};

	return begins_with_any(name, beginnings);
}

/* Functions that stand there, and what they are made of. A macro of such a name changes them. */
static bool is_ours(const char *name)
{
	return !strncmp(name, "heddle_", strlen("heddle_"));
}

static bool is_used_by_ours(const char *name, size_t length)
{
	static const char *const words[] = {"size_t", "uint", "ulong", "return", NULL};

	return !strncmp(name, "get_", strlen("get_")) || source_is_any(name, length, words);
}

bool kernel_conditions_foreign(const char *name, size_t length, bool asked)
{
	return (is_reserved(name, length) && !is_language(name, length)) || is_own(name) ||
	       (asked && (is_unclear(name, length) || is_standard(name, length)));
}

/* Names that tell OpenCL C from other languages. Files for both have code of theirs that no
 * compiler of OpenCL C reads. */
static const struct {
	const char *name;
	bool defined; /* by OpenCL C */
} languages[] = {
    {"__OPENCL_VERSION__", true}, {"__cplusplus", false}, {"__CUDACC__", false},
    {"__CUDA_ARCH__", false},     {"__HIPCC__", false},
};

enum { NLANGUAGES = sizeof(languages) / sizeof(languages[0]) };

static const char BUILTIN[] = "__builtin_";

void kernel_conditions_presume(FILE *out, const char *asked)
{
	for (int i = 0; i < NLANGUAGES; i++)
		for (const char *at = asked; *at; at = source_next_line(at))
			if (source_is_word(at, strcspn(at, "\n"), languages[i].name))
				fprintf(out, "#if%sdef %s\n#error\n#endif\n",
				        languages[i].defined ? "n" : "", languages[i].name);
	for (const char *at = asked; *at; at = source_next_line(at)) {
		int length = strcspn(at, "\n");

		if (!strncmp(at, BUILTIN, strlen(BUILTIN)))
			fprintf(out, "#define %.*s heddle_unclear_%.*s\n", length, at, length, at);
	}
}

/* ---- what is asked ---- */

/* A source and its options; copies. */
struct walk {
	char *code, *options;
	bool pastes; /* it makes names of parts */
	FILE *asked;
	char *macros; /* whose values conditions ask for, each with a line's end behind it */
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

static int refuse_text(const struct walk *walk, const char *has, const char *what)
{
	snprintf(walk->why, walk->size, "%s %s", has, what);
	return -ENOTSUP;
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

/* Keeps the name of a macro, once. */
static int macro_keep(struct walk *walk, const char *name, size_t length)
{
	size_t size = walk->macros ? strlen(walk->macros) : 0;
	char *longer;

	for (const char *at = walk->macros; at && *at; at = source_next_line(at))
		if (source_name_length(at) == length && !strncmp(at, name, length))
			return 0;
	longer = realloc(walk->macros, size + length + 2);
	if (!longer)
		return -ENOMEM;
	sprintf(longer + size, "%.*s\n", (int)length, name);
	walk->macros = longer;
	return 0;
}

/* A name whose value, or existence, a condition asks for. */
static int name_ask(struct walk *walk, const char *name, size_t length, bool valued)
{
	bool defined = is_defined(walk, name, length);

	if (is_unclear(name, length))
		return refuse(walk, "source asks for", name, length);
	if (is_foreign(name, length) || !defined)
		fprintf(walk->asked, "%.*s\n", (int)length, name);
	return valued && defined ? macro_keep(walk, name, length) : 0;
}

/* Whether the parameters of a macro, in brackets, have a name. */
static bool is_parameter(const char *parameters, const char *name, size_t length)
{
	static const char others[] = "__VA_ARGS__";
	const char *end = parameters + (*parameters == '(' ? strcspn(parameters, ")\n") : 0);
	size_t n;

	if (end == parameters)
		return false;
	for (const char *at = parameters; (at = name_next(at, &n)) && at < end; at += n)
		if (n == length && !strncmp(at, name, length))
			return true;
	return source_is_word(name, length, others);
}

/* Names of a condition, or of what a macro in one stands for.
 * @param parameters the macro's, or none
 * @param valued their values are asked for */
static int names_ask(struct walk *walk, const char *at, const char *parameters, bool valued)
{
	bool exists = false; /* `defined` stands in front of it */
	int status = 0;
	size_t n;

	for (; !status && (at = name_next(at, &n)); at += n) {
		if (source_is_word(at, n, "defined")) {
			exists = true;
			continue;
		}
		if (source_is_word(at, n, HAS_BUILTIN))
			status = builtin_ask(walk, at, &n);
		else if (!is_parameter(parameters, at, n))
			status = name_ask(walk, at, n, valued && !exists);
		exists = false;
	}
	return status;
}

/* Names of what a macro stands for, by a definition that begins with its name. */
static int definition_ask(struct walk *walk, const char *definition)
{
	const char *parameters = definition + source_name_length(definition);
	size_t n = *parameters == '(' ? strcspn(parameters, ")\n") : 0;

	return names_ask(walk, parameters + n, parameters, true);
}

/* Names of what a macro stands for, wherever the source or an option defines it. */
static int macro_ask(struct walk *walk, const char *name, size_t length)
{
	char *copy = strdup(walk->options), *rest = copy, *definition;
	int status = copy ? 0 : -ENOMEM;

	while (!status && (definition = kernel_option_definition_take(&rest)))
		if (source_name_length(definition) == length && !strncmp(definition, name, length))
			status = definition_ask(walk, definition);
	free(copy);
	for (const char *line = walk->code; !status && *line; line = source_next_line(line)) {
		size_t n = 0;

		if (is_about(line, "define", name, length)) {
			line = source_directive(line, &n);
			status = definition_ask(walk, source_skip_blanks(line + n));
		}
	}
	return status;
}

/* Names of the values that conditions ask for. */
static int macros_ask(struct walk *walk)
{
	int status = 0;

	/* There are more as one looks. */
	for (size_t at = 0; !status && walk->macros && walk->macros[at];) {
		size_t length = source_name_length(walk->macros + at);
		char *name = strndup(walk->macros + at, length);

		status = name ? macro_ask(walk, name, length) : -ENOMEM;
		free(name);
		at += length + 1;
	}
	return status;
}

/* Names of a condition. */
static int condition_ask(struct walk *walk, const char *word, size_t n)
{
	static const char *const values[] = {"if", "elif", NULL};

	return names_ask(walk, word + n, "", source_is_any(word, n, values));
}

/* Names of other code.
 * @param answered answers decide whether it is there: if it is, compilers' functions in it are not
 * declared (kernel_conditions_presume()) */
static int code_ask(struct walk *walk, const char *line, const char *where, bool answered)
{
	size_t n;

	for (; (line = name_next(line, &n)); line += n) {
		if (!is_own(line) && (!is_reserved(line, n) || is_language(line, n)))
			continue;
		if (is_own(line) ||
		    (is_unclear(line, n) && (!answered || strncmp(line, BUILTIN, strlen(BUILTIN)))))
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
	bool unclear; /* answers decide whether the present branch is */
};

static bool begins_group(const char *word, size_t n)
{
	static const char *const words[] = {"if", "ifdef", "ifndef", NULL};

	return source_is_any(word, n, words);
}

static bool begins_branch(const char *word, size_t n)
{
	static const char *const words[] = {"elif", "else", NULL};

	return source_is_any(word, n, words);
}

/* Whether what follows `#pragma` says nothing of what is computed, whatever macros are in it. */
static bool is_idle_pragma(const char *word)
{
	static const char *const words[] = {"OPENCL", "unroll", NULL};

	word = source_skip_blanks(word);
	return source_is_any(word, source_name_length(word), words);
}

/* Whether a line says nothing of what is computed, or ends the compilation. */
static bool is_idle(const char *line)
{
	size_t n = 0;
	const char *word = source_directive(line, &n);

	if (!word)
		return strchr("\n", *source_skip_blanks(line));
	if (source_is_word(word, n, "pragma"))
		return is_idle_pragma(word + n);
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

/* Of a name that tells OpenCL C from other languages: whether it is defined. Devices are asked for
 * it, see kernel_conditions_presume().
 * @return -1: it is another name, or the source or the options define it or not */
static int language_decide(const struct walk *walk, const char *name, size_t length)
{
	for (int i = 0; i < NLANGUAGES; i++) {
		if (!source_is_word(name, length, languages[i].name))
			continue;
		if (is_defined(walk, name, length) ||
		    source_has(walk->code, "undef", name, length) ||
		    strstr(walk->code, "pop_macro"))
			return -1;
		fprintf(walk->asked, "%s\n", languages[i].name);
		return languages[i].defined;
	}
	return -1;
}

/* Of a question whether an option or the source defines a name, which begins at `*at` with the
 * name. @return 1: all compilers say yes; 0: all say no; -1: that is not clear */
static int name_decide(const struct walk *walk, const char *place, bool negative, const char **at)
{
	size_t length = source_name_length(*at);
	const char *name = *at;
	int defined;

	*at += length;
	if (length && stays_defined(walk, place, name, length))
		return !negative;
	defined = language_decide(walk, name, length);
	return defined < 0 ? -1 : defined != negative;
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
	const char *at = source_skip_blanks(word + n);
	bool is_negative = source_is_word(word, n, "ifndef");
	int decision;

	if (is_negative || source_is_word(word, n, "ifdef")) {
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
	/* So it is of all later branches. */
	group->unclear |= decision < 0;
	group->taken = decision > 0;
	group->skipped = !decision;
	return decision < 0 ? condition_ask(walk, word, n) : 0;
}

/* ---- lines ---- */

/* Whether an option's definition has a name. Without memory it may. */
static bool options_have(const struct walk *walk, const char *name, size_t length)
{
	char *copy = strdup(walk->options), *rest = copy, *definition;
	bool found = !copy;
	size_t n;

	while (copy && !found && (definition = kernel_option_definition_take(&rest)))
		for (const char *at = definition; !found && (at = name_next(at, &n)); at += n)
			found = n == length && !strncmp(at, name, length);
	free(copy);
	return found;
}

/* Whether the source has a name nowhere but in its definitions and in those of other such names.
 * Where names are made of parts it may have it.
 * @param[in,out] names how many may still be looked for; none: the answer is no */
static bool is_unused(const struct walk *walk, const char *name, size_t length, unsigned *names)
{
	if (!*names || walk->pastes || is_foreign(name, length) || options_have(walk, name, length))
		return false;
	--*names;
	for (const char *line = walk->code; *line; line = source_next_line(line)) {
		size_t n = 0, defined_n;
		const char *word = source_directive(line, &n), *defined = NULL;

		if (word && source_is_word(word, n, "define"))
			defined = source_skip_blanks(word + n);
		defined_n = defined ? source_name_length(defined) : 0;
		for (const char *at = line; (at = name_next(at, &n)); at += n) {
			if (n != length || strncmp(at, name, length) || at == defined)
				continue;
			if (!defined || !is_unused(walk, defined, defined_n, names))
				return false;
		}
	}
	return true;
}

/* @param names how many may be looked for; with 1 no other macro may have the name */
static bool defines_unused(const struct walk *walk, const char *word, size_t n, unsigned names)
{
	const char *name = source_skip_blanks(word + n);

	return source_is_word(word, n, "define") &&
	       is_unused(walk, name, source_name_length(name), &names);
}

/* Macros that are followed from one that makes a text, which mostly only messages need. */
enum { TEXT_NAMES = 32 };

static const char TEXT[] = "a macro that makes a text of code (#)";

/* @param group that has the line */
static int directive_ask(struct walk *walk, const struct group *group, const char *word, size_t n)
{
	static const char *const harmless[] = {"error", "warning", "line", NULL};
	static const char *const includes[] = {"include", "import", "include_next", "embed", NULL};
	const char *defined = source_skip_blanks(word + n);
	bool answered = false;

	if (source_is_word(word, n, "define") && is_ours(defined))
		return refuse(walk, "source defines", defined, source_name_length(defined));
	/* Where answers take the branch, analysis fails. */
	if (source_is_any(word, n, includes) && group->unclear)
		return 0;
	if (source_is_any(word, n, includes)) {
		snprintf(walk->why, walk->size,
		         "it includes a file that is in no folder of -I, or by other means than "
		         "#include with a name");
		return -ENOTSUP;
	}
	if (source_is_any(word, n, harmless) || defines_unused(walk, word, n, 1) ||
	    (source_is_word(word, n, "pragma") && is_idle_pragma(word + n)))
		return 0;
	if (source_is_word(word, n, "define")) {
		/* Where names are made of parts the preprocessor tells (kernel_pasted_text()). */
		if (source_makes_text(word))
			return walk->pastes || defines_unused(walk, word, n, TEXT_NAMES)
			           ? 0
			           : refuse_text(walk, "it has", TEXT);
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
		answered = group->unclear && !is_unclear(word, n);
	}
	return code_ask(walk, word, "source has", answered);
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
			groups[++depth] =
			    (struct group){.outside = group->skipped, .unclear = group->unclear};
			status = branch_begin(walk, &groups[depth], word, n);
		} else if (word && begins_branch(word, n) && depth) {
			status = branch_begin(walk, group, word, n);
		} else if (word && source_is_word(word, n, "endif") && depth) {
			depth--;
		} else if (!group->skipped) {
			status = word ? directive_ask(walk, group, word, n)
			              : code_ask(walk, line, "source has", group->unclear);
		}
	}
	if (status == -EINVAL) {
		snprintf(walk->why, walk->size, "its conditions are in each other too deep");
		status = -ENOTSUP;
	}
	return status;
}

static const char ODD[] = "$, a backslash, %: or letters beyond ASCII";

/* Whether a source has directives of C23: compilers that do not know them leave them out with the
 * branch in front. */
static bool has_new_branches(const char *code)
{
	static const char *const words[] = {"elifdef", "elifndef", NULL};

	for (; *code; code = source_next_line(code)) {
		size_t n = 0;
		const char *word = source_directive(code, &n);

		if (word && source_is_any(word, n, words))
			return true;
	}
	return false;
}

/* Leaves the code of a source. Refuses what compilers may read in other ways. */
static int text_read(struct walk *walk)
{
	bool unrolls;

	if (!source_lines_join(walk->code))
		return refuse_text(walk, "it has", "a backslash that joins no lines");
	/* Joined lines may make one, which compilers do not see. */
	if (source_has_trigraphs(walk->code))
		return refuse_text(walk, "it has", "trigraphs");
	unrolls = source_unrolling_operators_blank(walk->code);
	if (!source_comments_blank(walk->code))
		return refuse_text(walk, "it has",
		                   "a comment of several lines behind #error, #warning or #pragma");
	if (source_has_odd_characters(walk->code))
		return refuse_text(walk, "it has", ODD);
	if (has_new_branches(walk->code))
		return refuse_text(walk, "it has",
		                   "#elifdef or #elifndef, which not all compilers know");
	walk->pastes = strstr(walk->code, "##") || strstr(walk->options, "##");
	/* It is a blank in what is analysed. */
	if (unrolls && walk->pastes)
		return refuse_text(walk, "it has",
		                   "_Pragma, and names that are made of parts (##)");
	return 0;
}

/* Definitions among the options are code as well. */
static int definitions_ask(struct walk *walk)
{
	char *copy = strdup(walk->options), *rest = copy, *definition;
	int status = copy ? 0 : -ENOMEM;

	while (!status && (definition = kernel_option_definition_take(&rest))) {
		size_t n = source_name_length(definition);

		if (source_has_trigraphs(definition) || source_has_odd_characters(definition))
			status = refuse_text(walk, "its options have", ODD);
		else if (source_makes_text(definition))
			status = refuse_text(walk, "its options have", TEXT);
		else if (is_ours(definition) || is_used_by_ours(definition, n))
			status = refuse(walk, "options define", definition, n);
		else
			status = code_ask(walk, definition, "options have", false);
	}
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
	} else {
		status = text_read(&walk);
		if (!status)
			status = definitions_ask(&walk);
		if (!status)
			status = source_ask(&walk);
		if (!status)
			status = macros_ask(&walk);
	}
	if (walk.asked && fclose(walk.asked) && !status)
		status = -ENOMEM;
	free(walk.code);
	free(walk.options);
	free(walk.macros);
	if (status) {
		free(names);
		return status;
	}
	names_unite(names);
	*asked = names;
	return 0;
}
