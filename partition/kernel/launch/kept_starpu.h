/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Data that stays on devices between launches. Main memory is always valid at the end of a launch.
 * A device keeps a copy beside, and knows which spans of it are equal to main memory
 * (partition/kernel/access/spans.h). Who else writes a handle is seen when that is submitted;
 * where anything is in doubt, all is sent again.
 */
#ifndef HEDDLE_KERNEL_KEPT_STARPU_H
#define HEDDLE_KERNEL_KEPT_STARPU_H

#include "partition/kernel/access/spans.h"
#include "partition/kernel/launch/request_starpu.h"

struct kept_copy;

/** Handles that the launch writes whose node a thread submits. */
struct kept_own {
	unsigned n;
	starpu_data_handle_t handles[HEDDLE_KERNEL_MAXARGUMENTS];
};

/** Pieces in which a window is sent at most. */
#define KEPT_PIECES 8

/* ---- a launch ---- */

/** Before a launch is submitted: whose data it uses, as StarPU's tasks submitted so far leave it.
 * kernel_kept_leave() is to follow. */
void kernel_kept_note(struct heddle_kernel_request *request);
/** This thread submits the launch's node. The launch may be freed before the end of that.
 * @param[out] before what this thread submits already, for kernel_kept_submit_end() */
void kernel_kept_submit_begin(const struct heddle_kernel_request *request, struct kept_own *before);
void kernel_kept_submit_end(const struct kept_own *before);
/** The launch begins: its data is in main memory, and nobody else writes it. */
void kernel_kept_begin(struct heddle_kernel_request *request);
/** The launch is freed. */
void kernel_kept_leave(struct heddle_kernel_request *request);
/** Bytes of what all groups read that a device holds. */
size_t kernel_kept_bytes(const struct heddle_kernel_request *request, unsigned device,
                         const struct index_use *uses);

/* ---- a part ---- */

/** A device's copy of an argument, for this part alone.
 * @return NULL: the part uses a buffer of the kernel's own */
struct kept_copy *kernel_kept_take(struct part *part, unsigned a);
cl_mem kernel_kept_buffer(const struct kept_copy *copy);
/** What has to be sent of a window; it counts as held from now on.
 * @param[out] missing KEPT_PIECES entries; of a window that crosses by rows none
 * @return entries filled; 0: everything is held; of rows 1: not all of them are */
unsigned kernel_kept_missing(struct kept_copy *copy, const struct kernel_layout *layout,
                             struct kernel_span *missing);
/** The part has ended and its results are in main memory. Gives the copies back.
 * @param written windows, by argument
 * @param status of the part */
void kernel_kept_return(struct part *part, const struct index_window *written, int status);

/* ---- all ---- */

/** Memory was changed by the program. */
void kernel_kept_changed(const void *memory, size_t bytes);
/** Frees copies on a device that nobody uses. @return whether there were any */
bool kernel_kept_drop(unsigned device);
/** Frees all. No launch is under way. */
void kernel_kept_free(void);

#endif
