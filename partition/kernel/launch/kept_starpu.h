/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Data that stays on devices between launches. A device keeps a copy beside main memory, and knows
 * which spans of it are valid (partition/kernel/access/spans.h). Some of them only it has: results
 * that a launch which is already submitted will use, before anybody else can, and those of host
 * memory whose owner asked for that. All others are in main memory, too. Who else writes a handle
 * is seen when that is submitted; where anything is in doubt, all is fetched and sent again.
 */
#ifndef HEDDLE_KERNEL_KEPT_STARPU_H
#define HEDDLE_KERNEL_KEPT_STARPU_H

#include "partition/kernel/access/spans.h"
#include "partition/kernel/launch/request_starpu.h"

struct kept_copy;

/** The launch whose node a thread submits, and the handles that it writes: arguments, a bit each,
 * whose access StarPU has not seen yet. */
struct kept_own {
	struct heddle_kernel_request *request;
	uint64_t arguments;
};

/** Pieces in which a window is sent at most. */
#define KEPT_PIECES 32

/* ---- a launch ---- */

/** Before a launch is submitted: whose data it uses, as StarPU's tasks submitted so far leave it.
 * kernel_kept_leave() is to follow. */
void kernel_kept_note(struct heddle_kernel_request *request);
/** Whether the launch takes a handle from StarPU to write it: where it only reads, because results
 * of a launch before may be on devices alone. After kernel_kept_note(). */
bool kernel_kept_writes(const struct heddle_kernel_request *request, unsigned a);
/** This thread submits the launch's node. The launch may be freed before the end of that.
 * @param[out] before what this thread submits already, for kernel_kept_submit_end() */
void kernel_kept_submit_begin(struct heddle_kernel_request *request, struct kept_own *before);
void kernel_kept_submit_end(const struct kept_own *before);
/** The launch begins: nobody else writes its data. What stays of host memory that it uses by
 * another name, or without saying that it may stay, goes to main memory.
 * @param shares it computes in shares; otherwise all of its data goes to main memory
 * @return 0; -EIO after a message */
int kernel_kept_begin(struct heddle_kernel_request *request, bool shares);
/** Before any part is submitted: brings to main memory what a part needs there.
 * @return 0; -ENOMEM; -EIO after a message */
int kernel_kept_gather(struct heddle_kernel_request *request, const struct kernel_device *device,
                       size_t from, size_t n);
/** Whether devices alone have some of the launch's data. */
bool kernel_kept_away(const struct heddle_kernel_request *request);
/** Arguments whose results may stay, a bit each, as far as launches are submitted yet. */
uint64_t kernel_kept_staying(const struct heddle_kernel_request *request);
/** All parts have ended: what does not stay for another launch goes to main memory.
 * @return 0; -EIO after a message */
int kernel_kept_end(struct heddle_kernel_request *request);
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
/** Whether the results of a part stay in the copy that it uses, instead of being fetched. */
bool kernel_kept_stay(struct part *part, unsigned a);
/** The part has ended, and its results are in main memory or stay. Gives the copies back.
 * @param written windows, by argument
 * @param status of the part
 * @return status; after a message -ENODATA: what earlier launches wrote is lost; -EIO: it cannot be
 * fetched */
int kernel_kept_return(struct part *part, const struct index_window *written, int status);

/* ---- all ---- */

/** Memory was changed by the program. */
void kernel_kept_changed(const void *memory, size_t bytes);
/** Brings what stays of host memory to it. @return 0; -EIO after a message */
int kernel_kept_fetch(const void *memory, size_t bytes);
/** Frees copies on a device that nobody uses. @return whether there were any */
bool kernel_kept_drop(unsigned device);
/** Frees all. No launch is under way. */
void kernel_kept_free(void);

#endif
