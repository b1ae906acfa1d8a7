/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Main memory for the arrays of loops. Start with heddle_malloc().
 *
 * A CUDA device copies from and to pinned memory several times faster, and only such copies
 * overlap with kernels. heddle_malloc() pins memory if StarPU has CUDA or HIP workers; otherwise
 * pinning costs nothing. It also asks for huge pages, which avoid most TLB misses (misses in
 * the processor's address cache) in large arrays.
 */
#ifndef HEDDLE_MEMORY_H
#define HEDDLE_MEMORY_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Allocates memory filled with zeros, on huge pages if the system has them. Pins it if
 * StarPU has CUDA workers; a warning says if that fails. Any thread may call it after
 * starpu_init(). Free the memory with heddle_free() before starpu_shutdown(). The order of the
 * arguments is that of starpu_malloc().
 * @param[out] memory the memory, aligned to a page or more
 * @param bytes size in bytes; 0 is allowed
 * @return 0; -ENOMEM after a message, if the system has no memory, or if the memory from
 * heddle_malloc() that is not freed would exceed main memory (or the container's limit, if
 * that is lower) plus swap space */
int heddle_malloc(void **memory, size_t bytes);

/** Frees memory from heddle_malloc(). Any thread may call it before starpu_shutdown().
 * @param memory from heddle_malloc(); NULL has no effect
 * @param bytes size in bytes, as given to heddle_malloc(); the effect of another size is
 * undefined */
void heddle_free(void *memory, size_t bytes);

#ifdef __cplusplus
}
#endif
#endif
