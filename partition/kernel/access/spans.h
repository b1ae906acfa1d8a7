/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Which bytes of a buffer a device holds: spans in order, with gaps between. To know of fewer bytes
 * than the device holds is always right, they are sent again. So without memory, or where there are
 * very many spans, some are forgotten.
 */
#ifndef HEDDLE_KERNEL_SPANS_H
#define HEDDLE_KERNEL_SPANS_H

#include "partition/kernel/access/windows.h"

/** More are not kept. */
#define KERNEL_SPANS_MOST 4096

/** All zeros: nothing is held. */
struct kernel_spans {
	struct kernel_span *all; /* ascending, no two touch */
	size_t n, room;
};

/** Forgets all. */
void kernel_spans_clear(struct kernel_spans *spans);

/** Makes room for so many. @return whether there is; those up to it are not forgotten then */
bool kernel_spans_reserve(struct kernel_spans *spans, size_t room);

/** Bytes from `first` up to before `end` are held from now on. */
void kernel_spans_add(struct kernel_spans *spans, size_t first, size_t end);
/** They are not. */
void kernel_spans_remove(struct kernel_spans *spans, size_t first, size_t end);

/** How many of the bytes from `first` up to before `end` are held. */
size_t kernel_spans_held(const struct kernel_spans *spans, size_t first, size_t end);

/** What of the bytes from `first` up to before `end` is not held.
 * @param most entries of `missing`, 1 at least; the last one includes what is held between, where
 * there are more
 * @return entries filled; 0: everything is held */
unsigned kernel_spans_missing(const struct kernel_spans *spans, size_t first, size_t end,
                              unsigned most, struct kernel_span *missing);

/** The same of a window: of each of its rows where it crosses by rows. */
void kernel_spans_add_window(struct kernel_spans *spans, const struct kernel_layout *layout);
size_t kernel_spans_held_window(const struct kernel_spans *spans,
                                const struct kernel_layout *layout);

/** What is written into a window is not held; where `here`, each byte of the rows is, for the
 * device wrote all of them. */
void kernel_spans_written(struct kernel_spans *spans, const struct index_window *window, bool here);

#endif
