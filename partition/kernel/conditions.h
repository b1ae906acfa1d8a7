/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Conditions of the preprocessor by which devices may compile different code.
 */
#ifndef HEDDLE_KERNEL_CONDITIONS_H
#define HEDDLE_KERNEL_CONDITIONS_H

#include <stdbool.h>
#include <stddef.h>

/** Looks for a name that an #if, #ifdef, #ifndef, #elif, #elifdef or #elifndef of a source asks
 * for and that neither the source nor the options define: compilers define names of their own,
 * as __NV_CL_C_VERSION or cl_khr_fp64, so that each device may get other code than the one
 * that was analysed. Comments are not told from code, which errs on the safe side.
 * @param options as for clBuildProgram()
 * @param[out] name the first such name, cut where it does not fit; set where there is one
 * @return whether there is one */
bool conditions_foreign(const char *source, const char *options, char *name, size_t size);

/** Whether a source includes files, by a line of its own or an option: what these say is not
 * known, and may be something else the next time. */
bool conditions_includes(const char *source, const char *options);

#endif
