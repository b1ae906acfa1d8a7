/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * How many iterations a memory has room for.
 */
#ifndef HEDDLE_LOOP_ROOM_H
#define HEDDLE_LOOP_ROOM_H

#include <stddef.h>
#include <stdint.h>

/* Bytes that a loop takes of a device's memory. */
struct footprint {
	size_t shared;        /* once: what all blocks read */
	size_t fixed;         /* each block */
	size_t per_iteration; /* each iteration of a block */
};

/** Iterations of a block when `blocks` such blocks are to fit into `bytes` at a
 * time.
 * @return 0: not even one; SIZE_MAX: any number. */
static inline size_t footprint_room(const struct footprint *footprint, size_t bytes,
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
