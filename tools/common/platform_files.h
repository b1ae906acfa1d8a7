/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Simulated machines on disk: the file of named ones, and the files that StarPU's SimGrid
 * build reads instead of calibrating a machine.
 */
#ifndef HEDDLE_TOOLS_COMMON_PLATFORM_FILES_H
#define HEDDLE_TOOLS_COMMON_PLATFORM_FILES_H

#include "estimator/platform.h"

/** The platform of a name in a file of named platforms, or of a description.
 * The file has lines "NAME SPEC [APP SIZE]", and comments after '#'.
 * @param file NULL: descriptions alone
 * @return 0; -EINVAL, or the errno value of the file, after a message. */
int heddle_platform_find(const char *name, const char *file, struct heddle_platform *platform);

/** Writes what StarPU needs to simulate the platform with SimGrid, to be used
 * with STARPU_PERF_MODEL_DIR=directory and STARPU_HOSTNAME=name. Accelerators of
 * both kinds are CUDA devices there, in their order.
 * @param directory made if it is not there
 * @return 0; -errno after a message. */
int heddle_platform_write(const struct heddle_platform *platform, const char *directory,
                          const char *name);

#endif
