/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * What a source asks of compilers, so that each device may compile other code.
 */
#ifndef HEDDLE_KERNEL_CONDITIONS_H
#define HEDDLE_KERNEL_CONDITIONS_H

#include <stddef.h>

/** Compilers define names of their own, as __OPENCL_VERSION__ or cl_khr_fp64, so that each
 * device may get other code than another one. Lists
 *  - names in conditions (#if, #ifdef, ...) that neither the source nor the options define, or
 *    that belong to compilers: those that C reserves (__X, _X with a capital), and OpenCL's;
 *  - names anywhere else, also in the options' definitions, that C reserves and that are no
 *    words of OpenCL C;
 *  - `__has_builtin(X)` in conditions, as it stands there without blanks.
 * Left out are branches that other compilers leave out, too (#else of #ifdef A with the option
 * -DA), and conditions of pragmas of OpenCL alone. Where all compilers define the listed names
 * in the same way, or do not define them, all compile the same code.
 * @param source with all included files in it (partition/kernel/access/includes.h)
 * @param options as for clBuildProgram()
 * @param[out] asked the names, each with a line's end behind it; to be freed
 * @param[out] why set at -ENOTSUP: what follows "it is not analysed: "; cut where it does not fit
 * @return 0; -ENOTSUP where no answer helps, as for __COUNTER__; -ENOMEM */
int kernel_conditions_ask(const char *source, const char *options, char **asked, char *why,
                          size_t size);

#endif
