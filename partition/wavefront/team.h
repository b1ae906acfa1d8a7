/* Copyright (C) 2026 the Heddle developers
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Workers that wait for a chunk: a priority queue in which the fastest comes first.
 * Chunks are as wide as their worker is fast, and the first chunks of a wavefront are
 * those that everybody waits for: so when several workers are free, the widest chunk
 * that is ready goes to the fastest of them (what HDSS, section 6, leaves for later).
 */
#ifndef HEDDLE_WAVEFRONT_TEAM_H
#define HEDDLE_WAVEFRONT_TEAM_H

#include <stdbool.h>

struct wave_team_member {
	unsigned worker;
	double rate; /* higher: comes earlier */
};

struct wave_team {
	unsigned n, capacity;
	struct wave_team_member *waiting; /* a binary heap */
};

/** A queue for `capacity` workers.
 * @return 0; -ENOMEM. */
int wave_team_init(struct wave_team *team, unsigned capacity);
void wave_team_fini(struct wave_team *team);

/** A worker waits; at most `capacity` do. */
void wave_team_push(struct wave_team *team, unsigned worker, double rate);

/** Takes the fastest out; of equally fast ones the one with the lowest number.
 * @return false when no worker waits */
bool wave_team_pop(struct wave_team *team, unsigned *worker);

#endif
