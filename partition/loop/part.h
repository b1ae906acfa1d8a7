/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A part of a larger loop, of which others may take iterations while it runs.
 */
#ifndef HEDDLE_LOOP_PART_H
#define HEDDLE_LOOP_PART_H

#include <stdbool.h>

#include <heddle/loop.h>

/** How far it is. */
struct loop_progress {
	double left; /**< iterations that no worker has, and what is left of the workers' blocks by
	              * their rates */
	double us;   /**< since it began; 0: no block is done */
};

/** What a loop is a part of. */
struct loop_part {
	bool repeats; /**< the next run of the loop has the same part: what this one learns is kept
	               * for it */
	double begin_us; /**< when the larger loop began */
	double last_us;  /**< what its last run took; 0: not known */
};

/** As heddle_loop_submit(). One core alone computes it in several blocks. No block lasts long
 * beside what the larger loop takes: others could not take it. */
int loop_part_submit(const struct heddle_loop *part, const struct loop_part *of,
                     struct heddle_loop_request **request);

/** @return false: no worker has a block yet, or StarPU's policy places them all */
bool loop_part_progress(struct heddle_loop_request *request, struct loop_progress *progress);

/** The part ends n iterations earlier, or as many as are waiting at its end.
 * @return how many */
size_t loop_part_shorten(struct heddle_loop_request *request, size_t n);

#endif
