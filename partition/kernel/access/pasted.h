/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Names that a source makes of parts (`a##b`), which it does not have as a whole. A preprocessor
 * tells them: where one that compilers may define is left, devices may compile different code. So
 * they may where a text of code is left (`#x`).
 */
#ifndef HEDDLE_KERNEL_PASTED_H
#define HEDDLE_KERNEL_PASTED_H

#include <stdbool.h>
#include <stddef.h>

/** Whether a text may make names of parts. */
bool kernel_pastes(const char *text);

/** Stands for a text of code as if it were a name. No source may have such a name. */
#define PASTED_TEXT "heddle_text"

/** A source for a preprocessor whose output has all names that its compilers look at: what
 * conditions say stands in front of them as code, too, and what pragmas say instead of them. Macros
 * that make a text of code make PASTED_TEXT instead, and what else they make.
 * @param source begins with the answers to the names that are asked, up to `#line 1`
 * @return to be freed; NULL: no memory */
char *kernel_pasted_text(const char *source);

/** Directives that take a preprocessor's own macros away, so that their names are left.
 * `__has_builtin` stays for the answers in front of a source; kernel_pasted_text() takes it away.
 * They also mark the names of functions that a compiler may have a macro for.
 * @param macros what it lists, as `#define NAME VALUE` lines
 * @param source as for kernel_pasted_text()
 * @param is_function whether a name is that of a function of OpenCL C
 * @return to be freed; NULL: no memory */
char *kernel_pasted_prologue(const char *macros, const char *source,
                             bool (*is_function)(const char *name, size_t length));

/** Looks for a name that compilers may define and nobody was asked for, for one that is made of a
 * function's name, which a macro may change, and for PASTED_TEXT.
 * @param output the preprocessor's, without marks of lines
 * @param source as for kernel_pasted_text()
 * @param[out] name set where there is one; cut where it does not fit
 * @return whether there is one */
bool kernel_pasted_unknown(const char *output, const char *source, char *name, size_t size);

#endif
