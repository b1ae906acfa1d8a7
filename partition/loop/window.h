/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Which units (elements of a vector, rows of a matrix) of an array a block
 * touches. Iteration i owns the units from cut(i) to cut(i + 1) - 1, where cut(i) is
 * before + i * per_iteration, or entry i of an index.
 */
#ifndef HEDDLE_LOOP_WINDOW_H
#define HEDDLE_LOOP_WINDOW_H

#include <stddef.h>
#include <stdint.h>

struct loop_window {
	size_t first; /* unit */
	size_t count; /* units */
};

/* Where an array is cut. */
struct loop_cut {
	size_t units;         /* of the array */
	size_t per_iteration; /* units; with an index: their mean, rounded up */
	size_t halo;          /* more units on either side */
	size_t before;        /* units of the halo of the first iteration of a part */
	const void *index;    /* entries in main memory; NULL: none */
	size_t index_bytes;   /* of an entry: 4 or 8 */
};

static inline size_t loop_index_at(const struct loop_cut *cut, size_t i)
{
	return cut->index_bytes == sizeof(uint32_t) ? ((const uint32_t *)cut->index)[i]
	                                            : ((const uint64_t *)cut->index)[i];
}

static inline size_t loop_cut_at(const struct loop_cut *cut, size_t i)
{
	return cut->index ? loop_index_at(cut, i) : cut->before + i * cut->per_iteration;
}

/** Units of iterations start … start+n-1 with the halo, clipped to the array. The iterations lie
 * within the array; a wrong index gives any part of it. */
static inline struct loop_window loop_window(const struct loop_cut *cut, size_t start, size_t n)
{
	size_t first = loop_cut_at(cut, start), last = loop_cut_at(cut, start + n);

	last = last < cut->units ? last : cut->units;
	first = first < last ? first : last;
	first = first > cut->halo ? first - cut->halo : 0;
	last = cut->units - last > cut->halo ? last + cut->halo : cut->units;
	return (struct loop_window){first, last - first};
}

/** The first entry from `start` to start+n that is beyond the array, or less than the entry before
 * it in that range.
 * @return SIZE_MAX: there is none */
size_t loop_index_wrong(const struct loop_cut *cut, size_t start, size_t n);

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
