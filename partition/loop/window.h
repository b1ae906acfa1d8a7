/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Which units (elements of a vector, rows of a matrix) of an array a block
 * touches.
 */
#ifndef HEDDLE_LOOP_WINDOW_H
#define HEDDLE_LOOP_WINDOW_H

#include <stddef.h>
#include <stdint.h>

struct loop_window {
	size_t first; /* unit */
	size_t count; /* units */
};

/** Units of iterations start … start+n-1, `per_iteration` units each, and `halo`
 * more on either side, clipped to an array of `units` units. The iterations lie
 * within the array. */
static inline struct loop_window loop_window(size_t start, size_t n, size_t per_iteration,
                                             size_t halo, size_t units)
{
	size_t first = start * per_iteration, last = first + n * per_iteration;

	first = first > halo ? first - halo : 0;
	last = units - last > halo ? last + halo : units;
	return (struct loop_window){first, last - first};
}

/** The first whole number of units >= count in a geometric series of four steps
 * an octave, no more than `units`: blocks of nearly the same size then ask a
 * device for buffers of the same size, which StarPU can reuse. */
static inline size_t loop_window_allocation(size_t count, size_t units)
{
	size_t octave = 1, size;

	while (octave * 2 <= count)
		octave *= 2;
	for (size = octave; size < count; size += octave < 4 ? 1 : octave / 4)
		;
	return size < units ? size : units;
}

/* Bytes that a loop takes of a device's memory. */
struct loop_footprint {
	size_t shared;        /* once: what all blocks read */
	size_t fixed;         /* each block */
	size_t per_iteration; /* each iteration of a block */
};

/** Iterations of a block when `blocks` such blocks are to fit into `bytes` at a
 * time.
 * @return 0: not even one; SIZE_MAX: any number. */
static inline size_t loop_footprint_room(const struct loop_footprint *footprint, size_t bytes,
                                         unsigned blocks)
{
	size_t block;

	if (bytes < footprint->shared)
		return 0;
	block = (bytes - footprint->shared) / blocks;
	if (block < footprint->fixed)
		return 0;
	if (!footprint->per_iteration)
		return SIZE_MAX;
	return (block - footprint->fixed) / footprint->per_iteration;
}

#endif
