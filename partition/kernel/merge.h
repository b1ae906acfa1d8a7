/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Bringing the results of several devices together. Each had a copy of a buffer, of
 * which it wrote some bytes; no two wrote the same, or the kernel would race.
 */
#ifndef HEDDLE_KERNEL_MERGE_H
#define HEDDLE_KERNEL_MERGE_H

#include <stddef.h>

#include "partition/kernel/index.h"

/** How a window crosses, and lies in a copy of its own: row after row, or, where that is
 * not worth it, in one piece with the gaps between its rows. */
struct merge_layout {
	size_t first; /**< in the buffer */
	size_t width, rows;
	size_t pitch;  /**< from row to row in the buffer */
	size_t stride; /**< from row to row in a copy */
	size_t bytes;  /**< of a copy, and across */
	bool by_rows;
};

struct merge_layout merge_layout(const struct index_window *window);
bool merge_layout_same(const struct merge_layout *a, const struct merge_layout *b);

/** Copies the rows of a window from its place in a buffer to a copy. */
void merge_pack(void *copy, const void *buffer, const struct merge_layout *layout);

/** Puts the rows of a window in a copy into a buffer.
 * @param before what the copy was before; only what differs is taken. NULL: all of it
 * @return bytes taken */
size_t merge_rows(void *buffer, const void *before, const void *copy,
                  const struct merge_layout *layout);

/** Takes over what a device changed: bytes of `partial` that differ from `original`
 * go into `into`. Right wherever no byte is read and written by different work-groups.
 * @return how many bytes differed */
size_t merge_differences(void *into, const void *original, const void *partial, size_t bytes);

#endif
