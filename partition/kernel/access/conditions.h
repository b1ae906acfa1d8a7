/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * What a source asks of compilers, so that each device may compile other code.
 */
#ifndef HEDDLE_KERNEL_CONDITIONS_H
#define HEDDLE_KERNEL_CONDITIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/** Compilers define names of their own, as __OPENCL_VERSION__ or cl_khr_fp64, so that each
 * device may get other code than another one. Lists
 *  - names in conditions (#if, #ifdef, ...) that neither the source nor the options define, or
 *    that belong to compilers: those that C reserves (__X, _X with a capital), and OpenCL's;
 *  - names anywhere else, also in the options' definitions, that C reserves and that are no
 *    words of OpenCL C;
 *  - `__has_builtin(X)` in conditions, as it stands there without blanks.
 * Left out are branches that other compilers leave out, too (#else of #ifdef A with the option
 * -DA), code for other languages (#ifdef __cplusplus), and conditions of pragmas of OpenCL alone.
 * Names that the source makes of parts are not listed (partition/kernel/access/pasted.h). Where all
 * compilers define the listed names in the same way, or do not define them, all compile the same
 * code.
 * @param source with all included files in it (partition/kernel/access/includes.h)
 * @param options as for clBuildProgram()
 * @param[out] asked the names, each with a line's end behind it; to be freed
 * @param[out] why set at -ENOTSUP: what follows "it is not analysed: "; cut where it does not fit
 * @return 0; -ENOTSUP where no answer helps, as for __COUNTER__, or a file is included that is not
 * there, unless answers decide whether it is; -ENOMEM */
int kernel_conditions_ask(const char *source, const char *options, char **asked, char *why,
                          size_t size);

/** Prints directives that end a compilation where answers contradict what the list presumes:
 * that compilers of OpenCL C define no __cplusplus.
 * @param asked kernel_conditions_ask()'s list */
void kernel_conditions_presume(FILE *out, const char *asked);

/** Whether compilers may define a name as they like, or Heddle does.
 * @param asked it stands in a condition, where OpenCL's own names say something else to each */
bool kernel_conditions_foreign(const char *name, size_t length, bool asked);

#endif
