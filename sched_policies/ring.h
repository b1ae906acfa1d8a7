/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A growing array used round: elements of one size enter at the back and leave
 * from anywhere, cheapest from either end.
 */
#ifndef HEDDLE_SCHED_POLICIES_RING_H
#define HEDDLE_SCHED_POLICIES_RING_H

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

struct ring {
	char *slots;
	size_t size; /* of an element */
	size_t room; /* a power of two, or 0 */
	size_t first, count;
};

static inline void ring_init(struct ring *ring, size_t size)
{
	*ring = (struct ring){.size = size};
}

static inline void ring_free(struct ring *ring)
{
	free(ring->slots);
}

static inline size_t ring_count(const struct ring *ring)
{
	return ring->count;
}

/** The i-th element from the front. */
static inline void *ring_at(const struct ring *ring, size_t i)
{
	return ring->slots + ((ring->first + i) & (ring->room - 1)) * ring->size;
}

/** Makes room for one more element. @return 0 or -ENOMEM */
static inline int ring_reserve(struct ring *ring)
{
	size_t room = ring->room ? 2 * ring->room : 8, tail;
	char *slots;

	if (ring->count < ring->room)
		return 0;
	slots = malloc(room * ring->size);
	if (!slots)
		return -ENOMEM;
	tail = ring->room - ring->first;
	if (ring->count) { /* full: from first to the end, then the rest */
		memcpy(slots, ring->slots + ring->first * ring->size, tail * ring->size);
		memcpy(slots + tail * ring->size, ring->slots, ring->first * ring->size);
	}
	free(ring->slots);
	ring->slots = slots;
	ring->room = room;
	ring->first = 0;
	return 0;
}

/** Adds an element at the back; ring_reserve() must have made room. */
static inline void ring_push(struct ring *ring, const void *element)
{
	ring->count++;
	memcpy(ring_at(ring, ring->count - 1), element, ring->size);
}

/** Takes the i-th element out; the others keep their order. */
static inline void ring_remove(struct ring *ring, size_t i)
{
	if (i < ring->count / 2) {
		for (; i; i--)
			memcpy(ring_at(ring, i), ring_at(ring, i - 1), ring->size);
		ring->first = (ring->first + 1) & (ring->room - 1);
	} else {
		for (; i + 1 < ring->count; i++)
			memcpy(ring_at(ring, i), ring_at(ring, i + 1), ring->size);
	}
	ring->count--;
}

#endif
