/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The options of compilers.
 */
#ifndef HEDDLE_KERNEL_OPTIONS_H
#define HEDDLE_KERNEL_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>

/** Takes the next option off a text, which is changed. Blanks separate options. Blanks in double
 * quotes belong to an option; the quotes are removed.
 * @param[in,out] rest the text from there on
 * @return the option; NULL: there is none */
char *kernel_option_take(char **rest);

/** Takes the next definition (-D) off such a text, as "NAME" or "NAME=VALUE"; other options
 * are left out.
 * @return NULL: there is none */
char *kernel_option_definition_take(char **rest);
/** Whether one of the options defines a name of this length. */
bool kernel_options_define(const char *options, const char *name, size_t length);

/** Takes the next folder (-I) off such a text. @return NULL: there is none */
char *kernel_option_folder_take(char **rest);

/** Whether the meaning of all options is known: -D, -I, -cl-..., -w and -Werror, with quotes
 * around folders only.
 * @param[out] why set where one is not: what follows "it is not analysed: "
 * @return 0; -ENOTSUP where one is not; -ENOMEM */
int kernel_options_check(const char *options, char *why, size_t size);

#endif
