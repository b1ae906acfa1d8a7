/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The parts of what is preloaded into programs. They need nothing but the C library.
 */
#ifndef HEDDLE_SCHED_POLICIES_PRELOAD_H
#define HEDDLE_SCHED_POLICIES_PRELOAD_H

#include <limits.h>
#include <stdbool.h>

/** Set by `heddle trace`: the program's StarPU has to record traces. */
#define PRELOAD_TRACE "_HEDDLE_TRACE"

typedef void version_function(int *major, int *minor, int *release);

/** The StarPU of a process. */
struct preload_starpu {
	version_function *get_version;
	const char *path; /**< its file */
	void *handle;     /**< dlopen()'s */
	int major, minor, release;
};

/** The file of the libheddle that this belongs to. @return false: there is none */
bool preload_library_find(char path[PATH_MAX]);

/** Sees to it that the process's StarPU simulates or records traces if that is wanted. Otherwise
 * starts the program anew with the StarPU that this Heddle was built against, if that can and has
 * the same structures, and with this libheddle if the program has one. If not, ends the process
 * with a message.
 * @param argv of the process; NULL: it cannot be started anew */
void preload_swap(const struct preload_starpu *starpu, char **argv);

/** After a new start: what the program's children inherit is as it was. */
void preload_swap_clean(void);

#endif
