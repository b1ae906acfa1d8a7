/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Windows of buffers: how they cross, how results of several devices come together, and what
 * chunks send and fetch. Each device has a copy of a buffer and writes some bytes of it. No two
 * write the same byte, or the kernel would race.
 */
#ifndef HEDDLE_KERNEL_WINDOWS_H
#define HEDDLE_KERNEL_WINDOWS_H

#include <stddef.h>

#include "partition/kernel/access/index.h"

/** How a window crosses, and lies in a copy of its own: row after row, or, where that is
 * not worth it, in one piece with the gaps between its rows. */
struct kernel_layout {
	size_t first; /**< in the buffer */
	size_t width, rows;
	size_t pitch;  /**< from row to row in the buffer */
	size_t stride; /**< from row to row in a copy */
	size_t bytes;  /**< of a copy, and across */
	bool by_rows;
};

struct kernel_layout kernel_layout(const struct index_window *window);
bool kernel_layout_same(const struct kernel_layout *a, const struct kernel_layout *b);

/** Copies the rows of a window from its place in a buffer to a copy. */
void kernel_merge_pack(void *copy, const void *buffer, const struct kernel_layout *layout);

/** Puts the rows of a window in a copy into a buffer.
 * @param before what the copy was before; only what differs is taken. NULL: all of it
 * @return bytes taken */
size_t kernel_merge_rows(void *buffer, const void *before, const void *copy,
                         const struct kernel_layout *layout);

/** Takes over what a device changed: bytes of `partial` that differ from `original`
 * go into `into`. Right wherever no byte is read and written by different work-groups.
 * @return how many bytes differed */
size_t kernel_merge_differences(void *into, const void *original, const void *partial,
                                size_t bytes);

/** Whether windows share no byte, as far as one rectangle of each tells. */
bool kernel_windows_apart(const struct index_window *a, const struct index_window *b);

/* Gaps between rows that a range of groups writes. A device may count them as written if all three
 * answers are yes: it has what lies there, and nobody else changes or wants it. */

/** Whether the gaps are sent to the device: the range reads in one piece all around its rows, which
 * it certainly writes and which cross with what lies between. */
bool kernel_gaps_sent(const struct index_use *mine);

/** Whether no group writes there: the rows are some of those that all groups write.
 * @param all the use of all groups */
bool kernel_gaps_unwritten(const struct index_use *mine, const struct index_use *all);

/** Whether another range has nothing to do with them. If it reads there, its device would get them
 * while this one leaves its results. If it writes what this range reads, what is taken off this
 * device's copy by rows would make more pieces of its own results than can be told apart. */
bool kernel_gaps_unshared(const struct index_use *mine, const struct index_use *theirs);

/** Bytes of a buffer from `first` up to before `end`; none where both are the same. */
struct kernel_span {
	size_t first, end;
};

/** What a chunk sends of a buffer: what it reads and no chunk before it has sent.
 * @param[in,out] sent what those before sent last, in one
 * @param[out] send
 * @return false where chunks do not go forward in the buffer */
bool kernel_chunk_send(const struct index_window *read, struct kernel_span *sent,
                       struct kernel_span *send);

/** What a chunk fetches, straight into the array.
 * @return false where that could overwrite something: bytes that it perhaps does not write, or
 * that it reads too */
bool kernel_chunk_fetch(const struct index_use *use, struct kernel_span *fetch);

#endif
