/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The text of a source, as compilers read it before they look at conditions.
 */
#ifndef HEDDLE_KERNEL_SOURCE_TEXT_H
#define HEDDLE_KERNEL_SOURCE_TEXT_H

#include <stdbool.h>
#include <stddef.h>

/** Joins lines that end with a backslash (and blanks behind it). Ends of lines get their usual
 * spelling.
 * @return whether all lines are joined: no backslash is left at the end of one, where it would join
 * lines that compilers do not */
bool source_lines_join(char *text);

/** Puts a blank for each comment and each text in quotes.
 * @return whether compilers see the same comments: they read the text of #error, #warning and
 * `#pragma mark` as it is, where they do not skip it, and no comment begins in it */
bool source_comments_blank(char *text);

/** Whether code without comments and quotes has what may be a part of names, or spells another
 * character: `$`, backslashes, bytes beyond ASCII, `%:`. */
bool source_has_odd_characters(const char *code);

/** Whether there are trigraphs, which compilers read in different ways. */
bool source_has_trigraphs(const char *text);

/** Behind the comment or the text in quotes that begins here; `at` itself where none does. */
const char *source_opaque_end(const char *at);

/** Whether a character is part of names. */
bool source_in_name(char c);

/** The length of the name or number that begins here. */
size_t source_name_length(const char *text);

bool source_is_word(const char *text, size_t length, const char *word);

/** @param words the last one is NULL */
bool source_is_any(const char *text, size_t length, const char *const *words);

const char *source_next_line(const char *line);

/** Behind blanks of a line. */
const char *source_skip_blanks(const char *text);

/** The word of a directive on a line without comments, and its length; NULL: the line has none. */
const char *source_directive(const char *line, size_t *length);

/** Whether a macro's definition makes a text of an argument (`#x`). Compilers' own macros may be in
 * it. */
bool source_makes_text(const char *definition);

/** Makes pragmas that ask for loops to be unrolled unknown ones, and blanks of operators that do.
 */
void source_unrolling_blank(char *text);

/** Puts blanks for operators that ask for loops to be unrolled: _Pragma("unroll").
 * @return whether there are any */
bool source_unrolling_operators_blank(char *text);

#endif
