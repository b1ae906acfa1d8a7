/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Where StarPU keeps what it has measured.
 */
#ifndef HEDDLE_SUPPORT_HOME_H
#define HEDDLE_SUPPORT_HOME_H

#include <stddef.h>

/** Folders that StarPU's performance models may be in. */
#define HEDDLE_HOME_PLACES 4

/** The k-th of them, below HEDDLE_HOME_PLACES, in the order of heddle_home_find().
 * @return 0; -ENOENT: its variable is not set, or empty; -ENAMETOOLONG */
int heddle_home_place(unsigned k, char *path, size_t size);

/** The folder of StarPU's performance models: $STARPU_PERF_MODEL_DIR, else .starpu/sampling in the
 * first that is set of $XDG_CACHE_HOME, $STARPU_HOME, $HOME.
 * @param[out] variable the one that is set; may be NULL
 * @return 0; -ENOENT: none is set, or the first that is set is empty; -ENAMETOOLONG */
int heddle_home_find(char *path, size_t size, const char **variable);

/** Whether StarPU can make that folder, without which it ends the program.
 * @param[out] path, variable as above, also on errors
 * @return 0, also where none is set (StarPU takes a temporary folder then) or it is there; -errno
 */
int heddle_home_check(char *path, size_t size, const char **variable);

#endif
