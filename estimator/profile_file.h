/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Profiles in files: one readable file per codelet, for all kinds of records
 * (estimator/profile.h), in the user's StarPU directory.
 *
 * Files are replaced, never written into, so a reader always finds a whole one.
 * Who changes one holds the lock of its folder from reading to replacing, so
 * that two processes add to each other.
 */
#ifndef HEDDLE_ESTIMATOR_PROFILE_FILE_H
#define HEDDLE_ESTIMATOR_PROFILE_FILE_H

#include <stddef.h>

#include "estimator/profile.h"

/** Path of a codelet's profile: CODELET.profile in $HEDDLE_PROFILE_DIR, else in
 * the folder "heddle" of where StarPU keeps its models: $STARPU_PERF_MODEL_DIR,
 * else .starpu/sampling in the first that is set of $XDG_CACHE_HOME, $STARPU_HOME,
 * $HOME. Characters that file names had better not have stand as %XX.
 * @param[out] path
 * @return 0; -EINVAL for an empty name; -ENAMETOOLONG; -ENOENT when no folder is
 * known. */
int heddle_profile_path(const char *codelet, char *path, size_t size);

/** Adds what a file holds; a file that does not exist holds nothing. Lines that
 * make no sense are skipped with a message.
 * @return 0; -EFBIG for one that no program of ours wrote; -ENOMEM; what reading
 * says. A message says which. */
int heddle_profile_read(const char *path, struct heddle_profile *profile);

/** Merges records into a file, which is made, with its folder, if need be.
 * @return 0, or as heddle_profile_read() and writing say; a message says which,
 * the file is then as before. */
int heddle_profile_update(const char *path, const struct heddle_profile *news);

#endif
