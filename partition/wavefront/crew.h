/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Workers that wait for a chunk: a priority queue in which the fastest comes first.
 * Chunks are as wide as their worker is fast, and the first chunks of a wavefront are
 * those that everybody waits for: so when several workers are free, the widest chunk
 * that is ready goes to the fastest of them (what HDSS, section 6, leaves for later).
 */
#ifndef HEDDLE_WAVEFRONT_CREW_H
#define HEDDLE_WAVEFRONT_CREW_H

#include <stdbool.h>

struct crew_member {
	unsigned worker;
	double rate; /* higher: comes earlier */
};

struct crew {
	unsigned n, capacity;
	struct crew_member *waiting; /* a binary heap */
};

/** A queue for `capacity` workers.
 * @return 0; -ENOMEM. */
int crew_init(struct crew *crew, unsigned capacity);
void crew_fini(struct crew *crew);

/** A worker waits; at most `capacity` do. */
void crew_push(struct crew *crew, unsigned worker, double rate);

/** Takes the fastest out; of equally fast ones the one with the lowest number.
 * @return false when nobody waits */
bool crew_pop(struct crew *crew, unsigned *worker);

#endif
