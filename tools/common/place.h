/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The paths of this build's programs, libraries and data: relative to the running program in a
 * build tree, which may be a copy, else those of the installation.
 */
#ifndef HEDDLE_TOOLS_COMMON_PLACE_H
#define HEDDLE_TOOLS_COMMON_PLACE_H

#include <stdio.h>

/** Path of an app's program; to be freed; NULL when there is none. */
char *place_app(const char *name);
/** Prints the names of all apps, each in a line after two spaces. */
void place_apps_print(FILE *out);
/** Path of a program: of a name without a slash, in PATH or among the examples of this build's
 * StarPU; to be freed; NULL when there is none. */
char *place_program(const char *name);
/** Path of a subcommand's program, heddle-NAME; to be freed; NULL when there is
 * none. */
char *place_subcommand(const char *name);
/** LD_LIBRARY_PATH with which the apps of a build tree find its library, also in a copied tree; to
 * be freed; NULL: an installed program needs none. */
char *place_library_path(void);
/** Path of one of Heddle's libraries; to be freed; NULL after a message. */
char *place_library(const char *name);
/** LD_PRELOAD with the library for StarPU's programs before its present value; to be freed; NULL
 * after a message, or without memory. */
char *place_preload(void);
/** Path of a data file of the tools; to be freed; NULL when there is none. */
char *place_data_file(const char *name);

#endif
