/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Whether every device compiles the same code of a source, and the options of compilers.
 */
#ifndef HEDDLE_KERNEL_CONDITIONS_H
#define HEDDLE_KERNEL_CONDITIONS_H

#include <stddef.h>

/** Compilers define names of their own, as __OPENCL_VERSION__ or cl_khr_fp64, so that each
 * device may get other code than the one that was analysed. Looks for
 *  - names in conditions (#if, #ifdef, ...) that neither the source nor the options define, or
 *    that belong to compilers: those that C reserves (__X, _X with a capital), and OpenCL's;
 *  - names anywhere else, also in the options' definitions, that C reserves and that are no
 *    words of OpenCL C;
 *  - files that are included, which may say something else the next time.
 * @param options as for clBuildProgram()
 * @param[out] why set where there is one: what follows "it is not analysed: "; cut where it does
 * not fit
 * @return 0: all devices compile the same; -ENOTSUP; -ENOMEM */
int kernel_conditions_check(const char *source, const char *options, char *why, size_t size);

/** Takes the next option off a text, which is changed. Blanks separate options. Blanks in double
 * quotes belong to an option; the quotes are removed.
 * @param[in,out] rest the text from there on
 * @return the option; NULL: there is none */
char *kernel_option_take(char **rest);

/** Takes the next definition (-D) off such a text, as "NAME" or "NAME=VALUE"; other options
 * are left out.
 * @return NULL: there is none */
char *kernel_option_definition_take(char **rest);

/** Whether the meaning of all options is known: -D, -I, -cl-..., -w and -Werror, with quotes
 * around folders only.
 * @param[out] why set where one is not: what follows "it is not analysed: "
 * @return 0; -ENOTSUP where one is not; -ENOMEM */
int kernel_options_check(const char *options, char *why, size_t size);

#endif
