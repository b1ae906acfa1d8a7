/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Stores that bypass the caches. An ordinary store first reads the line that it
 * overwrites; where a loop writes more than the caches hold, that is a third of
 * its memory traffic for nothing. Kernels compute into a small buffer that stays
 * in the first cache and stream it out.
 */
#ifndef CODELETS_STREAM_H
#define CODELETS_STREAM_H

#include <stdbool.h>
#include <stddef.h>

/** Whether outputs of so many bytes in all are better streamed: they are larger
 * than the last cache. */
bool codelet_stream_pays(size_t bytes);

/** Copies from a buffer in the cache to memory past the caches. The bytes are
 * visible to other threads after codelet_stream_end(). */
void codelet_stream(void *restrict to, const void *restrict from, size_t bytes);
void codelet_stream_end(void);

#endif
