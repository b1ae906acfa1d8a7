/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Included files.
 */
#ifndef HEDDLE_KERNEL_INCLUDES_H
#define HEDDLE_KERNEL_INCLUDES_H

#include <stddef.h>

/** Puts the files that a source includes in their places. A file is looked for in the folders of
 * -I, one in quotes first in the folder of the file that includes it. What says `#pragma once` gets
 * a guard. Where none is found the directive stays: it may be in a branch that nobody compiles.
 * Files that include each other end in an `#error`, which a compiler meets if they have no guards.
 * @param options as for clBuildProgram()
 * @param[out] expanded to be freed
 * @param[out] why set at -ENOTSUP: what follows "it is not analysed: "
 * @return 0; -ENOTSUP where compilers may find another file: the working folder has one of that
 * name, too, or more than 32 files are in each other, or a line ends with a backslash that joins
 * none; -ENOMEM; errors of reading */
int kernel_includes_expand(const char *source, const char *options, char **expanded, char *why,
                           size_t size);

/** Makes an error of each directive that includes a file: no compiler may find one. Joins lines. */
void kernel_includes_forbid(char *text);

#endif
