/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Main memory that all processors reach fast.
 *
 * A CUDA device copies several times faster from and to memory that is pinned, and
 * only such copies overlap with kernels. Use heddle_malloc() for the arrays of
 * loops: it pins where there is a CUDA worker and costs nothing where there is
 * none. It asks for huge pages, which spare large arrays most of the misses in
 * the processor's address cache.
 */
#ifndef HEDDLE_MEMORY_H
#define HEDDLE_MEMORY_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Allocates zeroed memory on huge pages, where the system has any, and pins it
 * when StarPU has CUDA workers. After starpu_init(), to be freed before
 * starpu_shutdown().
 * @param bytes 0 is allowed
 * @param[out] memory aligned to a page at least
 * @return 0; -ENOMEM, also where all that was given and not freed would exceed the machine's
 * memory, or what the process's container may have of it, and swap. Memory that cannot be pinned is
 * given with a warning. */
int heddle_malloc(size_t bytes, void **memory);

/** Frees what heddle_malloc() gave.
 * @param bytes as they were given to heddle_malloc()
 * @param memory NULL is allowed */
void heddle_free(void *memory, size_t bytes);

#ifdef __cplusplus
}
#endif
#endif
