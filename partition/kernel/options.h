/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A compiler's options as clBuildProgram() takes them, in one text.
 */
#ifndef HEDDLE_KERNEL_OPTIONS_H
#define HEDDLE_KERNEL_OPTIONS_H

#include <stddef.h>

/** Takes the next option off a text, which is changed. Options are separated by blanks; blanks
 * in double quotes are part of an option. The quotes are removed.
 * @param[in,out] rest the text from there on
 * @return the option; NULL: there is none */
char *option_take(char **rest);

/** Takes the next definition (-D) off such a text, as "NAME" or "NAME=VALUE"; other options
 * are left out.
 * @return NULL: there is none */
char *option_definition_take(char **rest);

/** Whether all options are of a meaning that is known: -D, -I, -cl-..., -w and -Werror, with
 * quotes around folders only.
 * @param[out] why set where one is not: what follows "it is not analysed: "
 * @return 0; -ENOTSUP where one is not; -ENOMEM */
int options_check(const char *options, char *why, size_t size);

#endif
