/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Files that results go to.
 */
#ifndef HEDDLE_SUPPORT_OUTPUT_H
#define HEDDLE_SUPPORT_OUTPUT_H

/** Whether a file could be written by its looks: for programs that write it only after long
 * work. Nothing is opened or made.
 * @param path NULL, or "-" for standard output, is fine
 * @return 0; after a message that names it -EISDIR, -EACCES, -ENOENT (no folder) or what else
 * the system says. */
int heddle_output_check(const char *path);

#endif
