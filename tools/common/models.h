/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * StarPU's performance models of machines that it was calibrated on.
 */
#ifndef HEDDLE_TOOLS_COMMON_MODELS_H
#define HEDDLE_TOOLS_COMMON_MODELS_H

/** Whether there are models of a machine.
 * @return 0; -ENOENT after a message */
int models_check(const char *host);

/** Copies a machine's models, since StarPU writes where it finds them: to the folder itself and
 * to bus/ and codelets/ below it. They are looked for where StarPU does (STARPU_PERF_MODEL_DIR,
 * XDG_CACHE_HOME, STARPU_HOME, the home directory), then among the machines that come with StarPU.
 * @param directory made if it is not there; the models in it are replaced
 * @return 0; -ENOENT or another -errno after a message */
int models_copy(const char *host, const char *directory);

/** Copies a file over another one.
 * @return 0; -errno after a message */
int models_file_copy(const char *from, const char *to);

#endif
